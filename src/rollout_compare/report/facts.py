"""What there is to tell of a comparison, in words and figures: each report only lays it out.

All text here is redacted and of bounded length, but not yet harmless: whoever shows it goes through
`rollout_compare.report.untrusted`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from rollout_compare.core.causes.explanation import Explanation
from rollout_compare.core.causes.signature import signature
from rollout_compare.core.compare import Comparison
from rollout_compare.core.judging.assessment import Group, Secondary
from rollout_compare.core.judging.baseline import OneSided
from rollout_compare.core.judging.importance import FlipKind, flips_by_importance
from rollout_compare.core.logs.search import VerifierOutput
from rollout_compare.core.logs.verifier_output import VerifierOutputs
from rollout_compare.core.reading.digest import digest_of
from rollout_compare.core.reading.side import Side
from rollout_compare.core.redaction import shortened
from rollout_compare.core.schema import FLIPS, SideName, TaskSide
from rollout_compare.core.sentences import Sentence, counted, p_text
from rollout_compare.report.causes import (
    CausesFact,
    ComponentFact,
    TestsFact,
    causes_fact,
    component_facts,
    tests_fact,
)
from rollout_compare.report.untrusted import Redactor
from rollout_compare.report.wording import (
    NAME_LIMIT,
    evidence_text,
    mean_text,
    repeats_text,
    rewards_text,
    signed,
    spread,
    told_apart,
    whole,
    without_zero,
)
from rollout_compare.statistics.paired import Interval

_VERDICT_HEAD = re.compile(r"[^:(]*[^:( ]")
WINS: dict[SideName, str] = {"old": "old wins", "new": "new wins"}
SIDES: tuple[SideName, SideName] = ("old", "new")


class Figure(NamedTuple):
    """One line of the table that sets the sides against each other. The cells are words of ours."""

    name: str
    old: str
    new: str
    difference: str
    interval: str = ""
    is_clear: bool = False
    """Whether the interval leaves out 0."""


@dataclass(frozen=True, slots=True)
class Maker:
    """The models or agents of the sides: names from the inputs."""

    name: str
    old: list[str]
    new: list[str]

    is_one_sided: bool = False

    @property
    def same(self) -> bool:
        """Whether both sides name the same."""
        return self.old == self.new

    @property
    def difference(self) -> str:
        """Whether that is a change; nothing when there is no old side."""
        return "" if self.is_one_sided else "same" if self.same else "changed"


@dataclass(frozen=True, slots=True)
class ClassRow:
    """One class of tasks, how many there are, and how they divide."""

    name: str
    number: int
    detail: str


@dataclass(frozen=True, slots=True)
class GroupFigure:
    """The figures of one taskset or one agent."""

    by: str
    name: str
    tasks: int
    difference: str
    interval: str
    p: str


@dataclass(frozen=True, slots=True)
class Signal:
    """Something a side reports about a flip: `what` is ours, `data` comes from the rows."""

    side: SideName
    what: str
    data: str


@dataclass(frozen=True, slots=True)
class Flip:
    """A flip, without its verifier output."""

    at: int
    task: str
    old: str
    new: str
    winner: SideName
    evidence: str
    repeats: str
    signals: list[Signal]
    agent_error: bool
    tests: TestsFact | None
    """The tests that changed, where the rows have results."""
    components: list[ComponentFact]
    """The components of the reward that changed."""

    @property
    def loser(self) -> SideName:
        """The side with the lower reward."""
        return "new" if self.winner == "old" else "old"


@dataclass(frozen=True, slots=True)
class Section:
    """Flips of one kind, by their positions among the tasks: the biggest loss first, then by name."""

    key: str
    title: str
    positions: list[int]


@dataclass(frozen=True, slots=True)
class Listing:
    """Tasks that are masked or missing alike: per side, in our words, the reason that its rows give."""

    reasons: list[tuple[str, str]]
    tasks: list[str]


@dataclass(frozen=True, slots=True)
class Input:
    """One side: its files, as given, and what was read of them."""

    name: SideName
    paths: list[str]
    shards: list[str]
    rows: int
    masked_rows: int
    digest: str
    """Of the rows."""
    title: str = ""
    """What the side is called in its format; empty for rollouts."""
    unit: str = "row"
    """What a row is called there."""

    @property
    def size(self) -> str:
        """How many rows there are, and of what: "Harbor job, 445 trials"."""
        return ", ".join(filter(None, (self.title, counted(self.rows, self.unit))))

    @property
    def path(self) -> str:
        """The first path, as a short name of the side."""
        return self.paths[0]

    @property
    def more(self) -> int:
        """How many paths were given besides."""
        return len(self.paths) - 1


class Facts:
    """Everything a report tells. `redact` is the report's own, so that it knows what it took out."""

    def __init__(
        self,
        comparison: Comparison,
        outputs: VerifierOutputs,
        redact: Redactor,
        explanation: Explanation | None = None,
    ) -> None:
        self.comparison = comparison
        self.explanation = explanation or Explanation()
        self.outputs = outputs
        self.redact = redact
        self.verdict = comparison.verdict
        self.counts = comparison.counts
        self.warnings = comparison.warnings
        self.notes = comparison.notes
        self.join = comparison.join
        self.statistics = comparison.assessment.statistics

    @property
    def verdict_head(self) -> tuple[Sentence, Sentence]:
        """The verdict's first words, which say what it is, and the rest: the figures."""
        return self.verdict.sentence.split_after(_VERDICT_HEAD)

    @property
    def headline(self) -> str:
        """One sentence that states the counts in words."""
        counts, alone = self.counts, self.comparison.one_sided
        if alone is not None:
            return f"{counted(alone.tasks, 'task')} on the new side: {alone.scored:,} scored, {alone.masked:,} masked."
        flipped = f"{counts['flipped']:,} flipped"
        if counts["flipped"]:
            flipped += f" ({counts['flipped_old_win']:,} to old, {counts['flipped_new_win']:,} to new)"
        if counts["flipped_agent_error"]:
            flipped += f", {counts['flipped_agent_error']:,} flipped with an agent error"
        return (
            f"{counted(counts['tasks'], 'task')} compared: {counts['identical']:,} identical, {flipped}, "
            f"{counts['masked']:,} masked, {counts['missing']:,} missing."
        )

    @cached_property
    def inputs(self) -> list[Input]:
        """The sides that were read, old first."""
        return [self._input(name, side) for name, side in self.comparison.sides.named()[self.is_one_sided :]]

    @property
    def is_one_sided(self) -> bool:
        """Whether there is no old side."""
        return self.comparison.one_sided is not None

    @property
    def baseline(self) -> Sentence | None:
        """Which recorded run the old side is."""
        baseline = self.comparison.baseline
        return None if baseline is None else self._shown(baseline.sentence)

    @property
    def advice(self) -> Sentence | None:
        """How to get an old side, when there is none."""
        absent = self.comparison.no_baseline
        return None if absent is None else self._shown(absent.advice)

    def _shown(self, sentence: Sentence) -> Sentence:
        return sentence.with_data(lambda data: shortened(data, NAME_LIMIT, self.redact))

    def _input(self, name: SideName, side: Side) -> Input:
        shards = [shard.files.rollouts for shard in side.shards]
        paths = self.redact.all(side.paths)
        told = Input(name, paths, self.redact.all(shards), len(side), side.masked_rows, digest_of(side))
        kinds = {(shard.source.title, shard.source.unit) if shard.source is not None else None for shard in side.shards}
        kind = kinds.pop() if len(kinds) == 1 else None
        return told if kind is None else replace(told, title=kind[0], unit=kind[1])

    @property
    def figures(self) -> list[Figure]:
        """The sides in numbers, most of them over the tasks that both sides scored."""
        if self.comparison.one_sided is not None:
            return list(_figures_of_one(self.comparison.one_sided))
        found, figures = self.statistics, []
        if found.mean_old is not None and found.mean_new is not None and found.mean_difference is not None:
            difference = signed(found.mean_difference, found.interval)
            means = mean_text(found.mean_old), mean_text(found.mean_new)
            figures.append(
                Figure(
                    f"mean reward, {counted(found.n, 'task')}",
                    *means,
                    difference,
                    spread(found.interval),
                    difference != "0" and _is_clear(found.interval),
                )
            )
        if found.solved is not None and found.n:
            solved = found.solved
            cells = f"{solved.old:,} of {found.n:,}", f"{solved.new:,} of {found.n:,}"
            figures.append(Figure("solved", *cells, whole(solved.new - solved.old)))
        old, new = self.counts["masked_old"], self.counts["masked_new"]
        if old or new:
            figures.append(Figure("masked, tasks", f"{old:,}", f"{new:,}", whole(new - old)))
        return [*figures, *map(_secondary, found.secondary)]

    @property
    def makers(self) -> list[Maker]:
        """Models and agents, if the rows name any."""
        models = self.comparison.sides.map(lambda side: side.named(side.provenance.models))
        agents = self.comparison.sides.map(lambda side: side.named(side.provenance.agents))
        named = (("model", *models), ("agent", *agents))
        return [
            Maker(name, self._most_common(old_names), self._most_common(new_names), self.is_one_sided)
            for name, old_names, new_names in named
            if old_names or new_names
        ]

    def _most_common(self, seen: Counter[str]) -> list[str]:
        return [shortened(text, NAME_LIMIT, self.redact) for text, _ in seen.most_common(2)]

    @property
    def groups(self) -> Iterator[GroupFigure]:
        """The figures per taskset and per agent, where a side has several."""
        return map(self._group, self.statistics.groups)

    def _group(self, group: Group) -> GroupFigure:
        return GroupFigure(
            group.by,
            shortened(group.name, NAME_LIMIT, self.redact),
            group.n,
            "" if group.mean_difference is None else signed(group.mean_difference, group.interval),
            spread(group.interval),
            "" if group.p_adjusted is None else p_text(group.p_adjusted),
        )

    @property
    def classes(self) -> list[ClassRow]:
        """The classes, each with its number of tasks."""
        counts = self.counts
        flipped = _parts(("old wins", counts["flipped_old_win"]), ("new wins", counts["flipped_new_win"]))
        masked = _parts(("old", counts["masked_old"]), ("new", counts["masked_new"]))
        missing = _parts(("old only", counts["missing_old_only"]), ("new only", counts["missing_new_only"]))
        erring = counts["flipped_agent_error"]
        return [
            ClassRow("identical", counts["identical"], ""),
            ClassRow("flipped", counts["flipped"], flipped),
            ClassRow("flipped, agent error", erring, "rerun before counting" if erring else ""),
            ClassRow("masked", counts["masked"], masked),
            ClassRow("missing", counts["missing"], missing),
        ]

    @cached_property
    def sections(self) -> list[Section]:
        """The flips, the most important first."""
        titles: tuple[tuple[FlipKind, str], ...] = (
            ("regressed", "Regressed"),
            ("improved", "Improved"),
            ("agent_error", "Flipped with an agent error"),
        )
        flips = flips_by_importance(self.comparison.tasks)
        return [Section(kind, title, flips[kind]) for kind, title in titles if flips[kind]]

    def flip(self, at: int) -> Flip:
        """The flip that stands at this position among the tasks."""
        task = self.comparison.tasks[at]
        assert task.old is not None
        assert task.new is not None
        assert task.winner is not None
        old, new = told_apart(task.old.counted_reward, task.new.counted_reward)
        changes = self.explanation.changes.get(at)
        return Flip(
            at,
            shortened(task.task, NAME_LIMIT),
            old,
            new,
            task.winner,
            evidence_text(self.comparison.assessment.evidence[at]),
            repeats_text(task.old, task.new),
            [*_signals("old", task.old), *_signals("new", task.new)],
            task.category == FLIPS[1],
            None if changes is None else tests_fact(changes, "new" if task.winner == "old" else "old"),
            component_facts(task.old, task.new),
        )

    @cached_property
    def causes(self) -> CausesFact:
        """The causes that several tasks share."""
        return causes_fact(self.explanation)

    def output(self, at: int) -> VerifierOutput:
        """The end of the verifier output of a flip's losing row."""
        return self.outputs.of(at)

    @property
    def masked(self) -> list[Listing]:
        """The masked tasks by the reasons for it, the most frequent first."""
        groups: dict[tuple[tuple[str, str], ...], Listing] = {}
        for task in self.comparison.tasks if self.is_one_sided else self.comparison.tasks.of("masked"):
            said = [
                (name, *_masked_reason(side))
                for name, side in zip(SIDES, (task.old, task.new), strict=True)
                if side is not None and side.masked is not None
            ]
            key = tuple((name, alike) for name, _, alike in said)
            reasons: list[tuple[str, str]] = [(name, reason) for name, reason, _ in said]
            if len(said) == 2 and key[0][1] == key[1][1]:
                reasons = [("old and new", reasons[0][1])]
            if reasons or not self.is_one_sided:
                groups.setdefault(key, Listing(reasons, [])).tasks.append(shortened(task.task, NAME_LIMIT))
        return sorted(groups.values(), key=lambda listing: (-len(listing.tasks), listing.reasons))

    @property
    def missing(self) -> list[Listing]:
        """The tasks that only one side has, if there are two."""
        if self.is_one_sided:
            return []
        only: dict[str, list[str]] = {"old only": [], "new only": []}
        for task in self.comparison.tasks.of("missing"):
            only["old only" if task.new is None else "new only"].append(shortened(task.task, NAME_LIMIT))
        return [Listing([(side, "")], tasks) for side, tasks in only.items() if tasks]

    @property
    def redacted(self) -> str:
        """How many secrets are not told; empty when there are none."""
        if not self.redact.found_any:
            return ""
        return f"{self.redact.count} {'secret' if self.redact.count == '1' else 'secrets'} redacted"


def _masked_reason(side: TaskSide) -> tuple[str, str]:
    """Why a side is masked, with what its rows say of it; and the same as it is for all that say alike."""
    reason, message = side.masked or "", side.failure_message
    if not message:
        return reason, reason
    return f"{reason}: {message}", f"{reason}: {signature(message)}"


def _is_clear(interval: Interval | None) -> bool:
    return interval is not None and (interval.low > 0 or interval.high < 0)


def _parts(*numbers: tuple[str, int]) -> str:
    return ", ".join(f"{words} {number:,}" for words, number in numbers) if any(n for _, n in numbers) else ""


def _figures_of_one(alone: OneSided) -> Iterator[Figure]:
    """The new side by itself in numbers."""
    if alone.mean_reward is not None:
        yield Figure(f"mean reward, {counted(alone.scored, 'task')}", "", mean_text(alone.mean_reward), "")
    if alone.solved is not None:
        yield Figure("solved", "", f"{alone.solved:,} of {alone.scored:,}", "")
    if alone.masked:
        yield Figure("masked, tasks", "", f"{alone.masked:,}", "")


def _secondary(other: Secondary) -> Figure:
    name = f"{other.name.replace('_', ' ')}, {counted(other.n, 'task')}"
    difference = without_zero(f"{other.mean_difference:+,.1f}")
    return Figure(name, f"{other.mean_old:,.1f}", f"{other.mean_new:,.1f}", difference)


def _signals(name: SideName, side: TaskSide) -> Iterator[Signal]:
    if side.rows > 1:
        yield Signal(name, f"rewards {rewards_text(side.rewards)}", "")
    if side.agent_error_message is not None:
        yield Signal(name, "reports", side.agent_error_message)
    if side.failure_kind is not None:
        yield Signal(name, "measured failure", side.failure_kind)
        if side.failure_message is not None:
            yield Signal(name, "message", side.failure_message)
