"""The vocabulary: field names, categories and the small records that every other module speaks in.

Imports nothing else of this package.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Literal, NamedTuple, TypeVar

import msgspec

SideName = Literal["old", "new"]
Packing = Literal["plain", "gzip", "zstd"]
MakerKind = Literal["agent", "model"]
"""What tells several rows of one task apart, besides being repeats."""
Category = Literal["identical", "flipped", "flipped_agent_error", "masked", "missing"]
WarningCode = Literal[
    "nothing_joined",
    "empty_side",
    "agents_mixed",
    "models_mixed",
    "key_collapses_tasks",
    "index_join_contradicted",
    "scales_differ",
    "prompts_differ",
    "tasksets_differ",
    "low_overlap",
    "ids_almost_equal",
    "low_coverage",
    "masking_differs",
    "tiny_differences",
    "no_rewards",
    "same_rows",
    "rerun_until_passed",
    "rollouts_lost",
    "repeated_rows",
    "unequal_repeats",
    "duplicate_rollouts",
    "mixed_id_types",
    "stale_sidecar",
    "baseline_stale",
    "baseline_not_merge_base",
]

T = TypeVar("T")
U = TypeVar("U")


class Both(NamedTuple, Generic[T]):
    """The same of either side."""

    old: T
    new: T

    def of(self, side: SideName) -> T:
        """That of one side."""
        return self.old if side == "old" else self.new

    def map(self, change: Callable[[T], U]) -> Both[U]:
        """What `change` makes of either."""
        return Both(change(self.old), change(self.new))

    def named(self) -> tuple[tuple[SideName, T], tuple[SideName, T]]:
        """Each with the name of its side, old first."""
        return ("old", self.old), ("new", self.new)


TASK_KEY_CANDIDATES = (
    "_ng_task_id",
    "task_name",
    "task_id",
    "verifier_metadata.task_id",
    "verifier_metadata.task_name",
    "verifier_metadata.instance_id",
    "verifier_metadata.id",
)
"""Fields that name a task, best first; a side's key is the first one that each of its rows carries."""

TASK_INDEX = "_ng_task_index"
PROMPT = "prompt"

FALLBACK_ID_FIELDS = (
    "instance_id",
    "uuid",
    "problem_id",
    "question_id",
    "uid",
    "id",
    "responses_create_params.metadata.instance_id",
    "instance_config.instance_id",
)
FALLBACK_KEYS = (*FALLBACK_ID_FIELDS, TASK_INDEX, PROMPT)
"""Rungs tried, in this order, only when a side has no candidate key. `prompt` is a fingerprint, no field."""

FLIPS: tuple[Category, Category] = ("flipped", "flipped_agent_error")

ID_FIELDS = TASK_KEY_CANDIDATES + FALLBACK_ID_FIELDS

EMBEDDED_VERIFIER_FIELDS = ("test_output", "verifier_stdout", "verifier_output")
FALLBACK_VERIFIER_FIELDS = (
    "build_output",
    "judge_output",
    "judge_evaluations",
    "details",
    "validation_results",
)

FAILURE_REASON = "failure_reason"
REASON_FIELDS = (FAILURE_REASON, "error")
"""Looked for last: what a row itself says of its failure."""

REWARD_TOLERANCE = 1e-9
"""Rewards at most this far apart are the same reward (absolute, in reward units)."""

LOST_CLASS = "missing"
"""What planned attempts that left nothing are called where failure classes are named."""

LABEL_LIMIT = 1000
"""Longest mask reason or agent error kept of a row, in characters: rows are untrusted and may be huge."""

NAMED_TASKS = 5
"""How many tasks a warning or a note names."""


class TaskSide(msgspec.Struct, frozen=True, gc=False):
    """What one side says of one task, reduced over its rows."""

    reward: float | None
    """Mean of the finite rewards of all rows, masked ones included; None when there is none."""
    rows: int
    masked: str | None
    """Why the task does not count on this side; with several rows `k/n rows masked: <first reason>`."""
    agent_error: str | None
    failure_kind: str | None
    """First failure kind of a row that counts (a measured failure)."""
    counted_reward: float | None
    """Mean of the finite rewards of the rows that count."""
    counted_rows: int
    rewards: tuple[float | None, ...]
    """One reward per row in reading order; None for a masked row."""
    failure_message: str | None
    """First message that one of the rows, or a failures sidecar, gives for being masked or for a measured failure."""
    agent_error_message: str | None
    """The agent error as reports show it: that of an `error` which is an object by its message, or as JSON."""
    components: dict[str, float] | None
    """Means of the reward's components over the rows that count and have them; None without any."""


@dataclass(frozen=True, slots=True)
class TaskComparison:
    """One task of the comparison; a side that lacks the task is None."""

    task: str
    category: Category
    winner: SideName | None
    old: TaskSide | None
    new: TaskSide | None
    maker: str | None = None
    """The agent, or the model, whose rows these are, when the tasks are told apart by it."""


@dataclass(frozen=True, slots=True)
class Join:
    """How tasks of the two sides were matched. The field names are those of the JSON summary."""

    old_key: str
    new_key: str
    old_prefix_stripped: str | None
    new_prefix_stripped: str | None
    keyed_by_taskset: bool
    keyed_by_agent: bool = False
    """Whether the rows of several agents on one task are compared agent by agent."""
    keyed_by_model: bool = False


COUNT_NAMES = (
    "tasks",
    "identical",
    "flipped",
    "flipped_old_win",
    "flipped_new_win",
    "flipped_agent_error",
    "masked",
    "masked_old",
    "masked_new",
    "missing",
    "missing_old_only",
    "missing_new_only",
)
