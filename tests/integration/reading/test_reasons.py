"""What rows say of their failure besides a kind: reasons, errors that are objects, components of the reward."""

from __future__ import annotations

import gzip

import pytest

from tests.conftest import Compare, Json, Rollouts, Summary

OTHER: Json = {"task_id": "u", "reward": 1}


def told(rollouts: Rollouts, summary: Summary, old: list[Json], new: list[Json]) -> Json:
    """The summary's entry of the task `t`."""
    paths = rollouts.write("old.jsonl", [*old, OTHER]), rollouts.write("new.jsonl", [*new, OTHER])
    entry: Json = next(task for task in summary(*paths)["tasks"] if task["task"] == "t")
    return entry


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"mask_sample": True, "failure_reason": "lost"}, "lost"),
        ({"reward": None, "failure_reason": "lost"}, "lost"),
        ({"reward": float("nan"), "failure_reason": "lost"}, "lost"),
        ({"failure_kind": "odd", "failure_reason": "lost"}, "lost"),
        ({"mask_sample": True, "failure_reason": {"detail": "lost"}}, "lost"),
        ({"mask_sample": True, "failure_reason": {"code": 3}}, '{"code": 3}'),
        ({"mask_sample": True, "failure_reason": "none"}, None),
        ({"failure_reason": "of a row that just counts"}, None),
    ],
)
def test_the_reason_is_the_message_of_a_masked_row_and_of_a_measured_failure(
    rollouts: Rollouts, summary: Summary, fields: Json, message: str | None
) -> None:
    task = told(rollouts, summary, [{"task_id": "t", "reward": 1}], [{"task_id": "t", "reward": 0} | fields])
    assert task["new"]["failure_message"] == message


def test_the_reason_of_a_failure_record_comes_before_its_message(rollouts: Rollouts, summary: Summary) -> None:
    keys = {"task_id": "t", "_ng_task_index": 0, "_ng_rollout_index": 0}
    old = rollouts.write("old.jsonl", [keys | {"reward": 1}])
    record = keys | {"_ng_failure_message": "later", "failure_reason": "first"}
    for reason, message in (("first", "first"), ("n/a", "later"), (None, "later")):
        new = rollouts.write("new.jsonl", [OTHER], [record | {"failure_reason": reason}])
        (task,) = [task for task in summary(old, new)["tasks"] if task["task"] == "t"]
        assert task["new"]["failure_message"] == message


def test_the_reason_is_shown_after_other_verifier_fields_and_before_the_error(
    rollouts: Rollouts, summary: Summary
) -> None:
    fields = {"details": "a", "failure_reason": "b", "error": "c"}
    for name in ("details", "failure_reason", "error"):
        task = told(rollouts, summary, [{"task_id": "t", "reward": 1}], [{"task_id": "t", "reward": 0, **fields}])
        assert task["verifier_output"]["source"] == f"row field {name}"
        del fields[name]


@pytest.mark.parametrize(
    ("error", "shown", "python"),
    [
        ("boom\nlast", "last", "last"),
        ({"type": "Overload", "message": "too many"}, "too many", "{'type': 'Overload', 'message': 'too many'}"),
        ({"message": "", "error": "b", "detail": "c", "type": "d"}, "b", None),
        ({"detail": "c", "type": "d"}, "c", None),
        ({"type": "d"}, "d", None),
        ({"error": {"message": "nested"}}, "nested", None),
        ({"code": 503}, '{"code": 503}', "{'code': 503}"),
        ({"detail": [{"msg": "m"}]}, '{"detail": [{"msg": "m"}]}', None),
        ([True, None], "[true, null]", "[True, None]"),
        (True, "true", "True"),
        (17, "17", "17"),
    ],
)
def test_an_error_is_told_in_words_and_kept_as_it_was_for_programs(
    rollouts: Rollouts, summary: Summary, run: Compare, error: object, shown: str, python: str | None
) -> None:
    task = told(rollouts, summary, [{"task_id": "t", "reward": 1}], [{"task_id": "t", "reward": 0, "error": error}])
    assert task["new"]["agent_error_message"] == f"error: {shown}"
    if python is not None:
        assert task["new"]["agent_error"] == f"error: {python}"
    for form in ("text", "markdown"):
        said = run(rollouts.folder / "old.jsonl", rollouts.folder / "new.jsonl", "--format", form).out
        assert f"error: {shown}" in said.replace("&#34;", '"').replace("&quot;", '"')
        assert "{'" not in said


def test_an_error_type_that_is_no_text_is_told_as_json(rollouts: Rollouts, summary: Summary) -> None:
    response = {"metadata": {"agent_error_type": {"name": "Odd"}}}
    task = told(
        rollouts, summary, [{"task_id": "t", "reward": 1}], [{"task_id": "t", "reward": 0, "response": response}]
    )
    assert task["new"]["agent_error_message"] == 'agent_error_type={"name": "Odd"}'


# Components


@pytest.mark.parametrize(
    ("fields", "components"),
    [
        ({"reward_components": {"b": 1, "a": 0.5}}, {"a": 0.5, "b": 1}),
        ({"verifier_rewards": {"a": 0.5}}, {"a": 0.5}),
        ({"reward_components": {"a": 1}, "verifier_rewards": {"b": 1}}, {"a": 1}),
        ({"reward_components": {}, "verifier_rewards": {"b": 1}}, {"b": 1}),
        ({"reward_components": {"x": "1"}, "verifier_rewards": {"b": 1}}, {"b": 1}),
        ({"reward_components": {"a": True, "b": None, "c": "1", "d": [1], "e": 2}}, {"e": 2}),
        ({"reward_components": {"a": float("nan"), "b": float("inf"), "c": -1e300}}, {"c": -1e300}),
        ({"reward_components": [1, 2]}, None),
        ({"reward_components": "all"}, None),
        ({}, None),
        ({"reward_components": {"a": 1}, "mask_sample": True}, None),
    ],
)
def test_which_components_a_row_has(
    rollouts: Rollouts, summary: Summary, fields: Json, components: Json | None
) -> None:
    task = told(rollouts, summary, [{"task_id": "t", "reward": 1}], [{"task_id": "t", "reward": 0.5, **fields}])
    assert task["new"]["components"] == components


def test_components_are_means_over_the_rows_that_have_them(rollouts: Rollouts, summary: Summary) -> None:
    rows = [
        {"task_id": "t", "_ng_task_index": 0, "_ng_rollout_index": at, "reward": 0, "reward_components": components}
        for at, components in enumerate([{"a": 1}, {"a": 0, "b": 0.5}, None, {"a": 0.5}])
    ]
    task = told(rollouts, summary, [{"task_id": "t", "reward": 1, "_ng_task_index": 0, "_ng_rollout_index": 0}], rows)
    assert task["new"]["components"] == {"a": 0.5, "b": 0.5}


def test_components_of_every_task_are_in_the_summary(rollouts: Rollouts, summary: Summary) -> None:
    rows = [{"task_id": "t", "reward": 1, "reward_components": {"a": 1}}]
    assert told(rollouts, summary, rows, rows)["old"]["components"] == {"a": 1}


def test_64_components_of_a_side_are_kept(rollouts: Rollouts, summary: Summary) -> None:
    many = {f"c{at:03d}": 1 for at in range(100)}
    task = told(
        rollouts, summary, [{"task_id": "t", "reward": 1}], [{"task_id": "t", "reward": 0, "reward_components": many}]
    )
    assert list(task["new"]["components"]) == [f"c{at:03d}" for at in range(64)]


def test_those_that_changed_are_shown_the_biggest_change_first(rollouts: Rollouts, run: Compare) -> None:
    old = {"same": 0.5, "small": 1, "large": 1, "up": 0, "gone": 1}
    new = {"same": 0.5, "small": 0.75, "large": 0, "up": 0.5, "came": 1}
    paths = [
        rollouts.write(f"{side}.jsonl", [{"task_id": "t", "reward": reward, "reward_components": components}])
        for side, reward, components in (("old", 1, old), ("new", 0, new))
    ]
    assert "  components large 1 -> 0, up 0 -> 0.5, small 1 -> 0.75\n" in run(*paths).out
    assert "components `large` 1 → 0 · `up` 0 → 0.5 · `small` 1 → 0.75\n" in run(*paths, "--format", "markdown").out


def test_rows_left_out_take_their_components_along(rollouts: Rollouts, summary: Summary) -> None:
    rows = [
        {"task_id": "t", "reward": 0, "kind": kind, "reward_components": {"a": value}}
        for kind, value in (("x", 1), ("y", 0.25), ("x", 1))
    ]
    old = rollouts.write("old.jsonl", [{"task_id": "t", "reward": 1, "kind": "y"}])
    new = rollouts.write("new.jsonl", rows)
    (task,) = summary(old, new, "--where", "kind=y")["tasks"]
    assert task["new"]["components"] == {"a": 0.25}


def test_packed_inputs_have_the_same(rollouts: Rollouts, summary: Summary) -> None:
    old = rollouts.write("old.jsonl", [{"task_id": "t", "reward": 1, "reward_components": {"a": 1}}])
    packed = old.with_suffix(".jsonl.gz")
    packed.write_bytes(gzip.compress(old.read_bytes()))
    new = rollouts.write("new.jsonl", [{"task_id": "t", "reward": 0, "failure_kind": "odd", "failure_reason": "lost"}])
    assert summary(packed, new)["tasks"] == summary(old, new)["tasks"]
