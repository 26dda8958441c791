"""Compare two rollout files task by task: what changed, and where is the evidence.

>>> from rollout_compare import compare, load_side
>>> comparison = compare(load_side("old.jsonl"), load_side("new.jsonl"))  # doctest: +SKIP
>>> comparison.counts["flipped"]  # doctest: +SKIP
3

The names are imported on first use, so that `rollout-compare --version` starts at once.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as type checkers know it: importing typing takes as long as starting Python
if TYPE_CHECKING:
    from rollout_compare.core.compare import Comparison, compare
    from rollout_compare.core.errors import CompareInputError
    from rollout_compare.core.reading.load import load_side
    from rollout_compare.core.reading.side import Side

__all__ = ["CompareInputError", "Comparison", "Side", "compare", "load_side"]

_HOME = {
    "CompareInputError": "rollout_compare.core.errors",
    "Comparison": "rollout_compare.core.compare",
    "Side": "rollout_compare.core.reading.side",
    "compare": "rollout_compare.core.compare",
    "load_side": "rollout_compare.core.reading.load",
}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOME[name]), name)
