"""Rows that are not lines of a file: what another tool wrote, as whoever can read it yields them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, Protocol

import msgspec

from rollout_compare.core.errors import CompareInputError
from rollout_compare.core.reading.lines import Block, InputFile
from rollout_compare.core.sentences import Sentence

ROLLOUTS = "rollouts"
"""The format of what is read line by line."""
BLOCK = 1000
"""How many rows are held at once."""


class RowSource(Protocol):
    """A path that is read as rows of rollouts. Reading raises CompareInputError for what cannot be read."""

    path: str
    format: str
    """The word for its format."""
    title: str
    """What one of it is called in a report."""
    unit: str
    """What became a row, in the tool's own word."""
    folder: str
    """The folder that relative paths of logs are looked for in."""

    def rows(self) -> Iterator[dict[str, Any]]:
        """All rows, in an order that stays."""

    def again(self, numbers: Sequence[int]) -> Iterator[bytes]:
        """Some of these rows once more, as JSON and with their verifier output, by rising numbers from 0."""

    @property
    def notes(self) -> Sequence[Sentence]:
        """Choices that were made for the user; known once all rows have been read."""

    @property
    def lost(self) -> int:
        """How many attempts were planned and left no row; known likewise."""

    @property
    def files(self) -> Sequence[str]:
        """The files that have been read, the given path first."""

    @property
    def bytes_read(self) -> int:
        """Size of these files, as they lie on disk."""


class SourceFile:
    """The rows of a source as a `RowReader` takes them: as lines, each under the number of its row."""

    def __init__(self, source: RowSource) -> None:
        self.path = source.path
        self._source = source
        self._fault: CompareInputError | None = None

    @property
    def input(self) -> InputFile:
        """What the rows came from; they can be had again by their numbers, from 0."""
        return InputFile(self.path, "plain", is_pipe=False, size=0, modified_ns=0, again=self._source.again)

    def blocks(self) -> Iterator[Block]:
        """All rows, in blocks."""
        rows, number = self._source.rows(), 1
        try:
            while some := list(islice(rows, BLOCK)):
                yield Block(list(map(as_line, some)), number, 0)
                number += len(some)
        except CompareInputError as fault:
            self._fault = fault
            raise

    def placed(self, fault: CompareInputError) -> CompareInputError:
        """A fault of a row, which is not on any line."""
        if fault is self._fault or fault.line is None:
            return fault
        return CompareInputError(fault.path, f"row {fault.line}: {fault.what}", task=fault.task)


def as_line(row: dict[str, Any]) -> bytes:
    """A row as JSON. Nesting that is too deep for that is a row without what is so deep."""
    try:
        reward = row.get("reward")
        if reward is None or math.isfinite(reward):
            return msgspec.json.encode(row)
    except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError, TypeError, OverflowError, ValueError):
        pass
    # Numbers that are not finite, and texts that have no UTF-8.
    try:
        return json.dumps(row).encode()
    except RecursionError:
        return json.dumps({name: value for name, value in row.items() if not isinstance(value, dict | list)}).encode()


OpenSource = Callable[[str], RowSource | None]
"""Opens a path that is read otherwise than line by line; None for rollouts. Raises CompareInputError."""
