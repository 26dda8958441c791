"""What SWE-bench's grader writes: `report.json`, and rows that carry the same."""

from __future__ import annotations

from typing import Any

from rollout_compare.core.causes.results.outcome import Outcome, Outcomes, Status, json_of

FAIL_TO_PASS, PASS_TO_PASS = GROUPS = ("FAIL_TO_PASS", "PASS_TO_PASS")
"""Tests that the fix has to make pass, and those that have to go on passing."""
_LISTS: tuple[tuple[str, Status], ...] = (("success", "pass"), ("failure", "fail"))


def read_report(data: bytes) -> Outcomes | None:
    """The tests of a `report.json`: {instance: {`tests_status`}}; None for anything else."""
    return tests_below_instances(json_of(data))


def tests_below_instances(value: Any) -> Outcomes | None:
    """The tests of the first instance that has some; None when none has."""
    if not isinstance(value, dict):
        return None
    for report in value.values():
        outcomes = graded_tests(report.get("tests_status")) if isinstance(report, dict) else None
        if outcomes is not None:
            return outcomes
    return None


def graded_tests(value: Any) -> Outcomes | None:
    """The tests of {FAIL_TO_PASS: {success, failure}, PASS_TO_PASS: ...}; None for anything else."""
    if not isinstance(value, dict):
        return None
    groups = [(name, value[name]) for name in GROUPS if isinstance(value.get(name), dict)]
    if not groups:
        return None
    outcomes = Outcomes()
    for group, lists in groups:
        for key, status in _LISTS:
            names = lists.get(key)
            for name in names if isinstance(names, list) else ():
                if isinstance(name, str):
                    outcomes.add(name, Outcome(status, group=group))
    return outcomes
