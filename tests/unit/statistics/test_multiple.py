"""Holm's adjustment of several p-values."""

from __future__ import annotations

import random
from itertools import combinations

import pytest

from rollout_compare.statistics.multiple import holm


def by_closed_testing(p_values: list[float]) -> list[float]:
    """The largest of Bonferroni's p-values of all sets of questions that a question belongs to."""
    places = range(len(p_values))
    sets = [chosen for size in places for chosen in combinations(places, size + 1)]
    bonferroni = {chosen: min(1.0, len(chosen) * min(p_values[place] for place in chosen)) for chosen in sets}
    return [max(p for chosen, p in bonferroni.items() if place in chosen) for place in places]


@pytest.mark.parametrize(
    ("p_values", "adjusted"),
    [
        ([0.01, 0.04, 0.03], [0.03, 0.06, 0.06]),
        ([0.01, 0.04, 0.03, 0.005], [0.03, 0.06, 0.06, 0.02]),
        ([0.6, 0.9], [1, 1]),
        ([0.02, 0.02, 0.02], [0.06, 0.06, 0.06]),
    ],
)
def test_the_smaller_p_is_adjusted_for_more_questions(p_values: list[float], adjusted: list[float]) -> None:
    assert holm(p_values) == pytest.approx(adjusted)


def test_holms_values_are_those_of_closed_testing() -> None:
    draw = random.Random(5)
    for size in [1, 2, 3, 4, 5, 6, 7, 8] * 6:
        p_values = [draw.choice([draw.random(), draw.random() ** 6, 0.02, 0.0, 1.0]) for _ in range(size)]
        assert holm(p_values) == pytest.approx(by_closed_testing(p_values), abs=1e-9)


def test_a_group_without_a_p_value_does_not_count() -> None:
    assert holm([None, 0.02, None, 0.03]) == [None, pytest.approx(0.04), None, pytest.approx(0.04)]
    assert holm([None]) == [None]
    assert holm([]) == []


def test_one_group_needs_no_adjustment() -> None:
    assert holm([0.04]) == [0.04]


@pytest.mark.parametrize("bad", [-0.1, 1.1, float("nan")])
def test_what_is_no_probability_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        holm([0.5, bad])
