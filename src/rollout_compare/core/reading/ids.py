"""Ids as rows write them: what they name, the text by which they are compared, and columns of them, interned."""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from rollout_compare.core.reading.prompt import Fingerprints

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
            raise ValueError("an object that names no task")


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


ABSENT = 0
"""The code of an id that is not there."""


class Names(dict[IdKey | None, int]):
    """Interned ids: each value has one code, 1 and up; the code of None is 0 (absent).

    Both sides of a comparison share one table, so that equal codes mean equal ids, and the prompts they have seen.
    """

    def __init__(self) -> None:
        super().__init__({None: ABSENT})
        self.numbers: list[int] = []
        """The codes of the values that are numbers."""
        self.prompts = Fingerprints()

    def __missing__(self, value: IdKey | None) -> int:
        (code,) = self.codes([value])
        return code

    def codes(self, values: Sequence[IdKey | None]) -> list[int]:
        """The code of each value; a new value gets the next one."""
        first = len(self)
        codes = [self.setdefault(value, len(self)) for value in values]
        if set(map(type, values)) - {str, type(None)} and len(self) > first:
            self.numbers += sorted(
                {
                    code
                    for code, value in zip(codes, values, strict=True)
                    if code >= first and not isinstance(value, str)
                }
            )
        return codes


@dataclass(slots=True)
class IdColumn:
    """One id field over all rows of a side: a code per row (0 = absent) and, for objects, its taskset's code."""

    ids: array[int] = field(default_factory=lambda: array("I"))
    tasksets: array[int] | None = None

    def extend(self, values: Sequence[Any], names: Names) -> None:
        """Append one value per row."""
        kinds = set(map(type, values))
        if kinds <= {str, type(None)} or (kinds <= {str, int, type(None)} and _are_small(values)):
            self.ids.extend(names.codes(values))
            tasksets = None
        else:
            pairs = list(map(id_of, values))
            self.ids.extend([names[task_id] for _, task_id in pairs])
            tasksets = [names[taskset] for taskset, _ in pairs]
        if tasksets is not None and (self.tasksets is not None or any(tasksets)):
            self._pad(len(self.ids) - len(values))
            assert self.tasksets is not None
            self.tasksets.extend(tasksets)
        elif self.tasksets is not None:
            self.tasksets.extend(_zeros(len(values)))

    def pad(self, rows: int) -> None:
        """Make the column `rows` long with absent values."""
        self.ids.extend(_zeros(rows - len(self.ids)))
        if self.tasksets is not None:
            self._pad(rows)

    def arrays(self) -> list[array[int]]:
        """The arrays that the column is made of."""
        return [self.ids] if self.tasksets is None else [self.ids, self.tasksets]

    def renamed(self, table: array[int]) -> IdColumn:
        """The same with each code looked up in `table`."""
        tasksets = None if self.tasksets is None else array("I", map(table.__getitem__, self.tasksets))
        return IdColumn(array("I", map(table.__getitem__, self.ids)), tasksets)

    def _pad(self, rows: int) -> None:
        if self.tasksets is None:
            self.tasksets = array("I")
        self.tasksets.extend(_zeros(rows - len(self.tasksets)))


def _are_small(values: Sequence[Any]) -> bool:
    numbers = [value for value in values if isinstance(value, int)]
    return min(numbers) > -LARGE and max(numbers) < LARGE


def _zeros(number: int) -> array[int]:
    return array("I", bytes(4 * number))
