"""Text without anything that acts: no control characters, nothing invisible, nothing that turns text around."""

from __future__ import annotations

import re

# Controls, marks that change the direction of text, invisible characters, line and paragraph separators, surrogates,
# what Unicode says is not a character.
_HARMFUL = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufeff\uffa0\ufff9-\ufffb\ufffe\uffff\ud800-\udfff\U000e0000-\U000e007f]"
)
INVISIBLE = re.compile(
    _HARMFUL.pattern.replace(
        "\x00-\x1f",
        "\x00-\x08\x0b\x0c\x0e-\x1f\u2800\ufe00-\ufe0f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0100-\U000e01ef",
    )
)
"""The same and what varies the look of a character, but for tabs and line ends, which may part words."""
_HTTP = re.compile(r"https?://[A-Za-z0-9._~:/?#@!$&*+,;=%-]+")
_TAB = "    "
_ELLIPSIS = "…"


def label(text: str) -> str:
    """A name or a message on one line: whatever is invisible or moves the cursor is written as its escape."""
    return text if text.isascii() and text.isprintable() else _HARMFUL.sub(_escape, text)


def log_line(text: str) -> str:
    """A line of a log: tabs are widened, other harmful characters written as escapes."""
    return label(text.replace("\t", _TAB))


def _escape(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode("ascii")


def is_web_address(url: str) -> bool:
    """Whether a text is an address of http that is safe as it is, in Markdown and in HTML."""
    return _HTTP.fullmatch(url) is not None


def fitted(text: str, limit: int, *, keep_end: bool = False) -> str:
    """`label(text)`, or as much of its start (or end) as fits `limit` bytes of UTF-8 with an ellipsis."""
    encoded = label(text).encode("utf-8")
    if len(encoded) <= limit:
        return encoded.decode("utf-8")
    room = limit - len(_ELLIPSIS.encode())
    if keep_end:
        return _ELLIPSIS + encoded[-room:].decode("utf-8", "ignore")
    return encoded[:room].decode("utf-8", "ignore") + _ELLIPSIS
