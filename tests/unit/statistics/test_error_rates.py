"""How often an interval excludes 0: rarely when nothing changed, mostly when much did."""

from __future__ import annotations

import math
import random

import pytest

from rollout_compare.statistics.flips import sign_test
from rollout_compare.statistics.paired import Method, compare_pairs

RUNS = 2000


def says_different(old: list[float], new: list[float], method: Method) -> bool:
    """Whether the interval excludes 0; where there is none, whether the flips are more than chance."""
    found = compare_pairs(old, new, method=method, bounded=True)
    if found.interval is None:
        return sign_test(found.lost, found.won) < 0.05
    return found.interval.low > 0 or found.interval.high < 0


def run(draw: random.Random, rates: list[float], repeats: int) -> list[float]:
    """The mean reward of each task, in so many repeats, when it passes at these rates."""
    chance = draw.random
    if repeats == 1:
        return [float(chance() < rate) for rate in rates]
    return [sum([chance() < rate for _ in range(repeats)]) / repeats for rate in rates]


def times_different(seed: str, n: int, repeats: int, gain: float, runs: int) -> int:
    """In how many of these comparisons the sides are told apart; the new side passes more often by `gain`."""
    draw = random.Random(seed)
    method: Method = "bonett-price" if repeats == 1 else "t"
    told = 0
    for _ in range(runs):
        rates = [draw.random() * (1 - gain) for _ in range(n)]
        better = [rate + gain for rate in rates]
        told += says_different(run(draw, rates, repeats), run(draw, better, repeats), method)
    return told


@pytest.mark.parametrize("repeats", [1, 4])
@pytest.mark.parametrize("n", [20, 100, 500])
def test_without_a_difference_few_comparisons_say_that_there_is_one(n: int, repeats: int) -> None:
    told = times_different(f"same {n} {repeats}", n, repeats, gain=0, runs=RUNS)
    tolerance = 3 * math.sqrt(RUNS * 0.05 * 0.95)
    assert told <= RUNS * 0.05 + tolerance


@pytest.mark.parametrize("repeats", [1, 4])
def test_a_difference_of_15_points_is_mostly_found_in_300_tasks(repeats: int) -> None:
    runs = RUNS // 4
    assert times_different(f"better {repeats}", 300, repeats, gain=0.15, runs=runs) >= runs * 0.90
