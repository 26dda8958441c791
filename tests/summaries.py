"""What many tests look for in a JSON summary."""

from __future__ import annotations

from tests.conftest import Json


def labels(summary: Json) -> list[str]:
    """The names of its tasks, in order."""
    return [task["task"] for task in summary["tasks"]]


def classes(summary: Json) -> list[tuple[str, str]]:
    """The names of its tasks with their classes, in order."""
    return [(task["task"], task["category"]) for task in summary["tasks"]]


def keys(summary: Json) -> tuple[str, str]:
    """The key of either side."""
    return summary["join"]["old_key"], summary["join"]["new_key"]


def codes(summary: Json) -> list[str]:
    """The codes of its warnings, in order."""
    return [warning["code"] for warning in summary["warnings"]]
