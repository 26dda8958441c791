"""Why tasks flipped: the tests that changed, the line in which each losing row ended, and the causes they share."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from rollout_compare.core.causes import crash_line, exception_line
from rollout_compare.core.causes.grouping import KINDS, Cause, Ending, Kind, group
from rollout_compare.core.causes.results.outcome import Outcomes
from rollout_compare.core.causes.selection import Selection, rows_of
from rollout_compare.core.causes.signature import signature
from rollout_compare.core.causes.sources import RESULT_FIELDS, SOURCES, NoRoomError, Room, RowResults
from rollout_compare.core.causes.test_changes import TestChanges, compare_tests
from rollout_compare.core.compare import Comparison
from rollout_compare.core.logs.ending import EndSearch, LineSearch, RowEnd
from rollout_compare.core.logs.verifier_output import VerifierOutputs
from rollout_compare.core.reading.signals import says_nothing, spelled
from rollout_compare.core.redaction import KEEP, Redaction, end_of, start_of
from rollout_compare.core.schema import FAILURE_REASON, Both, SideName, TaskComparison

END_SEARCH = EndSearch(
    (
        LineSearch(exception_line.HINTS, exception_line.exception_line),
        LineSearch(crash_line.HINTS, crash_line.crash_line),
    ),
    RESULT_FIELDS,
)
"""What rows are asked for."""
_LINE_LIMIT = 300
"""Longest line, test name or message that is kept, in characters."""
_SEARCHED = 16 << 10
"""How much of the end of a reason is searched for an exception, in characters."""
_ERROR = "error: "
_KIND = re.compile(r"\(failure_kind=(.+)\)\Z", re.DOTALL)
_SHORTEST_NAME = 3


class Looked(NamedTuple):
    """How many tasks of a kind there are, and how many of them were asked for the line in which they ended."""

    at: int
    of: int


@dataclass(slots=True)
class Explanation:
    """What is known of why tasks flipped. Positions are those among the tasks; all texts are redacted."""

    changes: dict[int, TestChanges] = field(default_factory=dict)
    """The tests of the flips whose rows have results."""
    signatures: dict[int, str] = field(default_factory=dict)
    """The cause of each task that has one."""
    causes: list[Cause] = field(default_factory=list)
    looked: dict[Kind, Looked] = field(default_factory=lambda: dict.fromkeys(KINDS, Looked(0, 0)))
    unread: int = 0
    """Flips whose test results were not looked for any more, as enough had been read."""


def explain(
    comparison: Comparison, outputs: VerifierOutputs, selection: Selection, redact: Redaction = KEEP
) -> Explanation:
    """Look for why the tasks of a selection ended as they did; `outputs` must search for `END_SEARCH`."""
    explainer = _Explainer(comparison, outputs, redact)
    endings = [*explainer.flips(selection), *explainer.masked(selection)]
    found = explainer.explanation
    found.causes = group(endings)
    found.unread += selection.left_out
    found.looked = {kind: Looked(len(selection.looked_at(kind)), len(selection.by_kind[kind])) for kind in KINDS}
    return found


class _Explainer:
    def __init__(self, comparison: Comparison, outputs: VerifierOutputs, redact: Redaction) -> None:
        self.explanation = Explanation()
        self._tasks = comparison.tasks
        self._sides = comparison.sides
        self._outputs = outputs
        self._redact = redact
        self._room = Room()

    def flips(self, selection: Selection) -> Iterator[Ending]:
        """How the losing rows of flips ended, those that are looked at; compares the tests of all."""
        for position, kind, is_looked_at in selection.flips():
            loser, losing = self._tasks.losing_row(position)
            end = self._outputs.end(loser, losing, with_lines=is_looked_at)
            changes = self._changes(position, loser, losing, end)
            if changes is not None:
                self.explanation.changes[position] = changes
            if is_looked_at:
                line = self._broken(changes, loser) or self._line_of(loser, losing, end)
                yield from self._ending(position, kind, line)

    def masked(self, selection: Selection) -> Iterator[Ending]:
        """What masked tasks say of it, those that are looked at."""
        for position in selection.looked_at("masked"):
            yield from self._ending(position, "masked", _masked_line(self._tasks[position]))

    def _ending(self, position: int, kind: Kind, line: str) -> Iterator[Ending]:
        line = line.strip()[:_LINE_LIMIT]
        task = self._tasks.label(position)
        found = signature(line, _names_of(task)) if line else ""
        if found:
            self.explanation.signatures[position] = found
            yield Ending(task, kind, line, found)

    def _changes(self, position: int, loser: SideName, losing: int, end: RowEnd) -> TestChanges | None:
        """The tests of the first source that the losing row and the other side have."""
        own = RowResults(self._outputs, loser, losing, end, self._room)
        try:
            for source in SOURCES:
                outcomes = own.of(source)
                changes = None if outcomes is None else self._compared(position, loser, losing, source, outcomes)
                if changes is not None:
                    return changes
        except NoRoomError:
            self.explanation.unread += 1
        return None

    def _compared(self, position: int, loser: SideName, losing: int, source: str, own: Outcomes) -> TestChanges | None:
        rows = rows_of(self._tasks, position, loser, losing)

        def results(side: SideName) -> list[Outcomes]:
            found = [own] if side == loser else []
            for row in rows.of(side):
                if (side, row) != (loser, losing):
                    outcomes = RowResults(self._outputs, side, row, self._outputs.end(side, row), self._room).of(source)
                    found += [] if outcomes is None else [outcomes]
            return found

        sides = Both(results("old"), results("new"))
        if not sides.old or not sides.new or not any(map(len, (*sides.old, *sides.new))):
            return None
        return compare_tests(*sides, loser, self._shown)

    def _shown(self, text: str) -> str:
        """The first line of a text that says anything, redacted, then cut."""
        lines = start_of(text, 4 * _LINE_LIMIT, self._redact).strip().splitlines()
        return lines[0].strip()[:_LINE_LIMIT] if lines else ""

    def _broken(self, changes: TestChanges | None, loser: SideName) -> str:
        """What the first test says that the losing row failed and the other side passed."""
        if changes is None:
            return ""
        tests = (changes.broke if loser == "new" else changes.fixed).tests
        return tests[0].message if tests else ""

    def _line_of(self, side: SideName, row: int, end: RowEnd) -> str:
        """The line in which a losing row ended: of its output, else what the row itself says."""
        said = self._sides.of(side).signals_of(row)
        exception, crash = (*end.lines, None, None)[:2]
        reason = end.reasons.get(FAILURE_REASON)
        telling = (
            exception,
            (said.message if says_nothing(reason) else self._said(reason, first=True)),
            self._said(end.reasons.get("error"), first=False),
            said.failure_kind,
            said.agent_error_message and said.agent_error_message.removeprefix(_ERROR),
            crash,
        )
        return next((line for line in telling if line and line.strip()), "")

    def _said(self, value: Any, *, first: bool) -> str:
        """The line of a reason or an error that says most: an exception, else its first or its last line."""
        text = spelled(value) if value else ""
        end = end_of(text, _SEARCHED, self._redact)
        return exception_line.exception_line(end.splitlines()) or (
            self._shown(text) if first else next(iter(end.strip().splitlines()[-1:]), "")
        )


def _masked_line(task: TaskComparison) -> str:
    """What the masked side of a task says of it; of two masked sides the new one."""
    side = next(side for side in (task.new, task.old) if side is not None and side.masked is not None)
    if side.failure_message:
        lines = side.failure_message.strip().splitlines()
        return exception_line.exception_line(lines) or next(iter(lines), "")
    kind = _KIND.search(side.masked or "")
    return (side.agent_error_message or "").removeprefix(_ERROR) or (kind[1] if kind is not None else "")


def _names_of(task: str) -> list[str]:
    """The names by which a message may call a task: its label, without its agent, without its taskset."""
    whole = task.partition(" [")[0]
    names = [task, whole, whole.rpartition("/")[2]]
    return list(dict.fromkeys(name for name in names if len(name) >= _SHORTEST_NAME))
