"""Rows as many tests write them."""

from __future__ import annotations

from typing import Any

from tests.conftest import Json


def row(task: Any = "a", reward: Any = 1.0, **fields: Any) -> Json:
    """A row with a task id."""
    return {"task_id": task, "reward": reward, **fields}


def member(taskset: Any, task: Any, reward: float = 1.0) -> Json:
    """A row of a task in a taskset."""
    return {"_ng_task_id": {"taskset": taskset, "task_id": task}, "reward": reward}


def asking(prompt: Any) -> Json:
    """The part of a row that holds its prompt."""
    return {"responses_create_params": {"input": prompt}}


def holding(path: str, value: Any) -> Json:
    """Objects in objects, with the value at this dotted path."""
    *parents, last = path.split(".")
    made: Json = {last: value}
    for name in reversed(parents):
        made = {name: made}
    return made
