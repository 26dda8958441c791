"""Reading what an untrusted row names, the end of a log or test results: only inside of the roots, whatever links lead
to it.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from rollout_compare.core.logs.tail import SHORT_WINDOW, WINDOW, is_enough
from rollout_compare.core.redaction import Redaction, shortened
from rollout_compare.core.sentences import Marked, listed, quoted, told

LOG_ENDINGS = (".txt", ".log", ".out")
RESULT_FILES = frozenset({"ctrf.json", "report.json", "junit.xml"})
"""The only other files that are read, beside a log: test results."""
_LOG_NAME = "test-stdout.txt"
_NOT_FOUND = told("not found:")
_OUTSIDE = told("outside the log roots:")
_NOTHING = told("")
SHOWN_PATH = 300
"""Longest path shown in a message, in characters."""


class UnavailableError(Exception):
    """A log that is not shown: why, its path, and what else there is to say."""

    def __init__(self, why: Marked, path: str, more: Marked = _NOTHING) -> None:
        super().__init__(why, path, more)
        self.why = why
        self.path = path
        self.more = more

    @property
    def is_nothing_there(self) -> bool:
        """Whether nothing lay at the path."""
        return self.why == _NOT_FOUND

    def is_elsewhere(self, path: str) -> bool:
        """Whether nothing lay at `path` itself, or outside of the roots."""
        return self.why == _OUTSIDE or (self.is_nothing_there and self.path == path)

    def shown(self, redact: Redaction) -> Marked:
        """The message, with a path of bounded length."""
        return told("{} {}{}", self.why, quoted(shortened(self.path, SHOWN_PATH, redact)), self.more)


@dataclass(frozen=True)
class Confinement:
    """Where a side's logs may lie."""

    roots: Sequence[str]
    foreign: frozenset[str]
    """Folders of the other side: what lies there, and in no root further down, is the other side's."""

    def allows(self, resolved: str) -> bool:
        """Whether a resolved path lies below a root, through no folder whose name begins with a dot."""
        roots = [root for root in self._resolved_roots if _is_below(resolved, root)]
        visible = [root for root in roots if f"{os.sep}." not in resolved[len(root.rstrip(os.sep)) :]]
        theirs = [folder for folder in self.foreign if _is_below(resolved, folder)]
        return bool(visible) and max(map(len, visible)) >= max(map(len, theirs), default=0)

    @cached_property
    def _resolved_roots(self) -> list[str]:
        return list(map(os.path.realpath, self.roots))


def _is_below(resolved: str, folder: str) -> bool:
    """Whether one resolved path is another, or lies below it."""
    return resolved == folder or resolved.startswith(folder.rstrip(os.sep) + os.sep)


def read_log(
    path: str, confinement: Confinement | None, tail: int, bring: Callable[[str], None] | None
) -> tuple[str, str, bool]:
    """The path, as much of the end as a tail needs and whether that is all, of the log at `path` or in that folder.

    Raises UnavailableError, also for a log that the confinement does not allow.
    """
    resolved, status = _resolved(path, confinement, bring)
    if stat.S_ISDIR(status.st_mode):
        path = os.path.join(path, _LOG_NAME)
        resolved, status = _resolved(path, confinement, bring)
    if not stat.S_ISREG(status.st_mode):
        raise UnavailableError(told("not a regular file:"), path)
    if not resolved.endswith(LOG_ENDINGS):
        endings = listed(", ", map(quoted, LOG_ENDINGS))
        raise UnavailableError(told("cannot read"), path, told(": not named like a log ({})", endings))
    try:
        return path, *_end_of(resolved, status, tail)
    except OSError as fault:
        raise _cannot_read(path, fault) from None


def folder_of_log(path: str, confinement: Confinement | None, bring: Callable[[str], None] | None) -> str | None:
    """The folder of the log at `path`, or that folder when it is one; None when the confinement does not allow it.

    The log need not be there, but its folder must.
    """
    above = os.path.dirname(path) or os.curdir
    for folder in [path, above] if path.endswith(LOG_ENDINGS) else [path]:
        try:
            _, status = _resolved(folder, confinement, bring)
        except UnavailableError:
            continue
        return folder if stat.S_ISDIR(status.st_mode) else above
    return None


def read_results(
    folder: str, name: str, confinement: Confinement | None, limit: int, bring: Callable[[str], None] | None
) -> bytes:
    """All of a file with test results in a folder; `name` is one of `RESULT_FILES`.

    Raises UnavailableError, also for one of more than `limit` bytes or that the confinement does not allow.
    """
    path = os.path.join(folder, name)
    resolved, status = _resolved(path, confinement, bring)
    if not stat.S_ISREG(status.st_mode):
        raise UnavailableError(told("not a regular file:"), path)
    if os.path.basename(resolved) not in RESULT_FILES:
        raise UnavailableError(told("cannot read"), path, told(": not named like test results"))
    try:
        data = b"" if status.st_size > limit else _read_all(_opened(resolved, status), limit)
    except OSError as fault:
        raise _cannot_read(path, fault) from None
    if max(status.st_size, len(data)) > limit:
        raise UnavailableError(told("cannot read"), path, told(": larger than {} MiB", limit >> 20))
    return data


def _end_of(resolved: str, status: os.stat_result, tail: int) -> tuple[str, bool]:
    """The end of the file that was found to be `status`, and whether that is all of it."""
    log = _opened(resolved, status)
    try:
        size = os.fstat(log).st_size
        end = _read_end(log, size, SHORT_WINDOW)
        return end if end[1] or is_enough(end[0], tail) else _read_end(log, size, WINDOW)
    finally:
        os.close(log)


def _opened(resolved: str, status: os.stat_result) -> int:
    """The file that was found to be `status`, opened for reading."""
    # A link or a pipe put in the file's place meanwhile is neither followed nor waited for.
    file = os.open(resolved, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    opened = os.fstat(file)
    if (opened.st_dev, opened.st_ino) != (status.st_dev, status.st_ino):
        os.close(file)
        # Nor is one put in place of a folder above it.
        raise OSError(errno.EAGAIN, "changed while it was opened", resolved)
    return file


def _read_end(log: int, size: int, window: int) -> tuple[str, bool]:
    start = max(0, size - window)
    return os.pread(log, window, start).decode("utf-8", "replace"), start == 0


def _read_all(file: int, limit: int) -> bytes:
    """What an open file holds, and no more than one byte over the limit of it; closes it."""
    with open(file, "rb", buffering=0) as opened:
        data = b""
        while len(data) <= limit and (piece := opened.read(limit + 1 - len(data))):
            data += piece
    return data


def _resolved(
    path: str, confinement: Confinement | None, bring: Callable[[str], None] | None
) -> tuple[str, os.stat_result]:
    try:
        resolved = os.path.realpath(path)
        if confinement is not None and not confinement.allows(resolved):
            raise UnavailableError(_OUTSIDE, path)
        if bring is not None:
            bring(path)
        return resolved, os.stat(resolved)
    except (FileNotFoundError, NotADirectoryError):
        raise UnavailableError(_NOT_FOUND, path) from None
    except OSError as fault:
        raise _cannot_read(path, fault) from None
    except ValueError:
        raise UnavailableError(_NOT_FOUND, path, told(" (not a possible path)")) from None


def _cannot_read(path: str, fault: OSError) -> UnavailableError:
    why = quoted(fault.strerror) if fault.strerror else told("an error of the system")
    return UnavailableError(told("cannot read"), path, told(": {}", why))
