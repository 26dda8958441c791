"""Private keys in text: whole ones, and what is left of one whose first or last lines are not there.

Example: of the lines

    12:00:01 key written
    12:00:01 MIIEpAIBAAKCAQEAm2Z5T7Wn0pXl7lQ1m8s5N2kq0bWf
    12:00:02 -----END RSA PRIVATE KEY-----
    12:00:02 done

the second and the third are a key whose beginning was cut off. From its END upwards, each line belongs to it that holds
40 characters of base64 in a row, whatever stands before them; "key written" does not, so the key begins below it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_KEY_EDGE = re.compile(r"-----(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----")
_LINE_END = re.compile(r"\\[nrt]")
"""As JSON and Python write one."""
_KEY_BODY = re.compile(r"(?:[\s\\|>]{0,16}[A-Za-z0-9+/=]{16,})*(?:[\s\\|>]{1,16}[A-Za-z0-9+/]{1,15}={1,2})?")
_LINE = re.compile(r"[^\n]+")
_KEY_LINE = re.compile(r"[A-Za-z0-9+/=]{40,}")
_KEY_HEADER = re.compile(r".{0,60}?\b(?:Proc-Type|DEK-Info|Version|Comment|Charset|Hash|MessageID): .{0,200}")
_NO_WORDS = re.compile(r"[\s\d|>.,:+\[\]()TZ-]*")
"""A line that is empty but for the time before it."""
_SHORT_END = re.compile(r"[A-Za-z0-9+/]{4,}={0,2}\s*\Z")
_KEY_PIECE = re.compile(r"[A-Za-z0-9+/=]+")
_BETWEEN_PIECES = re.compile(r"[\s\\|>]{0,16}")
_SHORTEST_PIECE = 16
_LONGEST_KEY = 16 << 10


def has_private_key(text: str) -> bool:
    """Whether there may be one: a quick look."""
    return "PRIVATE KEY" in text


def private_keys(text: str) -> Iterator[tuple[int, int]]:
    """Where each private key starts and ends, in order."""
    done = 0
    for edge in _KEY_EDGE.finditer(text):
        if edge.start() < done:
            continue
        if edge[1] == "BEGIN":
            start, done = edge.start(), _key_end(text, edge.end())
        else:
            first = max(done, edge.start() - _LONGEST_KEY)
            start, done = first + _key_start(text[first : edge.start()]), edge.end()
        yield start, done


def _key_end(text: str, start: int) -> int:
    """Where a private key ends that began before `start`: at its end, or with the last line that looks like its own."""
    edge = _KEY_EDGE.search(text, start, start + _LONGEST_KEY)
    if edge is not None and edge[1] == "END":
        return edge.end()
    limit = edge.start() if edge is not None else min(len(text), start + _LONGEST_KEY)
    # On one line, line ends may be written as in JSON; a letter of them is not part of the key.
    body = _KEY_BODY.match(_LINE_END.sub("  ", text[start:limit]))
    end = start + (body.end() if body is not None else 0)
    for line in _LINE.finditer(text, text.find("\n", start, limit) + 1 or limit, limit):
        if _KEY_LINE.search(line[0]) is not None or _KEY_HEADER.fullmatch(line[0]) is not None:
            end = max(end, line.end())
        elif _NO_WORDS.fullmatch(line[0]) is None:
            break
    return end


def _key_start(text: str) -> int:
    """Where, at the end of a text, the lines of a private key begin, whose end follows; the last one may be short."""
    # A line end as it is written in JSON is not part of a piece: the letter of it could be one.
    text = _LINE_END.sub("  ", text)
    start = len(text)
    for number, piece in enumerate(reversed(list(_KEY_PIECE.finditer(text)))):
        is_next = _BETWEEN_PIECES.fullmatch(text, piece.end(), start) is not None
        if not is_next or (number and len(piece[0]) < _SHORTEST_PIECE):
            break
        start = piece.start()
    # Lines with something before it, a time perhaps, are taken as a whole.
    lines = [line for line in _LINE.finditer(text) if line.end() < len(text)]
    for at, line in enumerate(reversed(lines)):
        is_short_end = at == 0 and _SHORT_END.search(line[0]) is not None
        if _KEY_LINE.search(line[0]) is None and _KEY_HEADER.fullmatch(line[0]) is None and not is_short_end:
            if _NO_WORDS.fullmatch(line[0]) is None:
                break
            continue
        start = min(start, line.start())
    return start
