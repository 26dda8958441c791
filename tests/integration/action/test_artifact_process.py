"""A step with artifacts as a process of its own: how much memory it takes, and what is left when it is stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import zlib
from pathlib import Path
from typing import Any

import pytest

from tests.integration.action.conftest import COMMENTS, Clock, Step, row
from tests.integration.action.recorded import NAME, ROLLOUTS, Recorded
from tests.integration.action.zips import Entry, archive, jsonl
from tests.stand_in import hook

MIB = 1 << 20
STARTING = Path(__file__).parent / "starting.py"
_MEASURE = """
import resource, subprocess, sys
status = subprocess.run(sys.argv[1:]).returncode
sys.stderr.write(f" {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss}")
sys.exit(status)
"""
"""Starts a command and tells its peak of memory. Started by the tests themselves, it would be said to have theirs."""
LOSS = [row("a", 0.0, verifier_logs_dir="out/a"), row("b", 0.0)]


def variables_of(recorded: Recorded) -> dict[str, str]:
    given: dict[str, Any] = {"old": "", "new": "", "old_artifact": NAME, "new_artifact": NAME}
    given["about"] = recorded.event()
    variables = recorded.stage.variables(recorded.github, environment=recorded.variables(), **given)
    return variables | {"GITHUB_WORKSPACE": str(recorded.stage.workspace), "PATH": os.environ["PATH"]}


def measured(recorded: Recorded) -> tuple[Step, int]:
    """The finished step, and the most memory that it had, in bytes."""
    variables = variables_of(recorded)
    command = [sys.executable, "-c", _MEASURE, sys.executable, str(STARTING)]
    process = subprocess.run(command, capture_output=True, env=variables, timeout=120, check=False)
    done = recorded.stage.finished(process.returncode, process.stdout.decode("utf-8"), variables, Clock())
    return done, int(process.stderr.split()[-1]) << 10


def large(name: str, size: int, start: bytes = b"") -> Entry:
    """A deflated file of that many MiB after its start, a hundredth as large packed, made from one packed piece."""
    piece = (b" " * 99 + os.urandom(5 << 10).hex().encode() + b"\n").ljust(MIB, b"\n")
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    begun = packer.compress(start) + packer.flush(zlib.Z_FULL_FLUSH)
    packed = packer.compress(piece) + packer.flush(zlib.Z_FULL_FLUSH)
    crc = zlib.crc32(start)
    for _ in range(size):
        crc = zlib.crc32(piece, crc)
    whole = begun + packed * size + packer.flush()
    return Entry(name, b"", packed=whole, size=len(start) + size * MIB, crc=crc)


def test_a_file_of_a_gigabyte_needs_no_memory_of_that_size(recorded: Recorded) -> None:
    recorded.old()
    content = archive([Entry(ROLLOUTS, jsonl(LOSS)), large("out/a/test-stdout.txt", 1_024)])
    recorded.service.add(NAME, content=content)
    assert 1_024 * MIB / 200 < len(content) < 100 * MIB
    done, peak = measured(recorded)
    recorded.check(done)
    assert (done.status, done.json["counts"]["flipped"]) == (0, 1), done.out
    assert peak < 300 * MIB


@pytest.mark.parametrize("path", ["storage:*", COMMENTS], ids=["while it downloads", "while it comments"])
def test_a_step_that_is_stopped_leaves_no_temporary_files(recorded: Recorded, path: str) -> None:
    recorded.old()
    reached, over = threading.Event(), threading.Event()

    def hold(*_: object) -> None:
        reached.set()
        over.wait(20)

    recorded.github.fault("*", path, hook(hold))
    variables = variables_of(recorded) | {"TMPDIR": str(recorded.temporary)}
    with subprocess.Popen([sys.executable, STARTING], stdout=subprocess.PIPE, env=variables) as process:
        assert reached.wait(20)
        process.send_signal(signal.SIGTERM)
        try:
            process.communicate(timeout=10)
        finally:
            over.set()
            process.kill()
    assert process.returncode == 143
    assert sorted(recorded.temporary.rglob("*")) == []
