"""What a reader is asked for, and what it yields: one attempt at a task, as a row of rollouts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rollout_compare.core.sentences import Marked, Sentence
from rollout_compare.formats.values import Id


@dataclass(slots=True)
class Reading:
    """How a path is read, and what is told of it."""

    reward: str | None = None
    """Which of several rewards counts, by the name that the format has for it; None for the usual one."""
    shown: frozenset[int] = frozenset()
    """When rows are read again: those that are wanted, by their number from 0, with their verifier output."""
    notes: list[Sentence] = field(default_factory=list)
    """Choices that were made for the user; complete once all rows have been read, as the next one is."""
    lost: int = 0
    """How many attempts were planned and left no row."""

    def skips(self, row: int) -> bool:
        """Whether others are read again: then a row may be empty."""
        return bool(self.shown) and row not in self.shown

    def note(self, words: Marked) -> None:
        """Tell of a choice, once."""
        sentence = Sentence(words)
        if sentence not in self.notes:
            self.notes.append(sentence)


@dataclass(slots=True)
class Attempt:
    """One attempt at a task. What is None is not told of."""

    task_id: Id
    taskset: Any = None
    reward: float | None = None
    failure_kind: str | None = None
    """What was measured of an attempt that counts."""
    failure_reason: str | None = None
    error: str | None = None
    """What the agent failed with, of an attempt that counts."""
    model: str | None = None
    agent: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    seconds: float | None = None
    prompt: Any = None
    logs: str | None = None
    """A file or a folder with what the verifier said, as a member of what was given."""
    output: str | None = None
    """Or the text itself."""
    tests: dict[str, Any] | None = None
    components: dict[str, float] | None = None
    number: int | None = None
    """The tool's own number of the attempt, from 0."""
    identity: str | None = None
    """The tool's own unique id of the attempt."""
    masked: bool = False
    more: dict[str, Any] = field(default_factory=dict)
    """Further fields of the row."""

    def mask(self, kind: str, reason: str | None = None) -> None:
        """Say that the attempt does not count, and why: the kind in a word, the reason in the tool's own words."""
        self.masked, self.failure_kind, self.failure_reason = True, kind, reason
        self.error = None

    def row(self) -> dict[str, Any]:
        """The attempt as a row of rollouts."""
        task = {"task_id": self.task_id} if self.taskset is None else {"taskset": self.taskset, "task_id": self.task_id}
        plain = (
            ("_ng_rollout_index", self.number),
            ("_ng_rollout_id", self.identity),
            ("mask_sample", self.masked or None),
            ("failure_kind", self.failure_kind),
            ("failure_reason", self.failure_reason),
            ("error", self.error),
            ("agent_run_time", self.seconds),
            ("verifier_logs_dir", self.logs),
            ("verifier_output", self.output),
            ("tests_status", self.tests or None),
            ("reward_components", self.components or None),
        )
        row = {"reward": self.reward, "_ng_task_id": task, **self.more}
        row |= {name: value for name, value in plain if value is not None}
        if self.agent is not None:
            row["agent_ref"] = {"name": self.agent}
        if self.prompt is not None:
            row["responses_create_params"] = {"input": self.prompt}
        usage = {"input_tokens": self.input_tokens, "output_tokens": self.output_tokens}
        if told := {name: number for name, number in usage.items() if number is not None}:
            row["response"] = {"usage": told}
        if self.model is not None:
            row["response"] = {"model": self.model, **row.get("response", {})}
        return row
