"""The parts of a release that are more than a command. Needs Python alone; .github/workflows/release.yml calls it.

tools/release.py check VERSION OWNER  see that VERSION can be released; prints what the workflow needs to know.
                                      The tags that there are come by standard input, one a line.
tools/release.py notes VERSION        print what CHANGELOG.md says of VERSION
tools/release.py pin IMAGE            let action.yml run IMAGE, ghcr.io/OWNER/rollout-compare:VERSION@sha256:...
tools/release.py agree TAG            see that TAG, the package and the image in action.yml are of one version
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_VERSION = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)", re.ASCII)
_PACKAGE_VERSION = re.compile(r'^VERSION = "(.*)"$', re.MULTILINE)
_BASE = re.compile(r"^ARG BASE_IMAGE=(\S+)$", re.MULTILINE)
_IMAGE_LINE = re.compile(r"^  image: (.*)$", re.MULTILINE)
_OWNER = re.compile(r"[a-z0-9][a-z0-9-]*")
_PUBLISHED = re.compile(r"ghcr\.io/[a-z0-9][a-z0-9-]*/rollout-compare:([^:@]+)@sha256:[0-9a-f]{64}")
_UNPUBLISHED = "Dockerfile"


class ReleaseError(Exception):
    """Why something cannot be released."""


def check(version: str, owner: str, tags: Iterable[str], root: Path = ROOT) -> dict[str, str]:
    """What a workflow needs to know to release `version`. Raises ReleaseError when it cannot be released."""
    wanted = _numbers(version)
    if (packaged := _package_version(root)) != version:
        raise ReleaseError(f"src/rollout_compare/version.py says {packaged}, not {version}")
    notes(version, root)
    if (image := _image(root)) != _UNPUBLISHED:
        raise ReleaseError(f"action.yml says `image: {image}`, not `image: {_UNPUBLISHED}`")
    released = [tag for tag in map(str.strip, tags) if _VERSION.fullmatch(tag.removeprefix("v")) and tag[0] == "v"]
    last = max(released, key=lambda tag: _numbers(tag[1:]), default=None)
    if last is not None and wanted <= _numbers(last[1:]):
        raise ReleaseError(f"{version} is not above {last}, which is there already")
    # Names of images have no capital letters.
    if not _OWNER.fullmatch(owner := owner.lower()):
        raise ReleaseError(f"no owner of an image: {owner}")
    return {
        "tag": f"v{version}",
        "major": f"v{wanted[0]}",
        "image": f"ghcr.io/{owner}/rollout-compare",
        "base": _one(_BASE, root / "Dockerfile"),
    }


def notes(version: str, root: Path = ROOT) -> str:
    """What the changelog says of a version, which has to have a date. Raises ReleaseError when that is nothing."""
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    heading = rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$"
    # Up to the next version, or to the addresses of links at the end.
    section = re.search(rf"{heading}\n(.*?)(?=^## |^\[[^\]\n]+\]: |\Z)", text, re.MULTILINE | re.DOTALL)
    if section is None:
        raise ReleaseError(f"CHANGELOG.md has no heading `## [{version}] - YYYY-MM-DD`")
    if not section[1].strip():
        raise ReleaseError(f"CHANGELOG.md says nothing of {version}")
    return section[1].strip() + "\n"


def pin(image: str, root: Path = ROOT) -> None:
    """Let action.yml run a published image. Raises ReleaseError for one that is not named by version and digest."""
    if _PUBLISHED.fullmatch(image) is None:
        raise ReleaseError(f"not ghcr.io/OWNER/rollout-compare:VERSION@sha256:DIGEST: {image}")
    if (found := _image(root)) != _UNPUBLISHED:
        raise ReleaseError(f"action.yml says `image: {found}`, not `image: {_UNPUBLISHED}`")
    action = root / "action.yml"
    text = action.read_text(encoding="utf-8")
    action.write_text(_IMAGE_LINE.sub(f"  image: docker://{image}", text), encoding="utf-8")


def agree(tag: str, root: Path = ROOT) -> None:
    """Raise ReleaseError unless a tag, the package and the image that action.yml runs are of one version."""
    image = _image(root)
    published = _PUBLISHED.fullmatch(image.removeprefix("docker://")) if image.startswith("docker://") else None
    found = {
        "the tag": tag.removeprefix("v") if tag.startswith("v") else tag,
        "the package": _package_version(root),
        "action.yml": published[1] if published else image,
    }
    if len(set(found.values())) > 1:
        raise ReleaseError("not of one version: " + ", ".join(f"{name} {version}" for name, version in found.items()))
    _numbers(found["the tag"])


def _numbers(version: str) -> tuple[int, ...]:
    found = _VERSION.fullmatch(version)
    if found is None:
        raise ReleaseError(f"no version such as 1.2.3: {version}")
    return tuple(map(int, found.groups()))


def _package_version(root: Path) -> str:
    return _one(_PACKAGE_VERSION, root / "src" / "rollout_compare" / "version.py")


def _image(root: Path) -> str:
    return _one(_IMAGE_LINE, root / "action.yml")


def _one(pattern: re.Pattern[str], file: Path) -> str:
    found = pattern.findall(file.read_text(encoding="utf-8"))
    if len(found) != 1:
        raise ReleaseError(f"{file.name} needs one line as of `{pattern.pattern}`, and has {len(found)}")
    return str(found[0])


def main(arguments: list[str], root: Path = ROOT) -> int:
    """Run one of the four; 1 when something is not as it has to be, 2 for other arguments."""
    try:
        match arguments:
            case ["check", version, owner]:
                for name, value in check(version, owner, sys.stdin, root).items():
                    print(f"{name}={value}")
            case ["notes", version]:
                print(notes(version, root), end="")
            case ["pin", image]:
                pin(image, root)
            case ["agree", tag]:
                agree(tag, root)
            case _:
                print(__doc__, file=sys.stderr)
                return 2
    except ReleaseError as fault:
        print(f"tools/release.py: {fault}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
