"""Which records of a failures sidecar still stand: the last attempt of a rollout that no row scored."""

from __future__ import annotations

from dataclasses import dataclass

from rollout_compare.core.reading.rows import SidecarRow
from rollout_compare.core.reading.signals import Signals

Attempt = tuple[int, int]
"""Codes of a record's task index and rollout index; a negative one of -1 is absent."""


@dataclass(slots=True)
class Record:
    """One sidecar record with its place in the (unpacked) sidecar."""

    row: SidecarRow
    key: object
    attempt: Attempt | None
    prompt: int
    offset: int
    length: int
    failure_class: str
    said: Signals
    """What the record says when it is masked."""
    run_id: str | None


@dataclass(slots=True)
class SidecarTally:
    """What became of the records of a side's sidecars."""

    records: int = 0
    standing: int = 0
    superseded: int = 0
    """Records of a rollout that a later record or a row of the main file speaks for."""
    set_aside: int = 0
    """Records that tell of no failure: evidence without a rollout, omitted and never started ones."""
    scored: int = 0
    """Those of the superseded whose rollout has a row in the main file."""
    of_another_run: int = 0
    """Records whose `_ng_run_id` is none of the rows'."""


def standing_records(records: list[Record], scored: set[Attempt], tally: SidecarTally) -> list[Record]:
    """The records that stand, in file order; `scored` holds the attempts that have a row in the main file."""
    last: dict[Attempt, int] = {}
    for at, record in enumerate(records):
        if record.attempt is not None and not record.row.unrouted and not record.row.never_started:
            last[record.attempt] = at
    standing = []
    for at, record in enumerate(records):
        tally.records += 1
        attempt = record.attempt
        if record.row.unrouted:
            tally.set_aside += 1
        elif attempt is None:
            standing.append(record)
        elif attempt in scored:
            tally.superseded += 1
            tally.scored += 1
        elif record.row.never_started:
            tally.set_aside += 1
        elif last[attempt] != at:
            tally.superseded += 1
        elif record.row.omitted:
            tally.set_aside += 1
        else:
            standing.append(record)
    tally.standing += len(standing)
    return standing
