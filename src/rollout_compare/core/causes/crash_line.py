"""The line of a log that tells of a crash or of a program that could not be built, where no exception is named."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rollout_compare.core.causes.exception_line import LONGEST

HINTS = (
    "error: ",
    "error[E",
    ": error ",
    ".go:",
    "undefined reference",
    "Segmentation fault",
    "Aborted",
    "Killed",
    "Bus error",
    "terminate called",
    "timed out after",
    "curl: (",
    "npm ERR!",
    "FATAL ERROR",
    "No rule to make",
    "Unable to locate package",
)
"""Texts one of which is in each line that is found."""
# gcc, clang, javac, nvcc, tsc; rustc; go; ld. Of such errors the first one in sight counts: others follow from it.
_BUILD = re.compile(
    r"(?:\[?ERROR\]?:? )?"
    r"(?:[^\s:()]{1,200}(?::\d{1,9}(?::\d{1,9})?|\(\d{1,9}(?:,\d{1,9})?\)): (?:fatal )?error(?: [A-Z]{1,4}\d{1,6})?: \S"
    r"|error\[E\d{4}\]: \S"
    r"|[^\s:]{1,200}\.go:\d{1,9}:\d{1,9}: \S"
    r"|\S{0,300}: .{0,200}undefined reference to \S)"
)
_CRASH = re.compile(
    r"(?:\S{1,200}: line \d{1,9}: +\d{1,9} +)?(?:Segmentation fault|Aborted|Bus error|Killed)(?: +\(core dumped\)|$)"
    r"|Out of memory: Killed process \d"
    r"|terminate called after throwing an instance of "
    r"|FATAL ERROR: \S"
    r"|curl: \(\d{1,3}\) \S"
    r"|npm ERR! (?:code|404|missing)"
    r"|make(?:\[\d\])?: \*\*\* No rule to make target "
    r"|E: Unable to locate package "
)
_TIMED_OUT = re.compile(r"\btimed out after \d")


def crash_line(lines: Sequence[str]) -> str | None:
    """The first error of a build among these lines, else the last line that tells of a crash; None without any."""
    crash = None
    for whole in lines:
        line = whole[:LONGEST].strip()
        if _BUILD.match(line) is not None:
            return line
        if _CRASH.match(line) is not None or _TIMED_OUT.search(line) is not None:
            crash = line
    return crash
