"""What names a task: id values as rows write them, interned, and columns of them."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from rollout_compare.core.ids import LARGE, IdKey, id_of
from rollout_compare.core.prompt import Fingerprints
from rollout_compare.core.rows import Row, VerifierMetadata

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

    def _pad(self, rows: int) -> None:
        if self.tasksets is None:
            self.tasksets = array("I")
        self.tasksets.extend(_zeros(rows - len(self.tasksets)))


def _are_small(values: Sequence[Any]) -> bool:
    numbers = [value for value in values if isinstance(value, int)]
    return min(numbers) > -LARGE and max(numbers) < LARGE


def _zeros(number: int) -> array[int]:
    return array("I", bytes(4 * number))


def id_values(rows: Sequence[Row]) -> Iterator[tuple[str, list[Any]]]:
    """The values of each id field that at least one of the rows carries, as (field, one value per row)."""
    # One comprehension a field: with the attribute written out it is three times as fast as by name.
    yield from _carried("_ng_task_id", [row.ng_task_id for row in rows])
    yield from _carried("task_name", [row.task_name for row in rows])
    yield from _carried("task_id", [row.task_id for row in rows])
    has_rare = [
        row.instance_id is not None
        or row.uuid is not None
        or row.problem_id is not None
        or row.question_id is not None
        or row.uid is not None
        or row.id is not None
        for row in rows
    ]
    if any(has_rare):
        for name in ("instance_id", "uuid", "problem_id", "question_id", "uid", "id"):
            yield from _carried(name, [getattr(row, name) for row in rows])
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
