"""The programs of a release: what may be released, its notes, the image that action.yml names, the same reports."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from rollout_compare.version import VERSION
from tests.places import ROOT

DIGEST = "sha256:" + "0123456789abcdef" * 4
IMAGE = f"ghcr.io/some-owner/rollout-compare:1.2.3@{DIGEST}"
CHANGELOG = """# Changelog

## [Unreleased]

### Added

- Not out yet.

## [1.2.3] - 2026-11-30

### Fixed

- Something, see [the page](docs/page.md).

## [1.2.2] - 2026-10-01

- Older.

[1.2.2]: https://example.com/1.2.2
"""
ACTION = "name: x\nruns:\n  using: docker\n  image: Dockerfile\n  entrypoint: /x\n"
Tool = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """What a release looks at, of version 1.2.3."""
    (tmp_path / "src" / "rollout_compare").mkdir(parents=True)
    (tmp_path / "src" / "rollout_compare" / "version.py").write_text('"""Which."""\n\nVERSION = "1.2.3"\n', "utf-8")
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG, "utf-8")
    (tmp_path / "action.yml").write_text(ACTION, "utf-8")
    (tmp_path / "Dockerfile").write_text("ARG BASE_IMAGE=python:3.13-slim\nFROM ${BASE_IMAGE}\n", "utf-8")
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "release.py").write_bytes((ROOT / "tools" / "release.py").read_bytes())
    return tmp_path


@pytest.fixture
def tool(project: Path) -> Tool:
    """tools/release.py in that project."""

    def call(*arguments: str, tags: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-I", "tools/release.py", *arguments],
            cwd=project,
            input="".join(f"{tag}\n" for tag in tags),
            capture_output=True,
            text=True,
            check=False,
        )

    return call


def test_what_is_in_step_can_be_released(tool: Tool) -> None:
    done = tool("check", "1.2.3", "Some-Owner", tags=["v1", "v1.2.2", "v0.9.10", "other"])
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "tag=v1.2.3",
        "major=v1",
        "image=ghcr.io/some-owner/rollout-compare",
        "base=python:3.13-slim",
    ]


@pytest.mark.parametrize(
    "version", ["1.2", "v1.2.3", "01.2.3", "1.2.3-rc.1", "1.2.3\n", "", "1.2.3; rm -rf .", "\u0661.2.3"]
)
def test_a_version_is_three_numbers(tool: Tool, version: str) -> None:
    done = tool("check", version, "owner")
    assert (done.returncode, done.stdout) == (1, "")
    assert "no version such as 1.2.3" in done.stderr


def test_the_version_is_that_of_the_package(tool: Tool) -> None:
    done = tool("check", "1.2.4", "owner")
    assert done.returncode == 1
    assert "src/rollout_compare/version.py says 1.2.3, not 1.2.4" in done.stderr


@pytest.mark.parametrize("there", ["v1.2.3", "v1.3.0", "v2.0.0", "v1.10.0"])
def test_a_version_is_above_all_that_are_there(tool: Tool, there: str) -> None:
    done = tool("check", "1.2.3", "owner", tags=["v1.2.2", there])
    assert done.returncode == 1
    assert f"1.2.3 is not above {there}" in done.stderr


@pytest.mark.parametrize(
    ("heading", "reason"),
    [
        ("## [1.2.3]", "has no heading"),
        ("## [1.2.3] - soon", "has no heading"),
        ("## [1.2.30] - 2026-11-30", "has no heading"),
        ("## [1.2.3] - 2026-11-30\n\n## [1.2.1] - 2026-09-01", "says nothing of 1.2.3"),
    ],
)
def test_the_changelog_has_to_say_what_a_version_is(tool: Tool, project: Path, heading: str, reason: str) -> None:
    changed = CHANGELOG.replace("## [1.2.3] - 2026-11-30", heading)
    (project / "CHANGELOG.md").write_text(changed, "utf-8")
    done = tool("check", "1.2.3", "owner")
    assert done.returncode == 1
    assert reason in done.stderr


def test_notes_are_the_section_of_the_version_alone(tool: Tool) -> None:
    assert tool("notes", "1.2.3").stdout == "### Fixed\n\n- Something, see [the page](docs/page.md).\n"
    assert tool("notes", "1.2.2").stdout == "- Older.\n"


def test_a_pinned_action_differs_in_one_line_and_agrees_with_its_tag(tool: Tool, project: Path) -> None:
    assert tool("pin", IMAGE).returncode == 0
    pinned = (project / "action.yml").read_text("utf-8")
    assert pinned == ACTION.replace("image: Dockerfile", f"image: docker://{IMAGE}")
    done = tool("agree", "v1.2.3")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "image",
    [
        "ghcr.io/owner/rollout-compare:1.2.3",
        f"ghcr.io/owner/rollout-compare@{DIGEST}",
        f"ghcr.io/Owner/rollout-compare:1.2.3@{DIGEST}",
        f"ghcr.io/owner/other:1.2.3@{DIGEST}",
        f"{IMAGE}\n  entrypoint: /other",
    ],
)
def test_an_image_is_named_by_version_and_digest(tool: Tool, project: Path, image: str) -> None:
    assert tool("pin", image).returncode == 1
    assert (project / "action.yml").read_text("utf-8") == ACTION


def test_main_never_names_a_published_image(tool: Tool) -> None:
    tool("pin", IMAGE)
    for arguments in (("check", "1.2.3", "owner"), ("pin", IMAGE)):
        done = tool(*arguments)
        assert done.returncode == 1
        assert "not `image: Dockerfile`" in done.stderr


@pytest.mark.parametrize(
    ("tag", "image"),
    [
        ("v1.2.4", IMAGE),
        ("1.2", IMAGE),
        ("v1", IMAGE),
        ("v1.2.3", IMAGE.replace(":1.2.3", ":1.2.2")),
        ("v1.2.3", None),
    ],
)
def test_tag_package_and_image_of_different_versions_are_found(tool: Tool, tag: str, image: str | None) -> None:
    if image is not None:
        assert tool("pin", image).returncode == 0
    done = tool("agree", tag)
    assert done.returncode == 1
    assert "not of one version" in done.stderr


def test_other_arguments_are_wrong_usage(tool: Tool) -> None:
    assert tool("check", "1.2.3").returncode == 2
    assert tool().returncode == 2


def test_the_changelog_of_this_checkout_has_a_place_for_its_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert re.search(rf"^## \[(Unreleased\]|{re.escape(VERSION)}\] - \d{{4}}-\d\d-\d\d)$", text, re.MULTILINE)


def test_this_checkout_has_one_version_and_no_published_image() -> None:
    command = [sys.executable, "-I", "tools/release.py", "agree", f"v{VERSION}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert f"the tag {VERSION}, the package {VERSION}, action.yml Dockerfile" in done.stderr


@pytest.fixture
def docker(tmp_path: Path) -> Tool:
    """tools/same_reports.py with a docker that prints its last arguments, and what a script adds."""

    def call(*arguments: str, script: str = ":") -> subprocess.CompletedProcess[str]:
        stand_in = tmp_path / "bin" / "docker"
        stand_in.parent.mkdir(exist_ok=True)
        stand_in.write_text(f'#!/bin/sh\necho "$*" >>{tmp_path}/calls\necho report\n{script}\n', "utf-8")
        stand_in.chmod(0o755)
        return subprocess.run(
            [sys.executable, ROOT / "tools" / "same_reports.py", *arguments],
            env={**os.environ, "PATH": f"{stand_in.parent}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            check=False,
        )

    return call


BOTH = ("linux/amd64=image:a", "linux/arm64=image:b")


def test_the_same_reports_on_both_platforms(docker: Tool, tmp_path: Path) -> None:
    done = docker(*BOTH)
    assert (done.returncode, done.stderr) == (0, "")
    calls = (tmp_path / "calls").read_text("utf-8").splitlines()
    # Two pairs of examples and four reports, on each of two platforms.
    assert len(calls) == 16
    assert sum("--platform linux/arm64 " in call and " image:b " in call for call in calls) == 8
    assert all("--network none --read-only" in call for call in calls)


def test_one_other_byte_is_found(docker: Tool) -> None:
    done = docker(*BOTH, script='case "$*" in *linux/arm64*verifier-fix/old*--html*) echo " ";; esac')
    assert done.returncode == 1
    assert done.stderr == "not the same: verifier-fix, HTML, linux/amd64 and linux/arm64\n"


def test_one_platform_alone_is_no_comparison(docker: Tool) -> None:
    assert docker(BOTH[0]).returncode == 2
    assert docker("image:a", "image:b").returncode == 2
