"""What there is to tell of why tasks flipped: the tests that changed, and the causes that tasks share.

Words of ours and data apart, as in `rollout_compare.report.facts`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rollout_compare.core.causes.explanation import Explanation
from rollout_compare.core.causes.grouping import Cause, Kind, is_group, is_new
from rollout_compare.core.causes.results.swebench import FAIL_TO_PASS, PASS_TO_PASS
from rollout_compare.core.causes.test_changes import ChangedTest, Rate, TestChanges
from rollout_compare.core.schema import SideName, TaskSide
from rollout_compare.core.sentences import counted
from rollout_compare.report.wording import reward_text

_LISTED_TESTS = 5
"""How many tests are named under a flip."""
_NAMED_TASKS = 5
"""How many tasks are named with a cause."""
_LISTED_COMPONENTS = 8
_WORDS: dict[Kind, str] = {
    "regressed": "regressed",
    "agent_error": "with an agent error",
    "masked": "masked",
    "improved": "improved",
}
_SHOWN: tuple[Kind, ...] = ("regressed", "agent_error", "masked")


@dataclass(frozen=True, slots=True)
class ChangedTestFact:
    """One test: `what` became of it and in how many rows it passed are ours, `name` and `message` come from inputs."""

    what: str
    name: str
    rates: str
    """`2/2 → 0/2`; empty where no side has several rows with results."""
    message: str


@dataclass(frozen=True, slots=True)
class TestsFact:
    """The tests of a flip: a summary in our words, the most important of them, and how many are left out."""

    __test__ = False  # not a class of tests, whatever pytest takes it for

    summary: str
    tests: list[ChangedTestFact]
    more: int


@dataclass(frozen=True, slots=True)
class ComponentFact:
    """A component of the reward that changed: its name comes from the inputs."""

    name: str
    change: str


@dataclass(frozen=True, slots=True)
class CauseFact:
    """Tasks of one kind that end alike: the numbers are ours, `cause` and the names of tasks come from the inputs."""

    kind: Kind
    number: str
    """`9 of 12 regressed`."""
    cause: str
    before: str
    """How many of the improved tasks ended so before they improved; empty for tasks that are not regressed."""
    tasks: list[str]
    more: int


@dataclass(frozen=True, slots=True)
class CausesFact:
    """The causes that are worth telling."""

    telling: list[CauseFact]
    usual: list[CauseFact]
    """Those of as large a share of the improved tasks, before they improved: they say nothing new."""
    limits: list[str]
    """What was not looked at, in sentences of ours."""


def tests_fact(changes: TestChanges, loser: SideName) -> TestsFact:
    """What to tell of the tests of a flip."""
    kinds = [("broke", changes.broke), ("fixed", changes.fixed), ("not run", changes.not_run)]
    numbers = ", ".join(f"{found.total:,} {what}" for what, found in kinds if found.total)
    if changes.ran_none(loser):
        # Each of the other side's tests was not run: that is said once.
        numbers, kinds = f"the {loser} side ran none", []
    summary = (
        f"tests {_number(changes.old_passed)} of {_number(changes.old_total)} → "
        f"{_number(changes.new_passed)} of {_number(changes.new_total)}" + (f": {numbers}" if numbers else "")
    )
    if loser == "old":
        # What the winning side mended comes first.
        kinds = sorted(kinds, key=lambda kind: kind[0] != "fixed")
    tests = [_test(what, test, repeats=changes.repeats) for what, found in kinds for test in found.tests]
    listed = tests[:_LISTED_TESTS]
    return TestsFact(summary, listed, sum(found.total for _, found in kinds) - len(listed))


def _test(what: str, test: ChangedTest, *, repeats: bool) -> ChangedTestFact:
    if what == "broke":
        what = {PASS_TO_PASS: "broke, a regression", FAIL_TO_PASS: "not solved"}.get(test.group or "", what)
    rates = f"{_rate(test.old)} → {_rate(test.new)}" if repeats else ""
    return ChangedTestFact(what, test.name, rates, test.message)


def _rate(rate: Rate | None) -> str:
    return "absent" if rate is None else f"{rate.passed}/{rate.rows}"


def _number(number: float) -> str:
    """A number of tests, or the mean of several such to one decimal."""
    return f"{number:,.0f}" if number == round(number) else f"{number:,.1f}"


def component_facts(old: TaskSide, new: TaskSide) -> list[ComponentFact]:
    """The components of a reward that changed, the biggest change first."""
    before, after = old.components or {}, new.components or {}
    # Halves: a difference of very large numbers would not be one.
    changes = {name: after[name] / 2 - before[name] / 2 for name in before if name in after}
    changed = sorted((name for name, change in changes.items() if change), key=lambda name: (-abs(changes[name]), name))
    return [
        ComponentFact(name, f"{reward_text(before[name])} → {reward_text(after[name])}")
        for name in changed[:_LISTED_COMPONENTS]
    ]


def causes_fact(found: Explanation) -> CausesFact:
    """The causes that several tasks share, by kind of task."""
    telling: list[CauseFact] = []
    usual: list[CauseFact] = []
    for kind in _SHOWN:
        for cause in sorted(found.causes, key=lambda cause: -cause.numbers[kind]):
            if is_group(cause.numbers[kind], found.looked[kind].at):
                says_more = kind != "regressed" or is_new(
                    cause, found.looked["regressed"].at, found.looked["improved"].at
                )
                (telling if says_more else usual).append(_cause(cause, kind, found))
    return CausesFact(telling, usual, list(_limits(found)))


def _cause(cause: Cause, kind: Kind, found: Explanation) -> CauseFact:
    number, of = cause.numbers[kind], found.looked[kind].at
    before = ""
    if kind == "regressed":
        before = f"{cause.numbers['improved']:,} of {found.looked['improved'].at:,} improved did so before"
    tasks = cause.tasks[kind][:_NAMED_TASKS]
    return CauseFact(kind, f"{number:,} of {of:,} {_WORDS[kind]}", cause.signature, before, tasks, number - len(tasks))


def _limits(found: Explanation) -> Iterator[str]:
    for kind, (at, of) in found.looked.items():
        # Where no task says how it ended, it does not matter how many were asked.
        if at < of and found.causes:
            which = "the first by name" if kind == "masked" else "those that changed most"
            yield f"Causes were looked for in {at:,} of {of:,} {_WORDS[kind]}, {which}."
    if found.unread:
        yield f"The test results of {counted(found.unread, 'flip')} were not read: enough had been."
