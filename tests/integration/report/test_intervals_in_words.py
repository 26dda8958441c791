"""Intervals in the reports: however narrow, they are told with the decimals that it takes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.conftest import Rollouts, Run

MINUS = "\N{MINUS SIGN}"
NOTHING = re.compile(rf"(?<![\d.])[+{MINUS}]?0(\.0+)? to [+{MINUS}]?0(\.0+)?(?![\d.])")


def rows(rewards: list[float]) -> list[dict[str, Any]]:
    return [{"task_id": f"t{at:05}", "reward": reward} for at, reward in enumerate(rewards)]


@pytest.fixture
def reports(rollouts: Rollouts, run: Callable[..., Run]) -> Callable[[list[float], list[float]], list[str]]:
    """The text and the Markdown report of two sides."""

    def call(old: list[float], new: list[float]) -> list[str]:
        paths = rollouts.write("old.jsonl", rows(old)), rollouts.write("new.jsonl", rows(new))
        return [run(*paths, "--format", form).out for form in ("text", "markdown")]

    return call


@pytest.mark.parametrize(
    ("number", "scale", "shown"),
    [
        # 2.7718077 spans in so many tasks.
        (100, 1.0, f"{MINUS}0.028 to +0.028"),
        (2_000, 1.0, f"{MINUS}0.001 to +0.001"),
        (8_000, 1.0, f"{MINUS}0.0003 to +0.0003"),
        (100, 1e-4, f"{MINUS}0.000003 to +0.000003"),
        (100, 50.0, f"{MINUS}1.386 to +1.386"),
    ],
)
def test_an_interval_around_nothing_is_never_told_as_nothing(
    number: int, scale: float, shown: str, reports: Callable[[list[float], list[float]], list[str]]
) -> None:
    for report in reports([scale] * number, [scale] * number):
        assert f"95% CI {shown}" in report
        assert not NOTHING.search(report)


def test_a_small_difference_is_told_with_the_decimals_of_its_interval(
    reports: Callable[[list[float], list[float]], list[str]],
) -> None:
    # Rewards of 0.001 and 0.0009 of 400 tasks: -0.0001 ± 2.7718077 * 0.001/400 = 0.00000693.
    for report in reports([0.001] * 400, [0.0009] * 400):
        assert f"{MINUS}0.000100 (95% CI {MINUS}0.000107 to {MINUS}0.000093)" in " ".join(
            report.replace("*", "").split()
        )
