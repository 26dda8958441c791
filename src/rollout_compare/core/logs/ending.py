"""The last line of an output that says how it ended, looked for from its end."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from rollout_compare.core.logs.tail import tail_of
from rollout_compare.core.redaction import Redaction

_BEFORE, _AFTER = 120, 60
"""How many lines before and after a hint are looked at."""
_PIECE = 32 << 10
"""How much on either side of it at most, in characters."""
_TRIES = 3
"""How often a word that seemed to tell something may have told nothing."""


class LineSearch(NamedTuple):
    """A line that is looked for at the end of an output."""

    hints: tuple[str, ...]
    """Texts one of which is in the line, or right before it."""
    line_of: Callable[[Sequence[str]], str | None]
    """The line, of some lines without line ends."""


class EndSearch(NamedTuple):
    """What is asked of a row that is to tell how it ended."""

    lines: tuple[LineSearch, ...]
    """Each is tried only when those before it found nothing."""
    fields: tuple[str, ...]
    """Fields of the row that may hold test results."""


class RowEnd(NamedTuple):
    """How a row ended: what its verifier's output and its own fields say."""

    lines: tuple[str | None, ...]
    """What each of the searches found, redacted; nothing after one that did."""
    reasons: dict[str, Any]
    """What the row says of its failure by its own fields, as JSON values, not redacted."""
    fields: dict[str, bytes]
    """The fields of the search that the row has, as their JSON text, not redacted."""
    logs_dir: str
    """What it says of where its log lies; empty when it does not."""

    def packed(self) -> bytes:
        """All of it in few bytes, from which `unpacked` makes it again."""
        fields = {name: text.decode("utf-8", "replace") for name, text in self.fields.items()}
        return zlib.compress(json.dumps([self.lines, self.reasons, fields, self.logs_dir]).encode(), 1)

    @classmethod
    def unpacked(cls, data: bytes) -> RowEnd:
        """What `packed` was made of."""
        lines, reasons, fields, logs_dir = json.loads(zlib.decompress(data))
        return cls(tuple(lines), reasons, {name: text.encode() for name, text in fields.items()}, logs_dir)


NOTHING_SAID = RowEnd((), {}, {}, "")


def telling_lines(
    text: str, searches: Sequence[LineSearch], *, whole: bool, redact: Redaction
) -> tuple[str | None, ...]:
    """What each search finds in an output, up to the first that finds something.

    `whole` says that `text` starts where the output does.
    """
    found: list[str | None] = []
    for search in searches:
        found.append(_last_line(text, search, whole=whole, redact=redact))
        if found[-1] is not None:
            break
    return tuple(found)


def _last_line(text: str, search: LineSearch, *, whole: bool, redact: Redaction) -> str | None:
    """The line of a search, looked for from the end on; only the lines round a hint are looked at."""
    stop = len(text)
    for _ in range(_TRIES):
        place = max((text.rfind(hint, 0, stop) for hint in search.hints), default=-1)
        if place < 0:
            return None
        start, end = _lines_before(text, place), _lines_after(text, place, stop)
        window, is_whole = text[start:end], whole and not start
        if search.line_of(tail_of(window, _BEFORE + _AFTER, whole=is_whole)) is not None:
            # A secret may be longer than the line: it is taken out of all the lines, then the line is looked for again.
            return search.line_of(tail_of(window, _BEFORE + _AFTER, whole=is_whole, redact=redact))
        stop = min(start, place)
    return None


def _lines_before(text: str, place: int) -> int:
    start, limit = place, max(0, place - _PIECE)
    for _ in range(_BEFORE):
        start = text.rfind("\n", limit, start)
        if start < 0:
            return limit
    return start + 1


def _lines_after(text: str, place: int, stop: int) -> int:
    end, limit = place, min(stop, place + _PIECE)
    for _ in range(_AFTER):
        end = text.find("\n", end, limit) + 1
        if not end:
            return limit
    return end
