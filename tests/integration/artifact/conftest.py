"""An upload as a step makes it: a service for one run, a clock that nobody waits for, and the content."""

from __future__ import annotations

import io
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from rollout_compare.github.api.patience import Patience
from rollout_compare.github.artifacts.service import Service, Uploaded
from rollout_compare.github.artifacts.upload import upload_under_free_name
from tests.stand_in import REPOSITORY
from tests.stand_in.artifacts import Artifacts

START = 1_767_571_200.0
"""Midnight of 5 January 2026 (UTC)."""
USER_AGENT = "rollout-compare/0.0.0"
CONTENT = b"<!doctype html><title>report</title>"
NAME = "rollout-compare"


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


@dataclass
class Uploader:
    """Uploads to the stand-in, from the environment of a step."""

    artifacts: Artifacts
    clock: Clock = field(default_factory=Clock)
    environment: dict[str, str] = field(default_factory=dict)
    """Variables of the step, besides the usual ones."""

    @property
    def variables(self) -> dict[str, str]:
        usual = {
            "GITHUB_REPOSITORY": REPOSITORY,
            "GITHUB_RUN_ID": "100",
            "GITHUB_SERVER_URL": "https://github.com",
        }
        return usual | self.artifacts.environment | self.environment

    def service(self, without: str = "", **environment: str) -> Service:
        """The client, as the variables make it; one of them can be left out."""
        variables = {name: value for name, value in (self.variables | environment).items() if name != without}
        return Service(variables, Patience(self.clock), user_agent=USER_AGENT)

    def __call__(
        self,
        name: str = NAME,
        content: bytes = CONTENT,
        mime_type: str = "text/html",
        retention_days: int | None = None,
    ) -> Uploaded:
        """Upload under this very name."""
        return self.service().upload(name, io.BytesIO(content), mime_type, retention_days)

    def freely(self, name: str = NAME, content: bytes = CONTENT, mime_type: str = "text/html") -> Uploaded:
        """Upload under this name, or another one if it is taken."""
        return upload_under_free_name(self.service(), name, io.BytesIO(content), mime_type)


@pytest.fixture
def upload(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Uploader]:
    """Uploads to a stand-in; the test fails if what was asked differs from what the official client asks."""
    for name in list(os.environ):
        if name.lower().endswith("_proxy") or name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("NETRC", str(tmp_path / "no-netrc"))
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    with Artifacts() as artifacts:
        yield Uploader(artifacts)
    assert slept == [], "all waits go through the clock"
    assert artifacts.violations == []
