"""The comparison in numbers: paired figures over the tasks that both sides scored, and the evidence for each flip.

The formulas live in `rollout_compare.statistics`; this module says which numbers of a comparison enter them. Field
names are those of the JSON summary; a figure that does not exist is None.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from rollout_compare.core.joining.join import Joined
from rollout_compare.core.judging.classify import Tasks, mean
from rollout_compare.core.judging.rewards import CountedRewards, counted_rewards
from rollout_compare.core.reading.ids import ABSENT, Names
from rollout_compare.core.reading.side import Side
from rollout_compare.core.schema import FLIPS, REWARD_TOLERANCE, Both, SideName
from rollout_compare.statistics.evidence import Evidence, can_permute, weigh_evidence
from rollout_compare.statistics.flips import sign_test
from rollout_compare.statistics.masks import Bracket, bracket
from rollout_compare.statistics.multiple import holm
from rollout_compare.statistics.noise import NoiseFloor, noise_floor, rerun_standard_error
from rollout_compare.statistics.paired import Interval, Paired, compare_pairs
from rollout_compare.statistics.resolution import resolution

MOST_PERMUTATION_TESTS = 2_000
"""Flips whose graded repeats are tested by permutation: the biggest losses first."""

UNITS = {"output_tokens": "tokens", "input_tokens": "tokens", "seconds": "s"}


class MaskedOnly(NamedTuple):
    """How many tasks are masked on one side only, and the exact sign test of the two numbers."""

    old: int
    new: int
    p: float


class Solved(NamedTuple):
    """How many of the paired tasks have the full reward on each side."""

    old: int
    new: int


class Group(msgspec.Struct, frozen=True):
    """The headline figures of one taskset or of one agent."""

    by: str
    name: str
    n: int
    mean_difference: float | None
    interval: Interval | None
    p_value: float | None
    p_adjusted: float | None


class Secondary(msgspec.Struct, frozen=True):
    """Another number that rows carry, over the tasks that have it on both sides."""

    name: str
    unit: str
    n: int
    mean_old: float
    mean_new: float
    mean_difference: float


class Statistics(msgspec.Struct, frozen=True):
    """Every figure of a comparison."""

    n: int
    coverage: float | None
    mean_old: float | None
    mean_new: float | None
    mean_difference: float | None
    standard_error: float | None
    interval: Interval | None
    p_value: float | None
    lost: int
    won: int
    exact_p: float | None
    resolution: float | None
    solved: Solved | None
    """None unless all rewards lie between 0 and 1."""
    noise_floor: NoiseFloor
    rerun_standard_error: float | None
    bracket: Bracket | None
    masked_only: MaskedOnly
    groups: list[Group]
    secondary: list[Secondary]
    rewards_are_shares: bool
    """Whether all rewards lie between 0 and 1, so that differences are told in points."""
    reward_span: float | None
    """How far the rewards and 0 lie apart, 1 when all are 0: as much as a task can lose, as far as was seen."""
    constant: bool
    """Whether all paired tasks differ by the same amount, which leaves no p-value."""


class Assessment(NamedTuple):
    """The figures of a comparison, and the evidence for its flips by their positions among the tasks."""

    statistics: Statistics
    evidence: dict[int, Evidence]
    rewards: CountedRewards


def assess(joined: Joined, tasks: Tasks) -> Assessment:
    """Work out every figure of a comparison."""
    pairs = tasks.paired()
    sides = joined.sides.map(lambda side: side.side)
    rewards = counted_rewards(tasks, pairs)
    shares = rewards.are_shares
    headline = compare_pairs(*pairs.means, lowest=rewards.lowest, highest=rewards.highest)
    masked = _Masked(tasks)
    comparable = len(tasks) - joined.match.unshared
    only = len(masked.old_only), len(masked.new_only)
    # Without repeats there is no noise to work out from them.
    repeated = [] if pairs.single else pairs.positions
    repeats = Both(
        [tasks.counted_rewards(position, "old") for position in repeated],
        [tasks.counted_rewards(position, "new") for position in repeated],
    )
    statistics = Statistics(
        n=headline.n,
        coverage=headline.n / comparable if comparable else None,
        mean_old=headline.mean_old,
        mean_new=headline.mean_new,
        mean_difference=headline.mean_difference,
        standard_error=headline.standard_error,
        interval=headline.interval,
        p_value=headline.p_value,
        lost=headline.lost,
        won=headline.won,
        exact_p=sign_test(headline.lost, headline.won) if headline.n else None,
        resolution=resolution(headline),
        solved=Solved(*map(_full, pairs.means)) if shares else None,
        noise_floor=noise_floor(*repeats),
        rerun_standard_error=rerun_standard_error(*repeats),
        bracket=masked.bracket(headline) if shares else None,
        masked_only=MaskedOnly(*only, sign_test(*only)),
        groups=list(_groups(joined, tasks)),
        secondary=list(_secondary(sides, tasks, pairs.positions)),
        rewards_are_shares=shares,
        reward_span=headline.span,
        constant=headline.constant,
    )
    return Assessment(statistics, _evidence(tasks, rewards.tiny), rewards)


def _full(rewards: Sequence[float]) -> int:
    return sum(reward >= 1 - REWARD_TOLERANCE for reward in rewards)


class _Masked:
    """The masked tasks that both sides have."""

    def __init__(self, tasks: Tasks) -> None:
        self.old_only: list[float] = []
        """New rewards of tasks masked on the old side only."""
        self.new_only: list[float] = []
        self.both = 0
        for task in tasks.of("masked"):
            if task.old is None or task.new is None:
                continue
            if task.old.masked is None and task.old.counted_reward is not None:
                self.new_only.append(task.old.counted_reward)
            elif task.new.masked is None and task.new.counted_reward is not None:
                self.old_only.append(task.new.counted_reward)
            else:
                self.both += 1

    def bracket(self, headline: Paired) -> Bracket | None:
        return bracket(
            headline.n,
            headline.mean_difference,
            new_where_old_masked=self.old_only,
            old_where_new_masked=self.new_only,
            both_masked=self.both,
        )


def _evidence(tasks: Tasks, tiny: frozenset[int]) -> dict[int, Evidence]:
    """The evidence for each flip; of those that are `tiny`, which are no difference, p is 1 by any test."""
    found: dict[int, Evidence] = {}
    graded: list[tuple[float, int]] = []
    for at in tasks.positions(*FLIPS):
        if at in tiny:
            found[at] = Evidence("within_noise", 1.0)
            continue
        old, new = tasks.counted_rewards(at, "old"), tasks.counted_rewards(at, "new")
        evidence = weigh_evidence(old, new, may_permute=False)
        if evidence.p is None and evidence.tag != "single_run" and can_permute(len(old), len(new)):
            graded.append(((mean(new) or 0.0) / 2 - (mean(old) or 0.0) / 2, at))
        found[at] = evidence
    graded.sort()
    for _, at in graded[:MOST_PERMUTATION_TESTS]:
        found[at] = weigh_evidence(tasks.counted_rewards(at, "old"), tasks.counted_rewards(at, "new"))
    return found


def _groups(joined: Joined, tasks: Tasks) -> Iterator[Group]:
    """The figures per taskset and per agent, when a side has several of them."""
    spanning = [(name, side.tasksets) for name, side in joined.sides.named() if len(side.taskset_codes()) > 1]
    several = [
        (name, side.side.provenance.agents.codes)
        for name, side in joined.sides.named()
        if len(side.side.named(side.side.provenance.agents)) > 1
    ]
    for by, of_sides in (("taskset", spanning), ("agent", several)):
        if of_sides and (codes := of_sides[-1][1]) is not None:
            yield from _grouped(by, tasks, of_sides[-1][0], codes, joined.sides.old.side.names)


def _grouped(by: str, tasks: Tasks, side: SideName, codes: array[int], names: Names) -> Iterator[Group]:
    """The figures of the paired tasks by the code of their rows on `side`, one of `names`."""
    members: dict[int, list[int]] = {}
    for position in tasks.paired().positions:
        named = {codes[row] for row in tasks.rows_of(position, side)}
        # A task that several agents attempted belongs to none of them.
        if len(named) == 1:
            members.setdefault(named.pop(), []).append(position)
    figures = []
    texts = list(names)
    for code, positions in members.items():
        if code != ABSENT:
            pairs = tasks.paired(positions)
            rewards = counted_rewards(tasks, pairs)
            found = compare_pairs(*pairs.means, lowest=rewards.lowest, highest=rewards.highest)
            figures.append((str(texts[code]), found))
    figures.sort(key=lambda figure: figure[0])
    adjusted = holm([found.p_value for _, found in figures])
    for (label, found), p in zip(figures, adjusted, strict=True):
        yield Group(by, label, found.n, found.mean_difference, found.interval, found.p_value, p)


def _secondary(sides: Both[Side], tasks: Tasks, positions: Iterable[int]) -> Iterator[Secondary]:
    measures = sides.map(lambda side: side.provenance.measures)
    for name, unit in UNITS.items():
        if name not in measures.old or name not in measures.new:
            continue
        old, new = array("d"), array("d")
        for position in positions:
            old_mean = _mean_of(measures.old[name], tasks.rows_of(position, "old"))
            new_mean = _mean_of(measures.new[name], tasks.rows_of(position, "new"))
            if old_mean is not None and new_mean is not None:
                old.append(old_mean)
                new.append(new_mean)
        found = compare_pairs(old, new)
        if found.mean_old is not None and found.mean_new is not None and found.mean_difference is not None:
            yield Secondary(name, unit, found.n, found.mean_old, found.mean_new, found.mean_difference)


def _mean_of(column: array[float], rows: Sequence[int]) -> float | None:
    known = [column[row] for row in rows if not math.isnan(column[row])]
    return mean(known)
