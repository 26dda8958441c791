"""Which field names the task: candidates and their order, explicit keys, id objects, ids as text."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

from tests.conftest import Compare, Rollouts, Summary
from tests.rules import KEY_CANDIDATES
from tests.summaries import keys, labels


def row(reward: Any = 1.0, **fields: Any) -> dict[str, Any]:
    """A row; a dotted field name is a path of nested objects."""
    made: dict[str, Any] = {}
    for name, value in fields.items():
        place = made
        *parents, last = name.split(".")
        for parent in parents:
            place = place.setdefault(parent, {})
        place[last] = value
    return made | {"reward": reward}


def named(key: str, task: Any, reward: float | None = 1.0) -> dict[str, Any]:
    return row(reward, **{key: task})


@pytest.mark.parametrize("key", KEY_CANDIDATES)
def test_each_candidate_names_the_tasks_by_itself(key: str, rollouts: Rollouts, summary: Summary) -> None:
    old = rollouts.write("old.jsonl", [named(key, "a"), named(key, "b")])
    new = rollouts.write("new.jsonl", [named(key, "b", 0.0), named(key, "a")])
    result = summary(old, new)
    assert keys(result) == (key, key)
    assert [(t["task"], t["category"]) for t in result["tasks"]] == [("a", "identical"), ("b", "flipped")]


@pytest.mark.parametrize(("first", "second"), list(pairwise(KEY_CANDIDATES)))
def test_an_earlier_candidate_wins_over_a_later_one(
    first: str, second: str, rollouts: Rollouts, summary: Summary
) -> None:
    old = rollouts.write("old.jsonl", [row(**{second: "x", first: "a"}), row(**{second: "y", first: "b"})])
    new = rollouts.write("new.jsonl", [row(**{second: "y", first: "a"}), row(**{second: "x", first: "b"})])
    result = summary(old, new)
    assert keys(result) == (first, first)
    assert labels(result) == ["a", "b"]


@pytest.mark.parametrize("lacking", [{}, {"task_name": None}], ids=["absent", "null"])
def test_a_candidate_that_one_row_lacks_is_passed_over(
    lacking: dict[str, Any], rollouts: Rollouts, summary: Summary
) -> None:
    old = rollouts.write("old.jsonl", [row(task_name="n1", task_id="a"), row(task_id="b", **lacking)])
    new = rollouts.write("new.jsonl", [row(task_id="a"), row(task_id="b")])
    result = summary(old, new)
    assert keys(result) == ("task_id", "task_id")
    assert result["counts"]["identical"] == 2


@pytest.mark.parametrize("value", ["text", None, 7, ["task_id"], True])
def test_a_parent_that_is_no_object_carries_no_candidate(value: Any, rollouts: Rollouts, summary: Summary) -> None:
    old = rollouts.write("old.jsonl", [row(verifier_metadata=value, uuid="a")])
    new = rollouts.write("new.jsonl", [row(verifier_metadata=value, uuid="a")])
    assert keys(summary(old, new)) == ("uuid", "uuid")


def test_each_side_finds_its_own_key(rollouts: Rollouts, summary: Summary) -> None:
    old = rollouts.write("old.jsonl", [row(_ng_task_id="a"), row(_ng_task_id="b")])
    new = rollouts.write("new.jsonl", [named("verifier_metadata.id", "a"), named("verifier_metadata.id", "b")])
    result = summary(old, new)
    assert keys(result) == ("_ng_task_id", "verifier_metadata.id")
    assert result["counts"]["identical"] == 2


def test_an_empty_text_and_zero_are_ids(rollouts: Rollouts, summary: Summary) -> None:
    old = rollouts.write("old.jsonl", [row(task_id=""), row(task_id=0)])
    new = rollouts.write("new.jsonl", [row(task_id=""), row(task_id=0)])
    result = summary(old, new)
    assert keys(result) == ("task_id", "task_id")
    assert labels(result) == ["", "0"]


def test_key_sets_the_field_of_both_sides(rollouts: Rollouts, summary: Summary) -> None:
    old = rollouts.write("old.jsonl", [named("run.case", "a") | {"task_name": "x"}])
    new = rollouts.write("new.jsonl", [named("run.case", "a") | {"task_name": "y"}])
    result = summary(old, new, "--key", "run.case")
    assert keys(result) == ("run.case", "run.case")
    assert labels(result) == ["a"]


@pytest.mark.parametrize(
    ("options", "used", "joined"),
    [
        (["--old-key", "other"], ("other", "task_id"), ["a"]),
        (["--new-key", "other"], ("task_id", "other"), ["b"]),
        (["--old-key", "other", "--new-key", "other"], ("other", "other"), []),
    ],
)
def test_old_key_and_new_key_set_one_side_only(
    options: list[str], used: tuple[str, str], joined: list[str], rollouts: Rollouts, summary: Summary
) -> None:
    old = rollouts.write("old.jsonl", [row(task_id="b", other="a")])
    new = rollouts.write("new.jsonl", [row(task_id="a", other="b")])
    result = summary(old, new, *options)
    assert keys(result) == used
    assert [t["task"] for t in result["tasks"] if t["category"] == "identical"] == joined


@pytest.mark.parametrize(
    "lacking",
    [{}, {"meta": {}}, {"meta": {"zid": None}}, {"meta": "zid"}, {"meta": None}],
    ids=["absent", "parent empty", "null", "parent text", "parent null"],
)
def test_a_row_without_the_explicit_key_is_unreadable(
    lacking: dict[str, Any], rollouts: Rollouts, run: Compare
) -> None:
    old = rollouts.write("old.jsonl", [named("meta.zid", "a"), named("meta.zid", "b")])
    new = rollouts.write("new.jsonl", [named("meta.zid", "a"), row(task_name="t", **lacking)])
    done = run(old, new, "--key", "meta.zid")
    assert (done.status, done.out) == (1, "")
    assert done.err.startswith("error: ")
    assert f"{new}:2:" in done.err
    assert "meta.zid" in done.err
    assert done.err.count("\n") == 1


def test_a_sidecar_record_without_the_explicit_key_is_anonymous(rollouts: Rollouts, summary: Summary) -> None:
    failures = [{"_ng_failure_class": "judge_failed", "task_name": "a"}]
    old = rollouts.write("old.jsonl", [row(cid="a", task_name="x")])
    new = rollouts.write("new.jsonl", [row(cid="a", task_name="x")], failures=failures)
    result = summary(old, new, "--key", "cid")
    assert [(t["task"], t["category"]) for t in result["tasks"]] == [
        ("a", "identical"),
        ("unknown#1", "masked"),
    ]


def test_a_key_may_reach_inside_an_id_object(rollouts: Rollouts, summary: Summary) -> None:
    ids = [{"taskset": "quiz", "task_id": "a"}, {"taskset": "shell", "task_id": "a"}]
    path = rollouts.write("old.jsonl", [row(_ng_task_id=i) for i in ids])
    result = summary(path, path, "--key", "_ng_task_id.task_id")
    assert [(t["task"], t["old"]["rows"]) for t in result["tasks"]] == [("a", 2)]
    assert result["join"]["keyed_by_taskset"] is False


@pytest.mark.parametrize("empty", ["old", "new"])
@pytest.mark.parametrize("key", ["task_name", "verifier_metadata.id", "uuid"])
def test_a_side_without_rows_borrows_the_key_of_the_other(
    empty: str, key: str, rollouts: Rollouts, summary: Summary
) -> None:
    sides = {
        name: rollouts.write(f"{name}.jsonl", [] if name == empty else [named(key, "a")]) for name in ("old", "new")
    }
    result = summary(sides["old"], sides["new"])
    assert keys(result) == (key, key)
    assert result["counts"]["missing"] == 1


def test_a_side_of_anonymous_failures_borrows_the_key_of_the_other(rollouts: Rollouts, summary: Summary) -> None:
    old = rollouts.write("old.jsonl", [row(task_id="a"), row(task_id="b")])
    new = rollouts.write("new.jsonl", [], failures=[{"_ng_failure_class": "sandbox_lost"}] * 2)
    result = summary(old, new)
    assert keys(result) == ("task_id", "task_id")
    assert [(t["task"], t["category"]) for t in result["tasks"]] == [
        ("a", "missing"),
        ("b", "missing"),
        ("unknown#1", "masked"),
        ("unknown#2", "masked"),
    ]


def test_sidecar_records_vote_on_the_key(rollouts: Rollouts, summary: Summary) -> None:
    old = rollouts.write("old.jsonl", [row(task_name="x", task_id="a"), row(task_name="y", task_id="b")])
    new = rollouts.write(
        "new.jsonl",
        [row(task_name="x", task_id="a")],
        failures=[{"task_id": "b", "_ng_failure_class": "oom"}],
    )
    result = summary(old, new, "--old-key", "task_id")
    assert keys(result) == ("task_id", "task_id")
    assert [(t["task"], t["category"]) for t in result["tasks"]] == [("a", "identical"), ("b", "masked")]


def test_the_rows_decide_alone_when_a_sidecar_record_leaves_no_common_candidate(
    rollouts: Rollouts, summary: Summary
) -> None:
    old = rollouts.write("old.jsonl", [row(task_id="a")])
    new = rollouts.write("new.jsonl", [row(task_id="a")], failures=[{"task_name": "a"}])
    result = summary(old, new)
    assert keys(result) == ("task_id", "task_id")
    assert [(t["task"], t["category"]) for t in result["tasks"]] == [
        ("a", "identical"),
        ("unknown#1", "masked"),
    ]
    assert result["notes"]
    assert summary(old, old)["notes"] == []


def test_a_record_resolved_by_its_index_has_no_vote(rollouts: Rollouts, summary: Summary) -> None:
    rows = [row(task_name="a", _ng_task_index=0), row(task_name="b", _ng_task_index=1)]
    old = rollouts.write("old.jsonl", rows)
    new = rollouts.write("new.jsonl", rows, failures=[{"_ng_task_index": 1, "_ng_rollout_index": 9}])
    result = summary(old, new)
    assert keys(result) == ("task_name", "task_name")
    assert [(t["task"], t["category"], t["new"]["rows"]) for t in result["tasks"]] == [
        ("a", "identical", 1),
        ("b", "masked", 2),
    ]


@pytest.mark.parametrize("key", ["_ng_task_id", "task_id", "verifier_metadata.id"])
@pytest.mark.parametrize(
    ("value", "label"),
    [
        ({"taskset": "quiz", "task_id": "a"}, "a"),
        ({"task_id": "a"}, "a"),
        ({"taskset": "quiz", "id": "a"}, "a"),
        ({"taskset": "quiz", "id": "a", "task_id": None}, "a"),
        ({"taskset": "", "id": "zz", "task_id": "a"}, "a"),
        ({"taskset": None, "task_id": "a"}, "a"),
        ({"id": "zz", "task_id": ""}, ""),
        ({"id": "zz", "task_id": 0}, "0"),
        ({"task_id": 4}, "4"),
        ({"task_id": 4.0}, "4"),
    ],
    ids=json.dumps,
)
def test_an_id_object_joins_the_plain_id_that_it_holds(
    key: str, value: dict[str, Any], label: str, rollouts: Rollouts, summary: Summary
) -> None:
    old = rollouts.write("old.jsonl", [named(key, value)])
    new = rollouts.write("new.jsonl", [row(task_name=label)])
    result = summary(old, new)
    assert [(t["task"], t["category"]) for t in result["tasks"]] == [(label, "identical")]
    assert result["join"]["keyed_by_taskset"] is False


@pytest.mark.parametrize("key", ["_ng_task_id", "task_name", "verifier_metadata.instance_id"])
@pytest.mark.parametrize(
    "value",
    [
        {"name": "é", "no": 94, "a": [1, None]},
        {"taskset": "quiz", "b": True, "a": {"z": 1, "y": 2}},
        {"task_id": None, "id": None},
        {},
    ],
    ids=json.dumps,
)
def test_an_id_object_with_neither_id_is_joined_on_its_canonical_json(
    key: str, value: dict[str, Any], rollouts: Rollouts, summary: Summary
) -> None:
    backwards = dict(reversed(value.items()))
    old = rollouts.write("old.jsonl", [named(key, value), named(key, {"other": 1})])
    new = rollouts.write("new.jsonl", [named(key, backwards), named(key, {"other": 2})])
    result = summary(old, new)
    assert labels(result) == sorted([json.dumps(value, sort_keys=True), '{"other": 1}', '{"other": 2}'])
    assert result["counts"]["identical"] == 1


@pytest.mark.parametrize(
    ("old_id", "new_id", "label"),
    [
        ("1", '"1"', "1"),
        ("1.0", "1", "1"),
        ("1.0", '"1"', "1"),
        ("1e3", "1000", "1000"),
        ("1e22", "10000000000000000000000", "10000000000000000000000"),
        ("10000000000000000000000049", '"10000000000000000000000049"', "10000000000000000000000049"),
        ("-7", '"-7"', "-7"),
        ("1.5", '"1.5"', "1.5"),
        ('"\\u0061"', '"a"', "a"),
    ],
)
def test_ids_are_compared_as_text(old_id: str, new_id: str, label: str, rollouts: Rollouts, summary: Summary) -> None:
    old = rollouts.write("old.jsonl", [f'{{"task_id": {old_id}, "reward": 1}}'])
    new = rollouts.write("new.jsonl", [f'{{"task_id": {new_id}, "reward": 1}}'])
    result = summary(old, new)
    assert [(t["task"], t["category"]) for t in result["tasks"]] == [(label, "identical")]


@pytest.mark.parametrize(
    ("old_id", "new_id"),
    [
        ('"1"', '"01"'),
        ('"a"', '"A"'),
        ('"a"', '"a "'),
        ("1", '"1.0"'),
        ("1.5", "1"),
        ('"e\\u0301"', '"\\u00e9"'),
    ],
)
def test_ids_with_other_text_stay_apart(old_id: str, new_id: str, rollouts: Rollouts, summary: Summary) -> None:
    old = rollouts.write("old.jsonl", [f'{{"task_id": {old_id}, "reward": 1}}'])
    new = rollouts.write("new.jsonl", [f'{{"task_id": {new_id}, "reward": 1}}'])
    assert summary(old, new)["counts"]["missing"] == 2


@pytest.mark.parametrize(
    ("old_rows", "new_rows"),
    [
        ([row()], [row()]),
        ([row(task_id="a")], [row()]),
        ([row(task_id="a"), row(task_name="b")], [row(task_id="a")]),
        ([row(task_id=None)], [row(task_id=None)]),
    ],
    ids=["no field", "one side without", "no field common to a side", "null"],
)
def test_no_task_key_is_unreadable(
    old_rows: list[dict[str, Any]],
    new_rows: list[dict[str, Any]],
    rollouts: Rollouts,
    run: Compare,
) -> None:
    done = run(rollouts.write("old.jsonl", old_rows), rollouts.write("new.jsonl", new_rows))
    assert (done.status, done.out) == (1, "")
    assert done.err.startswith("error: ")
    assert "no task id field found" in done.err
    assert "--key" in done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize("name", ['a"b', "a\\b", "a\x01b", "é b", "__class__", "task_index", "1x"])
@pytest.mark.parametrize("below", [(), ("z",)], ids=["itself", "below"])
def test_a_key_may_have_any_name(name: str, below: tuple[str, ...], rollouts: Rollouts, summary: Summary) -> None:
    rows = [{name: {"z": task} if below else task, "reward": 1} for task in ("s", "t")]
    old, new = rollouts.write("old.jsonl", rows), rollouts.write("new.jsonl", reversed(rows))
    result = summary(old, new, "--key", ".".join((name, *below)))
    assert [(task["task"], task["category"]) for task in result["tasks"]] == [("s", "identical"), ("t", "identical")]
