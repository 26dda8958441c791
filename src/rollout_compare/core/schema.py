"""The vocabulary: field names, categories and the small records that every other module speaks in.

Imports nothing else of this package.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import msgspec

SideName = Literal["old", "new"]
Category = Literal["identical", "flipped", "flipped_agent_error", "masked", "missing"]
WarningCode = Literal[
    "nothing_joined",
    "key_collapses_tasks",
    "index_join_contradicted",
    "prompts_differ",
    "tasksets_differ",
    "low_overlap",
    "low_coverage",
    "masking_differs",
    "no_rewards",
    "unequal_repeats",
    "duplicate_rollouts",
    "mixed_id_types",
    "stale_sidecar",
    "baseline_stale",
    "baseline_not_merge_base",
]

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

REWARD_TOLERANCE = 1e-9
"""Rewards at most this far apart are the same reward (absolute, in reward units)."""

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
    """First message that a failures sidecar gave for one of the rows."""


@dataclass(frozen=True, slots=True)
class TaskComparison:
    """One task of the comparison; a side that lacks the task is None."""

    task: str
    category: Category
    winner: SideName | None
    old: TaskSide | None
    new: TaskSide | None


_OPEN, _CLOSE = "\x02", "\x03"
_MARKED = re.compile(f"{_OPEN}([^{_CLOSE}]*){_CLOSE}")
_FIRST_CLAUSE = re.compile(f"(?:{_MARKED.pattern}|[^;{_OPEN}])*")
_IN_TICKS = re.compile(f"`{_MARKED.pattern}`|{_MARKED.pattern}")


class Sentence(str):
    """Words of ours about the inputs, in which it is known what came from the inputs.

    As text it is the plain sentence. It is made of words in which `quoted` and `field_name` have marked the data.
    """

    marked: str

    def __new__(cls, marked: str) -> Sentence:
        """The sentence of words with marked data."""
        self = super().__new__(cls, _MARKED.sub(r"\1", marked))
        self.marked = marked
        return self

    @property
    def parts(self) -> list[str]:
        """Our words and data in turn, our words first; without the ticks round the names of fields."""
        parts: list[str] = []
        at = 0
        for found in _IN_TICKS.finditer(self.marked):
            parts += (self.marked[at : found.start()], found[1] if found[2] is None else found[2])
            at = found.end()
        return [*parts, self.marked[at:]]

    @property
    def first_clause(self) -> str:
        """The words up to the first semicolon that is ours, with their data marked."""
        found = _FIRST_CLAUSE.match(self.marked)
        return found[0] if found is not None else ""

    def with_data(self, change: Callable[[str], str]) -> Sentence:
        """The same sentence with each piece of data changed."""
        return Sentence(_MARKED.sub(lambda found: quoted(change(found[1])), self.marked))


def quoted(data: str) -> str:
    """Text from an input, marked as such for a `Sentence`."""
    return f"{_OPEN}{data.replace(_OPEN, '�').replace(_CLOSE, '�')}{_CLOSE}"


def field_name(name: str) -> str:
    """The name of a field or an option, marked likewise and shown in ticks."""
    return f"`{quoted(name)}`"


def named(tasks: list[str]) -> str:
    """The first few task names as running text, marked, with the number of those left out."""
    names = ", ".join(map(quoted, tasks[:NAMED_TASKS]))
    return names if len(tasks) <= NAMED_TASKS else f"{names} and {len(tasks) - NAMED_TASKS} more"


@dataclass(frozen=True, slots=True)
class Warn:
    """A typed doubt about the comparison: how many tasks (or rows) it touches and up to five of their names."""

    code: WarningCode
    sentence: Sentence
    count: int
    tasks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Join:
    """How tasks of the two sides were matched. The field names are those of the JSON summary."""

    old_key: str
    new_key: str
    old_prefix_stripped: str | None
    new_prefix_stripped: str | None
    keyed_by_taskset: bool


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


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """`1 task`, `2 tasks`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def p_text(p: float) -> str:
    """A p-value to two significant digits and at most three decimals; `<0.001` below."""
    if p < 0.001:
        return "<0.001"
    if p >= 0.995:
        return "1"
    two = f"{p:.2g}"
    return f"{p:.3f}" if len(two) > len("0.000") else two if len(two) > len("0.0") else f"{p:.2f}"
