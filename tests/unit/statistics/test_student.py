"""Student's t against published values and scipy."""

from __future__ import annotations

import math

import pytest
from scipy import stats

from rollout_compare.statistics.student import two_sided_p

DEGREES = [*range(1, 200), *range(200, 2001, 37), 1999, 2000]
SIZES = [0.0, 1e-9, 0.1, 0.7, 1.0, 1.96, 2.6, 3.3, 5.0, 12.7, 60.0, 1e4]


@pytest.mark.parametrize(("df", "expected"), [(1, 12.7062), (7, 2.3646), (88, 1.9873), (999, 1.9623)])
def test_the_quantiles_of_the_tables_have_a_p_of_5_percent(df: int, expected: float) -> None:
    assert two_sided_p(expected, df) == pytest.approx(0.05, abs=2e-5)


@pytest.mark.parametrize("t", SIZES)
def test_p_values_agree_with_scipy_to_the_last_digits_of_small_ones(t: float) -> None:
    expected = (2 * stats.t.sf(t, DEGREES)).tolist()
    assert [two_sided_p(t, df) for df in DEGREES] == pytest.approx(expected, rel=1e-9, abs=1e-290)


def test_beyond_2000_degrees_the_normal_distribution_stands_in() -> None:
    assert two_sided_p(2.5, 2001) == pytest.approx(2 * stats.norm.sf(2.5), rel=1e-12)
    assert two_sided_p(1.96, 2001) == pytest.approx(two_sided_p(1.96, 2000), abs=2e-4)


def test_the_distribution_is_symmetric() -> None:
    assert two_sided_p(-2.2, 9) == two_sided_p(2.2, 9)


@pytest.mark.parametrize("df", [1, 2, 3, 4, 2000, 2001])
def test_extreme_sizes_give_probabilities(df: int) -> None:
    assert two_sided_p(math.inf, df) == 0
    assert two_sided_p(0, df) == 1
    assert 0 <= two_sided_p(1e200, df) <= 1e-190
    assert 0 <= two_sided_p(1e-300, df) <= 1


def test_there_is_no_p_of_nothing() -> None:
    with pytest.raises(ValueError, match="degrees"):
        two_sided_p(1.0, 0)
    with pytest.raises(ValueError, match="not a number"):
        two_sided_p(math.nan, 3)
