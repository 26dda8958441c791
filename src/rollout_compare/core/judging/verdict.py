"""The verdict: one sentence that says what a comparison shows and what it does not; the first rule that fits."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal, NamedTuple

from rollout_compare.core.joining.join import Joined
from rollout_compare.core.judging.assessment import Assessment, Statistics
from rollout_compare.core.judging.runs import lost_of
from rollout_compare.core.schema import TASK_INDEX, WarningCode
from rollout_compare.core.sentences import CheckWarning, Sentence, counted, field_name, p_text
from rollout_compare.statistics.masks import Bracket
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
_MOST_DECIMALS = 15
_MINUS = "\N{MINUS SIGN}"


class Verdict(NamedTuple):
    """What kind of verdict it is, and its sentence, the same in every report."""

    kind: VerdictKind
    sentence: Sentence


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
        return Verdict("not_comparable", Sentence(f"{why_not}."))
    lost = _lost(joined, found)
    kind, sentence = lost if lost is not None else _judged(found, counts, joined.match.unshared, margin)
    more = [*_told(warnings), *_prompts(joined, by_code), *_masks(found, counts), *_single_runs(assessment)]
    more += _borderline(kind, found)
    same = ["Both sides hold the same rows."] if "same_rows" in by_code else []
    return Verdict(kind, Sentence(" ".join([*same, sentence, *more])))


def _not_comparable(joined: Joined, warnings: dict[WarningCode, CheckWarning]) -> str | None:
    if "empty_side" in warnings:
        return f"Not comparable: {warnings['empty_side'].sentence.marked}"
    if "nothing_joined" in warnings:
        old, new = joined.keys.map(field_name)
        return f"Not comparable as joined: no task of the old side ({old}) is on the new side ({new})"
    if "agents_mixed" in warnings:
        return f"Not comparable: {warnings['agents_mixed'].sentence.marked}"
    families = warnings.get("key_collapses_tasks")
    if families is not None and _is_grave(families.count, joined.match.joined):
        return f"Not comparable as joined: {families.sentence.first_clause}"
    differing = warnings["prompts_differ"].count if "prompts_differ" in warnings else 0
    if joined.keys == (TASK_INDEX, TASK_INDEX) and 2 * differing > joined.match.joined:
        tasks = f"{counted(joined.match.joined, 'task')} joined by their position ({field_name(TASK_INDEX)})"
        return f"Not comparable as joined: {differing:,} of {tasks} have a different prompt on the new side"
    if "scales_differ" in warnings:
        return f"Not comparable: {warnings['scales_differ'].sentence.first_clause}"
    if "rerun_until_passed" in warnings:
        return f"Not comparable: {warnings['rerun_until_passed'].sentence.first_clause}"
    return None


def _is_grave(families: int, joined: int) -> bool:
    """Whether a key that names families names so many that the comparison is void."""
    return families == joined or (families >= _FEWEST_FAMILIES and _FAMILY_SHARE * families >= joined)


def _lost(joined: Joined, found: Statistics) -> tuple[VerdictKind, str] | None:
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
    told = " and ".join(
        f"{name}: {number:,} of {counted(planned, 'planned rollout')}" for name, planned, number in plans if number
    )
    units = _Units(are_points=True)
    spread = f"{units.signed(low, unit=False)} and {units.signed(high)}"
    return "too_little", (
        f"Too little to conclude: {told} left no row; had all of these failed or passed, the difference would lie "
        f"between {spread}. {found.lost:,} lost, {found.won:,} won."
    )


def _told(warnings: list[CheckWarning]) -> Iterator[str]:
    """What the rows are like, where that is part of the answer: each as a sentence of its own."""
    for warning in warnings:
        if warning.code in _TOLD:
            clause = warning.sentence.first_clause
            if warning.code in _NAMING:
                clause = clause.partition(": ")[0]
            yield f"{clause[:1].upper()}{clause[1:]}."


def _judged(found: Statistics, counts: dict[str, int], unshared: int, margin: float | None) -> tuple[VerdictKind, str]:
    reasons = []
    if found.n < FEWEST_TASKS:
        reasons.append(f"{counted(found.n, 'paired task')}; {FEWEST_TASKS} are needed.")
    if (found.coverage or 0.0) < LEAST_COVERAGE:
        scored = f"{found.n:,} of {counted(counts['tasks'] - unshared, 'task')} {'was' if found.n == 1 else 'were'}"
        reasons.append(f"{scored} scored on both sides; half is needed.")
    if reasons:
        numbers = f" {found.lost:,} lost, {found.won:,} won, {counts['identical']:,} identical." if found.n else ""
        return "too_little", f"Too little to conclude: {' '.join(reasons)}{numbers}"
    units = _Units.fit_for(found.rewards_are_shares, found.interval)
    interval, difference = found.interval, found.mean_difference or 0.0
    figures = f"{_interval(units, found)}; {_numbers(found)}"
    if margin is not None and _is_within(margin, found):
        return "within_margin", (
            f"No difference larger than {units.exact(margin)} ({units.signed(difference)}; {figures}).{_way(interval)}"
        )
    if interval is not None and interval.high < 0:
        spread = f"95% CI {units.range(-interval.high, -interval.low)} lower"
        return "lower", f"New is lower by {units.amount(-difference)} ({spread}; {_numbers(found)})."
    if interval is not None and interval.low > 0:
        spread = f"95% CI {units.range(interval.low, interval.high)} higher"
        return "higher", f"New is higher by {units.amount(difference)} ({spread}; {_numbers(found)})."
    if interval is None and found.exact_p is not None and found.exact_p < _SIGNIFICANT and found.lost != found.won:
        kind: VerdictKind = "lower" if found.lost > found.won else "higher"
        return kind, f"New is {kind} by {units.amount(abs(difference))} ({figures})."
    sentence = f"No clear difference: {units.signed(difference)} ({figures})."
    if interval is not None and found.resolution:
        smallest = units.amount(found.resolution)
        sentence += f" Differences under about {smallest} are below what this comparison can resolve."
    return "no_clear_difference", sentence


def _is_within(margin: float, found: Statistics) -> bool:
    """Whether no difference beyond the margin is left: neither by what was seen, nor by what so few tasks can show."""
    interval, span = found.interval, found.reward_span
    if interval is None or span is None or not -margin <= interval.low <= interval.high <= margin:
        return False
    return _UNSEEN * (span / found.n) <= margin


def _way(interval: Interval | None) -> str:
    """Which way a difference goes that does not matter."""
    sign = _sign(interval)
    return f" Within that, new is {'lower' if sign < 0 else 'higher'}." if sign else ""


def _sign(interval: Interval | None) -> int:
    """The sign of all that an interval leaves possible; 0 when that is both signs."""
    return 0 if interval is None else (interval.low > 0) - (interval.high < 0)


class _Units(NamedTuple):
    """How differences are told: in points when all rewards are shares, else as rewards."""

    are_points: bool
    decimals: int = 1

    @classmethod
    def fit_for(cls, are_points: bool, spread: Interval | Bracket | None) -> _Units:  # noqa: FBT001 - what it is about
        """Units with as many decimals as it takes to tell `spread`, and a bound that is not 0, from 0."""
        if not are_points or spread is None or spread.low == spread.high:
            return cls(are_points)
        smallest = 50 * (spread.high - spread.low)
        if spread.low * spread.high > 0:
            smallest = min(smallest, 200 * min(abs(spread.low), abs(spread.high)))
        return cls(are_points, min(_MOST_DECIMALS, max(1, math.ceil(-math.log10(smallest)))))

    def number(self, value: float) -> str:
        return f"{100 * value:.{self.decimals}f}" if self.are_points else f"{value:.3g}"

    def amount(self, value: float) -> str:
        return f"{self.number(value)} points" if self.are_points else self.number(value)

    def exact(self, margin: float) -> str:
        """A margin as it was given: rounded down it would claim more than was shown."""
        if not self.are_points:
            return f"{margin:.12g}"
        points = f"{100 * margin:.12g}"
        return f"{points} {'point' if points == '1' else 'points'}"

    def signed(self, value: float, *, unit: bool = True) -> str:
        text = self.amount(abs(value)) if unit else self.number(abs(value))
        shown = self.number(abs(value))
        return text if not shown.strip("0.") else (_MINUS if value < 0 else "+") + text

    def range(self, low: float, high: float) -> str:
        return f"{self.number(low)} to {self.number(high)}"


def _interval(units: _Units, found: Statistics) -> str:
    interval: Interval | None = found.interval
    if interval is not None:
        low, high = (units.signed(bound, unit=False) for bound in (interval.low, interval.high))
        return f"95% CI {low} to {high}"
    return "no interval: the rewards are too large for one"


def _numbers(found: Statistics) -> str:
    exact = "" if found.exact_p is None else f", exact p {p_text(found.exact_p)}"
    return f"{counted(found.n, 'paired task')}; {found.lost:,} lost, {found.won:,} won{exact}"


def _prompts(joined: Joined, warnings: dict[WarningCode, CheckWarning]) -> Iterator[str]:
    if "prompts_differ" in warnings:
        number, tasks = warnings["prompts_differ"].count, counted(joined.match.joined, "task")
        yield f"{number:,} of {tasks} {'has' if number == 1 else 'have'} a different prompt on the new side."


def _masks(found: Statistics, counts: dict[str, int]) -> Iterator[str]:
    sides = (("new", found.masked_only.new), ("old", found.masked_only.old))
    (name, number), *others = [each for each in sides if each[1]] or [("", 0)]
    if not number:
        return
    masked = f"{counted(number, 'task')} {'is' if number == 1 else 'are'} masked on the {name} side only"
    masked += "".join(f", {other:,} on the {side} side only" for side, other in others)
    if found.bracket is None:
        yield f"{masked}."
        return
    units = _Units.fit_for(True, found.bracket)  # noqa: FBT003 - a bracket exists only for shares
    low, high = units.signed(found.bracket.low, unit=False), units.signed(found.bracket.high)
    left_out = ""
    if counts["missing"]:
        # A task that only one side has is missing on the other.
        left_out = (
            f" ({counts['missing_new_only']:,} tasks missing on the old side, {counts['missing_old_only']:,} on the new"
        )
        left_out += ", are left out)"
    yield f"{masked}: had the masked tasks counted, the difference would lie between {low} and {high}{left_out}."


def _single_runs(assessment: Assessment) -> Iterator[str]:
    if any(evidence.tag == "single_run" for evidence in assessment.evidence.values()):
        yield "Single runs: some of these flips would appear on a rerun."


def _borderline(kind: VerdictKind, found: Statistics) -> Iterator[str]:
    if kind == "too_little" or found.interval is None or found.exact_p is None:
        return
    sign, is_clear = _sign(found.interval), found.exact_p < _SIGNIFICANT
    if bool(sign) != is_clear:
        yield "Borderline: the interval and the exact test disagree."
    elif is_clear and sign * (found.won - found.lost) < 0:
        yield "Borderline: the interval and the exact test speak for different directions."
