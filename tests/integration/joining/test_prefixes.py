"""A prefix that only one side puts before its ids: when it comes off, and when it stays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.conftest import Compare, Rollouts, Summary
from tests.summaries import labels


def rows(*tasks: Any) -> list[dict[str, Any]]:
    return [{"task_name": task, "reward": 1.0} for task in tasks]


def prefixes(summary: dict[str, Any]) -> tuple[str | None, str | None]:
    return summary["join"]["old_prefix_stripped"], summary["join"]["new_prefix_stripped"]


@pytest.mark.parametrize("side", ["old", "new"])
@pytest.mark.parametrize(
    ("prefixed", "bare", "joined"),
    [
        (["tb/a", "tb/b"], ["a", "b"], ["a", "b"]),
        (["tb/a"], ["a"], ["a"]),
        (["tb/a", "tb/b"], ["a", "z"], ["a"]),
        (["tb/a/v1", "tb/b"], ["a/v1", "b"], ["a/v1", "b"]),
        (["tb/a", "tb/b"], ["a", "x/c", "y/d"], ["a"]),
        (["tb/1", "tb/2"], [1, 2], ["1", "2"]),
    ],
)
def test_a_prefix_on_every_id_of_one_side_comes_off(
    side: str,
    prefixed: Sequence[str],
    bare: Sequence[Any],
    joined: list[str],
    rollouts: Rollouts,
    summary: Summary,
) -> None:
    with_prefix, without = rollouts.write("p.jsonl", rows(*prefixed)), rollouts.write("b.jsonl", rows(*bare))
    if side == "old":
        result = summary(with_prefix, without)
        assert prefixes(result) == ("tb/", None)
    else:
        result = summary(without, with_prefix)
        assert prefixes(result) == (None, "tb/")
    assert [t["task"] for t in result["tasks"] if t["category"] == "identical"] == joined
    assert not any(label.startswith("tb/") for label in labels(result))


@pytest.mark.parametrize(
    ("one", "other", "joined"),
    [
        (["tb/a", "tb/b"], ["rp/a", "rp/b"], 0),
        (["tb/a", "tb/b"], ["tb/a", "tb/b"], 2),
        (["tb/a", "rp/b"], ["a", "b"], 0),
        (["tb/a", "b"], ["a", "c"], 0),
        (["tb/a", "tb/b"], ["y", "z"], 0),
        (["tb/a", "tb/b", "tb/c"], ["tb/a", "b", "c"], 1),
        (["tb-a", "tb-b"], ["a", "b"], 0),
        (["x/tb/a", "y/tb/b"], ["tb/a", "tb/b"], 0),
    ],
    ids=[
        "two different prefixes",
        "the same prefix on both sides",
        "two prefixes on one side",
        "an id without the prefix",
        "no task would join",
        "an id is shared",
        "no slash",
        "two first parts",
    ],
)
def test_a_prefix_stays(one: list[str], other: list[str], joined: int, rollouts: Rollouts, summary: Summary) -> None:
    first, second = rollouts.write("one.jsonl", rows(*one)), rollouts.write("other.jsonl", rows(*other))
    for result in (summary(first, second), summary(second, first)):
        assert prefixes(result) == (None, None)
        assert result["counts"]["identical"] == joined
        assert labels(result) == sorted({*one, *other})


def test_a_stripped_prefix_is_told_in_the_text_report(rollouts: Rollouts, run: Compare) -> None:
    old = rollouts.write("old.jsonl", rows("terminal-bench/a"))
    new = rollouts.write("new.jsonl", rows("a"))
    assert "terminal-bench/" in run(old, new).out


def test_anonymous_failures_do_not_keep_a_prefix_on(rollouts: Rollouts, summary: Summary) -> None:
    failures = [{"_ng_failure_class": "verifier_timeout"}]
    old = rollouts.write("old.jsonl", rows("tb/a", "tb/b"), failures=failures)
    new = rollouts.write("new.jsonl", rows("a", "b"), failures=failures)
    result = summary(old, new)
    assert prefixes(result) == ("tb/", None)
    assert labels(result) == ["a", "b", "unknown#1", "unknown#2"]


def test_a_sidecar_record_loses_the_prefix_with_its_side(rollouts: Rollouts, summary: Summary) -> None:
    old = rollouts.write("old.jsonl", rows("tb/a"), failures=[{"task_name": "tb/b", "_ng_failure_class": "oom"}])
    new = rollouts.write("new.jsonl", rows("a", "b"))
    result = summary(old, new)
    assert prefixes(result) == ("tb/", None)
    assert [(t["task"], t["category"]) for t in result["tasks"]] == [("a", "identical"), ("b", "masked")]


def test_a_sidecar_record_without_the_prefix_keeps_it_on(rollouts: Rollouts, summary: Summary) -> None:
    old = rollouts.write("old.jsonl", rows("tb/a"), failures=[{"task_name": "z", "_ng_failure_class": "oom"}])
    new = rollouts.write("new.jsonl", rows("a", "b"))
    assert prefixes(summary(old, new)) == (None, None)


def test_a_prefix_comes_off_id_objects(rollouts: Rollouts, summary: Summary) -> None:
    ids = [{"taskset": "shell", "task_id": "tb/a"}, {"taskset": "shell", "id": "tb/b"}]
    old = rollouts.write("old.jsonl", [{"_ng_task_id": i, "reward": 1.0} for i in ids])
    new = rollouts.write("new.jsonl", rows("a", "b"))
    result = summary(old, new)
    assert prefixes(result) == ("tb/", None)
    assert labels(result) == ["a", "b"]


@pytest.mark.parametrize("prefixed", ["plain", "wide"])
def test_a_prefix_comes_off_before_plain_ids_meet_several_tasksets(
    prefixed: str, rollouts: Rollouts, summary: Summary
) -> None:
    before = {"plain": ("tb/", ""), "wide": ("", "tb/")}[prefixed]
    plain = rollouts.write("old.jsonl", rows(f"{before[0]}a", f"{before[0]}b"))
    ids = [{"taskset": t, "task_id": f"{before[1]}{n}"} for t, n in (("quiz", "a"), ("shell", "b"))]
    wide = rollouts.write("new.jsonl", [{"_ng_task_id": i, "reward": 1.0} for i in ids])
    result = summary(plain, wide)
    assert prefixes(result) == (before[0] or None, before[1] or None)
    assert [(t["task"], t["category"]) for t in result["tasks"]] == [("a", "identical"), ("b", "identical")]


def test_rows_of_a_prefixed_task_stay_one_task(rollouts: Rollouts, summary: Summary) -> None:
    old = rollouts.write("old.jsonl", rows("tb/a", "tb/b", "tb/a"))
    new = rollouts.write("new.jsonl", rows("b", "a"))
    result = summary(old, new)
    assert [(t["task"], t["old"]["rows"], t["new"]["rows"]) for t in result["tasks"]] == [
        ("a", 2, 1),
        ("b", 1, 1),
    ]
