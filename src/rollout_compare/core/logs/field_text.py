"""The text of a field that may hold what the verifier said: to be shown, or to be searched."""

from __future__ import annotations

import json
from typing import Any


def shown_text(value: Any) -> str:
    """The text of a field as it is shown: a list or an object as indented JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list | dict) and value:
        try:
            return json.dumps(value, indent=2, ensure_ascii=False)
        except RecursionError:
            return ""
    return ""


def texts_within(value: Any) -> str:
    """All texts within a field, one after another: in JSON a traceback would be a single line."""
    texts: list[str] = []
    left = [value]
    while left:
        each = left.pop()
        if isinstance(each, str):
            texts.append(each)
        elif isinstance(each, list | dict):
            left += reversed(list(each.values()) if isinstance(each, dict) else each)
    return "\n".join(texts)
