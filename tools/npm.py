"""npm, for what comes from its registry only: it does what is asked, or there is one line that says why not."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

_QUIET = ("--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
_RETRIES = ("--fetch-retries=2", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000")
_PATIENCE = 300
"""Seconds for one call."""


class NpmError(Exception):
    """What npm could not do and why, on one line."""


def npm(*arguments: str, folder: Path) -> str:
    """What npm prints when it is called in a folder. Raises NpmError."""
    program = shutil.which("npm")
    if program is None or shutil.which("node") is None:
        raise NpmError("Node.js with npm is not there")
    asked = f"npm {arguments[0]}"
    try:
        done = subprocess.run(
            [program, *arguments, *_QUIET, *_RETRIES],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise NpmError(f"{asked} did not end within {_PATIENCE} seconds") from None
    if done.returncode:
        code = re.search(r"^npm (?:error|ERR!) code (\S+)", done.stderr, re.MULTILINE)
        why = code[1] if code else f"exit status {done.returncode}"
        raise NpmError(f"{asked} failed ({why}): it has to reach its registry, which `npm ping` tries")
    return done.stdout


def install(folder: Path) -> None:
    """Install what the lock file in a folder pins. Raises NpmError."""
    npm("ci", folder=folder)
