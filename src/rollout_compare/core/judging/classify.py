"""What became of each task: its rows reduced to one statement a side, and the category that follows."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Sequence
from typing import NamedTuple, overload

from rollout_compare.core.joining.groups import NOBODY
from rollout_compare.core.joining.match import Match
from rollout_compare.core.reading.side import Side
from rollout_compare.core.schema import (
    COUNT_NAMES,
    FLIPS,
    REWARD_TOLERANCE,
    Both,
    Category,
    SideName,
    TaskComparison,
    TaskSide,
)

_CATEGORY_OF_CODE: tuple[Category, ...] = (
    "identical",
    "flipped",
    "flipped_agent_error",
    "masked",
    "missing",
    "identical",
)
_IDENTICAL, _FLIPPED, _AGENT_ERROR, _MASKED, _MISSING, _IDENTICAL_WITH_ERROR = range(len(_CATEGORY_OF_CODE))


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
        return _reduce_row(side, rows[0])
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
        agent_error_message=next(filter(None, (said.agent_error_message for said in signals)), None),
        components=_components(side, [row for row, said in zip(rows, signals, strict=True) if said.masked is None]),
    )


def _components(side: Side, rows: Sequence[int]) -> dict[str, float] | None:
    means = {name: mean(values) for name, values in side.components.of(rows).items()}
    return {name: value for name, value in means.items() if value is not None} or None


def _reduce_row(side: Side, row: int) -> TaskSide:
    reward, said = side.rewards[row], side.signals_of(row)
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
        agent_error_message=said.agent_error_message,
        components=_components(side, [row]) if said.masked is None and side.components.columns else None,
    )


class Pairs(NamedTuple):
    """Tasks that both sides scored: where they stand, their mean rewards, and whether each has one row a side."""

    positions: Sequence[int]
    means: Both[array[float]]
    single: bool


class Tasksets(NamedTuple):
    """The tasksets of a side's rows."""

    codes: array[int]
    """One per row."""
    names: dict[int, str]
    """By their codes."""


class Tasks(Sequence[TaskComparison]):
    """All tasks in label order. Only their categories are stored; a task is worked out when it is asked for.

    `labels` are the names that may be shown, by position; `tasksets` those of the sides that span several.
    """

    def __init__(self, sides: Both[Side], match: Match, labels: Sequence[str], tasksets: Both[Tasksets | None]) -> None:
        self._sides = sides
        self._match = match
        self._labels = labels
        self._tasksets = tasksets
        self._codes = bytearray(_category_codes(sides, match))

    def __len__(self) -> int:
        return len(self._codes)

    @overload
    def __getitem__(self, position: int) -> TaskComparison: ...
    @overload
    def __getitem__(self, position: slice) -> list[TaskComparison]: ...
    def __getitem__(self, position: int | slice) -> TaskComparison | list[TaskComparison]:
        if isinstance(position, slice):
            return [self._task(each) for each in range(len(self))[position]]
        return self._task(range(len(self))[position])

    def __iter__(self) -> Iterator[TaskComparison]:
        return map(self._task, range(len(self)))

    def _task(self, position: int) -> TaskComparison:
        old, new = self.side_of(position, "old"), self.side_of(position, "new")
        category = _CATEGORY_OF_CODE[self._codes[position]]
        winner: SideName | None = None
        if category in FLIPS and old is not None and new is not None:
            winner = "old" if (old.counted_reward or 0.0) > (new.counted_reward or 0.0) else "new"
        makers = self._match.makers
        maker = None if makers is None else makers[position]
        return TaskComparison(self._labels[position], category, winner, old, new, maker)

    def positions(self, *categories: Category) -> list[int]:
        """Where the tasks of these categories stand, in label order."""
        return self._positions([code for code, category in enumerate(_CATEGORY_OF_CODE) if category in categories])

    def identical_despite_error(self) -> list[int]:
        """Where the identical tasks stand whose rows report an agent error."""
        return self._positions([_IDENTICAL_WITH_ERROR])

    def _positions(self, codes: list[int]) -> list[int]:
        positions = []
        for code in codes:
            position = self._codes.find(code)
            while position >= 0:
                positions.append(position)
                position = self._codes.find(code, position + 1)
        return sorted(positions)

    def of(self, *categories: Category) -> Iterator[TaskComparison]:
        """The tasks of these categories, in label order."""
        return map(self._task, self.positions(*categories))

    def rows_of(self, position: int, side: SideName) -> list[int]:
        """The row numbers of a task on one side, in reading order; empty when the side lacks it."""
        return self._match.rows(position, side)

    def side_of(self, position: int, side: SideName) -> TaskSide | None:
        """What one side says of a task."""
        rows = self._match.rows(position, side)
        return reduce_rows(self._sides.of(side), rows) if rows else None

    def label(self, position: int) -> str:
        """The name of a task."""
        return self._labels[position]

    def taskset(self, position: int) -> str | None:
        """The taskset of a task, when a side spans several of them; the new side's, where both do."""
        for side in ("new", "old"):
            tasksets = self._tasksets.of(side)
            if tasksets is not None and (rows := self._match.rows(position, side)):
                name = tasksets.names.get(tasksets.codes[rows[0]])
                if name is not None:
                    return name
        return None

    def counted_rewards(self, position: int, side: SideName) -> list[float]:
        """The rewards of a task's rows that count on one side, in reading order."""
        own = self._sides.of(side)
        return [own.rewards[row] for row in self._match.rows(position, side) if own.signals_of(row).masked is None]

    def paired(self, positions: Sequence[int] | None = None) -> Pairs:
        """The mean rewards of the tasks that both sides scored, or of those at the positions given."""
        if positions is None:
            # Identical and flipped ones: what is neither masked nor missing.
            scored = bytes(code not in (_MASKED, _MISSING) for code in range(len(_CATEGORY_OF_CODE)))
            positions = array("q", (position for position, code in enumerate(self._codes) if scored[code]))
        single = self._match.all_single or all(map(self._match.is_single, positions))
        means = Both(self._means("old", positions, single=single), self._means("new", positions, single=single))
        return Pairs(positions, means, single)

    def _means(self, side: SideName, positions: Sequence[int], *, single: bool) -> array[float]:
        rewards = self._sides.of(side).rewards
        groups, places = self._match.groups.of(side), self._match.places.of(side)
        if single:
            return array("d", [rewards[groups.first[places[position]] - 1] for position in positions])
        # A task that both sides scored has no masked row.
        return array("d", (mean([rewards[row] for row in groups.rows(places[at])]) or 0.0 for at in positions))

    def losing_row(self, position: int) -> tuple[SideName, int]:
        """The losing side of a flip and the row there with the lowest reward, the first on ties."""
        winner = self._task(position).winner
        loser: SideName = "new" if winner == "old" else "old"
        rewards = self._sides.of(loser).rewards
        return loser, min(self._match.rows(position, loser), key=rewards.__getitem__)

    def counts(self) -> dict[str, int]:
        """How many tasks there are of each kind, under the names of the JSON summary."""
        counts = dict.fromkeys(COUNT_NAMES, 0)
        counts["tasks"] = len(self)
        for code, category in enumerate(_CATEGORY_OF_CODE):
            counts[category] += self._codes.count(code)
        for task in self.of("flipped"):
            counts[f"flipped_{task.winner}_win"] += 1
        for task in self.of("masked"):
            counts["masked_old"] += task.old is not None and task.old.masked is not None
            counts["masked_new"] += task.new is not None and task.new.masked is not None
        for position in self.positions("missing"):
            only = "old" if self._match.places.new[position] == NOBODY else "new"
            counts[f"missing_{only}_only"] += 1
        return counts


def _category_codes(sides: Both[Side], match: Match) -> Iterator[int]:
    old_rewards, new_rewards = sides.old.rewards, sides.new.rewards
    old_signals, new_signals = sides.old.signals, sides.new.signals
    old_groups, new_groups = match.groups
    all_single = match.all_single
    for position, (old_group, new_group) in enumerate(zip(*match.places, strict=True)):
        if old_group == NOBODY or new_group == NOBODY:
            yield _MASKED if match.is_anonymous(position) else _MISSING
            continue
        if all_single or match.is_single(position):
            old_row, new_row = old_groups.first[old_group] - 1, new_groups.first[new_group] - 1
            if not old_signals[old_row] and not new_signals[new_row]:
                # The usual task, one row a side that just counts: worked out without an object.
                yield (_IDENTICAL if abs(old_rewards[old_row] - new_rewards[new_row]) <= REWARD_TOLERANCE else _FLIPPED)
                continue
        yield _category_of(
            reduce_rows(sides.old, old_groups.rows(old_group)), reduce_rows(sides.new, new_groups.rows(new_group))
        )


def _category_of(old: TaskSide, new: TaskSide) -> int:
    if old.masked is not None or new.masked is not None:
        return _MASKED
    assert old.counted_reward is not None
    assert new.counted_reward is not None
    error = old.agent_error is not None or new.agent_error is not None
    if abs(old.counted_reward - new.counted_reward) <= REWARD_TOLERANCE:
        return _IDENTICAL_WITH_ERROR if error else _IDENTICAL
    return _AGENT_ERROR if error else _FLIPPED
