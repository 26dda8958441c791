"""Several agents or models on one task: the rows of each are compared with those of the same on the other side.

Example: old has t00 by alpha (1.0) and beta (0.0), new has t00 by alpha (0.0) and beta (1.0). The means of t00 are
equal; by task and agent, `t00 [alpha]` is lost and `t00 [beta]` is won.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, replace

from rollout_compare.core.joining.groups import NOBODY, Groups
from rollout_compare.core.joining.match import Match, in_order
from rollout_compare.core.reading.ids import ABSENT
from rollout_compare.core.reading.provenance import NameColumn
from rollout_compare.core.reading.side import Side
from rollout_compare.core.schema import Both, MakerKind, SideName
from rollout_compare.core.sentences import Marked, listed, quoted, told


@dataclass(frozen=True, slots=True)
class Mixed:
    """Tasks whose rows on a side are by several agents or models, none of which the other side has."""

    kind: MakerKind
    tasks: list[str]
    """Their labels."""
    names: Both[list[str]]
    """The agents or models of the sides."""


def by_maker(sides: Both[Side], match: Match) -> tuple[Match, Mixed | None]:
    """The match by task and agent, or by task and model, where a side has rows of several for one task.

    A side with one agent at most is looked at for its models. Where the sides share none, the match is as it was, and
    the second value says so.
    """
    kinds: tuple[MakerKind, MakerKind] = ("agent", "model")
    for kind in kinds:
        makers = _Makers(sides, match, kind)
        mixed = makers.mixed_tasks()
        if mixed:
            if makers.shared:
                return makers.split(), None
            return match, Mixed(kind, [match.labels[position] for position in mixed], makers.named())
    return match, None


class _Makers:
    """The agents, or the models, of the rows of two matched sides, by code."""

    def __init__(self, sides: Both[Side], match: Match, kind: MakerKind) -> None:
        self._match = match
        self._kind = kind
        self._sides = sides
        self._names = list(sides.old.names)
        self._columns: Both[NameColumn] = sides.map(
            lambda side: side.provenance.agents if kind == "agent" else side.provenance.models
        )
        of_sides = Both(
            set(self._columns.old.seen(len(sides.old))) if len(sides.old) else set(),
            set(self._columns.new.seen(len(sides.new))) if len(sides.new) else set(),
        )
        self._of_sides = of_sides
        self.shared = of_sides.old & of_sides.new
        """Those that both sides have."""

    def named(self) -> Both[list[str]]:
        """Their names, in order."""
        return self._of_sides.map(lambda codes: sorted(str(self._names[code]) for code in codes))

    def mixed_tasks(self) -> list[int]:
        """The positions of the tasks that have rows of several on a side."""
        if all(column.codes is None for column in self._columns):
            return []
        return [
            position
            for position in self._match.with_several_rows()
            if any(len(self._of_rows(position, side)) > 1 for side in _SIDES)
        ]

    def _of_rows(self, position: int, side: SideName) -> dict[int, list[int]]:
        """The rows of a task on a side, by who made them; 0 stands for nobody.

        A record of a failed attempt that does not tell belongs to the only one that the task has.
        """
        column, own = self._columns.of(side), self._sides.of(side)
        rows: dict[int, list[int]] = {}
        for row in self._match.rows(position, side):
            rows.setdefault(column[row], []).append(row)
        untold = [row for row in rows.get(ABSENT, ()) if own.is_record(row)]
        if untold:
            others = set(rows) - {ABSENT} or self._told(position, "new" if side == "old" else "old")
            if len(others) == 1:
                kept = [row for row in rows[ABSENT] if row not in set(untold)]
                rows[ABSENT] = kept
                (only,) = others
                rows[only] = sorted([*rows.get(only, []), *untold])
        return {maker: of_maker for maker, of_maker in rows.items() if of_maker}

    def _told(self, position: int, side: SideName) -> set[int]:
        return {self._columns.of(side)[row] for row in self._match.rows(position, side)} - {ABSENT}

    def split(self) -> Match:
        """The match by task and maker."""
        match = self._match
        units: list[tuple[int, int]] = []
        row_groups = self._sides.map(lambda side: array("I", bytes(4 * len(side))))
        places: Both[list[int]] = Both([], [])
        for position in range(len(match.labels)):
            if match.is_anonymous(position):
                continue
            rows = Both(self._of_rows(position, "old"), self._of_rows(position, "new"))
            for maker in dict.fromkeys([*rows.old, *rows.new]):
                units.append((position, maker))
                for side in _SIDES:
                    places.of(side).append(len(units) if maker in rows.of(side) else NOBODY)
                    for row in rows.of(side).get(maker, ()):
                        row_groups.of(side)[row] = len(units)
        labels = list(self._labels(units))
        makers = [None if maker == ABSENT else str(self._names[maker]) for _, maker in units]
        anonymous = Both(self._anonymous("old"), self._anonymous("new"))
        size = len(units) + 1
        for side in _SIDES:
            for number, (_, label) in enumerate(anonymous.of(side)):
                labels.append(label)
                makers.append(None)
                for other, column in places.named():
                    column.append(size + number if other == side else NOBODY)
        order = sorted(range(len(labels)), key=labels.__getitem__)
        labels, columns = in_order(labels, places.map(lambda column: array("q", column)))
        return replace(
            match,
            labels=labels,
            groups=Both(
                Groups(row_groups.old, size, [row for row, _ in anonymous.old]),
                Groups(row_groups.new, size, [row for row, _ in anonymous.new]),
            ),
            places=columns,
            joined=sum(old != NOBODY != new for old, new in zip(*columns, strict=True)),
            makers=[makers[place] for place in order],
            keyed_by=self._kind,
            unshared=sum(not self._is_shared(maker) for _, maker in units),
            notes=(*match.notes, self._note()),
        )

    def _anonymous(self, side: SideName) -> list[tuple[int, str]]:
        """The row and the label of each record of a side that names no task, in the order of the rows."""
        match = self._match
        positions = (position for position in range(len(match.labels)) if match.is_anonymous(position))
        return sorted((row, match.labels[position]) for position in positions for row in match.rows(position, side))

    def _is_shared(self, maker: int) -> bool:
        """Whether both sides have rows by a maker; for nobody, whether both have rows that name none."""
        return maker in self.shared if maker != ABSENT else all(ABSENT in _codes(column) for column in self._columns)

    def _labels(self, units: list[tuple[int, int]]) -> Iterator[str]:
        """`t00 [alpha]`; where a task is called so already, the JSON of the two."""
        taken = {self._match.labels[position] for position, maker in units if maker == ABSENT}
        for position, maker in units:
            label = self._match.labels[position]
            if maker != ABSENT:
                name = str(self._names[maker])
                label = f"{label} [{name}]" if f"{label} [{name}]" not in taken else json.dumps([label, name])
            yield label

    def _note(self) -> Marked:
        names = (quoted(str(self._names[code])) for code in sorted(self.shared, key=self._name))
        return told("joined by task and {}: {}", self._kind, listed(", ", names))

    def _name(self, code: int) -> str:
        return str(self._names[code])


_SIDES: tuple[SideName, SideName] = ("old", "new")


def _codes(column: NameColumn) -> set[int]:
    return {column.same} if column.codes is None else set(column.codes)
