"""How often an interval excludes 0: rarely when nothing changed, mostly when much did."""

from __future__ import annotations

import math
import random

import pytest

from rollout_compare.statistics.paired import compare_pairs
from rollout_compare.statistics.resolution import resolution

RUNS = 2000


def says_different(old: list[float], new: list[float]) -> bool:
    """Whether the interval excludes 0."""
    found = compare_pairs(old, new, highest=1.0)
    return found.interval is not None and (found.interval.low > 0 or found.interval.high < 0)


def run(draw: random.Random, rates: list[float], repeats: int) -> list[float]:
    """The mean reward of each task, in so many repeats, when it passes at these rates."""
    chance = draw.random
    if repeats == 1:
        return [float(chance() < rate) for rate in rates]
    return [sum([chance() < rate for _ in range(repeats)]) / repeats for rate in rates]


def times_different(seed: str, n: int, repeats: int, gain: float, runs: int) -> int:
    """In how many of these comparisons the sides are told apart; the new side passes more often by `gain`."""
    draw = random.Random(seed)
    told = 0
    for _ in range(runs):
        rates = [draw.random() * (1 - gain) for _ in range(n)]
        better = [rate + gain for rate in rates]
        told += says_different(run(draw, rates, repeats), run(draw, better, repeats))
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


def broken(draw: random.Random, n: int, share: float, repeats: int) -> tuple[list[float], list[float]]:
    """Tasks that always pass, but for 5% that pass half of the time, and a share that breaks on the new side."""
    kinds = [draw.random() for _ in range(n)]
    old = [0.5 if kind < 0.05 else 1.0 for kind in kinds]
    new = [0.0 if kind > 1 - share else rate for kind, rate in zip(kinds, old, strict=True)]
    return run(draw, old, repeats), run(draw, new, repeats)


@pytest.mark.parametrize(("n", "share", "repeats"), [(50, 0.02, 8), (100, 0.02, 8), (20, 0.1, 1), (100, 0.1, 1)])
def test_the_interval_holds_the_true_loss_of_few_broken_tasks(n: int, share: float, repeats: int) -> None:
    draw = random.Random(f"broken {n} {share} {repeats}")
    held = 0
    for _ in range(RUNS):
        found = compare_pairs(*broken(draw, n, share, repeats)).interval
        assert found is not None
        held += found.low <= -share <= found.high
    assert held >= RUNS * 0.95 - 3 * math.sqrt(RUNS * 0.05 * 0.95)


@pytest.mark.parametrize(("n", "repeats"), [(20, 1), (100, 1), (100, 4)])
def test_a_loss_as_large_as_the_resolution_is_found_in_four_of_five(n: int, repeats: int) -> None:
    draw = random.Random(f"resolution {n} {repeats}")
    told = runs = 0
    for _ in range(100):
        loss = resolution(compare_pairs(*broken(draw, n, 0.0, repeats)))
        assert loss is not None
        for _ in range(10):
            found = compare_pairs(*broken(draw, n, loss, repeats)).interval
            told += found is not None and found.high < 0
            runs += 1
    assert 0.75 - 0.04 <= told / runs <= 0.92
