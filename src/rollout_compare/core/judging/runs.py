"""How a side's rows came about, as far as it shows: written twice, lost, chosen by what they scored."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator

from rollout_compare.core.errors import CompareInputError
from rollout_compare.core.joining.join import Joined
from rollout_compare.core.reading.digest import digest_of
from rollout_compare.core.reading.lines import InputChangedError, read_rows
from rollout_compare.core.reading.side import Side
from rollout_compare.core.schema import NAMED_TASKS, SideName
from rollout_compare.core.sentences import (
    CheckWarning,
    Marked,
    Sentence,
    counted,
    field_name,
    listed,
    named,
    quoted,
    told,
)
from rollout_compare.statistics import sign_test

_FEWEST_RERUN = 8
_RERUN_SHARE = 0.8
_RERUN_P = 0.01
_NAMED_FILES = 3


def same_rows(joined: Joined) -> Iterator[CheckWarning]:
    """Both sides hold the same lines: a file was given twice, or copied."""
    old, new = joined.sides.map(lambda side: side.side)
    if len(old) and old.lengths == new.lengths and digest_of(old) == digest_of(new) and _same_lines(old, new):
        sentence = told("both sides hold the same rows, byte for byte: was one file given for both?")
        yield CheckWarning("same_rows", Sentence(sentence), len(old))


def _same_lines(old: Side, new: Side) -> bool:
    try:
        return all(before == after for before, after in zip(_lines(old), _lines(new), strict=True))
    except (InputChangedError, CompareInputError, ValueError):
        return False


def _lines(side: Side) -> Iterator[bytes]:
    for shard in side.shards:
        spans = [(side.offsets[row], side.lengths[row]) for row in range(shard.start, shard.main_stop)]
        yield from read_rows(shard.file, spans)


def rollouts_lost(joined: Joined, side: Side, name: SideName) -> Iterator[CheckWarning]:
    """A side has fewer attempts than were planned."""
    planned, lost = lost_of(joined, side, name)
    if lost:
        files = {shard.files.coverage or shard.files.materialized or "" for shard in side.shards}
        sentence = told(
            "{}: {:,} of {} left no row (planned in {}); {}",
            name,
            lost,
            counted(planned, "planned rollout"),
            listed(", ", (quoted(os.path.basename(file)) for file in sorted(files)[:_NAMED_FILES])),
            _what_to_do(side),
        )
        yield CheckWarning("rollouts_lost", Sentence(sentence), lost)


def _what_to_do(side: Side) -> Marked:
    if any(shard.files.materialized is not None for shard in side.shards):
        return told("{} counts them as 0", field_name("--count-as-zero missing"))
    return told("see what became of them in the log of the run")


def lost_of(joined: Joined, side: Side, name: SideName) -> tuple[int, int]:
    """How many attempts of a side were planned, as far as that is known, and how many of these left nothing."""
    planned = seen = 0
    for shard in side.shards:
        if shard.planned is not None:
            planned += shard.planned
            seen += shard.stop - shard.start + sum(tally.set_aside for tally in (shard.tally, shard.own_tally))
    return planned, max(
        0, planned - seen + joined.repeated.of(name).surplus + joined.replaced.of(name)
    ) if planned else 0


def repeated_rows(joined: Joined, name: SideName) -> Iterator[CheckWarning]:
    """Rows of a side that tell of one attempt once more."""
    repeated = joined.repeated.of(name)
    if repeated.surplus:
        sentence = told(
            "{rows} of the {side} side {tell} of a rollout that a later row tells of again (same id), and only the "
            "last one counts: {tasks}; see what writes them twice",
            rows=counted(repeated.surplus, "row"),
            side=name,
            tell=told("tells") if repeated.surplus == 1 else told("tell"),
            tasks=named(list(repeated.tasks)),
        )
        yield CheckWarning("repeated_rows", Sentence(sentence), repeated.surplus, repeated.tasks[:NAMED_TASKS])


def rerun_until_passed(joined: Joined, side: Side, name: SideName) -> Iterator[CheckWarning]:
    """Failed tasks of a side were run again until they passed, so that the last of their rows is the best."""
    tasks, at_the_end = [], 0
    if joined.match.groups.of(name).all_single:
        return
    numbers = {len(rows) for position in range(len(joined.match.labels)) if (rows := joined.match.rows(position, name))}
    if len(numbers) < 2:
        return
    for position in joined.match.with_several_rows():
        rows = [row for row in joined.match.rows(position, name) if math.isfinite(side.rewards[row])]
        rewards = [side.rewards[row] for row in rows if side.signals_of(row).masked is None]
        if len(rewards) > 1 and min(rewards) < max(rewards):
            tasks.append(joined.match.labels[position])
            at_the_end += rewards[-1] == max(rewards) and rewards.count(max(rewards)) == 1
    number = len(tasks)
    if number < _FEWEST_RERUN or at_the_end < _RERUN_SHARE * number:
        return
    if sign_test(at_the_end, number - at_the_end) < _RERUN_P:
        sentence = told(
            "the {} side ran failed tasks again until they passed: of {} whose rows differ, {:,} end in the only best "
            "one; give one row of each task, or the same number of all",
            name,
            counted(number, "task"),
            at_the_end,
        )
        yield CheckWarning("rerun_until_passed", Sentence(sentence), number, tuple(tasks[:NAMED_TASKS]))
