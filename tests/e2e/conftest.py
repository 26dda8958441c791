"""The official client of artifacts, installed once for all tests that need it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tools.npm import NpmError, install

CLIENT = Path(__file__).resolve().parent / "artifact_client"
"""Programs around the client, one of them an action, and the lock file that pins it."""


def installed_client(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of that folder with the client in it."""
    folder = tmp_path_factory.getbasetemp() / "official-client"
    if not folder.exists():
        # Under another name until it is whole.
        made = tmp_path_factory.mktemp("client")
        shutil.copytree(CLIENT, made, dirs_exist_ok=True)
        try:
            install(made)
        except NpmError as fault:
            pytest.fail(f"the official client is not there: {fault}", pytrace=False)
        made.rename(folder)
    return folder
