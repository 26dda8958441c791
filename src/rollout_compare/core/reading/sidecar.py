"""The failures sidecar of a shard: which of its records still stand, and what they say.

A record stands when it is the last attempt of a rollout that no row scored.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import repeat
from typing import Any

from rollout_compare.core.reading.ids import id_of
from rollout_compare.core.reading.lines import LineFile, Progress
from rollout_compare.core.reading.prompt import NO_PROMPT
from rollout_compare.core.reading.row_reader import RowBlock, RowReader, checked_for_depth
from rollout_compare.core.reading.rows import CreateParams, Row, SidecarRow, id_values
from rollout_compare.core.reading.side import NO_INDEX, KeyCode, Shard, Side, SidecarTally, Zeroed
from rollout_compare.core.reading.signals import Signals, as_measured, failure_class_of, signals_of_failure
from rollout_compare.core.redaction import Redaction
from rollout_compare.core.schema import PROMPT

_NAN = float("nan")

Attempt = tuple[int, int]
"""Codes of a record's task index and rollout index; a negative one of -1 is absent."""


@dataclass(slots=True)
class Record:
    """One sidecar record with its place in the (unpacked) sidecar."""

    row: SidecarRow
    key: object
    attempt: Attempt | None
    prompt: int
    offset: int
    length: int
    failure_class: str
    said: Signals
    """What the record says when it is masked."""
    run_id: str | None


def standing_records(records: list[Record], scored: set[Attempt], tally: SidecarTally) -> list[Record]:
    """The records that stand, in file order; `scored` holds the attempts that have a row in the main file."""
    last: dict[Attempt, int] = {}
    for position, record in enumerate(records):
        if record.attempt is not None and not record.row.unrouted and not record.row.never_started:
            last[record.attempt] = position
    standing = []
    for position, record in enumerate(records):
        tally.records += 1
        attempt = record.attempt
        if record.row.unrouted:
            tally.set_aside += 1
        elif attempt is None:
            standing.append(record)
        elif attempt in scored:
            tally.superseded += 1
            tally.scored += 1
        elif record.row.never_started:
            tally.set_aside += 1
        elif last[attempt] != position:
            tally.superseded += 1
        elif record.row.omitted:
            tally.set_aside += 1
        else:
            standing.append(record)
    tally.standing += len(standing)
    return standing


class SidecarReader:
    """Reads the failures sidecars of one side."""

    def __init__(self, side: Side, progress: Progress | None, redact: Redaction) -> None:
        self._side = side
        self._progress = progress
        self._redact = redact
        self._records = RowReader(SidecarRow, side.extra_key)
        self._inputs = RowReader(Row, side.extra_key)

    def read(self, path: str, shard: Shard, run_ids: set[str]) -> None:
        """Add the standing records of a sidecar to the side, right after the rows of its shard.

        `run_ids` are those that the rows name; empty when it is not known which these are.
        """
        side = self._side
        records: list[Record] = []
        with LineFile(path, self._progress) as file:
            shard.sidecar_file = file.input
            for block in self._records.read(file):
                with checked_for_depth(block, path):
                    records += map(self._record, block.rows, block.keys or repeat(None), block.offsets, block.lengths)
        if run_ids:
            named = [record.run_id for record in records if record.run_id is not None]
            shard.tally.of_another_run = sum(run_id not in run_ids for run_id in named)
        wanted = {record.attempt for record in records if record.attempt is not None}
        self._append(standing_records(records, self._scored(shard, wanted), shard.tally))
        shard.stop = len(side)
        indices = self._indices_in_doubt(shard)
        if indices and shard.files.materialized is not None:
            shard.indexed = self._materialized(shard.files.materialized, indices)

    def _record(self, row: SidecarRow, key: object, offset: int, length: int) -> Record:
        # Whatever names a task is tried here, while the line is known.
        for _, (value,) in id_values([row]):
            id_of(value)
        id_of(key)
        run_id = None if row.run_id is None else str(row.run_id)
        record = Record(
            row,
            key,
            self._attempt(row),
            self._prompt_of(row),
            offset,
            length,
            failure_class_of(row),
            signals_of_failure(row, self._redact),
            run_id,
        )
        _let_go(row)
        return record

    def _attempt(self, row: Row) -> Attempt | None:
        if row.task_index is None or row.rollout_index is None:
            return None
        return self._side.index_of(row.task_index), self._side.index_of(row.rollout_index)

    def _prompt_of(self, row: Row) -> int:
        params = row.responses_create_params
        return NO_PROMPT if params is None or not params.input else self._side.names.prompts.of(params.input)

    def _scored(self, shard: Shard, wanted: set[Attempt]) -> set[Attempt]:
        if not wanted:
            return set()
        own = slice(shard.start, shard.main_stop)
        pairs = zip(self._side.task_index[own], self._side.rollout_index[own], strict=True)
        return wanted.intersection(pairs)

    def _append(self, standing: list[Record]) -> None:
        side = self._side
        if not standing:
            return
        rewards, codes = [], []
        for row, record in enumerate(standing, start=len(side)):
            reward = _NAN if record.row.reward is None or not math.isfinite(record.row.reward) else record.row.reward
            said = record.said
            if record.failure_class in side.count_as_zero:
                side.zeroed[row] = Zeroed(reward, said, record.failure_class)
                reward, said = 0.0, as_measured(said, record.failure_class, record.row, self._redact)
            rewards.append(reward)
            codes.append(side.signal_table.code_of(said))
        block = RowBlock(
            [record.row for record in standing],
            [record.key for record in standing],
            [record.offset for record in standing],
            [record.length for record in standing],
            (),
        )
        side.append(block, rewards, codes, [record.prompt for record in standing], self._redact)

    def _indices_in_doubt(self, shard: Shard) -> set[int]:
        """The task indices of records that may lack the side's key, whichever that will be."""
        side = self._side
        columns = list(side.columns.values())
        if shard.start < shard.main_stop:
            # The key is a field that every row carries, so the first one does.
            columns = [column for column in columns if column.ids[shard.start]]
        return {
            side.task_index[row]
            for row in range(shard.main_stop, shard.stop)
            if side.task_index[row] != NO_INDEX
            and not (columns and all(column.ids[row] for column in columns) and side.prompts[row] != NO_PROMPT)
        }

    def _materialized(self, path: str, indices: set[int]) -> dict[int, dict[str, set[KeyCode]]]:
        """What each field says of the tasks with these indices, read from a materialized inputs file."""
        names = self._side.names
        said: dict[int, dict[str, set[KeyCode]]] = {}
        with LineFile(path, self._progress) as file:
            for block in self._inputs.read(file):
                for position, row in enumerate(block.rows):
                    index = self._side.index_of(row.task_index)
                    if index in indices:
                        fields = said.setdefault(index, {})
                        for name, value in self._naming_values(row, block.keys[position] if block.keys else None):
                            taskset, task_id = id_of(value)
                            fields.setdefault(name, set()).add((names[taskset], names[task_id]))
        return said

    def _naming_values(self, row: Row, key: Any) -> Iterator[tuple[str, Any]]:
        """What may name the task of a row, by field."""
        for name, values in id_values([row]):
            yield name, values[0]
        if key is not None and self._side.extra_key is not None:
            yield self._side.extra_key, key
        prompt = self._prompt_of(row)
        if prompt != NO_PROMPT:
            yield PROMPT, f"{prompt:016x}"


def _let_go(row: SidecarRow) -> None:
    """Drop what a record's signals were made of: it may be long, and its raw input points into the reading buffer."""
    row.error = row.failure_message = row.failure_class = row.response = None
    params = row.responses_create_params
    row.responses_create_params = None if params is None else CreateParams(metadata=params.metadata)
