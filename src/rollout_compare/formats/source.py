"""A path of some format as the core reads rows: all of them once, and some of them again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from rollout_compare.core.reading.lines import Progress
from rollout_compare.core.reading.source import as_line
from rollout_compare.core.sentences import Sentence
from rollout_compare.formats.attempt import Reading
from rollout_compare.formats.detection import Format, format_of
from rollout_compare.formats.given import Given


class Source:
    """The rows of a path; see `core.reading.source.RowSource`."""

    def __init__(
        self, given: Given, form: Format, reward: str | None = None, *, bring: Callable[[str], None] | None = None
    ) -> None:
        self.path = given.path
        self.format = form.NAME
        self.title = form.TITLE
        self.unit = form.ROWS
        self.folder = given.root
        self._given = given
        self._form = form
        self._bring = bring
        self._reading = Reading(reward)

    def rows(self) -> Iterator[dict[str, Any]]:
        """All rows."""
        return self._form.rows(self._given, self._reading)

    def again(self, numbers: Sequence[int]) -> Iterator[bytes]:
        """The rows of these numbers once more, as JSON and with their verifier output."""
        wanted = frozenset(numbers)
        if not wanted:
            return
        rows = self._form.rows(Given(self.path, bring=self._bring), Reading(self._reading.reward, shown=wanted))
        missing = len(wanted)
        for number, row in enumerate(rows):
            if number in wanted:
                yield as_line(row)
                missing -= 1
            if not missing:
                return

    @property
    def notes(self) -> Sequence[Sentence]:
        """Choices that were made for the user."""
        return self._reading.notes

    @property
    def lost(self) -> int:
        """How many attempts were planned and left no row."""
        return self._reading.lost

    @property
    def files(self) -> Sequence[str]:
        """The files that have been read, the given path first."""
        return list(dict.fromkeys([self.path, *self._given.read_files]))

    @property
    def bytes_read(self) -> int:
        """Size of these files, as they lie on disk."""
        return self._given.bytes_read


def open_source(
    path: str,
    *,
    forced: str | None = None,
    reward: str | None = None,
    bring: Callable[[str], None] | None = None,
    progress: Progress | None = None,
) -> Source | None:
    """A path of some format, `forced` or found out; None for rollouts, and for what is not there.

    `reward` names the reward that counts, in the words of the format.
    """
    given = Given(path, bring=bring, progress=progress)
    if not given.exists:
        return None
    form = format_of(given, forced)
    return None if form is None else Source(given, form, reward, bring=bring)
