"""Which field names the tasks of each side, and the match that follows from it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from rollout_compare.core.errors import CompareInputError
from rollout_compare.core.joining.attempts import Repeated, newest_attempts, written_once
from rollout_compare.core.joining.keyed import Keyed, keyed
from rollout_compare.core.joining.makers import Mixed, by_maker
from rollout_compare.core.joining.match import Match, match
from rollout_compare.core.joining.unkeyed import odd_rows, why_no_key
from rollout_compare.core.reading.ids import ABSENT
from rollout_compare.core.reading.side import Side
from rollout_compare.core.schema import (
    FALLBACK_KEYS,
    ID_FIELDS,
    NAMED_TASKS,
    PROMPT,
    TASK_INDEX,
    TASK_KEY_CANDIDATES,
    Both,
)
from rollout_compare.core.sentences import CheckWarning, Marked, Sentence, counted, field_name, listed, named, told


@dataclass(frozen=True)
class Joined:
    """Both sides under their keys, matched."""

    sides: Both[Keyed]
    match: Match
    notes: tuple[Marked, ...] = ()
    warnings: tuple[CheckWarning, ...] = ()
    mixed: Mixed | None = None
    """Tasks that several agents or models attempted on a side, when the sides share none of these."""
    replaced: Both[int] = Both(0, 0)  # noqa: RUF009 - numbers
    """How many rows are of attempts that a newer one replaced."""
    repeated: Both[Repeated] = Both(Repeated(), Repeated())  # noqa: RUF009 - both are frozen
    """Rows that were written twice, and are left out."""

    @property
    def keys(self) -> Both[str]:
        """The field that names the tasks of each side."""
        return self.sides.map(lambda side: side.key)

    def prompts(self) -> Iterator[tuple[int, Both[set[int]]]]:
        """Per joined task its position and the prompt fingerprints of its rows on either side."""
        for position in self.match.shared():
            rows = Both(self.match.rows(position, "old"), self.match.rows(position, "new"))
            yield (
                position,
                Both(
                    {self.sides.old.side.prompts[row] for row in rows.old} - {0},
                    {self.sides.new.side.prompts[row] for row in rows.new} - {0},
                ),
            )

    @cached_property
    def index_contradictions(self) -> list[str]:
        """The tasks whose rows name different tasks on the two sides, by an id field that both carry."""
        sides = self.sides.map(lambda side: side.side)
        shared = [name for name in ID_FIELDS if all(name in side.columns for side in sides)]
        columns = [Both(keyed(sides.old, name).ids, keyed(sides.new, name).ids) for name in shared]
        contradicted = []
        for position in self.match.shared():
            old_rows, new_rows = self.match.rows(position, "old"), self.match.rows(position, "new")
            for column in columns:
                old = {column.old[row] for row in old_rows} - {ABSENT}
                new = {column.new[row] for row in new_rows} - {ABSENT}
                if old and new and old != new:
                    contradicted.append(self.match.labels[position])
                    break
        return contradicted

    def other_keys(self) -> list[tuple[str, int]]:
        """Keys that both sides carry and that would join tasks, with how many; the most first."""
        sides = self.sides.map(lambda side: side.side)
        counts = []
        for name in (*ID_FIELDS, TASK_INDEX, PROMPT):
            if name in self.keys or not all(any(side.key_column(name).ids) for side in sides):
                continue
            if all(side.rows_carry(name) for side in sides):
                joined = _joined(sides, Both(name, name)).match.joined
                counts += [(name, joined)] if joined else []
        return sorted(counts, key=lambda item: -item[1])


def join(sides: Both[Side]) -> Joined:
    """Choose a key for each side and match their tasks.

    A record that was asked to count as 0, but belongs to no task, is masked again: it can lose no reward of one.

    Raises CompareInputError when the rows name no task.
    """
    own = sides.map(_own_key)
    keys = Both(
        own.old if own.old is not None or sides.old.has_voters() else own.new,
        own.new if own.new is not None or sides.new.has_voters() else own.old,
    )
    if keys.old is not None and keys.new is not None:
        joined = _joined(sides, Both(keys.old, keys.new))
    else:
        joined = _by_fallback(sides, sides.old if own.old is None else sides.new)
    return _by_attempt(replace(joined, sides=joined.sides.map(Keyed.without_unplaced_zeros)))


def _by_attempt(joined: Joined) -> Joined:
    """The same with one row for each attempt, by agent or model where a task has rows of several."""
    sides = joined.sides.map(lambda side: side.side)
    match, mixed = by_maker(sides, joined.match)
    match, replaced = newest_attempts(sides, match)
    match, repeated = written_once(sides, joined.match, match)
    return replace(joined, match=match, mixed=mixed, replaced=replaced, repeated=repeated)


def _own_key(side: Side) -> str | None:
    """The key asked for, else the first candidate that every voting row of the side carries."""
    if side.key is not None:
        return side.key
    on_rows = [name for name in TASK_KEY_CANDIDATES if name in side.columns and side.rows_carry(name)]
    voters = side.voting_records()
    for name in on_rows:
        lacking = [row for row in voters if side.columns[name].ids[row] == ABSENT]
        # A record that its task index places needs no key of its own.
        if not lacking or ABSENT not in map(keyed(side, name).ids.__getitem__, lacking):
            return name
    # Common but for some failures sidecar records: the rows, if there are any, decide alone.
    return on_rows[0] if on_rows and any(side.main_ranges()) else None


def _joined(sides: Both[Side], keys: Both[str]) -> Joined:
    under_keys = Both(keyed(sides.old, keys.old), keyed(sides.new, keys.new))
    return Joined(under_keys, match(under_keys))


def _by_fallback(sides: Both[Side], lacking: Side) -> Joined:
    """The first fallback rung that the rows of both sides carry and that joins a task; else the first they carry.

    Raises CompareInputError when there is none; it tells of `lacking`, a side without a key.
    """
    warnings: list[CheckWarning] = []
    first: Joined | None = None
    for rung in FALLBACK_KEYS:
        tried = _try_rung(sides, rung)
        if tried is None:
            continue
        if tried.match.joined and rung == TASK_INDEX:
            if tried.index_contradictions:
                warnings.append(_contradiction_warning(tried.index_contradictions, used=False))
                continue
            tried = _prompts_instead(sides, tried) or tried
        if tried.match.joined:
            return _noted(tried, warnings)
        first = first or tried
    if first is None:
        why = [why_no_key(sides, lacking), *(warning.sentence.marked for warning in warnings[:1])]
        raise CompareInputError(lacking.paths[0], str(Sentence(listed("; ", why))))
    return _noted(first, warnings)


def _noted(joined: Joined, warnings: list[CheckWarning]) -> Joined:
    key = joined.keys.new if joined.sides.old.side.key is not None else joined.keys.old
    what = told("a fingerprint of the prompt") if key == PROMPT else field_name(key)
    note = [told("no usual task id field on every row: joined by {}", what)]
    note += [told("{}: {}", name, odd) for name, side in joined.sides.named() for odd in odd_rows(side.side)]
    return replace(joined, notes=(listed("; ", note),), warnings=tuple(warnings))


def _try_rung(sides: Both[Side], rung: str) -> Joined | None:
    open_sides = [side for side in sides if side.key is None]
    if rung == TASK_INDEX and any(len(side.shards) > 1 for side in sides):
        # Shards restart their indices.
        return None
    if not all(side.voters_carry(rung) for side in open_sides):
        return None
    if not any(any(side.key_column(rung).ids) for side in open_sides):
        return None
    return _joined(sides, sides.map(lambda side: side.key or rung))


def _prompts_instead(sides: Both[Side], by_index: Joined) -> Joined | None:
    """The join by prompt, when that joins more tasks than the index joins with equal prompts."""
    by_prompt = _try_rung(sides, PROMPT)
    if by_prompt is None:
        return None
    equal = sum(bool(prompts.old & prompts.new) for _, prompts in by_index.prompts())
    return by_prompt if by_prompt.match.joined > equal else None


def _contradiction_warning(tasks: list[str], *, used: bool) -> CheckWarning:
    sentence = told(
        "the rows of {} with the same {} name different tasks: {}; {}",
        counted(len(tasks), "task"),
        field_name(TASK_INDEX),
        named(tasks),
        told("the join by index is not to be trusted") if used else told("the index was not used to join"),
    )
    return CheckWarning("index_join_contradicted", Sentence(sentence), len(tasks), tuple(tasks[:NAMED_TASKS]))


def contradiction_of_explicit_index(joined: Joined) -> CheckWarning | None:
    """A warning when the key asked for is the task index and the rows' own ids disagree with it."""
    if any(side.key != TASK_INDEX or side.side.key != TASK_INDEX for side in joined.sides):
        return None
    contradicted = joined.index_contradictions
    return _contradiction_warning(contradicted, used=True) if contradicted else None
