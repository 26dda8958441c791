"""Why a line cannot be read, in words for the person who handed it over."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from rollout_compare.core.reading.lines import BOM

_LITERALS = ("true", "false", "null", "NaN", "Infinity", "-Infinity")
_NUMBER_START = re.compile(r"-|\.\d*|[eE][+-]?|-?\d+\.")
_ESCAPE_LENGTH = 6
_SAMPLE = 64
_CSV_HEADER = re.compile(rb"\"?[A-Za-z_][\w .-]*\"?(?:[,;\t]\"?[\w .-]*\"?)+")


def explain(line: bytes, number: int, fault: Exception, rest_is_blank: Callable[[], bool]) -> str:
    """What is wrong with a line that `json` refused with `fault`.

    `rest_is_blank` says whether only blank lines follow; it is asked only about a line that ends too early.
    """
    if isinstance(fault, RecursionError):
        return "JSON nested too deeply"
    foreign = _foreign(line, number)
    if foreign is not None:
        return foreign
    if line.startswith(BOM):
        return "not JSON: a byte order mark that is not at the start of the file (several files put together?)"
    if b"\0" in line:
        return "not JSON: the line holds NUL bytes (a disk that was full, or a write cut off?)"
    if not isinstance(fault, json.JSONDecodeError):
        return f"not JSON: {fault}"
    return _not_json(line, number, fault, rest_is_blank)


def _not_json(line: bytes, number: int, fault: json.JSONDecodeError, rest_is_blank: Callable[[], bool]) -> str:
    """What is wrong with a line that is text, but not JSON."""
    if fault.msg == "Extra data" and fault.doc[fault.pos] in '{["':
        return f"not JSON: two JSON values on one line (column {fault.colno})"
    if number == 1 and _looks_like_csv(line):
        return "looks like CSV, not JSON Lines: write each row as one JSON object, such as mlr --icsv --ojsonl cat does"
    if fault.msg == "Extra data":
        return f"not JSON: text after the JSON object (column {fault.colno})"
    if _ends_early(fault):
        if rest_is_blank():
            return "the last line is cut short (a run killed while writing?)"
        if number == 1:
            return one_document(line)
    return f"not JSON: {fault.msg} (column {fault.colno})"


def one_document(line: bytes) -> str:
    """What to say of a JSON document that is not one object a line, by its first line."""
    if line.lstrip().startswith(b"["):
        return "a JSON array, not JSON Lines: jq -c '.[]' FILE writes its members a line each"
    return "one JSON document over several lines, not JSON Lines: jq -c . FILE writes each object on one line"


def _looks_like_csv(line: bytes) -> bool:
    """Whether a line is a header of names with commas, semicolons or tabs between."""
    return _CSV_HEADER.fullmatch(line.strip()) is not None


def _foreign(line: bytes, number: int) -> str | None:
    """What kind of file a line that is not JSON belongs to, when it is a well-known one."""
    start = line.lstrip()[:_SAMPLE].lower()
    if number == 1 and line.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return "a zip archive, not JSON Lines: unpack it first"
    if start.startswith(b"version https://git-lfs"):
        return "a Git LFS pointer, not the file it stands for (check out with `lfs: true`, or run `git lfs pull`)"
    if start.startswith((b"<!doctype html", b"<html")):
        return "an HTML page, not JSON lines (a download that wanted a login?)"
    if number == 1 and _looks_like_utf16(line[:_SAMPLE]):
        return "UTF-16 text, not UTF-8 (save the file as UTF-8)"
    return None


def _looks_like_utf16(start: bytes) -> bool:
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return True
    even, odd = start[::2], start[1::2]
    return len(start) > 1 and any(set(half) == {0} and any(other) for half, other in ((even, odd), (odd, even)))


def _ends_early(fault: json.JSONDecodeError) -> bool:
    """Whether the text is the start of valid JSON, so that more text could have made it whole."""
    if fault.msg.startswith("Unterminated string"):
        return True
    rest = fault.doc[fault.pos :].rstrip()
    if fault.msg.startswith("Invalid \\"):
        return len(rest) < _ESCAPE_LENGTH and '"' not in rest
    return (
        not rest or any(literal.startswith(rest) for literal in _LITERALS) or _NUMBER_START.fullmatch(rest) is not None
    )
