"""Make sure that there is a Chromium for the tests of the HTML report; say in one line why not when there is none.

On a Debian-like machine, as root, it is installed with apt. The exit status is 0 either way: without a browser its
tests are skipped.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
"""How it is started: without a window, and asking nothing of a network."""
_PACKAGES = ("chromium", "fonts-dejavu-core")


def find_browser() -> str | None:
    """The path of the first Chromium on PATH."""
    return next((path for name in NAMES if (path := shutil.which(name)) is not None), None)


def _why_not() -> str | None:
    """Install a Chromium; why there is none afterwards."""
    if shutil.which("apt-get") is None:
        return "no Chromium on PATH, and no apt-get to install one with"
    if os.geteuid() != 0:
        return "no Chromium on PATH, and only root may install one: apt-get install chromium"
    print("Installing Chromium for the tests of the HTML report", flush=True)
    commands = (("update",), ("install", "--yes", "--no-install-recommends", *_PACKAGES))
    for command in commands:
        done = subprocess.run(
            ["apt-get", "-qq", *command],
            env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            said = done.stderr.strip().splitlines() or ["no reason given"]
            return f"no Chromium on PATH, and apt-get {command[0]} failed: {said[-1]}"
    return None if find_browser() else "apt-get installed no Chromium that is on PATH"


def main() -> int:
    """Install a Chromium unless there is one."""
    if find_browser() is None and (why_not := _why_not()) is not None:
        print(f"{why_not}: the tests in a browser are skipped", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
