"""The image: what is in it, the command line in it, and the Action in it as GitHub's runner starts it."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import select
import shutil
import subprocess
import threading
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from rollout_compare.version import VERSION
from tests.container.conftest import BASE, CASE, Podman, Runner, action_entrypoint
from tests.integration.action.conftest import COMMENTS, REPORT_FILES, REPORT_FOLDER
from tests.places import BIN, ROOT
from tests.stand_in import GitHub, hook
from tests.stand_in.artifacts import Artifacts

pytestmark = pytest.mark.e2e

COMMAND = "/opt/venv/bin/rollout-compare"
PYTHON = "/opt/venv/bin/python"
REPORTS = ("--json", "summary.json", "--markdown", "report.md", "--html", "report.html")
OWNER = 1001
"""Whom a workspace belongs to on GitHub's own machines."""
TERMINATED = 143
SOON = 10
"""Seconds in which a cancelled container has to end; an ignored signal would take far longer."""


@pytest.fixture(scope="module")
def inside(podman: Podman, image: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the image adds to its base, copied out of it."""
    folder = tmp_path_factory.mktemp("image")
    container = podman.text("create", "--label", podman.label, image)
    podman("cp", f"{container}:/opt/venv", folder)
    podman("rm", container)
    return folder / "venv"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A folder with two rollout files and their logs."""
    return Path(shutil.copytree(CASE, tmp_path / "work"))


@pytest.fixture
def outside(work: Path, tmp_path: Path) -> Path:
    """The reports that the command line makes of the same files without a container."""
    folder = tmp_path / "outside"
    folder.mkdir()
    written = [word if word.startswith("--") else str(folder / word) for word in REPORTS]
    command = [str(BIN / "rollout-compare"), "old.jsonl", "new.jsonl", *written]
    printed = subprocess.run(command, cwd=work, capture_output=True, check=True, timeout=60).stdout
    (folder / "printed").write_bytes(printed)
    return folder


def mounted(folder: Path, options: str = "") -> list[str]:
    return ["-v", f"{folder}:/work{options}", "-w", "/work"]


def owners(folder: Path) -> set[tuple[int, int]]:
    """Whom a folder and all in it belong to."""
    return {(path.stat().st_uid, path.stat().st_gid) for path in (folder, *folder.rglob("*"))}


def give(folder: Path, owner: int) -> None:
    for path in (folder, *folder.rglob("*")):
        os.chown(path, owner, owner)


def test_it_is_at_most_60_megabytes_larger_than_its_base(podman: Podman, image: str) -> None:
    whole, base = (int(podman.text("image", "inspect", "--format", "{{.Size}}", name)) for name in (image, BASE))
    assert 0 < whole - base <= 60_000_000


def test_it_adds_one_folder_to_its_base(podman: Podman, image: str) -> None:
    changes = json.loads(podman.text("diff", "--format", "json", image, BASE))
    assert changes.get("deleted") in (None, [])
    assert changes["changed"] == ["/opt"]
    assert [path for path in changes["added"] if not path.startswith("/opt/venv")] == []


def test_no_installer_compiler_or_cache_is_left_in_it(inside: Path) -> None:
    names = {path.name for path in inside.rglob("*")}
    assert "rollout_compare" in names
    unwanted = re.compile(
        r"(pip|wheel|setuptools|hatchling|uv)(-.*|[0-9.]*)?|(gcc|cc|c\+\+|ld|make)|.*\.(whl|tar\.gz|o|a)|\.cache"
    )
    assert sorted(name for name in names if unwanted.fullmatch(name)) == []


def test_every_module_is_compiled_and_compared_with_no_source_when_it_is_loaded(inside: Path) -> None:
    sources = [path for path in inside.rglob("*.py") if "site-packages" in path.parts]
    assert len(sources) > 100
    for source in sources:
        [compiled] = source.parent.glob(f"__pycache__/{source.stem}.cpython-*.pyc")
        # A hash of the source instead of its time, and the bit that asks for a check is not set (PEP 552).
        assert compiled.read_bytes()[4:8] == b"\x01\x00\x00\x00", compiled


def test_a_start_reads_what_is_compiled_alone(podman: Podman, image: str) -> None:
    imports = "import rollout_compare.cli, rollout_compare.command, rollout_compare.github.action"
    said = podman.run("--entrypoint", PYTHON, image, "-I", "-v", "-c", imports).stderr.decode()
    loaded = re.findall(r"^# code object from '?(/opt/venv/[^'\n]+)", said, re.MULTILINE)
    assert len(loaded) > 50
    assert [path for path in loaded if not path.endswith(".pyc")] == []


def test_its_labels_say_what_it_is(podman: Podman, image: str) -> None:
    labels = json.loads(podman.text("image", "inspect", "--format", "{{json .Config.Labels}}", image))
    named = {name.removeprefix("org.opencontainers.image."): value for name, value in labels.items()}
    assert named["title"] == "rollout-compare"
    assert named["licenses"] == "Apache-2.0"
    assert len(named["description"]) > 20


def test_both_commands_are_started_by_absolute_paths(podman: Podman, image: str) -> None:
    [entrypoint] = json.loads(podman.text("image", "inspect", "--format", "{{json .Config.Entrypoint}}", image))
    assert (entrypoint, action_entrypoint()) == (COMMAND, f"{COMMAND}-action")
    nowhere = ("--network", "none", "-e", "PATH=/nonexistent")
    done = podman.run(*nowhere, image, "--version")
    assert (done.returncode, done.stdout.decode()) == (0, f"rollout-compare {VERSION}\n")
    done = podman.run(*nowhere, "--entrypoint", action_entrypoint(), image)
    assert (done.returncode, done.stdout.startswith(b"::error title=rollout-compare::input `old`")) == (2, True)


def test_the_reports_are_byte_for_byte_those_made_outside(
    podman: Podman, image: str, work: Path, outside: Path
) -> None:
    done = podman.run(*mounted(work), image, "old.jsonl", "new.jsonl", *REPORTS)
    assert (done.returncode, done.stdout) == (0, (outside / "printed").read_bytes())
    for name in REPORT_FILES:
        assert (work / name).read_bytes() == (outside / name).read_bytes()


@pytest.mark.parametrize("form", ["text", "markdown", "json"])
def test_it_works_for_any_user_without_network_home_or_a_place_to_write(
    podman: Podman, image: str, work: Path, outside: Path, form: str
) -> None:
    locked = ("--network", "none", "--read-only", "--read-only-tmpfs=false", "--user", "1001:1001", "--cap-drop", "all")
    homeless = ("--entrypoint", "/usr/bin/env")
    command = ("-u", "HOME", COMMAND, "old.jsonl", "new.jsonl", "--format", form)
    done = podman.run(*locked, *homeless, *mounted(work, ":ro"), image, *command)
    expected = {"text": "printed", "markdown": "report.md", "json": "summary.json"}[form]
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == (outside / expected).read_bytes()


def test_a_user_writes_reports_into_a_folder_of_their_own(
    podman: Podman, image: str, work: Path, outside: Path
) -> None:
    give(work, OWNER)
    locked = ("--network", "none", "--read-only", "--user", f"{OWNER}:{OWNER}")
    done = podman.run(*locked, *mounted(work), image, "old.jsonl", "new.jsonl", *REPORTS)
    assert done.returncode == 0, done.stderr
    assert (work / "report.html").read_bytes() == (outside / "report.html").read_bytes()
    assert owners(work) == {(OWNER, OWNER)}


def test_the_line_in_the_readme_works_as_it_stands(podman: Podman, image: str, work: Path, outside: Path) -> None:
    lines = re.findall(
        r"^ *(docker run .+?)(?: +#.*)?$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    commands = [re.sub(r"(?<= )\S*(?:IMAGE|rollout-compare)\S*(?= )", image, line) for line in lines]
    assert len(commands) == 1
    # Podman takes Docker's command line.
    programs = work.parent / "programs"
    programs.mkdir()
    (programs / "docker").symlink_to(shutil.which("podman") or "podman")
    path = {"PATH": f"{programs}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["/bin/sh", "-c", commands[0]],
        cwd=work,
        env=podman.environment | path,
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr, done.stdout) == (0, b"", (outside / "printed").read_bytes())


def test_a_terminated_comparison_ends_at_once_and_leaves_no_file(podman: Podman, image: str, work: Path) -> None:
    os.mkfifo(work / "slow.jsonl")
    before = sorted(path.name for path in work.iterdir())
    pipe = os.open(work / "slow.jsonl", os.O_RDWR | os.O_NONBLOCK)
    try:
        rows = (work / "old.jsonl").read_bytes()
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(pipe, rows)
        with podman.started(*mounted(work), image, "slow.jsonl", "new.jsonl", *REPORTS) as (process, name):
            poll = select.poll()
            poll.register(pipe, select.POLLOUT)
            assert poll.poll(SOON * 3_000), "the pipe is read"
            assert [path.suffix for path in work.glob(".*")] == [".part"] * len(REPORT_FILES)
            podman("kill", "--signal", "TERM", name)
            process.communicate(timeout=SOON)
    finally:
        os.close(pipe)
    assert process.returncode == TERMINATED
    assert sorted(path.name for path in work.iterdir()) == before


def test_the_action_comments_uploads_summarizes_and_sets_outputs(
    runner: Runner, pull_request: GitHub, artifacts: Artifacts
) -> None:
    done = runner(pull_request, artifacts, title="in a container")
    assert (done.status, done.warnings) == (0, [])
    counts = ("tasks", "identical", "flipped", "flipped-old-win", "flipped-new-win", "masked", "missing")
    assert [done.outputs[name] for name in counts] == ["5", "1", "3", "2", "1", "1", "0"]
    assert (done.outputs["changed"], done.outputs["verdict"]) == ("true", "too_little")
    paths = [done.outputs[name] for name in ("summary-path", "markdown-path", "html-path")]
    assert paths == [f"{REPORT_FOLDER}/{name}" for name in REPORT_FILES]
    assert all((runner.workspace / path).is_file() for path in paths)
    [comment] = pull_request.state.comments_of(1)
    assert done.outputs["comment-id"] == str(comment.id)
    assert sorted(artifacts.finished) == ["rollout-compare", "rollout-compare.html"]
    whole, page = artifacts.finished["rollout-compare"], artifacts.finished["rollout-compare.html"]
    assert done.outputs["artifact-digest"] == whole.digest
    assert page.content == (done.folder / "report.html").read_bytes()
    with zipfile.ZipFile(io.BytesIO(whole.content or b"")) as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == {
            name: (done.folder / name).read_bytes() for name in REPORT_FILES
        }
    for shown in (comment.body, done.summary):
        assert "in a container" in shown
        assert "FAILED tests/test_outputs.py::test_layout_file" in shown, "the log of a flip"
        assert f"]({done.outputs['artifact-url']})" in shown


def test_only_an_unreadable_input_makes_the_step_red(runner: Runner, pull_request: GitHub) -> None:
    done = runner(pull_request, old="absent.jsonl")
    assert (done.status, done.outputs) == (1, {})
    assert done.error.startswith("absent.jsonl: ")
    assert "not compared" in done.summary.lower()
    assert not done.folder.exists()


def test_a_path_outside_of_every_mount_is_told_with_what_can_be_seen(runner: Runner) -> None:
    done = runner(old="/home/runner/elsewhere/old.jsonl", comment="off")
    assert done.status == 1
    assert "/home/runner/elsewhere/old.jsonl" in done.error
    assert "new.jsonl" in done.error


def test_what_the_action_makes_belongs_to_the_owner_of_the_workspace(runner: Runner, pull_request: GitHub) -> None:
    give(runner.workspace, OWNER)
    done = runner(pull_request, report_dir="some/where")
    assert (done.status, done.warnings) == (0, [])
    assert sorted(path.name for path in (runner.workspace / "some" / "where").iterdir()) == sorted(REPORT_FILES)
    assert owners(runner.workspace) == {(OWNER, OWNER)}


def test_the_action_writes_what_the_command_line_writes(runner: Runner, outside: Path) -> None:
    done = runner(event="", run_id=0, attempt=0, comment="off", environment={"GITHUB_REPOSITORY": "", "GITHUB_SHA": ""})
    assert done.status == 0
    for name in REPORT_FILES:
        assert (done.folder / name).read_bytes() == (outside / name).read_bytes()


def test_in_a_run_of_github_summary_and_page_are_those_of_the_command_line(
    runner: Runner, pull_request: GitHub, outside: Path
) -> None:
    done = runner(pull_request)
    for name in ("summary.json", "report.html"):
        assert (done.folder / name).read_bytes() == (outside / name).read_bytes()


@pytest.fixture
def traps(runner: Runner) -> Iterator[dict[str, str]]:
    """Variables of an earlier step that lead to code in the workspace, which must never run."""
    sprung = runner.workspace / "sprung"
    code = f"open({'/github/workspace/sprung'!r}, 'a').write(__file__)\nraise SystemExit(99)\n"
    for name in ("json", "signal", "sitecustomize", "usercustomize", "rollout_compare", "requests", "start"):
        (runner.workspace / f"{name}.py").write_text(code, encoding="utf-8")
    yield {
        "PYTHONPATH": "/github/workspace",
        "PYTHONHOME": "/github/workspace",
        "PYTHONSTARTUP": "/github/workspace/start.py",
        "PYTHONINSPECT": "1",
        "PYTHONUSERBASE": "/github/workspace",
        "PYTHONWARNINGS": "error",
        "PYTHONIOENCODING": "ascii",
        "PYTHONSAFEPATH": "",
        "PATH": "/github/workspace",
        "LC_ALL": "C",
    }
    assert not sprung.exists()


def test_the_action_runs_no_code_of_the_workspace(
    runner: Runner, traps: dict[str, str], pull_request: GitHub, artifacts: Artifacts, outside: Path
) -> None:
    done = runner(pull_request, artifacts, environment=traps)
    assert (done.status, done.warnings) == (0, [])
    assert len(pull_request.state.comments_of(1)) == 1
    for name in ("summary.json", "report.html"):
        assert (done.folder / name).read_bytes() == (outside / name).read_bytes()


def test_the_command_line_runs_no_code_of_the_working_directory(
    podman: Podman, image: str, runner: Runner, traps: dict[str, str], outside: Path
) -> None:
    variables = [word for name, value in traps.items() for word in ("-e", f"{name}={value}")]
    place = ("-v", f"{runner.workspace}:/github/workspace", "-w", "/github/workspace")
    done = podman.run(*variables, *place, image, "old.jsonl", "new.jsonl")
    assert (done.returncode, done.stderr, done.stdout) == (0, b"", (outside / "printed").read_bytes())


def test_a_cancelled_step_ends_at_once_and_leaves_whole_files(
    podman: Podman, runner: Runner, pull_request: GitHub
) -> None:
    reached, over = threading.Event(), threading.Event()

    def hold(*_: object) -> None:
        reached.set()
        over.wait(SOON * 3)

    pull_request.fault("POST", COMMENTS, hook(hold))
    variables = runner.variables(pull_request)
    with podman.started(*runner.arguments(variables)) as (process, name):
        try:
            assert reached.wait(SOON * 3)
            begin = time.monotonic()
            podman("stop", "--time", SOON * 3, name)
            out, err = process.communicate(timeout=SOON * 3)
            took = time.monotonic() - begin
        finally:
            over.set()
    assert (process.returncode, err, b"::error" in out) == (TERMINATED, b"", False)
    assert took < SOON, "otherwise it was killed, not stopped"
    folder = runner.workspace / REPORT_FOLDER
    assert sorted(path.name for path in folder.iterdir()) == sorted(REPORT_FILES)
    assert json.loads((folder / "summary.json").read_bytes())["counts"]["tasks"] == 5
