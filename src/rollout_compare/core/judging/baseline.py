"""Where the old side comes from when nobody named its file: a recorded run, and what makes it doubtful as reference."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rollout_compare.core.sentences import CheckWarning, Marked, Sentence, counted, field_name, listed, quoted, told

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
        said = [told("artifact {} of run {}", quoted(self.artifact), self.run_id)]
        if self.branch is not None:
            said.append(told(" on {}", quoted(self.branch)))
        if self.commit is not None:
            said.append(told(" at {}", quoted(self.commit[:_SHORT_COMMIT])))
        if self.age_days is not None:
            said.append(told(", {} old", age_text(self.age_days)))
        if self.merge_base is not None:
            said.append(told(", {}", self._distance()))
        return Sentence(listed("", said))

    def _distance(self) -> Marked:
        """How the commit stands to the merge base."""
        base = told("the merge base {}", quoted((self.merge_base or "")[:_SHORT_COMMIT]))
        if self.commit == self.merge_base:
            return told("the merge base itself")
        behind = told("{} behind", counted(self.behind, "commit")) if self.behind else None
        ahead = told("{} ahead of", counted(self.ahead, "commit")) if self.ahead else None
        known = self.behind is not None and self.ahead is not None
        parts = [part for part in (behind, ahead) if part is not None and known]
        return told("{} {}", listed(" and ", parts), base) if parts else told("not {}", base)

    def warnings(self, longest_age: float) -> Iterator[CheckWarning]:
        """What makes it a doubtful reference. `longest_age`: how many days old it may be."""
        if self.age_days is not None and self.age_days > longest_age:
            limit = told("1 day") if longest_age == 1 else told("{:g} days", longest_age)
            option = field_name("baseline-max-age")
            stale = told("the baseline is {:.1f} days old, more than the {} of {}", self.age_days, limit, option)
            yield CheckWarning("baseline_stale", Sentence(stale), 0)
        if self.commit is not None and self.merge_base is not None and self.commit != self.merge_base:
            elsewhere = told(
                "the baseline's commit {} is {}: what changed in between is part of the difference",
                quoted(self.commit[:_SHORT_COMMIT]),
                self._distance(),
            )
            yield CheckWarning("baseline_not_merge_base", Sentence(elsewhere), 0)


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


def age_text(days: float) -> Marked:
    """An age in whole days, or in whole hours below two days."""
    if days < 2:
        return counted(int(days * _HOURS), "hour")
    return counted(int(days), "day")
