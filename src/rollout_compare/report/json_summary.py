"""Writing the JSON summary, task by task: `report.summary` holds its shape."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import msgspec

from rollout_compare.core.causes.grouping import KINDS, Cause
from rollout_compare.core.causes.test_changes import TestChanges
from rollout_compare.core.judging.assessment import MaskedOnly, Solved, Statistics
from rollout_compare.core.judging.baseline import Baseline
from rollout_compare.core.reading.digest import digest_of
from rollout_compare.core.reading.side import Side
from rollout_compare.core.schema import FLIPS, Join
from rollout_compare.report.facts import Facts
from rollout_compare.report.untrusted import Redactor
from rollout_compare.statistics.evidence import Evidence
from rollout_compare.statistics.masks import Bracket
from rollout_compare.statistics.noise import NoiseFloor
from rollout_compare.statistics.paired import Interval
from rollout_compare.version import VERSION

SCHEMA_VERSION = 1
_NAMED = 20
"""How many models and agents of a side are told, the most frequent first."""

_encode = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode


def json_summary(facts: Facts) -> Iterator[str]:
    """The summary's text in pieces, one task a line."""
    comparison, redact = facts.comparison, facts.redact
    head = {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "rollout-compare", "version": VERSION},
        "sides": {name: _side(side, redact) for name, side in comparison.sides.named()},
        "verdict": {"kind": comparison.verdict.kind, "sentence": comparison.verdict.sentence},
        "counts": comparison.counts,
        "join": _join(comparison.join),
        "notes": comparison.notes,
        "warnings": comparison.warnings,
        "statistics": _statistics(facts.statistics, redact),
        "baseline": _baseline(comparison.baseline, redact),
        "one_sided": comparison.one_sided,
        "causes": [_cause(cause) for cause in facts.explanation.causes],
    }
    members = [f'"{name}": {_encoded(value)},\n' for name, value in head.items()]
    yield "{\n" + "".join(members) + '"tasks": ['
    separator = "\n"
    for at, task in enumerate(comparison.tasks):
        entry = {
            "task": task.task,
            "taskset": comparison.tasks.taskset(at),
            "category": task.category,
            "winner": task.winner,
            **_maker(comparison.join, task.maker, redact),
            "old": task.old,
            "new": task.new,
            "evidence": _evidence(comparison.assessment.evidence.get(at)),
            "verifier_output": _source(facts, at) if task.category in FLIPS else None,
            "tests": _tests(facts.explanation.changes.get(at)),
            "cause": facts.explanation.signatures.get(at),
        }
        yield separator + _encoded(entry)
        separator = ",\n"
    yield f'\n],\n"redacted": {redact.number}\n}}\n'


def _join(join: Join) -> dict[str, Any]:
    """How tasks were matched; what tells them apart besides, only where something does."""
    optional = ("keyed_by_agent", "keyed_by_model")
    return {name: value for name, value in asdict(join).items() if value or name not in optional}


def _maker(join: Join, maker: str | None, redact: Redactor) -> dict[str, str | None]:
    shown = None if maker is None else redact(maker)
    return {"agent": shown} if join.keyed_by_agent else {"model": shown} if join.keyed_by_model else {}


def _side(side: Side, redact: Redactor) -> dict[str, Any]:
    tallies = [shard.tally for shard in side.shards]
    return {
        "paths": redact.all(side.paths),
        "format": side.format,
        "bytes": side.bytes,
        "rows": len(side),
        "masked_rows": side.masked_rows,
        "digest": digest_of(side),
        "models": _named(side.named(side.provenance.models), redact),
        "agents": _named(side.named(side.provenance.agents), redact),
        "shards": redact.all([shard.files.rollouts for shard in side.shards]),
        "sidecar": {
            name: sum(getattr(tally, name) for tally in tallies)
            for name in ("records", "standing", "superseded", "set_aside")
        },
    }


def _baseline(baseline: Baseline | None, redact: Redactor) -> dict[str, Any] | None:
    if baseline is None:
        return None
    return {name: redact(value) if isinstance(value, str) else value for name, value in asdict(baseline).items()}


def _named(seen: Counter[str], redact: Redactor) -> dict[str, int]:
    named: Counter[str] = Counter()
    for name, rows in seen.most_common(_NAMED):
        named[redact(name)] += rows
    return dict(named)


def _encoded(value: Any) -> str:
    """The JSON of a value: in ASCII, by escapes, so that any text survives, lone surrogates too."""
    try:
        fast = msgspec.json.encode(value, enc_hook=str)
        if fast.isascii():
            return _without_command(fast.decode("ascii"))
    except UnicodeEncodeError:
        pass
    return _without_command(_encode(msgspec.to_builtins(value, enc_hook=str)))


def _without_command(text: str) -> str:
    """The same JSON; but a runner that reads it in a log takes `##[` for the start of a command, anywhere in a line."""
    return text.replace("##[", "##\\u005b")


def _statistics(found: Statistics, redact: Redactor) -> dict[str, Any]:
    """The figures under their names; named tuples become objects, which `msgspec` would make arrays."""
    figures: dict[str, Any] = msgspec.structs.asdict(found)
    for name in ("interval", "solved", "noise_floor", "bracket", "masked_only"):
        figures[name] = _object(figures[name])
    figures["groups"] = [
        msgspec.structs.asdict(group) | {"name": redact(group.name), "interval": _object(group.interval)}
        for group in found.groups
    ]
    return figures


def _object(value: Interval | Solved | NoiseFloor | Bracket | MaskedOnly | None) -> dict[str, Any] | None:
    return None if value is None else value._asdict()


def _evidence(evidence: Evidence | None) -> dict[str, Any] | None:
    return None if evidence is None else {"tag": evidence.tag, "p": evidence.p}


def _cause(cause: Cause) -> dict[str, Any]:
    numbers: dict[str, int] = {kind: cause.numbers[kind] for kind in KINDS}
    return {"signature": cause.signature, "example": cause.example, **numbers, "tasks": cause.named}


def _tests(changes: TestChanges | None) -> dict[str, Any] | None:
    if changes is None:
        return None
    kinds = {"broke": changes.broke, "fixed": changes.fixed, "not_run": changes.not_run}
    totals = {name: getattr(changes, name) for name in ("old_passed", "old_total", "new_passed", "new_total")}
    lists = {
        kind: [{"name": test.name, "message": test.message, "group": test.group} for test in found.tests]
        for kind, found in kinds.items()
    }
    return totals | lists | {f"{kind}_total": found.total for kind, found in kinds.items()}


def _source(facts: Facts, at: int) -> dict[str, str]:
    output = facts.outputs.source(at)
    return {"side": output.side, "source": str(output.source)}
