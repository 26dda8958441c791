"""The line of a log that says with what exception it ended.

What counts is the shape of a line, as runtimes and test runners print it; `docs/semantics.md` has the list. The last
such line stands for the log. Each line is looked at once, and only its start, so the time taken is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

LONGEST = 500
"""How much of a line is looked at and kept, in characters."""

HINTS = (
    *("Error", "Exception", "Failure", "Traceback", "panic", "fatal error", "not found", "No such file", "denied"),
    *("StopIteration", "SystemExit", "Interrupt", "Timeout", "Expired", "Fault", "\nE  ", "mE  "),
)
"""Texts one of which is in each line that is found, or right before it."""
# What stands before the message of a log: an indent or the margin of a group of exceptions, the name of a container, a
# time. No part can begin where the one before could go on, so nothing is tried twice.
_PREFIX = re.compile(
    r"[ \t|>+]{0,40}"
    r"(?:[\w.-]{1,40} {1,20}\| )?"
    r"(?:\[?(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d:\d\d[.,\d]{0,10}(?:Z|[+-]\d\d:?\d\d)?\]?[ \t:-]{1,8})?"
)
_LEVEL = re.compile(
    r"\[?(?:ERROR|FATAL|CRITICAL|SEVERE|error|fatal)(?::[\w.]{1,60}:[ \t]{0,8}|\]?[ \t:-]{1,8}(?!error:))"
)
_ENDINGS = r"(?:Error|Exception|Failure|Fault|Expired|Timeout|Interrupt|Panic)"
# `ValueError: ...`, `a.b.HTTPError`, `java.lang.IllegalStateException: ...`, `TypeError [ERR_X]: ...`, `Error: ...`
_EXCEPTION = re.compile(
    r"(?:(?:Uncaught|Unhandled exception\.|Exception in thread \"[^\"]{0,80}\"|PHP Fatal error:) {1,2})?(?:Uncaught )?"
    r"(?:[A-Za-z_][\w$]{0,80}(?:\.|::)){0,12}"
    rf"(?:{_ENDINGS}(?=:[ \t]{{1,20}}[^\s\d])|[A-Z]\w{{0,80}}{_ENDINGS}(?:Group)?)"
    r"(?: \[[A-Z][A-Z0-9_]{1,60}\])?(?::(?:[ \t]|$)|$)"
)
_BUILT_IN = re.compile(r"(?:StopIteration|StopAsyncIteration|KeyboardInterrupt|SystemExit|GeneratorExit)(?:: |$)")
_CAUSED_BY = re.compile(r"Caused by: \S")
_GO = re.compile(r"(?:panic: |fatal error: )\S")
_RUST = re.compile(r"thread '[^']{0,120}'(?: \(\d{1,12}\))? panicked at ")
_RUST_PLACE = re.compile(r"\S{1,300}:\d{1,9}:\d{1,9}:$")
_RUST_OLD = re.compile(r"'(.*)', \S+:\d+(?::\d+)?$")
_SHELL = re.compile(
    r"(?:(?:\S{1,200}: )?(?:line \d{1,9}: )?\S{1,200}: command not found$"
    r"|\S{0,200}\b(?:sh|env): (?:line )?(?:\d{1,9}: )?(?:\S{1,200}: ){1,2}"
    r"(?:not found|No such file or directory|Permission denied)$"
    r"|(?:\S{1,60}: )?command not found: \S{1,200}$)"
)
_PYTEST = re.compile(r"E {2,}(?=\S)")
_PYTEST_SUMMARY = re.compile(r"(?:FAILED|ERROR) \S.{0,300}? - (?=\S)")
_TRACEBACK = "Traceback (most recent call last):"
_ANY_NAME = re.compile(r"(?:[A-Za-z_]\w{0,80}\.){0,12}[A-Za-z_]\w{0,80}(?:: |$)")
_HINTS = re.compile(
    r"rror|xception|ailure|Fault|Expired|Timeout|Interrupt|Panic|StopIter|StopAsync|SystemExit|GeneratorExit|"
    r"Caused by|panic|not found|No such file|Permission denied|Traceback|FAILED|ERROR "
)


def exception_line(lines: Sequence[str]) -> str | None:
    """The last line of a log that names an exception, without what stands before it; None when there is none.

    `lines` are without line ends and control sequences. A line of pytest's that sums up a failure, often cut short,
    counts only where no other does.
    """
    found: str | None = None
    summary: str | None = None
    in_block = False
    traceback: str | None = None
    for number, whole in enumerate(lines):
        line = whole[:LONGEST]
        pytest_line = _PYTEST.match(line)
        if pytest_line is not None:
            # Of the lines of one failure the first says what it is; the others go on about it.
            if not in_block:
                found = line[pytest_line.end() :].rstrip()
            in_block = True
            continue
        in_block = in_block and line.rstrip() == "E"
        if traceback is not None:
            rest = line.removeprefix(traceback)
            if rest[:1] in {" ", "\t", ""}:
                continue
            traceback = None
            if _ANY_NAME.match(rest) is not None:
                found = rest.rstrip()
                continue
        if _HINTS.search(line) is None:
            continue
        place = line.find(_TRACEBACK)
        if place >= 0:
            # The margin of a group of exceptions changes from line to line; their own lines are known by their shape.
            traceback = None if "Exception Group" in line else line[:place]
            continue
        short = _PYTEST_SUMMARY.match(line)
        if short is not None:
            summary = line[short.end() :].rstrip()
            continue
        found = _exception_in(line, lines[number + 1 : number + 2]) or found
    return found or summary


def _exception_in(line: str, following: Sequence[str]) -> str | None:
    """The exception that one line names, if it does."""
    prefix = _PREFIX.match(line)
    text = line[prefix.end() if prefix is not None else 0 :].rstrip()
    rust = _RUST.match(text)
    if rust is not None:
        return _panic(text[rust.end() :], following)
    if any(shape.match(text) is not None for shape in (_EXCEPTION, _CAUSED_BY, _GO, _SHELL, _BUILT_IN)):
        return text
    level = _LEVEL.match(text)
    text = "" if level is None else text[level.end() :]
    return text if _EXCEPTION.match(text) is not None else None


def _panic(said: str, following: Sequence[str]) -> str:
    """What a Rust panic says: behind its place on the next line, before it in older versions."""
    old = _RUST_OLD.match(said)
    if old is not None:
        return f"panicked: {old[1]}"
    is_place = _RUST_PLACE.match(said) is not None
    message = following[0][:LONGEST].strip() if is_place and following else ""
    return f"panicked: {message or said}"
