"""Finds what the verifier said about single rows of one side: in a log on disk, or in a field of the row."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

from rollout_compare.core.errors import CompareInputError
from rollout_compare.core.logs.confined import (
    SHOWN_PATH,
    Confinement,
    UnavailableError,
    folder_of_log,
    read_log,
    read_results,
)
from rollout_compare.core.logs.ending import NOTHING_SAID, EndSearch, RowEnd, telling_lines
from rollout_compare.core.logs.field_text import shown_text, texts_within
from rollout_compare.core.logs.places import places_as_named, places_by_last_parts
from rollout_compare.core.logs.search import LogSearch, VerifierOutput, WantedOutputs
from rollout_compare.core.logs.tail import SHORT_WINDOW, WINDOW, tail_of
from rollout_compare.core.reading.json_line import field_of, fields_and_raw_fields
from rollout_compare.core.reading.lines import InputChangedError, InputFile, read_rows
from rollout_compare.core.reading.side import Side
from rollout_compare.core.reading.signals import says_nothing
from rollout_compare.core.redaction import shortened
from rollout_compare.core.schema import (
    EMBEDDED_VERIFIER_FIELDS,
    FAILURE_REASON,
    FALLBACK_VERIFIER_FIELDS,
    REASON_FIELDS,
    SideName,
)
from rollout_compare.core.sentences import Marked, Sentence, listed, quoted, told

FIELD_LIMIT = 4 << 20
"""Longest field that test results or reasons are read from, in bytes."""
_LONG_SEARCHES = 64
"""How many outputs of a side are searched further up than their last 64 KiB, where there was nothing."""
_ALL_LINES = 1_000_000
_LOGS_DIR = "verifier_logs_dir"
_NAMED_ROOTS = 3
"""How many of the folders in which a log was not found are named."""
_KEPT_TAILS = 20 << 20
"""Up to so many characters, tails of packed inputs are kept as long as any report may show them."""
_KEPT_FIELDS = 20 << 20
"""How much of the fields of packed inputs that say how rows ended is kept, packed, in bytes."""


class Text(NamedTuple):
    """The end of an output as it was found, and whether that is all of it."""

    source: Sentence
    text: str
    is_whole: bool


class _Fields(NamedTuple):
    """What was read again of a row: the fields that may hold what the verifier said, and those with test results."""

    values: dict[str, Any]
    results: dict[str, bytes]


@dataclass(frozen=True, slots=True)
class ResultsFolder:
    """The folder of a row's log, as the place of its test results."""

    path: str
    confinement: Confinement | None
    bring: Callable[[str], None] | None

    def holds(self, name: str) -> bool:
        """Whether something is there by the name of a file with test results."""
        path = os.path.join(self.path, name)
        if self.bring is not None:
            with contextlib.suppress(OSError, ValueError):
                self.bring(path)
        return os.path.lexists(path)

    def read(self, name: str, limit: int) -> bytes | None:
        """All of a file with test results; None when it is not there to be read, or larger than `limit` bytes."""
        try:
            return read_results(self.path, name, self.confinement, limit, self.bring)
        except UnavailableError:
            return None


@dataclass
class Finder:
    """Finds the verifier output of one side's rows."""

    side: Side
    other: Side
    name: SideName
    search: LogSearch
    _kept: dict[int, VerifierOutput] = field(default_factory=dict)
    _kept_ends: dict[int, bytes] = field(default_factory=dict)
    """Of rows of packed inputs, packed."""
    _long_searches: int = _LONG_SEARCHES
    _confinements: dict[int, Confinement] = field(default_factory=dict)
    """By shard."""

    @property
    def _fields(self) -> tuple[str, ...]:
        return (*EMBEDDED_VERIFIER_FIELDS, *self.search.fields, *FALLBACK_VERIFIER_FIELDS, *REASON_FIELDS)

    def prepare(self, wanted: WantedOutputs) -> None:
        """Read now what can be read only by streaming an input once more; the rest is read when it is asked for."""
        packed: dict[str, tuple[InputFile, list[int]]] = {}
        for row in sorted({*wanted.outputs, *wanted.ends}):
            file = self._file(row)
            if file.is_streamed and not file.is_pipe:
                packed.setdefault(file.path, (file, []))[1].append(row)
        room, field_room = _KEPT_TAILS, _KEPT_FIELDS
        for file, rows in packed.values():
            texts = read_rows(file, [self._span(row) for row in rows])
            for row in rows:
                whole = self._row_of(texts)
                if row in wanted.outputs:
                    tail = max(self.search.tail, self.search.longest) if room > 0 else self.search.tail
                    self._kept[row] = self._of(row, whole, tail)
                    room -= sum(map(len, self._kept[row].lines or ()))
                if row in wanted.ends:
                    end = self._end_of(row, whole, with_lines=row in wanted.lines)
                    if field_room <= 0:
                        end = end._replace(fields={})
                    self._kept_ends[row] = end.packed()
                    field_room -= len(self._kept_ends[row])

    def find(self, row: int, tail: int) -> VerifierOutput:
        """The verifier output of a row of this side, with at most `tail` lines of it."""
        kept = self._kept.get(row)
        if kept is None:
            return self._of(row, self._row(row), tail)
        if kept.lines is None or len(kept.lines) <= tail:
            return kept
        return replace(kept, lines=kept.lines[len(kept.lines) - tail :])

    def end(self, row: int, *, with_lines: bool) -> RowEnd:
        """How a row ended; with the lines of its output that tell only if asked for, as those have to be read."""
        if row in self._kept_ends:
            return RowEnd.unpacked(self._kept_ends[row])
        return self._end_of(row, self._row(row), with_lines=with_lines)

    def results_folder(self, row: int, logs_dir: str) -> ResultsFolder | None:
        """The folder of a row's log, where its test results lie; None when there is none that may be read."""
        if not logs_dir:
            return None
        places = [(place, self._confinement_as_named(row, logs_dir)) for place in self._as_named(row, logs_dir)]
        places += [(place, self._confinement(row)) for place in places_by_last_parts(logs_dir, self._roots(row))]
        for place, confinement in places:
            path = folder_of_log(place, confinement, self.search.bring)
            if path is not None:
                return ResultsFolder(path, confinement, self.search.bring)
        return None

    def _file(self, row: int) -> InputFile:
        return self.side.shard_of(row).file_of(row)

    def _span(self, row: int) -> tuple[int, int]:
        return self.side.offsets[row], self.side.lengths[row]

    def _row(self, row: int) -> _Fields | Marked:
        """The fields of a row that are asked for, read again; or why they cannot be."""
        file = self._file(row)
        if file.is_pipe:
            return told("the input is a pipe, read once: verifier output inside its rows is gone")
        return self._row_of(read_rows(file, [self._span(row)]))

    def _row_of(self, texts: Iterator[bytes]) -> _Fields | Marked:
        names = {name.partition(".")[0] for name in (_LOGS_DIR, *self._fields)}
        results = () if self.search.end is None else self.search.end.fields
        try:
            return _Fields(*fields_and_raw_fields(next(texts), names, results, FIELD_LIMIT))
        except RecursionError:
            return told("a field of the row is nested too deeply")
        except (StopIteration, ValueError, CompareInputError, InputChangedError):
            return told("the input changed while it was compared")

    def _of(self, row: int, whole: _Fields | Marked, tail: int) -> VerifierOutput:
        found = self._text_of(row, whole, tail, self._fields, shown_text)
        if isinstance(found, str):
            return VerifierOutput(self.name, Sentence(told("unavailable: {}", found)), None)
        lines = tail_of(found.text, tail, whole=found.is_whole, redact=self.search.redact)
        return VerifierOutput(self.name, found.source, lines)

    def _end_of(self, row: int, whole: _Fields | Marked, *, with_lines: bool) -> RowEnd:
        search = self.search.end
        if search is None:
            return NOTHING_SAID
        lines = self._telling_lines(row, whole, search) if with_lines else ()
        if isinstance(whole, str):
            return RowEnd(lines, {}, {}, self._logs_dir(row, whole))
        reasons = {name: whole.values[name] for name in REASON_FIELDS if whole.values.get(name)}
        return RowEnd(lines, reasons, whole.results, self._logs_dir(row, whole))

    def _telling_lines(self, row: int, whole: _Fields | Marked, search: EndSearch) -> tuple[str | None, ...]:
        """What the searches find at the end of a row's output, or further up, as long as there is time for that."""
        names = tuple(name for name in self._fields if name not in REASON_FIELDS)
        lines: tuple[str | None, ...] = ()
        for window in (SHORT_WINDOW, WINDOW):
            found = self._text_of(row, whole, 0 if window == SHORT_WINDOW else _ALL_LINES, names, texts_within)
            if isinstance(found, str):
                return ()
            text = found.text[-window:]
            is_whole = found.is_whole and len(text) == len(found.text)
            lines = telling_lines(text, search.lines, whole=is_whole, redact=self.search.redact)
            if is_whole or (lines and lines[0] is not None) or self._long_searches <= 0:
                break
            self._long_searches -= 1
        return lines

    def _logs_dir(self, row: int, whole: _Fields | Marked) -> str:
        named = self.side.logs_dirs.get(row) if isinstance(whole, str) else whole.values.get(_LOGS_DIR)
        return named if isinstance(named, str) else ""

    def _text_of(
        self,
        row: int,
        whole: _Fields | Marked,
        tail: int,
        names: Sequence[str],
        text_of: Callable[[Any], str],
    ) -> Text | Marked:
        """What the verifier said about a row, or why it is not there, with what is data in it marked."""
        lacking = told("row has no {} and no embedded verifier output", quoted(_LOGS_DIR))
        why = whole if isinstance(whole, str) else lacking
        logs_dir = self._logs_dir(row, whole)
        if logs_dir:
            try:
                return self._log(row, logs_dir, tail)
            except UnavailableError as reason:
                shown = reason.shown(self.search.redact)
                why = told("{}; {}", shown, whole) if isinstance(whole, str) else shown
        for name in names:
            value = None if isinstance(whole, str) else field_of(whole.values, name)
            text = "" if name == FAILURE_REASON and says_nothing(value) else text_of(value)
            if text.strip():
                window = text[-WINDOW:]
                return Text(Sentence(told("row field {}", self._shown(name))), window, len(window) == len(text))
        return why

    def _log(self, row: int, named: str, tail: int) -> Text:
        confinement, bring = self._confinement_as_named(row, named), self.search.bring
        reasons, as_named = [], self._as_named(row, named)
        for path in as_named:
            try:
                source, text, whole = read_log(path, confinement, tail, bring)
            except UnavailableError as reason:
                reasons.append(reason)
            else:
                return Text(Sentence(self._shown(source)), text, whole)
        if all(reason.is_elsewhere(path) for reason, path in zip(reasons, as_named, strict=True)):
            # The path was made on another machine.
            for path in places_by_last_parts(named, self._roots(row)):
                try:
                    source, text, whole = read_log(path, self._confinement(row), tail, bring)
                except UnavailableError as reason:
                    reasons.append(reason)
                else:
                    return Text(Sentence(told("found below the root as {}", self._shown(source))), text, whole)
        if not reasons:
            raise UnavailableError(told("outside the log roots:"), named, told(" (there are none)"))
        # A place where something lay says more than one where nothing was.
        telling = [reason for reason in reasons if not reason.is_nothing_there]
        telling += [reason for reason, path in zip(reasons, as_named, strict=False) if reason.path != path]
        raise telling[0] if telling else UnavailableError(reasons[0].why, named, self._looked_in(row))

    def _looked_in(self, row: int) -> Marked:
        """The folders in which a log was looked for, when it was in none."""
        roots = list(dict.fromkeys(self._roots(row)))
        if not roots:
            return told("")
        more = [told("{:,} more", len(roots) - _NAMED_ROOTS)] if len(roots) > _NAMED_ROOTS else []
        return told("; looked in {}", listed(", ", [*map(self._shown, roots[:_NAMED_ROOTS]), *more]))

    def _shown(self, text: str) -> Marked:
        return quoted(shortened(text, SHOWN_PATH, self.search.redact))

    def _as_named(self, row: int, named: str) -> list[str]:
        return places_as_named(named, self._roots(row))

    def _confinement_as_named(self, row: int, named: str) -> Confinement | None:
        return None if os.path.isabs(named) and self.search.allow_absolute else self._confinement(row)

    def _confinement(self, row: int) -> Confinement:
        shard = self.side.shard_number(row)
        if shard not in self._confinements:
            self._confinements[shard] = Confinement(self._roots_of_shard(shard), self._foreign)
        return self._confinements[shard]

    def _roots(self, row: int) -> Sequence[str]:
        return self._confinement(row).roots

    def _roots_of_shard(self, number: int) -> list[str]:
        search, shard = self.search, self.side.shards[number]
        # What a pipe's name says of folders is no place where its rows came from.
        own = [] if shard.file.is_pipe else [shard.folder]
        of_side = search.old_roots if self.name == "old" else search.new_roots
        last = [] if search.working_directory is None else [search.working_directory]
        roots = [*own, *of_side, *search.roots, *last]
        return [root for root in roots if os.path.realpath(root) not in self._foreign]

    @cached_property
    def _foreign(self) -> frozenset[str]:
        """The folders of the other side's inputs that are not this side's too."""
        return _directories(self.other) - _directories(self.side)


def _directories(side: Side) -> frozenset[str]:
    return frozenset(os.path.realpath(shard.folder) for shard in side.shards if not shard.file.is_pipe)
