"""Which rows are there at all, and which field their reward is in: what was asked for besides the key."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, NamedTuple

import msgspec

from rollout_compare.core.reading.ids import text_of
from rollout_compare.core.reading.json_line import field_of, fields_of
from rollout_compare.core.reading.lines import Line
from rollout_compare.core.redaction import shortened

_TOLD = 5
"""How many values of a field are told when none is the one asked for."""
_COUNTED = 1_000
"""How many different values of a field are told apart."""
_LONGEST_VALUE = 60


class Condition(NamedTuple):
    """That a field of a row has a value: `split=dev`."""

    field: str
    """Dotted."""
    value: str

    def __str__(self) -> str:
        return f"{self.field}={self.value}"


class Fit(IntEnum):
    """Whether a row says what was asked for."""

    SAYS_OTHERWISE = 0
    """A field has a different value."""
    LACKS = 1
    """A field is not there, and none has a different value."""
    FITS = 2


@dataclass(slots=True)
class Choice:
    """Conditions that rows have to fulfil, all of them, and the dotted field of their reward; None for `reward`."""

    conditions: Sequence[Condition] = ()
    reward: str | None = None
    left_out: int = 0
    """How many rows and records did not fit so far."""
    seen: dict[str, Counter[str]] = field(default_factory=dict)
    """The values of each condition's field, with how many rows have them."""

    @property
    def fields(self) -> list[str]:
        """The fields that have to be read for it."""
        asked = [condition.field for condition in self.conditions]
        return asked if self.reward is None else [*asked, self.reward]

    def fit_of(self, values: Sequence[Any]) -> Fit:
        """Whether a row with these values of `fields` fits."""
        fit = Fit.FITS
        for condition, value in zip(self.conditions, values, strict=False):
            text = None if value is None else _text(value)
            seen = self.seen.setdefault(condition.field, Counter())
            if text is not None and (text in seen or len(seen) < _COUNTED):
                seen[text] += 1
            if text is None:
                fit = min(fit, Fit.LACKS)
            elif text != condition.value:
                fit = Fit.SAYS_OTHERWISE
        return fit

    def why_nothing_is_left(self) -> str:
        """What the fields hold instead, when no row fits."""
        told = []
        for condition in self.conditions:
            seen = self.seen.get(condition.field, Counter())
            values = [shortened(value, _LONGEST_VALUE) for value, _ in seen.most_common(_TOLD)]
            held = f"it is {', '.join(values)}" if values else "no row has that field"
            told.append(f"no row has {condition}: {held}")
        return "; ".join(told)


def _text(value: Any) -> str:
    """A value as it is compared: booleans as JSON writes them, integral floats as integers."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return text_of(value) if isinstance(value, str | int | float) else msgspec.json.encode(value).decode()


class FieldReader:
    """Reads dotted fields of lines, whatever their types."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = list(paths)
        self._tops = list(dict.fromkeys(path.partition(".")[0] for path in paths))

    def values(self, line: Line) -> list[Any]:
        """The value of each field in the object on a line; None where it is not there.

        Raises ValueError for what is not a JSON object and RecursionError for nesting that is too deep.
        """
        whole = fields_of(line, self._tops)
        return [field_of(whole, path) for path in self._paths]
