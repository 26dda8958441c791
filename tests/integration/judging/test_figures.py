"""The figures of a comparison, as the JSON summary gives them: paired statistics, groups and evidence of flips."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

import pytest

from tests.conftest import Compare, Rollouts, Summary

Rewards = Sequence[float | None]

# Seven digits after the point, as the written vectors have.
DIGITS = 6e-8

REPEATS_OLD = [[1, 1, 1], [1, 1, 1], [1, 1, 1], [1, 1, 0], [1, 0, 0], [0, 0, 0], [0, 0, 0], [1, 1, 1]]
REPEATS_NEW = [[1, 1, 1], [1, 1, 0], [1, 1, 1], [1, 0, 0], [1, 0, 0], [0, 0, 0], [1, 0, 0], [0, 0, 0]]


def attempt(task: str, reward: float | None, **more: Any) -> dict[str, Any]:
    """One row; a reward of None is a masked attempt."""
    row = {"task_id": task, "reward": 0.0 if reward is None else reward, **more}
    return row | {"mask_sample": True} if reward is None else row


def side(tasks: Iterable[Rewards], **more: Any) -> list[dict[str, Any]]:
    """Rows of tasks `t00000`, `t00001`, ...; of each its repeats."""
    return [attempt(f"t{number:05}", reward, **more) for number, repeats in enumerate(tasks) for reward in repeats]


def single(*rewards: float | None) -> list[Rewards]:
    return [[reward] for reward in rewards]


def lost_and_won(lost: int, won: int, tasks: int, repeats: int = 1) -> tuple[list[Rewards], list[Rewards]]:
    """Old and new side of `tasks` tasks with reward 0 or 1."""
    old = [1.0] * lost + [0.0] * won + [1.0] * (tasks - lost - won)
    new = [0.0] * lost + [1.0] * won + [1.0] * (tasks - lost - won)
    return [[reward] * repeats for reward in old], [[reward] * repeats for reward in new]


@pytest.fixture
def figures(rollouts: Rollouts, summary: Summary) -> Callable[..., dict[str, Any]]:
    """The statistics of two sides of tasks."""

    def call(old: Iterable[Rewards], new: Iterable[Rewards], *argv: object) -> dict[str, Any]:
        pair = rollouts.write("old.jsonl", side(old)), rollouts.write("new.jsonl", side(new))
        statistics: dict[str, Any] = summary(*pair, *argv)["statistics"]
        return statistics

    return call


@pytest.fixture
def evidence(rollouts: Rollouts, summary: Summary) -> Callable[[Rewards, Rewards], dict[str, Any]]:
    """The evidence of one flip between two sets of repeats."""

    def call(old: Rewards, new: Rewards) -> dict[str, Any]:
        pair = rollouts.write("old.jsonl", side([old])), rollouts.write("new.jsonl", side([new]))
        (task,) = summary(*pair)["tasks"]
        assert task["category"] == "flipped"
        found: dict[str, Any] = task["evidence"]
        return found

    return call


def bounds(statistics: dict[str, Any], name: str = "interval") -> list[float]:
    return [statistics[name]["low"], statistics[name]["high"]]


def part(statistics: dict[str, Any], name: str, key: str) -> Any:
    """A figure that belongs to others, null when all of them are."""
    return (statistics[name] or {}).get(key)


# The headline


def test_paired_differences_of_task_means_give_the_headline(figures: Callable[..., dict[str, Any]]) -> None:
    found = figures(REPEATS_OLD, REPEATS_NEW)
    assert found["n"] == 8
    assert found["coverage"] == 1
    assert found["mean_old"] == pytest.approx(5 / 8, abs=DIGITS)
    assert found["mean_new"] == pytest.approx(11 / 24, abs=DIGITS)
    assert found["mean_difference"] == pytest.approx(-0.1666667, abs=DIGITS)
    assert found["standard_error"] == pytest.approx(0.1408590, abs=DIGITS)
    # Squares around the mean, 4/3 - 8/36, and 2 for the added pair: 1.959964 * √3.1111111 / 8 = 0.4321315.
    assert bounds(found) == pytest.approx([-0.5987981, 0.2654648], abs=DIGITS)
    assert (found["interval"]["level"], found["interval"]["method"]) == (0.95, "added-pair")
    assert found["p_value"] == pytest.approx(0.2753455, abs=DIGITS)
    # The root of a sum over the binomial distribution, by scipy.
    assert found["resolution"] == pytest.approx(0.7279837, abs=DIGITS)
    assert found["reward_span"] == 1
    # Three tasks lost and one won: 2 (1 + 4) / 16.
    assert (found["lost"], found["won"], found["exact_p"]) == (3, 1, pytest.approx(0.625))


@pytest.mark.parametrize("repeats", [1, 2, 4])
def test_every_shape_has_the_same_interval(repeats: int, figures: Callable[..., dict[str, Any]]) -> None:
    found = figures(*lost_and_won(9, 3, 100, repeats))
    assert (found["n"], found["mean_difference"]) == (100, pytest.approx(-0.06))
    assert found["standard_error"] == pytest.approx(0.0342893, abs=DIGITS)
    assert found["p_value"] == pytest.approx(0.0832486, abs=DIGITS)
    assert found["resolution"] == pytest.approx(0.1370445, abs=DIGITS)
    assert bounds(found) == pytest.approx([-0.1323861, 0.0123861], abs=DIGITS)


@pytest.mark.parametrize("factor", [2, 100, 0.5])
def test_rewards_times_a_number_change_nothing_but_the_unit(
    factor: float, figures: Callable[..., dict[str, Any]]
) -> None:
    found = figures(*([[factor * (reward or 0) for reward in task] for task in one] for one in lost_and_won(9, 3, 100)))
    assert bounds(found) == pytest.approx([-0.1323861 * factor, 0.0123861 * factor], abs=factor * DIGITS)
    assert found["resolution"] == pytest.approx(0.1370445 * factor, abs=factor * DIGITS)
    assert found["reward_span"] == factor


def test_one_row_more_moves_the_interval_by_little(figures: Callable[..., dict[str, Any]]) -> None:
    old, new = lost_and_won(9, 3, 100)
    old[99] = [1.0, 1.0]
    assert bounds(figures(old, new)) == pytest.approx([-0.1323861, 0.0123861], abs=DIGITS)


def test_the_span_is_that_of_single_rewards(figures: Callable[..., dict[str, Any]]) -> None:
    # Means of 0.5 on both sides, from runs of 0 and 1: 2.7718077 / 50.
    found = figures([[1, 0]] * 50, [[0, 1]] * 50)
    assert found["reward_span"] == 1
    assert bounds(found) == pytest.approx([-0.0554362, 0.0554362], abs=DIGITS)


@pytest.mark.parametrize(
    ("lost", "won", "tasks", "interval"),
    [
        (9, 3, 100, [-0.1323861, 0.0123861]),
        (11, 1, 100, [-0.1706675, -0.0293325]),
        (0, 0, 50, [-0.0554362, 0.0554362]),
        (12, 4, 89, [-0.1814340, 0.0016588]),
    ],
)
def test_single_runs_scored_zero_or_one_have_the_interval_worked_out_by_hand(
    lost: int, won: int, tasks: int, interval: list[float], figures: Callable[..., dict[str, Any]]
) -> None:
    # (won - lost ± 1.959964 * √(lost + won - (won - lost)²/n + 2)) / n.
    found = figures(*lost_and_won(lost, won, tasks))
    assert found["interval"]["method"] == "added-pair"
    assert bounds(found) == pytest.approx(interval, abs=DIGITS)
    assert found["mean_difference"] == pytest.approx((won - lost) / tasks)


def test_tasks_weigh_the_same_whatever_their_repeats(figures: Callable[..., dict[str, Any]]) -> None:
    found = figures([[1, 1, 1, 1, 1, 1], [0], [0.5]], [[0], [0, 0, 1, 1], [0.5]])
    # Differences -1, 0.5 and 0; pooled rows would give other means.
    assert found["mean_old"] == pytest.approx(0.5)
    assert found["mean_new"] == pytest.approx(1 / 3)
    assert found["mean_difference"] == pytest.approx(-1 / 6)
    assert (found["lost"], found["won"]) == (1, 1)


@pytest.mark.parametrize(
    ("old", "new", "low", "high"),
    [
        ([[1, 1], [0, 0]], [[0, 0], [1, 1]], -1, 1),
        # -1 ± 2.7718077/2.
        (single(1, 1), single(0, 0), -1, 0.3859),
        # 0 ± 1.959964 * √(8 + 8) / 2.
        (single(2, 0), single(0, 2), -3.9199, 3.9199),
    ],
    ids=["repeats", "single runs", "rewards outside 0 to 1"],
)
def test_bounds_stop_at_one_when_rewards_are_shares(
    old: list[Rewards], new: list[Rewards], low: float, high: float, figures: Callable[..., dict[str, Any]]
) -> None:
    assert bounds(figures(old, new)) == pytest.approx([low, high], abs=1e-4)


def test_coverage_is_the_share_of_all_tasks_that_both_sides_scored(rollouts: Rollouts, summary: Summary) -> None:
    old = [attempt(name, 1.0) for name in "abcde"] + [attempt("f", None)]
    new = [attempt(name, 1.0) for name in "abdf"] + [attempt("c", None), attempt("g", 1.0)]
    # Of a to g, and one failure without a task: a, b and d are scored on both sides.
    pair = rollouts.write("old.jsonl", old), rollouts.write("new.jsonl", new, failures=[{"_ng_failure_class": "lost"}])
    found = summary(*pair)
    assert found["counts"]["tasks"] == 8
    assert found["statistics"]["n"] == 3
    assert found["statistics"]["coverage"] == pytest.approx(3 / 8)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (REPEATS_OLD, REPEATS_NEW),
        lost_and_won(9, 3, 100),
        (single(1, 0.25, 0.5, 0, None, 1), single(0.5, 0.5, 0.25, 0, 1, None)),
        (single(7, -2, 3), single(1, 0, 3)),
    ],
    ids=["repeats", "zero or one", "graded and masked", "raw"],
)
def test_swapped_sides_mirror_every_figure(
    old: list[Rewards], new: list[Rewards], figures: Callable[..., dict[str, Any]]
) -> None:
    one, other = figures(old, new), figures(new, old)
    assert other["mean_difference"] == pytest.approx(-one["mean_difference"])
    assert (other["mean_old"], other["lost"]) == (one["mean_new"], one["won"])
    for name in ("interval", *["bracket"] * (one["bracket"] is not None)):
        assert bounds(other, name) == pytest.approx([-bound for bound in reversed(bounds(one, name))])
    for name in ("n", "coverage", "standard_error", "p_value", "exact_p", "resolution", "rerun_standard_error"):
        assert other[name] == pytest.approx(one[name]), name


# Lost and won


@pytest.mark.parametrize(
    ("lost", "won", "p"),
    [
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
def test_lost_and_won_tasks_are_tested_exactly(
    lost: int, won: int, p: float, figures: Callable[..., dict[str, Any]]
) -> None:
    found = figures(*lost_and_won(lost, won, lost + won + 3))
    assert (found["lost"], found["won"]) == (lost, won)
    assert found["exact_p"] == pytest.approx(p, abs=DIGITS)


def test_flips_with_an_agent_error_are_lost_or_won_and_have_evidence(rollouts: Rollouts, summary: Summary) -> None:
    old = rollouts.write("old.jsonl", side(single(1, 1, 0, 1)))
    rows = side(single(0, 0, 1, 1))
    rows[1]["error"] = rows[2]["error"] = "sandbox lost"
    found = summary(old, rollouts.write("new.jsonl", rows))
    assert found["counts"]["flipped_agent_error"] == 2
    assert (found["statistics"]["n"], found["statistics"]["lost"], found["statistics"]["won"]) == (4, 2, 1)
    assert [task["evidence"] and task["evidence"]["tag"] for task in found["tasks"]] == ["single_run"] * 3 + [None]


# One flip


@pytest.mark.parametrize(
    ("repeats", "old", "new", "p", "tag"),
    [
        (3, 3, 2, 1.0, "too_few_repeats"),
        (3, 3, 0, 0.1, "too_few_repeats"),
        (4, 4, 0, 0.0285714, "clear"),
        (5, 5, 1, 0.0476190, "clear"),
        (5, 5, 2, 0.1666667, "within_noise"),
        (8, 8, 3, 0.0256410, "clear"),
        (8, 8, 4, 0.0769231, "within_noise"),
    ],
)
@pytest.mark.parametrize("swapped", [False, True], ids=["lost", "won"])
def test_repeats_that_pass_or_fail_are_tested_exactly(
    repeats: int,
    old: int,
    new: int,
    p: float,
    tag: str,
    swapped: bool,
    evidence: Callable[[Rewards, Rewards], dict[str, Any]],
) -> None:
    one, other = ([1.0] * passed + [0.0] * (repeats - passed) for passed in (old, new))
    found = evidence(other, one) if swapped else evidence(one, other)
    assert found["tag"] == tag
    assert found["p"] == pytest.approx(p, abs=DIGITS)


@pytest.mark.parametrize(
    ("old", "new", "ways", "splits"),
    [
        # Two passes of eight repeats: 15, 12 and 1 ways to have none, one or both among two of them.
        ((2, 1), (6, 1), 12 + 1, 28),
        # 1, 18, 45 and 20 ways to have none to three of six passes among three repeats.
        ((3, 1), (6, 5), 18 + 1, 84),
        ((3, 3), (5, 0), 1, 56),
        ((6, 0), (3, 2), 3, 36),
    ],
)
def test_unequal_numbers_of_repeats_add_up_all_that_is_as_rare(
    old: tuple[int, int],
    new: tuple[int, int],
    ways: int,
    splits: int,
    evidence: Callable[[Rewards, Rewards], dict[str, Any]],
) -> None:
    one, other = ([1.0] * passed + [0.0] * (repeats - passed) for repeats, passed in (old, new))
    assert evidence(one, other)["p"] == pytest.approx(ways / splits)
    assert evidence(other, one)["p"] == pytest.approx(ways / splits)


@pytest.mark.parametrize(
    ("old", "new", "p", "tag"),
    [
        ([0.9, 0.8, 0.85], [0.5, 0.55, 0.6], 0.1, "too_few_repeats"),
        ([0.9, 0.8, 0.85, 0.95], [0.5, 0.55, 0.6, 0.4], 0.0285714, "clear"),
    ],
)
def test_graded_repeats_are_tested_by_permutation(
    old: Rewards, new: Rewards, p: float, tag: str, evidence: Callable[[Rewards, Rewards], dict[str, Any]]
) -> None:
    found = evidence(old, new)
    assert found["tag"] == tag
    assert found["p"] == pytest.approx(p, abs=DIGITS)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ([1, 7, 4, 4], [3, 2, 6, 9]),
        ([9, 8, 9, 3], [1, 2, 6, 4]),
        ([7, 1, 2], [6, 9, 8, 3, 3]),
        ([3, 9, 6, 7, 7, 1], [1, 2]),
        ([0, 10, 10, 5], [10, 0, 0, 0]),
        ([7, 9, 4, 6, 8, 3, 9, 5], [2, 6, 4, 1, 5, 7, 3, 3]),
    ],
)
def test_the_permutation_test_counts_the_splits_at_least_as_far_apart(
    old: list[int], new: list[int], evidence: Callable[[Rewards, Rewards], dict[str, Any]]
) -> None:
    # Counted in whole tenths: sums of 0.1, 0.2, ... that are equal may differ in their last bit.
    pooled = old + new

    def apart(chosen: Iterable[int]) -> int:
        first = sum(chosen)
        return abs(first * len(new) - (sum(pooled) - first) * len(old))

    splits = [apart(chosen) for chosen in itertools.combinations(pooled, len(old))]
    found = evidence([reward / 10 for reward in old], [reward / 10 for reward in new])
    p = sum(split >= apart(old) for split in splits) / len(splits)
    assert found == {"tag": "clear" if p < 0.05 else "within_noise", "p": pytest.approx(p)}


@pytest.mark.parametrize(
    ("old", "new", "tag"),
    [
        (1, 1, "single_run"),
        (1, 3, "too_few_repeats"),
        (2, 4, "too_few_repeats"),  # 1/15
        (2, 5, "clear"),  # 1/21
        (1, 19, "too_few_repeats"),  # 1/20 is not below 0.05
        (1, 20, "clear"),  # 1/21
        (3, 4, "clear"),  # 1/35
    ],
)
@pytest.mark.parametrize("grade", [1.0, 0.75], ids=["binary", "graded"])
def test_the_number_of_repeats_decides_what_a_flip_can_show(
    old: int, new: int, tag: str, grade: float, evidence: Callable[[Rewards, Rewards], dict[str, Any]]
) -> None:
    assert evidence([grade] * old, [0.0] * new)["tag"] == tag
    assert evidence([0.0] * new, [grade] * old)["tag"] == tag


@pytest.mark.parametrize(
    ("repeats", "grade", "tag"),
    [(8, 0.75, "clear"), (9, 0.75, "not_tested"), (9, 1.0, "clear")],
    ids=["12,870 splits", "48,620 splits", "passed or failed"],
)
def test_too_many_splits_of_graded_repeats_are_not_tested(
    repeats: int, grade: float, tag: str, rollouts: Rollouts, summary: Summary
) -> None:
    old = rollouts.write("old.jsonl", side([[grade] * repeats]))
    found = summary(old, rollouts.write("new.jsonl", side([[0.0] * repeats])))
    (task,) = found["tasks"]
    assert task["evidence"]["tag"] == tag
    assert (task["evidence"]["p"] is None) is (tag == "not_tested")
    assert any("test" in note for note in found["notes"]) is (tag == "not_tested")


def test_the_biggest_losses_are_tested_and_the_rest_is_noted(rollouts: Rollouts, summary: Summary) -> None:
    high, low = [0.9, 0.8, 0.85, 0.95], [0.5, 0.55, 0.6, 0.4]
    # Gains are larger than any loss here, and both they and the small losses come first by name.
    pairs = {f"gain {k}": ([0.01, 0.02, 0.03, 0.04], high) for k in range(2)}
    pairs |= {f"light {k}": (high, [0.89, *high[1:]]) for k in range(3)}
    pairs |= {f"loss {k:04}": (high, low) for k in range(1999)}
    pairs |= {"zero": (high, [0.0] * 4), "pass": ([1.0] * 4, [0.0] * 4)}
    paths = [
        rollouts.write(f"{which}.jsonl", [attempt(name, reward) for name in pairs for reward in pairs[name][place]])
        for place, which in enumerate(("old", "new"))
    ]
    found = summary(*paths)
    tags = {task["task"]: task["evidence"]["tag"] for task in found["tasks"]}
    untested = [name for name in tags if tags[name] == "not_tested"]
    assert untested == ["gain 0", "gain 1", "light 0", "light 1", "light 2"]
    assert {tags[name] for name in tags if name not in untested} == {"clear"}
    assert {task["evidence"]["p"] for task in found["tasks"] if task["task"] in untested} == {None}
    assert any("test" in note for note in found["notes"])


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ([1] * 4, [0] * 4, "clear"),
        ([1] * 5, [1, 1, 0, 0, 0], "within noise"),
        ([1] * 3, [0] * 3, "too few repeats"),
        ([1], [0], "single run"),
        ([0.5] * 9, [0.25] * 9, "not tested"),
    ],
)
def test_the_text_report_tags_each_flip(
    old: Rewards, new: Rewards, words: str, rollouts: Rollouts, run: Compare
) -> None:
    done = run(rollouts.write("old.jsonl", side([old])), rollouts.write("new.jsonl", side([new])))
    (flip,) = (line for line in done.out.splitlines() if line.startswith("- t00000"))
    assert words in flip


# What repeats tell


def test_repeats_give_the_noise_floor_and_the_error_of_a_rerun(figures: Callable[..., dict[str, Any]]) -> None:
    found = figures(REPEATS_OLD, REPEATS_NEW)
    # Each task with one or two passes of three adds 2 * 3/2 * 2/9 = 1/3 twice over: two such tasks, then four.
    assert found["noise_floor"] == {"old": pytest.approx(4 / 3), "new": pytest.approx(8 / 3)}
    assert found["rerun_standard_error"] == pytest.approx(0.1020621, abs=DIGITS)


@pytest.mark.parametrize("short", ["old", "new"])
def test_one_paired_task_without_repeats_leaves_no_noise_floor_and_no_rerun(
    short: str, figures: Callable[..., dict[str, Any]]
) -> None:
    sides = {"old": [*REPEATS_OLD, [1, 1]], "new": [*REPEATS_NEW, [1, 1]]}
    sides[short][-1] = [1]
    found = figures(sides["old"], sides["new"])
    assert part(found, "noise_floor", "old") is None
    assert part(found, "noise_floor", "new") is None
    assert found["rerun_standard_error"] is None


def test_graded_repeats_have_a_rerun_and_no_noise_floor(figures: Callable[..., dict[str, Any]]) -> None:
    found = figures([[0.2, 0.4], [1, 0]], [[0.5, 0.5], [1, 1]])
    assert part(found, "noise_floor", "old") is None
    assert part(found, "noise_floor", "new") is None
    # Variances 0.02 and 0.5 of two rows each: the root of 0.01 + 0.25, over two tasks.
    assert found["rerun_standard_error"] == pytest.approx(0.26**0.5 / 2)


def test_tasks_that_are_not_paired_do_not_take_the_noise_floor_away(rollouts: Rollouts, summary: Summary) -> None:
    old = rollouts.write("old.jsonl", [*side(REPEATS_OLD), attempt("masked", 1.0), attempt("missing", 1.0)])
    new = rollouts.write("new.jsonl", [*side(REPEATS_NEW), attempt("masked", None)])
    found = summary(old, new)["statistics"]
    assert found["noise_floor"] == {"old": pytest.approx(4 / 3), "new": pytest.approx(8 / 3)}
    assert found["rerun_standard_error"] == pytest.approx(0.1020621, abs=DIGITS)


# Masks


def masked_on_new() -> tuple[list[Rewards], list[Rewards]]:
    """94 paired tasks that lose 0.02 on the mean, six with rewards 1, 1, 1, 1, 0, 0 masked on the new side."""
    old = single(*[1.0] * 94, 1, 1, 1, 1, 0, 0)
    new = single(*[0.96] * 47, *[1.0] * 47, *[None] * 6)
    return old, new


def test_masked_tasks_bracket_the_difference(figures: Callable[..., dict[str, Any]]) -> None:
    found = figures(*masked_on_new())
    assert (found["n"], found["coverage"]) == (94, pytest.approx(0.94))
    assert found["mean_difference"] == pytest.approx(-0.02)
    assert bounds(found, "bracket") == pytest.approx([-0.0588, 0.0012])
    assert found["masked_only"] == {"old": 0, "new": 6, "p": pytest.approx(0.03125)}


def test_a_task_masked_on_both_sides_may_go_either_way(figures: Callable[..., dict[str, Any]]) -> None:
    found = figures(single(*[1.0] * 8, None, None), single(*[1.0] * 7, 0, None, 1.0))
    # Seven equal, one lost; -1 to 1 for one task, 0 to 1 for the one masked on the old side only.
    assert bounds(found, "bracket") == pytest.approx([(-1 - 1 + 0) / 10, (-1 + 1 + 1) / 10])
    assert (found["masked_only"]["old"], found["masked_only"]["new"]) == (1, 0)


def test_missing_and_anonymous_tasks_stay_out_of_the_bracket(rollouts: Rollouts, summary: Summary) -> None:
    old, new = (side(tasks) for tasks in masked_on_new())
    extra = [attempt("old only", 1.0), attempt("old only, masked", None)]
    pair = (
        rollouts.write("old.jsonl", old + extra),
        rollouts.write("new.jsonl", new, failures=[{"_ng_failure_class": "lost"}]),
    )
    found = summary(*pair)["statistics"]
    assert bounds(found, "bracket") == pytest.approx([-0.0588, 0.0012])


def test_rewards_outside_zero_to_one_have_no_bracket(figures: Callable[..., dict[str, Any]]) -> None:
    found = figures(single(1, 0, 5, 1), single(1, 0, 4, None))
    assert found["bracket"] is None
    assert (found["masked_only"]["old"], found["masked_only"]["new"]) == (0, 1)


@pytest.mark.parametrize(
    ("only_old", "only_new", "p"), [(0, 6, 0.03125), (6, 0, 0.03125), (0, 5, 0.0625), (3, 3, 1.0), (1, 9, 0.0214844)]
)
def test_masking_that_differs_between_the_sides_is_warned_of(
    only_old: int, only_new: int, p: float, rollouts: Rollouts, summary: Summary
) -> None:
    old = single(*[1] * 20, *[None] * only_old, *[1] * only_new)
    new = single(*[1] * 20, *[1] * only_old, *[None] * only_new)
    found = summary(rollouts.write("old.jsonl", side(old)), rollouts.write("new.jsonl", side(new)))
    assert found["statistics"]["masked_only"] == {"old": only_old, "new": only_new, "p": pytest.approx(p, abs=DIGITS)}
    assert ("masking_differs" in {warning["code"] for warning in found["warnings"]}) is (p < 0.05)


# Groups


def grouped(by: str, group: str, lost: int, won: int, tasks: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Rows of both sides that belong to one taskset or one agent."""

    def row(number: int, reward: float) -> dict[str, Any]:
        name = f"{group}-{number:03}"
        if by == "taskset":
            return {"_ng_task_id": {"taskset": group, "task_id": name}, "reward": reward}
        return {"task_id": name, "reward": reward, "agent_ref": {"name": group}}

    old, new = lost_and_won(lost, won, tasks)
    return [row(k, repeats[0] or 0) for k, repeats in enumerate(old)], [
        row(k, repeats[0] or 0) for k, repeats in enumerate(new)
    ]


@pytest.fixture
def groups(rollouts: Rollouts, summary: Summary) -> Callable[..., dict[str, dict[str, Any]]]:
    """The groups of a comparison by name."""

    def call(by: str, members: dict[str, tuple[int, int, int]]) -> dict[str, dict[str, Any]]:
        rows = [grouped(by, name, *members[name]) for name in members]
        old = rollouts.write("old.jsonl", [row for one, _ in rows for row in one])
        new = rollouts.write("new.jsonl", [row for _, one in rows for row in one])
        found = summary(old, new)["statistics"]["groups"]
        assert [group["by"] for group in found] == [by] * len(members)
        return {group["name"]: group for group in found}

    return call


@pytest.mark.parametrize("by", ["taskset", "agent"])
def test_groups_have_the_same_figures_and_adjusted_p_values(
    by: str, groups: Callable[..., dict[str, dict[str, Any]]]
) -> None:
    found = groups(by, {"quiz": (9, 3, 100), "shell": (11, 1, 100), "maze": (12, 4, 89)})
    assert {name: found[name]["n"] for name in found} == {"quiz": 100, "shell": 100, "maze": 89}
    assert found["quiz"]["mean_difference"] == pytest.approx(-0.06)
    assert found["shell"]["mean_difference"] == pytest.approx(-0.1)
    assert bounds(found["quiz"]) == pytest.approx([-0.1323861, 0.0123861], abs=DIGITS)
    assert bounds(found["shell"]) == pytest.approx([-0.1706675, -0.0293325], abs=DIGITS)
    assert bounds(found["maze"]) == pytest.approx([-0.1814340, 0.0016588], abs=DIGITS)
    assert found["quiz"]["p_value"] == pytest.approx(0.0832486, abs=DIGITS)
    # Holm: the smallest of three times three, the next times two, the last as it is; never falling.
    shell, maze, quiz = (found[name]["p_value"] for name in ("shell", "maze", "quiz"))
    assert shell < maze < quiz
    assert found["shell"]["p_adjusted"] == pytest.approx(3 * shell)
    assert found["maze"]["p_adjusted"] == pytest.approx(max(3 * shell, 2 * maze))
    assert found["quiz"]["p_adjusted"] == pytest.approx(max(3 * shell, 2 * maze, quiz))


def test_an_adjusted_p_value_is_at_most_one(groups: Callable[..., dict[str, dict[str, Any]]]) -> None:
    found = groups("taskset", {"quiz": (4, 4, 20), "shell": (5, 4, 20)})
    assert {name: found[name]["p_adjusted"] for name in found} == {"quiz": 1.0, "shell": 1.0}


@pytest.mark.parametrize("by", ["taskset", "agent"])
def test_a_group_without_figures_says_null(by: str, groups: Callable[..., dict[str, dict[str, Any]]]) -> None:
    found = groups(by, {"quiz": (9, 3, 100), "lone": (1, 0, 1), "same": (0, 0, 50)})
    assert (found["lone"]["n"], found["lone"]["mean_difference"]) == (1, -1)
    assert [found["lone"][name] for name in ("interval", "p_value", "p_adjusted")] == [None] * 3
    assert bounds(found["same"]) == pytest.approx([-0.0554362, 0.0554362], abs=DIGITS)
    assert [found["same"][name] for name in ("p_value", "p_adjusted")] == [None] * 2


def test_a_side_with_one_agent_has_no_groups_by_agent(rollouts: Rollouts, summary: Summary) -> None:
    paths = [
        rollouts.write(f"{name}.jsonl", side(single(1, 0, 1), agent_ref={"name": f"agent of {name}"}))
        for name in ("old", "new")
    ]
    found = summary(*paths)
    assert found["statistics"]["groups"] == []
    assert [list(found["sides"][name]["agents"]) for name in ("old", "new")] == [["agent of old"], ["agent of new"]]


# Secondary numbers


def spent(task: str, output: int, more_input: int = 0, **more: Any) -> dict[str, Any]:
    usage = {"input_tokens": 2 * output + more_input, "output_tokens": output, "total_tokens": 3 * output}
    return attempt(task, 1.0, response={"model": "m", "usage": usage}, **more)


def secondary(summary: dict[str, Any], word: str) -> dict[str, Any]:
    (found,) = (number for number in summary["statistics"]["secondary"] if word in f"{number['name']} {number['unit']}")
    entry: dict[str, Any] = found
    return entry


def test_tokens_are_compared_task_by_task(rollouts: Rollouts, summary: Summary) -> None:
    old = [spent("a", 10), spent("a", 30), spent("b", 100), spent("c", 1000)]
    new = [spent("a", 40, 5), spent("b", 200, 5), attempt("c", 1.0), spent("d", 9999)]
    found = summary(rollouts.write("old.jsonl", old), rollouts.write("new.jsonl", new))
    # Task a: 20 and 40, task b: 100 and 200; c and d have no number on one side.
    wanted = {"output": (60, 120), "input": (120, 245)}
    for word, (mean_old, mean_new) in wanted.items():
        number = secondary(found, word)
        assert (number["n"], number["unit"]) == (2, "tokens")
        assert [number["mean_old"], number["mean_new"]] == pytest.approx([mean_old, mean_new])
        assert number["mean_difference"] == pytest.approx(mean_new - mean_old)


def test_seconds_are_compared_task_by_task(rollouts: Rollouts, summary: Summary) -> None:
    old = [attempt("a", 1.0, agent_run_time=12.5), attempt("b", 1.0, agent_run_time=20)]
    new = [attempt("a", 0.0, agent_run_time=10.5), attempt("b", 1.0, agent_run_time=15)]
    number = secondary(summary(rollouts.write("old.jsonl", old), rollouts.write("new.jsonl", new)), "seconds")
    assert number["n"] == 2
    assert [number["mean_old"], number["mean_new"]] == pytest.approx([16.25, 12.75])
    assert number["mean_difference"] == pytest.approx(-3.5)


NO_NUMBERS: list[Any] = [None, "12", True, [1], {}]


@pytest.mark.parametrize(
    "response",
    ["text", [], 3, None, {}, {"usage": "none"}, {"usage": None}, {"usage": []}]
    + [{"usage": {"output_tokens": value}} for value in NO_NUMBERS]
    + ['{"usage": {"output_tokens": NaN}}', '{"usage": {"output_tokens": Infinity}}']
    + ['{"usage": {"output_tokens": 1%s}}' % ("0" * 400)],
    ids=lambda value: repr(value)[:60],
)
def test_a_usage_that_is_no_number_is_no_figure(response: Any, rollouts: Rollouts, summary: Summary) -> None:
    # Text that begins like an object stands for raw JSON that `json.dumps` would not write.
    raw = response if isinstance(response, str) and response.startswith("{") else json.dumps(response)
    rows = [f'{{"task_id": "{name}", "reward": 1, "response": {raw}}}' for name in "abc"]
    path = rollouts.write("old.jsonl", rows)
    assert [number for number in summary(path, path)["statistics"]["secondary"] if number["n"]] == []


def test_models_and_agents_of_each_side_are_told(rollouts: Rollouts, summary: Summary) -> None:
    def row(task: str, model: str, agent: str) -> dict[str, Any]:
        return attempt(task, 1.0, response={"model": model}, agent_ref={"name": agent})

    old = rollouts.write("old.jsonl", [row("a", "m-1", "solver"), row("b", "m-1", "solver")])
    new = rollouts.write("new.jsonl", [row("a", "m-2", "solver"), row("b", "m-3", "judge")])
    sides = summary(old, new)["sides"]
    assert [sorted(sides[name]["models"]) for name in ("old", "new")] == [["m-1"], ["m-2", "m-3"]]
    assert [sorted(sides[name]["agents"]) for name in ("old", "new")] == [["solver"], ["judge", "solver"]]


# Figures that do not exist

FIGURES = ["mean_old", "mean_new", "mean_difference", "standard_error", "interval", "p_value", "resolution"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (single(None, None), single(None, None)),
        (single(1, 0), single(None, None)),
        (single(1, 1), []),
    ],
    ids=["masked on both sides", "masked on new", "new has no rows"],
)
def test_without_a_paired_task_there_is_no_figure(
    old: list[Rewards], new: list[Rewards], figures: Callable[..., dict[str, Any]]
) -> None:
    found = figures(old, new)
    assert (found["n"], found["coverage"], found["lost"], found["won"]) == (0, 0, 0, 0)
    assert {name: found[name] for name in FIGURES} == dict.fromkeys(FIGURES)
    assert [part(found, "noise_floor", name) for name in ("old", "new")] == [None, None]
    assert found["rerun_standard_error"] is None


@pytest.mark.parametrize(("old", "new"), [([[1]], [[0]]), ([[0.5]], [[0.75]]), ([[1, 1]], [[1, 0]])])
def test_one_paired_task_has_a_difference_and_no_interval(
    old: list[Rewards], new: list[Rewards], figures: Callable[..., dict[str, Any]]
) -> None:
    found = figures(old, new)
    difference = sum(x or 0 for x in new[0]) / len(new[0]) - sum(x or 0 for x in old[0]) / len(old[0])
    assert (found["n"], found["mean_difference"]) == (1, pytest.approx(difference))
    assert [found[name] for name in FIGURES[3:]] == [None] * 4


@pytest.mark.parametrize(
    ("old", "new", "difference", "span"),
    [
        (single(0.5, 0.25, 0.75), single(0.5, 0.25, 0.75), 0.0, 0.75),
        ([[1, 0], [1, 1], [0, 0]], [[0, 1], [1, 1], [0, 0]], 0.0, 1),
        (single(1.0, 0.3, 0.7), single(1.0000000000000004, 0.30000000000000004, 0.7000000005), 0.0, 1),
        (single(0.1, 0.2, 0.7), single(0.2, 0.30000000000000004, 0.7999999999), 0.1, 0.8),
        (single(0.0, 0.0, 0.0), single(0.0, 0.0, 0.0), 0.0, 1),
        (single(3.0, 7.0, -2.0), single(5.0, 9.0, 0.0), 2.0, 11),
    ],
    ids=["graded", "repeats", "float noise", "shift with float noise", "all zero", "outside 0 to 1"],
)
def test_equal_differences_leave_an_open_interval_and_no_p(
    old: list[Rewards], new: list[Rewards], difference: float, span: float, figures: Callable[..., dict[str, Any]]
) -> None:
    found = figures(old, new)
    assert (found["n"], found["mean_difference"]) == (len(old), pytest.approx(difference, abs=1e-9))
    # 1.959964 * √2 = 2.7718077 spans in n.
    reach = 2.7718077 * span / len(old)
    assert bounds(found) == pytest.approx([difference - reach, difference + reach], abs=1e-6)
    assert (found["p_value"], found["constant"]) == (None, True)
    assert (found["lost"], found["won"]) == (len(old) * (difference < 0), len(old) * (difference > 0))
    # All three must be lost to be told: 0.8^(1/3) of the span.
    assert found["resolution"] == pytest.approx(0.8 ** (1 / 3) * span, abs=1e-6)


def test_differences_below_the_tolerance_are_none_at_all(figures: Callable[..., dict[str, Any]]) -> None:
    found = figures(single(*[0.5] * 20), single(*[0.5 + 9e-10] * 10, *[0.5 - 3e-10] * 10))
    assert (found["mean_difference"], found["lost"], found["won"]) == (0, 0, 0)


def test_a_hundred_equal_tasks_resolve_the_loss_of_eight(figures: Callable[..., dict[str, Any]]) -> None:
    # 6 lost of 100 are told, 5 are not; 6 or more of 100 are lost in 80% when 7.79% are, by scipy.
    found = figures(*lost_and_won(0, 0, 100))
    assert bounds(found) == pytest.approx([-0.0277181, 0.0277181], abs=DIGITS)
    assert found["p_value"] is None
    assert found["resolution"] == pytest.approx(0.0779111, abs=DIGITS)


# Rounding


def apart(*differences: float) -> tuple[list[Rewards], list[Rewards]]:
    """Twelve tasks with reward 0.5 and one with reward 1, the first ones with these differences on the new side."""
    return single(*[0.5] * 12, 1), single(*(0.5 + d for d in differences), *[0.5] * (12 - len(differences)), 1)


def test_rounding_is_no_difference_and_is_told(rollouts: Rollouts, summary: Summary) -> None:
    old, new = apart(9e-7, -9e-7, 2e-9, 9e-10, -0.25)
    found = summary(rollouts.write("old.jsonl", side(old)), rollouts.write("new.jsonl", side(new)))
    assert (found["counts"]["flipped"], found["counts"]["identical"]) == (4, 9)
    statistics = found["statistics"]
    assert (statistics["lost"], statistics["won"]) == (1, 0)
    assert statistics["mean_difference"] == pytest.approx(-0.25 / 13, abs=1e-12)
    (warning,) = (each for each in found["warnings"] if each["code"] == "tiny_differences")
    assert (warning["count"], warning["tasks"]) == (3, ["t00000", "t00001", "t00002"])
    evidence = {task["task"]: task["evidence"] for task in found["tasks"]}
    assert evidence["t00000"] == {"tag": "within_noise", "p": 1}
    assert evidence["t00003"] is None
    assert evidence["t00004"] == {"tag": "single_run", "p": None}


def test_flips_by_rounding_alone_are_no_single_runs(rollouts: Rollouts, summary: Summary) -> None:
    old, new = apart(9e-7)
    sentence = summary(rollouts.write("old.jsonl", side(old)), rollouts.write("new.jsonl", side(new)))["verdict"][
        "sentence"
    ]
    assert sentence.startswith("No clear difference: 0.0 points (")
    assert "ingle runs" not in sentence


@pytest.mark.parametrize(
    ("differences", "factor"),
    [((1.1e-6,), 1), ((-0.001,) * 12, 1), ((9e-10, -9e-10), 1), ((), 1), ((0.0011,), 1000)],
    ids=["more than a millionth", "small losses", "below the class's tolerance", "none", "a larger scale"],
)
def test_small_differences_and_equal_ones_are_not_told_as_rounding(
    differences: tuple[float, ...], factor: float, rollouts: Rollouts, summary: Summary
) -> None:
    old, new = apart(*(d / factor for d in differences))
    paths = [
        rollouts.write(f"{name}.jsonl", side([[factor * (reward or 0) for reward in task] for task in tasks]))
        for name, tasks in (("old", old), ("new", new))
    ]
    found = summary(*paths)
    assert "tiny_differences" not in {warning["code"] for warning in found["warnings"]}
    assert found["statistics"]["lost"] + found["statistics"]["won"] == found["counts"]["flipped"]


def test_what_is_rounding_goes_by_the_span_of_the_rewards(figures: Callable[..., dict[str, Any]]) -> None:
    # 0.0009 of 1000 is less than a millionth.
    found = figures(single(*[500] * 12, 1000), single(500.0009, 499.9991, *[500] * 10, 1000))
    assert (found["lost"], found["won"], found["mean_difference"]) == (0, 0, 0)


# Scales


@pytest.mark.parametrize(
    ("old", "new", "wide"),
    [
        ([0.1 * k for k in range(10)], [10.0 * k for k in range(10)], 9),
        ([1.0] * 50, [1.0] * 45 + [100.0] * 5, 5),
        ([1.0] * 50, [0.5] * 45 + [-2.0] * 5, 5),
    ],
    ids=["percent", "a tenth of them", "below"],
)
@pytest.mark.parametrize("swapped", [False, True], ids=["new is wider", "old is wider"])
def test_sides_on_two_scales_are_not_comparable(
    old: list[float], new: list[float], wide: int, swapped: bool, rollouts: Rollouts, summary: Summary
) -> None:
    pair = (new, old) if swapped else (old, new)
    found = summary(
        *(rollouts.write(f"{name}.jsonl", side(single(*rewards))) for name, rewards in zip("on", pair, strict=True))
    )
    (warning,) = (each for each in found["warnings"] if each["code"] == "scales_differ")
    assert warning["count"] == wide
    assert found["verdict"]["kind"] == "not_comparable"
    narrow = "new" if swapped else "old"
    assert found["verdict"]["sentence"].startswith(
        f"Not comparable: the rewards of the {narrow} side lie between 0 and 1"
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ([0.1 * k for k in range(10)], [0.1 * k for k in range(10)]),
        ([10.0 * k for k in range(10)], [11.0 * k for k in range(10)]),
        ([1.0] * 50, [1.0] * 46 + [100.0] * 4),
        ([1.0] * 60, [1.0] * 55 + [100.0] * 5),
        ([1.0] * 20, [1.5] * 10 + [-1.0] * 10),
        ([0.0] * 20, [0.0] * 10 + [100.0] * 10),
    ],
    ids=[
        "one scale",
        "one wide scale",
        "only four of them",
        "less than a tenth",
        "bonus and penalty",
        "all failed before, on no known scale",
    ],
)
def test_sides_on_one_scale_are_compared(
    old: list[float], new: list[float], rollouts: Rollouts, summary: Summary
) -> None:
    found = summary(
        *(
            rollouts.write(f"{name}.jsonl", side(single(*rewards)))
            for name, rewards in zip("on", (old, new), strict=True)
        )
    )
    assert "scales_differ" not in {warning["code"] for warning in found["warnings"]}
    assert found["verdict"]["kind"] != "not_comparable"


def test_rewards_that_do_not_count_have_no_scale(rollouts: Rollouts, summary: Summary) -> None:
    old = side(single(*[1.0] * 30))
    new = [row | {"reward": 100.0, "mask_sample": True} if k < 10 else row for k, row in enumerate(old)]
    found = summary(rollouts.write("old.jsonl", old), rollouts.write("new.jsonl", new))
    assert "scales_differ" not in {warning["code"] for warning in found["warnings"]}


def test_numbers_of_tokens_too_large_to_subtract_are_no_fault(rollouts: Rollouts, run: Compare) -> None:
    paths = [
        rollouts.write(
            f"{name}.jsonl", [attempt(task, 1.0, response={"usage": {"output_tokens": tokens}}) for task in "abc"]
        )
        for name, tokens in {"old": HUGE, "new": -HUGE}.items()
    ]
    done = run(*paths, "--json", "-")
    assert done.status == 0
    assert json.loads(done.out, parse_constant=refuse)["statistics"]["n"] == 3


HUGE = 1e308
HARD: dict[str, tuple[list[Rewards], list[Rewards]]] = {
    "nothing paired": (single(None), single(1)),
    "one task": (single(1), single(0)),
    "two tasks": (single(1, 0), single(0, 1)),
    "all equal": (single(*[1] * 12), single(*[1] * 12)),
    "all equal, graded": (single(*[0.5] * 12), single(*[0.5] * 12)),
    "float noise": (single(*[1.0] * 12), single(*[1.0000000000000004] * 12)),
    "constant shift": (single(*[0.1 * k for k in range(12)]), single(*[0.1 * k + 0.1 for k in range(12)])),
    "all masked": (single(*[None] * 12), single(*[None] * 12)),
    "outside 0 to 1": (single(*range(-6, 6)), single(*range(6, -6, -1))),
    "huge, one way": (single(*[HUGE] * 12), single(*[-HUGE] * 12)),
    "huge, both ways": (single(*[HUGE, -HUGE] * 6), single(*[-HUGE, HUGE] * 6)),
    "huge, on one task": (single(*[1] * 11, HUGE), single(*[0] * 11, -HUGE)),
    "huge, equal": (single(*[HUGE] * 12), single(*[HUGE] * 12)),
    "huge repeats": ([[HUGE, HUGE, -HUGE]] * 12, [[-HUGE, -HUGE, HUGE, HUGE]] * 12),
    "huge repeats, uneven": ([*[[HUGE] * 4] * 6, *[[1] * 4] * 6], [*[[-HUGE] * 4] * 6, *[[0, 1, 0.5, 0]] * 6]),
    "huge and masked": (single(*[HUGE] * 12), single(*[-HUGE] * 6, *[None] * 6)),
    "tiny": (single(*[5e-324] * 12), single(*[0] * 12)),
    "not far apart": (single(*[1e-160] * 12), single(*[1 + 1e-8 * k for k in range(12)])),
}


def refuse(constant: str) -> NoReturn:
    raise AssertionError(constant)


@pytest.mark.parametrize("name", HARD)
@pytest.mark.parametrize("margin", [(), ("--margin", "0.02")], ids=["plain", "margin"])
def test_no_figure_is_ever_nan_or_infinite(
    name: str, margin: tuple[str, ...], rollouts: Rollouts, run: Compare
) -> None:
    old, new = HARD[name]
    pair = rollouts.write("old.jsonl", side(old)), rollouts.write("new.jsonl", side(new))
    as_json, as_text = run(*pair, *margin, "--json", "-"), run(*pair, *margin)
    assert (as_json.status, as_text.status) == (0, 0), as_json.err + as_text.err
    found = json.loads(as_json.out, parse_constant=refuse)
    sentence = found["verdict"]["sentence"]
    assert sentence
    assert sentence == as_text.out.splitlines()[0]
    assert not re.search(r"\b(nan|inf|infinity)\b", sentence.lower())
    counts, statistics = found["counts"], found["statistics"]
    assert statistics["n"] == counts["identical"] + counts["flipped"]
    # What is rounding beside the largest rewards flips, and counts as equal.
    (rounding,) = [each["count"] for each in found["warnings"] if each["code"] == "tiny_differences"] or [0]
    assert statistics["lost"] + statistics["won"] + rounding == counts["flipped"]
    assert statistics["lost"] <= counts["flipped_old_win"]
    assert statistics["won"] <= counts["flipped_new_win"]
