"""What the verifier said about the losing row of a flip: a log on disk, or a field of the row.

Rollouts are untrusted: a log is read only when it lies inside one of the roots, whatever links lead to it, and
only its end is read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from rollout_compare.core.compare import Comparison
from rollout_compare.core.errors import CompareInputError
from rollout_compare.core.judging.classify import Tasks
from rollout_compare.core.logs.confined import SHOWN_PATH, Confinement, UnavailableError, read_log
from rollout_compare.core.logs.tail import WINDOW, tail_of
from rollout_compare.core.reading.json_line import field_of, fields_of
from rollout_compare.core.reading.lines import InputChangedError, InputFile, read_rows
from rollout_compare.core.reading.side import Side
from rollout_compare.core.redaction import KEEP, Redaction, shortened
from rollout_compare.core.schema import EMBEDDED_VERIFIER_FIELDS, FALLBACK_VERIFIER_FIELDS, FLIPS, SideName
from rollout_compare.core.sentences import Marked, Sentence, quoted, told

LONGEST_TAIL = 2_000
"""The longest tail that a report with room for it shows, in lines."""
_LOGS_DIR = "verifier_logs_dir"
_KEPT_TAILS = 20 << 20
"""Up to so many characters, tails of packed inputs are kept as long as any report may show them."""


@dataclass(frozen=True, slots=True)
class VerifierOutput:
    """The end of what the verifier said, and where it was found; `lines` is None when it is unavailable."""

    side: SideName
    source: Sentence
    """A log's path, `row field <name>`, or `unavailable: <why>`."""
    lines: list[str] | None


@dataclass(frozen=True, slots=True)
class LogSearch:
    """Where verifier output is looked for."""

    tail: int
    """How many lines to show."""
    roots: Sequence[str] = ()
    """Folders for the relative log paths of both sides."""
    old_roots: Sequence[str] = ()
    new_roots: Sequence[str] = ()
    working_directory: str | None = None
    """A last folder to look in; None to look in none."""
    fields: Sequence[str] = ()
    """Fields of a row (dotted) that may hold verifier output, before the usual fallbacks."""
    longest: int = 0
    """How many lines may be asked for besides, by a report that has room for more."""
    allow_absolute: bool = False
    """Whether an absolute path may lie outside the roots."""
    redact: Redaction = KEEP
    """Takes secrets out of what is shown, before it is cut."""
    bring: Callable[[str], None] | None = None
    """Makes what is to be looked at at a path be there, if it can; raises OSError."""


class VerifierOutputs:
    """The verifier output of each flip's losing row, found when it is asked for."""

    def __init__(self, tasks: Tasks, finders: dict[SideName, _Finder]) -> None:
        self._tasks = tasks
        self._finders = finders

    @classmethod
    def from_comparison(cls, comparison: Comparison, search: LogSearch) -> VerifierOutputs:
        """The verifier outputs of a comparison; what can be read only once more as a whole is read now."""
        tasks = comparison.tasks
        finders: dict[SideName, _Finder] = {
            name: _Finder(side, comparison.sides.of("new" if name == "old" else "old"), name, search)
            for name, side in comparison.sides.named()
        }
        losers = [tasks.losing_row(at) for at in tasks.positions(*FLIPS)]
        for name, finder in finders.items():
            finder.prepare([row for side, row in losers if side == name])
        return cls(tasks, finders)

    def redacted_by(self, redact: Redaction) -> VerifierOutputs:
        """The same, under the redaction of one report."""
        finders = {
            name: replace(finder, search=replace(finder.search, redact=redact))
            for name, finder in self._finders.items()
        }
        return VerifierOutputs(self._tasks, finders)

    def of(self, at: int, tail: int | None = None) -> VerifierOutput:
        """The verifier output of the flip that stands at this position among the tasks.

        At most `tail` lines of it, by default as many as the search says.
        """
        side, row = self._tasks.losing_row(at)
        finder = self._finders[side]
        return finder.find(row, finder.search.tail if tail is None else tail)

    def source(self, at: int) -> VerifierOutput:
        """The same without its lines, which take their time to work out."""
        side, row = self._tasks.losing_row(at)
        return self._finders[side].find(row, tail=0)


@dataclass
class _Finder:
    """Finds the verifier output of one side's rows."""

    side: Side
    other: Side
    name: SideName
    search: LogSearch
    _kept: dict[int, VerifierOutput] = field(default_factory=dict)

    @property
    def _fields(self) -> tuple[str, ...]:
        return (*EMBEDDED_VERIFIER_FIELDS, *self.search.fields, *FALLBACK_VERIFIER_FIELDS, "error")

    def prepare(self, rows: list[int]) -> None:
        """Read now what can be read only by streaming an input once more; the rest is read when it is asked for."""
        packed: dict[str, tuple[InputFile, list[int]]] = {}
        for row in sorted(rows):
            file = self._file(row)
            if file.packing != "plain" and not file.is_pipe:
                packed.setdefault(file.path, (file, []))[1].append(row)
        room = _KEPT_TAILS
        for file, wanted in packed.values():
            texts = read_rows(file, [self._span(row) for row in wanted])
            for row in wanted:
                tail = max(self.search.tail, self.search.longest) if room > 0 else self.search.tail
                self._kept[row] = self._from_rows(row, texts, tail)
                room -= sum(map(len, self._kept[row].lines or ()))

    def find(self, row: int, tail: int) -> VerifierOutput:
        """The verifier output of a row of this side, with at most `tail` lines of it."""
        kept = self._kept.get(row)
        if kept is None:
            return self._from_rows(row, read_rows(self._file(row), [self._span(row)]), tail)
        if kept.lines is None or len(kept.lines) <= tail:
            return kept
        return replace(kept, lines=kept.lines[len(kept.lines) - tail :])

    def _file(self, row: int) -> InputFile:
        return self.side.shard_of(row).file_of(row)

    def _span(self, row: int) -> tuple[int, int]:
        return self.side.offsets[row], self.side.lengths[row]

    def _from_rows(self, row: int, texts: Iterator[bytes], tail: int) -> VerifierOutput:
        if self._file(row).is_pipe:
            return self._of_piped(row, tail)
        try:
            whole = fields_of(next(texts), {name.partition(".")[0] for name in (_LOGS_DIR, *self._fields)})
        except RecursionError:
            return self._unavailable(told("a field of the row is nested too deeply"))
        except (StopIteration, ValueError, CompareInputError, InputChangedError):
            return self._unavailable(told("the input changed while it was compared"))
        return self._of(row, whole, tail)

    def _of_piped(self, row: int, tail: int) -> VerifierOutput:
        why = told("the input is a pipe, read once: verifier output inside its rows is gone")
        directory = self.side.logs_dirs.get(row)
        try:
            return self._log(row, directory, tail) if directory else self._unavailable(why)
        except UnavailableError as reason:
            return self._unavailable(told("{}; {}", reason.shown(self.search.redact), why))

    def _shown(self, text: str) -> Marked:
        return quoted(shortened(text, SHOWN_PATH, self.search.redact))

    def _unavailable(self, why: Marked) -> VerifierOutput:
        return VerifierOutput(self.name, Sentence(told("unavailable: {}", why)), None)

    def _of(self, row: int, whole: dict[str, Any], tail: int) -> VerifierOutput:
        directory = whole.get(_LOGS_DIR)
        why = told("row has no {} and no embedded verifier output", quoted(_LOGS_DIR))
        if isinstance(directory, str) and directory:
            try:
                return self._log(row, directory, tail)
            except UnavailableError as reason:
                why = reason.shown(self.search.redact)
        for name in self._fields:
            text = _embedded(field_of(whole, name))
            if text.strip():
                window = text[-WINDOW:]
                lines = tail_of(window, tail, whole=len(window) == len(text), redact=self.search.redact)
                return VerifierOutput(self.name, Sentence(told("row field {}", self._shown(name))), lines)
        return self._unavailable(why)

    def _log(self, row: int, directory: str, tail: int) -> VerifierOutput:
        roots = self._roots(row)
        absolute = os.path.isabs(directory)
        confinement = None if absolute and self.search.allow_absolute else Confinement(roots, self._foreign)
        reasons = []
        for root in [""] if absolute else roots:
            path = os.path.join("" if root == "." else root, directory)
            try:
                source, text, whole = read_log(path, confinement, tail, self.search.bring)
            except UnavailableError as reason:
                reasons.append(reason)
            else:
                lines = tail_of(text, tail, whole=whole, redact=self.search.redact)
                return VerifierOutput(self.name, Sentence(self._shown(source)), lines)
        if not reasons:
            raise UnavailableError(told("outside the log roots:"), directory, told(" (there are none)"))
        # A place where something lay says more than one where nothing was.
        raise next((reason for reason in reasons if not reason.is_nothing_there), reasons[0])

    @cached_property
    def _foreign(self) -> frozenset[str]:
        """The folders of the other side's inputs that are not this side's too."""
        return _directories(self.other) - _directories(self.side)

    def _roots(self, row: int) -> list[str]:
        search = self.search
        shard = self.side.shard_of(row)
        # What a pipe's name says of folders is no place where its rows came from.
        own = [] if shard.file.is_pipe else [os.path.dirname(shard.files.rollouts) or "."]
        of_side = search.old_roots if self.name == "old" else search.new_roots
        last = [] if search.working_directory is None else [search.working_directory]
        roots = [*own, *of_side, *search.roots, *last]
        return [root for root in roots if os.path.realpath(root) not in self._foreign]


def _directories(side: Side) -> frozenset[str]:
    files = [shard.files.rollouts for shard in side.shards if not shard.file.is_pipe]
    return frozenset(os.path.realpath(os.path.dirname(file) or ".") for file in files)


def _embedded(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list | dict) and value:
        try:
            return json.dumps(value, indent=2, ensure_ascii=False)
        except RecursionError:
            return ""
    return ""
