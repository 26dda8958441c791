"""One side of a comparison: its rows as compact columns, a few dozen bytes each."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import NamedTuple

from rollout_compare.core.reading.ids import ABSENT, IdColumn, Names, text_of
from rollout_compare.core.reading.inputs import ShardFiles
from rollout_compare.core.reading.lines import InputFile
from rollout_compare.core.reading.sidecar import SidecarTally
from rollout_compare.core.reading.signals import SILENT, Signals
from rollout_compare.core.schema import ID_FIELDS, PROMPT, TASK_INDEX

NO_INDEX = -1
_DIGESTED = 1000
"""How many values enter the digest at once."""
KeyCode = tuple[int, int]
"""(taskset, id) as codes of the side's names; a taskset of 0 is none."""


@dataclass(slots=True)
class Shard:
    """One rollouts file of a side: rows `start` to `main_stop` are its own, up to `stop` its sidecar's."""

    files: ShardFiles
    origin: InputFile
    sidecar_origin: InputFile | None
    start: int
    main_stop: int
    stop: int
    indexed: dict[int, dict[str, set[KeyCode]]] = field(default_factory=dict)
    """What the materialized inputs say of the task indices that sidecar records carry."""
    tally: SidecarTally = field(default_factory=SidecarTally)


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
    bytes: int = 0
    """Size of the rollouts files, as they lie on disk."""
    shards: list[Shard] = field(default_factory=list)
    rewards: array[float] = field(default_factory=lambda: array("d"))
    """NaN where a row has no finite reward."""
    signals: array[int] = field(default_factory=lambda: array("I"))
    """Index into `signal_table`."""
    signal_table: list[Signals] = field(default_factory=lambda: [SILENT])
    offsets: array[int] = field(default_factory=lambda: array("Q"))
    lengths: array[int] = field(default_factory=lambda: array("I"))
    task_index: array[int] = field(default_factory=lambda: array("q"))
    """`_ng_task_index`: an integer as it is, NO_INDEX when absent, any other value as -2 - its name's code."""
    rollout_index: array[int] = field(default_factory=lambda: array("q"))
    prompts: array[int] = field(default_factory=lambda: array("Q"))
    columns: dict[str, IdColumn] = field(default_factory=dict)
    """The id fields that at least one row carries."""
    models: Counter[str] = field(default_factory=Counter)
    """How many rows name each model (`response.model`)."""
    agents_seen: Counter[str] = field(default_factory=Counter)
    """How many rows name each agent (`agent_ref.name`)."""
    agents: array[int] | None = None
    """The code of each row's agent; None when no row names one."""
    measures: dict[str, array[float]] = field(default_factory=dict)
    """Tokens and seconds of each row, NaN where it has none; only what some row has."""
    logs_dirs: dict[int, str] = field(default_factory=dict)
    """`verifier_logs_dir` of the rows that came through a pipe."""
    count_as_zero: frozenset[str] = frozenset()
    """The failure classes that were asked to count as reward 0."""
    zeroed: dict[int, Zeroed] = field(default_factory=dict)
    """The sidecar records that do."""

    def __len__(self) -> int:
        return len(self.rewards)

    @property
    def masked_rows(self) -> int:
        """How many rows do not count."""
        masked = self.masked_codes()
        return sum(map(masked.__contains__, self.signals)) if masked else 0

    def masked_codes(self) -> set[int]:
        """The entries of `signals` that mean a masked row."""
        return {code for code, signals in enumerate(self.signal_table) if signals.masked is not None}

    def without_zeroed(self, rows: Collection[int]) -> Side:
        """The same side with these records masked, as they are by themselves."""
        rewards, signals, table = array("d", self.rewards), array("I", self.signals), list(self.signal_table)
        for row in rows:
            rewards[row] = self.zeroed[row].reward
            signals[row] = len(table)
            table.append(self.zeroed[row].said)
        zeroed = {row: record for row, record in self.zeroed.items() if row not in rows}
        return replace(self, rewards=rewards, signals=signals, signal_table=table, zeroed=zeroed)

    def signals_of(self, row: int) -> Signals:
        """The signals of a row."""
        return self.signal_table[self.signals[row]]

    def main_ranges(self) -> list[range]:
        """The row numbers of the rollouts files, one range a shard."""
        return [range(shard.start, shard.main_stop) for shard in self.shards]

    def sidecar_rows(self) -> list[int]:
        """The row numbers of standing sidecar records."""
        return [row for shard in self.shards for row in range(shard.main_stop, shard.stop)]

    def shard_number(self, row: int) -> int:
        """The position, among the shards, of the one that a row came from."""
        return bisect_right(self.shards, row, key=lambda shard: shard.stop)

    def shard_of(self, row: int) -> Shard:
        """The shard a row came from."""
        return self.shards[self.shard_number(row)]

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

    def _index_name(self, index: int) -> int:
        if index == NO_INDEX:
            return ABSENT
        return self.names[str(index)] if index >= 0 else -2 - index

    def _prompt_name(self, prompt: int) -> int:
        return self.names[f"{prompt:016x}"] if prompt else ABSENT

    def digest(self) -> str:
        """SHA-256 over the kept fields of all rows in reading order: same rows, same digest.

        Neither how the rows are packed or split into shards changes it, nor what was asked for.
        """
        import hashlib

        sha = hashlib.sha256()
        texts = ["" if value is None else text_of(value) for value in self.names]

        def add(name: str, values: Iterable[str]) -> None:
            sha.update(f"\n{name}\n".encode())
            values = iter(values)
            while piece := list(islice(values, _DIGESTED)):
                sha.update("".join([f"{value}\0" for value in piece]).encode("utf-8", "surrogatepass"))

        for name in sorted(set(self.columns) & set(ID_FIELDS)):
            column = self.columns[name]
            add(name, map(texts.__getitem__, column.ids))
            if column.tasksets is not None:
                add(f"{name} taskset", map(texts.__getitem__, column.tasksets))
        for name, indices in ((TASK_INDEX, self.task_index), ("_ng_rollout_index", self.rollout_index)):
            add(name, (str(at) if at >= NO_INDEX else texts[-2 - at] for at in indices))
        rewards, said = (
            array("d", self.rewards),
            {row: self.signals_of(row) for row, code in enumerate(self.signals) if code},
        )
        for row, zeroed in self.zeroed.items():
            rewards[row], said[row] = zeroed.reward, zeroed.said
        add("signals", (f"{row} {signals.said.hex()}" for row, signals in said.items()))
        sha.update(rewards.tobytes())
        sha.update(self.prompts.tobytes())
        return sha.hexdigest()
