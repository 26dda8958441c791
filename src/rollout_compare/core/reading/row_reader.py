"""The lines of a rollouts file as typed rows, by a decoder that skips what the comparison does not need.

What the fast decoder refuses is read again by the standard library, whose verdict stands: nothing valid is
refused, and whatever is not valid ends in a CompareInputError that says why.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, islice
from typing import Any

import msgspec

from rollout_compare.core.errors import CompareInputError
from rollout_compare.core.reading.choice import Choice, FieldReader, Fit
from rollout_compare.core.reading.faults import explain, one_document
from rollout_compare.core.reading.ids import id_of
from rollout_compare.core.reading.json_line import field_of, is_blank, loads
from rollout_compare.core.reading.lines import BOM, Block, Line, LineFile
from rollout_compare.core.reading.rows import FailureRow, Row, chosen_reward, id_values, kind_of, row_from, some_name
from rollout_compare.core.reading.source import SourceFile
from rollout_compare.core.reading.stray import fill_in


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
    fits: list[Fit] = field(default_factory=list)
    """Whether each row is one of those asked for; empty when all are."""
    lines: Sequence[Line] = ()
    """What the rows were read from, until the next block is read."""

    def at(self, places: Sequence[int]) -> RowBlock:
        """Some of the rows, by their places."""
        return RowBlock(
            [self.rows[place] for place in places],
            [self.keys[place] for place in places] if self.keys else [],
            [self.offsets[place] for place in places],
            [self.lengths[place] for place in places],
            [self.numbers[place] for place in places],
            [self.fits[place] for place in places] if self.fits else [],
            [self.lines[place] for place in places] if self.lines else (),
        )


class RowReader:
    """Reads the lines of a file as rows of one kind, with the value of one more dotted key if asked."""

    def __init__(self, kind: type[Row], key: str | None = None, choice: Choice | None = None) -> None:
        self._kind = kind
        self._key = key
        self._choice = choice if choice is not None and choice.fields else None
        self._chosen = FieldReader(self._choice.fields) if self._choice is not None else None
        self._reward = choice.reward if choice is not None else None
        self._failures = msgspec.json.Decoder(FailureRow).decode
        self._depth = 0
        self._probe: Callable[[Line], Any] | None = None
        decoded: type[msgspec.Struct] = kind
        if key is not None:
            top, *below = key.split(".")
            self._depth = len(below)
            # A key below a field that is decoded anyway has no place in that type: it gets a decoder of its own.
            apart = top in kind.__struct_encode_fields__
            try:
                top_field = ("key_top", _nested(below), msgspec.field(name=top, default=None))
                keyed = msgspec.defstruct("KeyedRow", [top_field], bases=None if apart else (kind,), gc=False)
            except ValueError:
                # A name that the fast decoder cannot take, such as one with a quote in it.
                self._probe = _refuse
            else:
                if apart:
                    self._probe = msgspec.json.Decoder(keyed).decode
                else:
                    decoded = keyed
        self._decode: Callable[[Line], Any] = msgspec.json.Decoder(decoded).decode

    def read(self, file: LineFile | SourceFile) -> Iterator[RowBlock]:
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
            found = RowBlock(rows, keys, offsets, lengths, numbers)
            self._complete(found, block.lines, file.path)
            yield found

    def _complete(self, block: RowBlock, lines: Sequence[Line], path: str) -> None:
        """Look again at the lines of rows that say more, or say it elsewhere, than rows usually do."""
        block.lines = lines
        rows = block.rows
        unusual = [
            place
            for place, row in enumerate(rows)
            if row.responses_create_params is None
            or row.agent_ref is None
            or row.agent_ref.name is None
            or row.failure_class
        ]
        for place in unusual:
            if rows[place].failure_class and not isinstance(rows[place], FailureRow):
                rows[place] = self._failure(lines[place], path, block.numbers[place])
            fill_in(rows[place], lines[place])
        if self._choice is not None:
            for place, line in enumerate(lines):
                values = self._values(line, path, block.numbers[place])
                block.fits.append(self._choice.fit_of(values))
                if self._reward is not None:
                    rows[place].reward = self._reward_of(values[-1], rows[place], path, block.numbers[place])

    def _values(self, line: Line, path: str, number: int) -> list[Any]:
        assert self._chosen is not None
        try:
            return self._chosen.values(line)
        except RecursionError:
            raise CompareInputError(path, "JSON nested too deeply", line=number) from None

    def _failure(self, line: Line, path: str, number: int) -> Row:
        try:
            failure: Row = self._failures(line)
        except (msgspec.MsgspecError, RecursionError):
            failure = row_from(FailureRow, loads(line), path, number, self._reward)
        return failure

    def _reward_of(self, value: Any, row: Row, path: str, number: int) -> float | None:
        try:
            return chosen_reward(value)
        except TypeError as fault:
            what = str(fault).replace("reward", f"`{self._reward}`", 1)
            raise CompareInputError(path, what, line=number, task=some_name(row)) from None

    def _key_of(self, row: Any, line: Line) -> Any:
        value = row.key_top if self._probe is None else self._probe(line).key_top
        for _ in range(self._depth):
            value = None if value is None else value.inner
        return value

    def _read_singly(self, path: str, block: Block, following: Iterator[Block]) -> RowBlock:
        numbers: list[int] = []
        read = RowBlock([], [], [], [], numbers)
        lines: list[Line] = []
        offset = block.offset
        for place, line in enumerate(block.lines):
            number = block.number + place
            try:
                row = self._decode(line)
                key = None if self._key is None else self._key_of(row, line)
            except (msgspec.MsgspecError, RecursionError):
                whole = whole_object(line, path, number, islice(block.lines, place + 1, None), following)
                row = None if whole is None else row_from(self._kind, whole, path, number, self._reward)
                key = None if self._key is None else field_of(whole, self._key)
            if row is not None:
                read.rows.append(row)
                lines.append(bytes(line).removeprefix(BOM) if number == 1 else line)
                read.offsets.append(offset)
                read.lengths.append(len(line))
                numbers.append(number)
                if self._key is not None:
                    read.keys.append(key)
            offset += len(line) + 1
        self._complete(read, lines, path)
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
    inner = ("inner", _nested(below[1:]), msgspec.field(name=below[0], default=None))
    return msgspec.defstruct("Level", [inner], gc=False) | None


def whole_object(
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
        is_document = number == 1 and isinstance(value, list)
        what = one_document(raw) if is_document else f"{kind_of(value)}, not a JSON object"
        raise CompareInputError(path, what, line=number)
    return value
