"""How many attempts of a shard were planned: what its collector wrote down before it began."""

from __future__ import annotations

import json
import os
import stat

from rollout_compare.core.reading.json_line import is_blank
from rollout_compare.core.reading.lines import LineFile, Progress

_LARGEST = 1 << 20
"""Longest `<stem>_coverage.json` that is read, in bytes."""
_PERHAPS_BLANK = 64
"""A line of so many bytes is taken for one that holds something."""


def expected_in(path: str) -> int | None:
    """What a `<stem>_coverage.json` says was `expected`; None when it does not say so in a way that is understood."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:
            text = file.read(_LARGEST + 1) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
        said = json.loads(text.decode("utf-8", "replace")) if len(text) <= _LARGEST else None
    except (OSError, ValueError, RecursionError):
        return None
    expected = said.get("expected") if isinstance(said, dict) else None
    return expected if isinstance(expected, int) and not isinstance(expected, bool) and expected >= 0 else None


def lines_of(path: str, progress: Progress | None) -> int:
    """How many lines of a file hold something. Raises CompareInputError when it cannot be read."""
    with LineFile(path, progress) as file:
        return sum(
            not is_blank(line) if len(line) < _PERHAPS_BLANK else 1 for block in file.blocks() for line in block.lines
        )
