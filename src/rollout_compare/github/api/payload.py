"""Values out of JSON that others wrote: whatever is missing or of another type is simply not there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def value_at(value: Any, *names: str) -> Any:
    """The value at a path of names; None where there is none, or no object on the way."""
    for name in names:
        if not isinstance(value, Mapping):
            return None
        value = value.get(name)
    return value


def text_at(value: Any, *names: str) -> str:
    """The text at a path of names; empty where there is none."""
    value = value_at(value, *names)
    return value if isinstance(value, str) else ""
