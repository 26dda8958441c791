"""Ids as rows write them: what they name, and the text by which they are compared."""

from __future__ import annotations

import json
import math
from typing import Any

import msgspec

IdKey = str | int | float
"""An id as it is interned: numbers stay numbers, so that `1` and `"1"` can be told apart; see `text_of`."""

Id = str | int | float | None
"""A task id as most rows write it; other shapes come through the standard library's decoder."""


class TaskId(msgspec.Struct, gc=False):
    """The object form of `_ng_task_id`, when it names a task."""

    taskset: Id = None
    task_id: Id = None
    id: Id = None

    def __post_init__(self) -> None:
        if self.task_id is None and self.id is None:
            # The whole object is the id then, which only the standard library's decoder keeps.
            message = "an object that names no task"
            raise ValueError(message)


LARGE = 1 << 60


def text_of(value: IdKey) -> str:
    """The text by which an id is compared: an integral float reads as its integer."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def id_of(value: Any) -> tuple[IdKey | None, IdKey | None]:
    """The (taskset, id) that a row's value stands for; (None, None) when the value is absent.

    An object is {taskset, task_id}, `id` standing in for `task_id`; one that has neither is its canonical JSON.
    """
    if isinstance(value, TaskId):
        return _taskset(value.taskset), _plain(value.id if value.task_id is None else value.task_id)
    if isinstance(value, dict):
        task_id = value.get("task_id")
        if task_id is None:
            task_id = value.get("id")
        if task_id is None:
            return None, json.dumps(value, sort_keys=True)
        return _taskset(value.get("taskset")), _plain(task_id)
    return None, _plain(value)


def _taskset(value: Any) -> IdKey | None:
    if value is None or value in ("", [], {}):
        return None
    return _plain(value)


def _plain(value: Any) -> IdKey | None:
    if value is None or type(value) is str:
        return value
    if isinstance(value, dict):
        return json.dumps(value, sort_keys=True)
    # Python hashes numbers by their value modulo a known prime: large ones, of which many could share a hash, are text.
    if type(value) is int:
        return value if abs(value) < LARGE else str(value)
    if type(value) is float and abs(value) < LARGE:
        return value
    return text_of(value) if type(value) is float and math.isfinite(value) else str(value)
