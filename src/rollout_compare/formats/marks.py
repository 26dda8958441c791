"""What shows of which format a file is: the fields of its first line, or of the first bytes of a document."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from rollout_compare.core.reading.json_line import loads
from rollout_compare.formats.given import Given

_DEEPEST = 3
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\]:]|[^\s"{}\[\]:,]+|"', re.DOTALL)
_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def fields_of_first_line(given: Given, member: str) -> frozenset[str]:
    """The fields of the object on the first line of a file; none when that line is not a JSON object by itself."""
    if (member, "line") not in given.marks:
        given.marks[member, "line"] = frozenset(_object(given.first_line(member)))
    return given.marks[member, "line"]


def has_more_lines(given: Given, member: str) -> bool:
    """Whether something follows the first line of a file, as far as its first bytes show."""
    return bool(given.head(member).lstrip().partition(b"\n")[2].strip())


def outline(given: Given, member: str) -> frozenset[str]:
    """The fields that show in the first bytes of a JSON document, those of objects in objects by dotted names.

    JSON Lines have none: those of their first line are another matter.
    """
    if (member, "outline") not in given.marks:
        is_lines = fields_of_first_line(given, member) and has_more_lines(given, member)
        given.marks[member, "outline"] = frozenset() if is_lines else outline_of(given.head(member))
    return given.marks[member, "outline"]


def _object(line: bytes) -> Iterable[str]:
    try:
        return _fields(line)
    except (msgspec.MsgspecError, RecursionError):
        pass
    try:
        found = loads(line)
    except (ValueError, RecursionError):
        return ()
    return found if isinstance(found, dict) else ()


def outline_of(head: bytes) -> frozenset[str]:
    """The dotted names of the fields in the first bytes of a JSON document, down to the third floor.

    >>> sorted(outline_of(b'{"eval": {"task": "a", "tags": [{"x": 1}]}, "samp'))
    ['eval', 'eval.tags', 'eval.task']
    """
    found: set[str] = set()
    # The names of the objects that are open, None for a list; the outermost has none.
    names: list[str | None] = []
    name: str | None = ""
    last = b""
    for token in _TOKEN.findall(head):
        if token in (b"{", b"["):
            names.append(name if token == b"{" else None)
            name = None
        elif token in (b"}", b"]"):
            if names:
                names.pop()
        elif token == b":" and names and None not in names and len(names) <= _DEEPEST:
            name = last[1:-1].decode("utf-8", "replace")
            found.add(".".join([part for part in (*names[1:], name) if part is not None]))
        last = token
    return frozenset(found)
