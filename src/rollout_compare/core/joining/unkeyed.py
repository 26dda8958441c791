"""What to tell of sides without a key: which fields their rows have, and which would do."""

from __future__ import annotations

import os
from collections.abc import Iterator

from rollout_compare.core.reading.ids import ABSENT
from rollout_compare.core.reading.lines import line_number
from rollout_compare.core.reading.side import Side
from rollout_compare.core.reading.survey import survey
from rollout_compare.core.schema import ID_FIELDS, TASK_KEY_CANDIDATES, Both
from rollout_compare.core.sentences import counted, field_name, quoted

_OFFERED = 3
_FEWEST_JOINED = 2
_NEVER_A_KEY = frozenset({"reward"})


def why_no_key(sides: Both[Side], lacking: Side) -> str:
    """Why a side has no key, and what to try."""
    told = [*_partly(lacking, ID_FIELDS)]
    offers = [f"{field_name(f'--key {name}')} would join {counted(number, 'task')}" for name, number in _offers(sides)]
    why = told[0] if told else "none of the usual ones is on any row"
    advice = ", ".join(offers) if offers else f"name one with {field_name('--key')}"
    return f"no task id field found on every row: {why}; {advice}"


def odd_rows(side: Side) -> Iterator[str]:
    """The usual task id that nearly every row has, and the first row that has not: for a note."""
    for told in _partly(side, TASK_KEY_CANDIDATES):
        yield told
        return


def _partly(side: Side, names: tuple[str, ...]) -> Iterator[str]:
    """The id fields that most rows of the rollouts files have, but not all, each with the first row without."""
    rows = sum(map(len, side.main_ranges()))
    for name in names:
        if name not in side.columns:
            continue
        ids = side.columns[name].ids
        lacking = [row for own in side.main_ranges() for row in own if ids[row] == ABSENT]
        if lacking and 2 * len(lacking) < rows:
            where = _place(side, lacking[0])
            has = "has none" if len(lacking) == 1 else f"is the first without it, of {len(lacking):,}"
            yield f"{field_name(name)} is on {rows - len(lacking):,} of {counted(rows, 'row')}; {where} {has}"


def _place(side: Side, row: int) -> str:
    shard = side.shard_of(row)
    path = quoted(os.path.basename(shard.files.rollouts))
    number = line_number(shard.file, side.offsets[row])
    return f"row {row - shard.start + 1:,} of {path}" if number is None else f"{path}:{number}"


def _offers(sides: Both[Side]) -> list[tuple[str, int]]:
    """Fields on every row of both sides that would join tasks, with how many; the most first."""
    old, new = sides.map(survey)
    if not old.rows or not new.rows:
        return []
    on_new = {name for name in new.on_every_row() if name not in _NEVER_A_KEY and not name.startswith("_ng_")}
    shared = [name for name in old.on_every_row() if name in on_new]
    counts = [(name, len(old.fields[name].texts & new.fields[name].texts)) for name in shared]
    return sorted((each for each in counts if each[1] >= _FEWEST_JOINED), key=lambda each: -each[1])[:_OFFERED]
