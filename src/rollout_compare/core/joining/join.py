"""Which field names the tasks of each side, and the match that follows from it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from rollout_compare.core.errors import CompareInputError
from rollout_compare.core.joining.groups import NOBODY
from rollout_compare.core.joining.keyed import Keyed, keyed
from rollout_compare.core.joining.match import Match, match
from rollout_compare.core.reading.ids import ABSENT
from rollout_compare.core.reading.side import Side
from rollout_compare.core.schema import (
    FALLBACK_KEYS,
    ID_FIELDS,
    NAMED_TASKS,
    PROMPT,
    TASK_INDEX,
    TASK_KEY_CANDIDATES,
    SideName,
)
from rollout_compare.core.sentences import CheckWarning, Sentence, counted, field_name, named


@dataclass(slots=True)
class Joined:
    """Both sides under their keys, matched."""

    old: Keyed
    new: Keyed
    match: Match
    notes: list[str] = field(default_factory=list)
    warnings: list[CheckWarning] = field(default_factory=list)


def join(old: Side, new: Side) -> Joined:
    """Choose a key for each side and match their tasks.

    Raises CompareInputError when the rows name no task.
    """
    keys = [_own_key(side) for side in (old, new)]
    for at, side in enumerate((old, new)):
        if keys[at] is None and not _has_voters(side):
            keys[at] = keys[1 - at]
    if keys[0] is not None and keys[1] is not None:
        joined = _joined(old, new, keys[0], keys[1])
    else:
        joined = _by_fallback(old, new)
    joined.notes += [*_unplaced(joined.old, "old"), *_unplaced(joined.new, "new")]
    return joined


def _unplaced(side: Keyed, name: SideName) -> list[str]:
    """A note about failures sidecar records that name a task, but not by the side's key."""
    columns = side.side.columns.values()
    records = [row for row in side.anonymous_rows() if any(column.ids[row] for column in columns)]
    without = f"without {field_name(side.key)}, the key of that side: listed as unknown"
    return [f"{name}: {counted(len(records), 'failures sidecar record')} {without}"] if records else []


def _own_key(side: Side) -> str | None:
    """The key asked for, else the first candidate that every voting row of the side carries."""
    if side.key is not None:
        return side.key
    on_rows = [name for name in TASK_KEY_CANDIDATES if name in side.columns and _all_main_rows_carry(side, name)]
    voters = _voting_records(side)
    for name in on_rows:
        lacking = [row for row in voters if not _carries(side, name, row)]
        # A record that its task index places needs no key of its own.
        if not lacking or ABSENT not in map(keyed(side, name).ids.__getitem__, lacking):
            return name
    # Common but for some failures sidecar records: the rows, if there are any, decide alone.
    return on_rows[0] if on_rows and any(side.main_ranges()) else None


def _has_voters(side: Side) -> bool:
    return any(side.main_ranges()) or bool(_voting_records(side))


def _voting_records(side: Side) -> list[int]:
    """The failures sidecar records that name a task by some candidate."""
    return [row for row in side.sidecar_rows() if any(_carries(side, name, row) for name in TASK_KEY_CANDIDATES)]


def _carries(side: Side, key: str, row: int) -> bool:
    return key in side.columns and side.columns[key].ids[row] != ABSENT


def _all_main_rows_carry(side: Side, key: str) -> bool:
    ids = side.key_column(key).ids
    return not any(ABSENT in ids[rows.start : rows.stop] for rows in side.main_ranges())


def _joined(old: Side, new: Side, old_key: str, new_key: str) -> Joined:
    sides = keyed(old, old_key), keyed(new, new_key)
    return Joined(*sides, match(*sides))


def _by_fallback(old: Side, new: Side) -> Joined:
    """The first fallback rung that the rows of both sides carry and that joins a task; else the first they carry."""
    warnings: list[CheckWarning] = []
    first: Joined | None = None
    for rung in FALLBACK_KEYS:
        tried = _try_rung(old, new, rung)
        if tried is None:
            continue
        if tried.match.joined and rung == TASK_INDEX:
            contradicted = index_contradictions(tried)
            if contradicted:
                warnings.append(_contradiction_warning(contradicted, used=False))
                continue
            tried = _prompts_instead(old, new, tried) or tried
        if tried.match.joined:
            return _noted(tried, warnings)
        first = first or tried
    if first is None:
        lacking = old if _own_key(old) is None else new
        also = f"; {warnings[0].sentence}" if warnings else ", nor a fallback that both sides share"
        attempts = f"tried {', '.join(TASK_KEY_CANDIDATES)}{also}"
        what = f"no task id field found that each row carries (use --key): {attempts}"
        raise CompareInputError(lacking.paths[0], what)
    return _noted(first, warnings)


def _noted(joined: Joined, warnings: list[CheckWarning]) -> Joined:
    key = joined.new.key if joined.old.side.key is not None else joined.old.key
    what = "a fingerprint of the prompt" if key == PROMPT else field_name(key)
    joined.notes.append(f"no usual task id field on every row: joined by {what}")
    joined.warnings += warnings
    return joined


def _try_rung(old: Side, new: Side, rung: str) -> Joined | None:
    open_sides = [side for side in (old, new) if side.key is None]
    if rung == TASK_INDEX and (len(old.shards) > 1 or len(new.shards) > 1):
        # Shards restart their indices.
        return None
    if not all(_voters_carry(side, rung) for side in open_sides):
        return None
    if not any(any(side.key_column(rung).ids) for side in open_sides):
        return None
    return _joined(old, new, old.key or rung, new.key or rung)


def _voters_carry(side: Side, rung: str) -> bool:
    """Whether every voting row of a side carries a rung; a side without rows is voted for by its sidecar records."""
    if any(side.main_ranges()):
        return _all_main_rows_carry(side, rung)
    ids = side.key_column(rung).ids
    voters = [row for row in range(len(side)) if any(column.ids[row] for column in side.columns.values())]
    return all(ids[row] for row in voters)


def _prompts_instead(old: Side, new: Side, by_index: Joined) -> Joined | None:
    """The join by prompt, when that joins more tasks than the index joins with equal prompts."""
    by_prompt = _try_rung(old, new, PROMPT)
    if by_prompt is None:
        return None
    equal = sum(bool(prompts[0] & prompts[1]) for _, prompts in prompts_of_joined(by_index))
    return by_prompt if by_prompt.match.joined > equal else None


def joined_tasks(joined: Joined) -> Iterator[int]:
    """The positions of the tasks that both sides have."""
    found = joined.match
    for at, (old, new) in enumerate(zip(found.old, found.new, strict=True)):
        if old != NOBODY and new != NOBODY:
            yield at


def prompts_of_joined(joined: Joined) -> Iterator[tuple[int, tuple[set[int], set[int]]]]:
    """Per joined task its position and the prompt fingerprints of its rows on either side."""
    found = joined.match
    old, new = joined.old.side.prompts, joined.new.side.prompts
    for at in joined_tasks(joined):
        yield (
            at,
            (
                {old[row] for row in found.old_groups.rows(found.old[at])} - {0},
                {new[row] for row in found.new_groups.rows(found.new[at])} - {0},
            ),
        )


def index_contradictions(joined: Joined) -> list[str]:
    """The tasks whose rows name different tasks on the two sides, by an id field that both carry."""
    sides = joined.old.side, joined.new.side
    shared = [name for name in ID_FIELDS if all(name in side.columns for side in sides)]
    columns = [(keyed(sides[0], name).ids, keyed(sides[1], name).ids) for name in shared]
    found = joined.match
    contradicted = []
    for at in joined_tasks(joined):
        rows = found.old_groups.rows(found.old[at]), found.new_groups.rows(found.new[at])
        for old_ids, new_ids in columns:
            said = [
                {ids[row] for row in side_rows} - {ABSENT}
                for ids, side_rows in zip((old_ids, new_ids), rows, strict=True)
            ]
            if said[0] and said[1] and said[0] != said[1]:
                contradicted.append(found.labels[at])
                break
    return contradicted


def _contradiction_warning(tasks: list[str], *, used: bool) -> CheckWarning:
    rows = f"the rows of {counted(len(tasks), 'task')} with the same {field_name(TASK_INDEX)}"
    sentence = f"{rows} name different tasks: {named(tasks)}"
    ending = "the join by index is not to be trusted" if used else "the index was not used to join"
    return CheckWarning(
        "index_join_contradicted", Sentence(f"{sentence}; {ending}"), len(tasks), tuple(tasks[:NAMED_TASKS])
    )


def contradiction_of_explicit_index(joined: Joined) -> CheckWarning | None:
    """A warning when the key asked for is the task index and the rows' own ids disagree with it."""
    asked = [side.key == TASK_INDEX and side.side.key == TASK_INDEX for side in (joined.old, joined.new)]
    contradicted = index_contradictions(joined) if all(asked) else []
    return _contradiction_warning(contradicted, used=True) if contradicted else None


def other_keys(joined: Joined) -> list[tuple[str, int]]:
    """Keys that both sides carry and that would join tasks, with how many; the most first."""
    old, new = joined.old.side, joined.new.side
    counts = []
    for name in (*ID_FIELDS, TASK_INDEX, PROMPT):
        both = [side.key_column(name).ids for side in (old, new)]
        if name in (joined.old.key, joined.new.key) or not (any(both[0]) and any(both[1])):
            continue
        if _all_main_rows_carry(old, name) and _all_main_rows_carry(new, name):
            number = _joined(old, new, name, name).match.joined
            if number:
                counts.append((name, number))
    return sorted(counts, key=lambda item: -item[1])
