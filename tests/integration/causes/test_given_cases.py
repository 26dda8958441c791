"""One small made-up case a rule, with what reports must say of it: see tests/cases/causes/CASES.md."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import pytest

from tests.conftest import Compare
from tests.integration.causes.expectation import Told, faults
from tests.places import CASES

FOLDER = CASES / "causes"
TOKEN = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7cF0iL3oR6"
"""Made up, and in no file, where a scanner of secrets would find it."""


@pytest.mark.parametrize("name", sorted(case.name for case in FOLDER.iterdir() if case.is_dir()))
def test_reports_say_what_the_case_wants(
    name: str, tmp_path: Path, run: Compare, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / name
    shutil.copytree(FOLDER / name, copy)
    for file in (each for each in copy.rglob("*") if each.is_file()):
        file.write_bytes(file.read_bytes().replace(b"@TOKEN@", TOKEN.encode()))
    arguments = json.loads((copy / "args.json").read_text()) if (copy / "args.json").exists() else {}
    for path, target in arguments.get("links", {}).items():
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        (copy / path).symlink_to(target)
    folder = copy / arguments.get("cwd", ".")
    folder.mkdir(exist_ok=True)
    monkeypatch.chdir(folder)
    sides = [os.path.relpath(copy / arguments.get(side, f"{side}.jsonl"), folder) for side in ("old", "new")]
    outputs = {form: tmp_path / form for form in ("json", "markdown", "html")}
    done = run(*sides, *(part for form, path in outputs.items() for part in (f"--{form}", path)))
    assert done.status == 0, done.err
    summary, markdown, html = (path.read_text(encoding="utf-8") for path in outputs.values())
    want = json.loads((copy / "expected.json").read_text(encoding="utf-8"))
    assert faults(want, Told(json.loads(summary), done.out, markdown, html)) == []


def test_every_case_is_told_of() -> None:
    told = re.findall(r"^\| (\d\d-[\w-]+) \|", (FOLDER / "CASES.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert told == sorted(case.name for case in FOLDER.iterdir() if case.is_dir())
