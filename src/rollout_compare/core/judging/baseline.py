"""Where the old side comes from when nobody named its file: a recorded run, and what makes it doubtful as reference."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rollout_compare.core.sentences import CheckWarning, Sentence, counted, field_name, quoted

_SHORT_COMMIT = 7
_HOURS = 24


@dataclass(frozen=True, slots=True)
class Baseline:
    """A recorded run whose rollouts are the old side. The field names are those of the JSON summary."""

    artifact: str
    """The name under which the run stored its rollouts."""
    run_id: int
    run_url: str
    branch: str | None = None
    commit: str | None = None
    """What the run ran; None when that is not known."""
    created_at: str | None = None
    """When the rollouts were stored (RFC 3339, UTC)."""
    age_days: float | None = None
    merge_base: str | None = None
    """The commit at which the new side's branch left the baseline's; None when that is not known."""
    behind: int | None = None
    """How many commits of the merge base's history `commit` lacks."""
    ahead: int | None = None
    """How many commits `commit` has that the merge base lacks."""

    @property
    def sentence(self) -> Sentence:
        """The run in words, without its address."""
        said = [f"artifact {quoted(self.artifact)} of run {self.run_id}"]
        if self.branch is not None:
            said.append(f" on {quoted(self.branch)}")
        if self.commit is not None:
            said.append(f" at {quoted(self.commit[:_SHORT_COMMIT])}")
        if self.age_days is not None:
            said.append(f", {age_text(self.age_days)} old")
        if self.merge_base is not None:
            said.append(f", {self._distance()}")
        return Sentence("".join(said))

    def _distance(self) -> str:
        """How the commit stands to the merge base."""
        base = f"the merge base {quoted((self.merge_base or '')[:_SHORT_COMMIT])}"
        if self.commit == self.merge_base:
            return "the merge base itself"
        if self.behind is None or self.ahead is None:
            return f"not {base}"
        parts = [
            f"{counted(number, 'commit')} {where}"
            for number, where in ((self.behind, "behind"), (self.ahead, "ahead of"))
            if number
        ]
        return f"{' and '.join(parts)} {base}" if parts else f"not {base}"

    def warnings(self, longest_age: float) -> Iterator[CheckWarning]:
        """What makes it a doubtful reference. `longest_age`: how many days old it may be."""
        if self.age_days is not None and self.age_days > longest_age:
            limit = f"{longest_age:g} {'day' if longest_age == 1 else 'days'}"
            yield CheckWarning(
                "baseline_stale",
                Sentence(
                    f"the baseline is {self.age_days:.1f} days old, more than the {limit} of "
                    f"{field_name('baseline-max-age')}"
                ),
                0,
            )
        if self.commit is not None and self.merge_base is not None and self.commit != self.merge_base:
            yield CheckWarning(
                "baseline_not_merge_base",
                Sentence(
                    f"the baseline's commit {quoted(self.commit[:_SHORT_COMMIT])} is {self._distance()}: what changed "
                    "in between is part of the difference"
                ),
                0,
            )


@dataclass(frozen=True, slots=True)
class NoBaseline:
    """That there is nothing to compare with: why, and how to come by it."""

    reason: Sentence
    """Why, as a clause."""
    advice: Sentence


@dataclass(frozen=True, slots=True)
class OneSided:
    """What the new side says by itself. The field names are those of the JSON summary."""

    tasks: int
    scored: int
    """Tasks that count."""
    mean_reward: float | None
    """Over the scored tasks."""
    solved: int | None
    """Scored tasks with the full reward; None unless all rewards lie between 0 and 1."""
    masked: int
    """Tasks that do not count."""


def age_text(days: float) -> str:
    """An age in whole days, or in whole hours below two days."""
    if days < 2:
        return counted(int(days * _HOURS), "hour")
    return counted(int(days), "day")
