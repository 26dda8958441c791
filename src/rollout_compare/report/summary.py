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
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, frozen=True, use_attribute_docstrings=True)


class Tool(_Model):
    """What made the summary."""

    name: Literal["rollout-compare"]
    """Always `rollout-compare`."""
    version: str
    """Of the program, as in `--version`."""


class SidecarSummary(_Model):
    """What became of the records of a side's failures sidecars."""

    records: Count
    """Records in the sidecars."""
    standing: Count
    """Records that stand: each is a row of the side."""
    superseded: Count
    """Records of attempts for which a row or a later record speaks."""
    set_aside: Count
    """Records that tell of no failure: of no rollout, left out on purpose, or never started."""


class SideSummary(_Model):
    """One input."""

    paths: list[str]
    """As given."""
    format: str
    """The format it was read from: `rollouts`, or that of another tool; several when shards differ."""
    bytes: Count
    """Size of the rollouts files on disk, in bytes."""
    rows: Count
    """Rows compared, standing failures sidecar records among them."""
    masked_rows: Count
    """Rows that do not count."""
    digest: str
    """SHA-256 over the kept fields of all rows in reading order."""
    models: dict[str, Count]
    """Rows per model, the most frequent ones."""
    agents: dict[str, Count]
    """Rows per agent, the most frequent ones."""
    shards: list[str]
    """The rollouts files read."""
    sidecar: SidecarSummary
    """What became of the records of its failures sidecars."""


class VerdictSummary(_Model):
    """One sentence that says what the comparison shows."""

    kind: VerdictKind
    """The first rule that fits."""
    sentence: str
    """The verdict in words, as the reports start with it."""


class IntervalSummary(_Model):
    """A confidence interval of the mean difference, in reward units."""

    low: float
    """Lower bound, in reward units."""
    high: float
    """Upper bound, in reward units."""
    level: float
    """Confidence level, a share: 0.95."""
    method: Method
    """How it was worked out: with one lost and one won pair more, of as much as the rewards span."""


class NoiseFloorSummary(_Model):
    """Tasks on which two single runs of a side would disagree."""

    old: float | None
    """Of the old side, in tasks; null when its repeats do not show it."""
    new: float | None
    """Of the new side, in tasks; null when its repeats do not show it."""


class SolvedSummary(_Model):
    """Paired tasks with the full reward, 1; repeats by their mean."""

    old: Count
    """On the old side, in tasks."""
    new: Count
    """On the new side, in tasks."""


class BracketSummary(_Model):
    """The mean difference had the masked tasks counted, at worst and at best."""

    low: float
    """At worst, in reward units."""
    high: float
    """At best, in reward units."""


class MaskedOnlySummary(_Model):
    """Tasks masked on one side only, and the exact sign test of the two numbers."""

    old: Count
    """Tasks masked on the old side only."""
    new: Count
    """Tasks masked on the new side only."""
    p: float
    """p-value of the exact sign test, two-sided."""


class GroupSummary(_Model):
    """The headline figures of one taskset or agent; `p_adjusted` is Holm's."""

    by: Literal["taskset", "agent"]
    """What the group has in common."""
    name: str
    """Its taskset or agent."""
    n: Count
    """Its paired tasks."""
    mean_difference: float | None
    """Mean difference of its paired tasks, new minus old, in reward units."""
    interval: IntervalSummary | None
    """95% confidence interval of that difference."""
    p_value: float | None
    """Two-sided p-value of that difference."""
    p_adjusted: float | None
    """The same, corrected by Holm's method for the number of groups."""


class SecondarySummary(_Model):
    """Tokens or seconds, over the tasks that have them on both sides."""

    name: str
    """`output_tokens`, `input_tokens` or `seconds`."""
    unit: str
    """Unit of the three means."""
    n: Count
    """Paired tasks that have the number on both sides."""
    mean_old: float
    """Mean over these tasks on the old side, in `unit`."""
    mean_new: float
    """Mean over these tasks on the new side, in `unit`."""
    mean_difference: float
    """Mean difference, new minus old, in `unit`."""


class StatisticsSummary(_Model):
    """Every figure; null where one does not exist."""

    n: Count
    """Paired tasks: those scored on both sides."""
    coverage: float | None
    """Share of all tasks that is paired, those of an agent or model that one side lacks left out."""
    mean_old: float | None
    """Mean over paired tasks of the old side's mean reward, in reward units."""
    mean_new: float | None
    """Mean over paired tasks of the new side's mean reward, in reward units."""
    mean_difference: float | None
    """Mean difference over paired tasks, new minus old, in reward units."""
    standard_error: float | None
    """Standard error of the mean difference, in reward units: how far it would stray on other tasks of this kind."""
    interval: IntervalSummary | None
    """95% confidence interval of the mean difference."""
    p_value: float | None
    """Two-sided p-value of the mean difference, by Student's t."""
    lost: Count
    """Paired tasks with a lower mean reward on the new side."""
    won: Count
    """Paired tasks with a higher mean reward on the new side."""
    exact_p: float | None
    """p-value of the exact sign test of `lost` against `won`, two-sided."""
    resolution: float | None
    """True loss, of whole tasks, that is called lower in 80% of such comparisons, in reward units."""
    solved: SolvedSummary | None
    """Paired tasks with the full reward on either side; null unless all their rewards lie between 0 and 1."""
    noise_floor: NoiseFloorSummary
    """Tasks on which two single runs of the same side would disagree."""
    rerun_standard_error: float | None
    """How far the mean difference would stray if the same tasks were run again, in reward units."""
    bracket: BracketSummary | None
    """The mean difference had the masked tasks counted; null unless all rewards that count lie between 0 and 1."""
    masked_only: MaskedOnlySummary
    """Tasks masked on one side only."""
    groups: list[GroupSummary]
    """The headline figures of each taskset or agent, where there are several."""
    secondary: list[SecondarySummary]
    """Tokens and seconds."""
    rewards_are_shares: bool
    """Whether all rewards lie between 0 and 1."""
    reward_span: float | None
    """How far the rewards and 0 lie apart; 1 when all are 0."""
    constant: bool
    """Whether all paired tasks differ by the same amount."""


class EvidenceSummary(_Model):
    """What the repeats of a flipped task say about its difference."""

    tag: Tag
    """Whether its own repeats tell the sides apart."""
    p: float | None
    """Two-sided p-value of the test of its repeats; null when none was made."""


class Counts(_Model):
    """How many tasks there are of each kind."""

    tasks: Count
    """All tasks of either side."""
    identical: Count
    """Tasks that count on both sides with the same mean reward, to within 1e-9."""
    flipped: Count
    """Tasks that count on both sides with different mean rewards, and no agent error."""
    flipped_old_win: Count
    """Those of `flipped` with a higher mean on the old side."""
    flipped_new_win: Count
    """Those of `flipped` with a higher mean on the new side."""
    flipped_agent_error: Count
    """Tasks that differ likewise, where a side reports an agent error."""
    masked: Count
    """Tasks on both sides that do not count on one of them at least."""
    masked_old: Count
    """Those of `masked` that do not count on the old side."""
    masked_new: Count
    """Those of `masked` that do not count on the new side."""
    missing: Count
    """Tasks that one side lacks."""
    missing_old_only: Count
    """Those of `missing` that only the old side has."""
    missing_new_only: Count
    """Those of `missing` that only the new side has."""


class JoinSummary(_Model):
    """How tasks were matched."""

    old_key: str
    """The field that names the old side's tasks."""
    new_key: str
    """The field that names the new side's tasks."""
    old_prefix_stripped: str | None
    """The prefix that was taken off the old side's ids, if any."""
    new_prefix_stripped: str | None
    """The prefix that was taken off the new side's ids, if any."""
    keyed_by_taskset: bool
    """Whether tasks were told apart by their tasksets."""
    keyed_by_agent: bool = False
    """Whether tasks were told apart by their agents; only there when true."""
    keyed_by_model: bool = False
    """Whether tasks were told apart by their models; only there when true."""


class WarningEntry(_Model):
    """A doubt about the comparison."""

    code: WarningCode
    """Which doubt it is, for programs."""
    sentence: str
    """The same in words."""
    count: Count
    """How many tasks, rows or records it is about, by its code."""
    tasks: list[str]
    """Up to five of the tasks concerned."""


class TaskSideEntry(_Model):
    """What one side says of one task."""

    reward: float | None
    """Mean of the finite rewards of all rows, masked ones included."""
    rows: Count
    """Its rows of the task."""
    masked: str | None
    """Why it does not count; null when it does."""
    agent_error: str | None
    """The agent error of one of its rows, if there is one."""
    failure_kind: str | None
    """The kind of failure that a row that counts names, if there is one."""
    counted_reward: float | None
    """Mean of the rewards of the rows that count."""
    counted_rows: Count
    """How many rows count."""
    rewards: list[float | None]
    """Per row, in reading order; null for a masked one."""
    failure_message: str | None
    """What a masked row or a measured failure says of it."""
    agent_error_message: str | None
    """The agent error as the reports show it; `agent_error` holds an error that is an object as Python writes it."""
    components: dict[str, float] | None
    """Means of the reward's components over the rows that count; null without any."""


class VerifierOutputEntry(_Model):
    """Where the losing row's verifier output was found; the output itself is in the reports."""

    side: SideName
    """The losing side, whose output it is."""
    source: str
    """The log or the row's field that holds it, or why there is none."""


class ChangedTestEntry(_Model):
    """One test that changed."""

    name: str
    """Suite or file and test."""
    message: str
    """First line of what it says of its failure; empty when it says nothing."""
    group: str | None
    """`PASS_TO_PASS` or `FAIL_TO_PASS`, where the results have such lists."""


class TestsEntry(_Model):
    """Which tests of a flip changed. Numbers are means where a side has several rows with results."""

    __test__ = False  # not a class of tests, whatever pytest takes it for

    old_passed: float
    """Tests that passed on the old side."""
    old_total: float
    """Tests that its results list."""
    new_passed: float
    """Tests that passed on the new side."""
    new_total: float
    """Tests that its results list."""
    broke: list[ChangedTestEntry]
    """Passed in a smaller share of the rows than before; at most 50, as in the other lists."""
    fixed: list[ChangedTestEntry]
    """Passed in a larger share of the rows than before."""
    not_run: list[ChangedTestEntry]
    """On one side only, or passed before and skipped now."""
    broke_total: Count
    """How many tests broke."""
    fixed_total: Count
    """How many were fixed."""
    not_run_total: Count
    """How many were not run."""


class CauseEntry(_Model):
    """Tasks that end alike, by what became of them."""

    signature: str
    """The line in which they end, without what differs from run to run."""
    example: str
    """That line of one of them."""
    regressed: Count
    """Tasks that flipped, the old side winning."""
    agent_error: Count
    """Tasks that flipped with an agent error."""
    masked: Count
    """Masked tasks."""
    improved: Count
    """Tasks that flipped, the new side winning, and ended so on the old side before."""
    tasks: list[str]
    """At most 20 of them by name, regressed ones first."""


class TaskEntry(_Model):
    """One task; `evidence`, `verifier_output` and `tests` are null unless it flipped."""

    task: str
    """Its name."""
    taskset: str | None
    """Null unless a side spans several tasksets."""
    category: Category
    """Its class."""
    winner: SideName | None
    """The side with the higher mean reward, for a flip; else null."""
    agent: str | None = None
    """Whose rows these are, when tasks are told apart by their agents; only there then."""
    model: str | None = None
    """Whose rows these are, when tasks are told apart by their models; only there then."""
    old: TaskSideEntry | None
    """What the old side says of it; null when it lacks the task."""
    new: TaskSideEntry | None
    """What the new side says of it; null when it lacks the task."""
    evidence: EvidenceSummary | None
    """What its own repeats say of a flip; else null."""
    verifier_output: VerifierOutputEntry | None
    """Where the verifier output of a flip was found; else null."""
    tests: TestsEntry | None
    """Null too when the losing row has no test results."""
    cause: str | None
    """The signature of one of `causes`."""


class BaselineSummary(_Model):
    """The recorded run that the old side comes from. What is not known is null."""

    artifact: str
    """Name of the artifact with its rollouts."""
    run_id: Count
    """Number of the workflow run."""
    run_url: str
    """Its page."""
    branch: str | None
    """The branch it ran on."""
    commit: str | None
    """The commit it ran on."""
    created_at: str | None
    """When the artifact was made (RFC 3339, UTC)."""
    age_days: float | None
    """Age of the artifact when it was compared with, in days."""
    merge_base: str | None
    """The commit at which the pull request's branch left the baseline's."""
    behind: Count | None
    """How many commits of the merge base's history `commit` lacks."""
    ahead: Count | None
    """How many commits `commit` has that the merge base lacks."""


class OneSidedSummary(_Model):
    """The new side by itself, when there is no baseline to compare it with."""

    tasks: Count
    """All its tasks."""
    scored: Count
    """Tasks that count."""
    mean_reward: float | None
    """Over the scored tasks, in reward units."""
    solved: Count | None
    """Scored tasks with the full reward, 1; null unless all rewards lie between 0 and 1."""
    masked: Count
    """Tasks that do not count."""


class Sides(_Model):
    """Both inputs."""

    old: SideSummary
    """The reference."""
    new: SideSummary
    """The candidate."""


class Summary(_Model):
    """The whole JSON summary."""

    schema_version: Literal[1]
    """Version of this shape, counted apart from the program's."""
    tool: Tool
    """What made the summary."""
    sides: Sides
    """Both inputs."""
    verdict: VerdictSummary
    """What the comparison shows, in one sentence."""
    counts: Counts
    """How many tasks there are of each class."""
    join: JoinSummary
    """How tasks were matched."""
    notes: list[str]
    """Facts about the comparison, a sentence each."""
    warnings: list[WarningEntry]
    """What may mislead, the gravest first."""
    statistics: StatisticsSummary
    """Every figure about the paired tasks; null where one does not exist."""
    baseline: BaselineSummary | None
    """Null unless the old side was looked up among recorded runs."""
    one_sided: OneSidedSummary | None
    """Null unless `verdict.kind` is `no_baseline`."""
    causes: list[CauseEntry]
    """Of the tasks that were looked at, at most 500 of each kind; most regressed first."""
    tasks: list[TaskEntry]
    """In code-point order of their names."""
    redacted: Count
    """How many different secrets were replaced by `[redacted]` in this summary."""
