"""The mean difference of paired rewards: worked examples, and data that have no such figure."""

from __future__ import annotations

import math
from array import array

import pytest
from scipy import stats

from rollout_compare.statistics.flips import sign_test
from rollout_compare.statistics.paired import Paired, bonett_price, compare_pairs

LARGEST = 1.7976931348623157e308
GRADED = [1, 1, 1, 2 / 3, 1 / 3, 0, 0, 1], [1, 2 / 3, 1, 1 / 3, 1 / 3, 0, 1 / 3, 0]


def passes(lost: int, won: int, n: int) -> tuple[list[float], list[float]]:
    """Rewards of 0 and 1 with so many losses and wins; the others pass on both sides."""
    return [1.0] * lost + [0.0] * won + [1.0] * (n - lost - won), [0.0] * lost + [1.0] * (n - lost)


def bounds(found: Paired) -> tuple[float, float]:
    assert found.interval is not None
    return found.interval.low, found.interval.high


def test_eight_tasks_with_three_repeats() -> None:
    found = compare_pairs(*GRADED, bounded=True)
    assert found.n == 8
    assert (found.mean_old, found.mean_new) == pytest.approx((0.625, 0.4583333), abs=5e-8)
    assert found.mean_difference == pytest.approx(-0.1666667, abs=5e-8)
    assert found.standard_error == pytest.approx(0.1408590, abs=5e-8)
    assert bounds(found) == pytest.approx((-0.4997454, 0.1664120), abs=6e-8)
    assert found.interval is not None
    assert found.interval[2:] == (0.95, "t")
    assert found.p_value == pytest.approx(0.2753455, abs=6e-8)
    assert found.resolution == pytest.approx(0.4592926, abs=5e-8)
    assert (found.lost, found.won, found.constant) == (3, 1, False)


def test_a_hundred_tasks_with_nine_lost_and_three_won() -> None:
    found = compare_pairs(*passes(9, 3, 100))
    assert found.mean_difference == pytest.approx(-0.06)
    assert found.standard_error == pytest.approx(0.0342893, abs=5e-8)
    assert bounds(found) == pytest.approx((-0.1280375, 0.0080375), abs=5e-8)
    assert found.p_value == pytest.approx(0.0832486, abs=5e-8)
    assert found.resolution == pytest.approx(0.0970211, abs=5e-8)


@pytest.mark.parametrize(
    ("lost", "won", "n", "low", "high"),
    [
        (9, 3, 100, -0.1298087, 0.0121616),
        (11, 1, 100, -0.1673733, -0.0287051),
        (0, 0, 50, -0.0533040, 0.0533040),
        (12, 4, 89, -0.1774874, 0.0016632),
    ],
)
def test_single_runs_of_passes_have_bonett_and_prices_interval(
    lost: int, won: int, n: int, low: float, high: float
) -> None:
    found = compare_pairs(*passes(lost, won, n), method="bonett-price", bounded=True)
    assert found.interval == bonett_price(lost, won, n)
    assert found.interval is not None
    assert found.interval[2:] == (0.95, "bonett-price")
    assert bounds(found) == pytest.approx((low, high), abs=6e-8)
    assert found.mean_difference == pytest.approx((won - lost) / n)


def test_the_interval_is_all_that_the_method_changes() -> None:
    by_t, by_bonett_price = compare_pairs(*passes(9, 3, 100)), compare_pairs(*passes(9, 3, 100), method="bonett-price")
    assert by_bonett_price._replace(interval=by_t.interval) == by_t


def test_p_values_agree_with_scipys_paired_test() -> None:
    expected = stats.ttest_rel(GRADED[1], GRADED[0])
    found = compare_pairs(*GRADED)
    assert found.p_value == pytest.approx(expected.pvalue, rel=1e-9)
    assert bounds(found) == pytest.approx(tuple(expected.confidence_interval(0.95)), rel=1e-9)


def test_without_a_task_there_is_no_figure() -> None:
    assert compare_pairs([], []) == Paired(0)
    assert compare_pairs([], [], method="bonett-price", bounded=True) == Paired(0)
    assert all(figure is None for figure in Paired(0)[1:8])


@pytest.mark.parametrize("method", ["t", "bonett-price"])
def test_one_task_has_means_and_nothing_else(method: str) -> None:
    found = compare_pairs([1], [0], method=method, bounded=True)  # type: ignore[arg-type]
    assert found == Paired(1, 1.0, 0.0, -1.0, lost=1)


@pytest.mark.parametrize(
    ("old", "new", "mean_difference"),
    [
        ([0.25, 0.5, 0.75], [0.25, 0.5, 0.75], 0),
        ([0.1 + 0.2, 0.5, 1], [0.3, 0.5 + 1e-9, 1 - 9e-10], 0),
        ([0.1, 0.2, 0.3], [0.2, 0.3, 0.4], 0.1),
        ([0.0, 0.0], [1.0, 1.0], 1),
        ([0.1, 0.2, 0.3], [0.2, 0.3 + 5e-10, 0.4 - 4e-10], 0.1),
        ([1e9, 2e9, 1e9 / 3], [1e9 + 1e9 / 7, 2e9 + 1e9 / 7, 1e9 / 3 + 1e9 / 7], 1e9 / 7),
        ([LARGEST, LARGEST], [1e308, 1e308], 1e308 - LARGEST),
    ],
    ids=[
        "equal",
        "equal up to rounding",
        "shifted",
        "all won",
        "shifted up to rounding",
        "shifted by millions",
        "near the limits",
    ],
)
def test_equal_differences_do_not_show_how_much_they_vary(
    old: list[float], new: list[float], mean_difference: float
) -> None:
    found = compare_pairs(old, new)
    assert found.mean_difference == pytest.approx(mean_difference)
    assert (found.standard_error, found.constant) == (0, True)
    assert (found.interval, found.p_value, found.resolution) == (None, None, None)


def test_single_runs_without_a_flip_still_have_bonett_and_prices_interval() -> None:
    found = compare_pairs([1.0] * 50, [1.0] * 50, method="bonett-price", bounded=True)
    assert found.constant
    assert bounds(found) == pytest.approx((-0.0533040, 0.0533040), abs=5e-8)
    assert (found.p_value, found.resolution) == (None, None)


def test_differences_of_rounding_are_no_flips() -> None:
    found = compare_pairs([0.5, 0.5, 0.5, 0.5], [0.5 + 9e-10, 0.5 - 9e-10, 0.5 + 2e-9, 0.9])
    assert (found.lost, found.won) == (0, 2)


def test_bounded_rewards_have_a_bounded_interval() -> None:
    sides = [1.0, 1.0, 0.0], [0.0, 0.0, 0.5]
    assert bounds(compare_pairs(*sides, bounded=True)) == (-1.0, 1.0)
    low, high = bounds(compare_pairs(*sides))
    assert low < -1
    assert high > 1


def test_few_single_runs_have_a_bounded_interval() -> None:
    interval = bonett_price(2, 0, 2)
    assert interval is not None
    assert interval.low == -1
    assert bonett_price(1, 0, 1) is None


@pytest.mark.parametrize("shift", [1e9, -3.0])
def test_rewards_outside_of_0_and_1_are_compared_as_they_are(shift: float) -> None:
    old, new = [4.0, -2.0, 7.0, 0.5], [1.0, -2.0, 9.0, -8.0]
    here, moved = (
        compare_pairs(old, new),
        compare_pairs([reward + shift for reward in old], [reward + shift for reward in new]),
    )
    assert bounds(moved) == pytest.approx(bounds(here))
    assert moved._replace(interval=None)[3:] == pytest.approx(here._replace(interval=None)[3:])


def test_the_largest_rewards_have_every_figure_that_fits() -> None:
    small = compare_pairs([0.5, -1, 1, 0], [0.25, -0.5, 0.5, 1])
    large = compare_pairs([0.5e307, -1e307, 1e307, 0], [0.25e307, -0.5e307, 0.5e307, 1e307])
    assert large.p_value == pytest.approx(small.p_value)
    for name in ("mean_old", "mean_new", "mean_difference", "standard_error", "resolution"):
        assert getattr(large, name) == pytest.approx(getattr(small, name) * 1e307)
    assert bounds(large) == pytest.approx([bound * 1e307 for bound in bounds(small)])


def test_what_does_not_fit_a_float_is_no_figure() -> None:
    found = compare_pairs([LARGEST, LARGEST, 0.0], [-LARGEST, -LARGEST, 0.0])
    assert (found.mean_difference, found.interval, found.resolution) == (None, None, None)
    assert found.mean_old == pytest.approx(LARGEST / 3 * 2)
    assert found.p_value == pytest.approx(stats.ttest_1samp([-1, -1, 0], 0).pvalue)
    assert (found.lost, found.won) == (2, 0)


def test_large_rewards_that_are_equal_do_not_hide_small_differences() -> None:
    found, plain = compare_pairs([1e308, 5, 0, 1], [1e308, 1, 3, 2]), compare_pairs([0, 5, 0, 1], [0, 1, 3, 2])
    assert found[3:] == plain[3:]


def test_columns_are_taken_as_they_are() -> None:
    assert compare_pairs(array("d", GRADED[0]), array("d", GRADED[1])) == compare_pairs(*GRADED)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("place", [0, 2])
def test_rewards_that_are_not_finite_are_refused(bad: float, place: int) -> None:
    rewards = [1.0, 0.0, 1.0]
    broken = [*rewards[:place], bad, *rewards[place + 1 :]]
    for sides in ((broken, rewards), (rewards, broken), (broken, broken)):
        with pytest.raises(ValueError, match="finite"):
            compare_pairs(*sides)


def test_sides_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="pairs"):
        compare_pairs([1.0, 0.0], [1.0])


def test_bonett_and_prices_interval_is_refused_for_graded_rewards() -> None:
    with pytest.raises(ValueError, match="0 and 1"):
        compare_pairs([0.5, 1], [1, 1], method="bonett-price")
    with pytest.raises(ValueError, match="part of"):
        bonett_price(3, 3, 5)


def test_losses_and_wins_are_those_of_the_sign_test() -> None:
    found = compare_pairs(*passes(9, 3, 100))
    assert sign_test(found.lost, found.won) == pytest.approx(0.1459961, abs=5e-8)
