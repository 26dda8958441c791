"""The run to compare with when none is named: one of the merge base, else the newest one that fits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from rollout_compare.core.judging.baseline import NoBaseline
from rollout_compare.core.sentences import Marked, Sentence, counted, field_name, listed, quoted, told
from rollout_compare.github.api.faults import ApiError, advice
from rollout_compare.github.baselines.origin import OF_A_BRANCH
from rollout_compare.github.baselines.runs import MOST_ARTIFACTS, MOST_RUNS, Artifact, Runs, WorkflowRun

MOST_ASKED = 50
"""How many runs are asked for their artifacts, one by one, when those that are listed by name do not reach back far
enough."""
_SUCCESS = "success"


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which run would do."""

    artifact: str
    branch: str
    workflow: str
    """File name or number."""
    other_than: int
    """The run that made the new side."""
    commit: str = ""
    """What the new side ran, when the merge base with `branch` says which run is the best one."""
    is_earlier: bool = False
    """Whether the run must be an earlier one: the new side is a run of the same branch."""

    def fits(self, run: WorkflowRun) -> bool:
        """Whether a run would do, if it has the artifact."""
        return (
            run.number != self.other_than
            and (not self.is_earlier or run.number < self.other_than)
            and run.is_own
            and run.branch == self.branch
            and run.event in OF_A_BRANCH
            and run.conclusion == _SUCCESS
            and self.workflow in (run.workflow, str(run.workflow_number))
        )


class Reference(NamedTuple):
    """The run to compare with, and the artifact that holds its rollouts."""

    run: WorkflowRun
    artifact: Artifact


@dataclass
class _Met:
    """How many artifacts did not fit, by reason: what a report says when there is no baseline."""

    why: Counter[Marked] = field(default_factory=Counter)

    @property
    def words(self) -> Marked:
        if not self.why:
            return told("there is no artifact of that name yet")
        said = [told("{:,} {}", number, words) for words, number in self.why.items()]
        return told("of {} of that name, {}", counted(self.why.total(), "artifact"), listed(", ", said))


class _Succeeded:
    """The successful runs of a workflow on a branch, asked for as far back as they are looked up."""

    def __init__(self, newest_first: Iterator[WorkflowRun]) -> None:
        self._rest = newest_first
        self._known: dict[int, WorkflowRun] = {}
        self._oldest = 0

    def get(self, number: int) -> WorkflowRun | None:
        while number not in self._known and (not self._known or number < self._oldest):
            run = next(self._rest, None)
            if run is None:
                break
            self._keep(run)
        return self._known.get(number)

    def newest(self) -> Iterator[WorkflowRun]:
        """All of them, newest first."""
        yield from list(self._known.values())
        for run in self._rest:
            self._keep(run)
            yield run

    def _keep(self, run: WorkflowRun) -> None:
        self._known[run.number] = run
        self._oldest = run.number


def find_baseline(runs: Runs, wanted: Wanted, merge_base: str) -> Reference | NoBaseline:
    """The run to compare with, or why there is none. Raises ApiError.

    `merge_base` is empty when it is not known, or means nothing.
    """
    if merge_base:
        at_base = sorted(
            filter(wanted.fits, runs.at_commit(wanted.workflow, merge_base, wanted.branch)), key=lambda run: -run.number
        )
        for run in at_base:
            artifact = _usable(runs, run.number, wanted.artifact)
            if artifact is not None:
                return Reference(run, artifact)
    met = _Met()
    newest = _newest(runs, wanted, met)
    if newest is not None:
        return newest
    return NoBaseline(_reason(wanted, met), _advice(wanted))


def _usable(runs: Runs, run: int, name: str) -> Artifact | None:
    return next((artifact for artifact in runs.artifacts_of(run, name) if not artifact.is_expired), None)


def _newest(runs: Runs, wanted: Wanted, met: _Met) -> Reference | None:
    """The newest run that fits, through the artifacts of the name: most runs of a branch may have none.

    Others have artifacts of that name too, every pull request for one. When there are so many that the list ends before
    a run fits, the newest runs are asked one by one.
    """
    best: Reference | None = None
    why_of_run: dict[int, Marked | None] = {}
    succeeded = _Succeeded(runs.succeeded_on(wanted.workflow, wanted.branch))
    for artifact in runs.artifacts_named(wanted.artifact):
        if best is not None and artifact.created_at < best.run.created_at:
            # What follows was made before that run began: by older runs, or older attempts.
            break
        why_not = _why_not(artifact, wanted) or why_of_run.get(artifact.run)
        if not why_not and (best is None or artifact.run > best.run.number):
            run = succeeded.get(artifact.run)
            why_not = why_of_run[artifact.run] = _why_no_run(run, wanted)
            if run is not None and not why_not:
                # The newest of the run: it may have been started again since.
                best = Reference(run, _usable(runs, run.number, wanted.artifact) or artifact)
        if why_not:
            met.why[why_not] += 1
    if best is None and met.why.total() >= MOST_ARTIFACTS:
        return _asked(runs, wanted, succeeded.newest())
    return best


def _asked(runs: Runs, wanted: Wanted, newest_first: Iterator[WorkflowRun]) -> Reference | None:
    """The first of the runs that fit which has the artifact."""
    for run in islice(filter(wanted.fits, newest_first), MOST_ASKED):
        artifact = _usable(runs, run.number, wanted.artifact)
        if artifact is not None:
            return Reference(run, artifact)
    return None


def _why_not(artifact: Artifact, wanted: Wanted) -> Marked | None:
    if artifact.is_expired:
        return told("expired")
    if artifact.run == wanted.other_than:
        return told("of this run")
    if not artifact.is_own:
        return told("of forks")
    if artifact.branch != wanted.branch:
        return told("of other branches")
    return None


def _why_no_run(run: WorkflowRun | None, wanted: Wanted) -> Marked | None:
    if run is None:
        return told(
            "of runs of other workflows, or that did not succeed, or beyond the newest {:,} that did", MOST_RUNS
        )
    if run.event not in OF_A_BRANCH:
        return told("of runs that may have run proposed changes")
    return None if wanted.fits(run) else told("of later runs")


def _reason(wanted: Wanted, met: _Met) -> Sentence:
    reason = told(
        "no successful run of {workflow} on {branch} has an artifact {artifact} that is still there ({met})",
        workflow=quoted(wanted.workflow),
        branch=quoted(wanted.branch),
        artifact=quoted(wanted.artifact),
        met=met.words,
    )
    return Sentence(reason)


def _advice(wanted: Wanted) -> Sentence:
    advice = told(
        "To make a baseline, let a run of {workflow} on {branch}, on push, on schedule or by hand, upload its rollouts "
        "as artifact {artifact} and succeed: the next comparison finds it. Set {options} or {last} to look "
        "elsewhere. At most the newest {most:,} artifacts of a name are looked at, and those of the newest {asked:,} "
        "runs.",
        workflow=quoted(wanted.workflow),
        branch=quoted(wanted.branch),
        artifact=quoted(wanted.artifact),
        options=listed(", ", map(field_name, ("old-branch", "old-workflow"))),
        last=field_name("old-run-id"),
        most=MOST_ARTIFACTS,
        asked=MOST_ASKED,
    )
    return Sentence(advice)


def merge_base_of(runs: Runs, wanted: Wanted, warn: Callable[[str], None], otherwise: str) -> str:
    """The merge base that the wanted run should have run; empty when there is none to look for, or it is not known.

    `otherwise` says what is done without it.
    """
    if not wanted.commit or wanted.is_earlier:
        return ""
    try:
        return runs.merge_base(wanted.branch, wanted.commit)
    except ApiError as fault:
        why = advice(fault, needs="contents: read", missing=f"branch `{wanted.branch}`")
        warn(f"the merge base with `{wanted.branch}` is not known ({why}): {otherwise}")
        return ""
