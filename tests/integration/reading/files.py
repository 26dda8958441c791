"""Rollout files written byte by byte, and the one error line of what cannot be read."""

from __future__ import annotations

import json
from pathlib import Path

from tests.conftest import Run


def line(task: str, reward: object = 1.0, **more: object) -> bytes:
    return json.dumps({"task_id": task, "reward": reward, **more}).encode() + b"\n"


def put(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def one_error(done: Run) -> str:
    assert (done.status, done.out) == (1, "")
    assert done.err.startswith("error: ")
    assert done.err.endswith("\n")
    assert len(done.err.splitlines()) == 1
    assert len(done.err.encode()) <= 500
    return done.err
