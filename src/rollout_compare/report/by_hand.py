"""How to make the same comparison by hand: the commands that a report names."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import NamedTuple

from rollout_compare.core.schema import SideName
from rollout_compare.report.facts import Input
from rollout_compare.report.wording import NAME_LIMIT


class Download(NamedTuple):
    """An artifact that a side came from, for whoever wants it too."""

    side: SideName
    artifact: str
    run_id: int
    repository: str

    @property
    def command(self) -> str:
        """How to have it in a folder named like the side, with GitHub's command line."""
        name = option_text("--name", self.artifact)
        return f"gh run download {self.run_id} {option_text('--repo', self.repository)} {name} --dir {self.side}"


def option_text(name: str, value: str) -> str:
    """An option as one types it into a shell; a value that looks like an option is tied to it."""
    return f"{name}{'=' if value.startswith('-') else ' '}{shlex.quote(value)}"


def command_line(inputs: Sequence[Input], options: str, downloads: Sequence[Download] = ()) -> str:
    """How to make the same comparison by hand, as long as its paths are such as one would type.

    `options` are those that the comparison takes besides.
    """
    if sum(len(path) for side in inputs for path in side.paths) > 2 * NAME_LIMIT:
        return "rollout-compare OLD NEW"
    by_side = {download.side: download for download in downloads}
    found = []
    for side in inputs:
        paths = side.paths
        if side.name in by_side:
            # The artifact becomes a folder with the name of the side, wherever its files came from.
            paths = [f"{side.name}/{path.removeprefix(f'{by_side[side.name].artifact}/')}" for path in paths]
            options = " ".join(filter(None, [options, option_text(f"--{side.name}-logs-root", side.name)]))
        found.append((side, paths))
    if any(side.more for side in inputs):
        given = [option_text(f"--{side.name}", path) for side, paths in found for path in paths]
    else:
        plain = [path for _, paths in found for path in paths]
        given = [*(["--"] if any(path.startswith("-") for path in plain) else []), *map(shlex.quote, plain)]
    compared = " ".join(filter(None, ["rollout-compare", options, *given]))
    return " && ".join([*(download.command for download in downloads), compared])
