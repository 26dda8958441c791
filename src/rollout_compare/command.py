"""One comparison from parsed arguments: load, compare, report, exit status."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import time
from collections.abc import Iterable, Iterator

from rollout_compare.core.errors import CompareInputError, UsageError
from rollout_compare.core.reading.choice import Condition
from rollout_compare.core.reading.lines import Progress
from rollout_compare.output import (
    OutputError,
    described,
    error_line,
    is_colour_terminal,
    is_standard_output,
    print_aside,
    print_text,
    refuse_input,
    whole_file,
)
from rollout_compare.pipeline import Reports, Request
from rollout_compare.report.untrusted import Redactor, label

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rollout_compare.report.template import Template

_STDOUT = "-"
_FILES = ("json", "markdown", "html")
"""The reports that can be written to files, under the names of their options."""
_REPORT, _UNREADABLE, _INTERRUPTED = 0, 1, 130
_REFRESH = 0.2
"""Seconds between two updates of the progress line."""


def run(arguments: argparse.Namespace) -> int:
    """Run one comparison and return the exit status.

    Raises UsageError for arguments that do not go together.
    """
    redact = Redactor.from_environment(os.environ, patterns=arguments.redact)
    try:
        return _report(arguments, redact)
    except CompareInputError as fault:
        return _fail(described(fault, redact))
    except UsageError as fault:
        raise UsageError(redact(str(fault))) from None
    except OutputError as fault:
        return _fail(redact(str(fault)))
    except MemoryError:
        return _fail("not enough memory for these inputs")
    except BrokenPipeError:
        # Whoever read the report has seen enough.
        return _REPORT
    except KeyboardInterrupt:
        return _INTERRUPTED


def _fail(message: str) -> int:
    print_aside(f"{error_line(message)}\n")
    return _UNREADABLE


def _report(arguments: argparse.Namespace, redact: Redactor) -> int:
    request = _request(arguments)
    input_files = request.input_files()
    printed, written = _wanted(arguments)
    # Before any work is done, and whatever is asked for: a broken template is a mistake.
    template = None if arguments.template is None else _template(arguments.template)
    with contextlib.ExitStack() as stack:
        files = {form: stack.enter_context(whole_file(path, input_files)) for form, path in written.items()}
        with _progress(redact) as progress:
            reports = Reports.from_request(request, redact, with_html="html" in (printed, *written), progress=progress)
        for path in written.values():
            # Only now is it known what was read of a folder.
            refuse_input(path, reports.input_files)
        for form, file in files.items():
            file.write(_pieces(reports, form, template))
        pieces = _pieces(reports, printed, template)
    for path in written.values():
        print_aside(f"wrote {label(redact(path))}\n")
    print_text(pieces)
    return _REPORT


def _template(path: str) -> Template:
    from rollout_compare.report.template import own_template

    return own_template(path)


def _pieces(reports: Reports, form: str, template: Template | None) -> Iterable[str]:
    if form == "markdown":
        from rollout_compare.report.markdown import ReportContext, markdown_report

        return [markdown_report(reports.facts(), setting=ReportContext(options=reports.options), template=template)]
    if form == "text":
        return reports.text(colour=is_colour_terminal())
    return reports.json() if form == "json" else reports.html()


def _request(arguments: argparse.Namespace) -> Request:
    old, new = _inputs(arguments)
    for root in (*arguments.logs_root, *arguments.old_logs_root, *arguments.new_logs_root):
        if not os.path.isdir(root):
            raise UsageError(f"a folder for logs is not there: {root}")
    return Request(
        old,
        new,
        old_key=arguments.old_key or arguments.key,
        new_key=arguments.new_key or arguments.key,
        reward=arguments.reward,
        old_where=[Condition(*pair) for pair in (*arguments.where, *arguments.old_where)],
        new_where=[Condition(*pair) for pair in (*arguments.where, *arguments.new_where)],
        format_in=arguments.format_in,
        margin=arguments.margin,
        count_as_zero=arguments.count_as_zero,
        tail=arguments.tail,
        logs_roots=arguments.logs_root,
        old_logs_roots=arguments.old_logs_root,
        new_logs_roots=arguments.new_logs_root,
        working_directory=".",
        verifier_fields=arguments.verifier_field,
        allow_absolute_logs=arguments.allow_absolute_logs,
    )


def _wanted(arguments: argparse.Namespace) -> tuple[str, dict[str, str]]:
    """What is printed, and the file of each other report that is asked for."""
    asked = {form: getattr(arguments, form) for form in _FILES if getattr(arguments, form) is not None}
    to_stdout = [form for form, path in asked.items() if path == _STDOUT or is_standard_output(path)]
    if len(to_stdout) > 1:
        raise UsageError(f"only one report can go to standard output, not {' and '.join(to_stdout)}")
    written = {form: path for form, path in asked.items() if form not in to_stdout}
    places = [os.path.realpath(path) for path in written.values()]
    if len(set(places)) < len(places):
        raise UsageError("two reports would be written to the same file")
    return (to_stdout[0] if to_stdout else arguments.format), written


def _inputs(arguments: argparse.Namespace) -> tuple[list[str], list[str]]:
    positional = [path for path in (arguments.old_rollouts, arguments.new_rollouts) if path is not None]
    if arguments.old or arguments.new:
        if positional:
            raise UsageError("give either OLD NEW or --old and --new")
        if not (arguments.old and arguments.new):
            raise UsageError("--old needs --new and --new needs --old")
        return arguments.old, arguments.new
    if len(positional) < 2:
        raise UsageError("two inputs are needed: OLD NEW")
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
            print_aside(f"\r\x1b[Kreading {label(redact(os.path.basename(path)))} {share} {done / 1e6:,.0f} MB")

    try:
        yield show
    finally:
        if shown != begin:
            print_aside("\r\x1b[K")
