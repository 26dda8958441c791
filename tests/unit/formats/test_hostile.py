"""Documents that are cut, or have other types than expected, everywhere: rows, or one error with file and member."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from backports.zstd import zipfile
from hypothesis import given, settings
from hypothesis import strategies as st

from rollout_compare import CompareInputError
from rollout_compare.formats.source import open_source
from tests.places import CASES
from tests.unit.formats.reading import write_json, write_zip

SAMPLES = {
    "harbor": "harbor/new",
    "inspect": "inspect/new-json",
    "swebench": "swebench/new",
    "lm-eval": "lm_eval/new/made__up-model",
    "promptfoo": "promptfoo/new",
    "verifiers": "verifiers/new",
    "verifiers-traces": "verifiers/new-traces",
    "tau2": "tau2/new-folder",
}
KEPT = {"harbor": 3, "swebench": 8}
"""Of how many trials and instances the sample is enough here."""
KINDS = ("mask_sample", "failure_kind", "failure_reason", "error", "verifier_logs_dir", "verifier_output")


def hold(path: Path, form: str, reward: str | None = None) -> None:
    """Reading ends in rows of the vocabulary, or in one error about something below the path."""
    try:
        source = open_source(str(path), forced=form, reward=reward)
        assert source is not None
        rows = list(source.rows())
        again = [json.loads(row) for row in source.again(range(len(rows)))]
    except CompareInputError as fault:
        is_told = fault.path.startswith(str(path)) and fault.what
        assert is_told, fault  # noqa: PT017 - either is fine, rows or a fault
        return
    assert len(again) == len(rows)
    for row in rows:
        check(row)


def check(row: dict[str, Any]) -> None:
    assert row["_ng_task_id"]["task_id"] is not None
    assert row["reward"] is None or isinstance(row["reward"], float)
    for name in KINDS:
        assert isinstance(row.get(name), str | bool | None)
    usage = row.get("response", {}).get("usage", {})
    assert all(isinstance(number, int) for number in usage.values())
    assert isinstance(row.get("agent_run_time"), float | int | None)
    for name, kind in (("reward_components", dict), ("tests_status", dict), ("agent_ref", dict)):
        assert isinstance(row.get(name), kind | None)


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A copy of each sample that may be spoilt."""
    top = tmp_path_factory.mktemp("hostile")
    made = {}
    for name, sample in SAMPLES.items():
        made[name] = top / name
        shutil.copytree(CASES / "formats" / sample, made[name])
        for folder in sorted(made[name].rglob("*__*"))[KEPT.get(name, 1_000) :]:
            if folder.is_dir():
                shutil.rmtree(folder, ignore_errors=True)
    return made


def documents(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*.json*") if path.is_file())


@pytest.mark.parametrize("name", SAMPLES)
@settings(max_examples=40)
@given(data=st.data())
def test_a_document_that_is_cut_anywhere(name: str, copies: dict[str, Path], data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(documents(copies[name])))
    content = path.read_bytes()
    end = data.draw(st.integers(0, len(content)))
    noise = data.draw(st.sampled_from([b"", b"\0", b"\xff", b"}", b'"', b"NaN", b"\n{", b"[" * 5000]))
    try:
        path.write_bytes(content[:end] + noise)
        hold(copies[name], name.partition("-traces")[0])
    finally:
        path.write_bytes(content)


ODD = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.just(10**400)
    | st.text(max_size=5)
    | st.sampled_from(["../..", "\0", "\ud800", "1e999", "C", "2026-11-02T10:00:00"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=4,
)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a value that can be given something else."""
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from places(value[key])


@pytest.mark.parametrize("name", SAMPLES)
@settings(max_examples=60)
@given(data=st.data())
def test_another_type_than_expected_anywhere(name: str, copies: dict[str, Path], data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(documents(copies[name])))
    content = path.read_bytes()
    lines = content.splitlines() if path.suffix == ".jsonl" else [content]
    number = data.draw(st.integers(0, len(lines) - 1))
    value = json.loads(lines[number] or b"{}")
    for holder, key in data.draw(st.lists(st.sampled_from(list(places(value)) or [({}, 0)]), max_size=3)):
        if isinstance(holder, dict) or key < len(holder):
            holder[key] = data.draw(ODD)
    lines[number] = json.dumps(value).encode()
    reward = data.draw(st.sampled_from([None, "reward", "acc", "verify", "score", "a.b", "acc,none"]))
    try:
        path.write_bytes(b"\n".join(lines))
        hold(copies[name], name.partition("-traces")[0], reward)
    finally:
        path.write_bytes(content)


@settings(max_examples=60)
@given(data=st.data())
def test_members_of_a_log_that_are_spoilt(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    [log] = (CASES / "formats" / "inspect" / "new").glob("*.eval")
    with zipfile.ZipFile(log) as archive:
        members: dict[str, Any] = {name: json.loads(archive.read(name)) for name in archive.namelist()}
    member = data.draw(st.sampled_from(sorted(members)))
    change = data.draw(st.sampled_from(["type", "cut", "drop"]))
    if change == "drop":
        del members[member]
    elif change == "cut":
        text = json.dumps(members[member])
        members[member] = text[: data.draw(st.integers(0, len(text)))]
    else:
        for holder, key in data.draw(st.lists(st.sampled_from(list(places(members[member])) or [({}, 0)]), max_size=3)):
            if isinstance(holder, dict) or key < len(holder):
                holder[key] = data.draw(ODD)
    folder = tmp_path_factory.mktemp("log")
    hold(write_zip(folder / "x.eval", members), "inspect")


@settings(max_examples=60)
@given(data=st.data())
def test_a_log_whose_bytes_are_spoilt(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    folder = data.draw(st.sampled_from(["old", "new"]))
    [log] = (CASES / "formats" / "inspect" / folder).glob("*.eval")
    content = bytearray(log.read_bytes())
    for _ in range(data.draw(st.integers(1, 5))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    path = tmp_path_factory.mktemp("log") / "x.eval"
    path.write_bytes(content)
    hold(path, "inspect")


@pytest.mark.parametrize("form", sorted({name.partition("-traces")[0] for name in SAMPLES}))
@pytest.mark.parametrize("content", ["", "[", "null", "[]", '"text"', "{}", "[" * 100_000, "{" * 5, "1" * 5000])
def test_a_format_that_is_forced_on_anything(tmp_path: Path, form: str, content: str) -> None:
    path = write_json(tmp_path / "results.json", content)
    hold(path, form)
    hold(tmp_path, form)


@pytest.mark.parametrize("form", sorted({name.partition("-traces")[0] for name in SAMPLES}))
def test_a_format_that_is_forced_on_what_is_not_there(tmp_path: Path, form: str) -> None:
    assert open_source(str(tmp_path / "missing"), forced=form) is None
    hold(tmp_path, form)
