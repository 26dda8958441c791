"""What the verifier said about the losing rows of flips, and how those and other rows of a task ended.

Rollouts are untrusted: a log is read only when it lies inside one of the roots, whatever links lead to it, and
only its end is read.
"""

from __future__ import annotations

from dataclasses import replace

from rollout_compare.core.compare import Comparison
from rollout_compare.core.judging.classify import Tasks
from rollout_compare.core.logs.ending import RowEnd
from rollout_compare.core.logs.finder import Finder, ResultsFolder
from rollout_compare.core.logs.search import LogSearch, VerifierOutput, WantedOutputs
from rollout_compare.core.redaction import Redaction
from rollout_compare.core.schema import FLIPS, Both, SideName

LONGEST_TAIL = 2_000
"""The longest tail that a report with room for it shows, in lines."""
_NO_ENDS = Both(WantedOutputs(), WantedOutputs())


class VerifierOutputs:
    """The verifier output of each flip's losing row, found when it is asked for."""

    def __init__(self, tasks: Tasks, finders: Both[Finder]) -> None:
        self._tasks = tasks
        self._finders = finders

    @classmethod
    def from_comparison(
        cls, comparison: Comparison, search: LogSearch, ends: Both[WantedOutputs] = _NO_ENDS
    ) -> VerifierOutputs:
        """The verifier outputs of a comparison; what can be read only once more as a whole is read now.

        `ends` are the rows whose ends will be asked for.
        """
        tasks, sides = comparison.tasks, comparison.sides
        finders = Both(Finder(sides.old, sides.new, "old", search), Finder(sides.new, sides.old, "new", search))
        losers = [tasks.losing_row(position) for position in tasks.positions(*FLIPS)]
        for name, finder in finders.named():
            own = frozenset(row for side, row in losers if side == name)
            finder.prepare(ends.of(name)._replace(outputs=own))
        return cls(tasks, finders)

    def redacted_by(self, redact: Redaction) -> VerifierOutputs:
        """The same, under the redaction of one report."""
        return VerifierOutputs(
            self._tasks, self._finders.map(lambda finder: replace(finder, search=replace(finder.search, redact=redact)))
        )

    def of(self, position: int, tail: int | None = None) -> VerifierOutput:
        """The verifier output of the flip that stands at this position among the tasks.

        At most `tail` lines of it, by default as many as the search says.
        """
        side, row = self._tasks.losing_row(position)
        finder = self._finders.of(side)
        return finder.find(row, finder.search.tail if tail is None else tail)

    def source(self, position: int) -> VerifierOutput:
        """The same without its lines, which take their time to work out."""
        side, row = self._tasks.losing_row(position)
        return self._finders.of(side).find(row, tail=0)

    def end(self, side: SideName, row: int, *, with_lines: bool = False) -> RowEnd:
        """How a row of a side ended; with the lines of its output that tell, if asked for."""
        return self._finders.of(side).end(row, with_lines=with_lines)

    def results_folder(self, side: SideName, row: int, end: RowEnd) -> ResultsFolder | None:
        """The folder of a row's log, where its test results lie; None when there is none that may be read."""
        return self._finders.of(side).results_folder(row, end.logs_dir)
