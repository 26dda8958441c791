"""Row fields that name each test with its result, as test parsers of several harnesses leave them."""

from __future__ import annotations

from typing import Any

from rollout_compare.core.causes.results.outcome import Outcome, Outcomes, objects, status_of, text_of

_NAMES = ("name", "nodeid", "test_name", "test")
_STATUSES = ("status", "outcome", "result", "passed")
_MESSAGES = ("message", "error")
_TOTALS = frozenset({"passed", "success", "resolved", "all_passed", "status", "outcome", "result"})
"""What a field says of all tests together is no test."""


def read_named(value: Any) -> Outcomes | None:
    """The tests of {name: result}, {result: [names]} or [{name, result}]; None for anything else.

    A result is a word such as `passed`, true or false, or an object with such. An empty list or object says that no
    test ran.
    """
    outcomes = Outcomes()
    if not value and isinstance(value, list | dict):
        return outcomes
    if isinstance(value, list):
        for test in objects(value):
            outcomes.add(_first_text(test, _NAMES), _outcome(test) or Outcome("other"))
    elif isinstance(value, dict):
        _add_mapping(value, outcomes)
    return outcomes or None


def _add_mapping(value: dict[str, Any], outcomes: Outcomes) -> None:
    for name, result in value.items():
        if isinstance(result, list):
            status = status_of(name)
            for test in result if status is not None else ():
                outcomes.add(text_of(test), Outcome(status or "other"))
        elif name not in _TOTALS:
            outcome = _outcome(result)
            if outcome is not None:
                outcomes.add(name, outcome)


def _outcome(result: Any) -> Outcome | None:
    if isinstance(result, dict):
        statuses = [status for key in _STATUSES if (status := status_of(result.get(key))) is not None]
        return Outcome(statuses[0], _first_text(result, _MESSAGES)) if statuses else None
    status = status_of(result)
    return None if status is None else Outcome(status)


def _first_text(test: dict[str, Any], keys: tuple[str, ...]) -> str:
    return next((text for key in keys if (text := text_of(test.get(key)))), "")
