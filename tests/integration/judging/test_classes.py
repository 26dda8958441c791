"""What becomes of each task: its class, its mean over repeats, its masks, its winner, and its place."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Compare, Json, Rollouts, Summary
from tests.rows import row
from tests.rules import COUNTS, JOIN

TRUTHY: list[Any] = [True, 1, -1, 0.5, "no", "0", "false", [0], {"k": None}]
FALSY: list[Any] = [False, None, 0, 0.0, "", [], {}]


def repeats(*rewards: Any) -> list[Json]:
    return [row(reward=reward) for reward in rewards]


def only_task(summary: Summary, rollouts: Rollouts, old: list[Any], new: list[Any]) -> Json:
    """The one task of a comparison; rows may be dicts or raw lines."""
    result = summary(rollouts.write("old.jsonl", old), rollouts.write("new.jsonl", new))
    (task,) = result["tasks"]
    return dict(task)


def test_every_class_is_counted(rollouts: Rollouts, summary: Summary) -> None:
    old = [row("same"), row("lost"), row("won", 0.0), row("erred", 1.0, error="boom"), row("mo", None)]
    new = [row("same"), row("lost", 0.0), row("won"), row("erred", 0.0), row("mo"), row("mn", None)]
    old += [row("mn"), row("mb", None), row("left"), row("also left"), row("also won", 0.25)]
    new += [row("mb", None), row("right", None), row("also won", 0.5)]
    result = summary(rollouts.write("old.jsonl", old), rollouts.write("new.jsonl", new))
    assert result["counts"] == {
        "tasks": 11,
        "identical": 1,
        "flipped": 3,
        "flipped_old_win": 1,
        "flipped_new_win": 2,
        "flipped_agent_error": 1,
        "masked": 3,
        "masked_old": 2,
        "masked_new": 2,
        "missing": 3,
        "missing_old_only": 2,
        "missing_new_only": 1,
    }
    assert result["join"].keys() == set(JOIN) - {"keyed_by_agent", "keyed_by_model"}
    assert {(t["task"], t["category"], t["winner"]) for t in result["tasks"]} == {
        ("same", "identical", None),
        ("lost", "flipped", "old"),
        ("won", "flipped", "new"),
        ("also won", "flipped", "new"),
        ("erred", "flipped_agent_error", "old"),
        ("mo", "masked", None),
        ("mn", "masked", None),
        ("mb", "masked", None),
        ("left", "missing", None),
        ("also left", "missing", None),
        ("right", "missing", None),
    }


def test_counts_and_join_have_exactly_their_keys(rollouts: Rollouts, summary: Summary) -> None:
    path = rollouts.write("old.jsonl", [row()])
    result = summary(path, path)
    assert result["counts"].keys() == set(COUNTS)
    assert result["join"].keys() == set(JOIN) - {"keyed_by_agent", "keyed_by_model"}


@pytest.mark.parametrize(
    ("old", "new", "category", "winner"),
    [
        (1.0, 1, "identical", None),
        (0.0, -0.0, "identical", None),
        (0.0, 1e-9, "identical", None),
        (1e-9, 0.0, "identical", None),
        (1.0, 1.0000000000000004, "identical", None),
        (0.0, 2e-9, "flipped", "new"),
        (2e-9, 0.0, "flipped", "old"),
        (-1.0, -2.0, "flipped", "old"),
        (-1.0, 0.0, "flipped", "new"),
        (1e300, 1.1e300, "flipped", "new"),
        (10**30, 10**31, "flipped", "new"),
        (1.7e308, -1.7e308, "flipped", "old"),
    ],
)
def test_rewards_within_a_billionth_are_identical_and_the_higher_one_wins(
    old: float, new: float, category: str, winner: str | None, rollouts: Rollouts, summary: Summary
) -> None:
    task = only_task(summary, rollouts, repeats(old), repeats(new))
    assert (task["category"], task["winner"]) == (category, winner)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"task_id": "a", "reward": 0.0, "mask_sample": true}', "mask_sample"),
        (
            '{"task_id": "a", "reward": 0.0, "mask_sample": true, "failure_kind": "sandbox_lost"}',
            "mask_sample (failure_kind=sandbox_lost)",
        ),
        ('{"task_id": "a", "reward": null, "mask_sample": true}', "mask_sample"),
        ('{"task_id": "a", "reward": NaN, "mask_sample": 1}', "mask_sample"),
        ('{"task_id": "a"}', "no reward"),
        ('{"task_id": "a", "reward": null, "failure_kind": "sandbox_lost"}', "no reward"),
        ('{"task_id": "a", "reward": NaN}', "non-finite reward (nan)"),
        ('{"task_id": "a", "reward": Infinity}', "non-finite reward (inf)"),
        ('{"task_id": "a", "reward": -Infinity}', "non-finite reward (-inf)"),
    ],
)
@pytest.mark.parametrize("side", ["old", "new"])
def test_a_masked_side_masks_the_task(line: str, reason: str, side: str, rollouts: Rollouts, summary: Summary) -> None:
    rows: dict[str, list[Any]] = {"old": [row()], "new": [row()]} | {side: [line]}
    task = only_task(summary, rollouts, rows["old"], rows["new"])
    other = {"old": "new", "new": "old"}[side]
    assert (task["category"], task["winner"]) == ("masked", None)
    assert (task[side]["masked"], task[other]["masked"]) == (reason, None)


@pytest.mark.parametrize(
    ("flag", "masked"),
    [(flag, True) for flag in TRUTHY] + [(flag, False) for flag in FALSY],
)
def test_a_mask_flag_counts_by_its_truth(flag: Any, masked: bool, rollouts: Rollouts, summary: Summary) -> None:
    task = only_task(summary, rollouts, [row(mask_sample=flag)], [row(reward=0.0)])
    assert task["category"] == ("masked" if masked else "flipped")


@pytest.mark.parametrize("reward", ["1" + "0" * 400, "9" * 5000, "-" + "9" * 5000, "1e999"])
def test_a_number_too_large_for_a_float_is_masked(reward: str, rollouts: Rollouts, summary: Summary) -> None:
    line = f'{{"task_id": "a", "reward": {reward}}}'
    task = only_task(summary, rollouts, [line], [row()])
    assert task["category"] == "masked"
    assert task["old"]["reward"] is None
    assert task["old"]["masked"].startswith("non-finite reward")


def test_a_failure_kind_alone_labels_and_does_not_mask(rollouts: Rollouts, summary: Summary) -> None:
    task = only_task(summary, rollouts, [row()], [row(reward=0.0, failure_kind="verifier_timeout")])
    assert (task["category"], task["winner"]) == ("flipped", "old")
    assert (task["old"]["failure_kind"], task["new"]["failure_kind"]) == (None, "verifier_timeout")


def test_the_failure_kind_of_a_masked_row_is_no_measured_one(rollouts: Rollouts, summary: Summary) -> None:
    masked = row(mask_sample=True, failure_kind="sandbox_lost")
    task = only_task(summary, rollouts, [masked], [masked, row(failure_kind="agent_timeout")])
    assert (task["old"]["failure_kind"], task["new"]["failure_kind"]) == (None, "agent_timeout")


@pytest.mark.parametrize("old", [repeats(None), [row(mask_sample=True)], repeats(float("nan"), 1.0)])
def test_a_masked_task_that_only_one_side_has_is_missing(old: list[Json], rollouts: Rollouts, summary: Summary) -> None:
    first, second = rollouts.write("old.jsonl", [*old, row("b")]), rollouts.write("new.jsonl", [row("b")])
    result = summary(first, second)
    assert [(t["task"], t["category"]) for t in result["tasks"]] == [("a", "missing"), ("b", "identical")]
    assert result["tasks"][0]["old"]["masked"]
    assert result["tasks"][0]["new"] is None
    assert (result["counts"]["missing_old_only"], result["counts"]["masked"]) == (1, 0)


@pytest.mark.parametrize("side", ["old", "new"])
def test_an_anonymous_failure_is_masked_not_missing(side: str, rollouts: Rollouts, summary: Summary) -> None:
    failures = {side: [{"_ng_failure_class": "judge_failed", "reward": 0.0}]}
    paths = [rollouts.write(f"{name}.jsonl", [row()], failures=failures.get(name)) for name in ("old", "new")]
    result = summary(*paths)
    (found,) = (t for t in result["tasks"] if t["task"] != "a")
    assert (found["task"], found["category"], found["winner"]) == ("unknown#1", "masked", None)
    assert found[side]["masked"] == "mask_sample (failure_kind=judge_failed)"
    assert [found[name] is None for name in ("old", "new")] == [name != side for name in ("old", "new")]
    counts = result["counts"]
    assert (counts["tasks"], counts["masked"], counts[f"masked_{side}"], counts["missing"]) == (2, 1, 1, 0)


@pytest.mark.parametrize(
    ("signal", "told"),
    [
        ({"error": "Traceback\n  File x\nValueError: bad"}, "error: ValueError: bad"),
        ({"response": {"metadata": {"terminus2_error_type": "Timeout"}}}, "terminus2_error_type=Timeout"),
    ],
)
@pytest.mark.parametrize("winner", ["old", "new"])
@pytest.mark.parametrize("side", ["old", "new", "both"])
def test_a_flip_with_an_agent_error_on_a_side_is_set_apart(
    signal: Json,
    told: str,
    winner: str,
    side: str,
    rollouts: Rollouts,
    summary: Summary,
) -> None:
    signals = {name: signal if side in (name, "both") else {} for name in ("old", "new")}
    old, new = (row(reward=float(winner == name), **own) for name, own in signals.items())
    task = only_task(summary, rollouts, [old], [new])
    assert (task["category"], task["winner"]) == ("flipped_agent_error", winner)
    assert [task[name]["agent_error"] for name in ("old", "new")] == [
        told if signals[name] else None for name in ("old", "new")
    ]


@pytest.mark.parametrize(
    ("old", "new", "category"),
    [
        (row(error="boom"), row(), "identical"),
        (row(error="boom"), row(reward=None), "masked"),
        (row(error="", response={"metadata": {"x_error_type": ""}}), row(reward=0.0), "flipped"),
        (row(response={"metadata": {"error_type_count": "3"}}), row(reward=0.0), "flipped"),
    ],
    ids=["equal rewards", "masked", "falsy signals", "another name"],
)
def test_an_agent_error_changes_nothing_but_flips(
    old: Json, new: Json, category: str, rollouts: Rollouts, summary: Summary
) -> None:
    assert only_task(summary, rollouts, [old], [new])["category"] == category


def test_the_first_signal_among_repeats_is_the_one_told(rollouts: Rollouts, summary: Summary) -> None:
    new = [
        row(reward=0.0),
        row(reward=0.0, error="first", failure_kind="agent_timeout"),
        row(reward=0.0, error="second", failure_kind="sandbox_lost"),
    ]
    task = only_task(summary, rollouts, repeats(1.0), new)
    assert (task["new"]["agent_error"], task["new"]["failure_kind"]) == ("error: first", "agent_timeout")


@pytest.mark.parametrize(
    ("old", "new", "category"),
    [
        ([1.0, 0.0], [0.0, 1.0], "identical"),
        ([1.0, 0.0], [0.5], "identical"),
        ([0.1, 0.2, 0.3], [0.2], "identical"),
        ([1, 0, 0], [0, 1], "flipped"),
        ([1.0, 1.0, None], [1.0], "masked"),
    ],
)
def test_repeats_are_compared_by_their_mean(
    old: list[Any], new: list[Any], category: str, rollouts: Rollouts, summary: Summary
) -> None:
    task = only_task(summary, rollouts, repeats(*old), repeats(*new))
    assert task["category"] == category
    assert (task["old"]["rows"], task["new"]["rows"]) == (len(old), len(new))


def test_the_mean_of_all_rows_and_of_the_counted_rows_are_both_told(rollouts: Rollouts, summary: Summary) -> None:
    old = [row(reward=1.0), row(reward=0.0, mask_sample=True), row(reward=0.5), row(reward=None)]
    side = only_task(summary, rollouts, old, repeats(1.0))["old"]
    assert side["rows"] == 4
    assert side["reward"] == pytest.approx(0.5, abs=1e-12)
    assert side["counted_rows"] == 2
    assert side["counted_reward"] == pytest.approx(0.75, abs=1e-12)
    assert side["rewards"] == [1.0, None, 0.5, None]
    assert side["masked"] == "2/4 rows masked: mask_sample"


@pytest.mark.parametrize(
    ("rows", "masked"),
    [
        ([row(reward=None)], "no reward"),
        ([row(), row(reward=None)], "1/2 rows masked: no reward"),
        ([row(reward=None), row(mask_sample=1), row()], "2/3 rows masked: no reward"),
        (
            [row(mask_sample=1, failure_kind="oom"), row(reward=None)],
            "2/2 rows masked: mask_sample (failure_kind=oom)",
        ),
        ([row(), row()], None),
    ],
)
def test_the_mask_of_several_rows_counts_them_and_tells_the_first_reason(
    rows: list[Json], masked: str | None, rollouts: Rollouts, summary: Summary
) -> None:
    assert only_task(summary, rollouts, rows, repeats(1.0))["old"]["masked"] == masked


def test_a_side_without_any_counted_row_has_no_counted_reward(rollouts: Rollouts, summary: Summary) -> None:
    task = only_task(summary, rollouts, repeats(None, None), [row(reward=0.25, mask_sample=True)])
    old, new = task["old"], task["new"]
    assert (old["reward"], old["counted_reward"], old["counted_rows"], old["rewards"]) == (
        None,
        None,
        0,
        [None] * 2,
    )
    assert (new["reward"], new["counted_reward"], new["counted_rows"], new["rewards"]) == (
        0.25,
        None,
        0,
        [None],
    )


def test_both_means_agree_on_a_task_that_is_not_masked(rollouts: Rollouts, summary: Summary) -> None:
    task = only_task(summary, rollouts, repeats(0.1, 0.2, 0.4), repeats(1.0, 0.5))
    for side, mean, count in ((task["old"], 0.7 / 3, 3), (task["new"], 0.75, 2)):
        assert side["reward"] == side["counted_reward"] == pytest.approx(mean, abs=1e-12)
        assert (side["rows"], side["counted_rows"]) == (count, count)


@pytest.mark.parametrize(
    ("rewards", "mean"),
    [
        ([1.5e308, 1.5e308], 1.5e308),
        ([-1.5e308] * 3, -1.5e308),
        ([1.7976931348623157e308] * 7, 1.7976931348623157e308),
        ([1.5e308, 1.5e308, -1.5e308], 0.5e308),
        ([1.5e308, 1.5e308, -1.5e308, -1.5e308], 0.0),
        ([5e-324, 5e-324], 5e-324),
        ([5e-324, 5e-324, 5e-324], 5e-324),
        ([1e16, 3.0, -1e16], 1.0),
        ([1.5e308, 1.5e308, -1.5e308, -1.5e308, 5.0], 1.0),
        ([0.1] * 10, 0.1),
    ],
)
def test_a_mean_neither_overflows_nor_loses_precision(
    rewards: list[float], mean: float, rollouts: Rollouts, summary: Summary
) -> None:
    task = only_task(summary, rollouts, repeats(*rewards), repeats(mean))
    assert task["category"] == "identical"
    assert task["old"]["reward"] == pytest.approx(mean, rel=1e-15, abs=0.0)
    assert task["old"]["counted_reward"] == pytest.approx(mean, rel=1e-15, abs=0.0)


def test_tasks_are_listed_in_code_point_order(rollouts: Rollouts, summary: Summary) -> None:
    # UTF-16 order would put U+FF46 after U+1F600; a numeric order would put 9 before 10.
    ordered = ["", " a", "10", "9", "A", "Z", "_", "a", "a/b", "aa", "é", "\uff46", "\U0001f600"]
    old = rollouts.write("old.jsonl", [row(name) for name in reversed(ordered)])
    new = rollouts.write("new.jsonl", [row(name, 0.0) for name in ordered[::2]] + [row("zz")])
    assert [t["task"] for t in summary(old, new)["tasks"]] == sorted([*ordered, "zz"])
    assert sorted(ordered) == ordered


@pytest.mark.parametrize(
    ("rewards", "shown"),
    [
        ([0.5, 0.0, 0.25], 1),
        ([0.0, 0.5, 0.0], 0),
        ([0.5, 0.25, 0.25], 1),
        ([0.25], 0),
    ],
    ids=["the lowest", "the first on ties", "the first lowest", "one row"],
)
@pytest.mark.parametrize("loser", ["old", "new"])
def test_the_losing_row_has_the_lowest_reward_and_is_the_first_on_ties(
    rewards: list[float],
    shown: int,
    loser: str,
    rollouts: Rollouts,
    summary: Summary,
    run: Compare,
) -> None:
    losing = [row(reward=r, verifier_logs_dir=f"logs-{n}") for n, r in enumerate(rewards)]
    for n in range(len(rewards)):
        rollouts.write(f"logs-{n}/test-stdout.txt", [f"said by attempt {n}"])
    paths = {"old": [row()], "new": [row()]} | {loser: losing}
    old, new = (rollouts.write(f"{name}.jsonl", rows) for name, rows in paths.items())
    (task,) = summary(old, new)["tasks"]
    assert task["verifier_output"]["side"] == loser
    assert f"logs-{shown}" in task["verifier_output"]["source"]
    text = run(old, new).out
    assert [n for n in range(len(rewards)) if f"said by attempt {n}" in text] == [shown]
