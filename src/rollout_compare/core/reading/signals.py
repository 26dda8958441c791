"""What a row says about itself besides its reward: masked or not, an agent error, a measured failure."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from rollout_compare.core.reading.rows import FailureRow, Row
from rollout_compare.core.redaction import KEEP, MARGIN, Redaction, start_of
from rollout_compare.core.schema import LABEL_LIMIT, LOST_CLASS

_ERROR_LIMIT = 120
_ERROR_TYPE = "error_type"
_DEFAULT_FAILURE = "failure"
_TELLING = ("message", "error", "detail", "type")
"""What of an error that is an object says most, the first that is there."""
_DEEPEST = 4
_TOO_DEEP = "(nested too deeply to show)"
_NOTHING = frozenset({"", "-", "none", "null", "nil", "n/a", "na"})
_KEY_LINES = 200
_KEY_LENGTH = 64 << 10
"""Longest end of an error text searched for a secret of many lines, in lines and in characters."""


class Signals(NamedTuple):
    """The signals of one row, redacted; all None for a row that just counts."""

    masked: str | None = None
    agent_error: str | None = None
    failure_kind: str | None = None
    message: str | None = None
    """What a masked row or a measured failure says of it."""
    agent_error_message: str | None = None
    """The agent error as reports show it: an error that is no text is spelled by its message, or as JSON."""
    said: bytes = b""
    """A hash of the same before redaction: what the digest of a side goes by."""


SILENT = Signals()


class SignalTable:
    """The distinct signals of a side's rows, each with a code: 0 for a row that just counts, 1 and up."""

    def __init__(self) -> None:
        self._codes: dict[Signals, int] = {SILENT: 0}
        self._signals: list[Signals] = [SILENT]

    def __getitem__(self, code: int) -> Signals:
        return self._signals[code]

    def code_of(self, said: Signals) -> int:
        """The code of some signals; new ones get the next code."""
        code = self._codes.setdefault(said, len(self._codes))
        if code == len(self._signals):
            self._signals.append(said)
        return code

    def masked_codes(self) -> set[int]:
        """The codes that mean a masked row."""
        return {code for code, said in enumerate(self._signals) if said.masked is not None}

    def copy(self) -> SignalTable:
        """A table with the same codes that may go on by itself."""
        other = SignalTable()
        other._codes, other._signals = dict(self._codes), list(self._signals)
        return other


LOST = Signals(failure_kind=LOST_CLASS)
"""Those of a planned attempt that left nothing and counts as reward 0."""


def signals_of(row: Row, redact: Redaction = KEEP) -> Signals:
    """The signals of a row of a rollouts file."""
    raw = _signals_of(row, KEEP)
    return _hashed(raw, raw if redact is KEEP else _signals_of(row, redact))


def signals_of_failure(record: FailureRow, redact: Redaction = KEEP) -> Signals:
    """The signals of a failures sidecar record that stands: it is masked."""
    raw = _signals_of_failure(record, KEEP)
    return _hashed(raw, raw if redact is KEEP else _signals_of_failure(record, redact))


def as_measured(said: Signals, failure_class: str, record: FailureRow, redact: Redaction = KEEP) -> Signals:
    """The signals of a record that counts as reward 0 instead: a measured failure."""
    own = record.failure_kind
    kind = _label(failure_class if own is msgspec.UNSET or not own else own, redact)
    return said._replace(masked=None, failure_kind=kind)


def failure_class_of(record: FailureRow) -> str:
    """The failure class by which `--count-as-zero` names a record."""
    # A good deal longer than what is shown of it, for redaction.
    return _text(record.failure_class)[: LABEL_LIMIT + MARGIN] if record.failure_class else _DEFAULT_FAILURE


def _hashed(raw: Signals, shown: Signals) -> Signals:
    if raw == SILENT:
        return SILENT
    # How an agent error is spelled is not what the row says.
    said = repr((raw.masked, raw.agent_error, raw.failure_kind, raw.message)).encode("utf-8", "surrogatepass")
    return shown._replace(said=hashlib.sha256(said).digest()[:16])


def says_nothing(reason: Any) -> bool:
    """Whether a reason is absent, or a word such as "none" in its place."""
    return reason is None or (isinstance(reason, str) and reason.strip().lower() in _NOTHING)


def spelled(value: Any) -> str:
    """An error or a reason in words: a text as it is, the message of an object, anything else as one line of JSON."""
    within = value
    for _ in range(_DEEPEST):
        if not isinstance(within, dict):
            break
        within = next((within[name] for name in _TELLING if within.get(name)), None)
    if isinstance(within, str):
        return within
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return _TOO_DEEP


def _signals_of(row: Row, redact: Redaction) -> Signals:
    masked = _mask_reason(row, redact)
    measured = None if masked is not None or not row.failure_kind else _label(row.failure_kind, redact)
    message = None if masked is None and measured is None else _reason(row, redact)
    return Signals(masked, _agent_error(row, redact, _text), measured, message, _agent_error(row, redact, spelled))


def _signals_of_failure(record: FailureRow, redact: Redaction) -> Signals:
    kind = record.failure_kind
    if kind is msgspec.UNSET:
        kind = record.failure_class or _DEFAULT_FAILURE
    message = _reason(record, redact)
    if message is None and record.failure_message:
        message = _label(spelled(record.failure_message), redact)
    masked = _mask_sample(kind, redact)
    return Signals(masked, _agent_error(record, redact, _text), None, message, _agent_error(record, redact, spelled))


def _reason(row: Row, redact: Redaction) -> str | None:
    return None if says_nothing(row.failure_reason) else _label(spelled(row.failure_reason), redact)


def _mask_reason(row: Row, redact: Redaction) -> str | None:
    if row.mask_sample:
        return _mask_sample(row.failure_kind, redact)
    if row.reward is None:
        return "no reward"
    if not math.isfinite(row.reward):
        return f"non-finite reward ({float(row.reward)})"
    return None


def _mask_sample(kind: Any, redact: Redaction) -> str:
    return f"mask_sample (failure_kind={_label(kind, redact)})" if kind else "mask_sample"


def _agent_error(row: Row, redact: Redaction, text_of: Callable[[Any], str]) -> str | None:
    if row.error:
        return "error: " + _last_line(text_of(row.error), redact)
    metadata = None if row.response is None else row.response.metadata
    for name, value in (metadata or {}).items():
        if name.endswith(_ERROR_TYPE) and value:
            return _label(f"{name}={text_of(value)}", redact)
    return None


def _last_line(text: str, redact: Redaction) -> str:
    lines = text.strip().splitlines()
    if not lines:
        return start_of(text, _ERROR_LIMIT, redact)
    if redact is not KEEP and len(lines) > 1:
        # A private key is many lines long: the last one alone does not tell.
        before = "\n".join(lines[-_KEY_LINES:])
        if len(before) <= _KEY_LENGTH:
            redacted = redact(before)
            if redacted != before:
                lines = redacted.splitlines()
    return start_of(lines[-1], _ERROR_LIMIT, redact)


def _label(value: Any, redact: Redaction) -> str:
    return start_of(_text(value), LABEL_LIMIT, redact)


def _text(value: Any) -> str:
    try:
        return str(value)
    except RecursionError:
        return _TOO_DEEP
