"""Tasks that belong to tasksets: when they are told apart by their taskset, and how plain ids meet them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest

from tests.conftest import Rollouts, Summary
from tests.rows import member, row
from tests.summaries import classes


def both_ways(
    rollouts: Rollouts, summary: Summary, one: Iterable[dict[str, Any]], other: Iterable[dict[str, Any]]
) -> list[dict[str, Any]]:
    """The comparisons of `one` with `other` and of `other` with `one`."""
    first, second = rollouts.write("one.jsonl", one), rollouts.write("other.jsonl", other)
    return [summary(first, second), summary(second, first)]


def test_one_id_in_two_tasksets_is_two_tasks_when_both_sides_span_several(rollouts: Rollouts, summary: Summary) -> None:
    old = rollouts.write("old.jsonl", [member("quiz", "a"), member("shell", "a"), member("shell", "b")])
    new = rollouts.write("new.jsonl", [member("shell", "a"), member("quiz", "a", 0.0), member("maze", "b")])
    result = summary(old, new)
    assert result["join"]["keyed_by_taskset"] is True
    assert classes(result) == [
        ("maze/b", "missing"),
        ("quiz/a", "flipped"),
        ("shell/a", "identical"),
        ("shell/b", "missing"),
    ]


@pytest.mark.parametrize("tasksets", [("quiz", "quiz"), ("quiz", "shell")], ids=["same", "different"])
def test_tasks_keep_their_plain_ids_when_each_side_has_one_taskset(
    tasksets: tuple[str, str], rollouts: Rollouts, summary: Summary
) -> None:
    old = rollouts.write("old.jsonl", [member(tasksets[0], "a"), member(tasksets[0], "b")])
    new = rollouts.write("new.jsonl", [member(tasksets[1], "a"), member(tasksets[1], "b", 0.0)])
    result = summary(old, new)
    assert result["join"]["keyed_by_taskset"] is False
    assert classes(result) == [("a", "identical"), ("b", "flipped")]


def test_rows_without_a_taskset_keep_their_bare_id_beside_several_tasksets(
    rollouts: Rollouts, summary: Summary
) -> None:
    rows = [member("quiz", "a"), member("shell", "a"), member(None, "c"), member("", "d")]
    rows.append({"_ng_task_id": "e", "reward": 1.0})
    path = rollouts.write("old.jsonl", rows)
    result = summary(path, path)
    assert [name for name, _ in classes(result)] == ["c", "d", "e", "quiz/a", "shell/a"]


def test_numbers_and_text_name_the_same_taskset(rollouts: Rollouts, summary: Summary) -> None:
    old = rollouts.write("old.jsonl", [member(1, "a"), member(2, "a")])
    new = rollouts.write("new.jsonl", [member("1", "a"), member("2", "a")])
    assert classes(summary(old, new)) == [("1/a", "identical"), ("2/a", "identical")]


def test_numbers_and_text_alone_do_not_make_several_tasksets(rollouts: Rollouts, summary: Summary) -> None:
    path = rollouts.write("old.jsonl", [member(1, "a"), member("1", "b")])
    result = summary(path, path)
    assert result["join"]["keyed_by_taskset"] is False
    assert [name for name, _ in classes(result)] == ["a", "b"]


def test_repeats_are_gathered_by_taskset_and_id(rollouts: Rollouts, summary: Summary) -> None:
    rows = [member("quiz", "a", 1.0), member("shell", "a", 0.0), member("quiz", "a", 0.0)]
    path = rollouts.write("old.jsonl", rows)
    result = summary(path, path)
    assert [(t["task"], t["old"]["rows"], t["old"]["reward"]) for t in result["tasks"]] == [
        ("quiz/a", 2, 0.5),
        ("shell/a", 1, 0.0),
    ]


@pytest.mark.parametrize(
    ("first", "second"),
    [(("a/b", "c"), ("a", "b/c")), ((None, "a/c"), ("a", "c")), (("a/b/c", "d"), ("a", "b/c/d"))],
)
def test_labels_that_would_be_equal_neither_merge_tasks_nor_lose_rows(
    first: tuple[str | None, str], second: tuple[str, str], rollouts: Rollouts, summary: Summary
) -> None:
    rest = [member("one", "x"), member("two", "x")]
    old = rollouts.write("old.jsonl", [member(*first, 1.0), member(*second, 0.25), *rest])
    new = rollouts.write("new.jsonl", [member(*second, 0.25), member(*first, 0.5), *rest])
    result = summary(old, new)
    assert result["join"]["keyed_by_taskset"] is True
    clashing = [t for t in result["tasks"] if t["task"] not in ("one/x", "two/x")]
    assert len({t["task"] for t in clashing}) == len(clashing) == 2
    rewards = {(t["old"]["reward"], t["new"]["reward"]) for t in clashing}
    assert rewards == {(1.0, 0.5), (0.25, 0.25)}


def test_clashing_pairs_are_labelled_by_the_json_of_the_pair(rollouts: Rollouts, summary: Summary) -> None:
    path = rollouts.write("old.jsonl", [member("a/b", "c"), member("a", "b/c"), member("one", "x")])
    found = [name for name, _ in classes(summary(path, path))]
    assert found[-1] == "one/x"
    assert sorted(json.loads(name) for name in found[:-1]) == [["a", "b/c"], ["a/b", "c"]]


def test_a_clash_between_the_sides_does_not_join_two_tasks(rollouts: Rollouts, summary: Summary) -> None:
    rest = [member("one", "x"), member("two", "x")]
    old = rollouts.write("old.jsonl", [member("a/b", "c"), *rest])
    new = rollouts.write("new.jsonl", [member("a", "b/c"), *rest])
    counts = summary(old, new)["counts"]
    assert (counts["identical"], counts["missing_old_only"], counts["missing_new_only"]) == (2, 1, 1)


@pytest.mark.parametrize("plain_ids", [["quiz/b"], ["a", "quiz/b"], ["b", "quiz/b"]])
def test_the_order_of_rows_does_not_choose_among_tasks_of_one_label(
    plain_ids: list[str], rollouts: Rollouts, summary: Summary
) -> None:
    # Beside the pair (quiz, b), a task without a taskset is called quiz/b.
    wide = [member("quiz", "b", 0.25), member(None, "quiz/b", 0.5), member("quiz", "a"), member("shell", "a")]
    narrow = [row(name, 0.75) for name in plain_ids]
    before = both_ways(rollouts, summary, wide, narrow)
    after = both_ways(rollouts, summary, reversed(wide), narrow)
    for one, other in zip(before, after, strict=True):
        assert one["counts"] == other["counts"]
        assert one["tasks"] == other["tasks"]


def test_plain_ids_join_the_one_taskset_that_has_them(rollouts: Rollouts, summary: Summary) -> None:
    wide = [member("quiz", "a"), member("shell", "b"), member("shell", "c")]
    for result in both_ways(rollouts, summary, wide, [row("a"), row("b", 0.0), row("z")]):
        assert result["join"]["keyed_by_taskset"] is False
        assert [category for _, category in classes(result)] == ["identical", "flipped", "missing", "missing"]
        assert [name for name, _ in classes(result)][:2] == ["a", "b"]


def test_a_plain_id_that_equals_a_label_joins_that_task(rollouts: Rollouts, summary: Summary) -> None:
    wide = [member("quiz", "a", 0.25), member("shell", "a", 0.5)]
    for result in both_ways(rollouts, summary, wide, [row("shell/a", 0.5), row("quiz/a", 0.25)]):
        assert classes(result) == [("quiz/a", "identical"), ("shell/a", "identical")]


def test_a_plain_id_joins_the_same_id_without_a_taskset(rollouts: Rollouts, summary: Summary) -> None:
    wide = [member("quiz", "a", 0.25), member("shell", "a", 0.5), member(None, "a", 0.75)]
    for result in both_ways(rollouts, summary, wide, [row("a", 0.75)]):
        assert classes(result) == [("a", "identical"), ("quiz/a", "missing"), ("shell/a", "missing")]


def test_an_equal_label_goes_before_an_equal_id(rollouts: Rollouts, summary: Summary) -> None:
    wide = [member("quiz", "a", 0.25), member("shell", "quiz/a", 0.75)]
    for result in both_ways(rollouts, summary, wide, [row("quiz/a", 0.25)]):
        assert (result["counts"]["identical"], result["counts"]["missing"]) == (1, 1)
        (joined,) = (t for t in result["tasks"] if t["category"] == "identical")
        assert (joined["old"]["reward"], joined["new"]["reward"]) == (0.25, 0.25)


def test_the_sides_own_taskset_goes_before_the_others(rollouts: Rollouts, summary: Summary) -> None:
    wide = [member("quiz", "a", 0.25), member("shell", "a", 0.75), member("maze", "b")]
    for result in both_ways(rollouts, summary, wide, [member("shell", "a", 0.75), member("shell", "b")]):
        assert result["counts"]["identical"] == 1
        # What states its taskset is joined in that one and nowhere else.
        assert {("quiz/a", "missing"), ("maze/b", "missing"), ("shell/b", "missing")} <= set(classes(result))
        assert not any(w["code"] == "tasksets_differ" for w in result["warnings"])


@pytest.mark.parametrize("narrow", [[row("a"), row("b")], [member("maze", "a"), member("maze", "b")]])
def test_an_id_that_recurs_across_tasksets_is_not_guessed_at(
    narrow: list[dict[str, Any]], rollouts: Rollouts, summary: Summary
) -> None:
    wide = [member("quiz", "a"), member("shell", "a"), member("quiz", "b")]
    for result in both_ways(rollouts, summary, wide, narrow):
        assert classes(result) == [
            ("a", "missing"),
            ("b", "identical"),
            ("quiz/a", "missing"),
            ("shell/a", "missing"),
        ]
        assert any("quiz/a" in note and "shell/a" in note for note in result["notes"])


def test_a_recurring_id_that_the_other_side_lacks_is_no_ambiguity(rollouts: Rollouts, summary: Summary) -> None:
    wide = [member("quiz", "a"), member("shell", "a"), member("quiz", "b")]
    for result in both_ways(rollouts, summary, wide, [row("b")]):
        assert classes(result) == [("b", "identical"), ("quiz/a", "missing"), ("shell/a", "missing")]
        assert not any("quiz/a" in note for note in result["notes"])


def test_a_sidecar_record_can_bring_the_second_taskset(rollouts: Rollouts, summary: Summary) -> None:
    failure = {"_ng_task_id": {"taskset": "shell", "task_id": "a"}, "_ng_failure_class": "sandbox_lost"}
    old = rollouts.write("old.jsonl", [member("quiz", "a"), member("shell", "a")])
    new = rollouts.write("new.jsonl", [member("quiz", "a")], failures=[failure])
    result = summary(old, new)
    assert result["join"]["keyed_by_taskset"] is True
    assert classes(result) == [("quiz/a", "identical"), ("shell/a", "masked")]


def test_tasksets_are_told_apart_under_an_explicit_key(rollouts: Rollouts, summary: Summary) -> None:
    pairs = [{"taskset": "quiz", "task_id": "a"}, {"taskset": "shell", "id": "a"}]
    path = rollouts.write("old.jsonl", [{"run": {"task": pair}, "reward": 1} for pair in pairs])
    result = summary(path, path, "--key", "run.task")
    assert result["join"]["keyed_by_taskset"] is True
    assert [name for name, _ in classes(result)] == ["quiz/a", "shell/a"]


def test_anonymous_failures_stand_beside_several_tasksets(rollouts: Rollouts, summary: Summary) -> None:
    old = rollouts.write(
        "old.jsonl", [member("quiz", "a"), member("shell", "b")], failures=[{"_ng_failure_class": "oom"}]
    )
    new = rollouts.write("new.jsonl", [row("a"), row("b")])
    assert classes(summary(old, new)) == [("a", "identical"), ("b", "identical"), ("unknown#1", "masked")]
