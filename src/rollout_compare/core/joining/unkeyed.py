"""What to tell of sides without a key: which fields their rows have, and which would do."""

from __future__ import annotations

import os
from collections.abc import Iterator

from rollout_compare.core.reading.side import Gap, Side
from rollout_compare.core.reading.survey import survey
from rollout_compare.core.schema import ID_FIELDS, TASK_KEY_CANDIDATES, Both
from rollout_compare.core.sentences import Marked, counted, field_name, listed, quoted, told

_OFFERED = 3
_FEWEST_JOINED = 2
_NEVER_A_KEY = frozenset({"reward"})


def why_no_key(sides: Both[Side], lacking: Side) -> Marked:
    """Why a side has no key, and what to try."""
    offers = [
        told("{} would join {}", field_name(f"--key {name}"), counted(number, "task"))
        for name, number in _offers(sides)
    ]
    gaps = lacking.gaps(ID_FIELDS)
    why = _told(gaps[0]) if gaps else told("none of the usual ones is on any row")
    advice = listed(", ", offers) if offers else told("name one with {}", field_name("--key"))
    return told("no task id field found on every row: {}; {}", why, advice)


def odd_rows(side: Side) -> Iterator[Marked]:
    """The usual task id that nearly every row has, and the first row that has not: for a note."""
    for gap in side.gaps(TASK_KEY_CANDIDATES):
        yield _told(gap)
        return


def _told(gap: Gap) -> Marked:
    path = quoted(os.path.basename(gap.path))
    where = told("row {:,} of {}", gap.row + 1, path) if gap.line is None else told("{}:{}", path, gap.line)
    is_first = told("is the first without it, of {:,}", gap.lacking)
    has = told("has none") if gap.lacking == 1 else is_first
    rows = counted(gap.rows, "row")
    return told("{} is on {:,} of {}; {} {}", field_name(gap.field), gap.rows - gap.lacking, rows, where, has)


def _offers(sides: Both[Side]) -> list[tuple[str, int]]:
    """Fields on every row of both sides that would join tasks, with how many; the most first."""
    old, new = sides.map(survey)
    if not old.rows or not new.rows:
        return []
    on_new = {name for name in new.on_every_row() if name not in _NEVER_A_KEY and not name.startswith("_ng_")}
    shared = [name for name in old.on_every_row() if name in on_new]
    counts = [(name, len(old.fields[name].texts & new.fields[name].texts)) for name in shared]
    return sorted((each for each in counts if each[1] >= _FEWEST_JOINED), key=lambda each: -each[1])[:_OFFERED]
