"""Which format claims a path, and what is said when none or several do."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rollout_compare import CompareInputError
from rollout_compare.formats.names import FORMAT_NAMES
from rollout_compare.formats.source import open_source
from tests.places import CASES
from tests.unit.formats.reading import write_json, write_lines, write_zip

GIVEN = [
    ("harbor", "harbor/old"),
    ("inspect", "inspect/old"),
    ("inspect", "inspect/old-json"),
    ("inspect", "inspect/old/*.eval"),
    ("inspect", "inspect/old-json/*.json"),
    ("swebench", "swebench/old"),
    ("swebench", "swebench/old/*.json"),
    ("swebench", "swebench/old/logs"),
    ("swebench", "swebench/old/logs/run_evaluation"),
    ("swebench", "swebench/old/logs/run_evaluation/run1"),
    ("swebench", "swebench/old/logs/run_evaluation/run1/*"),
    ("lm-eval", "lm_eval/old"),
    ("lm-eval", "lm_eval/old/*"),
    ("lm-eval", "lm_eval/old/*/samples_gsm*.jsonl"),
    ("promptfoo", "promptfoo/old"),
    ("promptfoo", "promptfoo/old/output.json"),
    ("promptfoo", "promptfoo/old/output.jsonl"),
    ("verifiers", "verifiers/old"),
    ("verifiers", "verifiers/old/results.jsonl"),
    ("verifiers", "verifiers/old-traces"),
    ("verifiers", "verifiers/old-traces/traces.jsonl"),
    ("tau2", "tau2/old"),
    ("tau2", "tau2/old/results.json"),
    ("tau2", "tau2/old-folder"),
    ("tau2", "tau2/old-folder/results.json"),
]


def format_at(path: Path, forced: str | None = None) -> str:
    source = open_source(str(path), forced=forced)
    return "rollouts" if source is None else source.format


def refusal_of(path: Path) -> str:
    with pytest.raises(CompareInputError) as caught:
        open_source(str(path))
    assert caught.value.path == str(path)
    return caught.value.what


@pytest.mark.parametrize(("name", "pattern"), GIVEN)
def test_each_path_that_may_be_given_is_known(name: str, pattern: str) -> None:
    [path] = (CASES / "formats").glob(pattern)
    assert format_at(path) == name


@pytest.mark.parametrize(
    "path", sorted((CASES / "real").glob("*/*.jsonl")), ids=lambda path: f"{path.parent.name}-{path.stem}"
)
def test_real_rollouts_are_rollouts(path: Path) -> None:
    assert format_at(path) == "rollouts"


def test_every_word_for_a_format_opens_it(tmp_path: Path) -> None:
    path = write_json(tmp_path / "x.json", {})
    assert [format_at(path, name) for name in FORMAT_NAMES] == list(FORMAT_NAMES)


ROWS: list[dict[str, Any]] = [
    {"task_id": "a", "reward": 1.0},
    {"_ng_task_id": "a", "doc_id": 1, "doc": {}, "target": "", "arguments": {}, "reward": 1.0},
    {"_ng_task_index": 0, "testIdx": 1, "promptIdx": 1, "testCase": {}, "success": True, "reward": 1.0},
    {"responses_create_params": {}, "env": {}, "task": {}, "traces": [], "reward": 1.0},
    {"example_id": 1, "prompt": "p", "completion": "c", "reward": 1.0},
    {"doc_id": 1, "reward": 1.0},
    {"eval": {"task": "x", "created": "y"}, "version": 1, "task_id": "a", "reward": 1.0},
    {"resolved_ids": [], "task_id": "a"},
    {"evalId": "x", "results": {}, "task_id": "a"},
]


@pytest.mark.parametrize("row", ROWS, ids=range(len(ROWS)))
def test_rows_that_only_resemble_a_format_are_rollouts(tmp_path: Path, row: dict[str, Any]) -> None:
    assert format_at(write_lines(tmp_path / "any.jsonl", [row, row])) == "rollouts"


def test_rollouts_under_their_usual_name_win_over_what_lies_beside_them(tmp_path: Path) -> None:
    write_lines(tmp_path / "samples_demo_2026-11-02T10-00-00.jsonl", [{}])
    assert format_at(tmp_path) == "lm-eval"
    write_lines(tmp_path / "rollouts.jsonl", [{"task_id": "a", "reward": 1}])
    assert format_at(tmp_path) == "rollouts"
    (tmp_path / "rollouts.jsonl").rename(tmp_path / "rollouts.jsonl.gz")
    assert format_at(tmp_path) == "rollouts"


def test_a_format_goes_before_an_only_rollouts_file(tmp_path: Path) -> None:
    write_lines(tmp_path / "other.jsonl", [{"task_id": "a", "reward": 1}])
    write_zip(tmp_path / "log.eval", {})
    assert format_at(tmp_path) == "inspect"


def test_two_formats_that_claim_a_folder_are_both_named(tmp_path: Path) -> None:
    write_zip(tmp_path / "log.eval", {})
    write_lines(tmp_path / "samples_demo_2026-11-02T10-00-00.jsonl", [{}])
    said = refusal_of(tmp_path)
    assert "Inspect log (inspect)" in said
    assert "lm-eval samples (lm-eval)" in said
    assert "--format-in" in said
    assert format_at(tmp_path, "lm-eval") == "lm-eval"


KNOWN = "known are: Harbor job (harbor), Inspect log (inspect)"


@pytest.mark.parametrize("document", [{"scores": {"a": 1}}, {"a": {"b": {"c": [{"d": 1}]}}}])
def test_a_document_that_nobody_claims_is_told_what_is_known(tmp_path: Path, document: Any) -> None:
    said = refusal_of(write_json(tmp_path / "x.json", json.dumps(document, indent=2)))
    assert said.startswith("one JSON document, not JSON Lines")
    assert KNOWN in said


def test_a_zip_that_nobody_claims_is_told_what_is_known(tmp_path: Path) -> None:
    said = refusal_of(write_zip(tmp_path / "x.zip", {"a.txt": "a"}))
    assert said.startswith("a zip, not JSON Lines")
    assert KNOWN in said


@pytest.mark.parametrize(
    "text",
    [
        '{"task_id": "a", "reward": 1}\n',
        '{"task_id": "a", "reward": 1,',
        '{"task_id": "a", "rew\n{"task_id": "b"}\n',
        '{"task_id": "a" "reward": 1}\n{"task_id": "b", "reward": 1}\n',
        "[1, 2]\n",
        "task,reward\na,1\n",
        "",
        "\n\n",
        "version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
    ],
)
def test_what_may_be_lines_is_left_to_the_reader_of_lines(tmp_path: Path, text: str) -> None:
    assert format_at(write_json(tmp_path / "x.jsonl", text)) == "rollouts"


def test_a_pipe_is_always_rollouts(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.eval")
    assert format_at(tmp_path / "pipe.eval") == "rollouts"


def test_what_is_not_there_is_left_to_whoever_looks_for_rollouts(tmp_path: Path) -> None:
    assert open_source(str(tmp_path / "missing")) is None
    (tmp_path / "dangling").symlink_to(tmp_path / "missing")
    assert open_source(str(tmp_path / "dangling")) is None


def test_an_empty_folder_is_of_no_format(tmp_path: Path) -> None:
    assert format_at(tmp_path) == "rollouts"


def test_a_folder_that_may_not_be_listed_is_left_to_whoever_looks_for_rollouts(tmp_path: Path) -> None:
    (tmp_path / ".hidden").mkdir()
    write_zip(tmp_path / ".hidden.eval", {})
    assert format_at(tmp_path) == "rollouts"


@pytest.mark.parametrize("make", [lambda text: "\ufeff" + text, lambda text: "\r\n" + text.replace("\n", "\r\n")])
def test_byte_order_marks_and_other_line_ends_change_nothing(tmp_path: Path, make: Callable[[str], str]) -> None:
    for name, pattern in GIVEN:
        [path] = (CASES / "formats").glob(pattern)
        if path.suffix in (".json", ".jsonl"):
            other = tmp_path / name / path.name
            other.parent.mkdir(exist_ok=True)
            other.write_bytes(make(path.read_text(encoding="utf-8")).encode())
            for beside in path.parent.glob("metadata.json"):
                write_json(other.parent / beside.name, beside.read_text(encoding="utf-8"))
            assert format_at(other) == name


def test_a_first_line_may_be_longer_than_what_is_looked_at_of_a_document(tmp_path: Path) -> None:
    row = {"doc": {"text": "x" * 1_000_000}, "doc_id": 1, "target": "", "arguments": {}}
    assert format_at(write_lines(tmp_path / "x.jsonl", [row])) == "lm-eval"


def test_a_first_line_beyond_all_measure_is_of_no_format(tmp_path: Path) -> None:
    row = {"doc": {"text": "x" * (17 << 20)}, "doc_id": 1, "target": "", "arguments": {}}
    assert format_at(write_lines(tmp_path / "x.jsonl", [row])) == "rollouts"
