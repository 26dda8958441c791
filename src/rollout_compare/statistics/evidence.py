"""One task with repeats on both sides: is its difference more than chance?"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from typing import Literal, NamedTuple

from rollout_compare.statistics.magnitude import NOISE, exponent_of, mean, scaled

Tag = Literal["clear", "within_noise", "too_few_repeats", "single_run", "not_tested"]
Test = Literal["fisher", "permutation"]

MOST_PERMUTATIONS = 20_000
"""A permutation test that would look at more ways to deal out the rewards is not made."""

SIGNIFICANT = 0.05
_EXACT_UP_TO = 200  # repeats; beyond, whole numbers grow too long to be fast
_MOST_TO_CHOOSE = 8  # C(18, 9) is more than 20,000, and so is every C(K+L, 9) beyond
_TIE = 1e-9  # probabilities this close, relatively, are equal
_ROUNDING = 1e-12  # of sums, relative to the numbers


class Evidence(NamedTuple):
    """What the repeats of one task say about its difference.

    `tag`: "clear" (p < 0.05), "within_noise" (p ≥ 0.05, though so many repeats could go below), "too_few_repeats"
    (so few never can), "single_run" (1 against 1), "not_tested" (a permutation test that was not made).
    `p`: the two-sided p-value, None when there was no test. `test`: which one was made.
    """

    tag: Tag
    p: float | None = None
    test: Test | None = None


_SINGLE_RUN = Evidence("single_run")


def weigh_evidence(old: Sequence[float], new: Sequence[float], *, may_permute: bool = True) -> Evidence:
    """Test the rewards of one task on the two sides, and say in a word what came of it.

    Fisher's exact test when all rewards are 0 or 1, else the exact permutation test, when there are at most 20,000
    permutations and `may_permute`. A caller with many tasks limits the work by counting `test == "permutation"`.

    Source: see `fisher_exact`, `permutation_test`, `smallest_p`.
    Raises ValueError when a side has no reward, or one that is not finite.
    """
    repeats = len(old), len(new)
    if repeats == (1, 1):
        return _SINGLE_RUN
    smallest = smallest_p(*repeats)
    p: float | None = None
    test: Test | None = None
    if _is_binary(old) and _is_binary(new):
        p, test = fisher_exact(old.count(1), len(old), new.count(1), len(new)), "fisher"
    elif may_permute and can_permute(*repeats):
        p, test = permutation_test(old, new), "permutation"
    if smallest >= SIGNIFICANT:
        return Evidence("too_few_repeats", p, test)
    if p is None:
        return Evidence("not_tested")
    return Evidence("clear" if p < SIGNIFICANT else "within_noise", p, test)


def _is_binary(rewards: Sequence[float]) -> bool:
    return rewards.count(1) + rewards.count(0) == len(rewards)


@lru_cache(maxsize=4096)
def smallest_p(old_repeats: int, new_repeats: int) -> float:
    """The smallest p-value that so many repeats can give, in both tests, a probability.

    1 / C(K+L, K), doubled when K = L: all ones on one side, or every reward of one side above all of the other. With
    as many repeats on both sides the mirror image is as extreme. 3 against 3 cannot go below 0.1.

    Source: the count of ways to deal out K+L rewards.
    Raises ValueError when a side has no repeat.
    """
    _check_repeats(old_repeats, new_repeats)
    ways_to_be_extreme = 2 if old_repeats == new_repeats else 1
    repeats = old_repeats + new_repeats
    if repeats > _EXACT_UP_TO:
        log_of_ways = math.lgamma(repeats + 1) - math.lgamma(old_repeats + 1) - math.lgamma(new_repeats + 1)
        return ways_to_be_extreme * math.exp(-log_of_ways)
    return ways_to_be_extreme / math.comb(repeats, old_repeats)


@lru_cache(maxsize=4096)
def can_permute(old_repeats: int, new_repeats: int) -> bool:
    """Whether the exact permutation test of so many repeats is made: C(K+L, K) ≤ 20,000.

    Source: a limit on the work, about 4 ms a task. Raises ValueError when a side has no repeat.
    """
    _check_repeats(old_repeats, new_repeats)
    fewer = min(old_repeats, new_repeats)
    return fewer <= _MOST_TO_CHOOSE and math.comb(old_repeats + new_repeats, fewer) <= MOST_PERMUTATIONS


def _check_repeats(old_repeats: int, new_repeats: int) -> None:
    if old_repeats < 1 or new_repeats < 1:
        raise ValueError("each side needs a reward")


@lru_cache(maxsize=4096)
def fisher_exact(old_ones: int, old_repeats: int, new_ones: int, new_repeats: int) -> float:
    """Two-sided p-value of Fisher's exact test, ones of repeats on each side, a probability.

    With K and L repeats and s ones in all, P(x) = C(K, x) · C(L, s-x) / C(K+L, s) ones on the old side; p is the sum
    of all P(x) ≤ P(observed). Up to 200 repeats in whole numbers, so that ties are ties; beyond, in floats.

    Source: Fisher, Statistical Methods for Research Workers, section 21.02; the two-sided rule is that of R and scipy.
    Raises ValueError when a side has no repeat, or more ones than repeats, or fewer than none.
    """
    _check_repeats(old_repeats, new_repeats)
    if not (0 <= old_ones <= old_repeats and 0 <= new_ones <= new_repeats):
        raise ValueError("ones are 0 to all of the repeats")
    ones = old_ones + new_ones
    if old_repeats + new_repeats > _EXACT_UP_TO:
        return _fisher_in_floats(old_ones, old_repeats, ones, new_repeats)
    possible = range(max(0, ones - new_repeats), min(old_repeats, ones) + 1)
    ways = [math.comb(old_repeats, x) * math.comb(new_repeats, ones - x) for x in possible]
    observed = ways[old_ones - possible.start]
    return sum(way for way in ways if way <= observed) / sum(ways)


def _fisher_in_floats(observed: int, old_repeats: int, ones: int, new_repeats: int) -> float:
    """Fisher's p by the ratios of neighbouring probabilities, outwards from the likeliest."""
    lowest, highest = max(0, ones - new_repeats), min(old_repeats, ones)
    mode = (old_repeats + 1) * (ones + 1) // (old_repeats + new_repeats + 2)
    zeros_elsewhere = new_repeats - ones  # plus x: the zeros of the new side
    weights = {mode: 1.0}
    weight = 1.0
    for x in range(mode, highest):
        weight *= (old_repeats - x) / (x + 1) * ((ones - x) / (zeros_elsewhere + x + 1))
        if not weight:
            break
        weights[x + 1] = weight
    weight = 1.0
    for x in range(mode, lowest, -1):
        weight *= x / (old_repeats - x + 1) * ((zeros_elsewhere + x) / (ones - x + 1))
        if not weight:
            break
        weights[x - 1] = weight
    limit = weights.get(observed, 0.0) * (1 + _TIE)
    total = math.fsum(weights.values())
    return min(1.0, math.fsum(weight for weight in weights.values() if weight <= limit) / total)


def permutation_test(old: Sequence[float], new: Sequence[float]) -> float:
    """Two-sided p-value of the exact permutation test of the difference in means, a probability.

    The share of the C(K+L, K) ways to deal out the pooled rewards whose means differ at least as much as those
    observed. Mean differences up to 1e-9 apart count as equal (of numbers above 1000: up to 1e-12 of the number).
    The ways are not walked through one by one: the pool is cut in two halves, and sorted sums of one half are looked
    up for each sum of the other.

    Source: Pitman, Supplement to the Journal of the Royal Statistical Society 4 (1937), 119-130; for the halves,
    Horowitz and Sahni, Journal of the ACM 21 (1974), 277-292.
    Raises ValueError when a side has no reward or one that is not finite, or beyond 20,000 permutations.
    """
    if not can_permute(len(old), len(new)):
        raise ValueError("too many permutations")
    chosen = min(len(old), len(new))
    pool = [*old, *new] if len(old) <= len(new) else [*new, *old]
    exponent = exponent_of(pool)
    pool = list(scaled(pool, exponent))
    middle = mean(pool)
    pool = [reward - middle for reward in pool]
    slack = max(math.ldexp(NOISE, -exponent), _ROUNDING * max(map(abs, pool)))
    distance = abs(math.fsum(pool[:chosen])) - slack * chosen * (len(pool) - chosen) / len(pool)
    if distance <= 0:
        return 1.0
    return _far_sums(pool, chosen, distance) / math.comb(len(pool), chosen)


def _far_sums(pool: list[float], chosen: int, distance: float) -> int:
    """How many choices of so many numbers have a sum at least `distance` from 0."""
    half = len(pool) // 2
    left, right = _sums(pool[:half], chosen), _sums(pool[half:], chosen)
    found = 0
    for size in range(max(0, chosen - len(right) + 1), min(chosen + 1, len(left))):
        others = right[chosen - size]
        for part in left[size]:
            found += bisect_right(others, -distance - part)
            found += len(others) - bisect_left(others, distance - part)
    return found


def _sums(numbers: list[float], most: int) -> list[list[float]]:
    """The sorted sums of all choices of 0, 1, … `most` of these numbers."""
    return [sorted(map(sum, combinations(numbers, size))) for size in range(min(most, len(numbers)) + 1)]
