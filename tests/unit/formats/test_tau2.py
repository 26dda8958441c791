"""Results of tau2-bench as rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.formats.reading import fault_of, masked, notes_of, outputs_of, row_of, rows_of, task_of, write_json

INFO = {
    "num_trials": 2,
    "max_steps": 200,
    "user_info": {"llm": "made/user"},
    "agent_info": {"implementation": "llm_agent", "llm": "made/up"},
    "environment_info": {"domain_name": "airline", "policy": "be kind"},
}


def simulation(**changed: Any) -> dict[str, Any]:
    usage = {"prompt_tokens": 900, "completion_tokens": 100}
    return {
        "id": "s1",
        "task_id": "0",
        "trial": 1,
        "duration": 60.5,
        "termination_reason": "user_stop",
        "reward_info": {"reward": 0.5, "reward_breakdown": {"DB": 1.0, "COMMUNICATE": 0.5}},
        "messages": [
            {"role": "assistant", "content": "a", "usage": usage},
            {"role": "user", "content": "b", "usage": usage},
            {"role": "assistant", "content": "c", "usage": usage},
        ],
    } | changed


def document(*simulations: Any, **changed: Any) -> dict[str, Any]:
    tasks = [{"id": "0", "user_scenario": {"b": 1, "a": "call"}}]
    return {"timestamp": "t", "info": INFO, "tasks": tasks, "simulations": list(simulations)} | changed


def test_a_simulation_says_all_of_this(tmp_path: Path) -> None:
    path = write_json(tmp_path / "any.json", document(simulation()))
    assert row_of(path) == {
        "_ng_task_id": {"taskset": "airline", "task_id": "0"},
        "_ng_rollout_index": 1,
        "_ng_rollout_id": "s1",
        "reward": 0.5,
        "reward_components": {"DB": 1.0, "COMMUNICATE": 0.5},
        "response": {"model": "made/up", "usage": {"input_tokens": 1800, "output_tokens": 200}},
        "agent_ref": {"name": "llm_agent"},
        "agent_run_time": 60.5,
        "responses_create_params": {"input": '{"a":"call","b":1}'},
    }
    [note] = notes_of(path)
    assert "DB, COMMUNICATE" in note


@pytest.mark.parametrize("inside", [None, []])
def test_simulations_may_lie_in_files_of_their_own(tmp_path: Path, inside: Any) -> None:
    path = write_json(tmp_path / "results.json", document() | {"simulations": inside})
    for name in ("b", "a"):
        write_json(tmp_path / "simulations" / f"{name}.json", simulation(id=name))
    write_json(tmp_path / "simulations" / ".hidden.json", "broken")
    write_json(tmp_path / "simulations" / "notes.txt", "notes")
    for given in (path, tmp_path):
        assert [row["_ng_rollout_id"] for row in rows_of(given)] == ["a", "b"]


def test_simulations_of_the_document_are_all_there_are(tmp_path: Path) -> None:
    path = write_json(tmp_path / "results.json", document(simulation()))
    write_json(tmp_path / "simulations" / "other.json", simulation(id="other"))
    assert [row["_ng_rollout_id"] for row in rows_of(path)] == ["s1"]


def test_simulations_stand_far_behind_a_policy(tmp_path: Path) -> None:
    info = INFO | {"environment_info": {"domain_name": "airline", "policy": "x" * 300_000}}
    for indent in (None, 2):
        path = write_json(tmp_path / "results.json", json.dumps(document(simulation(), info=info), indent=indent))
        assert task_of(row_of(path)) == ("airline", "0")


@pytest.mark.parametrize("reason", ["infrastructure_error", "unexpected_error", "user_error"])
def test_what_the_agent_could_not_help_is_masked(tmp_path: Path, reason: str) -> None:
    row = row_of(write_json(tmp_path / "r.json", document(simulation(termination_reason=reason))))
    assert masked(row)[:2] == (True, reason)


@pytest.mark.parametrize("reason", ["max_steps", "timeout", "too_many_errors", "context_window_exceeded"])
def test_limits_are_measured(tmp_path: Path, reason: str) -> None:
    row = row_of(write_json(tmp_path / "r.json", document(simulation(termination_reason=reason))))
    assert (row["reward"], masked(row)[:2]) == (0.5, (False, reason))


def test_an_error_of_the_agent_counts(tmp_path: Path) -> None:
    row = row_of(write_json(tmp_path / "r.json", document(simulation(termination_reason="agent_error"))))
    assert (row["reward"], row["error"], masked(row)[0]) == (0.5, "agent_error", False)


def test_a_simulation_that_was_not_graded_is_masked(tmp_path: Path) -> None:
    row = row_of(write_json(tmp_path / "r.json", document(simulation(reward_info=None))))
    assert masked(row)[:2] == (True, "no_reward")


def test_a_part_of_the_reward_by_its_name(tmp_path: Path) -> None:
    path = write_json(tmp_path / "r.json", document(simulation()))
    row = row_of(path, reward="DB")
    assert (row["reward"], row["reward_components"]) == (1.0, {"COMMUNICATE": 0.5})
    assert "DB, COMMUNICATE" in masked(row_of(path, reward="missing"))[2]


def test_output_is_the_checks_that_are_not_empty(tmp_path: Path) -> None:
    graded = {
        "reward": 0.0,
        "reward_breakdown": {"DB": 0.0},
        "reward_basis": ["DB"],
        "db_check": {"db_match": False},
        "action_checks": [{"action": "pay", "match": False}, {"action": "call", "match": True}],
        "nl_assertions": [],
        "env_assertions": None,
    }
    [output] = outputs_of(write_json(tmp_path / "r.json", document(simulation(reward_info=graded))))
    assert output is not None
    assert output.splitlines() == [
        'db_check: {"db_match":false}',
        'action_checks: {"action":"pay","match":false}',
        'action_checks: {"action":"call","match":true}',
    ]


def test_ids_are_the_same_in_every_domain_and_keep_their_type(tmp_path: Path) -> None:
    path = write_json(tmp_path / "r.json", document(simulation(task_id=0)))
    row = row_of(path)
    assert (task_of(row), row["responses_create_params"]["input"]) == (("airline", 0), '{"a":"call","b":1}')


@pytest.mark.parametrize("broken", ["", "[]", "{"])
def test_a_simulation_that_is_broken_is_named(tmp_path: Path, broken: str) -> None:
    write_json(tmp_path / "results.json", document() | {"simulations": []})
    path = write_json(tmp_path / "simulations" / "a.json", broken)
    assert fault_of(tmp_path).path == str(path)


def test_a_document_without_simulations_is_unreadable(tmp_path: Path) -> None:
    left = {name: value for name, value in document().items() if name != "simulations"}
    assert "simulations" in fault_of(write_json(tmp_path / "r.json", left)).what


def test_a_simulation_without_a_task_is_unreadable(tmp_path: Path) -> None:
    path = write_json(tmp_path / "r.json", document(simulation(), simulation(task_id=None)))
    assert "simulation 2" in fault_of(path).what
