"""One comparison from parsed arguments: load, compare, report, exit status."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import time
from collections.abc import Iterable, Iterator
from functools import cached_property

from rollout_compare.core.compare import Comparison, compare
from rollout_compare.core.errors import CompareInputError, UsageError
from rollout_compare.core.identity import Names
from rollout_compare.core.inputs import find_shards
from rollout_compare.core.lines import Progress
from rollout_compare.core.load import load_side
from rollout_compare.core.verifier_output import LogSearch, VerifierOutputs
from rollout_compare.output import (
    OutputError,
    is_colour_terminal,
    is_standard_output,
    print_aside,
    print_text,
    whole_file,
)
from rollout_compare.report.facts import Facts
from rollout_compare.report.json_summary import json_summary
from rollout_compare.report.text import text_report
from rollout_compare.report.untrusted import Redactor, fitted, label

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rollout_compare.report.template import Template

_STDOUT = "-"
_FILES = ("json", "markdown", "html")
"""The reports that can be written to files, under the names of their options."""
HTML_LINES = 2_000
"""Lines of verifier output per flip that the HTML report may hold."""
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
    redact = Redactor.of_environment(os.environ, patterns=arguments.redact)
    try:
        return _report(arguments, redact)
    except CompareInputError as fault:
        return _fail(_described(fault, redact))
    except UsageError as fault:
        raise UsageError(redact(str(fault))) from None
    except OutputError as fault:
        return _fail(redact(str(fault)))
    except MemoryError:
        return _fail("not enough memory for these inputs")
    except BrokenPipeError:
        # Whoever read the report has seen enough; what is still buffered must not raise at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _REPORT
    except KeyboardInterrupt:
        return _INTERRUPTED


def _described(fault: CompareInputError, redact: Redactor) -> str:
    line = "" if fault.line is None else f":{fault.line}"
    task = "" if fault.task is None else f" (task {fitted(redact(fault.task), _TASK_BYTES)})"
    said = f"{line}: {label(redact(fault.what))}{task}"
    # What is wrong matters more than the start of a very long path.
    room = max(_PATH_BYTES, _ERROR_BYTES - len(f"error: {said}".encode()))
    return (fitted(redact(fault.path), room, keep_end=True) + said).removeprefix(": ")


def _fail(message: str) -> int:
    line = fitted(f"error: {message}", _ERROR_BYTES)
    print_aside(f"{line}\n")
    return _UNREADABLE


class _Reports:
    """The reports of one comparison, each with its own count of what was redacted."""

    def __init__(self, arguments: argparse.Namespace, redact: Redactor) -> None:
        self._arguments = arguments
        self._redact = redact
        old_paths, new_paths = _inputs(arguments)
        self._sides = (old_paths, arguments.old_key), (new_paths, arguments.new_key)
        self.input_files = [path for files in find_shards(old_paths) + find_shards(new_paths) for path in files.all()]
        self._comparison: Comparison | None = None
        self._outputs: VerifierOutputs | None = None

    def compare(self) -> None:
        """Read both sides and compare them."""
        arguments = self._arguments
        names = Names()
        with _progress(self._redact) as progress:
            old, new = (
                load_side(
                    paths,
                    key=own_key or arguments.key,
                    count_as_zero=arguments.count_as_zero,
                    names=names,
                    progress=progress,
                    redact=self._redact,
                )
                for paths, own_key in self._sides
            )
        self._comparison = compare(old, new, margin=arguments.margin, redact=self._redact)
        search = LogSearch(
            roots=arguments.logs_root,
            old_roots=arguments.old_logs_root,
            new_roots=arguments.new_logs_root,
            working_directory=".",
            fields=arguments.verifier_field,
            tail=arguments.tail,
            longest=HTML_LINES if arguments.html is not None and arguments.tail else 0,
            allow_absolute=arguments.allow_absolute_logs,
            redact=self._redact,
        )
        self._outputs = VerifierOutputs.of_comparison(self._comparison, search)

    def pieces(self, form: str, *, colour: bool = False) -> Iterable[str]:
        """The text of one report in pieces."""
        assert self._comparison is not None
        assert self._outputs is not None
        redact = self._redact.branch()
        facts = Facts(self._comparison, self._outputs.redacted_by(redact), redact)
        if form == "json":
            return json_summary(facts)
        if form == "text":
            return (f"{line}\n" for line in text_report(facts, colour=colour))
        if form == "html":
            from rollout_compare.report.html import html_report

            return html_report(facts)
        from rollout_compare.report.markdown import markdown_report

        return [markdown_report(facts, template=self.template)]

    @cached_property
    def template(self) -> Template:
        """The template of the Markdown report, the user's own if there is one."""
        from rollout_compare.report.template import load_template

        return load_template(self._arguments.template)


def _report(arguments: argparse.Namespace, redact: Redactor) -> int:
    reports = _Reports(arguments, redact)
    printed, written = _wanted(arguments)
    if arguments.template is not None:
        # Before any work is done, and whatever is asked for: a broken template is a mistake.
        _ = reports.template
    with contextlib.ExitStack() as stack:
        files = {form: stack.enter_context(whole_file(path, reports.input_files)) for form, path in written.items()}
        reports.compare()
        for form, file in files.items():
            file.write(reports.pieces(form))
        for path in written.values():
            print_aside(f"wrote {label(redact(path))}\n")
        print_text(reports.pieces(printed, colour=is_colour_terminal()))
    return _REPORT


def _wanted(arguments: argparse.Namespace) -> tuple[str, dict[str, str]]:
    """What is printed, and the file of each other report that is asked for."""
    asked = {form: getattr(arguments, form) for form in _FILES if getattr(arguments, form) is not None}
    to_stdout = [form for form, path in asked.items() if path == _STDOUT or is_standard_output(path)]
    if len(to_stdout) > 1:
        message = f"only one report can go to standard output, not {' and '.join(to_stdout)}"
        raise UsageError(message)
    written = {form: path for form, path in asked.items() if form not in to_stdout}
    places = [os.path.realpath(path) for path in written.values()]
    if len(set(places)) < len(places):
        message = "two reports would be written to the same file"
        raise UsageError(message)
    return (to_stdout[0] if to_stdout else arguments.format), written


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
def _progress(redact: Redactor) -> Iterator[Progress | None]:
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
            sys.stderr.write(f"\r\x1b[Kreading {label(redact(os.path.basename(path)))} {share} {done / 1e6:,.0f} MB")
            sys.stderr.flush()

    try:
        yield show
    finally:
        if shown != begin:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
