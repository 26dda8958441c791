"""Records of failed attempts, in a failures sidecar or among the rows: which stand, and what they say.

A record stands when it is the last attempt of a rollout that no row scored.
"""

from __future__ import annotations

from dataclasses import dataclass

from rollout_compare.core.reading.choice import Fit
from rollout_compare.core.reading.rows import FailureRow
from rollout_compare.core.reading.side import NO_INDEX, Tally
from rollout_compare.core.reading.signals import Signals

Attempt = tuple[int, int]
"""Codes of a record's task index and rollout index."""


@dataclass(slots=True)
class Record:
    """One record with its place in the (unpacked) file."""

    row: FailureRow
    key: object
    attempt: Attempt | None
    number: int
    """`_ng_attempt_index`, kept like the other indices."""
    prompt: int
    offset: int
    length: int
    failure_class: str
    said: Signals
    """What the record says when it is masked."""
    run_id: str | None
    is_own: bool
    """Whether it stands among the rows, not in the sidecar."""
    fit: Fit


def standing_records(records: list[Record], scored: dict[Attempt, int], tallies: tuple[Tally, Tally]) -> list[Record]:
    """The records that stand, in the order given.

    `scored` holds the attempts that have a row in the main file, each with the highest `_ng_attempt_index` of its rows:
    a record with a higher one is newer, and stands beside them. `tallies` are those of the sidecar's records and of
    those among the rows.
    """
    last: dict[Attempt, int] = {}
    for position, record in enumerate(records):
        if record.attempt is not None and not record.row.unrouted and not record.row.never_started:
            latest = last.get(record.attempt)
            if latest is None or record.number >= records[latest].number:
                last[record.attempt] = position
    standing = []
    for position, record in enumerate(records):
        tally = tallies[record.is_own]
        tally.records += 1
        attempt = record.attempt
        if record.row.unrouted:
            tally.set_aside += 1
        elif attempt is None:
            standing.append(record)
        elif attempt in scored and not NO_INDEX < scored[attempt] < record.number:
            tally.superseded += 1
            tally.scored += 1
        elif record.row.never_started:
            tally.set_aside += 1
        elif last[attempt] != position:
            tally.superseded += 1
        elif record.row.omitted or record.row.is_omitted:
            tally.set_aside += 1
        else:
            standing.append(record)
    for record in standing:
        tallies[record.is_own].standing += 1
    return standing
