"""Reading the end of a log that an untrusted row names: only inside of the roots, whatever links lead to it."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rollout_compare.core.logs.tail import SHORT_WINDOW, WINDOW, is_enough
from rollout_compare.core.redaction import Redaction, shortened
from rollout_compare.core.sentences import Marked, listed, quoted, told

LOG_ENDINGS = (".txt", ".log", ".out")
_LOG_NAME = "test-stdout.txt"
_NOT_FOUND = told("not found:")
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

    def shown(self, redact: Redaction) -> Marked:
        """The message, with a path of bounded length."""
        return told("{} {}{}", self.why, quoted(shortened(self.path, SHOWN_PATH, redact)), self.more)


@dataclass(frozen=True, slots=True)
class Confinement:
    """Where a side's logs may lie."""

    roots: Sequence[str]
    foreign: frozenset[str]
    """Folders of the other side: what lies there, and in no root further down, is the other side's."""

    def allows(self, resolved: str) -> bool:
        """Whether a resolved path lies below a root, through no folder whose name begins with a dot."""
        roots = [root for root in map(os.path.realpath, self.roots) if _is_below(resolved, root)]
        visible = [root for root in roots if not any(part.startswith(".") for part in _parts(resolved, root))]
        theirs = [folder for folder in self.foreign if _is_below(resolved, folder)]
        return bool(visible) and max(map(len, visible)) >= max(map(len, theirs), default=0)


def _is_below(resolved: str, folder: str) -> bool:
    return os.path.commonpath((resolved, folder)) == folder


def _parts(resolved: str, root: str) -> list[str]:
    below = os.path.relpath(resolved, root)
    return [] if below == os.curdir else below.split(os.sep)


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


def _end_of(resolved: str, status: os.stat_result, tail: int) -> tuple[str, bool]:
    """The end of the file that was found to be `status`, and whether that is all of it."""
    # A link or a pipe put in the file's place meanwhile is neither followed nor waited for.
    log = os.open(resolved, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        opened = os.fstat(log)
        if (opened.st_dev, opened.st_ino) != (status.st_dev, status.st_ino):
            # Nor is one put in place of a folder above it.
            raise OSError(errno.EAGAIN, "changed while it was opened", resolved)
        end = _read_end(log, opened.st_size, SHORT_WINDOW)
        return end if end[1] or is_enough(end[0], tail) else _read_end(log, opened.st_size, WINDOW)
    finally:
        os.close(log)


def _read_end(log: int, size: int, window: int) -> tuple[str, bool]:
    start = max(0, size - window)
    return os.pread(log, window, start).decode("utf-8", "replace"), start == 0


def _resolved(
    path: str, confinement: Confinement | None, bring: Callable[[str], None] | None
) -> tuple[str, os.stat_result]:
    try:
        resolved = os.path.realpath(path)
        if confinement is not None and not confinement.allows(resolved):
            raise UnavailableError(told("outside the log roots:"), path)
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
