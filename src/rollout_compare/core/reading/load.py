"""Reading a side: every row of its shards into columns, with the standing records of their failures sidecars."""

from __future__ import annotations

import contextlib
import math
import os
from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any

from rollout_compare.core.errors import CompareInputError
from rollout_compare.core.reading.ids import IdColumn, Names, id_of, text_of
from rollout_compare.core.reading.inputs import ShardFiles, find_shards
from rollout_compare.core.reading.lines import LineFile, Progress
from rollout_compare.core.reading.prompt import NO_PROMPT
from rollout_compare.core.reading.provenance import add_provenance
from rollout_compare.core.reading.row_reader import RowBlock, RowReader
from rollout_compare.core.reading.rows import CreateParams, PipedRow, Row, SidecarRow, id_values
from rollout_compare.core.reading.side import NO_INDEX, KeyCode, Shard, Side, Zeroed
from rollout_compare.core.reading.sidecar import Attempt, Record, standing_records
from rollout_compare.core.reading.signals import (
    SILENT,
    Signals,
    as_measured,
    failure_class_of,
    signals_of,
    signals_of_failure,
)
from rollout_compare.core.redaction import KEEP, Redaction
from rollout_compare.core.schema import ID_FIELDS, PROMPT, TASK_INDEX

_NAN = float("nan")
_LARGEST_INDEX = 1 << 62
_KEPT_RUN_IDS = 1000
"""Rows of more runs than this are not told from those of another run."""

StrPath = str | os.PathLike[str]


def load_side(
    paths: StrPath | Sequence[StrPath],
    *,
    key: str | None = None,
    count_as_zero: Collection[str] = (),
    names: Names | None = None,
    progress: Progress | None = None,
    redact: Redaction = KEEP,
) -> Side:
    """Read one side of a comparison.

    `paths` are files, directories and globs, read in path order as one side; each file may be packed with gzip
    or zstd and brings its `<stem>_failures.jsonl` along. `key` is a dotted field that every row must carry.
    Records of the failure classes in `count_as_zero` count as reward 0 instead of being masked. Sides that share
    `names` are compared with less memory. `redact` takes secrets out of errors and failures before these are cut to
    what is kept of them; the digest is not changed by it.

    Raises CompareInputError for an input that cannot be read; it names the file and the line.
    """
    given = [os.fspath(path) for path in ([paths] if isinstance(paths, str | os.PathLike) else paths)]
    loader = _Loader(Side(given, names if names is not None else Names(), key), count_as_zero, progress, redact)
    for files in find_shards(given):
        loader.read_shard(files)
    return loader.side


class _Loader:
    def __init__(
        self, side: Side, count_as_zero: Collection[str], progress: Progress | None, redact: Redaction
    ) -> None:
        self.side = side
        self._redact = redact
        side.count_as_zero = frozenset(count_as_zero)
        self._progress = progress
        self._codes: dict[Signals, int] = {SILENT: 0}
        built_in = (*ID_FIELDS, TASK_INDEX)
        self._extra_key = side.key if side.key not in built_in else None
        self._rows = RowReader(Row, self._extra_key)
        self._piped_rows = RowReader(PipedRow, self._extra_key)
        self._records = RowReader(SidecarRow, self._extra_key)
        self._run_ids: set[str] = set()

    def read_shard(self, files: ShardFiles) -> None:
        """Read one shard with its failures sidecar."""
        side = self.side
        start = len(side)
        self._run_ids = set()
        with LineFile(files.rollouts, self._progress) as file:
            is_pipe = file.origin.is_pipe
            for block in (self._piped_rows if is_pipe else self._rows).read(file):
                if is_pipe:
                    self._keep_logs_dirs(block.rows)
                with _told_of_depth(block, file.path):
                    self._add_rows(block, file.path)
            origin = file.origin
            side.bytes += file.bytes_read
        shard = Shard(files, origin, None, start, len(side), len(side))
        side.shards.append(shard)
        if files.sidecar is not None:
            self._read_sidecar(files.sidecar, shard)

    def _add_rows(self, block: RowBlock, path: str) -> None:
        side, rows = self.side, block.rows
        if not rows:
            return
        first = len(side)
        rewards = [_NAN if row.reward is None else row.reward for row in rows]
        side.rewards.extend(rewards)
        codes = [0] * len(rows)
        for at, row in enumerate(rows):
            response = row.response
            if (
                row.mask_sample
                or row.error
                or row.reward is None
                or row.failure_kind
                or (response is not None and response.metadata)
            ):
                codes[at] = self._code(signals_of(row, self._redact))
        if not all(map(math.isfinite, rewards)):
            for at, reward in enumerate(rewards):
                if not math.isfinite(reward):
                    side.rewards[first + at] = _NAN
                    codes[at] = self._code(signals_of(rows[at], self._redact))
        side.signals.extend(codes)
        self._add_places(block.offsets, block.lengths)
        self._add_identities(rows, block.keys)
        requests = [row.responses_create_params for row in rows]
        side.prompts.extend(side.names.prompts.of_all([asked and asked.input for asked in requests]))
        add_provenance(side, rows, self._redact)
        if len(self._run_ids) < _KEPT_RUN_IDS:
            self._run_ids.update({str(row.run_id) for row in rows if row.run_id is not None})
        if side.key is not None:
            self._require_key(side.key, first, block, path)

    def _keep_logs_dirs(self, rows: Sequence[Any]) -> None:
        for row, piped in enumerate(rows, start=len(self.side)):
            if isinstance(piped.verifier_logs_dir, str):
                self.side.logs_dirs[row] = piped.verifier_logs_dir

    def _add_places(self, offsets: list[int], lengths: list[int]) -> None:
        self.side.offsets.extend(offsets)
        self.side.lengths.extend(lengths)

    def _add_identities(self, rows: Sequence[Row], keys: list[Any]) -> None:
        side = self.side
        before = len(side.rewards) - len(rows)
        carried = dict(id_values(rows))
        if self._extra_key is not None and not (self._extra_key == PROMPT and self._prompt_is_fingerprint(keys)):
            carried[self._extra_key] = keys
        for name, values in carried.items():
            column = side.columns.setdefault(name, IdColumn())
            column.pad(before)
            column.extend(values, side.names)
        for column in side.columns.values():
            column.pad(len(side.rewards))
        side.task_index.extend(self._indices([row.task_index for row in rows]))
        side.rollout_index.extend(self._indices([row.rollout_index for row in rows]))

    def _prompt_is_fingerprint(self, values: list[Any]) -> bool:
        """Whether the key `prompt` is the fingerprint, as it is unless the first row has a field of that name."""
        if len(self.side.rewards) == len(values):
            return values[0] is None
        return PROMPT not in self.side.columns

    def _indices(self, values: list[Any]) -> array[int]:
        if set(map(type, values)) == {int} and min(values) >= 0 and max(values) < _LARGEST_INDEX:
            return array("q", values)
        return array("q", map(self._index, values))

    def _index(self, value: Any) -> int:
        if value is None:
            return NO_INDEX
        if isinstance(value, float) and value.is_integer() and abs(value) < _LARGEST_INDEX:
            value = int(value)
        if type(value) is int and 0 <= value < _LARGEST_INDEX:
            return value
        _, name = id_of(value)
        return -2 - self.side.names[name]

    def _code(self, signals: Signals) -> int:
        code = self._codes.setdefault(signals, len(self._codes))
        if code == len(self.side.signal_table):
            self.side.signal_table.append(signals)
        return code

    def _require_key(self, key: str, first: int, block: RowBlock, path: str) -> None:
        if key == TASK_INDEX:
            lacking = [at for at, index in enumerate(self.side.task_index[first:]) if index == NO_INDEX]
        elif key == PROMPT and PROMPT not in self.side.columns:
            lacking = [at for at, prompt in enumerate(self.side.prompts[first:]) if prompt == NO_PROMPT]
        else:
            column = self.side.columns.get(key)
            ids = column.ids[first:] if column is not None else [0] * len(block.rows)
            lacking = [at for at, code in enumerate(ids) if not code]
        if lacking:
            at = lacking[0]
            what = f"the row has no key field `{key}`"
            if key == PROMPT and PROMPT not in self.side.columns:
                what = "the row has no field `prompt`, nor a prompt in `responses_create_params.input`"
            raise CompareInputError(path, what, line=block.numbers[at], task=_some_name(block.rows[at]))

    def _read_sidecar(self, path: str, shard: Shard) -> None:
        side = self.side
        records: list[Record] = []
        with LineFile(path, self._progress) as file:
            shard.sidecar_origin = file.origin
            for block in self._records.read(file):
                with _told_of_depth(block, path):
                    records += map(self._record, block.rows, block.keys or repeat(None), block.offsets, block.lengths)
        if self._run_ids and len(self._run_ids) < _KEPT_RUN_IDS:
            run_ids = [record.run_id for record in records if record.run_id is not None]
            shard.tally.of_another_run = sum(run_id not in self._run_ids for run_id in run_ids)
        wanted = {record.attempt for record in records if record.attempt is not None}
        standing = standing_records(records, self._scored(shard, wanted), shard.tally)
        self._add_records(standing)
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

    def _indices_in_doubt(self, shard: Shard) -> set[int]:
        """The task indices of sidecar records that may lack the side's key, whichever that will be."""
        side = self.side
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

    def _attempt(self, row: Row) -> Attempt | None:
        if row.task_index is None or row.rollout_index is None:
            return None
        return self._index(row.task_index), self._index(row.rollout_index)

    def _scored(self, shard: Shard, wanted: set[Attempt]) -> set[Attempt]:
        if not wanted:
            return set()
        own = slice(shard.start, shard.main_stop)
        pairs = zip(self.side.task_index[own], self.side.rollout_index[own], strict=True)
        return wanted.intersection(pairs)

    def _add_records(self, standing: list[Record]) -> None:
        side = self.side
        if not standing:
            return
        rows = [record.row for record in standing]
        for record in standing:
            reward = _NAN if record.row.reward is None or not math.isfinite(record.row.reward) else record.row.reward
            said = record.said
            if record.failure_class in side.count_as_zero:
                side.zeroed[len(side.rewards)] = Zeroed(reward, said, record.failure_class)
                reward, said = 0.0, as_measured(said, record.failure_class, record.row, self._redact)
            side.rewards.append(reward)
            side.signals.append(self._code(said))
        self._add_places([record.offset for record in standing], [record.length for record in standing])
        self._add_identities(rows, [record.key for record in standing])
        side.prompts.extend(record.prompt for record in standing)
        add_provenance(side, rows, self._redact)

    def _materialized(self, path: str, indices: set[int]) -> dict[int, dict[str, set[KeyCode]]]:
        """What each field says of the tasks with these indices, read from a materialized inputs file."""
        names = self.side.names
        said: dict[int, dict[str, set[KeyCode]]] = {}
        with LineFile(path, self._progress) as file:
            for block in self._rows.read(file):
                wanted = [(at, self._index(row.task_index)) for at, row in enumerate(block.rows)]
                for at, index in wanted:
                    if index in indices:
                        fields = said.setdefault(index, {})
                        for name, value in self._naming_values(block, at):
                            taskset, task_id = id_of(value)
                            fields.setdefault(name, set()).add((names[taskset], names[task_id]))
        return said

    def _prompt_of(self, row: Row) -> int:
        params = row.responses_create_params
        return NO_PROMPT if params is None or not params.input else self.side.names.prompts.of(params.input)

    def _naming_values(self, block: RowBlock, at: int) -> Iterable[tuple[str, Any]]:
        row = block.rows[at]
        for name, values in id_values([row]):
            yield name, values[0]
        if self._extra_key is not None and block.keys[at] is not None:
            yield self._extra_key, block.keys[at]
        prompt = self._prompt_of(row)
        if prompt != NO_PROMPT:
            yield PROMPT, f"{prompt:016x}"


@contextlib.contextmanager
def _told_of_depth(block: RowBlock, path: str) -> Iterator[None]:
    """Turns ids nested too deeply to have a text into unreadable input, with the line where that is certain."""
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


def _let_go(row: SidecarRow) -> None:
    """Drop what a record's signals were made of: it may be long, and its raw input points into the reading buffer."""
    row.error = row.failure_message = row.failure_class = row.response = None
    params = row.responses_create_params
    row.responses_create_params = None if params is None else CreateParams(metadata=params.metadata)


def _some_name(row: Row) -> str | None:
    """The best name for the task of a row that lacks the key asked for."""
    for _, values in id_values([row]):
        _, task_id = id_of(values[0])
        return None if task_id is None else text_of(task_id)
    return None
