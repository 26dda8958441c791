"""The verdict: one sentence that says what a comparison shows and what it does not; the first rule that fits."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal, NamedTuple

from rollout_compare.core.joining.join import Joined
from rollout_compare.core.judging.assessment import Assessment, Statistics
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
        return Verdict("not_comparable", Sentence(f"Not comparable as joined: {why_not}."))
    kind, sentence = _judged(found, counts, margin)
    more = [*_prompts(joined, by_code), *_masks(found, counts), *_single_runs(assessment), *_borderline(kind, found)]
    return Verdict(kind, Sentence(" ".join([sentence, *more])))


def _not_comparable(joined: Joined, warnings: dict[WarningCode, CheckWarning]) -> str | None:
    if "nothing_joined" in warnings:
        old, new = joined.keys.map(field_name)
        return f"no task of the old side ({old}) is on the new side ({new})"
    if "key_collapses_tasks" in warnings:
        return warnings["key_collapses_tasks"].sentence.first_clause
    differing = warnings["prompts_differ"].count if "prompts_differ" in warnings else 0
    if joined.keys == (TASK_INDEX, TASK_INDEX) and 2 * differing > joined.match.joined:
        tasks = f"{counted(joined.match.joined, 'task')} joined by their position ({field_name(TASK_INDEX)})"
        return f"{differing:,} of {tasks} have another prompt on the new side"
    return None


def _judged(found: Statistics, counts: dict[str, int], margin: float | None) -> tuple[VerdictKind, str]:
    if found.n < FEWEST_TASKS or (found.coverage or 0.0) < LEAST_COVERAGE:
        scored = f"{found.n:,} of {counted(counts['tasks'], 'task')} {'was' if found.n == 1 else 'were'}"
        numbers = f" {found.lost:,} lost, {found.won:,} won, {counts['identical']:,} identical." if found.n else ""
        return "too_little", f"Too little to conclude: {scored} scored on both sides.{numbers}"
    units = _Units.fit_for(found.rewards_are_shares, found.interval)
    interval, difference = found.interval, found.mean_difference or 0.0
    figures = f"{_interval(units, found)}; {_numbers(found)}"
    if interval is not None and interval.high < 0:
        spread = f"95% CI {units.range(-interval.high, -interval.low)} lower"
        return "lower", f"New is lower by {units.amount(-difference)} ({spread}; {_numbers(found)})."
    if interval is not None and interval.low > 0:
        spread = f"95% CI {units.range(interval.low, interval.high)} higher"
        return "higher", f"New is higher by {units.amount(difference)} ({spread}; {_numbers(found)})."
    if interval is None and found.exact_p is not None and found.exact_p < _SIGNIFICANT and found.lost != found.won:
        kind: VerdictKind = "lower" if found.lost > found.won else "higher"
        return kind, f"New is {kind} by {units.amount(abs(difference))} ({figures})."
    if margin is not None and interval is not None and -margin <= interval.low and interval.high <= margin:
        return "within_margin", (
            f"No difference larger than {units.exact(margin)} ({units.signed(difference)}; {figures})."
        )
    sentence = f"No clear difference: {units.signed(difference)} ({figures})."
    if interval is not None and found.resolution:
        smallest = units.amount(found.resolution)
        sentence += f" Differences under about {smallest} are below what this comparison can resolve."
    return "no_clear_difference", sentence


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
    if found.constant:
        return "no interval: every task differs by the same amount"
    return "no interval: the rewards are too large for one"


def _numbers(found: Statistics) -> str:
    exact = "" if found.exact_p is None else f", exact p {p_text(found.exact_p)}"
    return f"{counted(found.n, 'paired task')}; {found.lost:,} lost, {found.won:,} won{exact}"


def _prompts(joined: Joined, warnings: dict[WarningCode, CheckWarning]) -> Iterator[str]:
    if "prompts_differ" in warnings:
        number, tasks = warnings["prompts_differ"].count, counted(joined.match.joined, "task")
        yield f"{number:,} of {tasks} {'has' if number == 1 else 'have'} another prompt on the new side."


def _masks(found: Statistics, counts: dict[str, int]) -> Iterator[str]:
    number = found.masked_only.new
    if not number:
        return
    masked = f"{counted(number, 'task')} {'is' if number == 1 else 'are'} masked on the new side only"
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
    if (found.interval.low > 0 or found.interval.high < 0) != (found.exact_p < _SIGNIFICANT):
        yield "Borderline: the interval and the exact test disagree."
