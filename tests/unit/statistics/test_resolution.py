"""The resolution against sums and roots of scipy."""

from __future__ import annotations

import math

import pytest
from scipy import optimize, stats

from rollout_compare.statistics.paired import Paired, compare_pairs
from rollout_compare.statistics.resolution import resolution


def deviating(n: int, deviation: float, span: float = 1.0) -> Paired:
    """What is known of so many pairs: how much their differences vary, and what the rewards span."""
    return Paired(n, standard_deviation=deviation, span=span)


def power(share: float, n: int, deviation: float) -> float:
    """The chance that a loss of this share of the tasks is called lower: a sum over the number of lost tasks."""
    noise = n * deviation**2
    total = 0.0
    for lost in range(n + 1):
        needed = stats.norm.ppf(0.975) * math.sqrt(noise + lost - lost**2 / n + 2)
        told = stats.norm.cdf((lost - needed) / math.sqrt(noise)) if noise else float(lost > needed)
        total += stats.binom.pmf(lost, n, share) * told
    return total


@pytest.mark.parametrize(
    ("n", "enough"),
    [
        # Where nothing else varies, k of n tasks are called lower when k > 1.959964 * √(k - k²/n + 2).
        (10, 5),  # 4: 1.96 * √4.4 = 4.11. 5: 1.96 * √4.5 = 4.16
        (20, 5),  # 5: 1.96 * √5.75 = 4.70. 4: 1.96 * √5.2 = 4.47
        (100, 6),  # 5: 1.96 * √6.75 = 5.09. 6: 1.96 * √7.64 = 5.42
        (1000, 6),
    ],
)
def test_without_noise_it_is_the_share_of_which_enough_tasks_are_lost_in_four_of_five(n: int, enough: int) -> None:
    share = optimize.brentq(lambda share: stats.binom.sf(enough - 1, n, share) - 0.8, 1e-6, 1 - 1e-6)
    assert resolution(deviating(n, 0.0)) == pytest.approx(share, rel=1e-6)


@pytest.mark.parametrize(
    ("n", "deviation"), [(10, 0.1), (12, 0.8), (50, 0.02), (100, 0.3428932), (200, 0.5), (900, 0.01)]
)
def test_with_noise_it_is_the_share_that_is_found_in_four_of_five(n: int, deviation: float) -> None:
    share = optimize.brentq(lambda share: power(share, n, deviation) - 0.8, 1e-6, 1 - 1e-6)
    assert resolution(deviating(n, deviation)) == pytest.approx(share, rel=1e-6)


def test_it_is_in_the_unit_of_the_rewards() -> None:
    small = resolution(deviating(50, 0.2))
    assert small is not None
    assert resolution(deviating(50, 20.0, span=100.0)) == pytest.approx(100 * small)


def test_a_million_tasks_are_no_more_work() -> None:
    # By the normal distribution: n f = 2.8015852 * √(n (s² + f)), or nearly so.
    found = resolution(deviating(10**6, 0.5))
    expected = optimize.brentq(lambda f: 1e6 * f - 2.8015852 * math.sqrt(1e6 * (0.25 + f - f * f)), 1e-9, 1)
    assert found == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize(
    ("old", "new"),
    [([], []), ([1.0], [0.0]), ([1.0, 1.0], [1.0, 1.0]), ([1.0, 0.0], [0.0, 1.0]), ([1.0, 0.0, 1.0], [0.0, 1.0, 1.0])],
    ids=["none", "one", "two", "two that vary", "three that vary"],
)
def test_few_tasks_resolve_nothing(old: list[float], new: list[float]) -> None:
    assert resolution(compare_pairs(old, new)) is None


def test_three_equal_tasks_resolve_the_loss_of_nearly_all() -> None:
    # Of 3 lost tasks the interval is -1 ± 0.924, of 2 it is -0.667 ± 1.067: all must be lost, f³ = 0.8.
    assert resolution(compare_pairs([1.0] * 3, [1.0] * 3)) == pytest.approx(0.8 ** (1 / 3))


def test_what_does_not_fit_a_float_has_no_resolution() -> None:
    largest = 1.7976931348623157e308
    assert resolution(compare_pairs([largest, largest, 0.0] * 5, [-largest, -largest, 0.0] * 5)) is None
