"""What a row says about itself besides its reward: masked or not, an agent error, a measured failure."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import msgspec

from rollout_compare.core.rows import Row, SidecarRow
from rollout_compare.core.schema import LABEL_LIMIT

_ERROR_LIMIT = 120
_ERROR_TYPE = "error_type"
_DEFAULT_FAILURE = "failure"


class Signals(NamedTuple):
    """The signals of one row; all None for a row that just counts."""

    masked: str | None = None
    agent_error: str | None = None
    failure_kind: str | None = None
    message: str | None = None


SILENT = Signals()


def signals_of(row: Row) -> Signals:
    """The signals of a row of a rollouts file."""
    masked = _mask_reason(row)
    measured = None if masked is not None or not row.failure_kind else _label(row.failure_kind)
    return Signals(masked, _agent_error(row), measured)


def signals_of_failure(record: SidecarRow) -> Signals:
    """The signals of a failures sidecar record that stands: it is masked."""
    kind = failure_class_of(record) if record.failure_kind is msgspec.UNSET else record.failure_kind
    message = _label(record.failure_message) if record.failure_message else None
    return Signals(_mask_sample(kind), _agent_error(record), None, message)


def as_measured(said: Signals, failure_class: str, record: SidecarRow) -> Signals:
    """The signals of a record that counts as reward 0 instead: a measured failure."""
    own = record.failure_kind
    kind = failure_class if own is msgspec.UNSET or not own else _label(own)
    return said._replace(masked=None, failure_kind=kind)


def failure_class_of(record: SidecarRow) -> str:
    """The failure class by which `--count-as-zero` names a record."""
    return _label(record.failure_class) if record.failure_class else _DEFAULT_FAILURE


def _mask_reason(row: Row) -> str | None:
    if row.mask_sample:
        return _mask_sample(row.failure_kind)
    if row.reward is None:
        return "no reward"
    if not math.isfinite(row.reward):
        return f"non-finite reward ({float(row.reward)})"
    return None


def _mask_sample(kind: Any) -> str:
    return f"mask_sample (failure_kind={_label(kind)})" if kind else "mask_sample"


def _agent_error(row: Row) -> str | None:
    if row.error:
        text = _text(row.error)
        lines = text.strip().splitlines()
        return "error: " + (lines[-1] if lines else text)[:_ERROR_LIMIT]
    metadata = None if row.response is None else row.response.metadata
    for name, value in (metadata or {}).items():
        if name.endswith(_ERROR_TYPE) and value:
            return _label(f"{name}={_text(value)}")
    return None


def _label(value: Any) -> str:
    return _text(value)[:LABEL_LIMIT]


def _text(value: Any) -> str:
    try:
        return str(value)
    except RecursionError:
        return "(nested too deeply to show)"
