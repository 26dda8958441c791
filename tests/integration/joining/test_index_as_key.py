"""The task index as the key that was asked for, and where it may not stand in for one."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Compare, Json, Rollouts, Summary
from tests.rows import asking
from tests.summaries import codes

ASKED = ("--key", "_ng_task_index")


def row(index: Any, reward: float = 1.0, **more: Any) -> Json:
    return {"_ng_task_index": index, "reward": reward, **more}


def test_rows_are_joined_by_the_index_that_was_asked_for(rollouts: Rollouts, summary: Summary) -> None:
    old = rollouts.write("old.jsonl", [row(0, uuid="a"), row(1, uuid="b")])
    new = rollouts.write("new.jsonl", [row(1, 0.0), row(0)])
    found = summary(old, new, *ASKED)
    assert (found["join"]["old_key"], found["join"]["new_key"]) == ("_ng_task_index", "_ng_task_index")
    assert [(task["task"], task["category"]) for task in found["tasks"]] == [("0", "identical"), ("1", "flipped")]
    assert "index_join_contradicted" not in codes(found)


@pytest.mark.parametrize("lacking", [{}, {"_ng_task_index": None}], ids=["absent", "null"])
def test_a_row_without_the_index_that_was_asked_for_is_unreadable(
    lacking: Json, rollouts: Rollouts, run: Compare
) -> None:
    path = rollouts.write("old.jsonl", [row(0), {"task_id": "b", "reward": 1, **lacking}, row(2)])
    done = run(path, path, *ASKED)
    assert (done.status, done.out, done.err.count("\n")) == (1, "", 1)
    assert done.err.startswith(f"error: {path}:2: ")
    assert "`_ng_task_index`" in done.err
    assert "(task b)" in done.err


@pytest.mark.parametrize("asked", [ASKED, ("--old-key", ASKED[1], "--new-key", ASKED[1])], ids=["both", "each"])
def test_ids_that_disagree_under_the_index_that_was_asked_for_are_warned_of(
    asked: tuple[str, ...], rollouts: Rollouts, summary: Summary
) -> None:
    old = rollouts.write("old.jsonl", [row(0, uuid="a"), row(1, uuid="b"), row(2)])
    new = rollouts.write("new.jsonl", [row(0, uuid="a"), row(1, uuid="x"), row(2)])
    found = summary(old, new, *asked)
    assert found["join"]["old_key"] == "_ng_task_index"
    [warning] = [warning for warning in found["warnings"] if warning["code"] == "index_join_contradicted"]
    assert (warning["count"], warning["tasks"]) == (1, ["1"])
    assert "not used" not in warning["sentence"]


def test_an_index_that_was_not_used_is_said_to_be_so(rollouts: Rollouts, summary: Summary) -> None:
    def side(name: str, other: str) -> Any:
        return rollouts.write(
            name, [row(n, responses_create_params={"input": f"Task {n}"}, id=f"{other}{n}") for n in range(2)]
        )

    # The ids disagree, hence the prompts join.
    found = summary(side("old.jsonl", "a"), side("new.jsonl", "b"))
    assert found["join"]["old_key"] == "prompt"
    [warning] = [warning for warning in found["warnings"] if warning["code"] == "index_join_contradicted"]
    assert (warning["count"], warning["tasks"]) == (2, ["0", "1"])
    assert "not used" in warning["sentence"]


@pytest.mark.parametrize("sharded", ["old", "new"])
def test_a_side_of_two_shards_is_not_joined_by_the_index(sharded: str, rollouts: Rollouts, run: Compare) -> None:
    other = "new" if sharded == "old" else "old"
    shards = [rollouts.write(f"{name}.jsonl", [row(number)]) for number, name in enumerate(("a", "b"))]
    whole = rollouts.write("whole.jsonl", [row(0), row(1)])
    done = run(f"--{sharded}", shards[0], f"--{sharded}", shards[1], f"--{other}", whole)
    assert done.status == 1
    assert "no task id field found" in done.err


def test_one_task_joined_by_its_index_with_the_same_prompt_is_comparable(rollouts: Rollouts, summary: Summary) -> None:
    path = rollouts.write("old.jsonl", [row(0, responses_create_params={"input": "Add."})])
    assert summary(path, path, *ASKED)["verdict"]["kind"] == "too_little"


@pytest.mark.parametrize("explicit", ["old", "new"])
def test_the_rung_of_the_side_without_an_explicit_key_is_named(
    explicit: str, rollouts: Rollouts, summary: Summary
) -> None:
    named = rollouts.write("named.jsonl", [{"case": "a", "reward": 1}])
    by_uuid = rollouts.write("by-uuid.jsonl", [{"uuid": "a", "reward": 1}])
    sides = (named, by_uuid) if explicit == "old" else (by_uuid, named)
    found = summary(*sides, f"--{explicit}-key", "case")
    keys = {"old": "uuid", "new": "uuid"} | {explicit: "case"}
    assert (found["join"]["old_key"], found["join"]["new_key"]) == (keys["old"], keys["new"])
    assert found["counts"]["identical"] == 1
    [note] = [note for note in found["notes"] if "task id field" in note]
    assert "`uuid`" in note
    assert "case" not in note


@pytest.mark.parametrize("side", ["old", "new"])
def test_a_key_that_not_every_row_carries_is_not_offered(side: str, rollouts: Rollouts, summary: Summary) -> None:
    def rows(prefix: str, *, whole: bool) -> list[Json]:
        made: list[Json] = [{"task_id": f"{prefix}{n}", "uuid": f"u{n}", "reward": 1} for n in range(3)]
        if not whole:
            del made[1]["uuid"]
        return made

    old = rollouts.write("old.jsonl", rows("x", whole=side != "old"))
    new = rollouts.write("new.jsonl", rows("y", whole=side != "new"))
    [warning] = [warning for warning in summary(old, new)["warnings"] if warning["code"] == "nothing_joined"]
    assert "uuid" not in warning["sentence"]
    # It is there for the asking once each row carries it.
    whole = summary(
        rollouts.write("old.jsonl", rows("x", whole=True)), rollouts.write("new.jsonl", rows("y", whole=True))
    )
    [warning] = [warning for warning in whole["warnings"] if warning["code"] == "nothing_joined"]
    assert "`--key uuid` would join 3" in warning["sentence"]


def test_a_record_without_a_prompt_is_placed_by_the_prompt_of_its_index(rollouts: Rollouts, summary: Summary) -> None:
    rows = [{"task_id": "a", "reward": 1, **asking("Add.")}]
    inputs = [row(7, **asking("Divide.")) | {"task_id": "b"}]
    old = rollouts.write("old.jsonl", [*rows, {"task_id": "b", "reward": 1, **asking("Divide.")}])
    failures = [{"task_id": "b", "_ng_task_index": 7, "_ng_rollout_index": 0, "_ng_failure_class": "oom"}]
    new = rollouts.write("new.jsonl", rows, failures=failures, materialized=inputs)
    found = summary(old, new, "--key", "prompt")
    assert sorted(task["category"] for task in found["tasks"]) == ["identical", "masked"]
    assert found["counts"]["masked_new"] == 1
