"""Rows that would lead to a wrong verdict: each folder of tests/cases/rows is a pair, with what must come out."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Compare, Json

CASES = Path(__file__).parent.parent.parent / "cases" / "rows"
NOTHING = re.compile(r"(?<![\d.])[+\u2212-]?0(\.0+)? to [+\u2212-]?0(\.0+)?(?![\d.]*[1-9])(?![\d])")
"""An interval without any width."""
OF_A_STEP = {
    folder.name for folder in CASES.iterdir() if "action" in json.loads((folder / "expected.json").read_text())
}


def plain(text: str) -> str:
    return re.sub(r"\s+", " ", text.replace("`", ""))


def lacking(want: Any, found: Any, tolerance: float, where: str) -> Iterator[str]:
    """What of the wanted members is not found, or is different."""
    if isinstance(want, dict):
        for name, value in want.items():
            yield from lacking(value, found[name], tolerance, f"{where}.{name}")
    elif isinstance(want, float) or (isinstance(want, int) and not isinstance(want, bool)):
        if abs(want - found) > tolerance:
            yield f"{where}: {found}"
    elif want != found:
        yield f"{where}: {found!r}"


def faults_of_summary(want: Json, got: Json) -> Iterator[str]:
    tolerance = want.get("tolerance", 1e-9)
    for part in ("counts", "join", "statistics", "sides"):
        yield from lacking(want.get(part, {}), got[part], tolerance, part)
    tasks = {task["task"]: task for task in got["tasks"]}
    for task in want.get("tasks", ()):
        yield from lacking(task, tasks[task["task"]], tolerance, task["task"])
    measures = {each["name"]: each for each in got["statistics"]["secondary"]}
    yield from lacking(want.get("secondary", {}), measures, 1e-3, "secondary")
    for path, (low, high) in want.get("between", {}).items():
        part, name = path.split(".")
        if not low <= got[part][name] <= high:
            yield f"{path}: {got[part][name]}"
    if "interval_open" in want:
        interval = got["statistics"]["interval"]
        if not interval["low"] < want["interval_open"] < interval["high"]:
            yield f"interval: {interval}"


def faults_of_words(want: Json, got: Json) -> Iterator[str]:
    warnings = {warning["code"]: warning for warning in reversed(got["warnings"])}
    yield from (f"no {code}" for code in want.get("warnings", ()) if code not in warnings)
    yield from (f"{code} fires" for code in want.get("warnings_none", ()) if code in warnings)
    for code, count in want.get("warning_counts", {}).items():
        if sum(warning["count"] for warning in got["warnings"] if warning["code"] == code) != count:
            yield f"{code}: {warnings[code]['count']}"
    for code, words in want.get("warning_says", {}).items():
        sentences = plain(" ".join(warning["sentence"] for warning in got["warnings"] if warning["code"] == code))
        yield from (f"{code} lacks {each!r}" for each in words if plain(each) not in sentences)
    sentence = plain(got["verdict"]["sentence"])
    if got["verdict"]["kind"] not in want.get("kind", got["verdict"]["kind"]) or got["verdict"]["kind"] == want.get(
        "kind_not"
    ):
        yield f"verdict {got['verdict']['kind']}: {sentence}"
    yield from (
        f"verdict lacks {each!r}: {sentence}" for each in want.get("sentence", ()) if plain(each) not in sentence
    )
    yield from (f"verdict holds {each!r}" for each in want.get("sentence_none", ()) if plain(each) in sentence)
    if not sentence.startswith(want.get("sentence_starts", "")):
        yield f"verdict begins: {sentence}"
    if not any(plain(each) in sentence for each in want.get("sentence_any", [""])):
        yield f"verdict: {sentence}"
    notes = plain(" ".join(got["notes"]))
    yield from (f"no note of {each!r}: {notes}" for each in want.get("notes", ()) if plain(each) not in notes)


@pytest.mark.parametrize("name", sorted(folder.name for folder in CASES.iterdir() if folder.name not in OF_A_STEP))
def test_a_pair_gives_what_it_must(name: str, run: Compare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shutil.copytree(CASES / name, tmp_path / name))
    want: Json = json.loads(Path("expected.json").read_text(encoding="utf-8"))
    argv = ["old.jsonl", "new.jsonl"]
    argv += shlex.split(Path("args").read_text(encoding="utf-8")) if Path("args").exists() else []
    done = run(*argv, "--json", "-")
    assert done.status == want.get("exit", 0), done.err
    missing = [words for words in want.get("error", ()) if plain(words) not in plain(done.err)]
    assert not missing, done.err
    if done.status:
        return
    assert [*faults_of_summary(want, done.json), *faults_of_words(want, done.json)] == []
    text = run(*argv).out
    assert [words for words in want.get("text", ()) if plain(words) not in plain(text)] == []
    assert NOTHING.search(text) is None
