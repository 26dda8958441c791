"""Which model and agent made each row, and what it took: what may have changed besides the rewards."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import compress
from typing import Any

from rollout_compare.core.reading.ids import ABSENT, Names
from rollout_compare.core.reading.rows import AgentRef, Response, Row
from rollout_compare.core.redaction import Redaction, start_of
from rollout_compare.core.schema import LABEL_LIMIT

_NAN = float("nan")
_INFINITE = float("inf")
_MILLISECONDS_FROM = 1e11
"""A larger time stamp is in milliseconds: in seconds it would be one of the year 5138."""
_LONGEST_STAMP = 64


@dataclass(slots=True)
class NameColumn:
    """The code of one name per row, 0 for none; kept as one number as long as all rows have the same."""

    same: int = ABSENT
    codes: array[int] | None = None

    def __getitem__(self, row: int) -> int:
        return self.same if self.codes is None else self.codes[row]

    def append(self, values: list[str | None], before: int, names: Names) -> None:
        """Add the names of some rows; `before` is the number of rows so far."""
        if self.codes is None and values.count(values[0]) == len(values):
            code = names[values[0]]
            self.same = self.same if before else code
            if code == self.same:
                return
        if self.codes is None:
            self.codes = array("I", [self.same]) * before
        self.codes.extend(names.codes(values))

    def seen(self, rows: int) -> Counter[int]:
        """How many of all rows have each name."""
        seen = Counter({self.same: rows}) if self.codes is None else Counter(self.codes)
        del seen[ABSENT]
        return seen

    def keep_only(self, start: int, kept: Sequence[bool]) -> None:
        """Drop some of the rows from `start` on."""
        if self.codes is not None:
            self.codes[start:] = array("I", compress(self.codes[start:], kept))

    def renamed(self, table: array[int]) -> NameColumn:
        """The same with each code looked up in `table`."""
        codes = None if self.codes is None else array("I", map(table.__getitem__, self.codes))
        return NameColumn(table[self.same], codes)


@dataclass(slots=True)
class Provenance:
    """Who made the rows of a side and what they took, one entry per row in each column that exists."""

    models: NameColumn = field(default_factory=NameColumn)
    """`response.model`."""
    agents: NameColumn = field(default_factory=NameColumn)
    """`agent_ref.name`, else another name that the row gives its agent."""
    agent_field: str = AgentRef.field
    """Where the first name of an agent stood."""
    measures: dict[str, array[float]] = field(default_factory=dict)
    """Tokens and seconds of each row, NaN where it has none; only what some row has."""

    def append(self, rows: Sequence[Row], before: int, names: Names, redact: Redaction) -> None:
        """Keep what `rows` say; `before` is the number of rows so far. A column exists from its first value on.

        Names that have to be cut are redacted first; the others are as rows say them.
        """
        responses = [row.response for row in rows]
        self.models.append(_names([response and response.model for response in responses], redact), before, names)
        # Most blocks of rows have no such field at all: one pass tells, before each field is looked at.
        if self.measures or any(_tells(responses)):
            usages = [response and response.usage for response in responses]
            self._measure("output_tokens", before, [usage and usage.output_tokens for usage in usages])
            self._measure("input_tokens", before, [usage and usage.input_tokens for usage in usages])
        agents = _names([row.agent_ref and row.agent_ref.name for row in rows], redact)
        if self.agents.same == ABSENT and self.agents.codes is None:
            self.agent_field = next((row.agent_ref.field for row in rows if row.agent_ref is not None), AgentRef.field)
        self.agents.append(agents, before, names)
        run_times = [row.agent_run_time for row in rows]
        ends = [
            (response and response.completed_at) or row.finished_at
            for response, row in zip(responses, rows, strict=True)
        ]
        if "seconds" in self.measures or run_times.count(None) + ends.count(None) != 2 * len(rows):
            self._measure("seconds", before, list(map(_seconds, rows)))

    def keep_only(self, start: int, kept: Sequence[bool]) -> None:
        """Drop some of the rows from `start` on."""
        self.models.keep_only(start, kept)
        self.agents.keep_only(start, kept)
        for column in self.measures.values():
            column[start:] = array("d", compress(column[start:], kept))

    def _measure(self, name: str, before: int, values: list[Any]) -> None:
        if name not in self.measures:
            if values.count(None) == len(values):
                return
            self.measures[name] = array("d", [_NAN]) * before
        if not set(map(type, values)) <= {float, int, type(None)}:
            values = list(map(finite_number, values))
        try:
            column = array("d", [_NAN if value is None else value for value in values])
        except OverflowError:
            column = array("d", [_INFINITE])
        if _INFINITE in column or -_INFINITE in column:
            # What is not finite says nothing.
            column = array("d", [_NAN if number is None else number for number in map(finite_number, values)])
        self.measures[name].extend(column)

    def renamed(self, table: array[int]) -> Provenance:
        """The same with each code looked up in `table`."""
        return replace(self, models=self.models.renamed(table), agents=self.agents.renamed(table))


def _tells(responses: Sequence[Response | None]) -> list[bool]:
    """For each response whether it tells its tokens or when it was done."""
    return [
        response is not None and (response.usage is not None or response.completed_at is not None)
        for response in responses
    ]


def _seconds(row: Row) -> float | None:
    """How long the attempt took: what the agent measured, else from the response's creation to its completion.

    Where neither tells, from the attempt's start to its end.
    """
    measured = finite_number(row.agent_run_time)
    if measured is not None:
        return measured
    response = row.response
    answered = None if response is None else _between(response.created_at, response.completed_at)
    return answered if answered is not None else _between(row.started_at, row.finished_at)


def _between(began: Any, ended: Any) -> float | None:
    """The seconds between two time stamps: numbers of seconds or of milliseconds, or ISO 8601 texts."""
    start, end = _moment(began), _moment(ended)
    if isinstance(start, float) and isinstance(end, float):
        return max(0.0, end - start)
    if isinstance(start, datetime) and isinstance(end, datetime) and (start.tzinfo is None) == (end.tzinfo is None):
        return max(0.0, (end - start).total_seconds())
    return None


def _moment(value: Any) -> float | datetime | None:
    if isinstance(value, str):
        try:
            return datetime.fromisoformat(value) if len(value) <= _LONGEST_STAMP else None
        except ValueError:
            return None
    number = finite_number(value)
    return number / 1000 if number is not None and number > _MILLISECONDS_FROM else number


def finite_number(value: Any) -> float | None:
    """A finite number as a float; anything else says nothing."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _names(values: list[Any], redact: Redaction) -> list[str | None]:
    """The texts among the values, cut to what a report can show; None for anything else."""
    if set(map(type, values)) <= {str, type(None)} and max(map(len, filter(None, values)), default=0) <= LABEL_LIMIT:
        return values
    return [start_of(value, LABEL_LIMIT, redact) if isinstance(value, str) else None for value in values]
