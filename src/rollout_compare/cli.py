"""The command line: arguments, load, compare, report, exit status."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import stat
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NoReturn

# Whatever is not needed for --version and --help is imported in _run, so that these start at once.
from rollout_compare.core.schema import CompareInputError, UsageError
from rollout_compare.report.untrusted import label, shortened
from rollout_compare.version import VERSION

if TYPE_CHECKING:
    from rollout_compare.core.lines import Progress

_STDOUT = "-"
_REPORT, _UNREADABLE = 0, 1
_INTERRUPTED, _TERMINATED = 130, 143
_ERROR_BYTES = 499
"""Longest error line without its line end."""
_PATH_BYTES = 200
_TASK_BYTES = 100
_CHUNK = 64 << 10
_REFRESH = 0.2
"""Seconds between two updates of the progress line."""


def entry() -> NoReturn:
    """The `rollout-compare` command."""
    # A cancelled job ends like an interrupted one: what was half-written is taken away.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(_TERMINATED))
    sys.exit(main())


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with `argv` (default: the process's own) and return its exit status.

    0: a report was made, whatever it says; 1: an input cannot be read or an output cannot be written. Wrong usage
    raises SystemExit(2), as argparse does.
    """
    parser = _parser()
    arguments = parser.parse_args(argv)
    try:
        return _run(arguments)
    except UsageError as fault:
        parser.error(label(str(fault)))
    except CompareInputError as fault:
        return _fail(_described(fault))
    except _OutputError as fault:
        return _fail(str(fault))
    except MemoryError:
        return _fail("not enough memory for these inputs")
    except BrokenPipeError:
        # Whoever read the report has seen enough; what is still buffered must not raise at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _REPORT
    except KeyboardInterrupt:
        return _INTERRUPTED


def _described(fault: CompareInputError) -> str:
    where = shortened(fault.path, _PATH_BYTES, keep_end=True) + ("" if fault.line is None else f":{fault.line}")
    task = "" if fault.task is None else f" (task {shortened(fault.task, _TASK_BYTES)})"
    return ": ".join(part for part in (where, fault.what) if part) + task


def _fail(message: str) -> int:
    line = shortened(f"error: {message}", _ERROR_BYTES)
    _stderr(f"{line}\n")
    return _UNREADABLE


def _stderr(text: str) -> None:
    if sys.stderr is not None:
        sys.stderr.buffer.write(text.encode("utf-8"))
        sys.stderr.flush()


class _OutputError(Exception):
    """An output that cannot be written; the message names it."""


def _run(arguments: argparse.Namespace) -> int:
    from rollout_compare.core.compare import compare
    from rollout_compare.core.identity import Names
    from rollout_compare.core.inputs import find_shards
    from rollout_compare.core.load import load_side
    from rollout_compare.core.verifier_output import LogSearch, VerifierOutputs

    old_paths, new_paths = _inputs(arguments)
    inputs = [path for files in find_shards(old_paths) + find_shards(new_paths) for path in files.all()]
    with _json_output(arguments.json, inputs) as json_file:
        names = Names()
        with _progress() as progress:
            old = load_side(
                old_paths,
                key=arguments.old_key or arguments.key,
                count_as_zero=arguments.count_as_zero,
                names=names,
                progress=progress,
            )
            new = load_side(
                new_paths,
                key=arguments.new_key or arguments.key,
                count_as_zero=arguments.count_as_zero,
                names=names,
                progress=progress,
            )
        comparison = compare(old, new)
        search = LogSearch(
            roots=arguments.logs_root,
            old_roots=arguments.old_logs_root,
            new_roots=arguments.new_logs_root,
            working_directory=".",
            fields=arguments.verifier_field,
            tail=arguments.tail,
            allow_absolute=arguments.allow_absolute_logs,
        )
        outputs = VerifierOutputs(comparison, search)
        if json_file is not None:
            from rollout_compare.report.json_summary import json_summary

            json_file.write(json_summary(comparison, outputs))
    if json_file is not None:
        _stderr(f"wrote {label(arguments.json)}\n")
    if arguments.json == _STDOUT or arguments.format == "json":
        from rollout_compare.report.json_summary import json_summary

        _print(json_summary(comparison, outputs))
    else:
        from rollout_compare.report.text import text_report

        _print(f"{line}\n" for line in text_report(comparison, outputs))
    return _REPORT


def _inputs(arguments: argparse.Namespace) -> tuple[list[str], list[str]]:
    positional = [path for path in (arguments.old_rollouts, arguments.new_rollouts) if path is not None]
    if arguments.old or arguments.new:
        if positional:
            message = "give either OLD NEW or --old and --new"
            raise UsageError(message)
        if not (arguments.old and arguments.new):
            message = "--old needs --new and --new needs --old"
            raise UsageError(message)
        return arguments.old, arguments.new
    if len(positional) < 2:
        message = "two inputs are needed: OLD NEW"
        raise UsageError(message)
    return [positional[0]], [positional[1]]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="rollout-compare",
        description="Compare two rollout files task by task: what is identical, what flipped, what is masked or missing.",
        epilog=(
            "A report, not a gate. Exit status: 0 a report was made, whatever it says; 1 an input cannot be read or "
            "an output cannot be written; 2 wrong usage."
        ),
    )
    add = parser.add_argument
    add("old_rollouts", metavar="OLD", nargs="?", help="reference: a file (.jsonl, .gz, .zst), a directory or a glob")
    add("new_rollouts", metavar="NEW", nargs="?", help="candidate: likewise")
    add("--old", metavar="PATH", action="append", default=[], help="a shard of the reference (repeatable)")
    add("--new", metavar="PATH", action="append", default=[], help="a shard of the candidate (repeatable)")
    add("--key", metavar="FIELD", type=_key, help="dotted field that names the task (default: found by itself)")
    add("--old-key", metavar="FIELD", type=_key, help="the same for the old side only")
    add("--new-key", metavar="FIELD", type=_key, help="the same for the new side only")
    add("--tail", metavar="N", type=_lines, default=15, help="lines of verifier output per flip (default 15, 0 none)")
    roots = {"action": "append", "default": [], "metavar": "DIR"}
    add("--logs-root", **roots, help="folder that verifier_logs_dir is relative to (repeatable)")
    add("--old-logs-root", **roots, help="the same for the old side only")
    add("--new-logs-root", **roots, help="the same for the new side only")
    add("--allow-absolute-logs", action="store_true", help="read absolute log paths outside the folders too")
    add("--verifier-field", metavar="FIELD", type=_key, action="append", default=[], help="row field with verifier output")
    add("--count-as-zero", metavar="CLASS", action="append", default=[], help="failure class that counts as reward 0")
    add("--json", metavar="PATH", help="write the JSON summary to PATH, or - for standard output")
    add("--format", choices=("text", "json"), default="text", help="what to print (default text)")
    add("--version", action="version", version=f"rollout-compare {VERSION}")
    return parser


def _key(text: str) -> str:
    if not all(text.split(".")):
        message = f"{text!r} is no dotted field name"
        raise argparse.ArgumentTypeError(message)
    return text


def _lines(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        message = f"{text!r} is no number of lines"
        raise argparse.ArgumentTypeError(message)
    return int(text)


def _print(pieces: Iterable[str]) -> None:
    """Write to standard output as UTF-8, whatever the locale says."""
    if sys.stdout is None:
        message = "standard output is closed"
        raise _OutputError(message)
    try:
        for chunk in _chunks(pieces):
            sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as fault:
        message = f"standard output: cannot be written: {fault.strerror}"
        raise _OutputError(message) from None


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


class _JsonFile:
    """A file written beside its target and put in place whole; a device or a pipe is written as it is."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._target = os.path.realpath(path)
        try:
            mode = os.stat(self._target).st_mode
        except FileNotFoundError:
            mode = None
        direct = mode is not None and not stat.S_ISREG(mode)
        self._part = None if direct else os.path.join(os.path.dirname(self._target), f".rollout-compare-{os.getpid()}.part")
        flags = os.O_WRONLY | os.O_CLOEXEC | (0 if direct else os.O_CREAT | os.O_EXCL)
        self._file = open(os.open(self._part or self._target, flags, 0o666), "wb")  # noqa: SIM115 - closed in close()
        if mode is not None and not direct:
            os.fchmod(self._file.fileno(), stat.S_IMODE(mode))

    def write(self, pieces: Iterable[str]) -> None:
        for chunk in _chunks(pieces):
            self._file.write(chunk)
        self._file.flush()
        if self._part is not None:
            os.replace(self._part, self._target)
            self._part = None

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._file.close()
        if self._part is not None:
            os.unlink(self._part)


@contextlib.contextmanager
def _json_output(path: str | None, inputs: list[str]) -> Iterator[_JsonFile | None]:
    """The file for the JSON summary, opened before anything is read, so that a bad path is known at once."""
    if path is None or path == _STDOUT:
        yield None
        return
    for given in inputs:
        with contextlib.suppress(OSError, ValueError):
            if os.path.samefile(path, given):
                message = f"--json {path} would overwrite an input"
                raise UsageError(message)
    try:
        file = _JsonFile(path)
    except (OSError, ValueError) as fault:
        raise _OutputError(_unwritable(path, fault)) from None
    try:
        yield file
    except OSError as fault:
        raise _OutputError(_unwritable(path, fault)) from None
    finally:
        file.close()


def _unwritable(path: str, fault: Exception) -> str:
    return f"{path}: cannot be written: {getattr(fault, 'strerror', None) or fault}"


@contextlib.contextmanager
def _progress() -> Iterator[Progress | None]:
    """A progress line on standard error for reads over a second; none unless that is a terminal."""
    if sys.stderr is None or not sys.stderr.isatty() or os.environ.get("CI"):
        yield None
        return
    begin = time.monotonic()
    shown = begin

    def show(path: str, done: int, size: int) -> None:
        nonlocal shown
        now = time.monotonic()
        if now - begin > 1 and now - shown > _REFRESH:
            shown = now
            share = f"{100 * done // size:3d}%" if size else ""
            sys.stderr.write(f"\r\x1b[Kreading {label(os.path.basename(path))} {share} {done / 1e6:,.0f} MB")
            sys.stderr.flush()

    try:
        yield show
    finally:
        if shown != begin:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
