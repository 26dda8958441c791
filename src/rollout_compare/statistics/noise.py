"""What would change if the same runs were made again: from the repeats of each task."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rollout_compare.statistics.magnitude import NOISE, exponent_of, mean, scaled, unscaled


class NoiseFloor(NamedTuple):
    """On how many tasks two single runs of the same side would be expected to disagree, for each side."""

    old: float | None
    new: float | None


def noise_floor(old: Iterable[Sequence[float]], new: Iterable[Sequence[float]]) -> NoiseFloor:
    """Expected disagreements of two single runs of one side, in tasks; one sequence of rewards a task, side by side.

    Σ 2 · K/(K-1) · p̂(1-p̂) over the tasks, p̂ the share of ones in K repeats: the unbiased estimate of 2p(1-p).
    Both are None without a task, or when a task has fewer than two repeats on either side. A side is None when it has
    rewards other than 0 and 1. Reads both once.

    Source: the unbiased variance of a Bernoulli variable. Raises ValueError when the sides differ in length.
    """
    totals: list[float | None] = [None, None]
    started = False
    for old_rewards, new_rewards in zip(old, new, strict=True):
        if len(old_rewards) < 2 or len(new_rewards) < 2:
            return NoiseFloor(None, None)
        if not started:
            started, totals = True, [0.0, 0.0]
        for side, rewards in enumerate((old_rewards, new_rewards)):
            total = totals[side]
            if total is not None:
                totals[side] = _add_disagreements(total, rewards)
    return NoiseFloor(*totals)


def _add_disagreements(total: float, rewards: Sequence[float]) -> float | None:
    """`total` and the expected disagreements of one task; None when its rewards are not all 0 or 1."""
    repeats, ones = len(rewards), rewards.count(1)
    if ones == repeats:
        return total
    if ones + rewards.count(0) != repeats:
        return None
    return total + 2 * ones * (repeats - ones) / (repeats * (repeats - 1))


def rerun_standard_error(old: Iterable[Sequence[float]], new: Iterable[Sequence[float]]) -> float | None:
    """Standard error of the mean difference if the same tasks were run again, in reward units.

    √Σ(s²_old/K + s²_new/L) / n over the tasks, with s² the unbiased variance of a task's rewards on a side. It knows
    nothing of how the tasks were drawn: it says how far a rerun would move the mean, not another set of tasks.
    One sequence of rewards a task, side by side. None without a task, or when a task has fewer than two repeats on
    either side. Reads both once.

    Source: the variance of a mean of independent numbers.
    Raises ValueError when the sides differ in length, or a reward is not finite.
    """
    errors = array("d")
    for old_rewards, new_rewards in zip(old, new, strict=True):
        if len(old_rewards) < 2 or len(new_rewards) < 2:
            return None
        errors.append(_standard_error(old_rewards))
        errors.append(_standard_error(new_rewards))
    if not errors:
        return None
    exponent = exponent_of(errors)
    total = math.fsum([error * error for error in scaled(errors, exponent)])
    return unscaled(math.sqrt(total) / (len(errors) // 2), exponent)


def _standard_error(rewards: Sequence[float]) -> float:
    """s/√K of a task's rewards; exactly 0 when they differ by rounding only."""
    repeats, first = len(rewards), rewards[0]
    if rewards.count(first) == repeats and math.isfinite(first):
        return 0.0
    middle = sum(rewards) / repeats
    squares = sum([(reward - middle) * (reward - middle) for reward in rewards])
    exponent = 0
    if not math.isfinite(squares):
        exponent = exponent_of(rewards)
        middle = math.ldexp(mean(rewards), -exponent)
        squares = math.fsum([(reward - middle) ** 2 for reward in scaled(rewards, exponent)])
    elif squares <= repeats * (NOISE / 2) ** 2:
        return 0.0
    return math.ldexp(math.sqrt(squares / (repeats * (repeats - 1))), exponent)
