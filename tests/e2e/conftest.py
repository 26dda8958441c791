"""The official client of artifacts, installed once for all tests that need it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

CLIENT = Path(__file__).resolve().parent / "artifact_client"
"""Programs around the client, one of them an action, and the lock file that pins it."""


def installed_client(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of that folder with the client in it."""
    folder = tmp_path_factory.getbasetemp() / "official-client"
    if not folder.exists():
        npm = shutil.which("npm")
        assert npm is not None, "these tests need Node.js and npm"
        # Under another name until it is whole.
        made = tmp_path_factory.mktemp("client")
        shutil.copytree(CLIENT, made, dirs_exist_ok=True)
        quiet = ("--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
        subprocess.run([npm, "ci", *quiet], cwd=made, check=True, timeout=300)
        made.rename(folder)
    return folder
