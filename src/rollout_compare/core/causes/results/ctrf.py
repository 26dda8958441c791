"""`ctrf.json`: the Common Test Report Format, <https://ctrf.io>."""

from __future__ import annotations

import re
from typing import Any

from rollout_compare.core.causes.exception_line import exception_line
from rollout_compare.core.causes.results.outcome import Outcome, Outcomes, json_of, objects, status_of, text_of

_SAYS_NOTHING = re.compile(r"\s*(?:The test \w+ in the \w+ phase\b|\S{1,300}:\d{1,9}\s*\Z)")
"""Messages of pytest's reporter that name a phase or a place: what failed stands in the trace."""


def read_ctrf(data: bytes) -> Outcomes | None:
    """The tests of a CTRF report; None for anything else."""
    document = json_of(data)
    results = document.get("results") if isinstance(document, dict) else None
    tests = results.get("tests") if isinstance(results, dict) else None
    if not isinstance(tests, list):
        return None
    outcomes = Outcomes()
    for test in objects(tests):
        outcomes.add(_name(test), Outcome(status_of(test.get("status")) or "other", _message(test)))
    return outcomes


def _name(test: dict[str, Any]) -> str:
    """Suite and test, or file and test; a name that begins with either is whole."""
    name = text_of(test.get("name"))
    suite = test.get("suite")
    parts = [part for part in suite if isinstance(part, str)] if isinstance(suite, list) else [text_of(suite)]
    above = "::".join(filter(None, parts)) or text_of(test.get("filePath"))
    if not name or not above or name.startswith((above, next(filter(None, parts), above))):
        return name
    return f"{above}::{name}"


def _message(test: dict[str, Any]) -> str:
    message = text_of(test.get("message"))
    if message and _SAYS_NOTHING.match(message) is None:
        return message
    return exception_line(text_of(test.get("trace")).splitlines()) or message
