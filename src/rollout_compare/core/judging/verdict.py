"""The verdict: one sentence that says what a comparison shows and what it does not; the first rule that fits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from rollout_compare.core.joining.join import Joined
from rollout_compare.core.judging.assessment import Assessment, Statistics
from rollout_compare.core.judging.runs import lost_of
from rollout_compare.core.judging.units import Units
from rollout_compare.core.schema import TASK_INDEX, SideName, WarningCode
from rollout_compare.core.sentences import (
    CheckWarning,
    Marked,
    Sentence,
    capitalized,
    counted,
    field_name,
    listed,
    p_text,
    told,
)
from rollout_compare.statistics.paired import Interval

VerdictKind = Literal[
    "not_comparable", "too_little", "lower", "higher", "within_margin", "no_clear_difference", "no_baseline"
]

FEWEST_TASKS = 10
LEAST_COVERAGE = 0.5
_SIGNIFICANT = 0.05
_FEWEST_FAMILIES = 2
_FAMILY_SHARE = 10
"""A tenth of the joined tasks, if they are families, makes a comparison void."""
_LOST_SHARE = 0.1
"""The share of a side's plan from which on lost rollouts are weighed."""
_TOLD: frozenset[WarningCode] = frozenset(
    {"key_collapses_tasks", "models_mixed", "rollouts_lost", "repeated_rows", "duplicate_rollouts"}
)
_NAMING: frozenset[WarningCode] = frozenset({"repeated_rows", "duplicate_rollouts"})
"""Those of which the verdict does not repeat the names of tasks."""
_UNSEEN = 3
"""Of n tasks, what happens to 3 in n is not seen at all in 5 of 100 cases: the rule of three."""


class Verdict(NamedTuple):
    """What kind of verdict it is, and its sentences, the same in every report.

    The first one says what the comparison shows, the others what to keep in mind about it.
    """

    kind: VerdictKind
    sentences: tuple[Sentence, ...]

    @property
    def sentence(self) -> Sentence:
        """All of them as one text."""
        return Sentence(listed(" ", (sentence.marked for sentence in self.sentences)))


def judge(
    joined: Joined,
    warnings: list[CheckWarning],
    counts: dict[str, int],
    assessment: Assessment,
    margin: float | None = None,
) -> Verdict:
    """The verdict on a comparison. `margin`, in reward units, is the largest difference that does not matter."""
    found = assessment.statistics
    by_code = {warning.code: warning for warning in warnings}
    why_not = _not_comparable(joined, by_code)
    if why_not is not None:
        return Verdict("not_comparable", (Sentence(why_not),))
    lost = _lost(joined, found)
    kind, said = lost if lost is not None else _judged(found, counts, joined.match.unshared, margin)
    also = [warning for warning in warnings if lost is None or warning.code != "rollouts_lost"]
    more = [*_also(also), *_prompts(joined, by_code), *_masks(found, counts), *_single_runs(assessment)]
    more += _borderline(kind, found)
    same = [told("Both sides hold the same rows.")] if "same_rows" in by_code else []
    return Verdict(kind, tuple(map(Sentence, [*same, *said, *more])))


def _not_comparable(joined: Joined, warnings: dict[WarningCode, CheckWarning]) -> Marked | None:
    if "empty_side" in warnings:
        return told("Not comparable: {}.", warnings["empty_side"].sentence.first_clause)
    if "nothing_joined" in warnings:
        keys = joined.keys.map(field_name)
        return told("Not comparable as joined: no task of the old side ({}) is on the new side ({}).", *keys)
    if "agents_mixed" in warnings:
        return told("Not comparable: {}.", warnings["agents_mixed"].sentence.marked)
    families = warnings.get("key_collapses_tasks")
    if families is not None and _is_grave(families.count, joined.match.joined):
        return told("Not comparable as joined: {}.", families.sentence.first_clause)
    differing = warnings["prompts_differ"].count if "prompts_differ" in warnings else 0
    if joined.keys == (TASK_INDEX, TASK_INDEX) and 2 * differing > joined.match.joined:
        return told(
            "Not comparable as joined: {:,} of {} joined by their position ({}) have a different prompt on the new "
            "side.",
            differing,
            counted(joined.match.joined, "task"),
            field_name(TASK_INDEX),
        )
    if "scales_differ" in warnings:
        return told("Not comparable: {}.", warnings["scales_differ"].sentence.first_clause)
    if "rerun_until_passed" in warnings:
        return told("Not comparable: {}.", warnings["rerun_until_passed"].sentence.first_clause)
    return None


def _is_grave(families: int, joined: int) -> bool:
    """Whether a key that names families names so many that the comparison is void."""
    return families == joined or (families >= _FEWEST_FAMILIES and _FAMILY_SHARE * families >= joined)


def _lost(joined: Joined, found: Statistics) -> tuple[VerdictKind, list[Marked]] | None:
    """Too little, when so many planned rollouts left no row that their rewards could turn the difference round."""
    plans = [(name, *lost_of(joined, side.side, name)) for name, side in joined.sides.named()]
    shares = [number / planned if planned else 0.0 for _, planned, number in plans]
    if max(shares) <= _LOST_SHARE or not found.rewards_are_shares or found.mean_old is None or found.mean_new is None:
        return None
    worst = [(1 - share) * mean for share, mean in zip(shares, (found.mean_old, found.mean_new), strict=True)]
    best = [mean + share for mean, share in zip(worst, shares, strict=True)]
    low, high = worst[1] - best[0], best[1] - worst[0]
    if not low <= 0 <= high:
        return None
    units = Units(are_points=True)
    gone = [
        told("{}: {:,} of {}", name, number, counted(planned, "planned rollout"))
        for name, planned, number in plans
        if number
    ]
    little = told(
        "Too little to conclude: {} left no row; had all of these failed or passed, the difference would lie between "
        "{} and {}.",
        listed(" and ", gone),
        units.signed(low, unit=False),
        units.signed(high),
    )
    return "too_little", [little, told("{:,} lost, {:,} won.", found.lost, found.won)]


def _also(warnings: list[CheckWarning]) -> Iterator[Marked]:
    """What the rows are like, where that is part of the answer: each as a sentence of its own."""
    for warning in warnings:
        if warning.code in _TOLD:
            is_naming = warning.code in _NAMING
            clause = warning.sentence.without_names if is_naming else warning.sentence.first_clause
            yield told("{}.", capitalized(clause))


def _too_little(found: Statistics, counts: dict[str, int], unshared: int) -> Iterator[Marked]:
    """Why there is too little to conclude anything, if there is."""
    if found.n < FEWEST_TASKS:
        yield told("{}; {} are needed.", counted(found.n, "paired task"), FEWEST_TASKS)
    if (found.coverage or 0.0) < LEAST_COVERAGE:
        were = told("was") if found.n == 1 else told("were")
        tasks = counted(counts["tasks"] - unshared, "task")
        yield told("{:,} of {} {} scored on both sides; half is needed.", found.n, tasks, were)


def _judged(
    found: Statistics, counts: dict[str, int], unshared: int, margin: float | None
) -> tuple[VerdictKind, list[Marked]]:
    reasons = list(_too_little(found, counts, unshared))
    if reasons:
        numbers = told("{:,} lost, {:,} won, {:,} identical.", found.lost, found.won, counts["identical"])
        return "too_little", [told("Too little to conclude: {}", listed(" ", reasons)), *([numbers] if found.n else [])]
    units = Units.fit_for(found.interval, are_points=found.rewards_are_shares)
    interval, difference = found.interval, found.mean_difference or 0.0
    figures = told("{}; {}", _interval(units, found), _numbers(found))
    if margin is not None and _is_within(margin, found):
        within = told("No difference larger than {} ({}; {}).", units.exact(margin), units.signed(difference), figures)
        return "within_margin", [within, *_way(interval)]
    if interval is not None and interval.high < 0:
        spread = units.range(-interval.high, -interval.low)
        lower = told("New is lower by {} (95% CI {} lower; {}).", units.amount(-difference), spread, _numbers(found))
        return "lower", [lower]
    if interval is not None and interval.low > 0:
        spread = units.range(interval.low, interval.high)
        higher = told("New is higher by {} (95% CI {} higher; {}).", units.amount(difference), spread, _numbers(found))
        return "higher", [higher]
    if interval is None and found.exact_p is not None and found.exact_p < _SIGNIFICANT and found.lost != found.won:
        kind: VerdictKind = "lower" if found.lost > found.won else "higher"
        way = told("lower") if kind == "lower" else told("higher")
        return kind, [told("New is {} by {} ({}).", way, units.amount(abs(difference)), figures)]
    said = [told("No clear difference: {} ({}).", units.signed(difference), figures)]
    if interval is not None and found.resolution:
        smallest = units.amount(found.resolution)
        said.append(told("Differences under about {} are below what this comparison can resolve.", smallest))
    return "no_clear_difference", said


def _is_within(margin: float, found: Statistics) -> bool:
    """Whether no difference beyond the margin is left: neither by what was seen, nor by what so few tasks can show."""
    interval, span = found.interval, found.reward_span
    if interval is None or span is None or not -margin <= interval.low <= interval.high <= margin:
        return False
    return _UNSEEN * (span / found.n) <= margin


def _way(interval: Interval | None) -> Iterator[Marked]:
    """Which way a difference goes that does not matter."""
    sign = _sign(interval)
    if sign:
        yield told("Within that, new is {}.", told("lower") if sign < 0 else told("higher"))


def _sign(interval: Interval | None) -> int:
    """The sign of all that an interval leaves possible; 0 when that is both signs."""
    return 0 if interval is None else (interval.low > 0) - (interval.high < 0)


def _interval(units: Units, found: Statistics) -> Marked:
    interval: Interval | None = found.interval
    if interval is not None:
        low, high = (units.signed(bound, unit=False) for bound in (interval.low, interval.high))
        return told("95% CI {} to {}", low, high)
    return told("no interval: the rewards are too large for one")


def _numbers(found: Statistics) -> Marked:
    numbers = told("{}; {:,} lost, {:,} won", counted(found.n, "paired task"), found.lost, found.won)
    return numbers if found.exact_p is None else told("{}, exact p {}", numbers, p_text(found.exact_p))


def _prompts(joined: Joined, warnings: dict[WarningCode, CheckWarning]) -> Iterator[Marked]:
    if "prompts_differ" in warnings:
        number, tasks = warnings["prompts_differ"].count, counted(joined.match.joined, "task")
        have = told("has") if number == 1 else told("have")
        yield told("{:,} of {} {} a different prompt on the new side.", number, tasks, have)


def _masks(found: Statistics, counts: dict[str, int]) -> Iterator[Marked]:
    sides: tuple[tuple[SideName, int], ...] = (("new", found.masked_only.new), ("old", found.masked_only.old))
    on_sides = [told("{:,} on the {} side only", number, name) for name, number in sides if number]
    if not on_sides:
        return
    (name, number), *_ = [each for each in sides if each[1]]
    are = told("is") if number == 1 else told("are")
    masked = told("{} {} masked on the {} side only", counted(number, "task"), are, name)
    masked = listed(", ", [masked, *on_sides[1:]])
    if found.bracket is None:
        yield told("{}.", masked)
        return
    units = Units.fit_for(found.bracket, are_points=True)
    low, high = units.signed(found.bracket.low, unit=False), units.signed(found.bracket.high)
    left_out = told("")
    if counts["missing"]:
        # A task that only one side has is missing on the other.
        left_out = told(
            " ({:,} tasks missing on the old side, {:,} on the new, are left out)",
            counts["missing_new_only"],
            counts["missing_old_only"],
        )
    between = told("the difference would lie between {} and {}", low, high)
    yield told("{}: had the masked tasks counted, {}{}.", masked, between, left_out)


def _single_runs(assessment: Assessment) -> Iterator[Marked]:
    if any(evidence.tag == "single_run" for evidence in assessment.evidence.values()):
        yield told("Single runs: some of these flips would appear on a rerun.")


def _borderline(kind: VerdictKind, found: Statistics) -> Iterator[Marked]:
    if kind == "too_little" or found.interval is None or found.exact_p is None:
        return
    sign, is_clear = _sign(found.interval), found.exact_p < _SIGNIFICANT
    if bool(sign) != is_clear:
        yield told("Borderline: the interval and the exact test disagree.")
    elif is_clear and sign * (found.won - found.lost) < 0:
        yield told("Borderline: the interval and the exact test speak for different directions.")
