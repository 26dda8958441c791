"""Where the log that a row names may lie: where its path says, or, made on another machine, by its last parts."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

_MOST_PARTS = 32
_FEWEST_PARTS = 2


def places_as_named(named: str, roots: Sequence[str]) -> list[str]:
    """An absolute path as it is, a relative one below each root."""
    return [named] if os.path.isabs(named) else [_below(root, named) for root in roots]


def places_by_last_parts(named: str, roots: Sequence[str]) -> Iterator[str]:
    """The last parts of a path below each root, longest first, at least two of them.

    `/data/run5/verifier/s1` may lie below the root as `run5/verifier/s1`, or as `verifier/s1`. Where a path has no
    slash, backslashes part it.
    """
    parts = [part for part in named.split("/" if "/" in named else "\\") if part not in {"", os.curdir}]
    if os.pardir in parts:
        # What stands before it says nothing of where the rest lies.
        parts = parts[len(parts) - parts[::-1].index(os.pardir) :]
    is_tried = not os.path.isabs(named) and "/".join(parts) == os.path.normpath(named)
    longest = min(len(parts) - is_tried, _MOST_PARTS)
    for root in roots:
        for number in range(longest, _FEWEST_PARTS - 1, -1):
            yield _below(root, "/".join(parts[-number:]))


def _below(root: str, path: str) -> str:
    return path if root == os.curdir else os.path.join(root, path)
