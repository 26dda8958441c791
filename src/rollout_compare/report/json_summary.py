"""Writing the JSON summary, task by task: `report.summary` holds its shape."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from rollout_compare.core.compare import Comparison
from rollout_compare.core.schema import TaskSide
from rollout_compare.core.side import Side
from rollout_compare.core.verifier_output import VerifierOutputs
from rollout_compare.version import VERSION

SCHEMA_VERSION = 1
_FLIPS = ("flipped", "flipped_agent_error")

# ASCII by escapes, so that any text survives, lone surrogates too; NaN is a programming error here.
_encode = json.JSONEncoder(ensure_ascii=True, allow_nan=False).encode


def json_summary(comparison: Comparison, outputs: VerifierOutputs) -> Iterator[str]:
    """The summary's text in pieces, one task a line."""
    head = {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "rollout-compare", "version": VERSION},
        "sides": {"old": _side(comparison.old), "new": _side(comparison.new)},
        "counts": comparison.counts,
        "join": asdict(comparison.join),
        "notes": comparison.notes,
        "warnings": [asdict(warning) for warning in comparison.warnings],
    }
    members = [f"{_encode(name)}: {_encode(value)},\n" for name, value in head.items()]
    yield "{\n" + "".join(members) + '"tasks": ['
    separator = "\n"
    for at, task in enumerate(comparison.tasks):
        entry = {
            "task": task.task,
            "category": task.category,
            "winner": task.winner,
            "old": _task_side(task.old),
            "new": _task_side(task.new),
            "verifier_output": _source(outputs, at) if task.category in _FLIPS else None,
        }
        yield separator + _encode(entry)
        separator = ",\n"
    yield "\n]\n}\n"


def _side(side: Side) -> dict[str, Any]:
    tally = side.sidecar
    return {
        "paths": side.paths,
        "bytes": side.bytes,
        "rows": len(side),
        "masked_rows": side.masked_rows,
        "digest": side.digest(),
        "shards": [shard.files.rollouts for shard in side.shards],
        "sidecar": {
            "records": tally.records,
            "standing": tally.standing,
            "superseded": tally.superseded,
            "set_aside": tally.set_aside,
        },
    }


def _task_side(side: TaskSide | None) -> dict[str, Any] | None:
    if side is None:
        return None
    return {
        "reward": side.reward,
        "rows": side.rows,
        "masked": side.masked,
        "agent_error": side.agent_error,
        "failure_kind": side.failure_kind,
        "counted_reward": side.counted_reward,
        "counted_rows": side.counted_rows,
        "rewards": side.rewards,
        "failure_message": side.failure_message,
    }


def _source(outputs: VerifierOutputs, at: int) -> dict[str, str]:
    output = outputs.of(at)
    return {"side": output.side, "source": output.source}
