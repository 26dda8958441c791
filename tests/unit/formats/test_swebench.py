"""SWE-bench runs as rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.formats.reading import fault_of, masked, notes_of, row_of, rows_of, source_of, task_of, write_json

RUN = "logs/run_evaluation/run1/made__up"
TESTS = {"FAIL_TO_PASS": {"success": ["a"], "failure": []}}


def summary(**lists: Any) -> dict[str, Any]:
    names = ("completed", "incomplete", "empty_patch", "submitted", "resolved", "unresolved", "error")
    counts = {f"{name}_instances": 0 for name in ("total", "submitted", "completed", "resolved")}
    return counts | {f"{name}_ids": lists.pop(name, []) for name in names} | lists | {"schema_version": 2}


def report(instance: str, *, resolved: Any = True, **changed: Any) -> dict[str, Any]:
    return {instance: {"patch_exists": True, "resolved": resolved, "tests_status": TESTS} | changed}


def instance(folder: Path, name: str, content: Any = None, *, output: bool = True) -> Path:
    write_json(folder / name / "report.json", report(name) if content is None else content)
    write_json(folder / name / "run_instance.log", "log")
    if output:
        write_json(folder / name / "test_output.txt", "1 passed")
    return folder / name


def test_a_summary_decides_and_the_folder_adds_logs_and_tests(tmp_path: Path) -> None:
    instance(tmp_path / RUN, "acme__w-1", report("acme__w-1", resolved=False))
    path = write_json(tmp_path / "made__up.run1.json", summary(submitted=["acme__w-1"], resolved=["acme__w-1"]))
    for given in (path, tmp_path):
        assert row_of(given) == {
            "_ng_task_id": {"task_id": "acme__w-1"},
            "reward": 1.0,
            "response": {"model": "made__up"},
            "verifier_logs_dir": f"{RUN}/acme__w-1/test_output.txt",
            "tests_status": TESTS,
        }


def test_each_list_says_what_it_says(tmp_path: Path) -> None:
    lists = {
        "submitted": ["res", "unres", "empty", "err", "both", "infra", "ambiguous", "lost"],
        "completed": ["res", "unres", "both", "infra", "ambiguous"],
        "resolved": ["res", "both"],
        "unresolved": ["unres", "infra", "ambiguous"],
        "empty_patch": ["empty"],
        "error": ["err", "both"],
        "incomplete": ["never"],
        "infra_failure_ids": ["infra", "err"],
        "ambiguous_failure_ids": ["ambiguous"],
        "failure_reasons": {"infra": "out_of_memory", "ambiguous": "timeout", "err": "no_space"},
    }
    rows = rows_of(write_json(tmp_path / "made__up.run1.json", summary(**lists)))
    assert {task_of(row)[1]: (row["reward"], *masked(row)) for row in rows} == {
        "res": (1.0, False, None, None),
        "unres": (0.0, False, None, None),
        "empty": (0.0, False, "empty_patch", None),
        "err": (None, True, "error", "no_space"),
        "both": (None, True, "error", None),
        "infra": (0.0, False, "infra_failure", "out_of_memory"),
        "ambiguous": (0.0, False, "ambiguous_failure", "timeout"),
        "lost": (None, True, "not_evaluated", None),
    }
    assert [task_of(row)[1] for row in rows] == lists["submitted"]


def test_instances_without_a_prediction_are_planned_and_lost(tmp_path: Path) -> None:
    source = source_of(
        write_json(tmp_path / "m.r.json", summary(submitted=["a"], resolved=["a"], incomplete=["b", "c"]))
    )
    assert [task_of(row)[1] for row in source.rows()] == ["a"]
    assert source.lost == 2


def test_a_summary_of_another_tool_may_have_fewer_lists(tmp_path: Path) -> None:
    lists = {"resolved_ids": ["a"], "completed_ids": ["a", "b"], "empty_patch_ids": ["c"], "incomplete_ids": ["d"]}
    rows = rows_of(write_json(tmp_path / "x.json", lists))
    assert {task_of(row)[1]: row["reward"] for row in rows} == {"a": 1.0, "b": 0.0, "c": 0.0}


@pytest.mark.parametrize(
    ("name", "model", "run"),
    [
        ("gpt-4.1.2026.11.02.json", "gpt-4.1", "2026.11.02"),
        ("gpt-4.1.2026.11.02.json", "gpt-4.1.2026.11", "02"),
        ("org__model.run.json", "org__model", "run"),
    ],
)
def test_model_and_run_may_hold_dots_and_only_the_folders_tell(tmp_path: Path, name: str, model: str, run: str) -> None:
    instance(tmp_path / "logs" / "run_evaluation" / run / model, "i-1")
    row = row_of(write_json(tmp_path / name, summary(submitted=["i-1"], resolved=["i-1"])))
    assert row["response"] == {"model": model}
    assert row["verifier_logs_dir"] == f"logs/run_evaluation/{run}/{model}/i-1/test_output.txt"


def test_a_summary_alone_or_under_another_name_has_no_logs(tmp_path: Path) -> None:
    instance(tmp_path / RUN, "i-1")
    row = row_of(write_json(tmp_path / "renamed.v2.json", summary(submitted=["i-1"], resolved=["i-1"])))
    assert (row["response"], "verifier_logs_dir" in row) == ({"model": "renamed"}, False)


@pytest.mark.parametrize("below", ["", "made__up", "run1/made__up", RUN])
def test_instances_alone_are_found_below_their_model_and_run(tmp_path: Path, below: str) -> None:
    folder = tmp_path / below if below else tmp_path / "made__up"
    instance(folder, "acme__w-1")
    given = tmp_path if below else folder
    row = row_of(given)
    assert (row["reward"], row["response"]) == (1.0, {"model": "made__up"})
    [note] = notes_of(given)
    assert "empty patch" in note


@pytest.mark.parametrize("content", ["", "{", "[]", {}, {"other": {"resolved": True}}, report("x", resolved="yes")])
def test_an_instance_without_a_readable_report_is_masked(tmp_path: Path, content: Any) -> None:
    instance(tmp_path / "m", "ok")
    folder = instance(tmp_path / "m", "x", content)
    rows = {task_of(row)[1]: row for row in rows_of(tmp_path / "m")}
    assert masked(rows["x"])[:2] == (True, "no_report")
    (folder / "report.json").unlink()
    assert masked({task_of(row)[1]: row for row in rows_of(tmp_path / "m")}["x"])[:2] == (True, "no_report")


def test_a_report_tells_of_the_infrastructure(tmp_path: Path) -> None:
    told = report("x", resolved=False, infra_failure=True, infra_failure_reason="out_of_memory")
    instance(tmp_path, "x", told)
    assert masked(row_of(tmp_path)) == (False, "infra_failure", "out_of_memory")


def test_folders_without_report_and_log_are_no_instances(tmp_path: Path) -> None:
    instance(tmp_path, "i-1")
    (tmp_path / "cache").mkdir()
    assert len(rows_of(tmp_path)) == 1


@pytest.mark.parametrize("name", ["../i-2", "..", "i-1/../../i-2", ".hidden", "", "a\0b"])
def test_an_id_that_is_not_the_name_of_a_folder_has_no_logs(tmp_path: Path, name: str) -> None:
    instance(tmp_path / RUN, "i-1")
    instance(tmp_path / "logs" / "run_evaluation" / "run1", "i-2")
    instance(tmp_path / RUN, ".hidden")
    row = row_of(write_json(tmp_path / "made__up.run1.json", summary(submitted=[name], resolved=[name])))
    assert (task_of(row)[1], row["reward"], "verifier_logs_dir" in row) == (name, 1.0, False)


def test_several_summaries_or_runs_are_named(tmp_path: Path) -> None:
    instance(tmp_path / "logs/run_evaluation/run1/one", "i-1")
    instance(tmp_path / "logs/run_evaluation/run2/two", "i-1")
    assert "run1/one, logs/run_evaluation/run2/two" in fault_of(tmp_path).what
    for name in ("one.run1.json", "two.run2.json"):
        write_json(tmp_path / name, summary(submitted=["i-1"], resolved=["i-1"]))
    assert "one.run1.json, two.run2.json" in fault_of(tmp_path).what


def test_a_long_summary_is_known_by_its_first_bytes(tmp_path: Path) -> None:
    names = [f"organisation__project-{number}" for number in range(5000)]
    path = write_json(tmp_path / "m.r.json", summary(completed=names, submitted=names, resolved=names[:3]))
    rows = rows_of(path)
    assert (len(rows), sum(row["reward"] for row in rows)) == (5000, 3.0)


@pytest.mark.parametrize("names", [["a", None], [["a"]], [{"id": 1}], [True]])
def test_a_summary_that_names_no_instance_is_unreadable(tmp_path: Path, names: list[Any]) -> None:
    path = write_json(tmp_path / "m.r.json", summary(submitted=names, resolved=["a"]))
    fault = fault_of(path)
    assert (fault.path, "submitted_ids" in fault.what) == (str(path), True)
