"""Where reports go: standard output, files that appear whole or not at all, and one line for what goes wrong."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence

from rollout_compare.core.errors import CompareInputError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

    from rollout_compare.core.redaction import Redaction

_CHUNK = 64 << 10


_ERROR_BYTES = 499
"""Longest error line without its line end."""
_PATH_BYTES = 200
"""What of a path an error line keeps at least."""
_TASK_BYTES = 100


def error_line(message: str) -> str:
    """A message as the one line that is printed for an error, in bytes no longer than 499."""
    # Imported only now: --version and --help start at once.
    from rollout_compare.report.untrusted import fitted

    # A runner of GitHub takes `##[` for the start of a command, anywhere in a line.
    return fitted(f"error: {message}".replace("##[", "##\\["), _ERROR_BYTES)


def described(fault: CompareInputError, redact: Redaction) -> str:
    """An unreadable input on one line: where, what, and the task; short enough for an error line."""
    from rollout_compare.report.untrusted import fitted, label

    line = "" if fault.line is None else f":{fault.line}"
    task = "" if fault.task is None else f" (task {fitted(redact(fault.task), _TASK_BYTES)})"
    said = f"{line}: {label(redact(fault.what))}{task}"
    # What is wrong matters more than the start of a very long path.
    room = max(_PATH_BYTES, _ERROR_BYTES - len(f"error: {said}".encode()))
    return (fitted(redact(fault.path), room, keep_end=True) + said).removeprefix(": ")


class OutputError(Exception):
    """An output that cannot be written; the message names it."""


def print_aside(text: str) -> None:
    """Write to standard error as UTF-8; what cannot be written there changes nothing else."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError):
            sys.stderr.buffer.write(text.encode("utf-8"))
            sys.stderr.flush()


def settle_streams() -> None:
    """Drop what the standard streams still hold and cannot write, once all is done and said.

    Python flushes both as it exits. If that failed, it would say so itself and exit with status 120.
    """
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and not _is_flushed(stream):
            with contextlib.suppress(OSError):
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, stream.fileno())
                os.close(nowhere)


def _is_flushed(stream: TextIO) -> bool:
    try:
        stream.flush()
    except OSError:
        return False
    return True


def print_text(pieces: Iterable[str]) -> None:
    """Write to standard output as UTF-8, whatever the locale says.

    Raises OutputError when it cannot be written, and BrokenPipeError when nobody reads it any more.
    """
    if sys.stdout is None:
        raise OutputError("standard output is closed")
    try:
        for chunk in _chunks(pieces):
            sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as fault:
        raise OutputError(f"standard output: cannot be written: {fault.strerror}") from None


def _chunks(pieces: Iterable[str]) -> Iterator[bytes]:
    """The pieces as UTF-8, joined to chunks worth a write each."""
    waiting: list[bytes] = []
    size = 0
    for piece in pieces:
        waiting.append(piece.encode("utf-8", "backslashreplace"))
        size += len(waiting[-1])
        if size >= _CHUNK:
            yield b"".join(waiting)
            waiting, size = [], 0
    yield b"".join(waiting)


def is_standard_output(path: str) -> bool:
    """Whether `path` names what standard output already writes to."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(sys.stdout.fileno()))
    except (OSError, ValueError, AttributeError):
        return False


def is_colour_terminal() -> bool:
    """Whether standard output is a terminal that may be sent colours (see no-color.org)."""
    return (
        sys.stdout is not None
        and sys.stdout.isatty()
        and not os.environ.get("NO_COLOR")
        and os.environ.get("TERM") != "dumb"
    )


class _File:
    """A file written beside its target and put in place whole; a device or a pipe is written as it is."""

    def __init__(self, path: str) -> None:
        try:
            mode = os.stat(path).st_mode
        except FileNotFoundError:
            mode = None
        self._target = path
        self._part: str | None = None
        if mode is not None and not stat.S_ISREG(mode):
            opened = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        else:
            self._target = os.path.realpath(path)
            self._part = os.path.join(os.path.dirname(self._target), f".rollout-compare-{os.urandom(6).hex()}.part")
            opened = os.open(self._part, os.O_WRONLY | os.O_CLOEXEC | os.O_CREAT | os.O_EXCL, 0o666)
            if mode is not None:
                os.fchmod(opened, stat.S_IMODE(mode))
        self._file = open(opened, "wb")  # noqa: SIM115 - closed in close()

    def write(self, pieces: Iterable[str]) -> None:
        for chunk in _chunks(pieces):
            self._file.write(chunk)
        self._file.flush()

    def place(self) -> None:
        """Put it where it belongs."""
        if self._part is not None:
            os.replace(self._part, self._target)
            self._part = None

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._file.close()
        if self._part is not None:
            os.unlink(self._part)


@contextlib.contextmanager
def whole_file(path: str, inputs: Sequence[str]) -> Iterator[_File]:
    """A file that appears when the block ends well, opened now, so that a bad path is known before any work is done.

    Raises UsageError when `path` is one of the `inputs`, and OutputError when it cannot be written.
    """
    refuse_input(path, inputs)
    try:
        file = _File(path)
    except (OSError, ValueError) as fault:
        raise OutputError(_unwritable(path, fault)) from None
    try:
        yield file
        file.place()
    except OSError as fault:
        raise OutputError(_unwritable(path, fault)) from None
    finally:
        file.close()


def refuse_input(path: str, inputs: Sequence[str]) -> None:
    """Raises UsageError when `path` is one of the `inputs`."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return
    for given in inputs:
        with contextlib.suppress(OSError, ValueError):
            if os.path.samestat(status, os.stat(given)):
                raise UsageError(f"{path} is an input, and would be overwritten")


def _unwritable(path: str, fault: Exception) -> str:
    return f"{path}: cannot be written: {getattr(fault, 'strerror', None) or fault}"
