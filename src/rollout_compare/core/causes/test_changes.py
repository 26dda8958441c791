"""Which tests of a task changed from one side to the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from rollout_compare.core.causes.results.outcome import Outcome, Outcomes
from rollout_compare.core.schema import SideName

KEPT = 50
"""How many tests of each kind are kept by name; the others are counted."""


class Rate(NamedTuple):
    """In how many of the rows that have results a test passed."""

    passed: int
    rows: int


class ChangedTest(NamedTuple):
    """One test that changed. Its name and its message come from the inputs."""

    name: str
    message: str
    group: str | None
    old: Rate | None
    """None when no row of the side lists the test."""
    new: Rate | None


@dataclass(slots=True)
class TestList:
    """Tests that changed alike, in the order of the losing row's results: the first of them, and their number."""

    __test__ = False  # not a class of tests, whatever pytest takes it for

    tests: list[ChangedTest] = field(default_factory=list)
    total: int = 0


@dataclass(frozen=True, slots=True)
class TestChanges:
    """The tests of one task on both sides. Where a side has several rows with results, its numbers are means."""

    __test__ = False

    old_passed: float
    old_total: float
    new_passed: float
    new_total: float
    repeats: bool
    """Whether a side has several rows with results, so that a test has a rate."""
    broke: TestList
    fixed: TestList
    not_run: TestList

    def ran_none(self, side: SideName) -> bool:
        """Whether the rows of a side list no test at all, as after an error while tests are collected."""
        return not (self.old_total if side == "old" else self.new_total)


def compare_tests(
    old: Sequence[Outcomes], new: Sequence[Outcomes], loser: SideName, shown: Callable[[str], str]
) -> TestChanges:
    """What changed between the results of the rows of two sides; those of the losing row come first on its side.

    A test broke when the share of rows in which it passed fell, and was fixed when that rose. It was not run when one
    side does not list it, or when it passed before and was only skipped after. `shown` makes a text from the inputs fit
    to be kept.
    """
    lists = {"broke": TestList(), "fixed": TestList(), "not_run": TestList()}
    for name in _names(*((old, new) if loser == "old" else (new, old))):
        before, after = _of(name, old), _of(name, new)
        kind = _kind(before, after, len(old), len(new))
        if kind is None:
            continue
        found = lists[kind]
        found.total += 1
        if len(found.tests) < KEPT:
            telling = before if kind == "fixed" else after
            said = next((each for each in telling if each.status != "pass"), None)
            group = next((each.group for each in (*after, *before) if each.group is not None), None)
            rates = _rate(before, len(old)), _rate(after, len(new))
            message = "" if said is None else shown(said.message)
            found.tests.append(ChangedTest(shown(name), message, group, *rates))
    return TestChanges(
        *_numbers(old), *_numbers(new), len(old) > 1 or len(new) > 1, lists["broke"], lists["fixed"], lists["not_run"]
    )


def _names(losing: Sequence[Outcomes], winning: Sequence[Outcomes]) -> Iterator[str]:
    """Every name once, in the order of the losing row's results, those of other rows after them."""
    yield from dict.fromkeys(name for outcomes in (*losing, *winning) for name in outcomes)


def _of(name: str, rows: Sequence[Outcomes]) -> list[Outcome]:
    return [outcomes[name] for outcomes in rows if name in outcomes]


def _rate(outcomes: Sequence[Outcome], rows: int) -> Rate | None:
    return Rate(_passed(outcomes), rows) if outcomes else None


def _passed(outcomes: Sequence[Outcome]) -> int:
    return sum(outcome.status == "pass" for outcome in outcomes)


def _kind(before: Sequence[Outcome], after: Sequence[Outcome], old_rows: int, new_rows: int) -> str | None:
    if not before or not after:
        return "not_run"
    # Shares, compared without dividing.
    change = _passed(after) * old_rows - _passed(before) * new_rows
    if change < 0:
        return "not_run" if all(outcome.status == "other" for outcome in after) else "broke"
    return "fixed" if change > 0 else None


def _numbers(rows: Sequence[Outcomes]) -> tuple[float, float]:
    passed, total = sum(outcomes.passed for outcomes in rows), sum(map(len, rows))
    return (passed, total) if len(rows) == 1 else (passed / len(rows), total / len(rows))
