"""One line of JSON by the standard library, as leniently as rollouts need it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import msgspec

from rollout_compare.core.reading.lines import Line


class LongInteger(float):
    """An integer beyond what Python converts to `int` by default: its text names it, its value is infinite."""

    _digits: str

    def __new__(cls, digits: str) -> LongInteger:
        """The number that `digits` stand for."""
        number = super().__new__(cls, digits)
        number._digits = digits
        return number

    def __str__(self) -> str:
        return self._digits


_INT_DIGITS = 4300


def integer(digits: str) -> int | LongInteger:
    """An integer of any number of digits."""
    return int(digits) if len(digits) < _INT_DIGITS else LongInteger(digits)


def loads(line: Line) -> Any:
    """The JSON value of a line, read leniently: invalid UTF-8 replaced, NaN accepted, the last of equal keys wins.

    Raises ValueError for what is not JSON and RecursionError for nesting that is too deep.
    """
    text = bytes(line).decode("utf-8", "replace")
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except ValueError:
        # An integer of more digits than Python converts by default; asking about each one takes its time.
        return json.loads(text, parse_int=integer)


_raw_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def fields_of(line: Line, names: Iterable[str]) -> dict[str, Any]:
    """Some top-level fields of the object on a line, read as by `loads`; the rest is only skipped.

    Raises ValueError for what is no JSON object and RecursionError for nesting that is too deep.
    """
    return fields_and_raw_fields(line, names, (), 0)[0]


def fields_and_raw_fields(
    line: Line, names: Iterable[str], raw_names: Iterable[str], limit: int
) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The same, and besides some fields as their JSON text, those that take at most `limit` bytes."""
    try:
        raw = _raw_fields(line)
        fields = {name: loads(bytes(raw[name])) for name in names if name in raw}
        texts = {name: bytes(raw[name]) for name in raw_names if name in raw and len(memoryview(raw[name])) <= limit}
    except (msgspec.MsgspecError, RecursionError):
        fields = loads(line)
        if not isinstance(fields, dict):
            raise ValueError("not a JSON object") from None
        texts = {name: json.dumps(fields[name]).encode() for name in raw_names if name in fields}
        return fields, {name: text for name, text in texts.items() if len(text) <= limit}
    return fields, texts


def field_names(line: Line) -> list[str]:
    """The names of the top-level fields of the object on a line; none when it is not one."""
    try:
        return list(_raw_fields(line))
    except (msgspec.MsgspecError, RecursionError):
        pass
    try:
        whole = loads(line)
    except (ValueError, RecursionError):
        return []
    return list(whole) if isinstance(whole, dict) else []


def field_of(value: Any, path: str) -> Any:
    """The value at a dotted path of a JSON object; None where the path leads nowhere."""
    for name in path.split("."):
        if not isinstance(value, dict):
            return None
        value = value.get(name)
    return value


def is_blank(line: Line) -> bool:
    """Whether a line holds nothing but white space."""
    return not bytes(line).decode("utf-8", "replace").strip()
