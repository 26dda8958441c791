"""Holds answers against the plan of a workload: a fast wrong answer is no answer."""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from measure import BenchError

if TYPE_CHECKING:
    from pathlib import Path

    from cache import Workload

_WINDOW = 1 << 20  # bytes looked at from either end of a summary


def verify_summary(path: Path, load: Workload) -> int:
    """Hold a JSON summary against the plan and give its bytes. Raises BenchError on any difference."""
    plan = load.plan
    verify_counts(_member(path, "counts"), load, "rollout-compare")
    _expect(_member(path, "join")["old_key"], "task_id", load, "rollout-compare's join")
    sides = _member(path, "sides")
    for side in ("old", "new"):
        got = {name: sides[side][name] for name in ("rows", "masked_rows")}
        _expect(got, {name: plan[side][name] for name in got}, load, f"rollout-compare's {side} side")
    return path.stat().st_size


def verify_logs(path: Path, load: Workload) -> None:
    """Hold a JSON summary against a plan whose flips all have an embedded log: each must be found."""
    verify_summary(path, load)
    found = path.read_bytes().count(b"row field test_output")
    _expect(found, load.plan["counts"]["flipped"], load, "rollout-compare's flips with logs")


def verify_counts(got: dict[str, int], load: Workload, who: str) -> None:
    """Raise BenchError unless the counts are the planned ones; one left out is 0."""
    wanted = load.plan["counts"]
    _expect(dict.fromkeys(wanted, 0) | got, wanted, load, who)


def _expect(got: object, wanted: object, load: Workload, who: str) -> None:
    if got != wanted:
        message = f"wrong answer of {who} on {load.name}: {got} instead of {wanted}"
        raise BenchError(message)


def _member(path: Path, name: str) -> Any:
    """Give one member of a JSON object without reading all of it: a million tasks may be in it."""
    with path.open("rb") as file:
        pieces = [file.read(_WINDOW)]
        size = file.seek(0, os.SEEK_END)
        if size > _WINDOW:
            file.seek(max(_WINDOW, size - _WINDOW))
            pieces.append(file.read())
    for piece in pieces:
        text = piece.decode("utf-8", "replace")
        found = re.search(rf'"{name}"\s*:\s*(?=\{{)', text)
        if found:
            with suppress(ValueError):
                return json.JSONDecoder().raw_decode(text, found.end())[0]
    message = f"no {name!r} in the JSON summary"
    raise BenchError(message)
