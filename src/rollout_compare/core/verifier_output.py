"""What the verifier said about the losing row of a flip: a log on disk, or a field of the row.

Rollouts are untrusted: a log is read only when it lies inside one of the roots, whatever links lead to it, and
only its end is read.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from rollout_compare.core.compare import Comparison
from rollout_compare.core.errors import CompareInputError
from rollout_compare.core.json_line import field_of, fields_of
from rollout_compare.core.lines import InputChangedError, Origin, read_rows
from rollout_compare.core.schema import EMBEDDED_VERIFIER_FIELDS, FALLBACK_VERIFIER_FIELDS, SideName
from rollout_compare.core.side import Side
from rollout_compare.core.tail import WINDOW, tail_of

DEFAULT_TAIL = 15
_LOGS_DIR = "verifier_logs_dir"
_LOG_NAME = "test-stdout.txt"
_LOG_ENDINGS = (".txt", ".log", ".out")
_SHOWN_PATH = 300
_NOT_FOUND = "not found:"


@dataclass(frozen=True, slots=True)
class VerifierOutput:
    """The end of what the verifier said, and where it was found; `lines` is None when it is unavailable."""

    side: SideName
    source: str
    """A log's path, `row field <name>`, or `unavailable: <why>`."""
    lines: list[str] | None


@dataclass(frozen=True, slots=True)
class LogSearch:
    """Where verifier output is looked for."""

    roots: Sequence[str] = ()
    """Folders for the relative log paths of both sides."""
    old_roots: Sequence[str] = ()
    new_roots: Sequence[str] = ()
    working_directory: str | None = None
    """A last folder to look in; None to look in none."""
    fields: Sequence[str] = ()
    """Fields of a row (dotted) that may hold verifier output, before the usual fallbacks."""
    tail: int = DEFAULT_TAIL
    """How many lines to show."""
    allow_absolute: bool = False
    """Whether an absolute path may lie outside the roots."""


class UnavailableError(Exception):
    """A log that is not shown; the message says why."""


class VerifierOutputs:
    """The verifier output of each flip's losing row, found when it is asked for."""

    def __init__(self, comparison: Comparison, search: LogSearch) -> None:
        self._tasks = comparison.tasks
        self._finders: dict[SideName, _Finder] = {
            "old": _Finder(comparison.old, comparison.new, "old", search),
            "new": _Finder(comparison.new, comparison.old, "new", search),
        }
        losers = [self._tasks.losing_row(at) for at in self._tasks.positions("flipped", "flipped_agent_error")]
        for name, finder in self._finders.items():
            finder.prepare([row for side, row in losers if side == name])

    def of(self, at: int) -> VerifierOutput:
        """The verifier output of the flip that stands at this position among the tasks."""
        side, row = self._tasks.losing_row(at)
        return self._finders[side].find(row)


@dataclass(slots=True)
class _Finder:
    """Finds the verifier output of one side's rows."""

    side: Side
    other: Side
    name: SideName
    search: LogSearch
    _kept: dict[int, VerifierOutput] = field(default_factory=dict)
    _foreign: frozenset[str] | None = None

    @property
    def _fields(self) -> tuple[str, ...]:
        return (*EMBEDDED_VERIFIER_FIELDS, *self.search.fields, *FALLBACK_VERIFIER_FIELDS, "error")

    def prepare(self, rows: list[int]) -> None:
        """Read now what can be read only by streaming an input once more; the rest is read when it is asked for."""
        by_origin: dict[str, tuple[Origin, list[int]]] = {}
        for row in sorted(rows):
            origin = self._origin(row)
            if origin.packing != "plain" and not origin.is_pipe:
                by_origin.setdefault(origin.path, (origin, []))[1].append(row)
        for origin, wanted in by_origin.values():
            texts = read_rows(origin, [self._span(row) for row in wanted])
            for row in wanted:
                self._kept[row] = self._from_rows(row, texts)

    def find(self, row: int) -> VerifierOutput:
        """The verifier output of a row of this side."""
        kept = self._kept.get(row)
        return kept if kept is not None else self._from_rows(row, read_rows(self._origin(row), [self._span(row)]))

    def _origin(self, row: int) -> Origin:
        shard = self.side.shard_of(row)
        sidecar = shard.sidecar_origin
        return sidecar if row >= shard.main_stop and sidecar is not None else shard.origin

    def _span(self, row: int) -> tuple[int, int]:
        return self.side.offsets[row], self.side.lengths[row]

    def _from_rows(self, row: int, texts: Iterator[bytes]) -> VerifierOutput:
        if self._origin(row).is_pipe:
            return self._of_piped(row)
        try:
            whole = fields_of(next(texts), {name.partition(".")[0] for name in (_LOGS_DIR, *self._fields)})
        except (StopIteration, ValueError, RecursionError, CompareInputError):
            return self._unavailable("the input changed while it was compared")
        except InputChangedError as fault:
            return self._unavailable(str(fault))
        return self._of(row, whole)

    def _of_piped(self, row: int) -> VerifierOutput:
        why = "the input is a pipe, read once: verifier output inside its rows is gone"
        directory = self.side.logs_dirs.get(row)
        try:
            return self._log(row, directory) if directory else self._unavailable(why)
        except UnavailableError as reason:
            return self._unavailable(f"{reason}; {why}")

    def _unavailable(self, why: str) -> VerifierOutput:
        return VerifierOutput(self.name, f"unavailable: {why}", None)

    def _of(self, row: int, whole: dict[str, Any]) -> VerifierOutput:
        directory = whole.get(_LOGS_DIR)
        why = "row has no verifier_logs_dir and no embedded verifier output"
        if isinstance(directory, str) and directory:
            try:
                return self._log(row, directory)
            except UnavailableError as reason:
                why = str(reason)
        for name in self._fields:
            text = _embedded(field_of(whole, name))
            if text.strip():
                window = text[-WINDOW:]
                lines = tail_of(window, self.search.tail, whole=len(window) == len(text))
                return VerifierOutput(self.name, f"row field {name}", lines)
        return self._unavailable(why)

    def _log(self, row: int, directory: str) -> VerifierOutput:
        roots = self._roots(row)
        absolute = os.path.isabs(directory)
        confined = not (absolute and self.search.allow_absolute)
        reasons = []
        for root in [""] if absolute else roots:
            path = os.path.join("" if root == "." else root, directory)
            try:
                source, text, whole = _read_log(path, roots if confined else None)
            except UnavailableError as reason:
                reasons.append(str(reason))
            else:
                return VerifierOutput(self.name, source, tail_of(text, self.search.tail, whole=whole))
        # A place where something lay says more than one where nothing was.
        raise UnavailableError(next((why for why in reasons if not why.startswith(_NOT_FOUND)), reasons[0]))

    def _roots(self, row: int) -> list[str]:
        search = self.search
        own = os.path.dirname(self.side.shard_of(row).files.rollouts) or "."
        of_side = search.old_roots if self.name == "old" else search.new_roots
        last = [] if search.working_directory is None else [search.working_directory]
        if self._foreign is None:
            # A root that is the other side's own folder could show its log as this side's.
            self._foreign = _directories(self.other) - _directories(self.side)
        foreign = self._foreign
        return [root for root in (own, *of_side, *search.roots, *last) if os.path.realpath(root) not in foreign]


def _directories(side: Side) -> frozenset[str]:
    return frozenset(os.path.realpath(os.path.dirname(shard.files.rollouts) or ".") for shard in side.shards)


def _read_log(path: str, roots: list[str] | None) -> tuple[str, str, bool]:
    """The path, the text and whether that is all of it, of the log at `path` or in that folder.

    With `roots`, only a file inside one of them is read. Raises UnavailableError.
    """
    resolved, status = _resolved(path, roots)
    if stat.S_ISDIR(status.st_mode):
        path = os.path.join(path, _LOG_NAME)
        resolved, status = _resolved(path, roots)
    if not stat.S_ISREG(status.st_mode):
        message = f"not a regular file: {_shown(path)}"
        raise UnavailableError(message)
    if not resolved.endswith(_LOG_ENDINGS):
        message = f"cannot read {_shown(path)}: not named like a log ({', '.join(_LOG_ENDINGS)})"
        raise UnavailableError(message)
    try:
        # The file was resolved: a link or a pipe put in its place meanwhile is neither followed nor waited for.
        log = os.open(resolved, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            size = os.fstat(log).st_size
            start = max(0, size - WINDOW)
            text = os.pread(log, WINDOW, start).decode("utf-8", "replace")
        finally:
            os.close(log)
    except OSError as fault:
        raise UnavailableError(_cannot_read(path, fault)) from None
    return path, text, start == 0


def _resolved(path: str, roots: list[str] | None) -> tuple[str, os.stat_result]:
    try:
        resolved = os.path.realpath(path)
        if roots is not None and not any(_is_inside(resolved, root) for root in roots):
            message = f"outside the log roots: {_shown(path)}"
            raise UnavailableError(message)
        return resolved, os.stat(resolved)
    except (FileNotFoundError, NotADirectoryError):
        message = f"{_NOT_FOUND} {_shown(path)}"
        raise UnavailableError(message) from None
    except OSError as fault:
        raise UnavailableError(_cannot_read(path, fault)) from None
    except ValueError:
        message = f"{_NOT_FOUND} {_shown(path)} (no possible path)"
        raise UnavailableError(message) from None


def _is_inside(resolved: str, root: str) -> bool:
    """Whether a resolved path lies below a root, through no folder whose name begins with a dot."""
    below = os.path.relpath(resolved, os.path.realpath(root))
    return not any(part.startswith(".") for part in below.split(os.sep)) or below == "."


def _cannot_read(path: str, fault: OSError) -> str:
    return f"cannot read {_shown(path)}: {fault.strerror or fault}"


def _shown(path: str) -> str:
    return path if len(path) <= _SHOWN_PATH else path[:_SHOWN_PATH] + "…"


def _embedded(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list | dict) and value:
        try:
            return json.dumps(value, indent=2, ensure_ascii=False)
        except RecursionError:
            return ""
    return ""
