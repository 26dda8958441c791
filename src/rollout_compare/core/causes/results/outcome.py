"""What became of the tests of one row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from rollout_compare.core.reading.json_line import loads

Status = Literal["pass", "fail", "other"]
"""`other`: skipped, pending, or whatever else did not run to an end."""

SOURCE_LIMIT = 4 << 20
"""Longest file or field that test results are read from, in bytes."""

_MOST_BRACKETS = 200_000
"""A few MB of brackets would be a few hundred MB of lists."""
_PASS = frozenset({"pass", "passed", "success", "successful", "succeeded", "ok"})
_FAIL = frozenset({"fail", "failed", "failure", "error", "errored", "broken", "timeout", "timedout", "timed out"})
_OTHER = frozenset({"skip", "skipped", "pending", "other", "ignored", "disabled", "notrun", "not run", "not_run"})
_EXPECTED_OR_NOT = frozenset({"xfail", "xfailed", "xpass", "xpassed"})


class Outcome(NamedTuple):
    """What became of one test."""

    status: Status
    message: str = ""
    """What the test says of its failure, all lines of it."""
    group: str | None = None
    """The list it is in, such as `PASS_TO_PASS`, where the results have such."""


class Outcomes(dict[str, Outcome]):
    """The tests of one row by their names, in the order of their source."""

    def add(self, name: str, outcome: Outcome) -> None:
        """Note one test; of equal names the failing one counts, one without a name does not."""
        if not name:
            return
        known = self.get(name)
        if known is None or _weight(outcome) > _weight(known):
            self[name] = outcome

    @property
    def passed(self) -> int:
        """How many tests passed."""
        return sum(outcome.status == "pass" for outcome in self.values())


def _weight(outcome: Outcome) -> int:
    return ("other", "pass", "fail").index(outcome.status)


def status_of(value: Any) -> Status | None:
    """What a word, or true and false, say of a test; None when they say nothing that is known."""
    if isinstance(value, bool):
        return "pass" if value else "fail"
    if not isinstance(value, str):
        return None
    word = value.strip().lower()
    if word in _PASS:
        return "pass"
    if word in _FAIL:
        return "fail"
    return "other" if word in _OTHER or word in _EXPECTED_OR_NOT else None


def text_of(value: Any) -> str:
    """A text; nothing when it is something else."""
    return value if isinstance(value, str) else ""


def json_of(data: bytes) -> Any:
    """The JSON value of a file or a field; None when it is broken, or no results by its size."""
    if len(data) > SOURCE_LIMIT or data.count(b"[") + data.count(b"{") > _MOST_BRACKETS:
        return None
    try:
        return loads(data.removeprefix(b"\xef\xbb\xbf"))
    except (ValueError, RecursionError):
        return None


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """The objects of a list; nothing when it is something else."""
    if isinstance(value, list):
        yield from (each for each in value if isinstance(each, dict))
