"""Fixtures every test may use: rollout files to compare, and the command line run in process."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from rollout_compare.cli import main
from tests.stand_in.fixtures import descriptions, enterprise, github

settings.register_profile(
    "rollout-compare",
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.load_profile("rollout-compare")

# What a shell sets for Python could hide a fault from the commands that tests start.
for name in [name for name in os.environ if name.startswith("PYTHON")]:
    del os.environ[name]

__all__ = ["descriptions", "enterprise", "github"]

Json = dict[str, Any]
Row = Json | str | bytes
Sides = tuple[Path, Path]


@dataclass(frozen=True)
class Run:
    """One finished command: exit status and what it printed, decoded as UTF-8."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Json:
        """The standard output read as JSON."""
        parsed: Json = json.loads(self.out)
        return parsed


Compare = Callable[..., Run]
"""The fixture `run`."""
Summary = Callable[..., Json]
"""The fixture `summary`."""


def _line(row: Row) -> bytes:
    if isinstance(row, bytes):
        return row
    if isinstance(row, str):
        return row.encode("utf-8", "surrogatepass")
    return json.dumps(row).encode()


class Rollouts:
    """Writes rollout files below one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(
        self,
        name: str,
        rows: Iterable[Row],
        failures: Iterable[Row] | None = None,
        materialized: Iterable[Row] | None = None,
    ) -> Path:
        """Write `name` and, when given, its sidecars; `rows` are objects or raw lines without a line end."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        parts = {"": rows, "_failures": failures, "_materialized_inputs": materialized}
        for ending, lines in parts.items():
            if lines is not None:
                target = path.with_name(path.stem + ending + path.suffix)
                target.write_bytes(b"".join(_line(line) + b"\n" for line in lines))
        return path


@pytest.fixture
def rollouts(tmp_path: Path) -> Rollouts:
    """A writer of rollout files below the test's own folder."""
    return Rollouts(tmp_path)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Compare:
    """Run the command line in process: `run(old, new, "--tail", 3)`."""

    def call(*argv: object) -> Run:
        streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2)]
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", streams[0])
            patch.setattr(sys, "stderr", streams[1])
            try:
                status = main([os.fspath(a) if isinstance(a, Path) else str(a) for a in argv])
            except SystemExit as stop:
                status = int(stop.code or 0)
        out, err = (stream.buffer.getvalue().decode("utf-8") for stream in streams)
        return Run(status, out, err)

    return call


@pytest.fixture
def summary(run: Compare) -> Summary:
    """The JSON summary of a comparison that must succeed."""

    def call(*argv: object) -> Json:
        done = run(*argv, "--json", "-")
        assert done.status == 0, done.err
        return done.json

    return call
