"""The rows of a side looked at once more, field by field, for whoever asks which field would do as a key or a reward.

Only asked when something is amiss: it decodes whole rows, up to a limit.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from rollout_compare.core.errors import CompareInputError
from rollout_compare.core.reading.choice import FieldReader
from rollout_compare.core.reading.ids import id_of, text_of
from rollout_compare.core.reading.json_line import loads
from rollout_compare.core.reading.lines import InputChangedError, read_rows
from rollout_compare.core.reading.side import Side

_MOST_ROWS = 100_000
_MOST_BYTES = 256 << 20
_MOST_FIELDS = 500
_LONGEST_ID = 200
"""A longer text does not name a task, in characters."""
_DEEPEST = 3
_LONGEST_NAME = 200


@dataclass(slots=True)
class Field:
    """What rows hold in one dotted field."""

    rows: int = 0
    """How many rows have a text, a number or a truth value there."""
    scoreable: int = 0
    """How many have a number or a truth value."""
    texts: set[str] = field(default_factory=set)
    """The different values, as ids are compared."""


@dataclass(slots=True)
class Survey:
    """The fields of a side's rows."""

    rows: int = 0
    is_whole: bool = True
    """Whether all rows were looked at."""
    fields: dict[str, Field] = field(default_factory=dict)

    def on_every_row(self) -> list[str]:
        """The fields that every row has, in order of appearance."""
        return [name for name, seen in self.fields.items() if seen.rows == self.rows]


def survey(side: Side) -> Survey:
    """Look at the rows of the rollouts files of a side; those of a pipe can be read only once, and are passed over."""
    seen = Survey()
    room = _MOST_BYTES
    for shard in side.shards:
        if shard.file.is_pipe:
            seen.is_whole = False
            continue
        stop = min(shard.main_stop, shard.start + _MOST_ROWS - seen.rows)
        spans = [(side.offsets[row], side.lengths[row]) for row in range(shard.start, stop)]
        try:
            for text in read_rows(shard.file, spans):
                room -= len(text)
                if room < 0:
                    break
                _look_at(text, seen)
        except (InputChangedError, CompareInputError):
            seen.is_whole = False
        seen.is_whole = seen.is_whole and room >= 0 and stop == shard.main_stop
    return seen


def survey_of_rows(side: Side, rows: Sequence[int]) -> Survey:
    """Look at some rows of a side that lie in its rollouts files."""
    seen = Survey()
    for row in rows:
        shard = side.shard_of(row)
        try:
            for text in read_rows(shard.file_of(row), [(side.offsets[row], side.lengths[row])]):
                _look_at(text, seen)
        except (InputChangedError, CompareInputError):
            seen.is_whole = False
    return seen


def id_codes(side: Side, name: str) -> array[int] | None:
    """The code of a dotted field in each row of a side, 0 for none; None when the rows can no longer be read."""
    reader, codes = FieldReader([name]), array("I", bytes(4 * len(side)))
    for shard in side.shards:
        spans = [(side.offsets[row], side.lengths[row]) for row in range(shard.start, shard.main_stop)]
        try:
            for row, text in zip(range(shard.start, shard.main_stop), read_rows(shard.file, spans), strict=False):
                (value,) = reader.values(text)
                codes[row] = side.names[id_of(value)[1]]
        except (InputChangedError, CompareInputError, ValueError, RecursionError):
            return None
    return codes


def _look_at(text: bytes, seen: Survey) -> None:
    seen.rows += 1
    for name, value in _scalars(_decoded(text), "", _DEEPEST):
        if name not in seen.fields and len(seen.fields) >= _MOST_FIELDS:
            continue
        known = seen.fields.setdefault(name, Field())
        known.rows += 1
        known.scoreable += not isinstance(value, str)
        if not isinstance(value, bool) and (not isinstance(value, str) or len(value) <= _LONGEST_ID):
            known.texts.add(text_of(value))


def _decoded(text: bytes) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError):
        pass
    try:
        return loads(text)
    except (ValueError, RecursionError):
        return None


def _scalars(value: Any, prefix: str, deep: int) -> Iterator[tuple[str, str | int | float]]:
    """The texts, numbers and truth values of an object, by their dotted names."""
    if not isinstance(value, dict):
        return
    for name, below in value.items():
        if not isinstance(name, str) or "." in name or len(name) > _LONGEST_NAME:
            continue
        if isinstance(below, str | int | float):
            yield prefix + name, below
        elif isinstance(below, dict) and deep > 1:
            yield from _scalars(below, f"{prefix}{name}.", deep - 1)
