"""Sentences of the verdict, word for word as the page on the statistics has them, and the order of doubts behind it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.conftest import Json, Rollouts, Summary
from tests.rows import asking

MINUS = "\N{MINUS SIGN}"


def rows(rewards: Sequence[float | None], **more: Any) -> list[Json]:
    """One row a task; a reward of None is a masked one."""
    return [
        {"task_id": f"t{at:03}", "reward": 0 if reward is None else reward, "mask_sample": reward is None, **more}
        for at, reward in enumerate(rewards)
    ]


@pytest.fixture
def judge(rollouts: Rollouts, summary: Summary) -> Callable[..., Json]:
    """The whole summary of two sides' rows."""

    def call(old: list[Json], new: list[Json], *argv: object) -> Json:
        return summary(rollouts.write("old.jsonl", old), rollouts.write("new.jsonl", new), *argv)

    return call


def test_the_worked_example_is_judged_as_on_the_page(judge: Callable[..., Json]) -> None:
    found = judge(rows([1] * 70 + [0] * 30), rows([0] * 11 + [1] * 60 + [0] * 29))
    assert found["verdict"]["sentence"] == (
        "New is lower by 10.0 points (95% CI 2.9 to 17.1 lower; 100 paired tasks; 11 lost, 1 won, exact p 0.006). "
        "Single runs: some of these flips would appear on a rerun."
    )
    turned = judge(rows([0] * 11 + [1] * 60 + [0] * 29), rows([1] * 70 + [0] * 30))
    assert turned["verdict"]["sentence"] == (
        "New is higher by 10.0 points (95% CI 2.9 to 17.1 higher; 100 paired tasks; 1 lost, 11 won, exact p 0.006). "
        "Single runs: some of these flips would appear on a rerun."
    )


def test_the_repeats_of_the_page_are_judged_as_there(judge: Callable[..., Json]) -> None:
    def side(passed: Sequence[int]) -> list[Json]:
        return [
            {"task_id": f"task-{task:03}", "reward": int(run < ones)}
            for task, ones in enumerate(passed, start=1)
            for run in range(4)
        ]

    found = judge(side([4, 4, 4, 4, 3, 3, 2, 2, 1, 0, 0, 0]), side([0, 1, 4, 4, 3, 2, 2, 3, 1, 0, 0, 0]))
    assert found["verdict"]["sentence"] == (
        f"No clear difference: {MINUS}14.6 points (95% CI {MINUS}44.8 to +15.7; 12 paired tasks; 3 lost, 1 won, exact "
        "p 0.62). Differences under about 56.5 points are below what this comparison can resolve."
    )


def test_a_file_against_itself_is_judged_as_on_the_page(judge: Callable[..., Json]) -> None:
    same = rows([1] * 70 + [0] * 30)
    numbers = "100 paired tasks; 0 lost, 0 won, exact p 1"
    assert judge(same, same)["verdict"]["sentence"] == (
        f"Both sides hold the same rows. No clear difference: 0.0 points (95% CI {MINUS}2.8 to +2.8; {numbers}). "
        "Differences under about 7.8 points are below what this comparison can resolve."
    )
    assert judge(same, same, "--margin", 0.05)["verdict"]["sentence"] == (
        "Both sides hold the same rows. "
        f"No difference larger than 5 points (0.0 points; 95% CI {MINUS}2.8 to +2.8; {numbers})."
    )


def test_a_borderline_verdict_ends_with_the_words_of_the_page(judge: Callable[..., Json]) -> None:
    # Five lost of 20: the interval excludes 0, and exact p is 2/2^5 = 0.0625.
    found = judge(rows([1] * 20), rows([0] * 5 + [1] * 15))
    assert found["verdict"]["kind"] == "lower"
    assert found["verdict"]["sentence"].endswith(
        " Single runs: some of these flips would appear on a rerun."
        " Borderline: the interval and the exact test disagree."
    )


@pytest.mark.parametrize(("differing", "said"), [(1, "1 of 12 tasks has"), (2, "2 of 12 tasks have")])
def test_tasks_with_another_prompt_are_counted_in_the_verdict(
    differing: int, said: str, judge: Callable[..., Json]
) -> None:
    def side(changed: int) -> list[Json]:
        prompts = [f"{'Again ' * (at < changed)}{at}" for at in range(12)]
        return [row | asking(prompt) for row, prompt in zip(rows([1] * 12), prompts, strict=True)]

    sentence = judge(side(0), side(differing))["verdict"]["sentence"]
    assert f" {said} a different prompt on the new side." in sentence


@pytest.mark.parametrize(("masked", "said", "lowest"), [(1, "1 task is", "5.0"), (2, "2 tasks are", "10.0")])
def test_masked_tasks_come_with_their_bracket(masked: int, said: str, lowest: str, judge: Callable[..., Json]) -> None:
    # Of 20 tasks the last ones are masked on the new side; their old reward is 1, so that each d is from -1 to 0.
    found = judge(rows([1] * 20), rows([1] * (20 - masked) + [None] * masked))
    assert (
        f" {said} masked on the new side only: had the masked tasks counted, the difference would lie between "
        f"{MINUS}{lowest} and 0.0 points."
    ) in found["verdict"]["sentence"]


def test_a_narrow_bracket_is_told_with_the_decimals_that_it_takes(judge: Callable[..., Json]) -> None:
    # One task of 2,000 is masked: 1/2,000 is 0.05 points.
    found = judge(rows([1] * 2000), rows([1] * 1999 + [None]))
    assert f"would lie between {MINUS}0.05 and 0.00 points." in found["verdict"]["sentence"]


def test_missing_tasks_are_counted_beside_the_bracket(judge: Callable[..., Json]) -> None:
    old, new = rows([1] * 21), rows([1] * 19 + [None])
    new += [{"task_id": f"new {at}", "reward": 1} for at in range(2)]
    sentence = judge(old, new)["verdict"]["sentence"]
    assert (
        f"between {MINUS}5.0 and 0.0 points (2 tasks missing on the old side, 1 on the new, are left out)." in sentence
    )


def test_differences_too_large_for_an_interval_are_said_to_be_so(judge: Callable[..., Json]) -> None:
    found = judge(rows([1.5e308, -1.5e308] * 6), rows([-1.5e308, 1.5e308] * 6))
    assert found["statistics"]["interval"] is None
    assert "(no interval: the rewards are too large for one; 12 paired tasks" in found["verdict"]["sentence"]


def test_a_constant_shift_has_an_interval_too(judge: Callable[..., Json]) -> None:
    # 25 ± 2.7718 * 50/12 = 11.549 points, as rewards go up to 0.5.
    found = judge(rows([0.25] * 12), rows([0.5] * 12))
    assert found["verdict"]["kind"] == "higher"
    assert "(95% CI 13.5 to 36.5 higher; 12 paired tasks; 0 lost, 12 won" in found["verdict"]["sentence"]


def test_a_difference_that_does_not_matter_is_told_with_its_way(judge: Callable[..., Json]) -> None:
    # 0.01 or 0.03 lost of each of 200: ssd 0.02, R 0.9: 1.959964 * √(0.02 + 1.62)/200 = 0.01255.
    old = [0.5] * 199 + [0.9]
    lower = [reward - (0.01, 0.03)[at % 2] for at, reward in enumerate(old)]
    found = judge(rows(old), rows(lower), "--margin", 0.05)
    assert found["verdict"]["sentence"].startswith(
        f"No difference larger than 5 points ({MINUS}2.0 points; 95% CI {MINUS}3.3 to {MINUS}0.7; 200 paired tasks; "
        "200 lost, 0 won, exact p <0.001). Within that, new is lower."
    )
    turned = judge(rows(lower), rows(old), "--margin", "5%")
    assert "exact p <0.001). Within that, new is higher." in turned["verdict"]["sentence"]
    # By a margin that the interval exceeds, it is a loss like any other.
    assert judge(rows(old), rows(lower), "--margin", 0.03)["verdict"]["kind"] == "lower"


def test_tests_of_graded_repeats_go_to_the_biggest_losses_only(judge: Callable[..., Json]) -> None:
    graded = {f"loss {at:04}": ([0.5, 0.5, 0.75, 0.75], [0.0, 0.0, 0.25, 0.25]) for at in range(2000)}
    # Smaller a loss, though from a higher reward to a higher one; those scored 0 or 1 need no permutation.
    graded |= {"small": ([1.0, 1.0, 0.9, 0.9], [0.55, 0.55, 0.5, 0.5])}
    graded |= {"binary": ([1] * 4, [0] * 4), "single": ([0.9], [0.1])}
    old, new = (
        [{"task_id": name, "reward": reward} for name, pair in graded.items() for reward in pair[at]] for at in (0, 1)
    )
    found = judge(old, new)
    tags = {task["task"]: task["evidence"]["tag"] for task in found["tasks"]}
    assert [name for name, tag in tags.items() if tag == "not_tested"] == ["small"]
    assert (tags["loss 0000"], tags["binary"], tags["single"]) == ("clear", "clear", "single_run")
    assert [note for note in found["notes"] if "graded" in note] == [
        "1 flip with too many graded repeats to test each one"
    ]


@pytest.mark.parametrize(
    ("lost", "won", "text"),
    [
        (6, 0, "0.031"),
        (5, 0, "0.062"),
        (4, 0, "0.12"),
        (10, 0, "0.002"),
        (12, 0, "<0.001"),
        (2, 0, "0.50"),
        (1, 1, "1"),
    ],
)
def test_p_has_two_digits_and_at_most_three_decimals(
    lost: int, won: int, text: str, judge: Callable[..., Json]
) -> None:
    # 2/2^6 = 0.03125, 2/2^5 = 0.0625, 2/2^4 = 0.125, 2/2^2 = 0.5, 2/2^10 = 0.00195, 2/2^12 = 0.00049.
    rest = [1.0] * (40 - lost - won)
    found = judge(rows([1.0] * lost + [0.0] * won + rest), rows([0.0] * lost + [1.0] * won + rest))
    assert f"exact p {text})" in found["verdict"]["sentence"] or f"exact p {text};" in found["verdict"]["sentence"]
