"""Results of other tools, compared as rollouts are: samples of each layout, with what must come of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Run
from tests.places import CASES

FORMATS = CASES / "formats"
RUNS = [
    pytest.param(folder, run, id=f"{folder.name}-{number}")
    for folder in sorted(FORMATS.iterdir())
    if folder.is_dir()
    for number, run in enumerate(json.loads((folder / "expected.json").read_text(encoding="utf-8"))["runs"])
]


@pytest.mark.parametrize(("folder", "wanted"), RUNS)
def test_a_sample_gives_what_is_expected(
    folder: Path, wanted: dict[str, Any], run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    done = run(*wanted["args"], "--json", "-")
    assert done.status == wanted["exit"], done.err
    check(done.json, wanted)
    text = run(*wanted["args"])
    assert [words for words in wanted["text_has"] if words not in text.out] == []
    assert [words for words in wanted["text_lacks"] if words in text.out + text.err] == []


def check(summary: dict[str, Any], wanted: dict[str, Any]) -> None:
    """Hold a JSON summary against what is expected of it."""
    assert summary["counts"].items() >= wanted["counts"].items()
    assert summary["join"]["keyed_by_taskset"] is wanted["keyed_by_taskset"]
    classes: dict[str, list[str]] = {}
    for task in summary["tasks"]:
        classes.setdefault(class_of(task), []).append(task["task"])
    assert {name: sorted(tasks) for name, tasks in classes.items()} == {
        name: sorted(tasks) for name, tasks in wanted["classes"].items()
    }
    rewards = {
        task["task"]: {side: pytest.approx(task[side]["counted_reward"]) for side in ("old", "new")}
        for task in summary["tasks"]
        if task["task"] in wanted["rewards"]
    }
    assert wanted["rewards"] == rewards
    for side, told in wanted["sides"].items():
        found = summary["sides"][side]
        assert {name: list(found[name]) if isinstance(found[name], dict) else found[name] for name in told} == told
    assert {warning["code"] for warning in summary["warnings"]}.isdisjoint(wanted["warnings_none"])


def class_of(task: dict[str, Any]) -> str:
    names = {"flipped": f"{task['winner']}_wins", "flipped_agent_error": "agent_error"}
    category: str = task["category"]
    return names.get(category, category)
