"""Matching the tasks of two sides: by id, by taskset and id, or by an id from which a common prefix is stripped."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from operator import le
from typing import Any

from rollout_compare.core.joining.groups import NOBODY, Groups
from rollout_compare.core.joining.keyed import Keyed
from rollout_compare.core.reading.ids import ABSENT
from rollout_compare.core.sentences import named, quoted


@dataclass(slots=True)
class Match:
    """The tasks of both sides in label order, each with its group on either side (NOBODY = the side lacks it)."""

    old_groups: Groups
    new_groups: Groups
    labels: list[str]
    old: array[int]
    new: array[int]
    old_prefix: str | None = None
    new_prefix: str | None = None
    keyed_by_taskset: bool = False
    notes: list[str] = field(default_factory=list)
    would_join: int = 0
    """How many tasks would join if a common prefix were stripped, although some ids are shared; else 0."""
    would_strip: str = ""
    """That prefix."""
    joined: int = 0

    def with_several_rows(self) -> Iterator[int]:
        """The positions of the tasks that have several rows on a side."""
        if self.old_groups.all_single and self.new_groups.all_single:
            return
        for at, (old, new) in enumerate(zip(self.old, self.new, strict=True)):
            if self.old_groups.has_several_rows(old) or self.new_groups.has_several_rows(new):
                yield at

    def is_anonymous(self, at: int) -> bool:
        """Whether a task is a sidecar record that names no task."""
        return self.old[at] >= self.old_groups.anonymous_from or self.new[at] >= self.new_groups.anonymous_from


def match(old: Keyed, new: Keyed) -> Match:
    """Match the tasks of two sides that share their names."""
    return _Matcher(old, new).result()


Pair = tuple[int, int]
"""(taskset, id) codes."""


class _Matcher:
    def __init__(self, old: Keyed, new: Keyed) -> None:
        self._keyed = (old, new)
        self._names = old.side.names
        self._ids = [old.ids, new.ids]
        self._prefixes: list[str | None] = [None, None]
        self._tasksets = [old.taskset_codes(), new.taskset_codes()]
        self._wide = [len(codes) > 1 for codes in self._tasksets]
        self._texts: list[str] = []
        self._notes: list[str] = []

    def result(self) -> Match:
        self._texts = [str(value) for value in self._names]
        would_strip, would_join = self._strip_prefix()
        self._note_tasksets()
        if self._wide[0] and self._wide[1]:
            found = self._match_pairs()
        elif any(self._wide):
            found = self._match_wide(0 if self._wide[0] else 1)
        else:
            found = self._match_ids()
        found.old_prefix, found.new_prefix = self._prefixes
        found.notes = self._notes
        found.would_strip, found.would_join = would_strip, would_join
        return found

    def _note_tasksets(self) -> None:
        for sides, told in (
            ((0, 1), "both sides span"),
            ((0,), "the old side spans"),
            ((1,), "the new side spans"),
        ):
            if tuple(at for at in (0, 1) if self._wide[at]) == sides:
                codes = {code for at in sides for code in self._tasksets[at]}
                self._notes.append(f"{told} several tasksets: {named(sorted(self._texts[code] for code in codes))}")

    def _strip_prefix(self) -> tuple[str, int]:
        """Strip the one side's common prefix if that alone makes tasks join.

        If some join already but more would, nothing is stripped: the prefix and that number are returned.
        """
        prefixes = [self._common_prefix(ids) for ids in self._ids]
        if (prefixes[0] is None) == (prefixes[1] is None):
            return "", 0
        at = 0 if prefixes[0] is not None else 1
        prefix = prefixes[at] or ""
        stripped = self._stripped(self._ids[at], prefix)
        now = self._overlap(self._ids)
        then = self._overlap([stripped if at == 0 else self._ids[0], stripped if at == 1 else self._ids[1]])
        if now:
            return (prefix, then) if then > now else ("", 0)
        if then:
            self._ids[at] = stripped
            self._prefixes[at] = prefix
        return "", 0

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

    def _overlap(self, ids: list[array[int]]) -> int:
        """How many tasks join when the sides have these ids."""
        if self._wide[0] and self._wide[1]:
            pairs = [set(self._pairs(at, ids[at])) for at in (0, 1)]
            return sum(task_id != ABSENT for _, task_id in pairs[0] & pairs[1])
        if any(self._wide):
            at = 0 if self._wide[0] else 1
            return len(self._wide_partners(at, ids)[0])
        present = [bytearray(len(self._texts)) for _ in ids]
        for marks, codes in zip(present, ids, strict=True):
            for code in codes:
                marks[code] = 1
            marks[ABSENT] = 0
        first, second = (int.from_bytes(marks, "little") for marks in present)
        return (first & second).bit_count()

    def _pairs(self, at: int, ids: array[int]) -> Iterator[Pair]:
        tasksets = self._keyed[at].tasksets
        return zip(tasksets if tasksets is not None else bytes(len(ids)), ids, strict=True)

    def _match_ids(self) -> Match:
        groups = [
            Groups(ids, len(self._texts), side.anonymous_rows())
            for ids, side in zip(self._ids, self._keyed, strict=True)
        ]
        first = [side.first[: len(self._texts)] for side in groups]
        codes = array("q", (code for code, (old, new) in enumerate(zip(*first, strict=True)) if old or new))
        return self._assembled(
            groups,
            [self._texts[code] for code in codes],
            array("q", (code if first[0][code] else NOBODY for code in codes)),
            array("q", (code if first[1][code] else NOBODY for code in codes)),
        )

    def _match_pairs(self) -> Match:
        """Both sides span several tasksets: tasks are grouped by the pair, never by its text."""
        codes: dict[Pair, int] = {(ABSENT, ABSENT): ABSENT}
        row_groups = [self._coded(self._pairs(at, self._ids[at]), codes) for at in (0, 1)]
        groups = [Groups(row_groups[at], len(codes), self._keyed[at].anonymous_rows()) for at in (0, 1)]
        labels = _unclashed({pair: self._label(pair) for pair in codes}, self._texts)
        present = {pair: code for pair, code in codes.items() if code != ABSENT}
        old, new = (array("q", (code if side.first[code] else NOBODY for code in present.values())) for side in groups)
        found = self._assembled(groups, [labels[pair] for pair in present], old, new)
        found.keyed_by_taskset = True
        return found

    def _coded(self, pairs: Iterator[Pair], codes: dict[Pair, int]) -> array[int]:
        coded = array("I")
        for pair in pairs:
            coded.append(ABSENT if pair[1] == ABSENT else codes.setdefault(pair, len(codes)))
        return coded

    def _label(self, pair: Pair, prefix: str = "") -> str:
        taskset, task_id = pair
        text = prefix + self._texts[task_id]
        return text if taskset == ABSENT else f"{self._texts[taskset]}/{text}"

    def _match_wide(self, wide: int) -> Match:
        """One side spans several tasksets, the other has plain ids."""
        plain = 1 - wide
        codes: dict[Pair, int] = {(ABSENT, ABSENT): ABSENT}
        row_groups = self._coded(self._pairs(wide, self._ids[wide]), codes)
        partners, ambiguous, by_id = self._wide_partners(wide, self._ids)
        prefix = self._prefixes[wide] or ""
        groups = {
            wide: Groups(row_groups, len(codes), self._keyed[wide].anonymous_rows()),
            plain: Groups(self._ids[plain], len(self._texts), self._keyed[plain].anonymous_rows()),
        }
        names: dict[Pair, str] = {}
        places: list[tuple[Pair, int, int]] = []
        taken = {pair: task_id for task_id, pair in partners.items()}
        for pair, code in codes.items():
            if code == ABSENT:
                continue
            if pair in taken:
                names[pair] = self._texts[taken[pair]]
            else:
                names[pair] = self._label(pair, prefix) if len(by_id[pair[1]]) > 1 else self._texts[pair[1]]
            places.append((pair, code, taken.get(pair, NOBODY)))
        # A plain id is a pair of its own here: no taskset has the code that marks it.
        alone = len(self._texts)
        for task_id in dict.fromkeys(self._ids[plain]):
            if task_id != ABSENT and task_id not in partners:
                names[alone, task_id] = self._texts[task_id]
                places.append(((alone, task_id), NOBODY, task_id))
        own = self._tasksets[plain]
        labels = _unclashed(names, [*self._texts, self._texts[own[0]] if own else ""])
        of_wide = array("q", (code for _, code, _ in places))
        of_plain = array("q", (task_id for _, _, task_id in places))
        self._note_ambiguous(ambiguous, prefix)
        return self._assembled(
            [groups[0], groups[1]],
            [labels[pair] for pair, _, _ in places],
            of_wide if wide == 0 else of_plain,
            of_plain if wide == 0 else of_wide,
        )

    def _note_ambiguous(self, ambiguous: dict[int, list[Pair]], prefix: str) -> None:
        if ambiguous:
            found = [
                f"{quoted(self._texts[task_id])} in {', '.join(quoted(self._label(pair, prefix)) for pair in pairs)}"
                for task_id, pairs in sorted(ambiguous.items(), key=lambda item: self._texts[item[0]])
            ]
            shown = "; ".join(found[:5]) + (f"; and {len(found) - 5} more" if len(found) > 5 else "")
            self._notes.append(f"ids found in several tasksets, left unmatched: {shown}")

    def _wide_partners(
        self, wide: int, ids: list[array[int]]
    ) -> tuple[dict[int, Pair], dict[int, list[Pair]], dict[int, list[Pair]]]:
        """The wide side's pair for each plain id that has one, the ambiguous ids, and all pairs by id."""
        pairs = [pair for pair in dict.fromkeys(self._pairs(wide, ids[wide])) if pair[1] != ABSENT]
        by_label: dict[str, list[Pair]] = {}
        by_id: dict[int, list[Pair]] = {}
        for pair in pairs:
            if pair[0] != ABSENT:
                by_label.setdefault(self._label(pair), []).append(pair)
            by_id.setdefault(pair[1], []).append(pair)
        own: dict[int, set[int]] = {}
        for taskset, task_id in dict.fromkeys(self._pairs(1 - wide, ids[1 - wide])):
            own.setdefault(task_id, set()).add(taskset)
        plain = [task_id for task_id in own if task_id != ABSENT]
        labelled = {task_id: by_label.get(self._texts[task_id], []) for task_id in plain}
        partners = {task_id: pairs[0] for task_id, pairs in labelled.items() if len(pairs) == 1}
        ambiguous = {task_id: pairs for task_id, pairs in labelled.items() if len(pairs) > 1}
        taken = set(partners.values())
        for task_id in plain:
            having = by_id.get(task_id, [])
            if task_id in partners or task_id in ambiguous or not having:
                continue
            chosen = having if len(having) == 1 else [pair for pair in having if pair[0] in own[task_id]]
            if len(chosen) != 1:
                ambiguous[task_id] = having
            elif chosen[0] not in taken:
                partners[task_id] = chosen[0]
                taken.add(chosen[0])
        return partners, ambiguous, by_id

    def _assembled(self, groups: list[Groups], labels: list[str], old: array[int], new: array[int]) -> Match:
        """The match of these tasks, given as three columns of equal length, and of what is anonymous."""
        joined = len(labels) - old.count(NOBODY) - new.count(NOBODY)
        if any(len(side.first) > side.anonymous_from for side in groups):
            for label, old_group, new_group in self._anonymous(groups, set(labels)):
                labels.append(label)
                old.append(old_group)
                new.append(new_group)
        if not all(map(le, labels, islice(labels, 1, None))):
            order = sorted(range(len(labels)), key=labels.__getitem__)
            labels = list(map(labels.__getitem__, order))
            old, new = (array("q", map(column.__getitem__, order)) for column in (old, new))
        return Match(groups[0], groups[1], labels, old, new, joined=joined)

    def _anonymous(self, groups: list[Groups], labels: set[str]) -> Iterator[tuple[str, int, int]]:
        number = 0
        for at in (0, 1):
            for group in range(groups[at].anonymous_from, len(groups[at].first)):
                number += 1
                while f"unknown#{number}" in labels:
                    number += 1
                yield ((f"unknown#{number}", group, NOBODY) if at == 0 else (f"unknown#{number}", NOBODY, group))


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
