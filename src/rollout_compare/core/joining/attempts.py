"""Rows that tell of one attempt twice, or of an attempt that a newer one replaced: which of them stand.

Example: a run was resumed and wrote its rows once more. The old and the new copy carry the same rollout id, so the
last one stands, and the task keeps one row of that attempt.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rollout_compare.core.joining.match import Match
from rollout_compare.core.reading.side import NO_INDEX, Side
from rollout_compare.core.schema import Both, SideName


@dataclass(frozen=True, slots=True)
class Repeated:
    """Rows of a side that were written twice."""

    surplus: int = 0
    """How many rows are left out for it."""
    tasks: tuple[str, ...] = ()
    """The labels of their tasks, in order."""


def newest_attempts(sides: Both[Side], match: Match) -> tuple[Match, Both[int]]:
    """The match without rows of attempts that a newer attempt at the same rollout replaced (`_ng_attempt_index`).

    And how many rows of the sides these are.
    """
    dropped = Both(
        set(_replaced(sides.old, match, "old")),
        set(_replaced(sides.new, match, "new")),
    )
    return match.without(dropped) if any(dropped) else match, dropped.map(len)


def _replaced(side: Side, match: Match, name: SideName) -> Iterator[int]:
    if side.attempts is None:
        return
    for position in match.with_several_rows():
        by_rollout: dict[tuple[int, int], list[int]] = {}
        for row in match.rows(position, name):
            if side.rollout_index[row] != NO_INDEX:
                # Shards restart their indices.
                by_rollout.setdefault((side.shard_number(row), side.rollout_index[row]), []).append(row)
        for rows in by_rollout.values():
            numbers = [side.attempts[row] for row in rows]
            if min(numbers) > NO_INDEX:
                yield from (row for row, number in zip(rows, numbers, strict=True) if number < max(numbers))


def written_once(sides: Both[Side], tasks: Match, match: Match) -> tuple[Match, Both[Repeated]]:
    """The match without rows that were written again later, and what is left out for it.

    `match` is by task, or by task and agent or model; `tasks` is the one by task alone: an id that two tasks of a side
    carry is not an id of one rollout.
    """
    found = Both(_repeated(sides.old, tasks, match, "old"), _repeated(sides.new, tasks, match, "new"))
    dropped = found.map(lambda by_position: {row for rows in by_position.values() for row in rows})
    if not any(dropped):
        return match, Both(Repeated(), Repeated())
    told = found.map(
        lambda by_position: Repeated(
            sum(map(len, by_position.values())), tuple(match.labels[position] for position in by_position)
        )
    )
    return match.without(dropped), told


def _repeated(side: Side, tasks: Match, match: Match, name: SideName) -> dict[int, list[int]]:
    """The rows to leave out, by the position of their task."""
    if side.rollout_ids is None:
        return {}
    candidates: dict[int, list[list[int]]] = {}
    for position in match.with_several_rows():
        sets = list(_same_rollout(side, match.rows(position, name)))
        if sets:
            candidates[position] = sets
    ids = {side.rollout_ids[rows[0]] for sets in candidates.values() for rows in sets}
    shared = _ids_of_several_tasks(side, tasks, name, ids) if ids else set()
    repeated = {}
    for position, sets in candidates.items():
        rows = [row for same in sets if side.rollout_ids[same[0]] not in shared for row in _surplus(side, same)]
        if rows:
            repeated[position] = rows
    return repeated


def _same_rollout(side: Side, rows: Iterable[int]) -> Iterator[list[int]]:
    """The sets of two rows or more, among those of a task, that tell of one rollout."""
    assert side.rollout_ids is not None
    by_id: dict[int, list[int]] = {}
    for row in rows:
        if side.rollout_ids[row]:
            by_id.setdefault(side.rollout_ids[row], []).append(row)
    for rollout_id, same in by_id.items():
        if len(same) > 1:
            proves_little = bool(rollout_id & 1)
            parts: dict[object, list[int]] = {}
            for row in same:
                parts.setdefault(_likeness(side, row, proves_little=proves_little), []).append(row)
            yield from (part for part in parts.values() if len(part) > 1)


def _likeness(side: Side, row: int, *, proves_little: bool) -> object:
    """What rows of one id must have in common to be one rollout: an id of a response proves little by itself."""
    index = side.rollout_index[row]
    if index != NO_INDEX:
        return index
    return (repr(side.rewards[row]), side.lengths[row]) if proves_little else NO_INDEX


def _surplus(side: Side, rows: list[int]) -> list[int]:
    """All but the last of these rows; a row counts more than the record of a failed attempt."""
    scored = [row for row in rows if not side.is_record(row)]
    stands = (scored or rows)[-1]
    return [row for row in rows if row != stands]


def _ids_of_several_tasks(side: Side, tasks: Match, name: SideName, wanted: set[int]) -> set[int]:
    assert side.rollout_ids is not None
    task_of: dict[int, int] = {}
    several = set()
    for position in range(len(tasks.labels)):
        for row in tasks.rows(position, name):
            rollout_id = side.rollout_ids[row]
            if rollout_id in wanted and task_of.setdefault(rollout_id, position) != position:
                several.add(rollout_id)
    return several
