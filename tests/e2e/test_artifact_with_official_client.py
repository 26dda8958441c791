"""What we upload, as actions/download-artifact finds it: read with the client that it is built on."""

from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rollout_compare.github.api.clock import SystemClock
from rollout_compare.github.api.patience import Patience
from rollout_compare.github.artifacts.service import Service, Uploaded
from rollout_compare.github.artifacts.upload import zipped
from tests.e2e.conftest import installed_client
from tests.stand_in.artifacts import OTHER_JOB, Artifacts, Casing

pytestmark = pytest.mark.e2e

PAGE = b"<!doctype html><title>report</title>"

Read = Callable[[Artifacts, str], dict[str, Any]]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the official client in it, as the lock file pins it."""
    return installed_client(tmp_path_factory)


@pytest.fixture
def read(installed: Path, tmp_path: Path) -> Read:
    """Downloads an artifact by its name, and tells what the official client sees of it."""

    def call(artifacts: Artifacts, name: str) -> dict[str, Any]:
        folder = tmp_path / "downloaded"
        folder.mkdir()
        kept = {variable: value for variable, value in os.environ.items() if variable in ("HOME", "PATH")}
        environment = {**kept, **artifacts.environment, "ARTIFACT_NAME": name, "ARTIFACT_FOLDER": str(folder)}
        done = subprocess.run(
            ["node", "read.mjs"],  # noqa: S607 - beside npm
            cwd=installed,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        seen: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return seen

    return call


@pytest.fixture(params=["snake", "camel"])
def artifacts(request: pytest.FixtureRequest) -> Iterator[Artifacts]:
    """A service that both clients talk to; neither of them may ask what the other would not."""
    casing: Casing = request.param
    with Artifacts(casing=casing) as server:
        yield server
        assert server.violations == []


def uploaded(artifacts: Artifacts, name: str, content: io.BytesIO, mime_type: str) -> Uploaded:
    service = Service(artifacts.environment, Patience(SystemClock()), user_agent="rollout-compare/0.0.0")
    return service.upload(name, content, mime_type, retention_days=7)


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_the_official_client_unpacks_the_zip(artifacts: Artifacts, read: Read, tmp_path: Path) -> None:
    contents = {"summary.json": b"{}", "report.md": b"# report\n" * 100_000, "report.html": PAGE, "empty": b""}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    archive = zipped([(name, str(tmp_path / name)) for name in contents])
    done = uploaded(artifacts, "rollout-compare", archive, "application/zip")
    artifacts.add("another", job=OTHER_JOB)
    assert read(artifacts, "rollout-compare") == {
        "listed": ["another", "rollout-compare"],
        "id": int(done.number),
        "size": len(archive.getvalue()),
        "digest": done.digest,
        "digestMismatch": False,
        "files": {name: digest(content) for name, content in contents.items()},
    }


@pytest.mark.parametrize("content", [PAGE, PAGE * 500_000, b""], ids=["small", "three blocks", "empty"])
def test_the_official_client_saves_the_page_as_it_is(artifacts: Artifacts, read: Read, content: bytes) -> None:
    done = uploaded(artifacts, "rollout-compare.html", io.BytesIO(content), "text/html")
    assert read(artifacts, "rollout-compare.html") == {
        "listed": ["rollout-compare.html"],
        "id": int(done.number),
        "size": len(content),
        "digest": done.digest,
        "digestMismatch": False,
        "files": {"rollout-compare.html": digest(content)},
    }
