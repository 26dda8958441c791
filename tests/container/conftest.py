"""The image of the Dockerfile, containers of it, and the Action in one as GitHub's runner starts it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Rollouts
from tests.integration.action.conftest import Clock, Stage, Step
from tests.places import REAL_CASES, ROOT
from tests.stand_in import GitHub
from tests.stand_in.artifacts import Artifacts

CASE = REAL_CASES / "18-legacy-vs-harbor-derived"
"""Rollouts of five tasks, three of which flipped, with verifier logs."""
TAG = "localhost/rollout-compare:e2e"
BASE = "docker.io/library/" + re.findall(r"^ARG BASE_IMAGE=(.+)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)[0]
_SCRIPT = ROOT / "tools" / "containers.sh"
_PATIENCE = 300
"""Seconds for one command; none takes a tenth of it, but the first build."""


class Podman:
    """Runs containers; those that a test leaves behind are removed in the end."""

    def __init__(self) -> None:
        printed = subprocess.run([_SCRIPT, "environment"], check=True, capture_output=True, text=True).stdout
        self.settings = dict(line.split("=", 1) for line in printed.splitlines())
        self.label = f"rollout-compare.tests={uuid.uuid4().hex}"

    @property
    def environment(self) -> dict[str, str]:
        return os.environ | self.settings

    def __call__(self, *arguments: object, fails: bool = False) -> subprocess.CompletedProcess[bytes]:
        """Run podman, which has to succeed unless it may fail."""
        command = ["podman", *map(str, arguments)]
        done = subprocess.run(
            command, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PATIENCE, check=False
        )
        assert fails or done.returncode == 0, done.stderr.decode("utf-8", "replace")
        return done

    def text(self, *arguments: object) -> str:
        """What podman prints."""
        return self(*arguments).stdout.decode("utf-8").strip()

    def run(self, *arguments: object) -> subprocess.CompletedProcess[bytes]:
        """Run a container to its end, whatever its exit status."""
        return self("run", "--rm", "--label", self.label, *arguments, fails=True)

    @contextmanager
    def started(self, *arguments: object) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
        """A container that runs, with its name."""
        name = f"rollout-compare-{uuid.uuid4().hex}"
        command = ["podman", "run", "--rm", "--label", self.label, "--name", name, *map(str, arguments)]
        with subprocess.Popen(
            command, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as process:
            try:
                yield process, name
            finally:
                if process.poll() is None:
                    self("rm", "--force", "--time", 0, name, fails=True)

    def remove_all(self) -> None:
        """Remove what is left."""
        left = self.text("ps", "--all", "--quiet", "--filter", f"label={self.label}").split()
        if left:
            self("rm", "--force", "--time", 0, *left)


@pytest.fixture(scope="session")
def podman() -> Iterator[Podman]:
    """Podman, as `make e2e` sets it up."""
    assert shutil.which("podman") is not None, "there is no podman: tools/containers.sh set-up, or make e2e"
    runner = Podman()
    yield runner
    runner.remove_all()


@pytest.fixture(scope="session")
def image(podman: Podman) -> str:
    """The image, built from the Dockerfile as it is."""
    done = subprocess.run(
        [_SCRIPT, "build", TAG],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return TAG


def action_entrypoint() -> str:
    """The command that action.yml names."""
    [entrypoint] = re.findall(r"^  entrypoint: (.+)$", (ROOT / "action.yml").read_text(encoding="utf-8"), re.MULTILINE)
    return str(entrypoint)


class Runner:
    """Starts the Action in its container with the mounts, names and variables that GitHub's runner gives it."""

    def __init__(self, podman: Podman, image: str, folder: Path) -> None:
        self.podman = podman
        self.image = image
        self.workspace = folder / "workspace"
        shutil.copytree(CASE, self.workspace)
        commands = folder / "commands"
        self._mounts = {"workspace": self.workspace, "workflow": commands, "file_commands": commands}
        self._mounts |= {name: folder / name for name in ("home", "runner_temp")}
        for place in self._mounts.values():
            place.mkdir(exist_ok=True)
        self.stage = Stage(self.workspace, commands, Rollouts(self.workspace))

    def variables(self, github: GitHub | None = None, artifacts: Artifacts | None = None, **how: Any) -> dict[str, str]:
        """The variables of a step, with paths as they are outside. `how` is what `Stage.variables` takes."""
        if artifacts is not None:
            how["upload_artifact"] = "true"
        variables = self.stage.variables(github, **how)
        return variables | ({} if artifacts is None else artifacts.environment)

    def arguments(self, variables: Mapping[str, str]) -> list[str]:
        """The arguments of `podman run`."""
        inside = {
            "HOME": "/github/home",
            "CI": "true",
            "GITHUB_ENV": "/github/file_commands/set_env",
            "GITHUB_PATH": "/github/file_commands/add_path",
            "GITHUB_STATE": "/github/file_commands/save_state",
            "RUNNER_OS": "Linux",
            "RUNNER_TEMP": "/github/runner_temp",
        }
        for name, value in variables.items():
            place = "/github/workflow" if name == "GITHUB_EVENT_PATH" else "/github/file_commands"
            inside[name] = value.replace(str(self.stage.runner), place)
        return [
            *("--workdir", "/github/workspace", "--network", "host", "--entrypoint", action_entrypoint()),
            *(word for name, value in inside.items() for word in ("-e", f"{name}={value}")),
            *(word for name, place in self._mounts.items() for word in ("-v", f"{place}:/github/{name}")),
            self.image,
        ]

    def __call__(self, github: GitHub | None = None, artifacts: Artifacts | None = None, **how: Any) -> Step:
        """Run the Action, and tell what the runner makes of it."""
        variables = self.variables(github, artifacts, **how)
        done = self.podman.run(*self.arguments(variables))
        assert done.stderr == b"", "the runner looks for commands there too"
        return self.stage.finished(done.returncode, done.stdout.decode("utf-8"), variables, Clock())


@pytest.fixture
def runner(podman: Podman, image: str, tmp_path: Path) -> Runner:
    """GitHub's runner with rollouts in the workspace: `runner(github, artifacts, title="…")`."""
    return Runner(podman, image, tmp_path)


@pytest.fixture
def pull_request(github: GitHub) -> GitHub:
    """A GitHub with one open pull request."""
    github.state.add_pull_request(1)
    return github


@pytest.fixture
def artifacts() -> Iterator[Artifacts]:
    """An artifact service."""
    with Artifacts() as service:
        yield service
        assert service.violations == []
