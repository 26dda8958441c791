"""What a reader is asked for, and what it yields: one attempt at a task, as a row of rollouts."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field
from typing import Any

from rollout_compare.core.sentences import Sentence
from rollout_compare.formats.values import Id


@dataclass(slots=True)
class Reading:
    """How a path is read, and what is told of it."""

    reward: str | None = None
    """Which of several rewards counts, by the name that the format has for it; None for the usual one."""
    shown: Container[int] = frozenset()
    """The rows, by their number from 0, whose verifier output is asked for; others may do without."""
    notes: list[Sentence] = field(default_factory=list)
    """Choices that were made for the user; complete once all rows have been read, as the next one is."""
    lost: int = 0
    """How many attempts were planned and left no row."""

    def note(self, marked: str) -> None:
        """Tell of a choice, once, in words in which data is marked."""
        sentence = Sentence(marked)
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
        task = {"taskset": self.taskset, "task_id": self.task_id}
        usage = {"input_tokens": self.input_tokens, "output_tokens": self.output_tokens}
        row = {
            "_ng_task_id": _told(task),
            "_ng_rollout_index": self.number,
            "_ng_rollout_id": self.identity,
            "mask_sample": self.masked or None,
            "failure_kind": self.failure_kind,
            "failure_reason": self.failure_reason,
            "error": self.error,
            "response": _told({"model": self.model, "usage": _told(usage)}),
            "agent_ref": _told({"name": self.agent}),
            "agent_run_time": self.seconds,
            "responses_create_params": _told({"input": self.prompt}),
            "verifier_logs_dir": self.logs,
            "verifier_output": self.output,
            "tests_status": self.tests,
            "reward_components": self.components or None,
            **self.more,
        }
        return {"reward": self.reward, **_told(row)}


def _told(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields that say something."""
    return {name: value for name, value in fields.items() if value is not None and value != {}}
