"""Which model and agent made each row, and what it took: what may have changed besides the rewards."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from typing import Any

from rollout_compare.core.rows import Response, Row
from rollout_compare.core.side import Side

_NAN = float("nan")
_NAMED = 1000
"""How many models or agents of a side are told apart."""


def add_provenance(side: Side, rows: Sequence[Row]) -> None:
    """Keep what `rows`, just added to the side, say of their provenance; columns exist from the first value on."""
    before = len(side) - len(rows)
    responses = [row.response for row in rows]
    agents = [None if row.agent_ref is None else row.agent_ref.name for row in rows]
    if side.agents is not None or agents.count(None) != len(agents):
        if side.agents is None:
            side.agents = array("I", bytes(4 * before))
        side.agents.extend(side.names.codes(agents))
        _count(side.agents_seen, agents)
    _count(side.models, [response and response.model for response in responses])
    usages = [response and response.usage for response in responses]
    if side.measures or usages.count(None) != len(usages):
        _measure(side, "output_tokens", before, [usage and usage.output_tokens for usage in usages])
        _measure(side, "input_tokens", before, [usage and usage.input_tokens for usage in usages])
    if "seconds" in side.measures or any(row.agent_run_time for row in rows) or any(map(_is_timed, responses)):
        _measure(side, "seconds", before, list(map(_seconds, rows)))


def _is_timed(response: Response | None) -> bool:
    return response is not None and response.completed_at is not None


def _seconds(row: Row) -> float | None:
    """How long the attempt took: what the agent measured, else from the response's creation to its completion."""
    if row.agent_run_time is not None:
        return row.agent_run_time
    response = row.response
    if response is None or response.completed_at is None or response.created_at is None:
        return None
    return max(0.0, response.completed_at - response.created_at)


def _count(counter: Counter[str], names: Sequence[Any]) -> None:
    if names.count(None) != len(names) and len(counter) < _NAMED:
        counter.update(name for name in names if name is not None)


def _measure(side: Side, name: str, before: int, values: list[Any]) -> None:
    if name not in side.measures:
        if values.count(None) == len(values):
            return
        side.measures[name] = array("d", [_NAN]) * before
    side.measures[name].extend([_NAN if value is None else value for value in values])
