"""The rows of a side by the task they belong to."""

from __future__ import annotations

from array import array
from copy import copy

from rollout_compare.core.reading.ids import ABSENT

NOBODY = -1


class Groups:
    """The rows of one side by group; groups from `anonymous_from` on hold one row that names no task."""

    def __init__(self, row_groups: array[int], size: int, anonymous: list[int]) -> None:
        self.first = array("I", bytes(4 * size))
        """Per group its first row, counted from 1; 0 for a group without rows."""
        self.following: array[int] | None = None
        """Per row the next row of its group, counted from 1; None when no group has two rows."""
        first = self.first
        for row, group in zip(range(len(row_groups), 0, -1), reversed(row_groups), strict=True):
            first[group] = row
        first[ABSENT] = 0
        if len(row_groups) - len(anonymous) != size - first.count(0):
            self._link_rows(row_groups)
        self.anonymous_from = size
        first.extend(row + 1 for row in anonymous)

    def _link_rows(self, row_groups: array[int]) -> None:
        following = array("I", bytes(4 * len(row_groups)))
        last = array("I", bytes(4 * len(self.first)))
        for row, group in enumerate(row_groups, start=1):
            if last[group] and group != ABSENT:
                following[last[group] - 1] = row
            last[group] = row
        self.following = following

    def without(self, rows: set[int]) -> Groups:
        """The same groups without some rows; each of these groups must have others."""
        if not rows or self.following is None:
            return self
        other = copy(self)
        other.first, other.following = array("I", self.first), array("I", self.following)
        for group in {group for group in range(len(self.first)) if not rows.isdisjoint(self.rows(group))}:
            kept = [row + 1 for row in self.rows(group) if row not in rows]
            other.first[group] = kept[0]
            for row, following in zip(kept, [*kept[1:], 0], strict=True):
                other.following[row - 1] = following
        return other

    def rows(self, group: int) -> list[int]:
        """The rows of a group in reading order."""
        rows = []
        at = self.first[group]
        while at:
            rows.append(at - 1)
            at = self.following[at - 1] if self.following is not None else 0
        return rows

    @property
    def all_single(self) -> bool:
        """Whether no group holds more than one row."""
        return self.following is None

    def has_several_rows(self, group: int) -> bool:
        """Whether a group holds more than one row."""
        if self.following is None or group == NOBODY:
            return False
        at = self.first[group]
        return at > 0 and self.following[at - 1] != 0
