"""What GitHub answered: its data, or the fault that it tells of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from rollout_compare.github.api.faults import ApiError
from rollout_compare.github.api.patience import LONGEST_WAIT

_PASSING = frozenset({500, 502, 503, 504})
_LONGEST_MESSAGE = 20_000
_RATE_LIMITS = ("rate limit", "please wait a few minutes", "please retry your request again later", "abuse detection")


class Answer(NamedTuple):
    """What GitHub answered."""

    status: int
    headers: Mapping[str, str]
    """With names in lower case."""
    data: Any
    """The body, read as JSON; None when it is empty or something else."""


def checked(answer: Answer, now: float) -> Answer:
    """The answer, if it tells of success. Raises ApiError. `now` is in seconds since 1970."""
    if 200 <= answer.status < 300:
        return answer
    message = quoted(_message(answer.data) or f"GitHub answered {answer.status}")
    raise ApiError(message, status=answer.status, wait=_wait(answer, message, now))


def quoted(message: str) -> str:
    """A message on one line; whoever shows it redacts it and cuts it after that."""
    return " ".join(message[:_LONGEST_MESSAGE].split())


def first_message(errors: Any) -> str:
    """The message of the first of several errors; empty when there is none."""
    first = errors[0] if isinstance(errors, list) and errors else None
    message = first.get("message") if isinstance(first, dict) else first
    return message if isinstance(message, str) else ""


def _message(data: Any) -> str:
    """GitHub's message, and what it says about single fields."""
    if not isinstance(data, dict):
        return ""
    message = data.get("message")
    return ": ".join(filter(None, [message if isinstance(message, str) else "", first_message(data.get("errors"))]))


def _wait(answer: Answer, message: str, now: float) -> float | None:
    """Seconds to wait at least before the same may succeed; None when it will not."""
    asked = answer.headers.get("retry-after", "")
    if answer.status in _PASSING:
        return float(asked) if _is_seconds(asked) else 0.0
    is_limit = any(words in message.lower() for words in _RATE_LIMITS)
    if answer.status != 429 and not (answer.status == 403 and (is_limit or _is_seconds(asked))):
        return None
    if _is_seconds(asked):
        return float(asked)
    reset = answer.headers.get("x-ratelimit-reset", "")
    if answer.headers.get("x-ratelimit-remaining") == "0" and _is_seconds(reset):
        # It is not clear when in that second.
        return max(0.0, float(reset) - now) + 1
    return 0.0 if answer.status == 429 else LONGEST_WAIT


def _is_seconds(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 12
