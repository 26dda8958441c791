"""Cutting text short so that no fragment of a secret survives the cut.

What is a secret is decided elsewhere: a `Redaction` is passed in. Text is redacted before it is cut, and where that
would mean going through all of a very long text, a good deal beyond the cut.
"""

from __future__ import annotations

from typing import Protocol

MARGIN = 32 << 10
"""How far beyond a cut text is redacted, in characters: longer than secrets usually are."""


class Redaction(Protocol):
    """Replaces the secrets in texts. Redacting twice changes nothing more."""

    def __call__(self, text: str) -> str:
        """The text without its secrets."""

    def all(self, texts: list[str]) -> list[str]:
        """The same for many texts, cheaply when they hold no secret."""


class _Nothing:
    """Leaves every text as it is."""

    def __call__(self, text: str) -> str:
        return text

    def all(self, texts: list[str]) -> list[str]:
        return texts


KEEP: Redaction = _Nothing()
"""No redaction, as the library works when it is given none."""


def start_of(text: str, limit: int, redact: Redaction = KEEP) -> str:
    """The first `limit` characters of the redacted text."""
    if len(text) <= limit + MARGIN:
        return redact(text)[:limit]
    redacted = redact(text[: limit + MARGIN])
    # The last characters may be the start of a secret whose end was not seen.
    return redacted[: max(0, min(limit, len(redacted) - MARGIN))] if redact is not KEEP else redacted[:limit]


def end_of(text: str, limit: int, redact: Redaction = KEEP) -> str:
    """The last `limit` characters of the redacted text."""
    if len(text) <= limit + MARGIN:
        return redact(text)[-limit:]
    redacted = redact(text[-limit - MARGIN :])
    return redacted[max(MARGIN, len(redacted) - limit) :] if redact is not KEEP else redacted[-limit:]


def shortened(text: str, limit: int, redact: Redaction = KEEP) -> str:
    """The redacted text, or its start and an ellipsis when it is longer than `limit` characters."""
    start = start_of(text, limit + 1, redact)
    whole = len(start) <= limit and len(text) <= limit + MARGIN
    return start if whole else start[:limit] + "…"
