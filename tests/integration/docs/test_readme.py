"""README, taken at its word: each of its blocks is run as it stands, in a folder with what it speaks of."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from rollout_compare.github.settings import input_names
from tests.places import BIN, ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLE = ROOT / "examples" / "legacy-vs-harbor"


def blocks(language: str = "") -> list[str]:
    found = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    return [text for named, text in found if named == language]


def commands(start: str) -> list[str]:
    """The lines of plain blocks that begin with a word, without the words behind `#`."""
    lines = [line for block in blocks() for line in block.splitlines()]
    found = [shlex.join(shlex.split(line, comments=True)) for line in lines if line.startswith(start)]
    assert found
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What the commands speak of: two sides, shards, packed files, a template, logs."""
    for name in ("OLD", "NEW"):
        side = tmp_path / name
        side.mkdir()
        shutil.copy(EXAMPLE / f"{name.lower()}.jsonl", side / "rollouts.jsonl")
    for name in ("a", "b"):
        shutil.copy(EXAMPLE / "old.jsonl", tmp_path / f"{name}.jsonl")
    shutil.copytree(EXAMPLE / "verifier-logs", tmp_path / "runs" / "7" / "verifier-logs")
    (tmp_path / "run-1").mkdir()
    zstd = pytest.importorskip("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
    packed = zstd.compress((EXAMPLE / "new.jsonl").read_bytes())
    (tmp_path / "run-1" / "rollouts.jsonl.zst").write_bytes(packed)
    (tmp_path / "own.md.j2").write_text('{% extends "report.md.j2" %}\n', encoding="utf-8")
    for name in ("old", "new"):
        shutil.copy(EXAMPLE / f"{name}.jsonl", tmp_path / f"{name}.jsonl")
    return tmp_path


def run_in(folder: Path, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path} | variables
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=120
    )


@pytest.mark.parametrize("command", commands("rollout-compare"))
def test_each_command_makes_its_report(folder: Path, command: str) -> None:
    done = run_in(folder, "/bin/sh", "-c", command)
    if "--key metadata.case" in command:
        # A field of one's own: the examples have none of that name, and the row that lacks it is named.
        assert done.returncode == 1
        assert re.match(r"error: OLD\S*:1: .*metadata\.case", done.stderr)
        return
    assert done.returncode == 0, done.stderr
    assert "tasks" in done.stdout
    for written in re.findall(r"--(?:markdown|html|json) (\S+)", command):
        assert (folder / written).stat().st_size > 500
        assert f"wrote {written}" in done.stderr


def test_python_prints_the_verdict_and_the_flips(folder: Path) -> None:
    [code] = blocks("python")
    done = run_in(folder, sys.executable, "-c", code)
    assert (done.returncode, done.stderr) == (0, "")
    verdict, flips = done.stdout.splitlines()
    assert verdict.startswith("Too little to conclude: 4 paired tasks")
    assert flips == "3 ['chess-best-move', 'fix-git', 'headless-terminal']"


def test_every_command_is_tried_here_or_cannot_be() -> None:
    """`make test` is what runs this, and `docker run` takes an engine: the tests of the image have one."""
    first_words = {line.split()[0] for block in blocks() for line in block.splitlines() if line.strip()}
    assert first_words == {"make", "rollout-compare", "docker"}
    assert commands("make") == ["make demo", "make test"]
    assert set(re.findall(r"^```(\w*)$", README, re.MULTILINE)) == {"", "yaml", "python"}


def test_make_demo_compares_the_examples_of_a_copy_of_the_project(tmp_path: Path) -> None:
    installed = BIN.parent / "installed"
    if not installed.exists():
        pytest.skip("make would install an environment, from the network")
    for name in ("examples", "requirements"):
        shutil.copytree(ROOT / name, tmp_path / name)
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path / name)
    # Older than the environment, so that make takes it as it is.
    for path in (tmp_path / "pyproject.toml", tmp_path / "requirements" / "dev.txt"):
        os.utime(path, (0, 0))
    done = run_in(tmp_path, "/bin/sh", "-c", commands("make demo")[0], VENV=str(BIN.parent))
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("$ rollout-compare examples/") == 2
    assert "Too little to conclude: 4 paired tasks" in done.stdout


def test_the_container_is_called_with_the_folder_it_is_to_see() -> None:
    [command] = commands("docker run")
    words = shlex.split(command)
    place = words[words.index("-w") + 1]
    assert words[words.index("-v") + 1] == f"$PWD:{place}"
    assert words[-2:] == ["old.jsonl", "new.jsonl"]
    [built] = re.findall(r"`docker build -t (\S+) \.`", README)
    assert words[-3] == built


def test_the_workflow_is_the_first_recipe_in_ten_lines() -> None:
    [text] = blocks("yaml")
    recipe = (ROOT / "examples" / "workflows" / "compare-with-main.yml").read_text(encoding="utf-8")
    assert recipe.endswith(text)
    assert len(text.splitlines()) == 10
    [job] = yaml.safe_load(text)["jobs"].values()
    assert job["permissions"] == {"actions": "read", "contents": "read", "pull-requests": "write"}
    assert set(job["steps"][-1]["with"]) <= set(input_names())
