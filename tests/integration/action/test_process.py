"""The command of the Action as a process: cancelled, in other locales, without a network, with large inputs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest

from rollout_compare.github import action
from tests.github import rendered
from tests.integration.action.conftest import COMMENTS, REPORT_FILES, Clock, Stage, Step, pull_request_event, row
from tests.stand_in import INSTALLATION, GitHub, hook

ENTRY = Path(sys.executable).parent / "rollout-compare-action"
STARTING = Path(__file__).parent / "starting.py"
PLAIN = {"PATH": os.environ["PATH"], "LANG": "C"}


def start(stage: Stage, variables: Mapping[str, str], *command: object) -> subprocess.Popen[bytes]:
    """Start the Action outside of its workspace, which its environment names."""
    places = {"GITHUB_WORKSPACE": str(stage.workspace)}
    return subprocess.Popen(
        list(map(str, command or (ENTRY,))),
        env=PLAIN | dict(variables) | places,
        cwd=stage.runner,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def run(stage: Stage, variables: Mapping[str, str], *command: object) -> tuple[Step, str]:
    """The finished step, and what stands on standard error."""
    with start(stage, variables, *command) as process:
        out, err = process.communicate(timeout=60)
    return stage.finished(process.returncode, out.decode("utf-8"), variables, Clock()), err.decode("utf-8")


def test_the_command_comments_from_the_workspace(step: Stage, pull_request: GitHub) -> None:
    done, err = run(step, step.variables(pull_request))
    assert (done.status, err, done.warnings) == (0, "", [])
    assert len(pull_request.state.bodies()) == 1
    assert all((done.folder / name).is_file() for name in REPORT_FILES)


def test_the_command_fails_for_an_unreadable_input(step: Stage, pull_request: GitHub) -> None:
    done, err = run(step, step.variables(pull_request, old="absent.jsonl", comment="off"))
    assert (done.status, err) == (1, "")
    assert "absent.jsonl" in done.error


def test_the_command_is_misused_without_inputs(step: Stage) -> None:
    done, err = run(step, {})
    assert (done.status, err) == (2, "")
    assert "`old`" in done.error


def test_an_event_with_emoji_is_read_in_a_plain_locale(step: Stage, pull_request: GitHub) -> None:
    about = pull_request_event()
    about["pull_request"]["title"] = about["pull_request"]["head"]["label"] = "🎉 fête — 試験"
    step.write([row("試験 🎉", 1.0)], [row("試験 🎉", 0.0)])
    variables = step.variables(pull_request, about=about, title="fête 🎉")
    done, err = run(step, variables | {"LC_ALL": "C"})
    assert (done.status, err, done.warnings) == (0, "", [])
    assert "試験 🎉" in pull_request.state.bodies()[0]
    assert "fête 🎉" in done.summary


def test_reports_do_not_depend_on_locale_time_zone_or_hash_seed(step: Stage, pull_request: GitHub) -> None:
    tasks = [f"task {number} é🎉" for number in range(60)]
    step.write(
        [row(task, number % 2, taskset=f"s{number % 7}", model="m") for number, task in enumerate(tasks)],
        [row(task, number % 3, taskset=f"s{number % 7}", model="n") for number, task in enumerate(tasks)],
    )
    found = []
    for seed, zone, locale in (("0", "UTC", "C"), ("4711", "Asia/Tokyo", "C.UTF-8")):
        variables = step.variables(pull_request, comment="off")
        done, _ = run(step, variables | {"PYTHONHASHSEED": seed, "TZ": zone, "LC_ALL": locale})
        found.append([(done.folder / name).read_bytes() for name in REPORT_FILES] + [done.summary.encode()])
        assert done.status == 0
    assert found[0] == found[1]


def test_without_a_comment_nothing_of_github_is_imported(step: Stage, pull_request: GitHub) -> None:
    command = (sys.executable, STARTING, "--watch", "github", "requests")
    _, err = run(step, step.variables(pull_request, comment="off"), *command)
    assert err == "github False\nrequests False\n"


def test_detailed_logs_of_the_libraries_are_not_printed(step: Stage, pull_request: GitHub) -> None:
    _, err = run(step, step.variables(pull_request, title="::error::x"), sys.executable, STARTING, "--log")
    assert err == ""


def test_detailed_logs_that_somebody_prints_do_not_hold_the_token(step: Stage, pull_request: GitHub) -> None:
    _, err = run(step, step.variables(pull_request), sys.executable, STARTING, "--print")
    assert INSTALLATION not in err
    assert "DEBUG:starting:logs are printed" in err


def test_without_a_network_the_report_is_whole(step: Stage, pull_request: GitHub) -> None:
    variables = step.variables(pull_request)
    pull_request.refuse_connections()
    done, err = run(step, variables, sys.executable, STARTING)
    assert (done.status, err, len(done.warnings)) == (0, "", 1)
    assert done.outputs["flipped"] == "1"
    assert "Rollout comparison" in done.summary


@pytest.mark.parametrize("place", ["while it is posted", "while it waits for the answer to its first question"])
def test_a_cancelled_job_ends_at_once_and_leaves_whole_files(step: Stage, pull_request: GitHub, place: str) -> None:
    path = COMMENTS if place == "while it is posted" else "/graphql"
    reached, over = threading.Event(), threading.Event()

    def hold(*_: object) -> None:
        reached.set()
        over.wait(20)

    pull_request.fault("POST", path, hook(hold))
    with start(step, step.variables(pull_request)) as process:
        assert reached.wait(20)
        process.send_signal(signal.SIGTERM)
        try:
            out, err = process.communicate(timeout=10)
        finally:
            over.set()
            process.kill()
    assert process.returncode == 143
    assert (b"::error" in out, err) == (False, b"")
    folder = step.workspace / "rollout-compare-report"
    assert sorted(path.name for path in folder.iterdir()) == sorted(REPORT_FILES)
    assert json.loads((folder / "summary.json").read_bytes())["counts"]["tasks"] == 2


def test_a_closed_output_stream_does_not_keep_the_report_away(step: Stage, pull_request: GitHub) -> None:
    with start(step, step.variables(pull_request)) as process:
        assert process.stdout is not None
        process.stdout.close()
        process.stdout = None
        process.communicate(timeout=60)
    assert len(pull_request.state.bodies()) == 1


@pytest.mark.parametrize("variables", [{"HOME": ""}, {"HOME": "/nonexistent"}, {"USER": "", "TMPDIR": "/nonexistent"}])
def test_neither_a_home_nor_a_folder_for_temporary_files_is_needed(
    step: Stage, pull_request: GitHub, variables: dict[str, str]
) -> None:
    done, err = run(step, step.variables(pull_request) | variables)
    assert (done.status, err, done.warnings, len(pull_request.state.bodies())) == (0, "", [], 1)


def test_a_workspace_that_is_not_there_is_told(step: Stage, pull_request: GitHub) -> None:
    variables = step.variables(pull_request, comment="off")
    process = subprocess.run(
        [ENTRY], env=PLAIN | variables | {"GITHUB_WORKSPACE": "/nonexistent"}, cwd="/", capture_output=True, check=False
    )
    done = step.finished(process.returncode, process.stdout.decode(), variables, Clock())
    assert (done.status, process.stderr) == (1, b"")


def test_thousands_of_flips_with_large_logs_fit_every_limit(step: Stage, pull_request: GitHub) -> None:
    step.rollouts.write("out/test-stdout.txt", [f"{number:07} " + "🎉" * 60 for number in range(4_200)])
    assert (step.workspace / "out/test-stdout.txt").stat().st_size > 1_000_000
    tasks = [f"試験-{number:04}" for number in range(5_000)]
    logs = [{"verifier_logs_dir": "out"} if number % 25 == 0 else {} for number in range(len(tasks))]
    step.write([row(t, 1) for t in tasks], [row(t, 0, **log) for t, log in zip(tasks, logs, strict=True)])
    variables = step.variables(pull_request)
    with start(step, variables) as process:
        assert process.stdout is not None
        out = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    done = step.finished(process.returncode, out.decode(), variables, Clock())
    [body] = pull_request.state.bodies()
    assert (done.status, done.warnings) == (0, [])
    assert len(body) <= 65_000
    assert len(done.summary.encode()) <= 1_000_000
    assert len(json.loads(done.text("summary.json"))["tasks"]) == 5_000
    assert used.ru_maxrss * 1_024 < 300_000_000
    for markdown in (body, done.summary):
        assert markdown.split("\n")[0] == "<!-- rollout-compare:default -->"
        assert "\N{REPLACEMENT CHARACTER}" not in markdown
        assert markdown.count("<details") == markdown.count("</details>")
    document = rendered(body)
    assert len(document.all("details")) == body.count("<details")
    assert len(document.all("pre")) >= 1
    assert "more in the job summary" in document.text
    assert document.text.rstrip().splitlines()[-1].startswith("rollout-compare ")


def test_a_fault_of_our_own_is_one_error_without_its_text(
    step: Stage, pull_request: GitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise KeyError("::error::what a row says")

    monkeypatch.setattr(action, "markdown_report", fail)
    done = step(pull_request)
    assert done.status == 1
    assert "KeyError at " in done.error
    assert "what a row says" not in done.told
