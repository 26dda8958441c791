"""What holds for any rewards."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollout_compare.statistics.evidence import fisher_exact, permutation_test, smallest_p, weigh_evidence
from rollout_compare.statistics.flips import sign_test
from rollout_compare.statistics.multiple import holm
from rollout_compare.statistics.noise import noise_floor, rerun_standard_error
from rollout_compare.statistics.paired import compare_pairs
from rollout_compare.statistics.resolution import resolution
from rollout_compare.statistics.student import two_sided_p

REWARD = st.one_of(
    st.sampled_from([0.0, 1.0, 0.5, 1 / 3, -1.0, 1e308, -1e308, 1.7976931348623157e308, 5e-324, 1e-9, 1e150]),
    st.floats(min_value=0, max_value=1),
    st.floats(allow_nan=False, allow_infinity=False),
)
PAIRS = st.lists(st.tuples(REWARD, REWARD), max_size=30)
STEPS = st.lists(st.integers(0, 64).map(lambda steps: steps / 16), min_size=1, max_size=6)
REPEATS = st.lists(REWARD, min_size=1, max_size=5)


def numbers(found: Any) -> Iterator[float]:
    """Every number in a result."""
    if isinstance(found, tuple | list):
        for part in found:
            yield from numbers(part)
    elif isinstance(found, float):
        yield found


@given(PAIRS)
def test_figures_of_any_rewards_are_finite(pairs: list[tuple[float, float]]) -> None:
    found = compare_pairs([a for a, _ in pairs], [b for _, b in pairs])
    assert all(map(math.isfinite, numbers(found)))
    assert found.p_value is None or 0 <= found.p_value <= 1
    assert found.lost + found.won <= found.n
    if found.interval is not None:
        assert found.interval.low < found.interval.high
    if pairs and all(0 <= reward <= 1 for pair in pairs for reward in pair):
        assert found.interval is None or -1 <= found.interval.low < found.interval.high <= 1


@given(PAIRS)
def test_swapping_the_sides_mirrors_the_figures(pairs: list[tuple[float, float]]) -> None:
    old, new = [a for a, _ in pairs], [b for _, b in pairs]
    here, there = compare_pairs(old, new), compare_pairs(new, old)
    assert (here.n, here.constant, here.p_value) == (there.n, there.constant, there.p_value)
    assert (here.standard_error, here.span) == (there.standard_error, there.span)
    assert resolution(here) == resolution(there)
    assert (here.lost, here.won) == (there.won, there.lost)
    assert (here.mean_old, here.mean_new) == (there.mean_new, there.mean_old)
    assert (here.mean_difference is None) == (there.mean_difference is None)
    if here.mean_difference is not None and there.mean_difference is not None:
        assert here.mean_difference == -there.mean_difference
    assert (here.interval is None) == (there.interval is None)
    if here.interval is not None and there.interval is not None:
        assert (here.interval.low, here.interval.high) == (-there.interval.high, -there.interval.low)


@given(PAIRS)
def test_the_order_of_the_tasks_does_not_matter(pairs: list[tuple[float, float]]) -> None:
    backwards = pairs[::-1]
    here = compare_pairs([a for a, _ in pairs], [b for _, b in pairs])
    assert here == compare_pairs([a for a, _ in backwards], [b for _, b in backwards])


@given(st.lists(st.tuples(st.floats(-1e9, 1e9), st.floats(-1e9, 1e9)), min_size=1, max_size=20))
def test_the_mean_difference_lies_within_the_interval_and_is_the_exact_mean(pairs: list[tuple[float, float]]) -> None:
    found = compare_pairs([a for a, _ in pairs], [b for _, b in pairs])
    exact = sum(Fraction(b) - Fraction(a) for a, b in pairs) / len(pairs)
    # A millionth of what the rewards and 0 span is rounding.
    rounding = max(1e-6, 1e-6 * (max(0.0, *map(max, pairs)) - min(0.0, *map(min, pairs))))
    assert found.mean_difference == pytest.approx(float(exact), abs=rounding * 1.001)
    if found.interval is not None and found.mean_difference is not None:
        assert found.interval.low <= found.mean_difference <= found.interval.high


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=20), st.integers(1, 300))
def test_rewards_times_a_power_of_two_have_an_interval_as_many_times_as_wide(
    pairs: list[tuple[float, float]], power: int
) -> None:
    old, new = [1.0, *(a for a, _ in pairs)], [0.0, *(b for _, b in pairs)]
    here = compare_pairs([-reward for reward in old], [-reward for reward in new])
    there = compare_pairs([math.ldexp(-a, power) for a in old], [math.ldexp(-b, power) for b in new])
    assert here.interval is not None
    assert there.interval is not None
    assert there.interval.low == pytest.approx(math.ldexp(here.interval.low, power), rel=1e-12)
    assert there.interval.high == pytest.approx(math.ldexp(here.interval.high, power), rel=1e-12)


@given(PAIRS)
def test_a_resolution_is_a_loss_that_tasks_can_have(pairs: list[tuple[float, float]]) -> None:
    found = compare_pairs([a for a, _ in pairs], [b for _, b in pairs])
    resolved = resolution(found)
    assert resolved is None or (found.span is not None and 0 < resolved <= found.span)


@given(st.integers(0, 3000), st.integers(0, 3000))
def test_the_sign_test_is_a_symmetric_probability(lost: int, won: int) -> None:
    p = sign_test(lost, won)
    assert 0 <= p <= 1
    assert p == sign_test(won, lost)
    if lost > won:
        assert sign_test(lost + 1, won) <= p <= sign_test(lost, won + 1)


@given(st.floats(allow_nan=False), st.integers(1, 2500))
def test_the_t_test_is_a_symmetric_probability(t: float, df: int) -> None:
    assert 0 <= two_sided_p(t, df) <= 1
    assert two_sided_p(t, df) == two_sided_p(-t, df)
    assert two_sided_p(1.01 * t, df) <= two_sided_p(t, df) + 1e-12


@given(st.integers(0, 300), st.integers(0, 300), st.integers(0, 300), st.integers(0, 300))
def test_fishers_test_is_a_symmetric_probability(a: int, b: int, c: int, d: int) -> None:
    if a + b == 0 or c + d == 0:
        return
    p = fisher_exact(a, a + b, c, c + d)
    assert 0 <= p <= 1
    assert p == pytest.approx(fisher_exact(c, c + d, a, a + b), rel=1e-9)
    assert p == pytest.approx(fisher_exact(b, a + b, d, c + d), rel=1e-9)


@given(STEPS, STEPS, st.integers(-1000, 1000))
def test_the_permutation_test_does_not_see_shifts_and_sides(old: list[float], new: list[float], shift: int) -> None:
    p = permutation_test(old, new)
    assert smallest_p(len(old), len(new)) <= p <= 1
    assert p == permutation_test([reward + shift for reward in old], [reward + shift for reward in new])
    assert p == permutation_test(new, old)
    assert p == permutation_test([-reward for reward in old], [-reward for reward in new])


@given(REPEATS, REPEATS)
def test_evidence_of_any_rewards_is_a_probability(old: list[float], new: list[float]) -> None:
    found = weigh_evidence(old, new)
    assert found.p is None or 0 <= found.p <= 1
    assert (found.p is None) == (found.test is None)
    assert (found.tag == "clear") == (found.p is not None and found.p < 0.05)


@given(st.lists(st.tuples(REPEATS, REPEATS), max_size=6))
def test_figures_of_any_repeats_are_finite(tasks: list[tuple[list[float], list[float]]]) -> None:
    old, new = [a for a, _ in tasks], [b for _, b in tasks]
    error = rerun_standard_error(old, new)
    assert error is None or 0 <= error < math.inf
    floor = noise_floor(old, new)
    assert all(side is None or 0 <= side <= len(tasks) for side in floor)


@given(st.lists(st.one_of(st.none(), st.floats(0, 1)), max_size=12))
def test_adjusted_p_values_are_larger_probabilities_in_the_same_order(p_values: list[float | None]) -> None:
    found = holm(p_values)
    known = [(p, q) for p, q in zip(p_values, found, strict=True) if p is not None and q is not None]
    assert [p is None for p in p_values] == [q is None for q in found]
    assert all(p <= q <= 1 for p, q in known)
    assert all(q <= later for (_, q), (_, later) in zip(sorted(known), sorted(known)[1:], strict=False))
