"""`--version` names the commit that the program was made from, wherever it came from."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rollout_compare.version import VERSION
from tests.places import ROOT

PACKAGE = "src/rollout_compare"

Git = Callable[..., str]


def version(folder: Path) -> str:
    """What `--version` prints when the package lies in this folder."""
    code = "from rollout_compare.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-S", "-c", code, "--version"],
        env={"PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository with this package in it, and one commit."""
    folder = tmp_path / "checkout"
    shutil.copytree(ROOT / PACKAGE, folder / PACKAGE, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / ".gitattributes", folder)
    git_in(folder)("init", "-q", "-b", "main")
    git_in(folder)("add", "-A")
    git_in(folder)("commit", "-qm", "all")
    return folder


def git_in(folder: Path) -> Git:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")

    def git(*words: str) -> str:
        program = shutil.which("git")
        assert program is not None
        return subprocess.run([program, *who, *words], cwd=folder, capture_output=True, text=True, check=True).stdout

    return git


def named(folder: Path) -> str:
    return f"rollout-compare {VERSION} ({git_in(folder)('rev-parse', 'HEAD')[:12]})\n"


def test_a_checkout_names_its_commit(checkout: Path) -> None:
    assert version(checkout / "src") == named(checkout)


@pytest.mark.parametrize(
    "how", [("checkout", "-q", "--detach"), ("pack-refs", "--all"), ("checkout", "-q", "-b", "a/b")]
)
def test_a_checkout_names_its_commit_however_git_keeps_it(checkout: Path, how: tuple[str, ...]) -> None:
    git_in(checkout)(*how)
    assert version(checkout / "src") == named(checkout)


def test_a_worktree_names_its_own_commit(checkout: Path, tmp_path: Path) -> None:
    git_in(checkout)("commit", "-q", "--allow-empty", "-m", "more")
    git_in(checkout)("worktree", "add", "-q", "-b", "other", str(tmp_path / "other"), "HEAD~1")
    assert named(tmp_path / "other") != named(checkout)
    assert version(tmp_path / "other" / "src") == named(tmp_path / "other")


def test_an_archive_names_the_commit_it_was_made_of(checkout: Path, tmp_path: Path) -> None:
    git_in(checkout)("archive", "-o", str(tmp_path / "all.tar"), "HEAD")
    shutil.unpack_archive(tmp_path / "all.tar", tmp_path / "unpacked", filter="data")
    assert version(tmp_path / "unpacked" / "src") == named(checkout)


def test_an_installation_from_git_names_the_commit_that_pip_noted(checkout: Path, tmp_path: Path) -> None:
    shutil.copytree(checkout / PACKAGE, tmp_path / "site" / "rollout_compare")
    note = tmp_path / "site" / f"rollout_compare-{VERSION}.dist-info" / "direct_url.json"
    note.parent.mkdir()
    note.write_text(json.dumps({"url": "https://example.com", "vcs_info": {"vcs": "git", "commit_id": "b" * 40}}))
    assert version(tmp_path / "site") == f"rollout-compare {VERSION} ({'b' * 12})\n"


@pytest.mark.parametrize("head", [None, "", "ref: refs/heads/absent", "no commit", "\N{SNOWMAN}"])
def test_without_a_commit_there_is_the_version(checkout: Path, tmp_path: Path, head: str | None) -> None:
    if head is None:
        shutil.rmtree(checkout / ".git")
    else:
        (checkout / ".git" / "HEAD").write_text(head, encoding="utf-8")
    assert version(checkout / "src") == f"rollout-compare {VERSION}\n"
