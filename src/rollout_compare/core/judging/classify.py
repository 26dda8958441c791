"""What became of each task: its rows reduced to one statement a side, and the class that follows."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, overload

from rollout_compare.core.joining.groups import NOBODY, Groups
from rollout_compare.core.joining.match import Match
from rollout_compare.core.reading.side import Side
from rollout_compare.core.reading.signals import Signals
from rollout_compare.core.schema import (
    COUNT_NAMES,
    FLIPS,
    REWARD_TOLERANCE,
    Category,
    SideName,
    TaskComparison,
    TaskSide,
)

_CATEGORIES: tuple[Category, ...] = (
    "identical",
    "flipped",
    "flipped_agent_error",
    "masked",
    "missing",
    "identical",
)
_IDENTICAL, _FLIPPED, _AGENT_ERROR, _MASKED, _MISSING, _IDENTICAL_WITH_ERROR = range(len(_CATEGORIES))


def mean(values: Sequence[float]) -> float | None:
    """The mean of finite numbers, exact to the last bit or two even next to the float limits; None for none."""
    if not values:
        return None
    if len(values) == 1:
        return values[0]
    try:
        total = math.fsum(values)
    except OverflowError:
        from fractions import Fraction

        return float(sum(map(Fraction, values)) / len(values))
    return total / len(values)


def reduce_rows(side: Side, rows: Sequence[int]) -> TaskSide:
    """What the rows of one task say together. A reward that is missing or not finite is no part of a mean."""
    if len(rows) == 1:
        return _reduce_row(side.rewards[rows[0]], side.signals_of(rows[0]))
    signals = [side.signals_of(row) for row in rows]
    rewards = [side.rewards[row] for row in rows]
    finite = [reward for reward in rewards if math.isfinite(reward)]
    counted = [reward for reward, said in zip(rewards, signals, strict=True) if said.masked is None]
    masked = [said.masked for said in signals if said.masked is not None]
    reason = f"{len(masked)}/{len(rows)} rows masked: {masked[0]}" if masked else None
    return TaskSide(
        reward=mean(finite),
        rows=len(rows),
        masked=reason,
        agent_error=next((said.agent_error for said in signals if said.agent_error is not None), None),
        failure_kind=next((said.failure_kind for said in signals if said.failure_kind is not None), None),
        counted_reward=mean(counted),
        counted_rows=len(counted),
        rewards=tuple(reward if said.masked is None else None for reward, said in zip(rewards, signals, strict=True)),
        failure_message=next((said.message for said in signals if said.message is not None), None),
    )


def _reduce_row(reward: float, said: Signals) -> TaskSide:
    finite = reward if math.isfinite(reward) else None
    counted = finite if said.masked is None else None
    return TaskSide(
        reward=finite,
        rows=1,
        masked=said.masked,
        agent_error=said.agent_error,
        failure_kind=said.failure_kind,
        counted_reward=counted,
        counted_rows=int(said.masked is None),
        rewards=(counted,),
        failure_message=said.message,
    )


class Pairs(NamedTuple):
    """Tasks that both sides scored: where they stand, their mean rewards, and whether each has one row a side."""

    positions: Sequence[int]
    old: array[float]
    new: array[float]
    single: bool


class Tasksets(NamedTuple):
    """The tasksets of a side's rows."""

    codes: array[int]
    """One per row."""
    names: dict[int, str]
    """By their codes."""


class Tasks(Sequence[TaskComparison]):
    """All tasks in label order. Only their classes are stored; a task is worked out when it is asked for."""

    def __init__(self, old: Side, new: Side, match: Match, tasksets: Mapping[SideName, Tasksets] | None = None) -> None:
        self._sides = old, new
        self._match = match
        self._tasksets = tasksets or {}
        """Of the sides that span several tasksets."""
        self._categories = bytearray(_classes(old, new, match))

    def __len__(self) -> int:
        return len(self._categories)

    @overload
    def __getitem__(self, at: int) -> TaskComparison: ...
    @overload
    def __getitem__(self, at: slice) -> list[TaskComparison]: ...
    def __getitem__(self, at: int | slice) -> TaskComparison | list[TaskComparison]:
        if isinstance(at, slice):
            return [self._task(position) for position in range(len(self))[at]]
        return self._task(range(len(self))[at])

    def __iter__(self) -> Iterator[TaskComparison]:
        return map(self._task, range(len(self)))

    def _task(self, at: int) -> TaskComparison:
        old, new = self.side_of(at, "old"), self.side_of(at, "new")
        category = _CATEGORIES[self._categories[at]]
        winner: SideName | None = None
        if category in FLIPS and old is not None and new is not None:
            winner = "old" if (old.counted_reward or 0.0) > (new.counted_reward or 0.0) else "new"
        return TaskComparison(self._match.labels[at], category, winner, old, new)

    def positions(self, *categories: Category) -> list[int]:
        """Where the tasks of these categories stand, in label order."""
        return self._positions([code for code, category in enumerate(_CATEGORIES) if category in categories])

    def identical_despite_error(self) -> list[int]:
        """Where the identical tasks stand whose rows report an agent error."""
        return self._positions([_IDENTICAL_WITH_ERROR])

    def _positions(self, codes: list[int]) -> list[int]:
        found = []
        for code in codes:
            at = self._categories.find(code)
            while at >= 0:
                found.append(at)
                at = self._categories.find(code, at + 1)
        return sorted(found)

    def of(self, *categories: Category) -> Iterator[TaskComparison]:
        """The tasks of these categories, in label order."""
        return map(self._task, self.positions(*categories))

    def rows_of(self, at: int, side: SideName) -> list[int]:
        """The row numbers of a task on one side, in reading order; empty when the side lacks it."""
        groups, group = self._place(at, side)
        return [] if group == NOBODY else groups.rows(group)

    def side_of(self, at: int, side: SideName) -> TaskSide | None:
        """What one side says of a task."""
        rows = self.rows_of(at, side)
        return reduce_rows(self._sides[0 if side == "old" else 1], rows) if rows else None

    def label(self, at: int) -> str:
        """The name of a task."""
        return self._match.labels[at]

    def taskset(self, at: int) -> str | None:
        """The taskset of a task, when a side spans several of them."""
        for side, (codes, names) in self._tasksets.items():
            rows = self.rows_of(at, side)
            if rows and codes[rows[0]] in names:
                return names[codes[rows[0]]]
        return None

    def _place(self, at: int, side: SideName) -> tuple[Groups, int]:
        found = self._match
        return (found.old_groups, found.old[at]) if side == "old" else (found.new_groups, found.new[at])

    def is_new(self, side: Side) -> bool:
        """Whether `side` is the new one of the two."""
        return side is self._sides[1]

    def counted_rewards(self, at: int, side: SideName) -> list[float]:
        """The rewards of a task's rows that count on one side, in reading order."""
        of = self._sides[0 if side == "old" else 1]
        return [of.rewards[row] for row in self.rows_of(at, side) if of.signals_of(row).masked is None]

    def paired(self, positions: Sequence[int] | None = None) -> Pairs:
        """The mean rewards of the tasks that both sides scored, or of those at the positions given."""
        found = self._match
        if positions is None:
            # Identical and flipped ones: what is neither masked nor missing.
            scored = bytes(code not in (_MASKED, _MISSING) for code in range(len(_CATEGORIES)))
            positions = array("q", (at for at, code in enumerate(self._categories) if scored[code]))
        several = found.old_groups.has_several_rows, found.new_groups.has_several_rows
        single = (found.old_groups.all_single and found.new_groups.all_single) or not any(
            several[0](found.old[at]) or several[1](found.new[at]) for at in positions
        )
        return Pairs(
            positions,
            self._means(found.old_groups, found.old, self._sides[0], positions, single=single),
            self._means(found.new_groups, found.new, self._sides[1], positions, single=single),
            single,
        )

    def _means(
        self, groups: Groups, places: array[int], side: Side, positions: Sequence[int], *, single: bool
    ) -> array[float]:
        rewards, first = side.rewards, groups.first
        if single:
            return array("d", [rewards[first[places[at]] - 1] for at in positions])
        # A task that both sides scored has no masked row.
        return array("d", (mean([rewards[row] for row in groups.rows(places[at])]) or 0.0 for at in positions))

    def losing_row(self, at: int) -> tuple[SideName, int]:
        """The losing side of a flip and the row there with the lowest reward, the first on ties."""
        winner = self._task(at).winner
        loser: SideName = "new" if winner == "old" else "old"
        side = self._sides[0 if loser == "old" else 1]
        return loser, min(self.rows_of(at, loser), key=side.rewards.__getitem__)

    def counts(self) -> dict[str, int]:
        """How many tasks there are of each kind, under the names of the JSON summary."""
        counts = dict.fromkeys(COUNT_NAMES, 0)
        counts["tasks"] = len(self)
        for code, category in enumerate(_CATEGORIES):
            counts[category] += self._categories.count(code)
        for task in self.of("flipped"):
            counts[f"flipped_{task.winner}_win"] += 1
        for task in self.of("masked"):
            counts["masked_old"] += task.old is not None and task.old.masked is not None
            counts["masked_new"] += task.new is not None and task.new.masked is not None
        for at in self.positions("missing"):
            only = "old" if self._match.new[at] == NOBODY else "new"
            counts[f"missing_{only}_only"] += 1
        return counts


def _classes(old: Side, new: Side, match: Match) -> Iterator[int]:
    old_rewards, new_rewards = old.rewards, new.rewards
    old_signals, new_signals = old.signals, new.signals
    old_groups, new_groups = match.old_groups, match.new_groups
    all_single = old_groups.all_single and new_groups.all_single
    for at, (old_group, new_group) in enumerate(zip(match.old, match.new, strict=True)):
        if old_group == NOBODY or new_group == NOBODY:
            yield _MASKED if match.is_anonymous(at) else _MISSING
            continue
        if all_single or not (old_groups.has_several_rows(old_group) or new_groups.has_several_rows(new_group)):
            old_row, new_row = old_groups.first[old_group] - 1, new_groups.first[new_group] - 1
            if not old_signals[old_row] and not new_signals[new_row]:
                # The usual task, one row a side that just counts: worked out without an object.
                yield (_IDENTICAL if abs(old_rewards[old_row] - new_rewards[new_row]) <= REWARD_TOLERANCE else _FLIPPED)
                continue
        yield _class_of(reduce_rows(old, old_groups.rows(old_group)), reduce_rows(new, new_groups.rows(new_group)))


def _class_of(old: TaskSide, new: TaskSide) -> int:
    if old.masked is not None or new.masked is not None:
        return _MASKED
    assert old.counted_reward is not None
    assert new.counted_reward is not None
    error = old.agent_error is not None or new.agent_error is not None
    if abs(old.counted_reward - new.counted_reward) <= REWARD_TOLERANCE:
        return _IDENTICAL_WITH_ERROR if error else _IDENTICAL
    return _AGENT_ERROR if error else _FLIPPED
