"""The command line: arguments, load, compare, report, exit status."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NoReturn

# Whatever is not needed for --version and --help is imported in _run, so that these start at once.
from rollout_compare.core.schema import CompareInputError, UsageError
from rollout_compare.output import OutputError, print_aside, print_text, whole_file
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
    where = shortened(fault.path, _PATH_BYTES, keep_end=True) + ("" if fault.line is None else f":{fault.line}")
    task = "" if fault.task is None else f" (task {shortened(fault.task, _TASK_BYTES)})"
    return ": ".join(part for part in (where, fault.what) if part) + task


def _fail(message: str) -> int:
    line = shortened(f"error: {message}", _ERROR_BYTES)
    print_aside(f"{line}\n")
    return _UNREADABLE


def _run(arguments: argparse.Namespace) -> int:
    from rollout_compare.core.compare import compare
    from rollout_compare.core.identity import Names
    from rollout_compare.core.inputs import find_shards
    from rollout_compare.core.load import load_side
    from rollout_compare.core.verifier_output import LogSearch, VerifierOutputs

    old_paths, new_paths = _inputs(arguments)
    inputs = [path for files in find_shards(old_paths) + find_shards(new_paths) for path in files.all()]
    to_file = arguments.json is not None and arguments.json != _STDOUT
    with whole_file(arguments.json, inputs) if to_file else contextlib.nullcontext() as json_file:
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
        print_aside(f"wrote {label(arguments.json)}\n")
    if arguments.json == _STDOUT or arguments.format == "json":
        from rollout_compare.report.json_summary import json_summary

        print_text(json_summary(comparison, outputs))
    else:
        from rollout_compare.report.text import text_report

        print_text(f"{line}\n" for line in text_report(comparison, outputs))
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
        description="Compare two rollout files task by task: what is identical, flipped, masked or missing.",
        epilog=(
            "A report, not a gate. Exit status: 0 a report was made, whatever it says; 1 an input cannot be read or "
            "an output cannot be written; 2 wrong usage."
        ),
    )
    add = parser.add_argument
    add(
        "old_rollouts",
        metavar="OLD",
        nargs="?",
        help="reference: a file (.jsonl, .gz, .zst), a directory or a glob",
    )
    add("new_rollouts", metavar="NEW", nargs="?", help="candidate: likewise")
    add("--old", metavar="PATH", action="append", default=[], help="a shard of the reference (repeatable)")
    add("--new", metavar="PATH", action="append", default=[], help="a shard of the candidate (repeatable)")
    add(
        "--key",
        metavar="FIELD",
        type=_key,
        help="dotted field that names the task (default: found by itself)",
    )
    add("--old-key", metavar="FIELD", type=_key, help="the same for the old side only")
    add("--new-key", metavar="FIELD", type=_key, help="the same for the new side only")
    add(
        "--tail",
        metavar="N",
        type=_lines,
        default=15,
        help="lines of verifier output per flip (default 15, 0 none)",
    )
    for option, words in (
        ("--logs-root", "folder that verifier_logs_dir is relative to (repeatable)"),
        ("--old-logs-root", "the same for the old side only"),
        ("--new-logs-root", "the same for the new side only"),
    ):
        add(option, metavar="DIR", action="append", default=[], help=words)
    add("--allow-absolute-logs", action="store_true", help="read absolute log paths outside the folders too")
    add(
        "--verifier-field",
        metavar="FIELD",
        type=_key,
        action="append",
        default=[],
        help="row field with verifier output",
    )
    add(
        "--count-as-zero",
        metavar="CLASS",
        action="append",
        default=[],
        help="failure class that counts as reward 0",
    )
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
