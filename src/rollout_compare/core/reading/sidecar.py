"""The attempts of a shard that failed, or that left nothing: read, and added to the side after the shard's rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any

from rollout_compare.core.reading.choice import Choice, Fit
from rollout_compare.core.reading.ids import ABSENT, id_of
from rollout_compare.core.reading.lines import LineFile, Progress
from rollout_compare.core.reading.plan import expected_in, lines_of
from rollout_compare.core.reading.prompt import NO_PROMPT
from rollout_compare.core.reading.records import Attempt, Record, standing_records
from rollout_compare.core.reading.row_reader import RowBlock, RowReader, checked_for_depth
from rollout_compare.core.reading.rows import CreateParams, FailureRow, Row, id_values
from rollout_compare.core.reading.side import NO_INDEX, KeyCode, Shard, Side, Zeroed
from rollout_compare.core.reading.signals import LOST, as_measured, failure_class_of, signals_of_failure
from rollout_compare.core.redaction import Redaction
from rollout_compare.core.schema import LOST_CLASS, PROMPT, TASK_INDEX

_NAN = float("nan")

_Mark = tuple[str, int]
"""A field and a code of its value, by which rows of one task know each other."""


class SidecarReader:
    """Reads what there is beside the rows of one side."""

    def __init__(self, side: Side, choice: Choice, progress: Progress | None, redact: Redaction) -> None:
        self._side = side
        self._choice = choice
        self._progress = progress
        self._redact = redact
        self._records = RowReader(FailureRow, side.extra_key, choice)
        self._inputs = RowReader(Row, side.extra_key)

    def read(self, shard: Shard, own: list[Record], fits: Sequence[Fit], run_ids: set[str]) -> None:
        """Drop the rows of a shard that were not asked for, and add its standing records right after the others.

        `own` are the records that stood among the rows; `fits` says which rows were asked for, and is empty when all
        were; `run_ids` are those that the rows name, empty when it is not known which these are.
        """
        side, files = self._side, shard.files
        records = [*own]
        if files.sidecar is not None:
            records += self._sidecar_records(files.sidecar, shard, run_ids)
        if self._choice.conditions:
            records = self._only_asked_for(records, fits, shard)
        attempts = {record.attempt for record in records if record.attempt is not None}
        standing = standing_records(records, self._scored(shard, attempts), (shard.tally, shard.own_tally))
        self._append([record for record in standing if record.is_own])
        shard.sidecar_start = len(side)
        self._append([record for record in standing if not record.is_own])
        shard.lost_start = len(side)
        if not self._choice.conditions:
            self._read_plan(shard, attempts)
        shard.stop = len(side)
        indices = self._indices_in_doubt(shard)
        if indices and files.materialized is not None:
            shard.indexed = self._materialized(files.materialized, indices)

    def records_of(self, block: RowBlock, *, is_own: bool) -> list[Record]:
        """The records in a block of rows that are all some."""
        keys, fits = block.keys or repeat(None), block.fits or repeat(Fit.FITS)
        places = zip(block.offsets, block.lengths, strict=True)
        return [
            self._record(row, key, fit, place, is_own=is_own)
            for row, key, fit, place in zip(block.rows, keys, fits, places, strict=False)
        ]

    def _sidecar_records(self, path: str, shard: Shard, run_ids: set[str]) -> list[Record]:
        records: list[Record] = []
        with LineFile(path, self._progress) as file:
            shard.sidecar_file = file.input
            for block in self._records.read(file):
                with checked_for_depth(block, path):
                    records += self.records_of(block, is_own=False)
        if run_ids:
            named = [record.run_id for record in records if record.run_id is not None]
            shard.tally.of_another_run = sum(run_id not in run_ids for run_id in named)
        return records

    def _record(self, row: FailureRow, key: object, fit: Fit, place: tuple[int, int], *, is_own: bool) -> Record:
        # Whatever names a task is tried here, while the line is known.
        for _, (value,) in id_values([row]):
            id_of(value)
        id_of(key)
        (prompt,) = self._side.prompts_of([row])
        record = Record(
            row,
            key,
            self._attempt(row),
            self._side.index_of(row.attempt_index),
            prompt,
            *place,
            failure_class_of(row),
            signals_of_failure(row, self._redact),
            None if row.run_id is None else str(row.run_id),
            is_own,
            fit,
        )
        _let_go(row)
        return record

    def _attempt(self, row: Row) -> Attempt | None:
        if row.task_index is None or row.rollout_index is None:
            return None
        return self._side.index_of(row.task_index), self._side.index_of(row.rollout_index)

    def _only_asked_for(self, records: list[Record], fits: Sequence[Fit], shard: Shard) -> list[Record]:
        """Drop the rows that were not asked for; the records that were.

        A record that lacks a field goes with its task: it is left out with the last of the task's rows.
        """
        side, kept = self._side, [fit is Fit.FITS for fit in fits]
        of_kept, of_left_out = set[_Mark](), set[_Mark]()
        for row, is_kept in enumerate(kept, start=shard.start):
            (of_kept if is_kept else of_left_out).update(self._marks_of_row(row))
        side.keep_only(shard.start, kept)
        shard.main_stop = len(side)
        asked = []
        for record in records:
            marks = set(self._marks_of(record.row)) if record.fit is Fit.LACKS else set()
            goes = record.fit is Fit.SAYS_OTHERWISE or (marks & of_left_out and not marks & of_kept)
            asked += [] if goes else [record]
        shard.left_out = kept.count(False) + len(records) - len(asked)
        return asked

    def _marks_of_row(self, row: int) -> Iterator[_Mark]:
        side = self._side
        if side.task_index[row] != NO_INDEX:
            yield TASK_INDEX, side.task_index[row]
        yield from ((name, column.ids[row]) for name, column in side.columns.items() if column.ids[row] != ABSENT)

    def _marks_of(self, row: Row) -> Iterator[_Mark]:
        if row.task_index is not None:
            yield TASK_INDEX, self._side.index_of(row.task_index)
        for name, (value,) in id_values([row]):
            yield name, self._side.names[id_of(value)[1]]

    def _scored(self, shard: Shard, wanted: set[Attempt]) -> dict[Attempt, int]:
        """The wanted attempts that rows of the shard tell of, with the highest `_ng_attempt_index` of these rows."""
        side, scored = self._side, dict[Attempt, int]()
        if not wanted:
            return scored
        for row in range(shard.start, shard.main_stop):
            attempt = side.task_index[row], side.rollout_index[row]
            if attempt in wanted:
                number = NO_INDEX if side.attempts is None else side.attempts[row]
                earlier = scored.setdefault(attempt, number)
                # Where one of the rows has no number, it is not known which is the newest.
                scored[attempt] = NO_INDEX if NO_INDEX in (earlier, number) else max(earlier, number)
        return scored

    def _append(self, standing: list[Record]) -> None:
        side = self._side
        if not standing:
            return
        rewards, codes = [], []
        for row, record in enumerate(standing, start=len(side)):
            reward = _NAN if record.row.reward is None or not math.isfinite(record.row.reward) else record.row.reward
            said = record.said
            if record.failure_class in side.count_as_zero or record.row.counts_as_zero is True:
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

    def _read_plan(self, shard: Shard, attempts: set[Attempt]) -> None:
        """Find out how many attempts were planned; if those that left nothing count as reward 0, add them."""
        files = shard.files
        if LOST_CLASS in self._side.count_as_zero and files.materialized is not None:
            self._append_lost(files.materialized, shard, attempts)
        if files.coverage is not None:
            shard.planned = expected_in(files.coverage)
        if shard.planned is None and files.materialized is not None:
            shard.planned = lines_of(files.materialized, self._progress)

    def _append_lost(self, path: str, shard: Shard, attempts: set[Attempt]) -> None:
        """Add planned attempts that neither a row nor a record tells of, as rows with reward 0."""
        side = self._side
        known = attempts | set(
            zip(side.task_index[shard.start : shard.stop], side.rollout_index[shard.start : shard.stop], strict=True)
        )
        with LineFile(path, self._progress) as file:
            shard.planned_file = file.input
            for block in self._inputs.read(file):
                lost = [
                    place
                    for place, row in enumerate(block.rows)
                    if (attempt := self._attempt(row)) is not None and attempt not in known
                ]
                rows = block.at(lost)
                if lost:
                    codes = [side.signal_table.code_of(LOST)] * len(lost)
                    side.append(rows, [0.0] * len(lost), codes, side.prompts_of(rows.rows), self._redact)

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

    def _naming_values(self, row: Row, key: Any) -> Iterable[tuple[str, Any]]:
        """What may name the task of a row, by field."""
        for name, values in id_values([row]):
            yield name, values[0]
        if key is not None and self._side.extra_key is not None:
            yield self._side.extra_key, key
        (prompt,) = self._side.prompts_of([row])
        if prompt != NO_PROMPT:
            yield PROMPT, f"{prompt:016x}"


def _let_go(row: FailureRow) -> None:
    """Drop what a record's signals were made of: it may be long, and its raw input points into the reading buffer."""
    row.error = row.failure_reason = row.failure_message = row.failure_class = row.response = None
    row.reward_components = row.verifier_rewards = None
    params = row.responses_create_params
    row.responses_create_params = None if params is None else CreateParams(metadata=params.metadata)
