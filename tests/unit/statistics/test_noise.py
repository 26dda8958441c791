"""What a rerun would change."""

from __future__ import annotations

import math

import pytest

from rollout_compare.statistics.noise import NoiseFloor, noise_floor, rerun_standard_error


def tasks(text: str) -> list[list[float]]:
    """One word a task, one digit a repeat."""
    return [[float(digit) for digit in word] for word in text.split()]


OLD = tasks("111 111 111 110 100 000 000 111")
NEW = tasks("111 110 111 100 100 000 100 000")


def test_two_single_runs_of_the_old_side_would_disagree_on_one_task_and_a_third() -> None:
    found = noise_floor(OLD, NEW)
    assert found.old == pytest.approx(1.3333, abs=5e-5)
    assert found.new == pytest.approx(4 * 2 / 3)


def test_the_noise_floor_counts_the_disagreeing_pairs_of_repeats() -> None:
    side = tasks("1100 1000 1110 1111")
    pairs = [(a, b) for task in side for i, a in enumerate(task) for j, b in enumerate(task) if i != j]
    assert noise_floor(side, side).old == pytest.approx(sum(a != b for a, b in pairs) / 12)


def test_stable_tasks_have_no_noise() -> None:
    assert noise_floor(tasks("11 00"), tasks("111 00")) == NoiseFloor(0, 0)
    assert rerun_standard_error(tasks("11 00"), tasks("111 00")) == 0
    assert rerun_standard_error([[0.3, 0.1 + 0.2]], [[0.7, 0.7]]) == 0


def test_a_single_run_anywhere_leaves_both_sides_without_a_noise_floor() -> None:
    assert noise_floor(tasks("111 11"), tasks("111 1")) == NoiseFloor(None, None)
    assert noise_floor(tasks("111 1"), tasks("111 11")) == NoiseFloor(None, None)


def test_graded_rewards_leave_their_side_without_a_noise_floor() -> None:
    assert noise_floor([[0.5, 1], [1, 0]], [[1, 1], [1, 0]]) == NoiseFloor(None, 1)


def test_the_error_of_a_rerun() -> None:
    assert rerun_standard_error(OLD, NEW) == pytest.approx(0.1020621, abs=5e-8)


def test_the_error_of_a_rerun_of_graded_rewards_with_unequal_repeats() -> None:
    error = rerun_standard_error([[0.5, 0.7], [3, 4, 8]], [[0.5, 0.1], [-1, 2]])
    assert error == pytest.approx(math.sqrt(0.02 / 2 + 7 / 3 + 0.08 / 2 + 4.5 / 2) / 2)


def test_a_single_run_anywhere_leaves_no_error_of_a_rerun() -> None:
    assert rerun_standard_error(tasks("111 1"), tasks("111 11")) is None
    assert rerun_standard_error(tasks("111 11"), tasks("111 1")) is None


def test_without_a_task_there_is_nothing() -> None:
    assert noise_floor([], []) == NoiseFloor(None, None)
    assert rerun_standard_error([], []) is None


def test_the_largest_rewards_have_an_error() -> None:
    small = rerun_standard_error([[0.5, -0.5], [0.5, 0.25]], [[0, 0], [0.125, 0]])
    large = rerun_standard_error([[0.5e308, -0.5e308], [0.5e308, 0.25e308]], [[0, 0], [0.125e308, 0]])
    assert small is not None
    assert large == pytest.approx(small * 1e308)


def test_tasks_are_read_once() -> None:
    assert noise_floor(iter(OLD), iter(NEW)) == noise_floor(OLD, NEW)
    assert rerun_standard_error(iter(OLD), iter(NEW)) == rerun_standard_error(OLD, NEW)


def test_sides_of_different_lengths_and_rewards_that_are_not_finite_are_refused() -> None:
    for measure in (noise_floor, rerun_standard_error):
        with pytest.raises(ValueError, match="shorter"):
            measure(OLD, NEW[:5])
    for bad in ([1, math.nan], [1, math.inf], [math.inf, math.inf], [math.inf, -math.inf]):
        with pytest.raises(ValueError):  # noqa: PT011 - summing opposite infinities has its own words
            rerun_standard_error([bad], [[1, 0]])
