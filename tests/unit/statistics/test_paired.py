"""The mean difference of paired rewards: worked examples, and data that have no such figure."""

from __future__ import annotations

import math
import random
import struct
from array import array
from fractions import Fraction

import pytest
from scipy import stats

from rollout_compare.statistics.flips import sign_test
from rollout_compare.statistics.paired import Paired, compare_pairs, tolerance

LARGEST = 1.7976931348623157e308
GRADED = [1, 1, 1, 2 / 3, 1 / 3, 0, 0, 1], [1, 2 / 3, 1, 1 / 3, 1 / 3, 0, 1 / 3, 0]


def passes(lost: int, won: int, n: int) -> tuple[list[float], list[float]]:
    """Rewards of 0 and 1 with so many losses and wins; the others pass on both sides."""
    return [1.0] * lost + [0.0] * won + [1.0] * (n - lost - won), [0.0] * lost + [1.0] * (n - lost)


def bounds(found: Paired) -> tuple[float, float]:
    assert found.interval is not None
    return found.interval.low, found.interval.high


def by_hand(differences: list[float], span: float) -> tuple[float, float]:
    """The interval in exact arithmetic but for the root: m ± 1.959964 · √(Σ(d - m)² + 2 R²) / n."""
    exact = [Fraction(d) for d in differences]
    middle = sum(exact) / len(exact)
    squares = sum((d - middle) ** 2 for d in exact) + 2 * Fraction(span) ** 2
    reach = stats.norm.ppf(0.975) * math.sqrt(squares) / len(exact)
    return float(middle) - reach, float(middle) + reach


def test_eight_tasks_with_three_repeats() -> None:
    found = compare_pairs(*GRADED)
    assert found.n == 8
    assert (found.mean_old, found.mean_new) == pytest.approx((0.625, 0.4583333), abs=5e-8)
    assert found.mean_difference == pytest.approx(-0.1666667, abs=5e-8)
    assert found.standard_error == pytest.approx(0.1408590, abs=5e-8)
    # Squares around the mean: 4/3 - 8/36 = 1.1111111, and 2: 1.959964 * 1.7638342 / 8 = 0.4321315.
    assert bounds(found) == pytest.approx((-0.5987981, 0.2654648), abs=6e-8)
    assert found.interval is not None
    assert found.interval[2:] == (0.95, "added-pair")
    assert found.p_value == pytest.approx(0.2753455, abs=6e-8)
    assert (found.span, found.lost, found.won, found.constant) == (1, 3, 1, False)


@pytest.mark.parametrize(
    ("lost", "won", "n", "low", "high"),
    [
        # 12 - 0.36 + 2 = 13.64: 1.959964 * 3.6932371 / 100 = 0.0723861.
        (9, 3, 100, -0.1323861, 0.0123861),
        # 12 - 1 + 2 = 13: 1.959964 * 3.6055513 / 100 = 0.0706675.
        (11, 1, 100, -0.1706675, -0.0293325),
        # 0 + 2: 1.959964 * 1.4142136 / 50 = 0.0554362.
        (0, 0, 50, -0.0554362, 0.0554362),
        # 16 - 64/89 + 2 = 17.2808989: 1.959964 * 4.1570300 / 89 = 0.0915464.
        (12, 4, 89, -0.1814340, 0.0016588),
    ],
)
def test_passes_lost_and_won_have_the_interval_worked_out_by_hand(
    lost: int, won: int, n: int, low: float, high: float
) -> None:
    found = compare_pairs(*passes(lost, won, n))
    assert bounds(found) == pytest.approx((low, high), abs=6e-8)
    assert found.mean_difference == pytest.approx((won - lost) / n)


def test_a_hundred_tasks_with_nine_lost_and_three_won() -> None:
    found = compare_pairs(*passes(9, 3, 100))
    assert found.standard_error == pytest.approx(0.0342893, abs=5e-8)
    assert found.p_value == pytest.approx(0.0832486, abs=5e-8)


def test_intervals_of_graded_differences_are_those_of_exact_arithmetic() -> None:
    draw = random.Random("graded")
    for n in (2, 3, 12, 90):
        old, new = ([draw.random() for _ in range(n)] for _ in "on")
        span = max(*old, *new)
        expected = by_hand([b - a for a, b in zip(old, new, strict=True)], span)
        assert bounds(compare_pairs(old, new)) == pytest.approx((max(-1, expected[0]), min(1, expected[1])), rel=1e-9)


@pytest.mark.parametrize("factor", [2.0, 100.0, 0.25, -1.0])
def test_the_interval_scales_with_the_rewards(factor: float) -> None:
    old, new = passes(9, 3, 100)
    low, high = bounds(compare_pairs(old, new))
    scaled = bounds(compare_pairs([factor * reward for reward in old], [factor * reward for reward in new]))
    assert scaled == pytest.approx(sorted((factor * low, factor * high)))


def test_repeats_that_agree_change_nothing() -> None:
    # Means of repeats are the same numbers; one repeat more that differs moves the interval by as little.
    old, new = passes(9, 3, 100)
    low, high = bounds(compare_pairs(old, new))
    moved = bounds(compare_pairs([old[0] - 0.001, *old[1:]], new))
    assert moved == pytest.approx((low, high), abs=1e-4)
    assert moved != (low, high)


def test_the_span_is_that_of_the_single_rewards_behind_the_means() -> None:
    old, new = [0.5] * 20, [0.5] * 20
    assert compare_pairs(old, new).span == 0.5
    found = compare_pairs(old, new, lowest=0.0, highest=1.0)
    assert found.span == 1
    assert bounds(found) == pytest.approx(by_hand([0.0] * 20, 1.0))
    assert compare_pairs([-3.0, 2.0], [-1.0, 4.0]).span == 7
    assert compare_pairs([8.0, 9.0], [8.0, 9.0]).span == 9, "0 is among the rewards"


def test_p_values_agree_with_scipys_paired_test() -> None:
    expected = stats.ttest_rel(GRADED[1], GRADED[0])
    found = compare_pairs(*GRADED)
    assert found.p_value == pytest.approx(expected.pvalue, rel=1e-9)
    assert found.standard_error == pytest.approx(stats.sem([b - a for a, b in zip(*GRADED, strict=True)]), rel=1e-9)


def test_without_a_task_there_is_no_figure() -> None:
    assert compare_pairs([], []) == Paired(0)
    assert all(figure is None for figure in Paired(0)[1:9])


def test_one_task_has_means_and_a_span_and_nothing_else() -> None:
    assert compare_pairs([1], [0]) == Paired(1, 1.0, 0.0, -1.0, span=1.0, lost=1)


@pytest.mark.parametrize(
    ("old", "new", "mean_difference", "span"),
    [
        ([0.25, 0.5, 0.75], [0.25, 0.5, 0.75], 0, 0.75),
        ([0.0, 0.0, 0.0], [0.0, 0.0, 0.0], 0, 1),
        ([0.1 + 0.2, 0.5, 1], [0.3, 0.5 + 1e-9, 1 - 9e-10], 0, 1),
        ([0.1, 0.2, 0.3], [0.2, 0.3, 0.4], 0.1, 0.4),
        ([0.0, 0.0], [1.0, 1.0], 1, 1),
        ([0.1, 0.2, 0.3], [0.2, 0.3 + 5e-10, 0.4 - 4e-10], 0.1, 0.4),
        ([1e9, 2e9, 1e9 / 3], [1e9 + 1e9 / 7, 2e9 + 1e9 / 7, 1e9 / 3 + 1e9 / 7], 1e9 / 7, 15e9 / 7),
        ([LARGEST] * 20, [1e308] * 20, 1e308 - LARGEST, LARGEST),
    ],
    ids=[
        "equal",
        "all zero",
        "equal up to rounding",
        "shifted",
        "all won",
        "shifted up to rounding",
        "shifted by millions",
        "near the limits",
    ],
)
def test_equal_differences_leave_an_open_interval_and_no_p(
    old: list[float], new: list[float], mean_difference: float, span: float
) -> None:
    found = compare_pairs(old, new)
    assert found.mean_difference == pytest.approx(mean_difference)
    assert found.span == pytest.approx(span)
    assert (found.standard_deviation, found.standard_error, found.constant) == (0, 0, True)
    assert found.p_value is None
    # 1.959964 * √2 = 2.7718077 spans in n.
    reach = 2.7718077 * (span / len(old))
    low, high = bounds(found)
    assert low < high
    expected = (mean_difference - reach, mean_difference + reach)
    if old[0] >= 0 and max(*old, *new) <= 1:
        expected = max(-1.0, expected[0]), min(1.0, expected[1])
    assert (low, high) == pytest.approx(expected)


def test_a_loss_of_all_tasks_by_the_same_amount_is_seen_in_thirty() -> None:
    # -0.1 ± 2.7718077/30 = 0.0923936.
    found = compare_pairs([0.5] * 30, [0.4] * 30, highest=1.0)
    assert bounds(found) == pytest.approx((-0.1923936, -0.0076064), abs=5e-8)


def test_differences_of_rounding_are_no_flips() -> None:
    found = compare_pairs([0.5, 0.5, 0.5, 0.5], [0.5 + 9e-10, 0.5 - 9e-7 * 0.9, 0.5 + 2e-6, 0.9])
    assert (found.lost, found.won) == (0, 2)
    assert found.mean_difference == pytest.approx((2e-6 + 0.4) / 4)


@pytest.mark.parametrize(
    ("lowest", "highest", "expected"),
    [
        (0.0, 1.0, 1e-6),
        (-1.0, 1.0, 2e-6),
        (0.0, 100.0, 1e-4),
        (40.0, 60.0, 6e-5),
        (0.0, 1e-4, 1e-9),
        (0.0, 0.0, 1e-9),
        (-LARGEST, LARGEST, 2e-6 * LARGEST),
    ],
)
def test_what_is_rounding_goes_by_what_the_rewards_span(lowest: float, highest: float, expected: float) -> None:
    assert tolerance(lowest, highest) == pytest.approx(expected)


def test_scores_that_went_through_32_bits_are_the_same_scores() -> None:
    draw = random.Random("floats")
    old = [draw.random() for _ in range(200)]
    new = [struct.unpack("f", struct.pack("f", reward))[0] for reward in old]
    found = compare_pairs(old, new)
    assert (found.mean_difference, found.lost, found.won, found.constant) == (0, 0, 0, True)
    assert compare_pairs([100 * reward for reward in old], [100 * reward for reward in new]).mean_difference == 0


def test_a_shift_with_rounding_is_still_a_constant_one() -> None:
    old = [0.1 * k for k in range(10)]
    found = compare_pairs(old, [reward + 0.1 + 3e-8 * (-1) ** k for k, reward in enumerate(old)])
    assert (found.standard_error, found.p_value, found.constant) == (0, None, True)


def test_rewards_between_0_and_1_have_an_interval_between_minus_1_and_1() -> None:
    # 0 ± 1.96 * √(2 + 2) / 2 without the bounds.
    assert bounds(compare_pairs([1.0, 0.0], [0.0, 1.0])) == (-1.0, 1.0)
    for least, most in ((-0.01, 1.0), (0.0, 1.01)):
        low, high = bounds(compare_pairs([1.0, 0.0], [0.0, 1.0], lowest=least, highest=most))
        assert low < -1.9
        assert high > 1.9


@pytest.mark.parametrize("shift", [1e3, -3.0])
def test_rewards_outside_of_0_and_1_are_compared_as_they_are(shift: float) -> None:
    old, new = [4.0, -2.0, 7.0, 0.5], [1.0, -2.0, 9.0, -8.0]
    here = compare_pairs(old, new)
    moved = compare_pairs([reward + shift for reward in old], [reward + shift for reward in new])
    for name in ("mean_difference", "standard_error", "p_value", "lost", "won"):
        assert getattr(moved, name) == pytest.approx(getattr(here, name))
    # -8 to 9 span 17; moved, 0 lies outside of them.
    assert here.span == 17
    assert moved.span == (1009 if shift > 0 else 11 + 6)


def test_the_largest_rewards_have_every_figure_that_fits() -> None:
    small = compare_pairs([0.5, -1, 1, 0], [0.25, -0.5, 0.5, 1])
    large = compare_pairs([0.5e307, -1e307, 1e307, 0], [0.25e307, -0.5e307, 0.5e307, 1e307])
    assert large.p_value == pytest.approx(small.p_value)
    for name in ("mean_old", "mean_new", "mean_difference", "standard_error", "span"):
        assert getattr(large, name) == pytest.approx(getattr(small, name) * 1e307)
    assert bounds(large) == pytest.approx([bound * 1e307 for bound in bounds(small)])


def test_what_does_not_fit_a_float_is_no_figure() -> None:
    found = compare_pairs([LARGEST, LARGEST, 0.0], [-LARGEST, -LARGEST, 0.0])
    assert (found.mean_difference, found.interval, found.span) == (None, None, None)
    assert found.mean_old == pytest.approx(LARGEST / 3 * 2)
    assert found.p_value == pytest.approx(stats.ttest_1samp([-1, -1, 0], 0).pvalue)
    assert (found.lost, found.won) == (2, 0)


def test_differences_beside_large_rewards_are_rounding() -> None:
    found = compare_pairs([1e308, 5, 0, 1], [1e308, 1, 3, 2])
    assert (found.mean_difference, found.lost, found.won) == (0, 0, 0)
    assert bounds(found) == pytest.approx((-2.7718077 / 4 * 1e308, 2.7718077 / 4 * 1e308))


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


def test_losses_and_wins_are_those_of_the_sign_test() -> None:
    found = compare_pairs(*passes(9, 3, 100))
    assert sign_test(found.lost, found.won) == pytest.approx(0.1459961, abs=5e-8)
