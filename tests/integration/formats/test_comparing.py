"""Results of other tools through the command: what is told of them, options, outputs, and what cannot be read."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Rollouts, Run
from tests.places import CASES

FORMATS = CASES / "formats"
Compare = Callable[..., Run]
Summary = Callable[..., dict[str, Any]]


@pytest.fixture
def jobs(tmp_path: Path) -> Path:
    """Both jobs of the sample, where they may be changed."""
    for side in ("old", "new"):
        shutil.copytree(FORMATS / "harbor" / side, tmp_path / side)
    return tmp_path


def one_error(done: Run) -> str:
    assert (done.status, done.out) == (1, "")
    [line] = done.err.splitlines()
    assert line.startswith("error: ")
    return line


def test_every_report_says_what_a_side_is(jobs: Path, run: Compare) -> None:
    markdown, html = jobs / "report.md", jobs / "report.html"
    done = run(jobs / "old", jobs / "new", "--markdown", markdown, "--html", html)
    assert f"old   {jobs / 'old'}: Harbor job, 18 trials\n" in done.out
    assert f"new   {jobs / 'new'}: Harbor job, 18 trials, 2 masked\n" in done.out
    assert "Harbor job, 18 trials" in markdown.read_text(encoding="utf-8")
    assert "(Harbor job)" in html.read_text(encoding="utf-8")


def test_plain_rollouts_are_told_of_as_ever(rollouts: Rollouts, run: Compare, summary: Summary) -> None:
    path = rollouts.write("a.jsonl", [{"task_id": "a", "reward": 1.0}])
    assert f"old   {path}: 1 row\n" in run(path, path).out
    assert [side["format"] for side in summary(path, path)["sides"].values()] == ["rollouts", "rollouts"]


def test_a_job_and_rollouts_of_the_same_tasks_join(jobs: Path, rollouts: Rollouts, summary: Summary) -> None:
    rows = [{"_ng_task_id": f"demo-bench/task-{number:02}", "reward": 1.0} for number in range(1, 17)]
    found = summary(jobs / "old", rollouts.write("gym.jsonl", rows))
    assert (found["counts"]["tasks"], found["counts"]["missing"]) == (16, 0)
    assert [found["sides"][side]["format"] for side in ("old", "new")] == ["harbor", "rollouts"]


def test_shards_of_different_formats_are_one_side(jobs: Path, rollouts: Rollouts, summary: Summary) -> None:
    extra = rollouts.write(
        "extra.jsonl", [{"_ng_task_id": {"taskset": "demo-bench", "task_id": "task-99"}, "reward": 1}]
    )
    found = summary("--old", jobs / "old", "--old", extra, "--new", jobs / "new")
    assert found["sides"]["old"]["format"] == "harbor, rollouts"
    assert found["sides"]["old"]["rows"] == 19
    assert found["counts"]["missing_old_only"] == 1


def test_one_job_under_two_names_is_read_once(jobs: Path, summary: Summary) -> None:
    (jobs / "again").symlink_to(jobs / "old")
    found = summary("--old", jobs / "old", "--old", jobs / "again", "--new", jobs / "new")
    assert found["sides"]["old"]["rows"] == 18


def test_a_glob_may_match_logs_and_jobs(jobs: Path, summary: Summary, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(jobs)
    assert summary("ol*", "ne*")["counts"]["tasks"] == 16
    logs = FORMATS / "inspect"
    assert summary(logs / "old" / "*.eval", logs / "new" / "*.eval")["counts"]["tasks"] == 17


def test_a_format_that_is_forced_is_not_looked_for(jobs: Path, run: Compare) -> None:
    error = one_error(run(jobs / "old", jobs / "new", "--format-in", "rollouts"))
    assert "without a rollouts file" in error
    error = one_error(run(jobs / "old", jobs / "new", "--format-in", "inspect"))
    assert "not an Inspect log" in error
    done = run(jobs / "old", jobs / "new", "--format-in", "gym")
    assert done.status == 2
    assert "lm-eval" in done.err


def test_two_claims_and_no_claim_are_one_error_line(tmp_path: Path, run: Compare) -> None:
    (tmp_path / "x.eval").write_bytes(b"PK")
    (tmp_path / "samples_demo_2026-11-02T10-00-00.jsonl").write_text("{}\n", encoding="utf-8")
    error = one_error(run(tmp_path, tmp_path))
    assert "Inspect log (inspect)" in error
    assert "lm-eval samples (lm-eval)" in error
    document = tmp_path / "scores.json"
    document.write_text(json.dumps({"scores": {"a": 1}}, indent=2), encoding="utf-8")
    assert f"{document}: one JSON document, not JSON Lines; known are: Harbor job (harbor)" in one_error(
        run(document, document)
    )


def test_a_broken_log_is_one_error_line_with_its_member(tmp_path: Path, run: Compare) -> None:
    shutil.copytree(FORMATS / "inspect" / "new", tmp_path / "new")
    [log] = (tmp_path / "new").glob("*.eval")
    content = log.read_bytes()
    at = content.index(b"summaries.json", content.index(b"reductions.json"))
    log.write_bytes(content[: at - 200] + b"\0" * 100 + content[at - 100 :])
    error = one_error(run(FORMATS / "inspect" / "old", tmp_path / "new"))
    assert str(log) in error


def test_a_choice_made_on_both_sides_is_told_once(run: Compare) -> None:
    done = run(FORMATS / "inspect" / "old", FORMATS / "inspect" / "new", "--format", "json")
    notes = [note for note in done.json["notes"] if "verify" in note]
    assert len(notes) == 1
    assert not notes[0].startswith(("old:", "new:"))


def test_a_choice_made_on_one_side_names_it(summary: Summary) -> None:
    instances = FORMATS / "swebench" / "new" / "logs" / "run_evaluation" / "run1" / "made__up-model-2"
    notes = summary(FORMATS / "swebench" / "old", instances)["notes"]
    assert [note for note in notes if note.startswith("new: ") and "empty patch" in note]


def test_instances_without_a_prediction_are_lost(tmp_path: Path, summary: Summary) -> None:
    names = [f"i-{number}" for number in range(40)]
    for side, submitted in (("old", names), ("new", names[:25])):
        lists = {"submitted_ids": submitted, "resolved_ids": submitted, "incomplete_ids": names[len(submitted) :]}
        (tmp_path / f"{side}.run.json").write_text(json.dumps(lists), encoding="utf-8")
    found = summary(tmp_path / "old.run.json", tmp_path / "new.run.json")
    [lost] = [warning for warning in found["warnings"] if warning["code"] == "rollouts_lost"]
    assert "15 of 40" in lost["sentence"]


def test_a_key_is_looked_for_in_the_rows(jobs: Path, run: Compare, summary: Summary) -> None:
    found = summary(jobs / "old", jobs / "new", "--key", "task_name")
    assert found["join"]["old_key"] == "task_name"
    assert found["counts"]["tasks"] == 16
    error = one_error(run(jobs / "old", jobs / "new", "--key", "missing"))
    assert f"{jobs / 'old'}: row 1: the row has no key field `missing`" in error


def test_conditions_hold_for_rows_of_formats(summary: Summary) -> None:
    old, new = FORMATS / "tau2" / "old", FORMATS / "tau2" / "new"
    found = summary(old, new, "--where", "_ng_task_id.task_id=10")
    assert [task["task"] for task in found["tasks"]] == ["10"]
    assert found["counts"]["flipped_old_win"] == 1


@pytest.mark.parametrize("option", ["--json", "--markdown", "--html"])
@pytest.mark.parametrize("given", ["trial", "log"])
def test_a_document_that_was_read_is_not_overwritten(tmp_path: Path, run: Compare, option: str, given: str) -> None:
    sample = FORMATS / ("harbor" if given == "trial" else "inspect")
    for side in ("old", "new"):
        shutil.copytree(sample / side, tmp_path / side)
    target = next((tmp_path / "new").glob("task-10*/result.json" if given == "trial" else "*.eval"))
    before = target.read_bytes()
    done = run(tmp_path / "old", tmp_path / "new", option, target)
    assert (done.status, target.read_bytes()) == (2, before)
    assert "is an input" in done.err


def test_a_report_may_be_written_into_the_folder_of_a_job_again_and_again(jobs: Path, run: Compare) -> None:
    for _ in range(2):
        assert run(jobs / "old", jobs / "new", "--json", jobs / "new" / "summary.json").status == 0


def test_what_a_grader_said_is_redacted(tmp_path: Path, run: Compare) -> None:
    for side in ("old", "new"):
        shutil.copytree(FORMATS / "promptfoo" / side, tmp_path / side)
    document = tmp_path / "new" / "output.json"
    secret = "ghp_" + "a1B2c3D4e5" * 4
    text = document.read_text(encoding="utf-8").replace("expected 4, got 5 in task-10", f"token {secret} in task-10")
    document.write_text(text, encoding="utf-8")
    done = run(tmp_path / "old" / "output.json", document)
    assert secret not in done.out
    assert "token [redacted] in task-10" in done.out


def test_a_log_out_of_the_job_is_not_shown(jobs: Path, run: Compare) -> None:
    [trial] = (jobs / "new").glob("task-10*")
    outside = jobs / "outside"
    outside.mkdir()
    (outside / "test-stdout.txt").write_text("not for you\n", encoding="utf-8")
    shutil.rmtree(trial / "verifier")
    (trial / "verifier").symlink_to(outside)
    done = run(jobs / "old", jobs / "new")
    assert "not for you" not in done.out
    assert "outside the log roots" in done.out
