"""The failures sidecar: which records stand, which task they belong to, and what they count as."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from tests.conftest import Compare, Rollouts, Summary

Record = dict[str, Any]


def row(task: str | None, index: int | None = None, repeat: int | None = 0, **more: Any) -> Record:
    """A scored row, or with `reward=None` a failed one; `index` and `repeat` are its attempt identity."""
    made: Record = {} if task is None else {"task_id": task}
    if index is not None:
        made |= {"_ng_task_index": index}
        made |= {} if repeat is None else {"_ng_rollout_index": repeat}
    return made | {"reward": 1} | more


def failure(task: str | None, kind: str | None = None, index: int | None = 0, **more: Any) -> Record:
    """A sidecar record; its attempt is (`index`, 0) unless `repeat` says otherwise."""
    made = row(task, index, more.pop("repeat", 0))
    del made["reward"]
    return made | ({} if kind is None else {"_ng_failure_class": kind}) | more


OMITTED: Record = {"_ng_omitted_rollout": True}
DRAINED: Record = {"_ng_dispatch_drained": True}
UNROUTED: Record = {"_ng_unrouted_run_error": "no server"}


def task(summary: dict[str, Any], name: str) -> dict[str, Any]:
    [found] = [entry for entry in summary["tasks"] if entry["task"] == name]
    return dict(found)


def classes(summary: dict[str, Any]) -> dict[str, str]:
    return {entry["task"]: entry["category"] for entry in summary["tasks"]}


@pytest.fixture
def against(rollouts: Rollouts, summary: Summary) -> Summary:
    """The comparison of an old side that scored every task with a new side of these rows and records."""

    def call(rows: list[Record], failures: list[Record], *argv: object, **more: Any) -> dict[str, Any]:
        names = sorted({r["task_id"] for r in [*rows, *failures] if "task_id" in r})
        old = rollouts.write("old.jsonl", [row(name) for name in names])
        return summary(old, rollouts.write("new.jsonl", rows, failures=failures, **more), *argv)

    return call


# What a standing record is


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({}, "mask_sample (failure_kind=failure)"),
        ({"_ng_failure_class": "agent_timeout"}, "mask_sample (failure_kind=agent_timeout)"),
        ({"_ng_failure_class": "a", "failure_kind": "own"}, "mask_sample (failure_kind=own)"),
        ({"_ng_failure_class": "a", "failure_kind": None}, "mask_sample"),
        ({"_ng_failure_class": "a", "failure_kind": ""}, "mask_sample"),
        ({"_ng_failure_class": None}, "mask_sample (failure_kind=failure)"),
        ({"failure_kind": "own"}, "mask_sample (failure_kind=own)"),
        ({"mask_sample": False, "_ng_failure_class": "a"}, "mask_sample (failure_kind=a)"),
    ],
)
def test_a_record_is_a_masked_row_with_its_failure_kind(against: Summary, members: Record, reason: str) -> None:
    entry = task(against([row("ok")], [failure("lost", index=None, **members)]), "lost")
    assert (entry["category"], entry["new"]["masked"], entry["new"]["rows"]) == ("masked", reason, 1)
    assert (entry["new"]["counted_reward"], entry["new"]["counted_rows"]) == (None, 0)
    assert entry["new"]["failure_kind"] is None


@pytest.mark.parametrize("argv", [(), ("--count-as-zero", "agent_timeout")])
def test_the_message_of_a_record_is_told(against: Summary, argv: tuple[str, ...]) -> None:
    records = [failure("t", "agent_timeout", _ng_failure_message="502, message='Bad Gateway'")]
    new = task(against([], records, *argv), "t")["new"]
    assert "502, message='Bad Gateway'" in json.dumps(new)


def test_a_records_own_reward_never_counts(against: Summary) -> None:
    records = [failure("t", "judge_failed", index=None, reward=0.0)]
    new = task(against([row("t", reward=1)], records), "t")["new"]
    assert (new["reward"], new["counted_reward"], new["counted_rows"], new["rows"]) == (0.5, 1.0, 1, 2)
    assert new["masked"] == "1/2 rows masked: mask_sample (failure_kind=judge_failed)"


def test_records_count_among_the_rows_and_masked_rows_of_their_side(against: Summary) -> None:
    sides = against([row("a"), row("b", reward=None)], [failure("c"), failure("d", index=1)])["sides"]
    assert (sides["new"]["rows"], sides["new"]["masked_rows"]) == (4, 3)


def test_a_task_that_only_one_sidecar_knows_is_missing(rollouts: Rollouts, summary: Summary) -> None:
    old = rollouts.write("old.jsonl", [row("a")])
    new = rollouts.write("new.jsonl", [row("a")], failures=[failure("b")])
    result = summary(old, new)
    assert classes(result) == {"a": "identical", "b": "missing"}
    assert result["counts"]["missing_new_only"] == 1


def test_a_side_may_be_its_sidecar_alone(against: Summary) -> None:
    result = against([], [failure("a"), failure("b", index=1)])
    assert classes(result) == {"a": "masked", "b": "masked"}
    assert result["join"]["new_key"] == "task_id"


# Which records stand

STANDING = [
    pytest.param([failure("t", "first"), failure("t", "last")], ["last"], id="the-last-retry"),
    pytest.param([failure("t", "a"), failure("t", "b", repeat=1)], ["a", "b"], id="two-rollouts"),
    pytest.param([failure("t", "a"), failure("t", "b", index=1)], ["a", "b"], id="two-task-indices"),
    pytest.param([failure("t", "a", index=None), failure("t", "b", index=None)], ["a", "b"], id="no-indices"),
    pytest.param([failure("t", "a", repeat=None), failure("t", "b", repeat=None)], ["a", "b"], id="one-index"),
    pytest.param(
        [failure("t", "a", _ng_rollout_index=None), failure("t", "b", _ng_rollout_index=None)],
        ["a", "b"],
        id="null-index",
    ),
    pytest.param([failure("t", "old"), failure("t", "new", **OMITTED)], [], id="omitted-hides-older"),
    pytest.param([failure("t", "a", **OMITTED), failure("t", "b")], ["b"], id="failed-after-omitted"),
    pytest.param([failure("t", "a", **OMITTED)], [], id="omitted-alone"),
    pytest.param([failure("t", "a"), failure("t", "b", **OMITTED, **DRAINED)], ["a"], id="never-started-is-skipped"),
    pytest.param([failure("t", "a", **OMITTED, **DRAINED)], [], id="never-started-alone"),
    pytest.param(
        [failure("t", "a"), failure("t", "b", **OMITTED), failure("t", "c", **OMITTED, **DRAINED)],
        [],
        id="never-started-after-omitted",
    ),
    pytest.param([failure("t", "a", **OMITTED, **DRAINED), failure("t", "b")], ["b"], id="failed-after-never-started"),
    pytest.param([failure("t", "a"), failure("t", "b", **UNROUTED)], ["a"], id="unrouted-is-dropped-first"),
    pytest.param([failure("t", "a", **UNROUTED)], [], id="unrouted-alone"),
    pytest.param([failure("t", "a", index=None, **UNROUTED)], [], id="unrouted-without-indices"),
    pytest.param([failure("t", "a"), failure("t", "b", **OMITTED, **UNROUTED)], ["a"], id="unrouted-omission"),
    pytest.param([failure("t", "a"), failure("t", "b", repeat=1, **OMITTED)], ["a"], id="omitted-hides-its-own-only"),
]


@pytest.mark.parametrize(("records", "kinds"), STANDING)
def test_which_records_of_an_attempt_stand(against: Summary, records: list[Record], kinds: list[str]) -> None:
    new = task(against([row("t", 9)], records), "t")["new"]
    assert new["rows"] == 1 + len(kinds)
    if kinds:
        expected = f"{len(kinds)}/{new['rows']} rows masked: mask_sample (failure_kind={kinds[0]})"
        assert new["masked"] == expected
    else:
        assert new["masked"] is None


@pytest.mark.parametrize("scored", [row("t", 0, reward=1), row("t", 0, reward=None), row("t", 0, mask_sample=True)])
def test_no_record_stands_whose_attempt_has_a_row(against: Summary, scored: Record) -> None:
    records = [failure("t", "a"), failure("t", "b"), failure("t", "c", **OMITTED)]
    assert task(against([scored], records), "t")["new"]["rows"] == 1


def test_a_row_supersedes_its_own_attempt_only(against: Summary) -> None:
    records = [failure("t", "gone"), failure("t", "stands", repeat=1)]
    new = task(against([row("t", 0, 0)], records), "t")["new"]
    assert (new["rows"], new["masked"]) == (2, "1/2 rows masked: mask_sample (failure_kind=stands)")


def test_a_row_that_lacks_an_index_supersedes_nothing(against: Summary) -> None:
    assert task(against([row("t", 0, None)], [failure("t")]), "t")["new"]["rows"] == 2


def test_each_side_settles_its_own_attempts(rollouts: Rollouts, summary: Summary) -> None:
    old = rollouts.write("old.jsonl", [row("t", 0)], failures=[failure("t", "old", index=1)])
    new = rollouts.write("new.jsonl", [row("t", 1)], failures=[failure("t", "new", index=0)])
    entry = task(summary(old, new), "t")
    assert (entry["old"]["rows"], entry["new"]["rows"]) == (2, 2)


def test_each_shard_settles_its_own_attempts(rollouts: Rollouts, summary: Summary) -> None:
    first = rollouts.write("a.jsonl", [row("a", 0)], failures=[failure("b", "first", index=1)])
    second = rollouts.write("b.jsonl", [row("c", 1)], failures=[failure("d", "second", index=0)])
    new = rollouts.write("new.jsonl", [row(name) for name in "abcd"])
    result = summary("--old", first, "--old", second, "--new", new)
    assert classes(result) == {"a": "identical", "b": "masked", "c": "identical", "d": "masked"}


@pytest.mark.parametrize("index", [[1], {"a": 1}, "0", 0.0, 1.5, True, float("nan"), 10**400, "", -1])
def test_an_index_of_any_shape_is_no_crash(rollouts: Rollouts, run: Compare, index: object) -> None:
    odd = {"_ng_task_index": index, "_ng_rollout_index": index}
    old = rollouts.write("old.jsonl", [row("a") | odd, row("b")], failures=[failure("a") | odd, odd, odd])
    done = run(old, old, "--json", "-")
    assert done.status == 0, done.err
    assert classes(done.json)["b"] == "identical"


# Records that do not name their task


def test_a_record_with_the_index_of_a_row_belongs_to_its_task(against: Summary) -> None:
    rows = [row("a", 0), row("b", 1), row("c", 2)]
    result = against(rows, [failure(None, "oom", index=1, repeat=1)])
    assert classes(result) == {"a": "identical", "b": "masked", "c": "identical"}
    assert task(result, "b")["new"]["masked"] == "1/2 rows masked: mask_sample (failure_kind=oom)"


@pytest.mark.parametrize("repeat", [None, 5])
def test_the_task_index_alone_says_which_task(against: Summary, repeat: int | None) -> None:
    result = against([row("a", 0), row("b", 1)], [failure(None, index=0, repeat=repeat)])
    assert classes(result) == {"a": "masked", "b": "identical"}


@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize("ending", ["jsonl", "ndjson"])
def test_the_materialized_inputs_say_which_task_has_an_index(
    rollouts: Rollouts, summary: Summary, ending: str, compress: bool
) -> None:
    inputs = [{"task_id": name, "_ng_task_index": number} for number, name in enumerate("abc")]
    old = rollouts.write("old.jsonl", [row(name) for name in "abc"])
    new = rollouts.write(
        f"new.{ending}", [row("a", 0), row("b", 1)], failures=[failure(None, index=2)], materialized=inputs
    )
    if compress:
        plain = rollouts.folder / f"new_materialized_inputs.{ending}"
        plain.with_name(plain.name + ".gz").write_bytes(gzip.compress(plain.read_bytes()))
        plain.unlink()
    assert classes(summary(old, new)) == {"a": "identical", "b": "identical", "c": "masked"}


def test_a_task_of_the_materialized_inputs_that_nothing_says_of_is_no_task(against: Summary) -> None:
    inputs = [row("a", 0), row("not-run", 1)]
    assert classes(against([row("a", 0)], [], materialized=inputs)) == {"a": "identical"}


def test_the_materialized_inputs_are_read_by_an_explicit_key_too(against: Summary) -> None:
    inputs = [row("x", number, meta={"zid": name}) for number, name in enumerate("ab")]
    rows = [row("a", meta={"zid": "a"}), row("b", meta={"zid": "b"})]
    result = against(
        rows, [failure("x", index=1)], "--new-key", "meta.zid", "--old-key", "task_id", materialized=inputs
    )
    assert classes(result)["b"] == "masked"
    assert classes(result)["a"] == "identical"


def test_a_record_goes_by_its_own_key_before_its_index(against: Summary) -> None:
    result = against([row("a", 0), row("b", 1)], [failure("a", index=1, repeat=1)])
    assert classes(result) == {"a": "masked", "b": "identical"}


def test_an_index_that_repeats_of_one_task_share_says_which_task(against: Summary) -> None:
    rows = [row("a", 0, 0), row("a", 0, 1), row("b", 1)]
    result = against(rows, [failure(None, index=0, repeat=2)])
    assert classes(result) == {"a": "masked", "b": "identical"}
    assert task(result, "a")["new"]["rows"] == 3


@pytest.mark.parametrize(
    ("index", "masked"), [(0, "math/t"), (1, "code/t"), (2, "unknown#1")], ids=["one", "other", "both"]
)
def test_an_index_names_a_task_of_one_taskset(rollouts: Rollouts, summary: Summary, index: int, masked: str) -> None:
    indices = {"math": (0, 2), "code": (1, 2)}
    rows = [
        row(None, number, repeat, _ng_task_id={"taskset": taskset, "task_id": "t"})
        for taskset, numbers in indices.items()
        for repeat, number in enumerate(numbers)
    ]
    old = rollouts.write("old.jsonl", rows)
    new = rollouts.write("new.jsonl", rows, failures=[failure(None, index=index, repeat=5)])
    assert classes(summary(old, new)) == {"math/t": "identical", "code/t": "identical"} | {masked: "masked"}


def test_an_index_that_several_tasks_have_says_nothing(against: Summary) -> None:
    result = against([row("a", 0), row("b", 0)], [failure(None, "oom", index=0, repeat=1)])
    assert classes(result) == {"a": "identical", "b": "identical", "unknown#1": "masked"}


def test_an_index_that_several_materialized_inputs_have_says_nothing(against: Summary) -> None:
    inputs = [row("a", 0), row("b", 0)]
    result = against([row("a"), row("b")], [failure(None, index=0)], materialized=inputs)
    assert classes(result) == {"a": "identical", "b": "identical", "unknown#1": "masked"}


def test_an_index_known_on_the_other_side_only_says_nothing(rollouts: Rollouts, summary: Summary) -> None:
    old = rollouts.write("old.jsonl", [row("a", 0), row("b", 1)])
    new = rollouts.write("new.jsonl", [row("a"), row("b")], failures=[failure(None, index=1)])
    assert classes(summary(old, new)) == {"a": "identical", "b": "identical", "unknown#1": "masked"}


def test_an_index_is_looked_up_within_its_shard(rollouts: Rollouts, summary: Summary) -> None:
    first = rollouts.write("a.jsonl", [row("a", 0), row("b", 1)], failures=[failure(None, index=1, repeat=1)])
    second = rollouts.write("b.jsonl", [row("c", 0), row("d", 1)], failures=[failure(None, index=0, repeat=1)])
    new = rollouts.write("new.jsonl", [row(name) for name in "abcd"])
    result = summary("--old", first, "--old", second, "--new", new)
    assert classes(result) == {"a": "identical", "b": "masked", "c": "masked", "d": "identical"}


def test_an_index_of_another_shard_says_nothing(rollouts: Rollouts, summary: Summary) -> None:
    first = rollouts.write("a.jsonl", [row("a", 0)], failures=[failure(None, index=7)])
    second = rollouts.write("b.jsonl", [row("b", 7)])
    new = rollouts.write("new.jsonl", [row(name) for name in "ab"])
    result = summary("--old", first, "--old", second, "--new", new)
    assert classes(result) == {"a": "identical", "b": "identical", "unknown#1": "masked"}


def test_an_index_is_looked_up_under_an_explicit_key_too(rollouts: Rollouts, summary: Summary) -> None:
    rows = [row(None, number, meta={"zid": name}) for number, name in enumerate("ab")]
    old = rollouts.write("old.jsonl", rows)
    new = rollouts.write("new.jsonl", rows, failures=[failure("other", index=1, repeat=1)])
    assert classes(summary(old, new, "--key", "meta.zid")) == {"a": "identical", "b": "masked"}


def test_records_resolved_by_their_index_have_no_vote_in_the_key(against: Summary) -> None:
    records = [failure(None, index=1, repeat=1), failure(None, index=0, repeat=1, task_name="family")]
    result = against([row("a", 0), row("b", 1), row("c", 2)], records)
    assert classes(result) == {"a": "masked", "b": "masked", "c": "identical"}
    assert (result["join"]["old_key"], result["join"]["new_key"]) == ("task_id", "task_id")


def test_retries_known_by_their_index_only_are_one_row(against: Summary) -> None:
    records = [failure(None, "first", index=1, repeat=3), failure(None, "last", index=1, repeat=3)]
    new = task(against([row("a", 0), row("b", 1)], records), "b")["new"]
    assert new["masked"] == "1/2 rows masked: mask_sample (failure_kind=last)"


# Anonymous records


def test_anonymous_records_are_numbered_over_old_then_new(rollouts: Rollouts, summary: Summary) -> None:
    kinds = {"old": ["a", "b"], "new": ["c"]}
    paths = [
        rollouts.write(f"{side}.jsonl", [row("t")], failures=[failure(None, kind, index=None) for kind in names])
        for side, names in kinds.items()
    ]
    result = summary(*paths)
    assert classes(result) == {"t": "identical"} | {f"unknown#{n}": "masked" for n in (1, 2, 3)}
    found = [task(result, f"unknown#{n}") for n in (1, 2, 3)]
    assert [(entry["old"] is None, entry["new"] is None) for entry in found] == [
        (False, True),
        (False, True),
        (True, False),
    ]
    reasons = [(entry["old"] or entry["new"])["masked"] for entry in found]
    assert reasons == [f"mask_sample (failure_kind={kind})" for kind in "abc"]
    assert [result["counts"][name] for name in ("tasks", "masked", "masked_old", "masked_new")] == [
        4,
        3,
        2,
        1,
    ]


@pytest.mark.parametrize("side", ["old", "new"])
@pytest.mark.parametrize(
    ("real", "given"),
    [
        (["unknown#1"], ["unknown#2", "unknown#3"]),
        (["unknown#2"], ["unknown#1", "unknown#3"]),
        (["unknown#1", "unknown#2", "unknown#4"], ["unknown#3", "unknown#5"]),
        (["unknown#7", "unknown#01", "Unknown#1"], ["unknown#1", "unknown#2"]),
    ],
)
def test_anonymous_records_pass_over_names_that_tasks_have(
    rollouts: Rollouts, summary: Summary, real: list[str], given: list[str], side: str
) -> None:
    named = rollouts.write("named.jsonl", [row(name) for name in ["t", *real]])
    other = rollouts.write("other.jsonl", [row("t")], failures=[failure(None, index=None)] * 2)
    result = summary(named, other) if side == "old" else summary(other, named)
    assert classes(result) == {"t": "identical"} | dict.fromkeys(real, "missing") | dict.fromkeys(given, "masked")


def test_a_task_really_called_unknown_joins_like_any_other(rollouts: Rollouts, summary: Summary) -> None:
    old = rollouts.write("old.jsonl", [row("unknown#7", reward=0), row("unknown#1", reward=1)])
    new = rollouts.write("new.jsonl", [row("unknown#7", reward=1), row("unknown#1", mask_sample=True)])
    assert classes(summary(old, new)) == {"unknown#1": "masked", "unknown#7": "flipped"}


def test_anonymous_records_are_joined_to_nothing(rollouts: Rollouts, summary: Summary) -> None:
    lost = [failure(None, "oom", index=None)]
    old = rollouts.write("old.jsonl", [row("x/a")], failures=lost)
    new = rollouts.write("new.jsonl", [row("a")], failures=lost)
    result = summary(old, new)
    assert classes(result) == {"a": "identical", "unknown#1": "masked", "unknown#2": "masked"}
    assert result["join"]["old_prefix_stripped"] in {"x", "x/"}


def test_a_record_without_the_key_of_the_rows_is_anonymous_with_a_note(rollouts: Rollouts, summary: Summary) -> None:
    old = rollouts.write("old.jsonl", [row("a")])
    new = rollouts.write("new.jsonl", [row("a")], failures=[{"task_name": "a"}])
    result = summary(old, new)
    assert classes(result) == {"a": "identical", "unknown#1": "masked"}
    assert result["notes"]
    assert result["join"]["new_key"] == "task_id"


def test_a_record_that_lacks_an_explicit_key_is_anonymous(rollouts: Rollouts, summary: Summary) -> None:
    rows = [row("x", meta={"zid": "a"})]
    old = rollouts.write("old.jsonl", rows)
    new = rollouts.write("new.jsonl", rows, failures=[failure("a", index=None)])
    result = summary(old, new, "--key", "meta.zid")
    assert classes(result) == {"a": "identical", "unknown#1": "masked"}


@pytest.mark.parametrize("mirrored", [False, True])
def test_a_side_of_anonymous_records_alone_goes_by_the_key_of_the_other(
    rollouts: Rollouts, summary: Summary, mirrored: bool
) -> None:
    named = rollouts.write("named.jsonl", [row("a")])
    lost = rollouts.write("lost.jsonl", [], failures=[failure(None, index=0), failure(None, index=1)])
    result = summary(lost, named) if mirrored else summary(named, lost)
    assert classes(result) == {"a": "missing", "unknown#1": "masked", "unknown#2": "masked"}
    assert (result["join"]["old_key"], result["join"]["new_key"]) == ("task_id", "task_id")


def test_numbered_anonymous_records_follow_the_rule_of_retries(against: Summary) -> None:
    records = [failure(None, "first", index=4), failure(None, "last", index=4), failure(None, "b", index=5)]
    result = against([row("a", 0)], records)
    assert classes(result) == {"a": "identical", "unknown#1": "masked", "unknown#2": "masked"}
    assert task(result, "unknown#1")["new"]["masked"] == "mask_sample (failure_kind=last)"


def test_anonymous_records_and_nothing_else_name_no_task(rollouts: Rollouts, run: Compare) -> None:
    paths = [rollouts.write(name, [], failures=[{"_ng_failure_class": "oom"}]) for name in ("a.jsonl", "b.jsonl")]
    done = run(*paths)
    assert (done.status, done.out, done.err.count("\n")) == (1, "", 1)
    assert "no task id field found" in done.err


# Failures counted as zero


def test_a_class_counted_as_zero_is_a_measured_failure_with_a_note(against: Summary) -> None:
    rows, records = [row("t")], [failure("t", "agent_timeout")]
    new = task(against(rows, records), "t")["new"]
    assert (new["masked"], new["counted_reward"]) == (
        "1/2 rows masked: mask_sample (failure_kind=agent_timeout)",
        1,
    )
    result = against(rows, records, "--count-as-zero", "agent_timeout")
    entry = task(result, "t")
    assert (entry["category"], entry["winner"]) == ("flipped", "old")
    new = entry["new"]
    assert (new["masked"], new["failure_kind"], new["rewards"]) == (None, "agent_timeout", [1.0, 0.0])
    assert (new["reward"], new["counted_reward"], new["counted_rows"]) == (0.5, 0.5, 2)
    assert any("agent_timeout" in note for note in result["notes"])
    assert result["sides"]["new"]["masked_rows"] == 0


def test_only_the_classes_asked_for_count_as_zero(against: Summary) -> None:
    records = [failure("t", kind, repeat=number) for number, kind in enumerate(["a", "b", "c"])]
    new = task(against([], records, "--count-as-zero", "a", "--count-as-zero", "c"), "t")["new"]
    assert (new["counted_reward"], new["counted_rows"], new["rows"]) == (0.0, 2, 3)
    assert new["masked"] == "1/3 rows masked: mask_sample (failure_kind=b)"


def test_a_record_counted_as_zero_has_no_other_reward(against: Summary) -> None:
    records = [failure("t", "judge_failed", reward=0.75)]
    new = task(against([], records, "--count-as-zero", "judge_failed"), "t")["new"]
    assert (new["reward"], new["counted_reward"], new["counted_rows"]) == (0.0, 0.0, 1)


@pytest.mark.parametrize(
    "records",
    [
        [failure("t", "a"), failure("t", "b")],
        [failure("t", "a"), failure("t", "a", **OMITTED)],
        [failure("t", "a", **UNROUTED)],
        [failure("t", "a", index=9)],
    ],
    ids=["retried", "omitted", "unrouted", "superseded"],
)
def test_only_standing_records_count_as_zero(against: Summary, records: list[Record]) -> None:
    new = task(against([row("t", 9)], records, "--count-as-zero", "a"), "t")["new"]
    assert (new["counted_reward"], new["counted_rows"]) == (1.0, 1)


def test_a_class_is_counted_as_zero_on_both_sides(rollouts: Rollouts, summary: Summary) -> None:
    old, new = (rollouts.write(name, [row("t")], failures=[failure("t", "a")]) for name in ("old.jsonl", "new.jsonl"))
    entry = task(summary(old, new, "--count-as-zero", "a"), "t")
    assert (entry["category"], entry["old"]["counted_reward"]) == ("identical", 0.5)


def test_a_record_resolved_by_its_index_counts_as_zero(against: Summary) -> None:
    rows, records = [row("a", 0), row("b", 1)], [failure(None, "oom", index=1, repeat=1)]
    new = task(against(rows, records, "--count-as-zero", "oom"), "b")["new"]
    assert (new["counted_reward"], new["counted_rows"], new["failure_kind"]) == (0.5, 2, "oom")


def test_a_masked_row_of_the_main_file_never_counts_as_zero(against: Summary) -> None:
    rows = [row("t", mask_sample=True, failure_kind="oom", reward=None)]
    assert task(against(rows, [], "--count-as-zero", "oom"), "t")["category"] == "masked"


# A fault in a sidecar


@pytest.mark.parametrize("content", [b"oops", b"[]", b'{"task_id": "c", "rew', b"<html>", b"\0\0", b"{} {}"])
@pytest.mark.parametrize("name", ["new_failures.jsonl", "new_failures.jsonl.gz"])
def test_a_fault_in_a_sidecar_is_told_by_its_own_path_and_line(
    rollouts: Rollouts, run: Compare, name: str, content: bytes
) -> None:
    old, new = (rollouts.write(f"{side}.jsonl", [row("a"), row("b"), row("c")]) for side in ("old", "new"))
    raw = json.dumps(failure("a")).encode() + b"\n\n" + content
    (rollouts.folder / name).write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    done = run(old, new)
    assert (done.status, done.out, done.err.count("\n")) == (1, "", 1)
    assert done.err.startswith(f"error: {rollouts.folder / name}:3: ")


def test_a_compressed_sidecar_that_ends_early_is_unreadable(rollouts: Rollouts, run: Compare) -> None:
    new = rollouts.write("new.jsonl", [row("a")])
    sidecar = rollouts.folder / "new_failures.jsonl.gz"
    sidecar.write_bytes(gzip.compress(b'{"task_id": "a"}\n' * 50)[:-9])
    done = run(new, new)
    assert (done.status, done.out, done.err.count("\n")) == (1, "", 1)
    assert str(sidecar) in done.err
