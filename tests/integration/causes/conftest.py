"""Pairs of sides whose losing rows have logs, test results and words of their own."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.conftest import Json, Rollouts, Summary

Flip = Callable[..., Json]
Pair = Callable[[list[Json], list[Json]], tuple[Path, Path]]
Files = Mapping[str, str | bytes]


def ctrf(**statuses: str) -> str:
    """A report of these tests in one suite; `name="failed: message"` is a failure with its message."""
    tests = []
    for name, said in statuses.items():
        status, _, message = said.partition(": ")
        tests.append({"name": name, "status": status, "suite": "t.py"} | ({"message": message} if message else {}))
    return listed(tests)


def listed(tests: list[Json]) -> str:
    """A CTRF report of these entries."""
    return json.dumps({"results": {"tests": tests}})


def graded(passed: list[str], failed: list[str], group: str = "PASS_TO_PASS") -> Json:
    """What SWE-bench's grader says of one list of tests."""
    return {group: {"success": passed, "failure": failed}}


@pytest.fixture
def pair(rollouts: Rollouts) -> Pair:
    """Two sides of these rows."""

    def call(old: list[Json], new: list[Json]) -> tuple[Path, Path]:
        return rollouts.write("old.jsonl", old), rollouts.write("new.jsonl", new)

    return call


@pytest.fixture
def flip(pair: Pair, summary: Summary, tmp_path: Path) -> Flip:
    """The summary's entry of a task that scores 1 on the old side and 0 on the new one.

    `old` and `new` are files in the folder of either side's log, or fields of its row.
    """

    def call(old: Files | Json | None = None, new: Files | Json | None = None, *options: object) -> Json:
        rows = []
        for side, given, reward in (("old", old or {}, 1.0), ("new", new or {}, 0.0)):
            row: Json = {"task_id": "t", "reward": reward}
            for name, content in given.items():
                if "." not in name:
                    row[name] = content
                    continue
                row.setdefault("verifier_logs_dir", f"logs/{side}")
                path = tmp_path / "logs" / side / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content.encode() if isinstance(content, str) else content)
            rows.append(row)
        (task,) = summary(*pair(rows[:1], rows[1:]), *options)["tasks"]
        entry: Json = task
        return entry

    return call


def names(tests: Json, kind: str) -> list[str]:
    """The names of the tests in one of the lists."""
    return [test["name"] for test in tests[kind]]
