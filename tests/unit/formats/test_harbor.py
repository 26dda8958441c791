"""Harbor jobs as rows."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.unit.formats.reading import fault_of, masked, notes_of, row_of, rows_of, source_of, task_of, write_json

POLICY = {"should_retry": False, "should_grade": True}


def result(**changed: Any) -> dict[str, Any]:
    """A trial that was graded, as Harbor writes it."""
    return {
        "schema_version": 1,
        "id": "0e5bd5bb",
        "trial_name": "widget__a1b2c3d",
        "task_name": "acme/widget",
        "source": "acme-bench",
        "agent_info": {"name": "terminus-2", "model_info": {"name": "up", "provider": "made"}},
        "agent_result": {"n_input_tokens": 1000, "n_cache_tokens": 400, "n_output_tokens": 50},
        "verifier_result": {"rewards": {"reward": 1.0}},
        "reward_valid": True,
        "exception_info": None,
        "agent_execution": {"started_at": "2026-11-02T10:00:00Z", "finished_at": "2026-11-02T10:00:42.5Z"},
        "step_results": None,
    } | changed


def exception(kind: str, message: str = "it said so", **policy: Any) -> dict[str, Any]:
    told = {"exception_type": kind, "exception_message": message, "exception_traceback": "Traceback", "occurred_at": ""}
    return told | ({"policy": POLICY | policy} if policy else {})


def trial(job: Path, name: str = "widget__a1b2c3d", **changed: Any) -> Path:
    return write_json(job / name / "result.json", result(trial_name=name, **changed)).parent


def started(job: Path, name: str = "widget__a1b2c3d", task: Any = None, **changed: Any) -> Path:
    config = {"trial_name": name, "task": task or {}, "agent": {"name": "terminus-2", "model_name": "made/up"}}
    return write_json(job / name / "config.json", config | changed).parent


def test_a_trial_says_all_of_this(tmp_path: Path) -> None:
    trial(tmp_path)
    assert row_of(tmp_path) == {
        "_ng_task_id": {"taskset": "acme-bench", "task_id": "widget"},
        "task_name": "acme/widget",
        "_ng_rollout_id": "0e5bd5bb",
        "reward": 1.0,
        "response": {"model": "made/up", "usage": {"input_tokens": 1000, "output_tokens": 50}},
        "agent_ref": {"name": "terminus-2"},
        "agent_run_time": 42.5,
        "verifier_logs_dir": "widget__a1b2c3d/verifier",
    }


@pytest.mark.parametrize(
    ("task_name", "source", "task"),
    [
        ("acme/widget", None, ("acme", "widget")),
        ("widget", None, (None, "widget")),
        ("widget", "bench", ("bench", "widget")),
        ("a/b/widget", None, ("a/b", "widget")),
        ("widget/", None, ("widget", "widget/")),
        ("acme/widget", 7, ("acme", "widget")),
    ],
)
def test_a_task_is_named_behind_its_last_slash(
    tmp_path: Path, task_name: str, source: Any, task: tuple[str | None, str]
) -> None:
    trial(tmp_path, task_name=task_name, source=source)
    assert task_of(row_of(tmp_path)) == task


def test_the_name_of_a_folder_is_no_identity(tmp_path: Path) -> None:
    for name in ("widget__aaaaaaa", "widget__bbbbbbb"):
        trial(tmp_path, name)
    assert [task_of(row) for row in rows_of(tmp_path)] == [("acme-bench", "widget")] * 2


@pytest.mark.parametrize(
    ("rewards", "asked", "reward", "components"),
    [
        ({"reward": 0.5, "style": 2}, None, 0.5, {"style": 2.0}),
        ({"style": 0.25}, None, 0.25, None),
        ({"reward": 0.5, "style": 2}, "style", 2.0, {"reward": 0.5}),
        ({"reward": True}, None, 1.0, None),
        ({"style": 0.25, "odd": "no number", "none": None}, None, 0.25, None),
    ],
)
def test_the_reward_is_the_one_called_so_or_the_only_one(
    tmp_path: Path, rewards: dict[str, Any], asked: str | None, reward: float, components: dict[str, float] | None
) -> None:
    trial(tmp_path, verifier_result={"rewards": rewards})
    row = row_of(tmp_path, reward=asked)
    assert (row["reward"], row.get("reward_components"), masked(row)[0]) == (reward, components, False)


def test_of_several_rewards_none_called_so_masks_and_offers_them(tmp_path: Path) -> None:
    trial(tmp_path, verifier_result={"rewards": {"style": 0.25, "speed": 1.0}})
    row = row_of(tmp_path)
    assert (row["reward"], row["reward_components"]) == (None, {"style": 0.25, "speed": 1.0})
    is_masked, kind, reason = masked(row)
    assert (is_masked, kind) == (True, "no_reward")
    assert "style, speed" in reason
    assert "--reward" in reason
    [note] = notes_of(tmp_path)
    assert "--reward" in note
    assert "style, speed" in note


def test_several_rewards_are_a_choice_that_is_told(tmp_path: Path) -> None:
    trial(tmp_path, verifier_result={"rewards": {"reward": 0.5, "style": 2}})
    [note] = notes_of(tmp_path)
    assert "`reward`" in note
    assert "style" in note


def test_a_single_reward_is_no_choice(tmp_path: Path) -> None:
    trial(tmp_path)
    assert notes_of(tmp_path) == []


def test_a_trial_that_harbor_calls_worthless_is_masked_by_its_exception(tmp_path: Path) -> None:
    trial(tmp_path, reward_valid=False, exception_info=exception("AddTestsDirError", "no tests"))
    row = row_of(tmp_path)
    assert masked(row) == (True, "AddTestsDirError", "no tests")
    assert "error" not in row


def test_a_worthless_trial_without_an_exception_has_no_reward(tmp_path: Path) -> None:
    trial(tmp_path, reward_valid=False, verifier_result=None)
    assert masked(row_of(tmp_path)) == (True, "no_reward", None)


def test_an_agent_that_raised_and_was_not_graded_is_masked_whatever_the_policy_says(tmp_path: Path) -> None:
    told = exception("NovelError", "never seen", has_valid_reward=True)
    trial(tmp_path, reward_valid=False, verifier_result={"rewards": None}, exception_info=told)
    assert masked(row_of(tmp_path)) == (True, "NovelError", "never seen")


def test_an_exception_of_a_trial_that_counts_is_an_agent_error(tmp_path: Path) -> None:
    trial(tmp_path, exception_info=exception("AgentTimeoutError", "600 seconds"))
    row = row_of(tmp_path)
    assert (row["reward"], row["error"], masked(row)[0]) == (1.0, "AgentTimeoutError: 600 seconds", False)


def test_the_first_exception_is_the_trials_own_then_the_steps(tmp_path: Path) -> None:
    steps = [{"step_name": "one", "exception_info": exception("StepError")}, {"step_name": "two"}]
    trial(tmp_path, step_results=steps)
    assert row_of(tmp_path)["error"] == "StepError: it said so"
    trial(tmp_path, step_results=steps, exception_info=exception("OwnError"))
    assert row_of(tmp_path)["error"] == "OwnError: it said so"


@pytest.mark.parametrize(
    ("told", "is_masked"),
    [
        (None, False),
        (exception("AgentTimeoutError"), False),
        (exception("NonZeroAgentExitCodeError"), False),
        (exception("ContextWindowExceededError"), False),
        (exception("NeverSeenError"), False),
        (exception("VerifierTimeoutError"), True),
        (exception("Timeout"), True),
        (exception("CancelledError"), True),
        (exception("EnvironmentStartTimeoutError"), True),
        (exception("VerifierTimeoutError", has_valid_reward=True), False),
        (exception("AgentTimeoutError", has_valid_reward=False), True),
    ],
)
def test_older_results_do_not_say_what_a_reward_is_worth(tmp_path: Path, told: Any, is_masked: bool) -> None:
    write_json(
        tmp_path / "widget__a1b2c3d" / "result.json",
        {name: value for name, value in result(exception_info=told).items() if name != "reward_valid"},
    )
    assert masked(row_of(tmp_path))[0] is is_masked


@pytest.mark.parametrize("written", [None, "", '{"trial_name": "widget__a1', "[]", "null", '{"trial_name": "x"}'])
def test_a_trial_without_a_result_is_masked_under_the_name_in_its_config(tmp_path: Path, written: str | None) -> None:
    folder = started(tmp_path, "widget__a1b2c3d", {"name": "acme/widget", "source": "acme-bench"})
    if written is not None:
        write_json(folder / "result.json", written)
    row = row_of(tmp_path)
    assert (task_of(row), row["reward"]) == (("acme-bench", "widget"), None)
    assert masked(row)[:2] == (True, "no_result")
    assert (row["agent_ref"], row["response"]) == ({"name": "terminus-2"}, {"model": "made/up"})


@pytest.mark.parametrize(
    ("task", "lock", "named"),
    [
        ({"name": "acme/widget", "path": "tasks/other"}, None, ("acme", "widget")),
        ({"path": "tasks/widget/", "source": "bench"}, None, ("bench", "widget")),
        ({"path": "C:\\tasks\\widget"}, None, (None, "widget")),
        ({}, {"name": "locked", "source": "bench"}, ("bench", "locked")),
        ({}, None, (None, "a_long__name")),
    ],
)
def test_a_killed_trial_is_named_by_what_there_is(
    tmp_path: Path, task: dict[str, Any], lock: dict[str, Any] | None, named: tuple[str | None, str]
) -> None:
    folder = started(tmp_path, "a_long__name__x1y2z3", task)
    if lock is not None:
        write_json(folder / "lock.json", {"task": lock})
    assert task_of(row_of(tmp_path)) == named


def test_a_pipe_in_place_of_a_result_is_no_result(tmp_path: Path) -> None:
    os.mkfifo(started(tmp_path) / "result.json")
    assert masked(row_of(tmp_path))[:2] == (True, "no_result")


def test_a_folder_in_place_of_a_result_is_no_result(tmp_path: Path) -> None:
    (started(tmp_path) / "result.json").mkdir()
    assert masked(row_of(tmp_path))[:2] == (True, "no_result")


def test_tokens_and_seconds_of_a_task_of_several_steps_are_those_of_its_steps(tmp_path: Path) -> None:
    steps = [
        {
            "step_name": name,
            "agent_result": {"n_input_tokens": 100, "n_output_tokens": 10},
            "agent_execution": {"started_at": "2026-11-02T10:00:00Z", "finished_at": f"2026-11-02T10:00:0{seconds}Z"},
        }
        for name, seconds in (("one", 2), ("two", 3))
    ]
    trial(tmp_path, agent_result=None, agent_execution=None, step_results=steps)
    row = row_of(tmp_path)
    assert row["response"]["usage"] == {"input_tokens": 200, "output_tokens": 20}
    assert row["agent_run_time"] == 5.0


def test_logs_of_several_steps_are_those_of_the_last_that_has_some(tmp_path: Path) -> None:
    folder = trial(tmp_path, step_results=[{"step_name": name} for name in ("one", "two", "three")])
    for step in ("one", "two"):
        (folder / "steps" / step / "verifier").mkdir(parents=True)
    assert row_of(tmp_path)["verifier_logs_dir"] == "widget__a1b2c3d/steps/two/verifier"


@pytest.mark.parametrize("name", ["../../other", "..", "a/../../..", ".hidden", "/etc", "\0", "a\\b", ""])
def test_the_name_of_a_step_does_not_lead_out_of_the_steps(tmp_path: Path, name: str) -> None:
    folder = trial(tmp_path, step_results=[{"step_name": name}])
    for other in (tmp_path / "other" / "verifier", folder / "steps" / ".hidden" / "verifier", folder / "verifier"):
        other.mkdir(parents=True)
    assert row_of(tmp_path)["verifier_logs_dir"] == "widget__a1b2c3d/verifier"


@pytest.mark.parametrize(
    ("agents", "named"),
    [
        (["terminus-2"], "terminus-2"),
        (["terminus-2", "other"], "terminus-2"),
        (["terminus-2", "terminus-2"], "terminus-2 (made/up)"),
    ],
)
def test_an_agent_that_a_job_lists_twice_is_told_apart_by_its_model(
    tmp_path: Path, agents: list[str], named: str
) -> None:
    trial(tmp_path)
    write_json(tmp_path / "config.json", {"job_name": "x", "agents": [{"name": name} for name in agents]})
    assert row_of(tmp_path)["agent_ref"] == {"name": named}


@pytest.mark.parametrize(
    ("info", "model"),
    [
        ({"name": "up", "provider": None}, {"model": "up"}),
        ({"name": "made/up"}, {"model": "made/up"}),
        (None, None),
        ({"name": 3}, None),
    ],
)
def test_a_model_may_have_no_provider(tmp_path: Path, info: Any, model: dict[str, str] | None) -> None:
    trial(tmp_path, agent_info={"name": "oracle", "model_info": info}, agent_result=None)
    assert row_of(tmp_path).get("response") == model


def test_a_folder_of_jobs_is_one_side_and_a_note_names_them(tmp_path: Path) -> None:
    for job in ("2026-11-02__10-00-00", "2026-11-01__10-00-00"):
        trial(tmp_path / job)
    (tmp_path / "empty").mkdir()
    assert [row["verifier_logs_dir"] for row in rows_of(tmp_path)] == [
        "2026-11-01__10-00-00/widget__a1b2c3d/verifier",
        "2026-11-02__10-00-00/widget__a1b2c3d/verifier",
    ]
    [note] = notes_of(tmp_path)
    assert "2026-11-01__10-00-00, 2026-11-02__10-00-00" in note


def test_files_of_the_job_and_other_folders_are_no_trials(tmp_path: Path) -> None:
    trial(tmp_path)
    write_json(tmp_path / "result.json", {"id": "x", "n_total_trials": 1})
    write_json(tmp_path / "artifacts" / "config.json", {"name": "not a trial"})
    write_json(tmp_path / ".cache" / "result.json", result())
    assert len(rows_of(tmp_path)) == 1


def test_links_out_of_the_job_are_not_followed(tmp_path: Path) -> None:
    job, outside = tmp_path / "job", tmp_path / "outside"
    trial(job)
    trial(outside, "secret__a1b2c3d")
    (job / "linked__a1b2c3d").symlink_to(outside / "secret__a1b2c3d")
    folder = started(job, "file__a1b2c3d", {"name": "acme/file"})
    (folder / "result.json").symlink_to(outside / "secret__a1b2c3d" / "result.json")
    assert [(task_of(row)[1], masked(row)[1]) for row in rows_of(job)] == [("file", "no_result"), ("widget", None)]


def test_a_job_under_a_second_name_is_read_once(tmp_path: Path) -> None:
    trial(tmp_path / "2026-11-02__10-00-00")
    (tmp_path / "latest").symlink_to(tmp_path / "2026-11-02__10-00-00")
    assert len(rows_of(tmp_path)) == 1


def test_a_result_that_may_not_be_read_ends_the_reading_with_its_path(tmp_path: Path) -> None:
    folder = trial(tmp_path)
    with (folder / "result.json").open("r+b") as file:
        file.truncate((512 << 20) + 1)
    fault = fault_of(tmp_path)
    assert fault.path == str(folder / "result.json")
    assert "512 MiB" in fault.what


def test_a_folder_without_trials_is_no_job(tmp_path: Path) -> None:
    write_json(tmp_path / "x" / "notes.json", {})
    assert "not a Harbor job" in fault_of(tmp_path, form="harbor").what


def test_the_files_that_were_read_are_told(tmp_path: Path) -> None:
    folder = trial(tmp_path)
    source = source_of(tmp_path)
    list(source.rows())
    assert set(source.files) == {str(tmp_path), str(folder / "result.json")}
    assert source.bytes_read == (folder / "result.json").stat().st_size


@pytest.mark.parametrize("head", ["\ufeff", "\r\n \t"])
def test_a_document_may_begin_with_a_byte_order_mark_or_space(tmp_path: Path, head: str) -> None:
    folder = trial(tmp_path)
    path = folder / "result.json"
    path.write_text(head + path.read_text(encoding="utf-8"), encoding="utf-8")
    assert row_of(tmp_path)["reward"] == 1.0


def test_a_reward_that_is_not_finite_is_passed_on(tmp_path: Path) -> None:
    trial(tmp_path, verifier_result={"rewards": {"reward": float("nan")}})
    row = row_of(tmp_path)
    assert row["reward"] != row["reward"]
    assert masked(row)[0] is False
