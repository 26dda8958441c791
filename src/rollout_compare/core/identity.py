"""What names a task: id values as rows write them, interned, and columns of them."""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from rollout_compare.core.prompt import Fingerprints
from rollout_compare.core.rows import Row, TaskId, VerifierMetadata

IdKey = str | int | float
"""An id as it is interned: numbers stay numbers, so that `1` and `"1"` can be told apart; see `text_of`."""

ABSENT = 0


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
    if value is None or type(value) in (str, int):
        return value  # type: ignore[no-any-return]
    if isinstance(value, dict):
        return json.dumps(value, sort_keys=True)
    if type(value) is float and math.isfinite(value):
        return value
    return str(value)


@dataclass(slots=True)
class IdColumn:
    """One id field over all rows of a side: a code per row (0 = absent) and, for objects, its taskset's code."""

    ids: array[int] = field(default_factory=lambda: array("I"))
    tasksets: array[int] | None = None

    def extend(self, values: Sequence[Any], names: Names) -> None:
        """Append one value per row."""
        kinds = set(map(type, values))
        if kinds <= {str, int, type(None)}:
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

    def _pad(self, rows: int) -> None:
        if self.tasksets is None:
            self.tasksets = array("I")
        self.tasksets.extend(_zeros(rows - len(self.tasksets)))


def _zeros(number: int) -> array[int]:
    return array("I", bytes(4 * number))


def id_values(rows: Sequence[Row]) -> Iterator[tuple[str, list[Any]]]:
    """The values of each id field that at least one of the rows carries, as (field, one value per row)."""
    # One comprehension a field: with the attribute written out it is three times as fast as by name.
    yield from _carried("_ng_task_id", [row.ng_task_id for row in rows])
    yield from _carried("task_name", [row.task_name for row in rows])
    yield from _carried("task_id", [row.task_id for row in rows])
    yield from _carried("instance_id", [row.instance_id for row in rows])
    yield from _carried("uuid", [row.uuid for row in rows])
    yield from _carried("problem_id", [row.problem_id for row in rows])
    yield from _carried("question_id", [row.question_id for row in rows])
    yield from _carried("uid", [row.uid for row in rows])
    yield from _carried("id", [row.id for row in rows])
    for _, metadata in _carried("verifier_metadata", [row.verifier_metadata for row in rows]):
        for leaf in VerifierMetadata.__struct_fields__:
            values = [None if owner is None else getattr(owner, leaf) for owner in metadata]
            yield from _carried(f"verifier_metadata.{leaf}", values)
    for _, configs in _carried("instance_config", [row.instance_config for row in rows]):
        yield from _carried("instance_config.instance_id", [config and config.instance_id for config in configs])
    for _, params in _carried("responses_create_params", [row.responses_create_params for row in rows]):
        metadata = [param and param.metadata for param in params]
        values = [owner and owner.instance_id for owner in metadata]
        yield from _carried("responses_create_params.metadata.instance_id", values)


def _carried(field_name: str, values: list[Any]) -> Iterator[tuple[str, list[Any]]]:
    if values.count(None) != len(values):
        yield field_name, values
