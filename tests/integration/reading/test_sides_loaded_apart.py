"""Sides that were loaded one by one, each with names of its own, are compared like those of the command line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rollout_compare import compare, load_side
from tests.conftest import Json, Rollouts
from tests.rows import asking, member

Classes = list[tuple[str, str]]


@pytest.fixture
def classes(rollouts: Rollouts) -> Callable[..., Classes]:
    """The classes of tasks of two sides; both are loaded apart, the new one with names in another order."""

    def call(old: list[Json], new: list[Json], key: str | None = None, **sidecars: Any) -> Classes:
        first = load_side(rollouts.write("old.jsonl", old), key=key)
        second = load_side(rollouts.write("new.jsonl", new, **sidecars), key=key)
        return [(task.task, task.category) for task in compare(first, second).tasks]

    return call


def test_tasksets_of_sides_loaded_apart_meet(classes: Callable[..., Classes]) -> None:
    old = [member("quiz", "a"), member("shell", "a"), member("shell", "b")]
    new = [member("shell", "b"), member("shell", "a", 0.0), member("quiz", "a"), member("maze", "c")]
    assert classes(old, new) == [
        ("maze/c", "missing"),
        ("quiz/a", "identical"),
        ("shell/a", "flipped"),
        ("shell/b", "identical"),
    ]


def test_indices_that_are_text_meet_when_sides_are_loaded_apart(classes: Callable[..., Classes]) -> None:
    old = [{"_ng_task_index": index, "reward": 1} for index in ("first", "second", 3)]
    new = [{"_ng_task_index": index, "reward": reward} for index, reward in ((3, 1), ("second", 0), ("first", 1))]
    assert classes(old, new, key="_ng_task_index") == [
        ("3", "identical"),
        ("first", "identical"),
        ("second", "flipped"),
    ]


@pytest.mark.parametrize("index", [7, "seventh"], ids=["number", "text"])
def test_records_are_placed_by_materialized_inputs_when_sides_are_loaded_apart(
    index: object, classes: Callable[..., Classes]
) -> None:
    old = [{"task_id": name, "reward": 1} for name in ("z", "a", "b")]
    failures = [{"_ng_task_index": index, "_ng_rollout_index": 0, "_ng_failure_class": "oom"}]
    inputs = [{"_ng_task_index": index, "task_id": "b"}, {"_ng_task_index": 1, "task_id": "a"}]
    found = classes(old, [{"task_id": "a", "reward": 1}], failures=failures, materialized=inputs)
    assert found == [("a", "identical"), ("b", "masked"), ("z", "missing")]


def test_records_are_placed_in_their_taskset_when_sides_are_loaded_apart(classes: Callable[..., Classes]) -> None:
    old = [member("quiz", "a"), member("shell", "a")]
    failures = [{"_ng_task_index": 4, "_ng_rollout_index": 0}]
    inputs = [{"_ng_task_index": 4, **member("shell", "a")}]
    new = [member("maze", "b"), member("quiz", "a")]
    found = classes(old, new, failures=failures, materialized=inputs)
    assert found == [("maze/b", "missing"), ("quiz/a", "identical"), ("shell/a", "masked")]


def test_agents_of_sides_loaded_apart_keep_their_names(rollouts: Rollouts) -> None:
    def side(name: str, agents: str) -> Any:
        rows = [{"task_id": task, "reward": 1, "agent_ref": {"name": agents[k]}} for k, task in enumerate("ab")]
        return load_side(rollouts.write(name, rows))

    groups = compare(side("old.jsonl", "zz"), side("new.jsonl", "yx")).assessment.statistics.groups
    assert [(group.name, group.n) for group in groups] == [("x", 1), ("y", 1)]


def test_prompts_of_sides_loaded_apart_meet(classes: Callable[..., Classes]) -> None:
    def asked(text: str, reward: float = 1) -> Json:
        return asking(text) | {"reward": reward}

    found = classes([asked("Add."), asked("Divide.")], [asked("Divide."), asked("Add.", 0)])
    assert sorted(category for _, category in found) == ["flipped", "identical"]
