"""What the new side was run on, as far as the event tells: this is what a baseline is looked up for."""

from __future__ import annotations

from dataclasses import dataclass

from rollout_compare.github.api.payload import text_at, value_at
from rollout_compare.github.baselines.runs import workflow_file
from rollout_compare.github.event import QUEUE, Decision, Event

OF_A_BRANCH = frozenset({"push", "schedule", "workflow_dispatch", "repository_dispatch"})
"""Events whose runs run what is on their branch; those of others may run what somebody proposes."""
_HEADS = "refs/heads/"


@dataclass(frozen=True, slots=True)
class Origin:
    """Which run made the new side, and what it ran. What the event does not tell is empty."""

    run: int
    workflow: str
    """File name of its workflow."""
    commit: str
    """The commit that was run, or the head of the pull request."""
    branch: str
    """The branch that was run, when the run is one of a branch."""
    base: str
    """The branch that the change is meant for."""
    is_elsewhere: bool
    """Whether it is another run than this one."""


def origin_of(event: Event, decision: Decision, workflow_ref: str) -> Origin:
    """What the new side was run on. `workflow_ref` is what the runner says of this run's workflow."""
    if event.name == "workflow_run":
        return _of_workflow_run(event, decision)
    base = text_at(event.payload, "pull_request", "base", "ref")
    queued = QUEUE.match(event.ref) or QUEUE.match(text_at(event.payload, "merge_group", "head_ref"))
    if queued is not None:
        base = queued["base"]
    is_branch = event.name in OF_A_BRANCH and event.ref.startswith(_HEADS) and queued is None
    # Of a pull request, it is a merge commit; of a comment, the default branch.
    own_commit = "" if event.name.startswith(("pull_request", "issue_comment")) else event.sha
    return Origin(
        run=event.run.run_id,
        workflow=workflow_file(workflow_ref),
        commit=decision.head_sha or text_at(event.payload, "pull_request", "head", "sha") or own_commit,
        branch=event.ref.removeprefix(_HEADS) if is_branch else "",
        base=base,
        is_elsewhere=False,
    )


def _of_workflow_run(event: Event, decision: Decision) -> Origin:
    run = value_at(event.payload, "workflow_run")
    number = value_at(run, "id")
    listed = value_at(run, "pull_requests")
    bases = [
        text_at(entry, "base", "ref")
        for entry in (listed if isinstance(listed, list) else ())
        if value_at(entry, "number") in decision.numbers
    ]
    home, own = value_at(run, "head_repository", "id"), value_at(event.payload, "repository", "id")
    queued = QUEUE.match(text_at(run, "head_branch"))
    is_branch = text_at(run, "event") in OF_A_BRANCH and home == own and queued is None
    return Origin(
        run=number if isinstance(number, int) and number > 0 else 0,
        workflow=workflow_file(text_at(run, "path")),
        commit=decision.head_sha or text_at(run, "head_sha"),
        branch=text_at(run, "head_branch") if is_branch else "",
        base=queued["base"] if queued is not None else bases[0] if bases else "",
        is_elsewhere=True,
    )
