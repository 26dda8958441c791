"""Flips with logs of 1 MB on disk, which end in a few causes: made once, in a folder of their own."""

from __future__ import annotations

import json
import random
from pathlib import Path

from measure import BenchError, say

LOG_BYTES = 1 << 20
CAUSES = (
    "ModuleNotFoundError: No module named 'numpy'",
    "ValueError: bad value {number}",
    "AssertionError: expected {number} got {other}",
    "",
)
"""The last lines of logs; a log that names none is searched to its beginning."""
_LOGS = 12
_STEP = "2026-01-01T00:00:{second:02d}Z INFO step {number} finished in {took:.3f} s, error_rate 0.0\n"


def write(folder: Path, flips: int) -> tuple[Path, Path]:
    """The two sides, of which every third task improves; they share the logs, as only their number counts."""
    sides = folder / "old.jsonl", folder / "new.jsonl"
    if (folder / "done").exists():
        return sides
    say(f"writing {folder.name}")
    logs = folder / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    for number in range(_LOGS):
        (logs / f"{number}.txt").write_text(_log(number), encoding="ascii")
    for path, wins in zip(sides, (False, True), strict=True):
        with path.open("w", encoding="ascii") as file:
            for number in range(flips):
                reward = float(wins == (number % 3 == 0))
                row = {
                    "task_id": f"task-{number:05d}",
                    "reward": reward,
                    "verifier_logs_dir": f"logs/{number % _LOGS}.txt",
                }
                file.write(json.dumps(row) + "\n")
    (folder / "done").touch()
    return sides


def _log(number: int) -> str:
    chance = random.Random(number)
    lines = []
    size = 0
    while size < LOG_BYTES - 200:
        lines.append(_STEP.format(second=chance.randrange(60), number=chance.randrange(10**6), took=chance.random()))
        size += len(lines[-1])
    cause = CAUSES[number % len(CAUSES)].format(number=chance.randrange(100), other=chance.randrange(100))
    return "".join(lines) + (f"Traceback (most recent call last):\n  File x\n{cause}\n" if cause else "over\n")


def verify(summary: Path, flips: int) -> None:
    """Hold a JSON summary against what was written. Raises BenchError when a flip or a cause is not told."""
    told = json.loads(summary.read_text(encoding="ascii"))
    causes = sorted(cause["signature"].partition(":")[0] for cause in told["causes"])
    if told["counts"]["flipped"] != flips or causes != sorted(each.partition(":")[0] for each in CAUSES if each):
        raise BenchError(f"{summary}: {told['counts']['flipped']} flips, causes {', '.join(causes)}")
