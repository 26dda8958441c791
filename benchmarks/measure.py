"""Runs whole commands and measures wall time, CPU time and peak memory of each child alone."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_LAUNCH = (sys.executable, "-I", "-S", str(Path(__file__).with_name("launch.py")))
_RSS_UNIT = 1 if sys.platform == "darwin" else 1024  # ru_maxrss is in bytes there, in KiB on Linux


class BenchError(Exception):
    """A command failed or gave a wrong answer: its time means nothing."""


class Sample(NamedTuple):
    """One run, or the medians of several: seconds of wall and CPU time, peak resident memory in bytes."""

    wall: float
    cpu: float
    rss: float


@dataclass(frozen=True)
class Command:
    """What to run, and the file that takes its standard output (none = thrown away)."""

    argv: Sequence[str]
    stdout: Path | None = None


def run(command: Command) -> Sample:
    """Run a command once. Raises BenchError when it does not exit with 0."""
    launched = subprocess.run(
        (*_LAUNCH, str(command.stdout or os.devnull), *command.argv),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    # The launcher itself fails when the command cannot be started at all.
    wall, cpu, rss, status = launched.stdout.split() or (b"0", b"0", b"0", b"not started")
    if status != b"0":
        said = launched.stderr.decode("utf-8", "replace").strip().splitlines()
        message = f"exit status {status.decode()} of: {' '.join(command.argv)}"
        raise BenchError("\n  ".join((message, *said[-1:])))
    return Sample(float(wall), float(cpu), float(rss) * _RSS_UNIT)


def alternate(commands: Mapping[str, Command], runs: int, *, cold: Sequence[str] = ()) -> dict[str, Sample]:
    """Run the commands in turn (A B C, A B C, ...) and give the median of each figure of each command.

    Every command runs once beforehand and uncounted, but for those named in `cold`. Turns spread a slow
    moment of the machine over all commands, so that ratios suffer least.
    """
    for name, command in commands.items():
        if name not in cold:
            run(command)
    samples: dict[str, list[Sample]] = {name: [] for name in commands}
    for turn in range(runs):
        for name, command in commands.items():
            samples[name].append(run(command))
        took = (f"{name} {taken[-1].wall:.3f} s" for name, taken in samples.items())
        say(f"  {turn + 1}/{runs}: {', '.join(took)}")
    return {name: Sample(*map(median, zip(*taken, strict=True))) for name, taken in samples.items()}


def available_memory() -> int | None:
    """Give the bytes of memory that can be had without swapping; None where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), None)


def say(text: str) -> None:
    """Tell progress on standard error."""
    print(text, file=sys.stderr, flush=True)
