"""The last lines of a verifier's output, as a terminal would have left them."""

from __future__ import annotations

import re

LINE_LIMIT = 2_000
"""Longest line shown, in characters."""
TAIL_LIMIT = 64 << 10
"""Longest tail shown, in bytes of UTF-8."""
WINDOW = 1 << 20
"""How much of the end of an output is looked at, in bytes: what progress lines overwrite is not shown."""

_CUT = "…"
# Line ends, returns and control sequences; of the latter only cursor up and erasing leave a trace in what is shown.
_CONTROL = re.compile(r"(\r?\n|\r|\x1b\[[0-?]*[ -/]*[@-~])")
_MOVES = re.compile(r"\x1b\[(\d{0,4})(?:;\d*)?([AFJK])")


def tail_of(text: str, lines: int, *, whole: bool = True) -> list[str]:
    """The last `lines` lines of `text`: overwritten and redrawn lines in their last state, long ones cut.

    `whole` says that `text` starts where the output does. Control sequences of a terminal are carried out or dropped;
    other control characters are still in what is returned, and whoever shows it makes them harmless.
    """
    if lines <= 0:
        return []
    if "\r" in text or "\x1b" in text:
        drawn = _drawn(text)
    else:
        drawn = text.rstrip("\n").rsplit("\n", lines)
        whole = whole or len(drawn) > lines
    while drawn and not drawn[-1]:
        drawn.pop()
    first_is_part = not whole and len(drawn) > 0
    shown: list[str] = []
    size = 0
    for at in range(len(drawn) - 1, max(-1, len(drawn) - 1 - lines), -1):
        line = _cut(drawn[at], at_start=first_is_part and at == 0)
        size += len(line.encode("utf-8", "replace")) + 1
        if size > TAIL_LIMIT:
            break
        shown.append(line)
    return shown[::-1]


def _cut(line: str, *, at_start: bool) -> str:
    if at_start:
        return _CUT + line[-LINE_LIMIT:]
    return line if len(line) <= LINE_LIMIT else line[:LINE_LIMIT] + _CUT


def _drawn(text: str) -> list[str]:
    """The lines after all returns, cursor moves and erasures; text overwrites a line as a whole."""
    lines: list[list[str]] = [[]]
    at = 0
    overwrite = False
    for piece in _CONTROL.split(text):
        if piece in ("\n", "\r\n"):
            at += 1
            overwrite = True
            if at == len(lines):
                lines.append([])
        elif piece == "\r":
            overwrite = True
        elif piece.startswith("\x1b["):
            move = _MOVES.fullmatch(piece)
            if move is not None:
                at, overwrite = _moved(lines, at, int(move[1] or 0), move[2], overwrite=overwrite)
        elif piece:
            if overwrite:
                lines[at] = []
            lines[at].append(piece)
            overwrite = False
    return ["".join(pieces) for pieces in lines]


def _moved(lines: list[list[str]], at: int, number: int, command: str, *, overwrite: bool) -> tuple[int, bool]:
    if command in "AF":
        return max(0, at - max(1, number)), True
    if command == "J":
        del lines[at + 1 :]
    if overwrite or number == 2:
        lines[at] = []
    return at, overwrite
