"""The runner's side: workflow commands on standard output, the files for outputs and the job summary.

The runner takes commands from both output streams, at the start of a line and, in an old form, anywhere in it. So no
text goes out except as the escaped data of a command of ours. Source: the runner's classes ActionCommand and
FileCommandManager.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Callable, Iterable, Mapping
from typing import Literal

from rollout_compare.output import OutputError
from rollout_compare.report.untrusted import label

SUMMARY_LIMIT = 1_048_576
"""Bytes of a step's job summary; the runner drops a larger one as a whole."""
_SUMMARY_MARGIN = 4_096
_LONGEST = {"notice": 900, "warning": 900, "error": 4_000}
"""Characters of an annotation; the runner shows 4,096 at most."""
_MOST_OF_A_KIND = 10
"""Annotations of a kind that are shown for a step."""
_CHECKOUTS = ("/home/runner/work", "/__w")
"""Where GitHub's own runners have checkouts: on the machine, and in a job's container."""
_LONGEST_OUTPUTS = 1_000_000

Level = Literal["notice", "warning", "error"]


class Commands:
    """Messages for people, as annotations of the run. `redact` takes tokens out of all of them."""

    def __init__(self, write: Callable[[str], None], redact: Callable[[str], str]) -> None:
        self._write = write
        self._redact = redact
        self._told: dict[str, int] = {}

    def notice(self, message: str) -> None:
        """Tell something that is good to know."""
        self._annotate("notice", message)

    def warning(self, message: str) -> None:
        """Tell what could not be done, and what to change."""
        self._annotate("warning", message)

    def error(self, message: str) -> None:
        """Tell why the step fails."""
        self._annotate("error", message)

    def _annotate(self, level: Level, message: str) -> None:
        number = self._told[level] = self._told.get(level, 0) + 1
        if number > _MOST_OF_A_KIND and level != "error":
            return
        text = self._redact(message)
        if len(text) > _LONGEST[level]:
            text = text[: _LONGEST[level]] + "…"
        self._write(f"::{level} title=rollout-compare::{_escaped(text)}\n")


def _escaped(text: str) -> str:
    """Text as the data of a command."""
    visible = "".join(character if character.isprintable() or character in "\r\n%" else " " for character in text)
    return visible.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


class Files:
    """The files that the runner reads after the step; each may be missing, and then `warn` is told once."""

    def __init__(self, environment: Mapping[str, str], warn: Callable[[str], None]) -> None:
        self._output = environment.get("GITHUB_OUTPUT", "")
        self._summary = environment.get("GITHUB_STEP_SUMMARY", "")
        self._warn = warn

    def set_outputs(self, outputs: Iterable[tuple[str, str]]) -> None:
        """Set outputs of the step. A value cannot set another output, whatever it holds."""
        pieces = []
        size = 0
        for name, value in outputs:
            delimiter = f"rollout-compare-{secrets.token_hex(16)}"
            clean = "\n".join(map(label, value.splitlines()))
            assert delimiter not in clean
            piece = f"{name}<<{delimiter}\n{clean}\n{delimiter}\n"
            size += len(piece.encode("utf-8"))
            if size > _LONGEST_OUTPUTS:
                self._warn("outputs beyond 1 MB are omitted to fit the size limit")
                break
            pieces.append(piece)
        self._append(self._output, "".join(pieces), "GITHUB_OUTPUT", "outputs are not set")

    def room_for_summary(self) -> int:
        """How many bytes of job summary there is room for; 0 when it cannot be written."""
        if not self._summary:
            return 0
        try:
            taken = os.stat(self._summary).st_size
        except OSError:
            taken = 0
        return max(0, SUMMARY_LIMIT - _SUMMARY_MARGIN - taken)

    def add_summary(self, markdown: str) -> None:
        """Add to the job summary of the step."""
        self._append(self._summary, markdown, "GITHUB_STEP_SUMMARY", "the job summary is not written")

    def _append(self, path: str, text: str, variable: str, consequence: str) -> None:
        if not path:
            self._warn(f"{variable} is not set: {consequence}")
            return
        try:
            with open(path, "a", encoding="utf-8", newline="\n") as file:
                file.write(text)
        except (OSError, ValueError) as fault:
            self._warn(f"{variable} could not be written ({getattr(fault, 'strerror', None) or fault}): {consequence}")


class Workspace:
    """The folder of the checkout, which is the working directory, under all its names in and out of the container."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.root = os.getcwd()
        repository = environment.get("GITHUB_REPOSITORY", "").rpartition("/")[2]
        outside = environment.get("RUNNER_WORKSPACE", "").rstrip("/")
        names = [f"{outside}/{outside.rpartition('/')[2]}"] if outside else []
        if repository:
            names += [f"{outside}/{repository}"] if outside else []
            names += [f"{folder}/{repository}/{repository}" for folder in _CHECKOUTS]
        given = environment.get("GITHUB_WORKSPACE", "").rstrip("/")
        self._names = [name for name in dict.fromkeys([self.root, given, "/github/workspace", *names]) if name]

    def path(self, given: str) -> str:
        """A path from the working directory, whatever name of the workspace it was given under."""
        for name in self._names:
            below = given.removeprefix(name)
            if below != given and (not below or below.startswith("/")):
                return os.path.normpath(below.lstrip("/")) if below.strip("/") else "."
        return given

    def holds(self, path: str) -> bool:
        """Whether a path lies inside the workspace, whatever links are on the way."""
        root, resolved = os.path.realpath(self.root), os.path.realpath(path)
        return os.path.commonpath((root, resolved)) == root

    def visible(self) -> str:
        """What the workspace holds, for the message about a path that does not exist."""
        try:
            entries = sorted(os.listdir(self.root))
        except OSError:
            return f"the workspace {self.root} could not be listed"
        if not entries:
            return (
                f"the workspace {self.root} is empty: is there a checkout step before this one, and does the runner "
                "share its folder with containers?"
            )
        shown = ", ".join(entries[:20]) + (f" and {len(entries) - 20} more" if len(entries) > 20 else "")
        return f"the workspace {self.root} holds: {shown}"

    def give_to_owner(self, path: str) -> None:
        """Give a file or folder to the owner of the workspace, as this process may be root."""
        owner = os.stat(self.root)
        if os.geteuid() == 0:
            os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)


def free_place(path: str) -> None:
    """See that a file can be written at `path` and nowhere else: what a checkout put there may be a link elsewhere.

    Raises OutputError when there is something else than a file.
    """
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    if stat.S_ISLNK(mode):
        os.unlink(path)
    elif not stat.S_ISREG(mode):
        raise OutputError(f"{path}: not a file")


def made_folder(workspace: Workspace, folder: str) -> str:
    """A folder of the workspace, created if it does not exist. Raises OutputError, also for one outside."""
    path = workspace.path(folder)
    if not workspace.holds(path) or os.path.realpath(path) == os.path.realpath(workspace.root):
        raise OutputError(f"{folder}: not a folder inside the workspace")
    missing = []
    parent = os.path.abspath(path)
    while not os.path.lexists(parent):
        missing.append(parent)
        parent = os.path.dirname(parent)
    try:
        os.makedirs(path, exist_ok=True)
        for made in missing:
            workspace.give_to_owner(made)
    except OSError as fault:
        raise OutputError(f"{folder}: could not be created: {fault.strerror}") from None
    return path
