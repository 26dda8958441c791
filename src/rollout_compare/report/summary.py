"""The shape of the JSON summary, for whoever reads one: the source of schema/summary.v1.json.

`Summary.model_validate_json(text)` reads a summary that `report.json_summary` wrote.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from rollout_compare.core.judging.verdict import VerdictKind
from rollout_compare.core.schema import Category, SideName, WarningCode
from rollout_compare.statistics.evidence import Tag
from rollout_compare.statistics.paired import Method

Count = Annotated[int, Field(ge=0)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, frozen=True)


class Tool(_Model):
    """What made the summary."""

    name: Literal["rollout-compare"]
    version: str


class SidecarSummary(_Model):
    """What became of the records of a side's failures sidecars."""

    records: Count
    standing: Count
    superseded: Count
    set_aside: Count


class SideSummary(_Model):
    """One input."""

    paths: list[str]
    """As given."""
    bytes: Count
    """Size of the rollouts files on disk."""
    rows: Count
    """Rows compared, standing failures sidecar records among them."""
    masked_rows: Count
    digest: str
    """SHA-256 over the kept fields of all rows in reading order."""
    models: dict[str, Count]
    """Rows per model, the most frequent ones."""
    agents: dict[str, Count]
    """Rows per agent, the most frequent ones."""
    shards: list[str]
    """The rollouts files read."""
    sidecar: SidecarSummary


class VerdictSummary(_Model):
    """One sentence that says what the comparison shows."""

    kind: VerdictKind
    sentence: str


class IntervalSummary(_Model):
    """A confidence interval of the mean difference, in reward units."""

    low: float
    high: float
    level: float
    method: Method


class NoiseFloorSummary(_Model):
    """Tasks on which two single runs of a side would disagree."""

    old: float | None
    new: float | None


class SolvedSummary(_Model):
    """Paired tasks with the full reward, 1; repeats by their mean."""

    old: Count
    new: Count


class BracketSummary(_Model):
    """The mean difference had the masked tasks counted, at worst and at best."""

    low: float
    high: float


class MaskedOnlySummary(_Model):
    """Tasks masked on one side only, and the exact sign test of the two numbers."""

    old: Count
    new: Count
    p: float


class GroupSummary(_Model):
    """The headline figures of one taskset or agent; `p_adjusted` is Holm's."""

    by: Literal["taskset", "agent"]
    name: str
    n: Count
    mean_difference: float | None
    interval: IntervalSummary | None
    p_value: float | None
    p_adjusted: float | None


class SecondarySummary(_Model):
    """Tokens or seconds, over the tasks that have them on both sides."""

    name: str
    unit: str
    n: Count
    mean_old: float
    mean_new: float
    mean_difference: float


class StatisticsSummary(_Model):
    """Every figure; null where one does not exist."""

    n: Count
    coverage: float | None
    mean_old: float | None
    mean_new: float | None
    mean_difference: float | None
    standard_error: float | None
    interval: IntervalSummary | None
    p_value: float | None
    lost: Count
    won: Count
    exact_p: float | None
    resolution: float | None
    solved: SolvedSummary | None
    noise_floor: NoiseFloorSummary
    rerun_standard_error: float | None
    bracket: BracketSummary | None
    masked_only: MaskedOnlySummary
    groups: list[GroupSummary]
    secondary: list[SecondarySummary]
    rewards_are_shares: bool
    """Whether all rewards lie between 0 and 1."""
    reward_span: float | None
    """How far the rewards and 0 lie apart; 1 when all are 0."""
    constant: bool
    """Whether all paired tasks differ by the same amount."""


class EvidenceSummary(_Model):
    """What the repeats of a flipped task say about its difference."""

    tag: Tag
    p: float | None


class Counts(_Model):
    """How many tasks there are of each kind."""

    tasks: Count
    identical: Count
    flipped: Count
    flipped_old_win: Count
    flipped_new_win: Count
    flipped_agent_error: Count
    masked: Count
    masked_old: Count
    masked_new: Count
    missing: Count
    missing_old_only: Count
    missing_new_only: Count


class JoinSummary(_Model):
    """How tasks were matched."""

    old_key: str
    new_key: str
    old_prefix_stripped: str | None
    new_prefix_stripped: str | None
    keyed_by_taskset: bool
    keyed_by_agent: bool = False
    keyed_by_model: bool = False


class WarningEntry(_Model):
    """A doubt about the comparison."""

    code: WarningCode
    sentence: str
    count: Count
    tasks: list[str]
    """Up to five of the tasks concerned."""


class TaskSideEntry(_Model):
    """What one side says of one task."""

    reward: float | None
    """Mean of the finite rewards of all rows, masked ones included."""
    rows: Count
    masked: str | None
    agent_error: str | None
    failure_kind: str | None
    counted_reward: float | None
    """Mean of the rewards of the rows that count."""
    counted_rows: Count
    rewards: list[float | None]
    """Per row, in reading order; null for a masked one."""
    failure_message: str | None


class VerifierOutputEntry(_Model):
    """Where the losing row's verifier output was found; the output itself is in the reports."""

    side: SideName
    source: str


class TaskEntry(_Model):
    """One task; `evidence` and `verifier_output` are null unless it flipped."""

    task: str
    taskset: str | None
    """Null unless a side spans several tasksets."""
    category: Category
    winner: SideName | None
    agent: str | None = None
    model: str | None = None
    old: TaskSideEntry | None
    new: TaskSideEntry | None
    evidence: EvidenceSummary | None
    verifier_output: VerifierOutputEntry | None


class BaselineSummary(_Model):
    """The recorded run that the old side comes from. What is not known is null."""

    artifact: str
    """Name of the artifact with its rollouts."""
    run_id: Count
    run_url: str
    branch: str | None
    commit: str | None
    created_at: str | None
    """When the artifact was made."""
    age_days: float | None
    merge_base: str | None
    """The commit at which the pull request's branch left the baseline's."""
    behind: Count | None
    """How many commits of the merge base's history `commit` lacks."""
    ahead: Count | None
    """How many commits `commit` has that the merge base lacks."""


class OneSidedSummary(_Model):
    """The new side by itself, when there is no baseline to compare it with."""

    tasks: Count
    scored: Count
    """Tasks that count."""
    mean_reward: float | None
    """Over the scored tasks."""
    solved: Count | None
    """Scored tasks with the full reward, 1; null unless all rewards lie between 0 and 1."""
    masked: Count
    """Tasks that do not count."""


class Sides(_Model):
    """Both inputs."""

    old: SideSummary
    new: SideSummary


class Summary(_Model):
    """The whole JSON summary."""

    schema_version: Literal[1]
    tool: Tool
    sides: Sides
    verdict: VerdictSummary
    counts: Counts
    join: JoinSummary
    notes: list[str]
    warnings: list[WarningEntry]
    statistics: StatisticsSummary
    baseline: BaselineSummary | None
    """Null unless the old side was looked up among recorded runs."""
    one_sided: OneSidedSummary | None
    """Null unless `verdict.kind` is `no_baseline`."""
    tasks: list[TaskEntry]
    """In code-point order of their names."""
    redacted: Count
    """How many different secrets were replaced by `[redacted]` in this summary."""
