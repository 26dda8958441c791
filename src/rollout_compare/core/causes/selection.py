"""Which tasks are asked why they ended as they did, and which of their rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rollout_compare.core.causes.grouping import Kind
from rollout_compare.core.judging.classify import Tasks
from rollout_compare.core.judging.importance import FlipKind, flips_by_importance
from rollout_compare.core.logs.search import WantedOutputs
from rollout_compare.core.schema import Both, SideName

LOOKED_AT = 500
"""How many tasks of each kind are asked for the line in which they ended."""
COMPARED = 5_000
"""How many flips of each kind have their tests compared."""
ROWS_OF_TASK = 32
"""How many rows of a task have their test results compared."""
_ROWS_OF_SIDE = ROWS_OF_TASK // 2
"""How many a side may have at least."""
_FLIPS: tuple[FlipKind, ...] = ("regressed", "agent_error", "improved")


@dataclass(frozen=True, slots=True)
class Selection:
    """Tasks by their positions, the most important of each kind first."""

    by_kind: dict[Kind, list[int]]

    @classmethod
    def from_tasks(cls, tasks: Tasks) -> Selection:
        """All flipped and masked tasks."""
        flips = flips_by_importance(tasks)
        return cls({"masked": tasks.positions("masked"), **{kind: flips[kind] for kind in _FLIPS}})

    def looked_at(self, kind: Kind) -> list[int]:
        """The tasks of a kind that are asked for the line in which they ended."""
        return self.by_kind[kind][:LOOKED_AT]

    def flips(self) -> Iterator[tuple[int, Kind, bool]]:
        """The flips whose tests are compared, with their kind; and whether they are asked for the line besides."""
        for kind in _FLIPS:
            for place, position in enumerate(self.by_kind[kind][:COMPARED]):
                yield position, kind, place < LOOKED_AT

    @property
    def left_out(self) -> int:
        """How many flips do not have their tests compared."""
        return sum(max(0, len(self.by_kind[kind]) - COMPARED) for kind in _FLIPS)

    def wanted(self, tasks: Tasks) -> Both[WantedOutputs]:
        """The rows that will be asked how they ended."""
        rows: Both[set[int]] = Both(set(), set())
        searched: Both[set[int]] = Both(set(), set())
        for position, _, is_looked_at in self.flips():
            loser, losing = tasks.losing_row(position)
            for side, own in rows_of(tasks, position, loser, losing).named():
                rows.of(side).update(own)
            if is_looked_at:
                searched.of(loser).add(losing)
        return Both(WantedOutputs((), rows.old, searched.old), WantedOutputs((), rows.new, searched.new))


def rows_of(tasks: Tasks, position: int, loser: SideName, losing: int) -> Both[list[int]]:
    """The rows of a flip whose test results are compared, on each side; the losing row comes first on its own.

    All of them, as far as there is room.
    """
    lost = [losing, *(row for row in tasks.rows_of(position, loser) if row != losing)]
    won = tasks.rows_of(position, "new" if loser == "old" else "old")
    room = max(_ROWS_OF_SIDE, ROWS_OF_TASK - len(won)), max(_ROWS_OF_SIDE, ROWS_OF_TASK - len(lost))
    lost, won = lost[: room[0]], won[: room[1]]
    return Both(lost, won) if loser == "old" else Both(won, lost)
