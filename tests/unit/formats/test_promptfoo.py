"""Results of promptfoo as rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.formats.reading import (
    fault_of,
    masked,
    notes_of,
    outputs_of,
    row_of,
    rows_of,
    task_of,
    write_json,
    write_lines,
)


def item(**changed: Any) -> dict[str, Any]:
    parts = [{"pass": True, "score": 1, "reason": "fine", "assertion": {"type": "regex", "value": "x"}}]
    return {
        "id": "i1",
        "testIdx": 0,
        "promptIdx": 0,
        "success": True,
        "score": 1,
        "failureReason": 0,
        "gradingResult": {"pass": True, "score": 1, "reason": "all fine", "componentResults": parts},
        "namedScores": {},
        "testCase": {"description": "adds", "vars": {"b": 2, "a": 1}},
        "vars": {"b": 2, "a": 1},
        "prompt": {"raw": "Add 1 and 2", "label": "Add {{a}} and {{b}}"},
        "provider": {"id": "file://p.js", "label": "made-up"},
        "response": {"output": "3", "tokenUsage": {"prompt": 100, "completion": 20, "total": 120}},
        "latencyMs": 900,
    } | changed


def document(items: list[Any]) -> dict[str, Any]:
    return {"evalId": "e", "results": {"version": 3, "prompts": [], "results": items, "stats": {}}, "config": {}}


def output(folder: Path, *items: Any) -> Path:
    return write_json(folder / "output.json", document(list(items)))


def test_a_result_says_all_of_this(tmp_path: Path) -> None:
    wanted = {
        "_ng_task_id": {"task_id": "adds"},
        "_ng_rollout_id": "i1",
        "reward": 1.0,
        "response": {"model": "made-up", "usage": {"input_tokens": 100, "output_tokens": 20}},
        "agent_ref": {"name": "made-up"},
        "agent_run_time": 0.9,
        "responses_create_params": {"input": '{"a":1,"b":2}'},
    }
    path = output(tmp_path, item())
    lines = write_lines(tmp_path / "output.jsonl", [item(), item(id="i2")])
    indented = write_json(tmp_path / "indented.json", json.dumps(document([item()]), indent=2))
    for given in (path, tmp_path, indented):
        assert row_of(given) == wanted
    assert rows_of(lines)[0] == wanted


@pytest.mark.parametrize(
    ("changed", "task"),
    [
        ({"testCase": {"vars": {"a": 1}}, "vars": {"b": "é", "a": [1, 2]}}, '{"a":[1,2],"b":"é"}'),
        ({"testCase": {"vars": {"a": 1}}, "vars": {}}, '{"a":1}'),
        ({"testCase": {"description": "", "vars": {"a": 1}}, "vars": None}, '{"a":1}'),
        ({"testCase": {}, "vars": {}, "testIdx": 7}, "#7"),
        ({"testCase": None, "vars": None, "testIdx": 7}, "#7"),
    ],
)
def test_a_test_is_named_by_its_description_else_its_variables_else_its_index(
    tmp_path: Path, changed: dict[str, Any], task: str
) -> None:
    assert task_of(row_of(output(tmp_path, item(**changed)))) == (None, task)


def test_repeats_of_a_test_have_indices_of_their_own_and_one_name(tmp_path: Path) -> None:
    path = output(tmp_path, *[item(testIdx=index, id=f"i{index}") for index in range(3)])
    assert {task_of(row) for row in rows_of(path)} == {(None, "adds")}


def test_several_prompts_are_tasksets(tmp_path: Path) -> None:
    items = [item(), item(prompt={"raw": "Sum up 1 and 2", "label": "Sum"}), item(prompt={"raw": "bare"})]
    assert [task_of(row)[0] for row in rows_of(output(tmp_path, *items))] == ["Add {{a}} and {{b}}", "Sum", "bare"]
    lines = write_lines(tmp_path / "lines.jsonl", items)
    assert [task_of(row)[0] for row in rows_of(lines)] == ["Add {{a}} and {{b}}", "Sum", "bare"]


@pytest.mark.parametrize(
    ("provider", "agent"),
    [({"id": "openai:x", "label": ""}, "openai:x"), ("openai:old", "openai:old"), (None, None), (["x"], None)],
)
def test_the_provider_is_the_agent(tmp_path: Path, provider: Any, agent: str | None) -> None:
    row = row_of(output(tmp_path, item(provider=provider)))
    assert row.get("agent_ref", {}).get("name") == agent
    assert row["response"].get("model") == agent


def test_the_reason_of_a_failed_assertion_stands_in_error_and_is_no_agent_error(tmp_path: Path) -> None:
    row = row_of(output(tmp_path, item(success=False, score=0.5, failureReason=1, error="expected 3, got 4")))
    assert (row["reward"], "error" in row, masked(row)[0]) == (0.0, False, False)


def test_an_error_of_the_provider_masks(tmp_path: Path) -> None:
    row = row_of(output(tmp_path, item(success=False, score=0, failureReason=2, error="529 overloaded")))
    assert masked(row) == (True, "provider_error", "529 overloaded")
    assert "error" not in row


@pytest.mark.parametrize("success", [None, "true", 1, []])
def test_success_that_is_neither_true_nor_false_masks(tmp_path: Path, success: Any) -> None:
    row = row_of(output(tmp_path, item(success=success)))
    assert (row["reward"], masked(row)[0]) == (None, True)


def test_score_and_named_scores_by_name(tmp_path: Path) -> None:
    path = output(tmp_path, item(success=False, score=0.5, namedScores={"tone": 0.25, "odd": "x"}))
    assert row_of(path)["reward"] == 0.0
    assert row_of(path)["reward_components"] == {"tone": 0.25}
    assert row_of(path, reward="score")["reward"] == 0.5
    assert row_of(path, reward="tone")["reward"] == 0.25
    is_masked, kind, reason = masked(row_of(path, reward="style"))
    assert (is_masked, kind) == (True, "no_number")
    assert "score, tone" in reason
    [note] = notes_of(path)
    assert "tone" in note


def test_output_is_a_line_for_each_assertion(tmp_path: Path) -> None:
    parts = [
        {"pass": True, "reason": "fine", "assertion": {"type": "regex"}},
        {"pass": False, "reason": "expected 3\ngot 4", "assertion": {"type": "equals"}},
        {"pass": False, "reason": None, "assertion": None},
    ]
    graded = {"reason": "not fine", "componentResults": parts}
    path = output(
        tmp_path, item(gradingResult=graded), item(gradingResult={"reason": "alone"}), item(gradingResult=None)
    )
    assert outputs_of(path) == ["pass regex: fine\nFAIL equals: expected 3\ngot 4\nFAIL assertion: ", "alone", None]


def test_a_changed_template_is_no_other_test_and_changed_variables_are(tmp_path: Path) -> None:
    rows = [
        row_of(write_json(tmp_path / f"{name}.json", document([item(**changed)])))["responses_create_params"]
        for name, changed in (
            ("old", {}),
            ("template", {"prompt": {"raw": "Please add 1 and 2", "label": "Please add"}}),
            ("variables", {"vars": {"a": 1, "b": 3}}),
        )
    ]
    assert rows[0] == rows[1] != rows[2]


def test_what_counts_stands_behind_a_long_output(tmp_path: Path) -> None:
    long = {"response": {"output": "x" * 200_000}} | item()
    assert len(rows_of(write_lines(tmp_path / "any.jsonl", [long, item()]))) == 2
    assert len(rows_of(write_json(tmp_path / "any.json", json.dumps(document([long]), indent=1)))) == 1


def test_a_result_without_a_name_is_unreadable(tmp_path: Path) -> None:
    path = output(tmp_path, item(), item(testCase={}, vars={}, testIdx=None))
    fault = fault_of(path)
    assert (fault.path, "result 2" in fault.what) == (str(path), True)


@pytest.mark.parametrize("results", [None, {}, {"results": 7}, [], "x"])
def test_a_document_without_results_is_unreadable(tmp_path: Path, results: Any) -> None:
    path = write_json(tmp_path / "x.json", {"evalId": "e", "results": results})
    assert "results" in fault_of(path).what
