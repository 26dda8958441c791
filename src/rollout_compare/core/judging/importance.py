"""Flips in order of importance: the biggest change first, then by name."""

from __future__ import annotations

from typing import Literal

from rollout_compare.core.judging.classify import Tasks
from rollout_compare.core.schema import TaskComparison

FlipKind = Literal["regressed", "improved", "agent_error"]


def change_of(task: TaskComparison) -> float:
    """Half of how much a flipped task's reward changed, which is what flips are ordered by."""
    assert task.old is not None
    assert task.new is not None
    # Halves: a difference of two very large rewards would not be a number.
    return (task.new.counted_reward or 0.0) / 2 - (task.old.counted_reward or 0.0) / 2


def flips_by_importance(tasks: Tasks) -> dict[FlipKind, list[int]]:
    """The flips of each kind by their positions, the most important first.

    With an agent error, that is the biggest loss.
    """
    found: dict[FlipKind, list[tuple[float, int]]] = {"regressed": [], "improved": [], "agent_error": []}
    for position in tasks.positions("flipped"):
        task = tasks[position]
        found["regressed" if task.winner == "old" else "improved"].append((-abs(change_of(task)), position))
    found["agent_error"] = [(change_of(tasks[at]), at) for at in tasks.positions("flipped_agent_error")]
    return {kind: [position for _, position in sorted(flips)] for kind, flips in found.items()}
