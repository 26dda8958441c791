"""What the tools say when npm cannot be had: one line, whatever npm itself prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.npm import NpmError, install, npm

UNREACHABLE = """
echo 'npm error code ENOTFOUND' >&2
echo 'npm error syscall getaddrinfo' >&2
echo 'npm error FetchError: request to https://registry.example.com/a failed' >&2
echo 'npm error     at ClientRequest.<anonymous> (lib/index.js:130:14)' >&2
exit 1
"""


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that alone is searched for programs."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def write_program(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)


def test_an_unreachable_registry_is_one_line(programs: Path, tmp_path: Path) -> None:
    write_program(programs / "npm", UNREACHABLE)
    write_program(programs / "node", "exit 0")
    with pytest.raises(NpmError) as caught:
        install(tmp_path)
    assert str(caught.value).startswith("npm ci failed (ENOTFOUND): ")
    assert len(str(caught.value).splitlines()) == 1


def test_a_fault_without_a_code_is_one_line(programs: Path, tmp_path: Path) -> None:
    write_program(programs / "npm", "echo 'node: cannot load a library' >&2; exit 127")
    write_program(programs / "node", "exit 0")
    with pytest.raises(NpmError, match=r"^npm ci failed \(exit status 127\): [^\n]+$"):
        install(tmp_path)


@pytest.mark.parametrize("there", ["npm", "node"])
def test_npm_or_node_that_is_not_there_is_said_to_be_missing(programs: Path, tmp_path: Path, there: str) -> None:
    write_program(programs / there, "exit 0")
    with pytest.raises(NpmError, match=r"^Node\.js with npm is not there$"):
        install(tmp_path)


def test_what_npm_prints_is_handed_on(programs: Path, tmp_path: Path) -> None:
    write_program(programs / "npm", "pwd; echo $1 $2")
    write_program(programs / "node", "exit 0")
    assert npm("pack", "thing@1", folder=tmp_path).splitlines() == [str(tmp_path), "pack thing@1"]
