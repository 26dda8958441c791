"""Which rollout-compare this is."""

from __future__ import annotations

import os
import re

VERSION = "1.0.0"
_RECORDED = "$Format:%H$"
"""The commit, as `git archive` and the build of the image write it; in a checkout, this is what it stays."""
_SHA = re.compile(r"[0-9a-f]{40,64}")
_SHORT = 12
_LARGEST = 1 << 20


def commit() -> str:
    """The commit this was made from, shortened; empty when nothing tells.

    An archive and an image have it written down, pip notes it when it installs from git, a checkout is at one.
    """
    if _SHA.fullmatch(_RECORDED):
        return _RECORDED[:_SHORT]
    package = os.path.dirname(os.path.abspath(__file__))
    try:
        found = _of_installation(os.path.dirname(package)) or _of_checkout(os.path.dirname(os.path.dirname(package)))
    except (OSError, ValueError, AttributeError):
        return ""
    return found[:_SHORT] if _SHA.fullmatch(found) else ""


def _of_installation(folder: str) -> str:
    """The commit that an installation was made from. Source: PEP 610."""
    for name in os.listdir(folder):
        note = os.path.join(folder, name, "direct_url.json")
        if name.startswith("rollout_compare-") and os.path.exists(note):
            import json

            return str(json.loads(_text(note)).get("vcs_info", {}).get("commit_id", ""))
    return ""


def _of_checkout(folder: str) -> str:
    """The commit that is checked out. Source: git's description of the layout of a repository."""
    git = os.path.join(folder, ".git")
    if os.path.isfile(git):
        # A worktree, or a submodule.
        git = os.path.join(folder, _text(git).removeprefix("gitdir:").strip())
    head = _text(os.path.join(git, "HEAD")).strip()
    if not head.startswith("ref: "):
        return head
    ref = head.removeprefix("ref: ")
    shared = os.path.join(git, "commondir")
    if os.path.exists(shared):
        git = os.path.join(git, _text(shared).strip())
    loose = os.path.join(git, ref)
    if os.path.exists(loose):
        return _text(loose).strip()
    packed = re.search(rf"^([0-9a-f]+) {re.escape(ref)}$", _text(os.path.join(git, "packed-refs")), re.MULTILINE)
    return packed[1] if packed is not None else ""


def _text(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read(_LARGEST)
