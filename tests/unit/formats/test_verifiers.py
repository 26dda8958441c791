"""Results and traces of verifiers as rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.formats.reading import fault_of, masked, notes_of, row_of, rows_of, task_of, write_json, write_lines


def result(**changed: Any) -> dict[str, Any]:
    return {
        "example_id": 3,
        "prompt": [{"role": "user", "content": "do it"}],
        "completion": [],
        "task": "default",
        "reward": 1.0,
        "error": None,
        "total_ms": 1500.0,
        "prompt_tokens": 90,
        "completion_tokens": 10,
        "correct": 0.5,
    } | changed


def trace(**changed: Any) -> dict[str, Any]:
    return {
        "id": "t1",
        "agent": {"name": "solver"},
        "calls": [{"node": 0}, {"model": "made/up"}],
        "rewards": {"correct": {"score": 1.0, "weight": 0.5}, "style": {"score": 0.25}},
        "ok": True,
        "errors": [],
        "timing": {"agent": {"start": 2.0, "end": 42.5}},
        "num_input_tokens": 90,
        "num_output_tokens": 10,
    } | changed


def episode(*traces: Any, **changed: Any) -> dict[str, Any]:
    task = {"type": "T", "data": {"q": 1}, "key": "k1", "hash": "h1"}
    return {"id": "e", "env": {"id": "env"}, "task": task, "ok": True, "errors": [], "traces": list(traces)} | changed


def test_a_result_says_all_of_this(tmp_path: Path) -> None:
    write_json(tmp_path / "metadata.json", {"env_id": "env", "model": "made/up"})
    path = write_lines(tmp_path / "results.jsonl", [result()])
    for given in (path, tmp_path):
        assert row_of(given) == {
            "_ng_task_id": {"task_id": 3},
            "reward": 1.0,
            "response": {"model": "made/up", "usage": {"input_tokens": 90, "output_tokens": 10}},
            "agent_run_time": 1.5,
            "responses_create_params": {"input": [{"role": "user", "content": "do it"}]},
        }


def test_a_group_names_the_environment_of_a_task(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "results.jsonl", [result(task="math"), result(task="code")])
    assert [task_of(row) for row in rows_of(path)] == [("math", 3), ("code", 3)]


@pytest.mark.parametrize(
    ("error", "kind", "reason"),
    [
        ("gone", "error", "gone"),
        ({"error": "SandboxError", "error_chain_str": "SandboxError: gone"}, "SandboxError", "SandboxError: gone"),
        ({"error": "SandboxError", "error_chain_repr": "SandboxError('gone')"}, "SandboxError", "SandboxError('gone')"),
        ({"other": 1}, "error", None),
    ],
)
def test_an_error_masks_whatever_the_reward_says(tmp_path: Path, error: Any, kind: str, reason: str | None) -> None:
    row = row_of(write_lines(tmp_path / "results.jsonl", [result(reward=0.0, error=error)]))
    assert masked(row) == (True, kind, reason)
    assert "error" not in row


@pytest.mark.parametrize("error", [None, "", {}, False])
def test_an_error_that_is_none_does_not_mask(tmp_path: Path, error: Any) -> None:
    assert masked(row_of(write_lines(tmp_path / "results.jsonl", [result(error=error)])))[0] is False


def test_newer_tokens_and_a_metric_by_its_name(tmp_path: Path) -> None:
    usage = {"input_tokens": 5, "output_tokens": 6}
    path = write_lines(tmp_path / "results.jsonl", [result(token_usage=usage)])
    row = row_of(path, reward="correct")
    assert (row["reward"], row["response"]["usage"]) == (0.5, usage)
    assert masked(row_of(path, reward="missing"))[:2] == (True, "no_reward")


def test_rows_like_these_are_rollouts_unless_name_or_metadata_say_more(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "other.jsonl", [result(), result(example_id=4)])
    with pytest.raises(AssertionError, match="no format"):
        rows_of(path)
    write_json(tmp_path / "metadata.json", {"env_id": "env"})
    assert len(rows_of(path)) == 2


def test_a_result_without_an_id_is_named_by_its_line(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "results.jsonl", [result(), result(example_id=None)])
    assert (fault_of(path).path, fault_of(path).line) == (str(path), 2)


def test_a_trace_says_all_of_this(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "traces.jsonl", [episode(trace())])
    for given in (path, tmp_path):
        assert row_of(given) == {
            "_ng_task_id": {"taskset": "env", "task_id": "k1"},
            "_ng_rollout_id": "t1",
            "reward": 0.75,
            "reward_components": {"correct": 0.5, "style": 0.25},
            "response": {"model": "made/up", "usage": {"input_tokens": 90, "output_tokens": 10}},
            "agent_ref": {"name": "solver"},
            "agent_run_time": 40.5,
        }
    [note] = notes_of(path)
    assert "correct, style" in note


@pytest.mark.parametrize(
    ("task", "task_id"),
    [
        ({"hash": "h1", "data": {"q": 1}}, "h1"),
        ({"data": {"q": 1, "a": 2}}, '{"a":2,"q":1}'),
        ({"key": 5}, 5),
    ],
)
def test_a_task_is_named_by_key_else_hash_else_data(tmp_path: Path, task: dict[str, Any], task_id: Any) -> None:
    assert task_of(row_of(write_lines(tmp_path / "traces.jsonl", [episode(trace(), task=task)]))) == ("env", task_id)


def test_each_trace_of_an_episode_is_a_row(tmp_path: Path) -> None:
    other = trace(id="t2", agent={"name": "critic"})
    rows = rows_of(write_lines(tmp_path / "traces.jsonl", [episode(trace(), other)]))
    assert [row["agent_ref"]["name"] for row in rows] == ["solver", "critic"]


def test_one_reward_by_its_name_has_its_weight(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "traces.jsonl", [episode(trace())])
    row = row_of(path, reward="correct")
    assert (row["reward"], row["reward_components"]) == (0.5, {"style": 0.25})


@pytest.mark.parametrize(
    ("changed", "wanted"),
    [
        ({"ok": False, "errors": [{"type": "A"}, {"type": "B", "message": "m"}]}, (True, "B", "m")),
        ({"ok": False}, (True, "not_ok", None)),
        ({"rewards": {"correct": None, "style": {"score": 1}}}, (True, "no_reward", None)),
        ({"rewards": {}}, (True, "no_reward", None)),
        ({"rewards": {"correct": None}, "errors": [{"type": "T", "message": "m"}]}, (True, "T", "m")),
    ],
)
def test_a_trace_that_failed_or_was_not_graded_is_masked(
    tmp_path: Path, changed: dict[str, Any], wanted: tuple[bool, str, str | None]
) -> None:
    assert masked(row_of(write_lines(tmp_path / "traces.jsonl", [episode(trace(**changed))]))) == wanted


def test_an_episode_without_traces_is_one_masked_row(tmp_path: Path) -> None:
    failed = episode(ok=False, errors=[{"type": "E", "message": "no sandbox"}])
    del failed["traces"]
    row = row_of(write_lines(tmp_path / "traces.jsonl", [failed]))
    assert (task_of(row), masked(row)) == (("env", "k1"), (True, "no_trace", "no sandbox"))


def test_results_and_traces_in_one_folder_are_named(tmp_path: Path) -> None:
    write_lines(tmp_path / "results.jsonl", [result()])
    write_lines(tmp_path / "traces.jsonl", [episode(trace())])
    assert "results.jsonl, traces.jsonl" in fault_of(tmp_path).what
