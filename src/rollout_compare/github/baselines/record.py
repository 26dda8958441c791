"""A recorded run as the baseline that a report tells of: where it is, how old, and how far from the merge base."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from rollout_compare.core.judging.baseline import Baseline
from rollout_compare.github.api.faults import ApiError
from rollout_compare.github.baselines.runs import Artifact, Runs, WorkflowRun

_DAY = 86_400.0


def baseline_of(
    runs: Runs, run: WorkflowRun, artifact: Artifact, *, run_url: str, merge_base: str, now: float
) -> Baseline:
    """The baseline that an artifact of a run is. `merge_base` is empty when it is not known.

    `now` is in seconds since 1970. When GitHub does not tell the distance, the baseline has none.
    """
    baseline = Baseline(
        artifact=artifact.name,
        run_id=run.number,
        run_url=run_url,
        branch=run.branch or None,
        commit=run.commit or None,
        created_at=artifact.created_at or None,
        age_days=_age(artifact.created_at, now),
        merge_base=merge_base or None,
    )
    if not merge_base or not run.commit:
        return baseline
    try:
        distance = runs.distance(run.commit, merge_base)
    except ApiError:
        return baseline
    return replace(baseline, behind=distance.behind, ahead=distance.ahead)


def _age(moment: str, now: float) -> float | None:
    """Days from a moment (RFC 3339) until now; None when that is not a moment."""
    try:
        made = datetime.fromisoformat(moment)
    except ValueError:
        return None
    made = made if made.tzinfo is not None else made.replace(tzinfo=UTC)
    return max(0.0, round((now - made.timestamp()) / _DAY, 2))
