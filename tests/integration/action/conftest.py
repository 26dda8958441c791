"""The Action as a runner runs it: inputs, an event and a token in, commands, outputs and files out.

Every run is held against what a runner makes of it: standard output is nothing but our own commands, a red step has
exactly one error, a green one none, and nobody really sleeps.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rollout_compare.github.action import main
from tests.conftest import Rollouts, Row
from tests.stand_in import INSTALLATION, REPOSITORY, GitHub
from tests.stand_in.payloads import Payload, payload, with_head, with_number

if TYPE_CHECKING:
    from tests.integration.action.recorded import Recorded

INPUTS = (
    *("old", "new", "key", "tail", "logs-root", "old-logs-root", "new-logs-root", "verifier-fields", "count-as-zero"),
    *("margin", "redact", "title", "comment", "comment-id", "pr-number", "github-token", "job-summary", "report-dir"),
    *("template", "upload-artifact", "artifact-name", "retention-days", "old-artifact", "new-artifact", "old-run-id"),
    *("old-branch", "old-workflow", "baseline-max-age", "format", "reward"),
)
REPORT_FILES = ("summary.json", "report.md", "report.html")
REPORT_FOLDER = "rollout-compare-report"
HEAD = f"{1:040x}"
"""The head of pull request 1, in the stand-in and in the event."""
RUNNER_WORK = "/home/runner/work"
"""Where a runner of GitHub has its checkouts."""
MERGE_COMMIT = "e" * 40
START = 1_767_571_200.0
"""Midnight of 5 January 2026 (UTC), an hour before the stand-in's limits are reset."""
COMMENTS = f"/repos/{REPOSITORY}/issues/1/comments"
ONE_COMMENT = f"/repos/{REPOSITORY}/issues/comments/*"
GRAPHQL = "/graphql"

_COMMAND = re.compile(r"::(notice|warning|error) title=rollout-compare::(.*)")


class Clock:
    """A clock that moves only when somebody sleeps, or when it is told to."""

    def __init__(self) -> None:
        self.passed = 0.0
        self.slept: list[float] = []

    def now(self) -> float:
        return self.passed

    def wall(self) -> float:
        return START + self.passed

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.passed += seconds


@dataclass(frozen=True)
class Annotation:
    """A message on the page of the run."""

    level: str
    message: str


@dataclass(frozen=True)
class Step:
    """A finished step, and what the runner knows of it."""

    status: int
    out: str
    annotations: list[Annotation]
    outputs: dict[str, str]
    summary: str
    folder: Path
    clock: Clock

    def messages(self, level: str) -> list[str]:
        return [annotation.message for annotation in self.annotations if annotation.level == level]

    @property
    def warnings(self) -> list[str]:
        return self.messages("warning")

    @property
    def notices(self) -> list[str]:
        return self.messages("notice")

    @property
    def error(self) -> str:
        """The one error of a red step."""
        [message] = self.messages("error")
        return message

    def text(self, name: str) -> str:
        """A report file."""
        return (self.folder / name).read_text(encoding="utf-8")

    @property
    def json(self) -> dict[str, Any]:
        read: dict[str, Any] = json.loads(self.text("summary.json"))
        return read

    @property
    def told(self) -> str:
        """Everything that left the step by way of the runner or its files."""
        files = [path.read_text(encoding="utf-8") for path in sorted(self.folder.rglob("*")) if path.is_file()]
        return "\n".join([self.out, self.summary, *self.outputs.values(), *files])


def parsed_commands(out: str) -> list[Annotation]:
    """The annotations of a step; anything else on standard output fails the test.

    The runner ends lines at CR, LF and CRLF, takes the data of a command up to the end of the line, and unescapes it.
    """
    *lines, rest = re.split(r"\r\n|\r|\n", out)
    assert rest == "", "the last line has no end"
    annotations = []
    for line in lines:
        command = _COMMAND.fullmatch(line)
        assert command is not None, f"not a command of ours: {line!r}"
        assert len(command[2]) <= 4_096 * 3, "the runner cuts messages at 4,096 characters"
        message = command[2].replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%")
        annotations.append(Annotation(command[1], message))
    return annotations


def parsed_outputs(text: str) -> dict[str, str]:
    """The outputs in a GITHUB_OUTPUT file, as the runner reads it: a line without a name fails the step."""
    outputs = {}
    lines = iter(text.split("\n"))
    for line in lines:
        if not line:
            continue
        name, heredoc, delimiter = line.partition("<<")
        if heredoc and "=" not in name:
            value = []
            for below in lines:
                if below == delimiter:
                    break
                value.append(below)
            else:
                pytest.fail(f"output {name} has no end")
            outputs[name] = "\n".join(value)
        else:
            name, equals, value_text = line.partition("=")
            assert equals, f"the runner fails the step for {line!r}"
            outputs[name] = value_text
    return outputs


def row(task: str, reward: object, **more: Any) -> dict[str, Any]:
    return {"task_name": task, "reward": reward, **more}


def pull_request_event(number: int = 1, head: str = HEAD) -> Payload:
    return with_head(with_number(payload("pull_request.opened"), number), head)


def inputs_of(values: Mapping[str, object]) -> dict[str, str]:
    """The variables of inputs; those that are not set arrive empty."""
    given = {name.replace("_", "-"): str(value) for name, value in values.items()}
    assert set(given) <= set(INPUTS)
    return {f"INPUT_{name.upper()}": given.get(name, "") for name in INPUTS}


@dataclass
class Stage:
    """A workspace with rollouts in it, and steps that run there."""

    workspace: Path
    runner: Path
    """Where the files lie by which the runner and the step talk to each other."""
    rollouts: Rollouts
    runs: int = 0
    environment: dict[str, str] = field(default_factory=dict)
    """Variables of every step here."""

    def write(self, old: Sequence[Row], new: Sequence[Row]) -> None:
        self.rollouts.write("old.jsonl", old)
        self.rollouts.write("new.jsonl", new)

    def variables(
        self,
        github: GitHub | None = None,
        *,
        event: str = "pull_request",
        about: Payload | bytes | None = None,
        token: str = INSTALLATION,
        run_id: int = 100,
        attempt: int = 1,
        environment: Mapping[str, str] | None = None,
        **inputs: object,
    ) -> dict[str, str]:
        """The environment of a step. `about` is the payload of its event, by default pull request 1."""
        self.runs += 1
        event_path = self.runner / f"event-{self.runs}.json"
        if not isinstance(about, bytes):
            about = json.dumps(pull_request_event() if about is None else about, ensure_ascii=False).encode()
        event_path.write_bytes(about)
        variables = {
            "GITHUB_ACTIONS": "true",
            "GITHUB_ACTOR": "octocat",
            "GITHUB_EVENT_NAME": event,
            "GITHUB_EVENT_PATH": str(event_path),
            "GITHUB_OUTPUT": str(self.runner / f"output-{self.runs}"),
            "GITHUB_REF": "refs/pull/1/merge",
            "GITHUB_REPOSITORY": REPOSITORY,
            "GITHUB_RUN_ATTEMPT": str(attempt),
            "GITHUB_RUN_ID": str(run_id),
            "GITHUB_RUN_NUMBER": str(1_000_000 - run_id),
            "GITHUB_SHA": MERGE_COMMIT,
            "GITHUB_STEP_SUMMARY": str(self.runner / f"summary-{self.runs}"),
            "GITHUB_WORKSPACE": "/github/workspace",
            "RUNNER_WORKSPACE": f"{RUNNER_WORK}/octo-repo",
        }
        given = {"old": "old.jsonl", "new": "new.jsonl", "github-token": token, "upload-artifact": "false"}
        variables |= inputs_of(given | {name.replace("_", "-"): value for name, value in inputs.items()})
        variables |= {} if github is None else github.environment
        return variables | self.environment | dict(environment or {})

    def __call__(self, github: GitHub | None = None, *, clock: Clock | None = None, **how: Any) -> Step:
        """Run the Action; the arguments are those of `variables`."""
        clock = clock or Clock()
        variables = self.variables(github, **how)
        written: list[str] = []
        slept: list[float] = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(time, "sleep", slept.append)
            status = main(variables, write=written.append, clock=clock)
        assert slept == [], "all waits go through the clock"
        return self.finished(status, "".join(written), variables, clock)

    def finished(self, status: int, out: str, variables: Mapping[str, str], clock: Clock) -> Step:
        """What the runner makes of a step that ended."""
        annotations = parsed_commands(out)
        errors = [each for each in annotations if each.level == "error"]
        assert len(errors) == (1 if status else 0), f"status {status} with {errors}"
        outputs = parsed_outputs(_content(variables.get("GITHUB_OUTPUT", "")))
        summary = _content(variables.get("GITHUB_STEP_SUMMARY", ""))
        assert len(summary.encode()) <= 1_048_576, "the runner drops the summary"
        folder = self.workspace / (variables.get("INPUT_REPORT-DIR") or REPORT_FOLDER)
        return Step(status, out, annotations, outputs, summary, folder, clock)


def _content(path: str) -> str:
    return Path(path).read_bytes().decode("utf-8") if path and Path(path).is_file() else ""


@pytest.fixture
def step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Iterator[Stage]:
    """Runs the Action in a workspace that holds two rollout files, one task of which flipped."""
    workspace, runner = tmp_path / "workspace", tmp_path / "runner"
    workspace.mkdir()
    runner.mkdir()
    stage = Stage(workspace, runner, Rollouts(workspace))
    stage.write([row("a", 1.0), row("b", 0.0)], [row("a", 0.0), row("b", 0.0)])
    monkeypatch.chdir(workspace)
    for name in list(os.environ):
        if name.startswith(("GITHUB_", "INPUT_", "RUNNER_")) or name.lower().endswith(("_proxy", "_ca_bundle")):
            monkeypatch.delenv(name)
    yield stage
    assert capfd.readouterr() == ("", ""), "what is printed past the commands may hold commands of others"


@pytest.fixture
def pull_request(github: GitHub) -> GitHub:
    """A GitHub with one open pull request."""
    github.state.add_pull_request(1)
    return github


@pytest.fixture
def recorded(step: Stage, github: GitHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorded]:
    """Compares what runs recorded as artifacts; neither temporary files nor secrets outlive a step."""
    from tests.integration.action.recorded import recording

    system = tmp_path / "system-temp"
    system.mkdir()
    monkeypatch.setenv("TMPDIR", str(system))
    monkeypatch.setattr(tempfile, "tempdir", None)
    yield from recording(step, github, tmp_path / "runner-temp")
    assert sorted(system.rglob("*")) == [], "temporary files are left"


def own_body(stage: Stage, github: GitHub, **how: Any) -> str:
    """The body that a run leaves below pull request 1, which is empty before."""
    assert github.state.bodies() == []
    stage(github, **how)
    [comment] = github.state.comments_of()
    del github.state.comments[comment.id]
    github.requests.clear()
    return comment.body
