"""One side of a comparison: its rows as compact columns, a few dozen bytes each."""

from __future__ import annotations

import os
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import Any, NamedTuple

from rollout_compare.core.reading.choice import Choice
from rollout_compare.core.reading.components import Components
from rollout_compare.core.reading.ids import ABSENT, IdColumn, Names, id_of
from rollout_compare.core.reading.inputs import ShardFiles
from rollout_compare.core.reading.lines import InputFile, line_number
from rollout_compare.core.reading.provenance import NameColumn, Provenance
from rollout_compare.core.reading.rollout_id import rollout_ids_of
from rollout_compare.core.reading.row_reader import RowBlock
from rollout_compare.core.reading.rows import Row, id_values
from rollout_compare.core.reading.signals import Signals, SignalTable
from rollout_compare.core.reading.source import ROLLOUTS, RowSource
from rollout_compare.core.reading.stray import StrayParams
from rollout_compare.core.redaction import KEEP, Redaction
from rollout_compare.core.schema import ID_FIELDS, PROMPT, TASK_INDEX, TASK_KEY_CANDIDATES
from rollout_compare.core.sentences import Sentence

NO_INDEX = -1
_LARGEST_INDEX = 1 << 62
KeyCode = tuple[int, int]
"""(taskset, id) as codes of the side's names; a taskset of 0 is none."""


class Gap(NamedTuple):
    """A field that most rows carry, and the first row that does not."""

    field: str
    rows: int
    lacking: int
    path: str
    row: int
    """Its number in the rollouts file at that path, from 0 on."""
    line: int | None
    """The number of its line; None when that can no longer be counted."""


@dataclass(slots=True)
class Tally:
    """What became of the records of failed attempts: of a shard's failures sidecar, or among its rows."""

    records: int = 0
    standing: int = 0
    superseded: int = 0
    """Records of a rollout that a later record or a row of the main file speaks for."""
    set_aside: int = 0
    """Records that tell of no failure: evidence without a rollout, omitted and never started ones."""
    scored: int = 0
    """Those of the superseded whose rollout has a row in the main file."""
    of_another_run: int = 0
    """Records whose `_ng_run_id` no row has."""


@dataclass(slots=True)
class Shard:
    """One rollouts file of a side.

    Rows `start` to `main_stop` are its own. Up to `stop` follow the records of failed attempts that stand: first those
    that it holds itself, from `sidecar_start` on those of its sidecar, from `lost_start` on planned attempts that left
    nothing, if these count.
    """

    files: ShardFiles
    file: InputFile
    start: int
    main_stop: int
    sidecar_start: int
    lost_start: int
    stop: int
    sidecar_file: InputFile | None = None
    planned_file: InputFile | None = None
    indexed: dict[int, dict[str, set[KeyCode]]] = field(default_factory=dict)
    """What the materialized inputs say of the task indices that sidecar records carry."""
    tally: Tally = field(default_factory=Tally)
    """Of the sidecar."""
    own_tally: Tally = field(default_factory=Tally)
    """Of the records among its rows."""
    planned: int | None = None
    """How many attempts were planned; None when nothing tells."""
    left_out: int = 0
    """How many rows and records there were that were not asked for."""
    source: RowSource | None = None
    """Where its rows came from when they were not lines of the file."""

    @property
    def folder(self) -> str:
        """The folder that relative paths of its logs are looked for in first."""
        return self.source.folder if self.source is not None else os.path.dirname(self.files.rollouts) or os.curdir

    def all_files(self) -> list[str]:
        """Every file that was read."""
        return self.files.all() if self.source is None else list(self.source.files)

    def file_of(self, row: int) -> InputFile:
        """The file that a row of the shard is in."""
        if row >= self.lost_start and self.planned_file is not None:
            return self.planned_file
        return self.sidecar_file if row >= self.sidecar_start and self.sidecar_file is not None else self.file

    def tells_of_failures(self) -> int:
        """How many attempts it knows besides its rows: records that stand or were set aside."""
        return sum(tally.standing + tally.set_aside for tally in (self.tally, self.own_tally))


class Zeroed(NamedTuple):
    """A sidecar record that counts as reward 0 because that was asked for: what it says by itself."""

    reward: float
    said: Signals
    failure_class: str


@dataclass(slots=True)
class Side:
    """All rows of one side in reading order, one entry per row in each column.

    Rows of a shard come before the standing records of its failures sidecar, shard after shard.
    """

    paths: list[str]
    names: Names
    key: str | None = None
    """The explicit key the side was loaded with."""
    choice: Choice = field(default_factory=Choice)
    """Which rows were asked for, and which reward."""
    bytes: int = 0
    """Size of the rollouts files, as they lie on disk."""
    shards: list[Shard] = field(default_factory=list)
    rewards: array[float] = field(default_factory=lambda: array("d"))
    """NaN where a row has no finite reward."""
    signals: array[int] = field(default_factory=lambda: array("I"))
    """What each row says, as a code of `signal_table`."""
    signal_table: SignalTable = field(default_factory=SignalTable)
    offsets: array[int] = field(default_factory=lambda: array("Q"))
    lengths: array[int] = field(default_factory=lambda: array("I"))
    task_index: array[int] = field(default_factory=lambda: array("q"))
    """`_ng_task_index`: an integer as it is, NO_INDEX when absent, any other value as -2 - its name's code."""
    rollout_index: array[int] = field(default_factory=lambda: array("q"))
    prompts: array[int] = field(default_factory=lambda: array("Q"))
    columns: dict[str, IdColumn] = field(default_factory=dict)
    """The id fields that at least one row carries."""
    attempts: array[int] | None = None
    """`_ng_attempt_index`, kept like `task_index`; None when no row has one."""
    rollout_ids: array[int] | None = None
    """A hash of the id that each row gives its rollout, see `rollout_ids_of`; None when no row has one."""
    provenance: Provenance = field(default_factory=Provenance)
    components: Components = field(default_factory=Components)
    logs_dirs: dict[int, str] = field(default_factory=dict)
    """`verifier_logs_dir` of the rows that came through a pipe."""
    count_as_zero: frozenset[str] = frozenset()
    """The failure classes that were asked to count as reward 0."""
    zeroed: dict[int, Zeroed] = field(default_factory=dict)
    """The sidecar records that do."""

    def __len__(self) -> int:
        return len(self.rewards)

    def append(
        self,
        block: RowBlock,
        rewards: Iterable[float],
        said: Iterable[int],
        prompts: Iterable[int],
        redact: Redaction = KEEP,
    ) -> None:
        """Add rows, or standing records, at the end.

        Of each: its reward (NaN for none), the code of what it says, the fingerprint of its prompt.
        """
        before = len(self)
        self.rewards.extend(rewards)
        self.signals.extend(said)
        self.prompts.extend(prompts)
        self.offsets.extend(block.offsets)
        self.lengths.extend(block.lengths)
        self.task_index.extend(self._indices([row.task_index for row in block.rows]))
        self.rollout_index.extend(self._indices([row.rollout_index for row in block.rows]))
        self._append_attempts(block.rows, before)
        self._append_ids(block.rows, block.keys, before)
        self.provenance.append(block.rows, before, self.names, redact)
        self.components.append(block.rows, before, redact)

    def _append_attempts(self, rows: Sequence[Row], before: int) -> None:
        attempts = [row.attempt_index for row in rows]
        if self.attempts is not None or attempts.count(None) != len(attempts):
            if self.attempts is None:
                self.attempts = array("q", [NO_INDEX]) * before
            self.attempts.extend(self._indices(attempts))
        ids = rollout_ids_of(rows)
        if self.rollout_ids is not None or any(ids):
            if self.rollout_ids is None:
                self.rollout_ids = array("Q", bytes(8 * before))
            self.rollout_ids.extend(ids)

    def keep_only(self, start: int, kept: Sequence[bool]) -> None:
        """Drop some of the rows from `start` on, of which each has its place in `kept`."""
        numbered = [*self._columns(), *(column for ids in self.columns.values() for column in ids.arrays())]
        numbered += self.components.columns.values()
        for column in numbered:
            column[start:] = array(column.typecode, compress(column[start:], kept))
        self.provenance.keep_only(start, kept)
        rows = list(compress(range(start, start + len(kept)), kept))
        moved = {row: start + place for place, row in enumerate(rows)}
        self.logs_dirs = {
            moved.get(row, row): path for row, path in self.logs_dirs.items() if row < start or row in moved
        }

    def _columns(self) -> list[array[Any]]:
        """The columns that every side has, and those that this one has besides."""
        columns: list[array[Any]] = [self.rewards, self.signals, self.offsets, self.lengths]
        columns += [self.task_index, self.rollout_index, self.prompts]
        optional = [column for column in (self.attempts, self.rollout_ids) if column is not None]
        return [*columns, *optional]

    def prompts_of(self, rows: Sequence[Row]) -> list[int]:
        """The fingerprint of each row's prompt."""
        asked = [row.responses_create_params for row in rows]
        if StrayParams not in set(map(type, asked)):
            return self.names.prompts.of_all([None if params is None else params.input for params in asked])
        usual = [None if params is None or type(params) is StrayParams else params.input for params in asked]
        prompts = self.names.prompts.of_all(usual)
        for place, params in enumerate(asked):
            if type(params) is StrayParams:
                prompts[place] = self.names.prompts.of_beginning(params.input)
        return prompts

    def _append_ids(self, rows: Sequence[Row], keys: list[Any], before: int) -> None:
        carried = dict(id_values(rows))
        if self.extra_key is not None and not (self.extra_key == PROMPT and self._is_fingerprint(keys, before)):
            carried[self.extra_key] = keys
        for name, values in carried.items():
            column = self.columns.setdefault(name, IdColumn())
            column.pad(before)
            column.extend(values, self.names)
        for column in self.columns.values():
            column.pad(len(self))

    def _is_fingerprint(self, keys: list[Any], before: int) -> bool:
        """Whether the key `prompt` is the fingerprint, as it is unless the first row has a field of that name."""
        return PROMPT not in self.columns if before else keys[0] is None

    @property
    def extra_key(self) -> str | None:
        """The explicit key, when it is not a field that is read anyway."""
        return self.key if self.key not in (*ID_FIELDS, TASK_INDEX) else None

    def _indices(self, values: list[Any]) -> array[int]:
        if set(map(type, values)) == {int} and min(values) >= 0 and max(values) < _LARGEST_INDEX:
            return array("q", values)
        return array("q", map(self.index_of, values))

    def index_of(self, value: Any) -> int:
        """An index as it is kept: see `task_index`."""
        if value is None:
            return NO_INDEX
        if isinstance(value, float) and value.is_integer() and abs(value) < _LARGEST_INDEX:
            value = int(value)
        if type(value) is int and 0 <= value < _LARGEST_INDEX:
            return value
        _, name = id_of(value)
        return -2 - self.names[name]

    @property
    def masked_rows(self) -> int:
        """How many rows do not count."""
        masked = self.signal_table.masked_codes()
        return sum(map(masked.__contains__, self.signals)) if masked else 0

    def without_zeroed(self, rows: Collection[int]) -> Side:
        """The same side with these records masked, as they are by themselves."""
        side = replace(
            self,
            rewards=array("d", self.rewards),
            signals=array("I", self.signals),
            signal_table=self.signal_table.copy(),
            zeroed={row: record for row, record in self.zeroed.items() if row not in rows},
        )
        for row in rows:
            side.rewards[row] = self.zeroed[row].reward
            side.signals[row] = side.signal_table.code_of(self.zeroed[row].said)
        return side

    def signals_of(self, row: int) -> Signals:
        """The signals of a row."""
        return self.signal_table[self.signals[row]]

    @property
    def format(self) -> str:
        """The format that the rows were read from; several, when shards differ, one after another."""
        found = {ROLLOUTS if shard.source is None else shard.source.format for shard in self.shards}
        return ", ".join(sorted(found)) or ROLLOUTS

    @property
    def notes(self) -> list[Sentence]:
        """Choices that were made for the user as the rows were read."""
        return [note for shard in self.shards if shard.source is not None for note in shard.source.notes]

    def main_ranges(self) -> list[range]:
        """The row numbers of the rollouts files, one range a shard."""
        return [range(shard.start, shard.main_stop) for shard in self.shards]

    def named(self, column: NameColumn) -> Counter[str]:
        """How many rows have each name of a column of the provenance."""
        seen = column.seen(len(self)) if len(self) else Counter()
        texts = list(self.names) if seen else []
        return Counter({str(texts[code]): number for code, number in seen.items()})

    def sidecar_rows(self) -> list[int]:
        """The row numbers of standing sidecar records."""
        return [row for shard in self.shards for row in range(shard.main_stop, shard.stop)]

    def is_record(self, row: int) -> bool:
        """Whether a row is the record of a failed attempt."""
        return row >= self.shard_of(row).main_stop

    def shard_number(self, row: int) -> int:
        """The position, among the shards, of the one that a row came from."""
        return bisect_right(self.shards, row, key=lambda shard: shard.stop)

    def shard_of(self, row: int) -> Shard:
        """The shard a row came from."""
        return self.shards[self.shard_number(row)]

    def gaps(self, names: Sequence[str]) -> list[Gap]:
        """The id fields, of these, that most rows of the rollouts files carry, but not all."""
        rows, gaps = sum(map(len, self.main_ranges())), []
        for name in names:
            ids = self.columns[name].ids if name in self.columns else array("I", bytes(4 * len(self)))
            lacking = [row for own in self.main_ranges() for row in own if ids[row] == ABSENT]
            if lacking and 2 * len(lacking) < rows:
                shard = self.shard_of(lacking[0])
                line = line_number(shard.file, self.offsets[lacking[0]])
                path = shard.files.rollouts
                gaps.append(Gap(name, rows, len(lacking), path, lacking[0] - shard.start, line))
        return gaps

    def key_column(self, key: str) -> IdColumn:
        """The codes of a key over all rows; a fresh, absent column when no row carries it."""
        if key == TASK_INDEX:
            return IdColumn(array("I", map(self._index_name, self.task_index)))
        if key == PROMPT and PROMPT not in self.columns:
            return IdColumn(array("I", map(self._prompt_name, self.prompts)))
        if key in self.columns:
            return self.columns[key]
        absent = IdColumn()
        absent.pad(len(self))
        return absent

    def rows_carry(self, key: str) -> bool:
        """Whether every row of the rollouts files carries a key."""
        ids = self.key_column(key).ids
        return not any(ABSENT in ids[rows.start : rows.stop] for rows in self.main_ranges())

    def voting_records(self) -> list[int]:
        """The failures sidecar records that have a vote in which key the side has: those with some candidate."""
        columns = [self.columns[name] for name in TASK_KEY_CANDIDATES if name in self.columns]
        return [row for row in self.sidecar_rows() if any(column.ids[row] != ABSENT for column in columns)]

    def has_voters(self) -> bool:
        """Whether any row or record has a vote."""
        return any(self.main_ranges()) or bool(self.voting_records())

    def voters_carry(self, key: str) -> bool:
        """Whether every voting row carries a key; where there is no row, whether each record with some id does."""
        if any(self.main_ranges()):
            return self.rows_carry(key)
        ids = self.key_column(key).ids
        voters = [row for row in range(len(self)) if any(column.ids[row] for column in self.columns.values())]
        return all(ids[row] for row in voters)

    def _index_name(self, index: int) -> int:
        if index == NO_INDEX:
            return ABSENT
        return self.names[str(index)] if index >= 0 else -2 - index

    def _prompt_name(self, prompt: int) -> int:
        return self.names[f"{prompt:016x}"] if prompt else ABSENT

    def renamed(self, names: Names) -> Side:
        """The same side with its ids in the names of another one."""
        if names is self.names:
            return self
        table = array("I", [names[value] for value in self.names])

        def index(code: int) -> int:
            return code if code >= NO_INDEX else -2 - table[-2 - code]

        def indexed(said: dict[str, set[KeyCode]]) -> dict[str, set[KeyCode]]:
            return {
                name: {(table[taskset], table[task_id]) for taskset, task_id in pairs} for name, pairs in said.items()
            }

        return replace(
            self,
            names=names,
            task_index=array("q", map(index, self.task_index)),
            rollout_index=array("q", map(index, self.rollout_index)),
            attempts=None if self.attempts is None else array("q", map(index, self.attempts)),
            columns={name: column.renamed(table) for name, column in self.columns.items()},
            provenance=self.provenance.renamed(table),
            shards=[
                replace(shard, indexed={index(code): indexed(said) for code, said in shard.indexed.items()})
                for shard in self.shards
            ],
        )
