"""Whole comparisons whose results come from outside: see tests/cases/README.md."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Compare
from tests.places import CASES, REAL_CASES

REAL = json.loads((REAL_CASES / "expected.json").read_text(encoding="utf-8"))
REFERENCE = sorted(folder for folder in (CASES / "reference").iterdir() if folder.is_dir())
SIDE_FIELDS = ("rows", "masked", "agent_error", "failure_kind")


@pytest.mark.parametrize("name", REAL)
def test_a_pair_of_real_rollouts_gives_the_expected_counts(name: str, run: Compare) -> None:
    wanted = REAL[name]
    done = run(REAL_CASES / name / "old.jsonl", REAL_CASES / name / "new.jsonl", "--json", "-")
    assert done.status == wanted["exit"]
    if wanted["exit"]:
        assert re.search(wanted["error_matches"], done.err)
        return
    assert done.json["counts"] == wanted["counts"]
    assert done.json["join"].items() >= wanted["join"].items()
    assert {warning["code"] for warning in done.json["warnings"]} >= set(wanted["warnings_include"])


@pytest.mark.parametrize("folder", REFERENCE, ids=lambda folder: folder.name)
def test_a_pair_gives_what_the_reference_says(folder: Path, run: Compare) -> None:
    arguments = json.loads((folder / "args.json").read_text(encoding="utf-8"))["args"]
    wanted = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    done = run(folder / "old.jsonl", folder / "new.jsonl", *arguments, "--json", "-")
    assert done.status == wanted["exit"], done.err
    if wanted["exit"]:
        assert re.fullmatch(r"error: [^\n]*\n", done.err)
        assert wanted["error_contains"] in done.err
        return
    assert done.json["counts"] == wanted["summary"]["counts"]
    assert done.json["join"] == wanted["summary"]["join"]
    free = set(wanted.get("anonymous", ()))
    tasks, expected = (summary["tasks"] for summary in (done.json, wanted["summary"]))
    assert [said(task) for task in tasks if task["task"] not in free] == [
        said(task) for task in expected if task["task"] not in free
    ]
    assert sorted(map(unnamed, tasks)) == sorted(map(unnamed, expected))


def said(task: dict[str, Any]) -> list[Any]:
    sides = [
        task[side] and [reward(task[side])] + [task[side][name] for name in SIDE_FIELDS] for side in ("old", "new")
    ]
    return [task["task"], task["category"], task["winner"], *sides]


def unnamed(task: dict[str, Any]) -> str:
    return repr([str(part) for part in said(task)[1:]])


def reward(side: dict[str, Any]) -> Any:
    """The reward to nine digits: means may differ in their last bit."""
    return None if side["reward"] is None else float(f"{side['reward']:.9g}")
