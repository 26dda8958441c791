"""Dotted names of fields, as they are given on the command line and to the Action. Imports nothing: both start fast."""

from __future__ import annotations

_DEEPEST = 50


def is_field_name(text: str) -> bool:
    """Whether a text is a dotted field name such as `verifier_metadata.case`: any text on one line."""
    names = text.split(".")
    return all(names) and len(names) <= _DEEPEST and "\n" not in text and "\r" not in text
