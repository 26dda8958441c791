"""Same inputs, same reports: whatever the locale, the time zone or the hash seed; colours only for a terminal."""

from __future__ import annotations

import functools
import locale
import os
import pty
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tools.golden import prepare

COMMAND = (sys.executable, "-m", "rollout_compare")
CASE = "hostile-text"
FORMS = ("markdown", "text", "json")
ESCAPE = "\x1b"


def has_locale(name: str) -> bool:
    before = locale.setlocale(locale.LC_ALL)
    try:
        locale.setlocale(locale.LC_ALL, name)
    except locale.Error:
        return False
    finally:
        locale.setlocale(locale.LC_ALL, before)
    return True


def environment(**more: str) -> Mapping[str, str]:
    return {"PATH": os.environ.get("PATH", ""), **more}


ENVIRONMENTS = {
    "C": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "POSIX in Tokyo": {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "TZ": "Asia/Tokyo"},
    "C.UTF-8": {"LC_ALL": "C.UTF-8", "TZ": "UTC"},
    "Turkish": {"LC_ALL": "tr_TR.UTF-8"},
    "German in New York": {"LC_ALL": "de_DE.UTF-8", "TZ": "America/New_York"},
    "hash seed 0": {"PYTHONHASHSEED": "0"},
    "hash seed 1": {"PYTHONHASHSEED": "1"},
    "hash seed random": {"PYTHONHASHSEED": "random"},
    "ASCII streams": {"PYTHONIOENCODING": "ascii:strict"},
    "in an Action": {"CI": "true", "GITHUB_ACTIONS": "true", "COLUMNS": "40", "FORCE_COLOR": "1"},
}


@functools.cache
def reports(folder: Path, variables: tuple[tuple[str, str], ...]) -> dict[str, bytes]:
    """Every report of one case, as another process makes them in this environment."""
    place, inputs = prepare(CASE, folder)
    files = {form: folder / f"report.{form}" for form in ("markdown", "json")}
    options = [f"--{form}={file}" for form, file in files.items()]
    done = subprocess.run(
        [*COMMAND, *inputs, *options], cwd=place, env=environment(**dict(variables)), capture_output=True, check=True
    )
    return {"text": done.stdout} | {form: file.read_bytes() for form, file in files.items()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reports")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_reports_are_the_same_bytes_everywhere(name: str, form: str, folder: Path) -> None:
    variables = ENVIRONMENTS[name]
    if variables.get("LC_ALL") and not has_locale(variables["LC_ALL"]):
        pytest.skip(f"no locale {variables['LC_ALL']} here")
    assert reports(folder, tuple(variables.items()))[form] == reports(folder, ())[form]


def test_the_reports_that_are_compared_say_something(folder: Path) -> None:
    told = reports(folder, ())
    assert all(len(told[form]) > 1_000 for form in FORMS)
    assert "→".encode() in told["markdown"]
    assert told["json"].isascii()


def through_terminal(folder: Path, *options: str, **variables: str) -> str:
    """What the command writes when its standard output is a terminal."""
    place, inputs = prepare("one-flip", folder)
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*COMMAND, *inputs, *options], cwd=place, env=environment(**variables), stdout=theirs, stderr=subprocess.PIPE
    ) as process:
        os.close(theirs)
        written = b""
        while True:
            try:
                piece = os.read(ours, 65_536)
            except OSError:  # how Linux says that nobody holds the other end any more
                break
            if not piece:
                break
            written += piece
    os.close(ours)
    assert process.returncode == 0
    return written.decode("utf-8").replace("\r\n", "\n")


def plain(folder: Path, *options: str, **variables: str) -> str:
    place, inputs = prepare("one-flip", folder)
    done = subprocess.run(
        [*COMMAND, *inputs, *options], cwd=place, env=environment(**variables), capture_output=True, check=True
    )
    return done.stdout.decode("utf-8")


def test_a_terminal_gets_colours_and_the_same_words(tmp_path: Path) -> None:
    shown = through_terminal(tmp_path, TERM="xterm-256color")
    assert ESCAPE in shown
    sequences = set(re.findall(r"\x1b.[0-9;]*.", shown))
    assert all(re.fullmatch(r"\x1b\[[0-9;]*m", sequence) for sequence in sequences)
    assert re.sub(r"\x1b\[[0-9;]*m", "", shown) == plain(tmp_path)
    # Nothing is left coloured at the end of a line.
    for line in shown.splitlines():
        assert ESCAPE not in line or line.endswith("\x1b[0m") or line.rfind("\x1b[0m") == line.rfind(ESCAPE)


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1", "TERM": "xterm"}, {"TERM": "dumb"}], ids=str)
def test_a_terminal_that_wants_no_colours_gets_none(variables: dict[str, str], tmp_path: Path) -> None:
    assert through_terminal(tmp_path, **variables) == plain(tmp_path)


def test_an_empty_no_color_says_nothing(tmp_path: Path) -> None:
    assert ESCAPE in through_terminal(tmp_path, TERM="xterm", NO_COLOR="")


@pytest.mark.parametrize("form", ["markdown", "json"])
def test_reports_for_programs_have_no_colours_on_a_terminal(form: str, tmp_path: Path) -> None:
    assert through_terminal(tmp_path, "--format", form, TERM="xterm") == plain(tmp_path, "--format", form)


def test_a_pipe_gets_no_colours(tmp_path: Path) -> None:
    assert ESCAPE not in plain(tmp_path, TERM="xterm-256color", FORCE_COLOR="1", CLICOLOR_FORCE="1")


def test_lines_of_ours_fit_a_terminal_of_80_columns(tmp_path: Path) -> None:
    lines = plain(tmp_path).splitlines()
    # The verdict and the counts are one sentence each, and wrapped by the terminal.
    for line in lines[2:]:
        assert len(line) <= 80
