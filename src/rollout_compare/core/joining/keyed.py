"""A side under one key: which task each of its rows belongs to."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, replace

from rollout_compare.core.reading.ids import ABSENT, Names, text_of
from rollout_compare.core.reading.side import NO_INDEX, KeyCode, Shard, Side
from rollout_compare.core.schema import SideName
from rollout_compare.core.sentences import Marked, counted, field_name, told


@dataclass(frozen=True, slots=True)
class Keyed:
    """Per row the code of its task id (ABSENT = anonymous) and of its taskset; equal texts have equal codes."""

    side: Side
    key: str
    ids: array[int]
    tasksets: array[int] | None
    mixed: tuple[str, ...]
    """Ids that the side writes both as a number and as text."""

    def taskset_codes(self) -> list[int]:
        """The distinct tasksets of the side's tasks, in order of appearance."""
        if self.tasksets is None:
            return []
        return [code for code in dict.fromkeys(self.tasksets) if code != ABSENT]

    def anonymous_rows(self) -> list[int]:
        """The rows that name no task: failures sidecar records that neither key nor index places."""
        return [row for row in self.side.sidecar_rows() if self.ids[row] == ABSENT]

    def without_unplaced_zeros(self) -> Keyed:
        """The same, but anonymous records that were asked to count as reward 0 are masked."""
        unplaced = [row for row in self.anonymous_rows() if row in self.side.zeroed]
        return replace(self, side=self.side.without_zeroed(unplaced)) if unplaced else self

    def unplaced_notes(self, name: SideName) -> list[Marked]:
        """A note about failures sidecar records that name a task, but not by the side's key."""
        columns = self.side.columns.values()
        records = [row for row in self.anonymous_rows() if any(column.ids[row] for column in columns)]
        if not records:
            return []
        number = counted(len(records), "failures sidecar record")
        key = field_name(self.key)
        return [told("{}: {} without {}, the key of that side: listed as unknown", name, number, key)]


def keyed(side: Side, key: str) -> Keyed:
    """The side's rows under `key`, index-only sidecar records placed by their task index where that is certain."""
    column = side.key_column(key)
    ids = array("I", column.ids)
    tasksets = None if column.tasksets is None else array("I", column.tasksets)
    by_text = _numbers_as_text(side.names)
    mixed: tuple[str, ...] = ()
    if by_text is not None:
        texts = list(side.names)
        used = set(zip(tasksets if tasksets is not None else bytes(4 * len(ids)), ids, strict=False))
        both = [by_text[code] for taskset, code in used if by_text[code] != code and (taskset, by_text[code]) in used]
        mixed = tuple(sorted({str(texts[code]) for code in both}))
        ids = array("I", map(by_text.__getitem__, ids))
        tasksets = None if tasksets is None else array("I", map(by_text.__getitem__, tasksets))
    for shard in side.shards:
        tasksets = _place_by_index(side, shard, key, ids, tasksets, by_text)
    return Keyed(side, key, ids, tasksets, mixed)


def _numbers_as_text(names: Names) -> array[int] | None:
    """For each code the code of its value's text; None when every value is text already."""
    if not names.numbers:
        return None
    values = list(names)
    texts = [names[text_of(value)] for value in map(values.__getitem__, names.numbers) if value is not None]
    table = array("I", range(len(names)))
    for code, text in zip(names.numbers, texts, strict=True):
        table[code] = text
    return table


def _place_by_index(
    side: Side, shard: Shard, key: str, ids: array[int], tasksets: array[int] | None, by_text: array[int] | None
) -> array[int] | None:
    """Fill in the ids of records that their task index places; the tasksets, which may exist only from now on."""
    lacking = [
        row for row in range(shard.main_stop, shard.stop) if ids[row] == ABSENT and side.task_index[row] != NO_INDEX
    ]
    if not lacking:
        return tasksets
    wanted = {side.task_index[row] for row in lacking}
    said: dict[int, set[KeyCode]] = {index: set() for index in wanted}
    for row in range(shard.start, shard.stop):
        index = side.task_index[row]
        if index in wanted and ids[row] != ABSENT:
            said[index].add((tasksets[row] if tasksets is not None else ABSENT, ids[row]))
    for row in lacking:
        index = side.task_index[row]
        pairs = said[index] or _canonical(shard.indexed.get(index, {}).get(key, ()), by_text)
        if len(pairs) == 1:
            taskset, ids[row] = next(iter(pairs))
            if taskset != ABSENT:
                if tasksets is None:
                    tasksets = array("I", bytes(4 * len(side)))
                tasksets[row] = taskset
    return tasksets


def _canonical(pairs: Iterable[KeyCode], by_text: array[int] | None) -> set[KeyCode]:
    if by_text is None:
        return set(pairs)
    return {(by_text[taskset], by_text[task_id]) for taskset, task_id in pairs}
