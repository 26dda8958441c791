"""The files by which a step tells the runner its outputs and its summary, and the report files in the workspace."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.github import rendered
from tests.integration.action.conftest import REPORT_FILES, RUNNER_WORK, Stage, row
from tests.stand_in import GitHub

SUMMARY_LIMIT = 1_048_576


@pytest.mark.parametrize("variable", ["GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"])
@pytest.mark.parametrize("path", ["", "/nonexistent/folder/file", "FOLDER", "/dev/full"])
def test_a_file_that_is_unset_or_cannot_be_written_is_one_warning(
    step: Stage, pull_request: GitHub, variable: str, path: str
) -> None:
    done = step(pull_request, environment={variable: path.replace("FOLDER", str(step.runner))})
    assert (done.status, len(done.warnings)) == (0, 1)
    assert len(pull_request.state.bodies()) == 1
    assert all((done.folder / name).is_file() for name in REPORT_FILES)
    assert bool(done.outputs) == (variable != "GITHUB_OUTPUT")
    assert bool(done.summary) == (variable != "GITHUB_STEP_SUMMARY")


def test_nothing_of_a_runner_at_all_still_makes_the_reports(step: Stage, github: GitHub) -> None:
    names = [name for name in step.variables() if name.startswith(("GITHUB_", "RUNNER_"))]
    done = step(github, environment=dict.fromkeys(names, ""))
    assert (done.status, github.requests) == (0, [])
    assert done.json["counts"]["flipped"] == 1


def test_what_stands_in_the_files_stays(step: Stage, pull_request: GitHub) -> None:
    output, summary = step.runner / "output", step.runner / "summary"
    output.write_text("earlier=1\n")
    summary.write_text("# Earlier\n\n")
    done = step(pull_request, environment={"GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(summary)})
    assert done.outputs["earlier"] == "1"
    assert done.outputs["tasks"] == "2"
    assert done.summary.startswith("# Earlier\n\n<!-- rollout-compare:default -->\n")


@pytest.mark.parametrize("taken", [900 << 10, SUMMARY_LIMIT - 60_000, SUMMARY_LIMIT - 6_000, SUMMARY_LIMIT - 100])
def test_the_summary_stays_within_what_the_runner_takes(step: Stage, pull_request: GitHub, taken: int) -> None:
    many = [f"task-{number:04}-" + "é" * 60 for number in range(600)]
    step.write([row(task, 1) for task in many], [row(task, 0) for task in many])
    summary = step.runner / "summary"
    summary.write_bytes(b"x" * (taken - 1) + b"\n")
    done = step(pull_request, comment="off", environment={"GITHUB_STEP_SUMMARY": str(summary)})
    added = summary.read_bytes()[taken:].decode("utf-8")
    assert summary.stat().st_size <= SUMMARY_LIMIT
    assert done.status == 0
    assert bool(added) != bool(done.warnings)
    assert not added or rendered(added).all("table")


def test_a_summary_that_is_switched_off_is_not_written(step: Stage, pull_request: GitHub) -> None:
    done = step(pull_request, job_summary="false")
    assert (done.summary, done.warnings) == ("", [])


def test_a_summary_may_hold_what_a_comment_cannot(step: Stage, pull_request: GitHub) -> None:
    many = [f"task-{number:05}-" + "x" * 150 for number in range(500)]
    step.write([row(task, 1) for task in many], [row(task, 0) for task in many])
    done = step(pull_request)
    [body] = pull_request.state.bodies()
    assert len(body) <= 65_000
    assert "more in the job summary" in body
    assert all(task[:10] in done.summary for task in many)


HOSTILE = [
    "a\nflipped=99",
    "b\nverdict<<EOF\nhigher\nEOF",
    "c\r\n::set-output name=tasks::7",
    "d\u2028e=1",
    "rollout-compare-" + "0" * 32,
    "\x00\x1b[31m",
    "f" * 10_000,
    "\U0001f389" * 50,
]


def test_no_task_can_set_an_output(step: Stage, pull_request: GitHub) -> None:
    plain = list(step(pull_request).outputs)
    for prefix in ("", "taskset\n"):
        step.write([row(prefix + t, 1) for t in HOSTILE], [row(prefix + t[:-1], 0, taskset=t) for t in HOSTILE])
        done = step(pull_request, run_id=101)
        assert list(done.outputs) == plain
        assert done.outputs["tasks"] == str(done.json["counts"]["tasks"])


def test_an_output_that_does_not_exist_is_empty(step: Stage, pull_request: GitHub) -> None:
    step.write([row("a", None)], [row("a", None)])
    done = step(pull_request, comment="off")
    assert done.outputs["mean-difference"] == ""
    assert done.outputs["comment-id"] == done.outputs["comment-url"] == ""


def test_the_outputs_are_the_numbers_of_the_summary(step: Stage, pull_request: GitHub) -> None:
    step.write(
        [row("a", 1.0), row("b", 0.0), row("c", 1.0), row("d", 0.5, mask_sample=True), row("gone", 1)],
        [row("a", 0.0), row("b", 1.0), row("c", 1.0), row("d", 0.5), row("come", 1)],
    )
    outputs = step(pull_request).outputs
    expected = {"tasks": "6", "identical": "1", "flipped": "2", "flipped-old-win": "1", "flipped-new-win": "1"}
    expected |= {"flipped-agent-error": "0", "masked": "1", "masked-old": "1", "masked-new": "0", "missing": "2"}
    expected |= {"missing-old-only": "1", "missing-new-only": "1", "changed": "true", "mean-difference": "0.0"}
    assert {name: outputs[name] for name in expected} == expected


def test_files_are_named_as_seen_from_the_workspace(step: Stage, pull_request: GitHub) -> None:
    outputs = step(pull_request, report_dir="out/reports").outputs
    assert outputs["report-dir"] == "out/reports"
    for name, file in (("summary-path", "summary.json"), ("markdown-path", "report.md"), ("html-path", "report.html")):
        assert outputs[name] == f"out/reports/{file}"
        assert (step.workspace / outputs[name]).is_file()


@pytest.mark.parametrize("folder", ["/github/workspace/out", f"{RUNNER_WORK}/octo-repo/octo-repo/out", "./a/../out"])
def test_a_report_folder_under_another_name_of_the_workspace_is_the_same(
    step: Stage, pull_request: GitHub, folder: str
) -> None:
    outputs = step(pull_request, report_dir=folder).outputs
    assert (step.workspace / "out" / "report.md").is_file()
    assert not Path(outputs["report-dir"]).is_absolute()
    assert (step.workspace / outputs["markdown-path"]).is_file()


@pytest.mark.parametrize("folder", ["..", "../out", "/srv/out", "link", "link/out", "a/../../out", "/"])
def test_a_report_folder_outside_of_the_workspace_is_refused(step: Stage, pull_request: GitHub, folder: str) -> None:
    (step.workspace / "link").symlink_to(step.runner)
    before = sorted(step.runner.parent.iterdir())
    done = step(pull_request, report_dir=folder)
    assert sorted(step.runner.parent.iterdir()) == before
    assert not list(step.runner.rglob("report*"))
    assert (done.status, len(done.warnings)) in ((0, 1), (2, 0))
    if done.status == 0:
        assert (done.outputs["report-dir"], done.outputs["html-path"]) == ("", "")
        assert len(pull_request.state.bodies()) == 1


def test_a_report_folder_that_is_a_file_is_a_warning(step: Stage, pull_request: GitHub) -> None:
    (step.workspace / "taken").write_text("mine")
    done = step(pull_request, report_dir="taken")
    assert (done.status, len(done.warnings)) == (0, 1)
    assert (step.workspace / "taken").read_text() == "mine"
    assert len(pull_request.state.bodies()) == 1


def test_an_input_is_never_overwritten(step: Stage, pull_request: GitHub) -> None:
    folder = step.workspace / "rollout-compare-report"
    folder.mkdir()
    (step.workspace / "old.jsonl").rename(folder / "summary.json")
    before = (folder / "summary.json").read_bytes()
    done = step(pull_request, old="rollout-compare-report/summary.json")
    assert (folder / "summary.json").read_bytes() == before
    assert (done.status, len(done.warnings)) == (0, 1)


def test_a_report_replaces_the_one_of_an_earlier_step_and_leaves_nothing_else(
    step: Stage, pull_request: GitHub
) -> None:
    step(pull_request)
    step.write([row("z", 1.0)], [row("z", 1.0)])
    done = step(pull_request, run_id=101)
    assert done.json["counts"]["tasks"] == 1
    assert sorted(path.name for path in done.folder.iterdir()) == sorted(REPORT_FILES)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_files_belong_to_whom_the_workspace_belongs_to(step: Stage, pull_request: GitHub) -> None:
    os.chown(step.workspace, 1001, 1002)
    step(pull_request, report_dir="out/reports")
    made = [step.workspace / "out", *sorted((step.workspace / "out").rglob("*"))]
    assert len(made) == 5
    assert {(path.stat().st_uid, path.stat().st_gid) for path in made} == {(1001, 1002)}


def test_long_messages_stay_within_an_annotation(step: Stage, github: GitHub) -> None:
    done = step(github, old="x" * 50_000)
    assert len(done.error) <= 4_096
    done = step(github, old="\n".join(f"absent-{number}" for number in range(5_000)))
    assert len(done.error) <= 4_096


def test_no_more_annotations_are_made_than_are_shown(step: Stage, github: GitHub) -> None:
    from tests.stand_in.payloads import payload, with_head

    for number in range(1, 15):
        github.state.add_pull_request(number, head_sha="6" * 40, locked=True)
    about = with_head(payload("push"), "6" * 40)
    done = step(github, event="push", about=about, environment={"GITHUB_REF": "refs/heads/feature"})
    assert (done.status, len(github.calls("POST", "*/comments"))) == (0, 14)
    assert len(done.warnings) == 10
