"""How far masked tasks could move the mean difference."""

from __future__ import annotations

import pytest

from rollout_compare.statistics.flips import sign_test
from rollout_compare.statistics.masks import Bracket, bracket


def test_six_tasks_masked_on_the_new_side_only() -> None:
    found = bracket(94, -0.02, old_where_new_masked=[1, 1, 1, 1, 0, 0])
    assert found == pytest.approx((-0.0588, 0.0012), abs=5e-9)
    assert sign_test(0, 6) == pytest.approx(0.03125)


def test_the_old_side_takes_what_is_best_for_the_other_bound() -> None:
    assert bracket(2, 0.5, new_where_old_masked=[0.25, 1.0]) == pytest.approx(((1 - 0.75) / 4, (1 + 1.25) / 4))


def test_a_task_masked_on_both_sides_may_be_anything() -> None:
    assert bracket(3, 0.0, both_masked=1) == pytest.approx((-0.25, 0.25))


def test_when_all_is_masked_anything_is_possible() -> None:
    assert bracket(0, None, both_masked=5) == Bracket(-1, 1)
    assert bracket(0, None, old_where_new_masked=[1, 1]) == Bracket(-1, 0)


def test_masked_on_one_side_and_on_the_other_mirror_each_other() -> None:
    found = bracket(10, 0.2, old_where_new_masked=[0.5, 1], new_where_old_masked=[0])
    mirrored = bracket(10, -0.2, new_where_old_masked=[0.5, 1], old_where_new_masked=[0])
    assert found is not None
    assert mirrored == pytest.approx((-found.high, -found.low))


def test_without_a_mask_the_bracket_closes() -> None:
    assert bracket(10, 0.1) == pytest.approx((0.1, 0.1))


def test_without_a_task_there_is_no_bracket() -> None:
    assert bracket(0, None) is None


@pytest.mark.parametrize(("mean_difference", "known"), [(0.0, 1.5), (0.0, -0.1), (3.0, 0.5)])
def test_rewards_without_bounds_have_no_bracket(mean_difference: float, known: float) -> None:
    assert bracket(2, mean_difference, old_where_new_masked=[known]) is None


def test_impossible_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        bracket(-1, None)
    with pytest.raises(ValueError, match="mean"):
        bracket(3, None)
