"""Standard streams that fail: full, closed, or a pipe whose reader has gone.

Standard error is for people, and so is all that the Action prints: whether it can be written changes nothing else.
Standard output of the command is what was asked for: that it cannot be written is an error, but for a reader that has
seen enough.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from rollout_compare.version import VERSION
from tests.conftest import Rollouts
from tests.places import BIN

OUT, ERR = 1, 2
REDIRECTED = {"full": ">/dev/full", "closed": ">&-"}
GONE = "without a reader"
FAILING = (*REDIRECTED, GONE)

Done = subprocess.CompletedProcess[bytes]


def run(program: str, *arguments: object, failing: dict[int, str] | None = None) -> Done:
    """An installed command with streams that fail, and with no variable for Python.

    Were its output unbuffered, what fails only as Python exits would stay hidden.
    """
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb") as nobody:  # noqa: PTH123 - a descriptor
        failing = failing or {}
        redirections = " ".join(f"{stream}{REDIRECTED[how]}" for stream, how in failing.items() if how != GONE)
        streams = {stream: nobody if failing.get(stream) == GONE else subprocess.PIPE for stream in (OUT, ERR)}
        return subprocess.run(
            ["/bin/sh", "-c", f'exec "$@" {redirections}', "sh", BIN / program, *map(str, arguments)],
            env={"PATH": os.environ["PATH"]},
            stdin=subprocess.DEVNULL,
            stdout=streams[OUT],
            stderr=streams[ERR],
            timeout=60,
            check=False,
        )


@pytest.fixture
def rollout_file(rollouts: Rollouts) -> Path:
    return rollouts.write("rollouts.jsonl", [{"task_id": f"task-{number}", "reward": 1} for number in range(3)])


@pytest.mark.parametrize("how", FAILING)
def test_a_report_is_printed_and_written_whatever_becomes_of_standard_error(how: str, rollout_file: Path) -> None:
    beside = rollout_file.with_name("summary.json")
    well = run("rollout-compare", rollout_file, rollout_file, "--json", beside)
    assert (well.returncode, well.stderr) == (0, f"wrote {beside}\n".encode())
    written = beside.read_bytes()
    beside.unlink()
    done = run("rollout-compare", rollout_file, rollout_file, "--json", beside, failing={ERR: how})
    assert (done.returncode, done.stdout) == (0, well.stdout)
    assert beside.read_bytes() == written


@pytest.mark.parametrize("how", FAILING)
def test_an_error_is_status_1_whatever_becomes_of_standard_error(how: str, rollout_file: Path) -> None:
    done = run("rollout-compare", rollout_file, rollout_file.with_name("absent"), failing={ERR: how})
    assert (done.returncode, done.stdout) == (1, b"")


@pytest.mark.parametrize("how", FAILING)
@pytest.mark.parametrize("option", [(), ("--no-such-option",), ("--tail=--",)], ids=str)
def test_wrong_usage_is_status_2_whatever_becomes_of_standard_error(
    how: str, option: tuple[str, ...], rollout_file: Path
) -> None:
    done = run("rollout-compare", rollout_file, *option, failing={ERR: how})
    assert (done.returncode, done.stdout) == (2, b"")


@pytest.mark.parametrize("how", REDIRECTED)
@pytest.mark.parametrize("asked", ["a report", "--help", "--version"])
def test_standard_output_that_cannot_be_written_is_one_error_line(how: str, asked: str, rollout_file: Path) -> None:
    arguments = (rollout_file, rollout_file) if asked == "a report" else (asked,)
    done = run("rollout-compare", *arguments, failing={OUT: how})
    assert done.returncode == 1
    assert re.fullmatch(rb"error: standard output[^\n]+\n", done.stderr)


@pytest.mark.parametrize("asked", ["a report", "--help", "--version"])
def test_a_reader_that_has_gone_has_seen_enough(asked: str, rollout_file: Path) -> None:
    arguments = (rollout_file, rollout_file) if asked == "a report" else (asked,)
    done = run("rollout-compare", *arguments, failing={OUT: GONE})
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("how", FAILING)
def test_both_streams_may_fail(how: str, rollout_file: Path) -> None:
    done = run("rollout-compare", rollout_file, rollout_file, failing={OUT: how, ERR: how})
    assert done.returncode == (0 if how == GONE else 1)


def test_streams_that_work_take_help_and_version(rollout_file: Path) -> None:
    assert run("rollout-compare", "--help").stdout.startswith(b"usage: rollout-compare ")
    assert run("rollout-compare", "--version").stdout.startswith(f"rollout-compare {VERSION}".encode())


@pytest.mark.parametrize("how", FAILING)
def test_the_action_ends_as_if_its_annotations_had_been_taken(how: str) -> None:
    well = run("rollout-compare-action")
    assert (well.returncode, well.stderr) == (2, b"")
    assert well.stdout.startswith(b"::error ")
    done = run("rollout-compare-action", failing={OUT: how})
    assert (done.returncode, done.stderr) == (2, b"")
