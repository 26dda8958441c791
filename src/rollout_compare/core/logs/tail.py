"""The last lines of a verifier's output, as a terminal would have left them."""

from __future__ import annotations

import re

from rollout_compare.core.redaction import KEEP, MARGIN, Redaction, end_of, shortened

LINE_LIMIT = 2_000
"""Longest line shown, in characters."""
TAIL_LIMIT = 64 << 10
"""Longest tail shown, in bytes of UTF-8."""
WINDOW = 1 << 20
"""How much of the end of an output is looked at, in bytes: what progress lines overwrite is not shown."""

SHORT_WINDOW = 64 << 10
"""How much of it is looked at first."""

_CUT = "…"
_REDACTED_FIRST = 16 << 10
"""How much of the end of a text that moves is redacted before it is drawn, in characters."""
_MOVING = "\r\x1b\x9b"
_MORE_LINES = 100
"""How many lines before the tail are looked through for the start of a secret that reaches into it."""
# Sequences of a terminal that leave no trace in what is shown: CSI, OSC and other strings up to their end, and
# escapes of two characters.
SEQUENCES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"
    r"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?"
    r"|\x1b[ -/]*[0-~]"
    r"|\x9b[0-?]*[ -/]*[@-~]"
)
# Line ends, returns and control sequences; of the latter only cursor up and erasing leave a trace in what is shown.
_CONTROL = re.compile(r"(\r?\n|\r|\x1b\[[0-?]*[ -/]*[@-~])")
_MOVES = re.compile(r"\x1b\[(\d{0,4})(?:;\d*)?([AFJK])")


def tail_of(text: str, lines: int, *, whole: bool, redact: Redaction = KEEP) -> list[str]:
    """The last `lines` lines of `text`: overwritten and redrawn lines in their last state, long ones cut.

    `whole` says that `text` starts where the output does. Control sequences of a terminal are carried out or dropped.
    `redact` sees the text before, since what they leave may be the end of a secret, and after. Other control characters
    are still in what is returned, and whoever shows it makes them harmless.
    """
    if lines <= 0:
        return []
    if any(control in text for control in _MOVING):
        text = text[:-_REDACTED_FIRST] + redact(text[-_REDACTED_FIRST:])
        drawn, first_is_whole = _drawn_last(text, lines + _MORE_LINES)
        whole = whole or first_is_whole
    else:
        drawn = text.rstrip("\n").rsplit("\n", lines + _MORE_LINES)
        whole = whole or len(drawn) > lines + _MORE_LINES
    while drawn and not drawn[-1]:
        drawn.pop()
    last = drawn[-lines - _MORE_LINES :]
    if not whole and last and len(last) == len(drawn):
        last[:1] = _end_of_part(last[0], redact)
    last = [shortened(line, LINE_LIMIT, redact) if len(line) > LINE_LIMIT else line for line in last]
    return _within(TAIL_LIMIT, redact("\n".join(last)).split("\n")[-lines:] if last else [])


def is_enough(text: str, lines: int) -> bool:
    """Whether the tail of an output with this end needs no more of it: plain lines, enough of them."""
    plain = not any(control in text for control in _MOVING)
    return lines <= 0 or (plain and text.count("\n") > lines + _MORE_LINES)


def _end_of_part(line: str, redact: Redaction) -> list[str]:
    """The end of a line whose start is unknown; nothing of a short one, which may be the end of a secret."""
    return [_CUT + end_of(line, LINE_LIMIT - 1, redact)] if len(line) > LINE_LIMIT + MARGIN else []


def _within(limit: int, lines: list[str]) -> list[str]:
    """As many of the last lines as have together no more than so many bytes."""
    size = 0
    for at in range(len(lines) - 1, -1, -1):
        size += len(lines[at].encode("utf-8", "replace")) + 1
        if size > limit:
            return lines[at + 1 :]
    return lines


def _drawn_last(text: str, lines: int) -> tuple[list[str], bool]:
    """The last lines as a terminal shows them, and whether the first of all is known from its start."""
    if _MOVES.search(text) is not None:
        drawn = [SEQUENCES.sub("", line) for line in _drawn(text)]
        # What overwrote the first line is there as a whole.
        return drawn, not drawn[0].startswith(_CONTROL.split(text, maxsplit=1)[0])
    # Returns and colours only, as nearly always: no line has to do with another.
    split = text.split("\n")
    while split and not _after_return(split[-1]):
        split.pop()
    last = split[-lines:]
    return [_after_return(line) for line in last], len(split) > lines or "\r" in "".join(last[:1])


def _after_return(line: str) -> str:
    """The text after the last return that has text behind it."""
    end = len(line)
    while True:
        start = line.rfind("\r", 0, end) + 1
        shown = SEQUENCES.sub("", line[start:end])
        if shown or not start:
            return shown
        end = start - 1


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
