"""Where the step writes and reads: whatever a checkout put in the way, nothing outside is touched."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.github import rendered
from tests.integration.action.conftest import REPORT_FILES, REPORT_FOLDER, Stage, Step, row
from tests.stand_in import GitHub

SUMMARY_LIMIT = 1_048_576
"""Bytes of a job summary; the runner drops a larger one as a whole."""
MARGIN = 4_096
"""Bytes of it that stay free."""
MINE = b"what was here before\n"


def is_whole(done: Step) -> bool:
    """Whether all report files are there, and really lie where they seem to."""
    files = [done.folder / name for name in REPORT_FILES]
    return all(file.is_file() and not file.is_symlink() and file.stat().st_size for file in files)


@pytest.fixture
def outside(step: Stage) -> Path:
    """A folder outside of the workspace, with a file."""
    folder = step.runner.parent / "outside"
    folder.mkdir()
    (folder / "file").write_bytes(MINE)
    return folder


def check_outside(outside: Path) -> None:
    assert [path.name for path in outside.iterdir()] == ["file"]
    assert (outside / "file").read_bytes() == MINE


LINKS: dict[str, Callable[[Path], str]] = {
    "a file outside": lambda outside: str(outside / "file"),
    "nothing outside": lambda outside: str(outside / "absent"),
    "a folder outside": str,
    "standard output": lambda _: "/dev/stdout",
    "standard error": lambda _: "/proc/self/fd/2",
    "a device": lambda _: "/dev/full",
    "itself": lambda _: "summary.json",
    "an input": lambda _: "../old.jsonl",
}


@pytest.mark.parametrize("name", REPORT_FILES)
@pytest.mark.parametrize("target", LINKS.values(), ids=LINKS.keys())
def test_a_link_in_place_of_a_report_file_is_not_followed(
    step: Stage, pull_request: GitHub, outside: Path, name: str, target: Callable[[Path], str]
) -> None:
    old = (step.workspace / "old.jsonl").read_bytes()
    folder = step.workspace / REPORT_FOLDER
    folder.mkdir()
    (folder / name).symlink_to(target(outside))
    done = step(pull_request)
    check_outside(outside)
    assert (done.status, [each.level for each in done.annotations]) == (0, ["notice"])
    assert is_whole(done)
    assert sorted(path.name for path in folder.iterdir()) == sorted(REPORT_FILES)
    assert (step.workspace / "old.jsonl").read_bytes() == old


@pytest.mark.parametrize("name", REPORT_FILES)
def test_a_second_name_of_a_file_outside_is_not_written_to(
    step: Stage, pull_request: GitHub, outside: Path, name: str
) -> None:
    (step.workspace / REPORT_FOLDER).mkdir()
    os.link(outside / "file", step.workspace / REPORT_FOLDER / name)
    done = step(pull_request)
    check_outside(outside)
    assert (done.status, done.warnings) == (0, [])
    assert is_whole(done)


@pytest.mark.parametrize("name", REPORT_FILES)
@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir], ids=["a pipe", "a folder"])
def test_where_no_file_can_be_is_a_warning(
    step: Stage, pull_request: GitHub, name: str, make: Callable[[Path], None]
) -> None:
    folder = step.workspace / REPORT_FOLDER
    folder.mkdir()
    make(folder / name)
    kind = (folder / name).stat().st_mode
    done = step(pull_request)
    [warning] = done.warnings
    assert name in warning
    assert (done.status, done.outputs["report-dir"], done.outputs["summary-path"]) == (0, "", "")
    assert done.outputs["tasks"] == "2"
    assert (folder / name).stat().st_mode == kind
    assert not [path for path in folder.iterdir() if path.name.endswith(".part")]
    assert len(pull_request.state.bodies()) == 1


@pytest.mark.parametrize("target", ["OUTSIDE", "OUTSIDE/absent", "absent", "OUTSIDE/file", "/dev/stdout", "."])
def test_a_link_in_place_of_the_folder_is_not_followed_out(
    step: Stage, pull_request: GitHub, outside: Path, target: str
) -> None:
    (step.workspace / REPORT_FOLDER).symlink_to(target.replace("OUTSIDE", str(outside)))
    done = step(pull_request)
    check_outside(outside)
    assert (done.status, len(done.warnings), done.outputs["report-dir"]) == (0, 1, "")
    assert not [path for path in step.workspace.iterdir() if path.name in REPORT_FILES]


@pytest.mark.parametrize("folder", [".", "./", "./.", "out/..", "/github/workspace", "/github/workspace/", "WORKSPACE"])
def test_the_workspace_itself_is_refused_and_what_is_in_it_stays(
    step: Stage, pull_request: GitHub, folder: str
) -> None:
    for name in REPORT_FILES:
        (step.workspace / name).write_bytes(MINE)
    done = step(pull_request, report_dir=folder.replace("WORKSPACE", str(step.workspace)))
    [warning] = done.warnings
    assert "workspace" in warning
    assert (done.status, done.outputs["report-dir"]) == (0, "")
    assert all((step.workspace / name).read_bytes() == MINE for name in REPORT_FILES)
    assert len(pull_request.state.bodies()) == 1


def test_a_template_that_is_asked_for_is_no_place_to_write(step: Stage, pull_request: GitHub) -> None:
    folder = step.workspace / REPORT_FOLDER
    folder.mkdir()
    source = '{% extends "report.md.j2" %}{% block title %}### Our own title{% endblock %}'
    (folder / "own.md.j2").write_text(source)
    done = step(pull_request, template=f"{REPORT_FOLDER}/own.md.j2")
    assert "### Our own title" in done.text("report.md")
    assert (folder / "own.md.j2").read_text() == source


# The job summary


@pytest.mark.parametrize("room", [0, 1, 500, 2_001])
@pytest.mark.parametrize("margin", [0, MARGIN], ids=["to the limit", "to where we stop"])
def test_a_job_summary_that_is_nearly_full_gets_a_small_report_or_one_warning(
    step: Stage, pull_request: GitHub, room: int, margin: int
) -> None:
    many = [f"task-{number:03}" for number in range(60)]
    step.write([row(task, 1.0) for task in many], [row(task, 0.0) for task in many])
    path = step.runner / "summary"
    taken = SUMMARY_LIMIT - margin - room
    path.write_bytes(b"x" * (taken - 1) + b"\n")
    done = step(pull_request, environment={"GITHUB_STEP_SUMMARY": str(path)})
    added = done.summary[taken:]
    if margin and room > 2_000:
        assert (len(added.encode()) <= room, done.warnings) == (True, [])
        assert "60" in rendered(added).text
    else:
        [warning] = done.warnings
        assert "job summary" in warning
        assert added == ""
    assert done.status == 0
    assert (done.outputs["tasks"], done.outputs["flipped"], done.outputs["changed"]) == ("60", "60", "true")
    assert len(pull_request.state.bodies()) == 1
    assert is_whole(done)


@pytest.mark.parametrize("room", [0, 1, 500])
def test_a_job_summary_without_room_for_a_failure_is_one_warning(step: Stage, pull_request: GitHub, room: int) -> None:
    path = step.runner / "summary"
    taken = SUMMARY_LIMIT - room
    path.write_bytes(b"x" * (taken - 1) + b"\n")
    done = step(pull_request, old="absent.jsonl", environment={"GITHUB_STEP_SUMMARY": str(path)})
    assert (done.status, len(done.warnings)) == (1, 1)
    assert "absent.jsonl" in done.error
    assert path.stat().st_size == taken


# Templates

FIRST_LINE = "the first line of a file outside"


def given(outside: Path, how: str, workspace: Path) -> str:
    """The input by which a template outside is asked for."""
    (outside / "file").write_text(f"{FIRST_LINE} {{{{ marker }}}}\n")
    if how == "a link":
        (workspace / "own.md.j2").symlink_to(outside / "file")
        return "own.md.j2"
    if how == "a linked folder":
        (workspace / "templates").symlink_to(outside)
        return "templates/file"
    if how == "a link to a link":
        (workspace / "first").symlink_to(outside)
        (workspace / "own.md.j2").symlink_to("first/file")
        return "own.md.j2"
    return {"a path": str(outside / "file"), "a path upwards": "../outside/file", "a device": "/dev/stdin"}[how]


@pytest.mark.parametrize(
    "how", ["a path", "a path upwards", "a link", "a linked folder", "a link to a link", "a device"]
)
def test_a_template_outside_of_the_workspace_is_refused(
    step: Stage, pull_request: GitHub, outside: Path, how: str
) -> None:
    done = step(pull_request, template=given(outside, how, step.workspace))
    assert done.status == 2
    assert "`template`" in done.error
    assert FIRST_LINE not in done.told
    assert pull_request.requests == []
    assert not done.folder.exists()


def test_a_link_to_a_template_in_the_workspace_is_followed(step: Stage, pull_request: GitHub) -> None:
    (step.workspace / "templates").mkdir()
    source = '{% extends "report.md.j2" %}{% block title %}### Our own title{% endblock %}'
    (step.workspace / "templates" / "real.md.j2").write_text(source)
    (step.workspace / "own.md.j2").symlink_to("templates/real.md.j2")
    assert "### Our own title" in step(pull_request, template="own.md.j2").text("report.md")
