"""One comparison from parsed arguments: load, compare, report, exit status."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import time
from collections.abc import Iterator

from rollout_compare.core.compare import compare
from rollout_compare.core.errors import CompareInputError, UsageError
from rollout_compare.core.identity import Names
from rollout_compare.core.inputs import find_shards
from rollout_compare.core.lines import Progress
from rollout_compare.core.load import load_side
from rollout_compare.core.verifier_output import LogSearch, VerifierOutputs
from rollout_compare.output import OutputError, is_standard_output, print_aside, print_text, whole_file
from rollout_compare.report.json_summary import json_summary
from rollout_compare.report.text import text_report
from rollout_compare.report.untrusted import label, shortened

_STDOUT = "-"
_REPORT, _UNREADABLE, _INTERRUPTED = 0, 1, 130
_ERROR_BYTES = 499
"""Longest error line without its line end."""
_PATH_BYTES = 200
"""What of a path an error line keeps at least."""
_TASK_BYTES = 100
_REFRESH = 0.2
"""Seconds between two updates of the progress line."""


def run(arguments: argparse.Namespace) -> int:
    """Run one comparison and return the exit status.

    Raises UsageError for arguments that do not go together.
    """
    try:
        return _report(arguments)
    except CompareInputError as fault:
        return _fail(_described(fault))
    except OutputError as fault:
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
    line = "" if fault.line is None else f":{fault.line}"
    task = "" if fault.task is None else f" (task {shortened(fault.task, _TASK_BYTES)})"
    said = f"{line}: {label(fault.what)}{task}"
    # What is wrong matters more than the start of a very long path.
    room = max(_PATH_BYTES, _ERROR_BYTES - len(f"error: {said}".encode()))
    return (shortened(fault.path, room, keep_end=True) + said).removeprefix(": ")


def _fail(message: str) -> int:
    line = shortened(f"error: {message}", _ERROR_BYTES)
    print_aside(f"{line}\n")
    return _UNREADABLE


def _report(arguments: argparse.Namespace) -> int:
    old_paths, new_paths = _inputs(arguments)
    inputs = [path for files in find_shards(old_paths) + find_shards(new_paths) for path in files.all()]
    to_stdout = arguments.json is not None and (arguments.json == _STDOUT or is_standard_output(arguments.json))
    prints_text = not to_stdout and arguments.format == "text"
    to_file = None if to_stdout else arguments.json
    with whole_file(to_file, inputs) if to_file is not None else contextlib.nullcontext() as json_file:
        names = Names()
        with _progress() as progress:
            old, new = (
                load_side(
                    paths,
                    key=own_key or arguments.key,
                    count_as_zero=arguments.count_as_zero,
                    names=names,
                    progress=progress,
                )
                for paths, own_key in ((old_paths, arguments.old_key), (new_paths, arguments.new_key))
            )
        comparison = compare(old, new, margin=arguments.margin)
        search = LogSearch(
            roots=arguments.logs_root,
            old_roots=arguments.old_logs_root,
            new_roots=arguments.new_logs_root,
            working_directory=".",
            fields=arguments.verifier_field,
            tail=arguments.tail if prints_text else 0,
            allow_absolute=arguments.allow_absolute_logs,
        )
        outputs = VerifierOutputs(comparison, search)
        if json_file is not None:
            json_file.write(json_summary(comparison, outputs))
            print_aside(f"wrote {label(arguments.json)}\n")
    if prints_text:
        print_text(f"{line}\n" for line in text_report(comparison, outputs))
    else:
        print_text(json_summary(comparison, outputs))
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
