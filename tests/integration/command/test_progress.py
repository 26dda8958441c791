"""The progress line of a long read: on a terminal only, gone when the read is done."""

from __future__ import annotations

import io
import itertools
import sys
import time

import pytest

from rollout_compare.cli import main
from tests.conftest import Rollouts


class Terminal(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


class NoReader(io.BytesIO):
    def write(self, data: object) -> int:
        raise BrokenPipeError


def error_output(
    monkeypatch: pytest.MonkeyPatch, rollouts: Rollouts, kind: type[io.TextIOWrapper], seconds: float
) -> str:
    """What a comparison prints on standard error when each look at the clock is `seconds` later than the last."""
    path = rollouts.write("old.jsonl", [{"task_id": "a", "reward": 1}])
    clock = itertools.count(step=seconds)
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    errors = io.BytesIO()
    monkeypatch.setattr(sys, "stderr", kind(errors, encoding="utf-8", write_through=True))
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO()))
    assert main([str(path), str(path)]) == 0
    return errors.getvalue().decode()


def test_a_long_read_on_a_terminal_shows_how_far_it_is(monkeypatch: pytest.MonkeyPatch, rollouts: Rollouts) -> None:
    monkeypatch.delenv("CI", raising=False)
    shown = error_output(monkeypatch, rollouts, Terminal, seconds=2)
    assert "reading old.jsonl 100%" in shown
    assert shown.endswith("\r\x1b[K")


@pytest.mark.parametrize(
    ("kind", "seconds", "ci"),
    [(Terminal, 0.01, False), (Terminal, 2, True), (io.TextIOWrapper, 2, False)],
    ids=["a short read", "in CI", "no terminal"],
)
def test_otherwise_nothing_is_shown(
    kind: type[io.TextIOWrapper], seconds: float, ci: bool, monkeypatch: pytest.MonkeyPatch, rollouts: Rollouts
) -> None:
    if ci:
        monkeypatch.setenv("CI", "true")
    else:
        monkeypatch.delenv("CI", raising=False)
    assert error_output(monkeypatch, rollouts, kind, seconds) == ""


def test_a_terminal_that_has_gone_does_not_lose_the_report(monkeypatch: pytest.MonkeyPatch, rollouts: Rollouts) -> None:
    monkeypatch.delenv("CI", raising=False)
    path = rollouts.write("old.jsonl", [{"task_id": "a", "reward": 1}])
    clock = itertools.count(step=2)
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    report = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(sys, "stderr", Terminal(NoReader(), write_through=True))
    monkeypatch.setattr(sys, "stdout", report)
    assert main([str(path), str(path)]) == 0
    report.seek(0)
    assert "1 task compared" in report.read()
