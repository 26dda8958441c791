"""Matching the tasks of two sides: by id, by taskset and id, or by an id from which a common prefix is stripped."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from operator import le
from typing import Any, NamedTuple

from rollout_compare.core.joining.groups import NOBODY, Groups
from rollout_compare.core.joining.keyed import Keyed
from rollout_compare.core.joining.tasksets import Pair, Placed, place_plain_ids
from rollout_compare.core.reading.ids import ABSENT
from rollout_compare.core.schema import NAMED_TASKS, Both, MakerKind, SideName
from rollout_compare.core.sentences import Marked, listed, named, quoted, told


class Stripping(NamedTuple):
    """What stripping a common prefix from the ids of one side did, or would do."""

    prefixes: Both[str | None] = Both(None, None)
    """What was stripped."""
    would_strip: str = ""
    """A prefix that was left, as some ids are shared."""
    would_join: int = 0
    """How many tasks would join without it."""


@dataclass(frozen=True, slots=True)
class Match:
    """The tasks of both sides in label order, each with its group on either side (NOBODY = the side lacks it)."""

    labels: list[str]
    groups: Both[Groups]
    places: Both[array[int]]
    joined: int
    """How many tasks both sides have."""
    keyed_by_taskset: bool
    stripping: Stripping
    notes: tuple[Marked, ...]
    makers: list[str | None] | None = None
    """The agent or the model of each task, when the sides are matched by task and that; None for a task without one."""
    keyed_by: MakerKind | None = None
    """Which of the two."""
    unshared: int = 0
    """How many of the tasks are of an agent or a model that only one side has."""

    def rows(self, position: int, side: SideName) -> list[int]:
        """The rows of a task on a side, in reading order; none when the side lacks it."""
        group = self.places.of(side)[position]
        return [] if group == NOBODY else self.groups.of(side).rows(group)

    def shared(self) -> Iterator[int]:
        """The positions of the tasks that both sides have."""
        for position, (old, new) in enumerate(zip(*self.places, strict=True)):
            if old != NOBODY and new != NOBODY:
                yield position

    @property
    def all_single(self) -> bool:
        """Whether no task has more than one row on a side."""
        return all(groups.all_single for groups in self.groups)

    def is_single(self, position: int) -> bool:
        """Whether a task has at most one row on either side."""
        return not any(
            groups.has_several_rows(places[position]) for groups, places in zip(self.groups, self.places, strict=True)
        )

    def without(self, dropped: Both[set[int]]) -> Match:
        """The same without some rows of either side. Each task keeps a row on the sides that have it."""
        groups = Both(self.groups.old.without(dropped.old), self.groups.new.without(dropped.new))
        return replace(self, groups=groups)

    def with_several_rows(self) -> Iterator[int]:
        """The positions of the tasks that have several rows on a side."""
        if not self.all_single:
            yield from (position for position in range(len(self.labels)) if not self.is_single(position))

    def is_anonymous(self, position: int) -> bool:
        """Whether a task is a sidecar record that names no task."""
        return any(
            places[position] >= groups.anonymous_from for groups, places in zip(self.groups, self.places, strict=True)
        )


def match(sides: Both[Keyed]) -> Match:
    """Match the tasks of two sides that share their names."""
    return _Matcher(sides).result()


class _Matcher:
    def __init__(self, sides: Both[Keyed]) -> None:
        self._sides = sides
        self._names = sides.old.side.names
        self._ids = sides.map(lambda side: side.ids)
        self._tasksets = sides.map(Keyed.taskset_codes)
        self._wide = [name for name, codes in self._tasksets.named() if len(codes) > 1]
        """The sides that span several tasksets."""
        self._texts = [str(value) for value in self._names]

    def result(self) -> Match:
        stripping = self._strip_prefix()
        notes = [*self._taskset_notes()]
        if len(self._wide) == 2:
            labels, groups, places = self._match_pairs()
        elif self._wide:
            labels, groups, places = self._match_wide(self._wide[0], stripping, notes)
        else:
            labels, groups, places = self._match_ids()
        joined = len(labels) - places.old.count(NOBODY) - places.new.count(NOBODY)
        labels, places = in_order(*_with_anonymous(labels, groups, places))
        return Match(labels, groups, places, joined, len(self._wide) == 2, stripping, tuple(notes))

    def _taskset_notes(self) -> Iterator[Marked]:
        if self._wide:
            sides = told("both sides span") if len(self._wide) == 2 else told("the {} side spans", self._wide[0])
            codes = {code for side in self._wide for code in self._tasksets.of(side)}
            yield told("{} several tasksets: {}", sides, named(sorted(self._texts[code] for code in codes)))

    def _strip_prefix(self) -> Stripping:
        """Strip the one side's common prefix if that alone makes tasks join.

        If some join already but more would, nothing is stripped.
        """
        prefixes = {name: prefix for name, ids in self._ids.named() if (prefix := self._common_prefix(ids)) is not None}
        if len(prefixes) != 1:
            return Stripping()
        ((side, prefix),) = prefixes.items()
        stripped = self._stripped(self._ids.of(side), prefix)
        ids = Both(stripped, self._ids.new) if side == "old" else Both(self._ids.old, stripped)
        now, then = self._overlap(self._ids), self._overlap(ids)
        if now:
            return Stripping(would_strip=prefix, would_join=then) if then > now else Stripping()
        if not then:
            return Stripping()
        self._ids = ids
        return Stripping(Both(prefixes.get("old"), prefixes.get("new")))

    def _common_prefix(self, ids: array[int]) -> str | None:
        prefix: str | None = None
        for code in ids:
            if code == ABSENT:
                continue
            text = self._texts[code]
            if prefix is None:
                head, slash, _ = text.partition("/")
                if not head or not slash:
                    return None
                prefix = head + slash
            elif not text.startswith(prefix):
                return None
        return prefix

    def _stripped(self, ids: array[int], prefix: str) -> array[int]:
        table = {code: self._names[self._texts[code][len(prefix) :]] for code in set(ids) if code != ABSENT}
        self._texts += [str(value) for value in list(self._names)[len(self._texts) :]]
        table[ABSENT] = ABSENT
        return array("I", map(table.__getitem__, ids))

    def _overlap(self, ids: Both[array[int]]) -> int:
        """How many tasks join when the sides have these ids."""
        if len(self._wide) == 2:
            pairs = [set(self._pairs(name, own)) for name, own in ids.named()]
            return sum(task_id != ABSENT for _, task_id in pairs[0] & pairs[1])
        if self._wide:
            return len(set(self._placed(self._wide[0], ids).partners.values()))
        present = [bytearray(len(self._texts)) for _ in ids]
        for marks, codes in zip(present, ids, strict=True):
            for code in codes:
                marks[code] = 1
            marks[ABSENT] = 0
        first, second = (int.from_bytes(marks, "little") for marks in present)
        return (first & second).bit_count()

    def _pairs(self, side: SideName, ids: array[int]) -> Iterator[Pair]:
        tasksets = self._sides.of(side).tasksets
        return zip(tasksets if tasksets is not None else bytes(len(ids)), ids, strict=True)

    def _match_ids(self) -> _Tasks:
        size = len(self._texts)
        groups = Both(
            Groups(self._ids.old, size, self._sides.old.anonymous_rows()),
            Groups(self._ids.new, size, self._sides.new.anonymous_rows()),
        )
        first = groups.map(lambda side: side.first[:size])
        codes = array("q", (code for code, (old, new) in enumerate(zip(*first, strict=True)) if old or new))
        return _Tasks(
            [self._texts[code] for code in codes],
            groups,
            first.map(lambda rows: array("q", (code if rows[code] else NOBODY for code in codes))),
        )

    def _match_pairs(self) -> _Tasks:
        """Both sides span several tasksets: tasks are grouped by the pair, never by its text."""
        codes: dict[Pair, int] = {(ABSENT, ABSENT): ABSENT}
        row_groups = [_coded(self._pairs(name, ids), codes) for name, ids in self._ids.named()]
        groups = Both(*map(Groups, row_groups, [len(codes)] * 2, self._sides.map(Keyed.anonymous_rows)))
        labels = _unclashed({pair: self._label(pair) for pair in codes}, self._texts)
        present = {pair: code for pair, code in codes.items() if code != ABSENT}
        places = groups.map(
            lambda side: array("q", (code if side.first[code] else NOBODY for code in present.values()))
        )
        return _Tasks([labels[pair] for pair in present], groups, places)

    def _label(self, pair: Pair, prefix: str = "") -> str:
        taskset, task_id = pair
        text = prefix + self._texts[task_id]
        return text if taskset == ABSENT else f"{self._texts[taskset]}/{text}"

    def _match_wide(self, wide: SideName, stripping: Stripping, notes: list[Marked]) -> _Tasks:
        """One side spans several tasksets, the other has plain ids; see `place_plain_ids`."""
        plain: SideName = "new" if wide == "old" else "old"
        placed = self._placed(wide, self._ids)
        prefix = stripping.prefixes.of(wide) or ""
        wide_codes: dict[Pair, int] = {(ABSENT, ABSENT): ABSENT}
        plain_codes: dict[Pair, int] = {(ABSENT, ABSENT): ABSENT}
        wide_rows = _coded(self._pairs(wide, self._ids.of(wide)), wide_codes)
        # Rows that state a taskset and rows that do not may be of one task.
        places_of_plain = (placed.partners.get(pair, pair) for pair in self._plain_pairs(wide, self._ids))
        plain_rows = _coded(places_of_plain, plain_codes)
        partners = set(placed.partners.values())
        plain_ids = {
            task_id for pair, (_, task_id) in zip(plain_codes, plain_codes, strict=True) if pair not in partners
        }
        names: dict[Pair, str] = {}
        places: list[tuple[Pair, int, int]] = []
        for pair, code in wide_codes.items():
            if code == ABSENT:
                continue
            if pair in partners:
                names[pair] = self._texts[placed.shown[pair]]
            else:
                is_alone = len(placed.by_id[pair[1]]) == 1 and pair[1] not in plain_ids
                names[pair] = self._texts[pair[1]] if is_alone else self._label(pair, prefix)
            places.append((pair, code, plain_codes[pair] if pair in partners else NOBODY))
        # Where nothing of the wide side is, a plain id is a pair of its own: no taskset has the code that marks it.
        alone = len(self._texts)
        for pair, code in plain_codes.items():
            if code != ABSENT and pair not in partners:
                names[alone + pair[0], pair[1]] = self._label(pair)
                places.append(((alone + pair[0], pair[1]), NOBODY, code))
        labels = _unclashed(names, [*self._texts, *["", *self._texts[1:]]])
        notes += self._ambiguity_notes(placed.ambiguous, prefix)
        columns = array("q", (code for _, code, _ in places)), array("q", (code for _, _, code in places))
        groups = (
            Groups(wide_rows, len(wide_codes), self._sides.of(wide).anonymous_rows()),
            Groups(plain_rows, len(plain_codes), self._sides.of(plain).anonymous_rows()),
        )
        return _Tasks(
            [labels[pair] for pair, _, _ in places],
            Both(*groups) if wide == "old" else Both(*reversed(groups)),
            Both(*columns) if wide == "old" else Both(*reversed(columns)),
        )

    def _plain_pairs(self, wide: SideName, ids: Both[array[int]]) -> Iterator[Pair]:
        """The pairs of the side with plain ids, its tasksets only as far as the wide side has them."""
        plain: SideName = "new" if wide == "old" else "old"
        known = set(self._tasksets.of(wide))
        return (
            (taskset if taskset in known else ABSENT, task_id) for taskset, task_id in self._pairs(plain, ids.of(plain))
        )

    def _placed(self, wide: SideName, ids: Both[array[int]]) -> Placed:
        return place_plain_ids(
            dict.fromkeys(self._pairs(wide, ids.of(wide))),
            dict.fromkeys(self._plain_pairs(wide, ids)),
            self._label,
            self._texts,
        )

    def _ambiguity_notes(self, ambiguous: dict[int, list[Pair]], prefix: str) -> Iterator[Marked]:
        if ambiguous:
            several = [
                told("{} in {}", quoted(self._texts[task_id]), listed(", ", self._quoted_labels(pairs, prefix)))
                for task_id, pairs in sorted(ambiguous.items(), key=lambda item: self._texts[item[0]])
            ]
            if len(several) > NAMED_TASKS:
                several[NAMED_TASKS:] = [told("and {} more", len(several) - NAMED_TASKS)]
            yield told("ids found in several tasksets, left unmatched: {}", listed("; ", several))

    def _quoted_labels(self, pairs: list[Pair], prefix: str) -> Iterator[Marked]:
        return (quoted(self._label(pair, prefix)) for pair in pairs)


class _Tasks(NamedTuple):
    """Tasks in no order yet: their labels, the groups of the sides, and each task's group on either."""

    labels: list[str]
    groups: Both[Groups]
    places: Both[array[int]]


def _coded(pairs: Iterable[Pair], codes: dict[Pair, int]) -> array[int]:
    coded = array("I")
    for pair in pairs:
        coded.append(ABSENT if pair[1] == ABSENT else codes.setdefault(pair, len(codes)))
    return coded


def _with_anonymous(
    labels: list[str], groups: Both[Groups], places: Both[array[int]]
) -> tuple[list[str], Both[array[int]]]:
    """Labels and groups with those of the records that name no task: `unknown#1`, `unknown#2` and so on."""
    taken, number = set(labels), 0
    for name, side in groups.named():
        for group in range(side.anonymous_from, len(side.first)):
            number += 1
            while f"unknown#{number}" in taken:
                number += 1
            labels.append(f"unknown#{number}")
            for other, column in places.named():
                column.append(group if other == name else NOBODY)
    return labels, places


def in_order(labels: list[str], places: Both[array[int]]) -> tuple[list[str], Both[array[int]]]:
    """The tasks in the order of their labels."""
    if all(map(le, labels, islice(labels, 1, None))):
        return labels, places
    order = sorted(range(len(labels)), key=labels.__getitem__)
    return [labels[place] for place in order], places.map(lambda column: array("q", map(column.__getitem__, order)))


def _unclashed(labels: dict[Pair, str], texts: list[str]) -> dict[Pair, str]:
    """The labels, those that several tasks share replaced by the JSON of their (taskset, id) pair."""
    distinct = dict(labels)
    shown: dict[Pair, list[Any]] = {}
    while True:
        named_by: dict[str, list[Pair]] = {}
        for pair, label in distinct.items():
            named_by.setdefault(label, []).append(pair)
        clashing = [pair for pairs in named_by.values() if len(pairs) > 1 for pair in pairs]
        if not clashing:
            return distinct
        for pair in clashing:
            taskset, task_id = (texts[code] if code != ABSENT else None for code in pair)
            # Where even that is another task's label, it is wrapped once more.
            shown[pair] = [shown[pair]] if pair in shown else [taskset or None, task_id]
            distinct[pair] = json.dumps(shown[pair])
