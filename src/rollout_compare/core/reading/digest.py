"""The digest of a side: same rows, same digest."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from copy import deepcopy
from itertools import islice

from rollout_compare.core.reading.ids import text_of
from rollout_compare.core.reading.side import NO_INDEX, Side
from rollout_compare.core.schema import ID_FIELDS, TASK_INDEX

_DIGESTED = 1000
"""How many values enter the digest at once."""


def digest_of(side: Side) -> str:
    """SHA-256 over the kept fields of all rows in reading order: same rows, same digest.

    Neither how the rows are packed or split into shards changes it, nor what was asked for.
    """
    sha = hashlib.sha256()
    texts = ["" if value is None else text_of(value) for value in side.names]

    def add(name: str, values: Iterable[str]) -> None:
        sha.update(f"\n{name}\n".encode())
        values = iter(values)
        while piece := list(islice(values, _DIGESTED)):
            sha.update("".join([f"{value}\0" for value in piece]).encode("utf-8", "surrogatepass"))

    own = _without_lost(side.without_zeroed(side.zeroed))
    for name in sorted(set(own.columns) & set(ID_FIELDS)):
        column = own.columns[name]
        add(name, map(texts.__getitem__, column.ids))
        if column.tasksets is not None:
            add(f"{name} taskset", map(texts.__getitem__, column.tasksets))
    for name, indices in ((TASK_INDEX, own.task_index), ("_ng_rollout_index", own.rollout_index)):
        add(name, (str(index) if index >= NO_INDEX else texts[-2 - index] for index in indices))
    signals = ((row, own.signal_table[code]) for row, code in enumerate(own.signals) if code)
    add("signals", (f"{row} {said.said.hex()}" for row, said in signals))
    sha.update(own.rewards.tobytes())
    sha.update(own.prompts.tobytes())
    return sha.hexdigest()


def _without_lost(side: Side) -> Side:
    """The same side without planned attempts that left nothing."""
    if not any(shard.lost_start < shard.stop for shard in side.shards):
        return side
    lost = {row for shard in side.shards for row in range(shard.lost_start, shard.stop)}
    other = deepcopy(side)
    other.keep_only(0, [row not in lost for row in range(len(side))])
    return other
