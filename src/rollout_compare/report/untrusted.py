"""Text from rollouts and logs, made harmless before it is shown. Every report uses these rules."""

from __future__ import annotations

import re

# Control sequences of a terminal: CSI, OSC and other strings up to their end, and two-character escapes.
_SEQUENCES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"
    r"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?"
    r"|\x1b[ -/]*[0-~]"
    r"|\x9b[0-?]*[ -/]*[@-~]"
)
# Controls, marks that change the direction of text, invisible characters, line and paragraph separators, surrogates.
_HARMFUL = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
_TAB = "    "
_ELLIPSIS = "…"


def label(text: str) -> str:
    """A name or a message on one line: whatever is invisible or moves the cursor is written as its escape."""
    return _HARMFUL.sub(lambda found: _escape(found[0]), text)


def log_line(text: str) -> str:
    """A line of a log: terminal sequences are dropped, tabs widened, other harmful characters written as escapes."""
    if text.isascii() and text.isprintable():
        return text
    return label(_SEQUENCES.sub("", text).replace("\t", _TAB))


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def shortened(text: str, limit: int, *, keep_end: bool = False) -> str:
    """`label(text)`, or as much of its start (or end) as fits `limit` bytes of UTF-8 with an ellipsis."""
    encoded = label(text).encode("utf-8")
    if len(encoded) <= limit:
        return encoded.decode("utf-8")
    room = limit - len(_ELLIPSIS.encode())
    if keep_end:
        return _ELLIPSIS + encoded[-room:].decode("utf-8", "ignore")
    return encoded[:room].decode("utf-8", "ignore") + _ELLIPSIS
