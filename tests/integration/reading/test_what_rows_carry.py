"""What rows carry besides their reward, whichever of the two decoders reads them."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from typing import Any

import pytest

from tests.conftest import Json, Rollouts, Summary
from tests.rows import holding
from tests.rules import FALLBACK_ID_FIELDS, KEY_CANDIDATES

Write = Callable[[Json], str]


def plain(row: Json) -> str:
    return json.dumps(row)


def with_a_number_that_is_none(row: Json) -> str:
    """The same row with a field that only Python's own decoder reads."""
    return json.dumps({**row, "skipped": float("nan")})


@pytest.fixture(params=[plain, with_a_number_that_is_none], ids=["fast decoder", "lenient decoder"])
def written(request: pytest.FixtureRequest) -> Write:
    """How a row is written, so that it is read by the one decoder or by the other."""
    write: Write = request.param
    return write


def secondary(summary: Json) -> dict[str, list[float]]:
    return {
        number["name"]: [number["n"], number["mean_old"], number["mean_new"], number["mean_difference"]]
        for number in summary["statistics"]["secondary"]
    }


def test_tokens_are_those_of_the_usage(written: Write, rollouts: Rollouts, summary: Summary) -> None:
    def side(name: str, asked: int, answered: int) -> Any:
        usage = {"input_tokens": asked, "output_tokens": answered}
        return rollouts.write(name, [written({"task_id": "a", "reward": 1, "response": {"usage": usage}})])

    found = secondary(summary(side("old.jsonl", 100, 7), side("new.jsonl", 130, 5)))
    assert found == {"output_tokens": [1, 7, 5, -2], "input_tokens": [1, 100, 130, 30]}


def test_seconds_are_from_the_creation_of_a_response_to_its_completion(
    written: Write, rollouts: Rollouts, summary: Summary
) -> None:
    def side(name: str, began: float, ended: float) -> Any:
        response = {"created_at": began, "completed_at": ended}
        return rollouts.write(name, [written({"task_id": "a", "reward": 1, "response": response})])

    found = secondary(summary(side("old.jsonl", 1000, 1012.5), side("new.jsonl", 2000, 2010)))
    assert found == {"seconds": [1, 12.5, 10, -2.5]}


def test_the_time_that_the_agent_took_goes_before_the_times_of_its_response(
    written: Write, rollouts: Rollouts, summary: Summary
) -> None:
    row = {"task_id": "a", "reward": 1, "agent_run_time": 3, "response": {"created_at": 10, "completed_at": 50}}
    path = rollouts.write("side.jsonl", [written(row)])
    assert secondary(summary(path, path)) == {"seconds": [1, 3, 3, 0]}


@pytest.mark.parametrize("lacking", ["created_at", "completed_at"])
def test_half_of_the_times_of_a_response_are_no_time(
    lacking: str, written: Write, rollouts: Rollouts, summary: Summary
) -> None:
    response = {"created_at": 10, "completed_at": 50} | {lacking: None}
    path = rollouts.write("side.jsonl", [written({"task_id": "a", "reward": 1, "response": response})])
    assert secondary(summary(path, path)) == {}


@pytest.mark.parametrize(
    ("began", "ended", "seconds"),
    [
        (1780537152000, 1780537177000, 25),
        (1780537152000.5, 1780537152750.5, 0.75),
        # Each by itself.
        (1780537152, 1780537177000, 25),
        # A second before 1e11, and after it: of the year 5138, and of 1973.
        (99_999_999_990, 99_999_999_999, 9),
        (100_000_000_001, 100_000_009_001, 9),
        ("2026-06-04T01:39:12Z", "2026-06-04T01:39:37Z", 25),
        ("2026-06-04T01:39:12.250000+00:00", "2026-06-04T01:40:12.750000+00:00", 60.5),
        ("2026-06-04T01:39:12+02:00", "2026-06-03T23:39:37Z", 25),
        ("2026-06-04 01:39:12", "2026-06-04 01:39:37", 25),
        ("20260604T013912", "20260604T013937", 25),
        # An end before the start took no time.
        (100, 90, 0),
        ("2026-06-04T01:39:37Z", "2026-06-04T01:39:12Z", 0),
    ],
)
@pytest.mark.parametrize("place", ["response", "row"])
def test_time_stamps_are_seconds_or_milliseconds_or_texts(
    began: Any, ended: Any, seconds: float, place: str, written: Write, rollouts: Rollouts, summary: Summary
) -> None:
    row: dict[str, Any] = {"task_id": "a", "reward": 1}
    if place == "row":
        row |= {"started_at": began, "finished_at": ended}
    else:
        row["response"] = {"created_at": began, "completed_at": ended}
    path = rollouts.write("side.jsonl", [written(row)])
    assert secondary(summary(path, path)) == {"seconds": [1, seconds, seconds, 0]}


@pytest.mark.parametrize(
    ("began", "ended"),
    [
        ("2026-06-04T01:39:12Z", 1780537177),
        ("2026-06-04T01:39:12", "2026-06-04T01:39:37Z"),
        ("yesterday", "2026-06-04T01:39:37Z"),
        ("2026-06-04T01:39:12Z", "2026-06-04T25:39:37Z"),
        ("", ""),
        ("1" * 10_000, "2026-06-04T01:39:37Z"),
        ("\ud800", "\ud800"),
        ("12", "24"),
        (True, 24),
        ([12], [24]),
    ],
    ids=[
        "text and number",
        "with and without a time zone",
        "no time",
        "no such time",
        "empty",
        "long",
        "surrogates",
        "numbers as texts",
        "truth values",
        "lists",
    ],
)
def test_what_are_not_two_time_stamps_of_one_kind_tell_no_time(
    began: Any, ended: Any, written: Write, rollouts: Rollouts, summary: Summary
) -> None:
    row = {"task_id": "a", "reward": 1, "started_at": began, "finished_at": ended}
    path = rollouts.write("side.jsonl", [written(row)])
    assert secondary(summary(path, path)) == {}


def test_the_times_of_a_response_go_before_those_of_the_attempt(
    written: Write, rollouts: Rollouts, summary: Summary
) -> None:
    row = {"task_id": "a", "reward": 1, "started_at": 0, "finished_at": 90}
    answered = row | {"response": {"created_at": 10, "completed_at": 50}}
    half = row | {"response": {"created_at": 10}}
    paths = (rollouts.write(f"{at}.jsonl", [written(each)]) for at, each in enumerate((answered, half)))
    assert secondary(summary(*paths)) == {"seconds": [1, 40, 90, 50]}


def test_only_tasks_with_the_number_on_both_sides_are_compared(
    written: Write, rollouts: Rollouts, summary: Summary
) -> None:
    def row(task: str, seconds: float | None) -> str:
        return written({"task_id": task, "reward": 1, "agent_run_time": seconds})

    # Task a has the mean of the repeats that tell: 4. Neither b nor c is told on both sides.
    old = rollouts.write("old.jsonl", [row("a", 3), row("a", None), row("a", 5), row("b", 100), row("c", None)])
    new = rollouts.write("new.jsonl", [row("a", 6), row("b", None), row("c", 100)])
    assert secondary(summary(old, new)) == {"seconds": [1, 4, 6, 2]}


def test_models_and_agents_are_counted_by_rows(written: Write, rollouts: Rollouts, summary: Summary) -> None:
    def row(task: str, model: str, agent: str) -> str:
        return written({"task_id": task, "reward": 1, "response": {"model": model}, "agent_ref": {"name": agent}})

    path = rollouts.write("side.jsonl", [row("a", "m-1", "solver"), row("b", "m-1", "judge"), row("c", "m-2", "judge")])
    side = summary(path, path)["sides"]["old"]
    assert (side["models"], side["agents"]) == ({"m-1": 2, "m-2": 1}, {"solver": 1, "judge": 2})


@pytest.mark.parametrize("path", [name for name in (*KEY_CANDIDATES, *FALLBACK_ID_FIELDS) if "." in name])
def test_an_id_within_an_object_joins(path: str, written: Write, rollouts: Rollouts, summary: Summary) -> None:
    def row(task: str, reward: float) -> str:
        return written(holding(path, task) | {"reward": reward})

    old = rollouts.write("old.jsonl", [row("a", 1), row("b", 1)])
    new = rollouts.write("new.jsonl", [row("b", 1), row("a", 0)])
    found = summary(old, new)
    assert (found["join"]["old_key"], found["join"]["new_key"]) == (path, path)
    assert [(task["task"], task["winner"]) for task in found["tasks"]] == [("a", "old"), ("b", None)]


def test_an_error_type_in_the_metadata_of_a_response_is_an_agent_error(
    written: Write, rollouts: Rollouts, summary: Summary
) -> None:
    response = {"metadata": {"turns": 3, "agent_error_type": "timeout"}}
    old = rollouts.write("old.jsonl", [written({"task_id": "a", "reward": 1})])
    new = rollouts.write("new.jsonl", [written({"task_id": "a", "reward": 0, "response": response})])
    [task] = summary(old, new)["tasks"]
    assert (task["category"], task["new"]["agent_error"]) == ("flipped_agent_error", "agent_error_type=timeout")


@pytest.mark.parametrize(
    ("old_agents", "new_agents"),
    [(["x", "y"], ["x", "y"]), (["z", "z"], ["x", "y"]), (["x", "y"], ["z", "z"])],
    ids=["both sides have two", "the new side has two", "the old side has two"],
)
def test_two_agents_of_a_side_are_two_groups(
    old_agents: list[str], new_agents: list[str], written: Write, rollouts: Rollouts, summary: Summary
) -> None:
    def side(name: str, agents: list[str], rewards: list[float]) -> Any:
        rows = zip(("a", "b"), agents, rewards, strict=True)
        return rollouts.write(
            name,
            [
                written({"task_id": task, "reward": reward, "agent_ref": {"name": agent}})
                for task, agent, reward in rows
            ],
        )

    found = summary(side("old.jsonl", old_agents, [1, 1]), side("new.jsonl", new_agents, [0, 1]))
    groups = [
        (group["by"], group["name"], group["n"], group["mean_difference"]) for group in found["statistics"]["groups"]
    ]
    assert groups == [("agent", "x", 1, -1), ("agent", "y", 1, 0)]


def test_of_two_sides_with_several_agents_the_new_one_makes_the_groups(rollouts: Rollouts, summary: Summary) -> None:
    def side(name: str, agents: str) -> Any:
        rows = [{"task_id": task, "reward": 1, "agent_ref": {"name": agents[k]}} for k, task in enumerate("abc")]
        return rollouts.write(name, rows)

    groups = summary(side("old.jsonl", "xxy"), side("new.jsonl", "vww"))["statistics"]["groups"]
    assert [(group["name"], group["n"]) for group in groups] == [("v", 1), ("w", 2)]


def filling(first: int) -> list[Json]:
    """Rows of tasks of their own, more than are read at a time, that carry nothing."""
    return [{"_ng_task_id": f"z{n}", "reward": 1, "text": "x" * 4_000} for n in range(first, first + 200)]


def test_what_only_later_rows_carry_belongs_to_them(rollouts: Rollouts, summary: Summary) -> None:
    def side(name: str, seconds: float) -> Any:
        one = {"_ng_task_id": "a", "reward": 1, "agent_run_time": seconds, "agent_ref": {"name": "x"}}
        other = {"_ng_task_id": "b", "reward": 0, "agent_ref": {"name": "y"}}
        return rollouts.write(name, [*filling(0), one, *filling(200), other])

    found = summary(side("old.jsonl", 10), side("new.jsonl", 30))
    assert secondary(found) == {"seconds": [1, 10, 30, 20]}
    assert found["sides"]["new"]["agents"] == {"x": 1, "y": 1}
    assert [(group["name"], group["n"]) for group in found["statistics"]["groups"]] == [("x", 1), ("y", 1)]


def test_tasksets_that_only_later_rows_have_belong_to_them(rollouts: Rollouts, summary: Summary) -> None:
    def member(task: str, **taskset: str) -> Json:
        return {"_ng_task_id": {"task_id": task, **taskset}, "reward": 1}

    rows = [*filling(0), member("a", taskset="quiz"), *filling(200), member("b"), member("c", taskset="shell")]
    path = rollouts.write("side.jsonl", rows)
    tasksets = {task["task"]: task["taskset"] for task in summary(path, path)["tasks"]}
    assert {name: found for name, found in tasksets.items() if not name.startswith("z")} == {
        "b": None,
        "quiz/a": "quiz",
        "shell/c": "shell",
    }
    assert {tasksets[f"z{n}"] for n in range(400)} == {None}


def test_a_record_is_named_by_the_metadata_of_its_request(rollouts: Rollouts, summary: Summary) -> None:
    def named(task: str) -> Json:
        return {"responses_create_params": {"metadata": {"instance_id": task}}}

    old = rollouts.write("old.jsonl", [{**named("a"), "reward": 1}, {**named("b"), "reward": 1}])
    new = rollouts.write("new.jsonl", [{**named("a"), "reward": 1}], failures=[named("b")])
    found = summary(old, new)
    assert [(task["task"], task["category"]) for task in found["tasks"]] == [("a", "identical"), ("b", "masked")]


def test_a_pipe_is_read_by_the_key_that_was_asked_for(rollouts: Rollouts, summary: Summary) -> None:
    def rows(reward: int) -> list[Json]:
        return [
            {"case": {"name": f"t{n}"}, "text": "x" * 4_000, "reward": reward if n == 150 else 1} for n in range(200)
        ]

    content = rollouts.write("content.jsonl", rows(0)).read_bytes()
    pipe = rollouts.folder / "new.jsonl"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(content,), daemon=True)
    writer.start()
    found = summary(rollouts.write("old.jsonl", rows(1)), pipe, "--key", "case.name")
    writer.join(timeout=10)
    assert (found["counts"]["tasks"], found["counts"]["identical"]) == (200, 199)
    assert [task["task"] for task in found["tasks"] if task["winner"] == "old"] == ["t150"]
    assert found["sides"]["new"]["bytes"] == len(content)
