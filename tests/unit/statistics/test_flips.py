"""The exact sign test: worked values, its definition in fractions, scipy; many flips."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from scipy import stats

from rollout_compare import statistics
from rollout_compare.statistics.flips import sign_test


def exactly(lost: int, won: int) -> float:
    """The definition, in fractions."""
    number = lost + won
    tail = sum(math.comb(number, i) for i in range(min(lost, won) + 1))
    return float(min(Fraction(1), Fraction(2 * tail, 2**number)))


@pytest.mark.parametrize(
    ("lost", "won", "p"),
    [
        (0, 0, 1),
        (1, 1, 1),
        (5, 0, 0.0625),
        (6, 0, 0.03125),
        (7, 2, 0.1796875),
        (9, 3, 0.1459961),
        (10, 2, 0.0385742),
        (11, 1, 0.0063477),
        (600, 520, 0.0182070),
        (10000, 9700, 0.0331453),
    ],
)
def test_lost_against_won(lost: int, won: int, p: float) -> None:
    assert sign_test(lost, won) == pytest.approx(p, abs=5e-8)
    assert sign_test(won, lost) == sign_test(lost, won)


@pytest.mark.parametrize("lost", range(41))
def test_few_flips_agree_with_scipy(lost: int) -> None:
    for won in range(41):
        expected = stats.binomtest(lost, lost + won, 0.5).pvalue if lost + won else 1
        assert sign_test(lost, won) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("lost", "won"), [(300, 280), (495, 505), (530, 480), (1500, 1400), (9800, 10200), (20000, 19600), (90000, 91000)]
)
def test_many_flips_agree_with_scipy(lost: int, won: int) -> None:
    expected = stats.binomtest(lost, lost + won, 0.5).pvalue
    assert sign_test(lost, won) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("number", [998, 999, 1000, 1001, 1002, 1003, 1501])
def test_sums_in_floats_continue_those_in_whole_numbers(number: int) -> None:
    for fewer in (0, 1, 17, 200, 400, 450, 470, 490, number // 2):
        assert sign_test(fewer, number - fewer) == pytest.approx(exactly(fewer, number - fewer), rel=1e-9)


def test_as_many_wins_as_losses_are_no_difference_however_many() -> None:
    assert sign_test(20_000, 20_000) == 1
    assert sign_test(2_000_000, 2_000_000) == 1


def test_a_p_too_small_for_a_float_is_0() -> None:
    assert sign_test(40_000, 0) == 0
    assert sign_test(1_000_000, 3) == 0


def test_counts_are_not_negative() -> None:
    with pytest.raises(ValueError, match="negative"):
        sign_test(-1, 3)


def test_the_package_offers_the_sign_test_too() -> None:
    assert statistics.sign_test is sign_test
