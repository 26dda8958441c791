"""Values out of documents that others wrote: one that is missing, or of another type than expected, says nothing."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from datetime import datetime
from typing import Any

Id = str | int | float


def text(value: Any) -> str | None:
    """A text that is not empty."""
    return value if isinstance(value, str) and value else None


def number(value: Any) -> float | None:
    """A number as a float, NaN and infinities too; true and false are 1 and 0."""
    if not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def whole(value: Any) -> int | None:
    """A finite number without its fraction, as a count of something has none."""
    found = None if isinstance(value, bool) else number(value)
    return int(found) if found is not None and math.isfinite(found) else None


def total(values: Iterable[Any]) -> int | None:
    """The sum of those that are numbers; None when there is none."""
    numbers = [found for found in map(whole, values) if found is not None]
    return sum(numbers) if numbers else None


def mapping(value: Any) -> dict[str, Any]:
    """An object; an empty one in place of anything else."""
    return value if isinstance(value, dict) else {}


def sequence(value: Any) -> list[Any]:
    """A list; an empty one in place of anything else."""
    return value if isinstance(value, list) else []


def name(value: Any) -> Id | None:
    """What may name a task: a text, or a number."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    return value if isinstance(value, str) or math.isfinite(number(value) or 0.0) else None


def compact(value: Any) -> str:
    """A value as JSON with sorted keys and without spaces: equal values, equal texts."""
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    except (RecursionError, TypeError):
        return "(nested too deeply to show)"


def numbers(value: Any, *, but: str | None = None) -> dict[str, float]:
    """The numbers of an object by their names, but for one of them."""
    found = {key: number(item) for key, item in mapping(value).items() if key != but}
    return {key: item for key, item in found.items() if item is not None}


def seconds_between(start: Any, end: Any) -> float | None:
    """The seconds from one ISO time to another."""
    try:
        seconds = (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
    except (TypeError, ValueError, OverflowError):
        return None
    return max(0.0, seconds)
