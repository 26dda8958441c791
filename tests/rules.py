"""Lists of names as docs/semantics.md has them, for tests that go through all of one."""

from __future__ import annotations

import re

from tests.places import ROOT

SEMANTICS = (ROOT / "docs" / "semantics.md").read_text(encoding="utf-8")


def _names(after: str, before: str) -> tuple[str, ...]:
    """The names in code between two texts of the page."""
    begin = SEMANTICS.index(after) + len(after)
    return tuple(re.findall(r"`([^`]+)`", SEMANTICS[begin : SEMANTICS.index(before, begin)]))


KEY_CANDIDATES = _names("the first of these that all its rows carry", "\n- ")
"""Fields that name a task, best first."""
FALLBACK_ID_FIELDS = _names("A note always names the rung.", "in this order")
"""Those that do when a side has none of these, best first."""
TASK_INDEX, PROMPT = "_ng_task_index", "prompt"
FALLBACK_RUNGS = (*FALLBACK_ID_FIELDS, TASK_INDEX, PROMPT)
VERIFIER_FIELDS = _names("The first non-empty field of the row:", "then those of")
"""Fields with verifier output, first to be looked into."""
LATER_VERIFIER_FIELDS = _names("(repeatable, dotted), then", "A list or an object")
"""Those behind the ones of `--verifier-field`."""
COUNTS = _names("| `counts` |", "|\n")
JOIN = _names("| `join` |", "|\n")
"""The fields of these two in the JSON summary."""
