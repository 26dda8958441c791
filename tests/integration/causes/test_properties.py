"""Whatever files, fields and logs hold: their readers end, and say only what is there."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from typing import Any
from uuid import UUID
from xml.sax.saxutils import quoteattr

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rollout_compare.core.causes.crash_line import crash_line
from rollout_compare.core.causes.exception_line import exception_line
from rollout_compare.core.causes.results.ctrf import read_ctrf
from rollout_compare.core.causes.results.junit import read_junit
from rollout_compare.core.causes.results.named import read_named
from rollout_compare.core.causes.results.outcome import Outcomes
from rollout_compare.core.causes.results.swebench import graded_tests, read_report
from rollout_compare.core.causes.signature import GAP, signature

KEYS = st.sampled_from(
    (
        *("results", "tests", "name", "status", "suite", "message", "trace", "filePath"),
        *("tests_status", "PASS_TO_PASS", "FAIL_TO_PASS", "success", "failure", "passed", "failed", "x"),
    )
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | KEYS
JSON: st.SearchStrategy[Any] = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS | st.text(max_size=4), inner, max_size=5)
)
NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12).filter(str.strip)
RESULTS = st.dictionaries(NAMES, st.sampled_from(["passed", "failed", "skipped"]), max_size=8)
STATUS = {"passed": "pass", "failed": "fail", "skipped": "other"}


def check(outcomes: Outcomes | None) -> None:
    for name, outcome in (outcomes or {}).items():
        assert isinstance(name, str)
        assert name
        assert outcome.status in {"pass", "fail", "other"}
        assert isinstance(outcome.message, str)
    assert outcomes is None or 0 <= outcomes.passed <= len(outcomes)


@pytest.mark.parametrize("read", [read_ctrf, read_junit, read_report])
@given(data=st.binary(max_size=200) | JSON.map(lambda value: json.dumps(value).encode()))
def test_any_file_is_results_or_nothing(read: Callable[[bytes], Outcomes | None], data: bytes) -> None:
    check(read(data))


@pytest.mark.parametrize("read", [read_named, graded_tests])
@given(value=JSON)
def test_any_field_is_results_or_nothing(read: Callable[[Any], Outcomes | None], value: Any) -> None:
    check(read(value))


@given(RESULTS)
def test_ctrf_gives_back_what_it_was_made_of(results: dict[str, str]) -> None:
    tests = [{"name": name, "status": status} for name, status in results.items()]
    read = read_ctrf(json.dumps({"results": {"tests": tests}}).encode())
    assert read is not None
    assert {name: outcome.status for name, outcome in read.items()} == {
        name: STATUS[each] for name, each in results.items()
    }
    assert list(read) == list(results)


@given(RESULTS)
def test_junit_gives_back_what_it_was_made_of(results: dict[str, str]) -> None:
    inside = {"passed": "", "failed": "<failure/>", "skipped": "<skipped/>"}
    cases = "".join(f"<testcase name={quoteattr(name)}>{inside[each]}</testcase>" for name, each in results.items())
    read = read_junit(f"<testsuite>{cases}</testsuite>".encode("utf-8", "xmlcharrefreplace"))
    if read is None:
        # Some characters may not stand in XML at all.
        assert any(ord(character) in range(0xFFFE, 0x10000) for name in results for character in name)
        return
    assert sorted(outcome.status for outcome in read.values()) == sorted(STATUS[each] for each in results.values())


@given(
    st.lists(
        st.text(max_size=60) | st.sampled_from(["Traceback (most recent call last):", "  File x", "E   bad", "E"]),
        max_size=20,
    )
)
@example(["thread 'main' panicked at src/main.rs:5:10:"])
@example(["Traceback (most recent call last):"])
def test_a_line_that_is_found_is_in_the_log(lines: list[str]) -> None:
    for find in (exception_line, crash_line):
        line = find(lines)
        if line is not None:
            assert any(line.removeprefix("panicked: ") in each for each in lines)


@given(st.text(max_size=400))
def test_a_signature_is_short_and_ends(line: str) -> None:
    found = signature(line)
    assert len(found) <= 300
    assert bool(found) == bool(line.strip())


WORDS = st.sampled_from(["Error:", "no", "answer", "from", "'numpy'", "of", "[x]", "in", "loss=", "(", ")"])
PIECES = st.lists(st.tuples(WORDS, st.booleans()), min_size=1, max_size=12)


@given(PIECES, st.data())
def test_other_numbers_do_not_change_a_signature(pieces: list[tuple[str, bool]], data: st.DataObject) -> None:
    def line() -> str:
        number = st.integers(0, 10**9) | st.floats(0, 1e6).map(lambda value: round(value, 3))
        return "the " + " ".join(f"{word} {data.draw(number)}" if is_numbered else word for word, is_numbered in pieces)

    assert signature(line()) == signature(line())


@given(st.uuids(), st.datetimes())
def test_other_ids_and_times_do_not_change_a_signature(uid: UUID, time: datetime) -> None:
    assert signature(f"job {uid} was lost at {time} again") == f"job {GAP} was lost at {GAP} again"
