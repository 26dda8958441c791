"""The lines of a rollouts file as typed rows, by a decoder that skips what the comparison does not need.

What the fast decoder refuses is read again by the standard library, whose verdict stands: nothing valid is
refused, and whatever is not valid ends in a CompareInputError that says why.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from typing import Any

import msgspec

from rollout_compare.core.errors import CompareInputError
from rollout_compare.core.reading.faults import explain
from rollout_compare.core.reading.ids import id_of
from rollout_compare.core.reading.json_line import field_of, is_blank, loads
from rollout_compare.core.reading.lines import BOM, Block, Line, LineFile
from rollout_compare.core.reading.rows import Row, id_values, kind_of, row_from


@dataclass(slots=True)
class RowBlock:
    """Some rows in reading order, each with its place in the unpacked input."""

    rows: list[Any]
    keys: list[Any]
    """The value of the reader's extra key in each row; empty when it has none."""
    offsets: list[int]
    lengths: list[int]
    numbers: Sequence[int]
    """1-based line numbers."""


class RowReader:
    """Reads the lines of a file as rows of one kind, with the value of one more dotted key if asked."""

    def __init__(self, kind: type[Row], key: str | None = None) -> None:
        self._kind = kind
        self._key = key
        self._depth = 0
        self._probe: Callable[[Line], Any] | None = None
        decoded: type[msgspec.Struct] = kind
        if key is not None:
            top, *below = key.split(".")
            self._depth = len(below)
            # A key below a field that is decoded anyway has no place in that type: it gets a decoder of its own.
            apart = top in kind.__struct_encode_fields__
            try:
                field = ("key_top", _nested(below), msgspec.field(name=top, default=None))
                keyed = msgspec.defstruct("KeyedRow", [field], bases=None if apart else (kind,), gc=False)
            except ValueError:
                # A name that the fast decoder cannot take, such as one with a quote in it.
                self._probe = _refuse
            else:
                if apart:
                    self._probe = msgspec.json.Decoder(keyed).decode
                else:
                    decoded = keyed
        self._decode: Callable[[Line], Any] = msgspec.json.Decoder(decoded).decode

    def read(self, file: LineFile) -> Iterator[RowBlock]:
        """All rows of a file; blank lines are skipped. Raises CompareInputError at the first line that is none."""
        blocks = file.blocks()
        for block in blocks:
            try:
                rows = list(map(self._decode, block.lines))
                keys = (
                    [] if self._key is None else [self._key_of(*pair) for pair in zip(rows, block.lines, strict=True)]
                )
            except (msgspec.MsgspecError, RecursionError):
                yield self._read_singly(file.path, block, blocks)
                continue
            lengths = list(map(len, block.lines))
            numbers = range(block.number, block.number + len(rows))
            # Each line before a row adds its length and its line end to the row's offset.
            offsets = list(map(int.__add__, accumulate(lengths[:-1], initial=block.offset), range(len(rows))))
            yield RowBlock(rows, keys, offsets, lengths, numbers)

    def _key_of(self, row: Any, line: Line) -> Any:
        value = row.key_top if self._probe is None else self._probe(line).key_top
        for _ in range(self._depth):
            value = None if value is None else value.inner
        return value

    def _read_singly(self, path: str, block: Block, following: Iterator[Block]) -> RowBlock:
        numbers: list[int] = []
        read = RowBlock([], [], [], [], numbers)
        offset = block.offset
        for at, line in enumerate(block.lines):
            number = block.number + at
            try:
                row = self._decode(line)
                key = None if self._key is None else self._key_of(row, line)
            except (msgspec.MsgspecError, RecursionError):
                whole = _whole(line, path, number, islice(block.lines, at + 1, None), following)
                row = None if whole is None else row_from(self._kind, whole, path, number)
                key = None if self._key is None else field_of(whole, self._key)
            if row is not None:
                read.rows.append(row)
                read.offsets.append(offset)
                read.lengths.append(len(line))
                numbers.append(number)
                if self._key is not None:
                    read.keys.append(key)
            offset += len(line) + 1
        return read


@contextlib.contextmanager
def checked_for_depth(block: RowBlock, path: str) -> Iterator[None]:
    """Make ids that are nested too deeply to have a text unreadable input, with the line where that is certain."""
    try:
        yield
    except RecursionError:
        number = (
            block.numbers[0]
            if len(block.rows) == 1
            else next((number for number, row in zip(block.numbers, block.rows, strict=True) if _is_deep(row)), None)
        )
        raise CompareInputError(path, "JSON nested too deeply", line=number) from None


def _is_deep(row: Row) -> bool:
    try:
        for value in (row.run_id, row.task_index, row.rollout_index, *(values[0] for _, values in id_values([row]))):
            id_of(value)
            str(value)
    except RecursionError:
        return True
    return False


def _refuse(_: Line) -> Any:
    raise msgspec.DecodeError


def _nested(below: list[str]) -> Any:
    """The type of a value whose field at the path `below` is wanted."""
    if not below:
        return Any
    field = ("inner", _nested(below[1:]), msgspec.field(name=below[0], default=None))
    return msgspec.defstruct("Level", [field], gc=False) | None


def _whole(
    line: Line, path: str, number: int, rest: Iterable[Line], following: Iterator[Block]
) -> dict[str, Any] | None:
    """The object on a line that the fast decoder refused; None for a blank line."""
    # A byte order mark is one only at the start of the file.
    raw = bytes(line).removeprefix(BOM) if number == 1 else bytes(line)

    def rest_is_blank() -> bool:
        return all(map(is_blank, rest)) and all(is_blank(later) for block in following for later in block.lines)

    try:
        value = loads(raw)
    except (ValueError, RecursionError) as fault:
        if is_blank(raw):
            return None
        raise CompareInputError(path, explain(raw, number, fault, rest_is_blank), line=number) from None
    if not isinstance(value, dict):
        raise CompareInputError(path, f"{kind_of(value)}, not a JSON object", line=number)
    return value
