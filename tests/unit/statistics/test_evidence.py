"""One task with repeats: Fisher's exact test, the exact permutation test, and the tag that follows."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import combinations

import pytest
from scipy import stats

from rollout_compare.statistics.evidence import (
    Evidence,
    can_permute,
    fisher_exact,
    permutation_test,
    smallest_p,
    weigh_evidence,
)


def passes(ones: int, repeats: int) -> list[float]:
    return [1.0] * ones + [0.0] * (repeats - ones)


def by_definition(old: list[Fraction], new: list[Fraction]) -> float:
    """The permutation test one way of dealing out after the other, in fractions."""
    pool = old + new

    def distance(chosen: tuple[Fraction, ...]) -> Fraction:
        rest = sum(pool) - sum(chosen)
        return abs(sum(chosen) / Fraction(len(old)) - rest / Fraction(len(new)))

    ways = [distance(chosen) for chosen in combinations(pool, len(old))]
    return float(Fraction(sum(way >= distance(tuple(old)) for way in ways), len(ways)))


@pytest.mark.parametrize(
    ("old_ones", "new_ones", "repeats", "p"),
    [
        (3, 2, 3, 1),
        (3, 0, 3, 0.1),
        (4, 0, 4, 0.0285714),
        (5, 1, 5, 0.0476190),
        (5, 2, 5, 0.1666667),
        (8, 3, 8, 0.0256410),
        (8, 4, 8, 0.0769231),
    ],
)
def test_passes_against_passes(old_ones: int, new_ones: int, repeats: int, p: float) -> None:
    assert fisher_exact(old_ones, repeats, new_ones, repeats) == pytest.approx(p, abs=5e-8)
    found = weigh_evidence(passes(old_ones, repeats), passes(new_ones, repeats))
    assert found.p == pytest.approx(p, abs=5e-8)
    assert found.test == "fisher"


@pytest.mark.parametrize("old_repeats", range(1, 9))
@pytest.mark.parametrize("new_repeats", range(1, 9))
def test_every_small_table_agrees_with_scipy(old_repeats: int, new_repeats: int) -> None:
    for old in range(old_repeats + 1):
        for new in range(new_repeats + 1):
            expected = stats.fisher_exact([[old, old_repeats - old], [new, new_repeats - new]]).pvalue
            assert fisher_exact(old, old_repeats, new, new_repeats) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("old", "old_repeats", "new", "new_repeats"),
    [
        (60, 100, 48, 100),
        (60, 101, 48, 100),
        (0, 150, 9, 120),
        (700, 1000, 660, 1000),
        (3, 5, 900, 1200),
        (150, 150, 150, 150),
        (40000, 90000, 40500, 90000),
    ],
)
def test_large_tables_agree_with_scipy(old: int, old_repeats: int, new: int, new_repeats: int) -> None:
    expected = stats.fisher_exact([[old, old_repeats - old], [new, new_repeats - new]]).pvalue
    assert fisher_exact(old, old_repeats, new, new_repeats) == pytest.approx(expected, abs=1e-9)


def test_large_tables_far_from_chance_are_probabilities() -> None:
    assert 0 <= fisher_exact(2000, 2000, 0, 2000) < 1e-300
    assert 0 <= fisher_exact(0, 300, 300, 300) < 1e-150


@pytest.mark.parametrize(
    ("old", "new", "p"),
    [
        ([0.9, 0.8, 0.85], [0.5, 0.55, 0.6], 0.1),
        ([0.9, 0.8, 0.85, 0.95], [0.5, 0.55, 0.6, 0.4], 0.0285714),
        ([0.5, 0.5], [0.5, 0.5], 1),
        ([0.1 + 0.2, 0.7], [0.3, 0.7], 1),
        ([0.5 + 9e-10] * 4, [0.5] * 4, 1),
        ([0.5 + 5e-9] * 4, [0.5] * 4, 0.0285714),
    ],
)
def test_graded_rewards_against_graded_rewards(old: list[float], new: list[float], p: float) -> None:
    assert permutation_test(old, new) == pytest.approx(p, abs=5e-8)
    assert weigh_evidence([*old, 0.25], [*new, 0.25]).test == "permutation"


def test_the_permutation_test_agrees_with_its_definition() -> None:
    draw = random.Random(11)
    for _ in range(150):
        sizes = draw.randint(1, 5), draw.randint(1, 5)
        old, new = ([Fraction(draw.randint(0, 12), 10) for _ in range(size)] for size in sizes)
        expected = by_definition(old, new)
        assert permutation_test([float(x) for x in old], [float(x) for x in new]) == pytest.approx(expected)


def test_the_permutation_test_of_passes_is_fishers_test_when_repeats_are_equal() -> None:
    for old in range(9):
        for new in range(9):
            assert permutation_test(passes(old, 8), passes(new, 8)) == pytest.approx(fisher_exact(old, 8, new, 8))


def test_sums_that_are_equal_but_for_rounding_are_equal() -> None:
    old, new = [0.1, 0.2, 0.7], [0.3, 0.3, 0.4]
    assert permutation_test(old, new) == by_definition(
        [Fraction(1, 10), Fraction(2, 10), Fraction(7, 10)], [Fraction(3, 10), Fraction(3, 10), Fraction(4, 10)]
    )


def test_the_largest_rewards_are_permuted_as_others_are() -> None:
    top = 1.7976931348623157e308
    assert permutation_test([top] * 4, [-top] * 4) == pytest.approx(2 / 70)
    assert permutation_test([top, -top, top], [top, 1.0, 2.0]) == 1


@pytest.mark.parametrize(("old", "new"), [(1, 3), (3, 3), (2, 3), (2, 5), (4, 4), (3, 6), (8, 8), (1, 25)])
def test_the_smallest_p_is_that_of_the_most_one_sided_rewards(old: int, new: int) -> None:
    assert smallest_p(old, new) == pytest.approx(fisher_exact(old, old, 0, new))
    assert smallest_p(old, new) == pytest.approx(fisher_exact(0, old, new, new))
    lower, higher = [x / 64 for x in range(1, old + 1)], [1 + x / 64 for x in range(1, new + 1)]
    assert smallest_p(old, new) == pytest.approx(permutation_test(lower, higher))


@pytest.mark.parametrize(("old", "new"), [(1, 199), (1, 250), (30, 30), (20, 200), (150, 150), (600, 600)])
def test_the_smallest_p_of_many_repeats(old: int, new: int) -> None:
    expected = Fraction(1 if old != new else 2, math.comb(old + new, old))
    assert smallest_p(old, new) == pytest.approx(float(expected), rel=1e-9)


@pytest.mark.parametrize(("old", "new"), [(4, 4), (3, 5), (2, 6), (5, 3)])
def test_no_table_has_a_smaller_p(old: int, new: int) -> None:
    tables = [(x, y) for x in range(old + 1) for y in range(new + 1)]
    assert min(fisher_exact(x, old, y, new) for x, y in tables) == pytest.approx(smallest_p(old, new))


@pytest.mark.parametrize(
    ("old", "new", "tag"),
    [
        ([1], [0], "single_run"),
        ([0.4], [0.7], "single_run"),
        (passes(3, 3), passes(0, 3), "too_few_repeats"),
        (passes(1, 1), passes(0, 19), "too_few_repeats"),
        (passes(1, 1), passes(0, 20), "clear"),
        ([0.9, 0.8, 0.85], [0.5, 0.55, 0.6], "too_few_repeats"),
        (passes(4, 4), passes(0, 4), "clear"),
        (passes(4, 4), passes(1, 4), "within_noise"),
        (passes(5, 5), passes(1, 5), "clear"),
        (passes(5, 5), passes(2, 5), "within_noise"),
        ([0.9, 0.8, 0.85, 0.95], [0.5, 0.55, 0.6, 0.4], "clear"),
        ([0.9, 0.8, 0.85, 0.35], [0.5, 0.55, 0.6, 0.4], "within_noise"),
        ([x / 9 for x in range(9)], [x / 10 for x in range(9)], "not_tested"),
        (passes(9, 9), passes(2, 9), "clear"),
    ],
)
def test_the_tag_says_what_the_repeats_can_show(old: list[float], new: list[float], tag: str) -> None:
    assert weigh_evidence(old, new).tag == tag
    assert weigh_evidence(new, old).tag == tag


def test_a_single_run_has_no_p() -> None:
    assert weigh_evidence([1], [0]) == Evidence("single_run", None, None)


def test_a_test_that_is_not_made_has_no_p() -> None:
    old, new = [0.9, 0.8, 0.85, 0.95], [0.5, 0.55, 0.6, 0.4]
    assert weigh_evidence(old, new, may_permute=False) == Evidence("not_tested", None, None)
    assert weigh_evidence(old[:3], new[:3], may_permute=False) == Evidence("too_few_repeats", None, None)
    assert weigh_evidence(passes(4, 4), passes(0, 4), may_permute=False).tag == "clear"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [(8, 8, True), (9, 9, False), (8, 9, False), (1, 19999, True), (1, 20000, False), (2, 198, True), (2, 199, False)],
)
def test_up_to_20000_permutations_are_looked_at(old: int, new: int, expected: bool) -> None:
    assert can_permute(old, new) is expected


def test_one_reward_is_compared_with_thousands() -> None:
    many = [x / 20000 for x in range(19999)]
    assert permutation_test([2.0], many) == pytest.approx(1 / 20000)
    assert permutation_test(many, [2.0]) == pytest.approx(1 / 20000)


def test_what_cannot_be_tested_is_refused() -> None:
    with pytest.raises(ValueError, match="needs a reward"):
        weigh_evidence([], [1.0])
    with pytest.raises(ValueError, match="ones"):
        fisher_exact(4, 3, 0, 3)
    with pytest.raises(ValueError, match="too many"):
        permutation_test([0.5] * 9, [0.25] * 9)
    with pytest.raises(ValueError, match="finite"):
        permutation_test([0.5, math.nan], [0.25, 1.0])
