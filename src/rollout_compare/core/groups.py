"""The rows of a side by the task they belong to."""

from __future__ import annotations

from array import array
from collections.abc import Iterable

from rollout_compare.core.identity import ABSENT

NOBODY = -1


class Groups:
    """The rows of one side by group; groups from `anonymous_from` on hold one row that names no task."""

    def __init__(self, row_groups: Iterable[int], size: int, anonymous: list[int]) -> None:
        self.first = array("I", bytes(4 * size))
        """Per group its first row, counted from 1; 0 for a group without rows."""
        self.following: array[int] | None = None
        """Per row the next row of its group, counted from 1; None when no group has two rows."""
        last: dict[int, int] = {}
        first = self.first
        for row, group in enumerate(row_groups):
            if not first[group]:
                first[group] = row + 1
            elif group != ABSENT:
                if self.following is None:
                    self.following = array("I")
                self._link(last.get(group, first[group] - 1), row)
                last[group] = row
        first[ABSENT] = 0
        self.anonymous_from = size
        first.extend(row + 1 for row in anonymous)

    def _link(self, before: int, row: int) -> None:
        assert self.following is not None
        self.following.extend([0] * (row + 1 - len(self.following)))
        self.following[before] = row + 1

    def rows(self, group: int) -> list[int]:
        """The rows of a group in reading order."""
        rows = []
        at = self.first[group]
        while at:
            rows.append(at - 1)
            at = self.following[at - 1] if self.following is not None and at <= len(self.following) else 0
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
        return 0 < at <= len(self.following) and self.following[at - 1] != 0
