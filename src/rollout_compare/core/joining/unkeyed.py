"""What to tell of sides without a key: which fields their rows have, and which would do."""

from __future__ import annotations

import os
from collections.abc import Iterator

from rollout_compare.core.reading.ids import ABSENT
from rollout_compare.core.reading.lines import line_number
from rollout_compare.core.reading.side import Side
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
    why = next(_partly(lacking, ID_FIELDS), told("none of the usual ones is on any row"))
    advice = listed(", ", offers) if offers else told("name one with {}", field_name("--key"))
    return told("no task id field found on every row: {}; {}", why, advice)


def odd_rows(side: Side) -> Iterator[Marked]:
    """The usual task id that nearly every row has, and the first row that has not: for a note."""
    for said in _partly(side, TASK_KEY_CANDIDATES):
        yield said
        return


def _partly(side: Side, names: tuple[str, ...]) -> Iterator[Marked]:
    """The id fields that most rows of the rollouts files have, but not all, each with the first row without."""
    rows = sum(map(len, side.main_ranges()))
    for name in names:
        if name not in side.columns:
            continue
        ids = side.columns[name].ids
        lacking = [row for own in side.main_ranges() for row in own if ids[row] == ABSENT]
        if lacking and 2 * len(lacking) < rows:
            is_first = told("is the first without it, of {:,}", len(lacking))
            yield told(
                "{} is on {:,} of {}; {} {}",
                field_name(name),
                rows - len(lacking),
                counted(rows, "row"),
                _place(side, lacking[0]),
                told("has none") if len(lacking) == 1 else is_first,
            )


def _place(side: Side, row: int) -> Marked:
    shard = side.shard_of(row)
    path = quoted(os.path.basename(shard.files.rollouts))
    number = line_number(shard.file, side.offsets[row])
    return told("row {:,} of {}", row - shard.start + 1, path) if number is None else told("{}:{}", path, number)


def _offers(sides: Both[Side]) -> list[tuple[str, int]]:
    """Fields on every row of both sides that would join tasks, with how many; the most first."""
    old, new = sides.map(survey)
    if not old.rows or not new.rows:
        return []
    on_new = {name for name in new.on_every_row() if name not in _NEVER_A_KEY and not name.startswith("_ng_")}
    shared = [name for name in old.on_every_row() if name in on_new]
    counts = [(name, len(old.fields[name].texts & new.fields[name].texts)) for name in shared]
    return sorted((each for each in counts if each[1] >= _FEWEST_JOINED), key=lambda each: -each[1])[:_OFFERED]
