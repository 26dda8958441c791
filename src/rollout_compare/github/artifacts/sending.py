"""Requests to the artifact service and to its storage: tried again while that may help, within a minute in all.

The runtime token and the signed addresses are as good as passwords: neither is part of any message.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rollout_compare.github.api.client import silence_urllib3
from rollout_compare.github.api.clock import Clock
from rollout_compare.github.api.payload import text_at

if TYPE_CHECKING:
    import requests

_BROKEN = "answered 500"
_TRIES = 5
_PATIENCE = 60.0
"""Seconds until nothing is tried again."""
_TIMEOUT = 30.0
_SHORTEST_SECRET = 8
_PASSING = frozenset({408, 429, 500, 502, 503, 504})
_QUOTA = "insufficient usage"
_LONGEST_QUOTE = 200
_ADDRESS = re.compile(r"\S*://\S*")


class ArtifactError(Exception):
    """An artifact that cannot be stored or had; the message says why, and holds neither token nor address."""


class ConflictError(ArtifactError):
    """What is asked for does not go with what is there."""


class Sender:
    """Sends requests for one job, and quotes the answers without `token`, should they echo it."""

    def __init__(self, clock: Clock, *, token: str, user_agent: str) -> None:
        self._clock = clock
        self._secrets = _pieces(token)
        self._user_agent = user_agent
        self._deadline = clock.now() + _PATIENCE

    def tried(
        self, method: str, url: str, bodies: Sequence[bytes], headers: Mapping[str, str]
    ) -> tuple[requests.Response, int]:
        """The answer, and to which of the bodies: the last one is for a service that breaks at the first.

        Raises ConflictError when the service finds one, ArtifactError for everything else.
        """
        number, why = 0, ""
        for tries in range(1, _TRIES + 1):
            number = len(bodies) - 1 if why == _BROKEN and not number else 0
            answer, why = self._once(method, url, bodies[number], headers)
            if answer is not None:
                return answer, number
            wait = float(2 ** (tries - 1))
            if tries == _TRIES or self._clock.now() + wait >= self._deadline:
                raise ArtifactError(f"the artifact service {why}" + (f", {tries} times" if tries > 1 else ""))
            self._clock.sleep(wait)
        raise AssertionError

    def _once(
        self, method: str, url: str, body: bytes, headers: Mapping[str, str]
    ) -> tuple[requests.Response | None, str]:
        """The answer; or None and why another try may help. Raises ArtifactError when none will."""
        import requests

        silence_urllib3()
        # A session of its own, without .netrc: an Authorization header would be refused by the storage.
        with requests.Session() as session:
            session.auth = no_auth
            try:
                answer = session.request(
                    method,
                    url,
                    data=body,
                    headers={**headers, "user-agent": self._user_agent},
                    timeout=_TIMEOUT,
                    allow_redirects=False,
                )
            except (OSError, ValueError) as fault:
                # Its text holds the address.
                why = f"cannot be reached ({type(fault).__name__})"
                if isinstance(fault, requests.exceptions.RequestException) and not isinstance(fault, ValueError):
                    return None, why
                raise ArtifactError(f"the artifact service {why}") from None
        said = _said(answer)
        if 200 <= answer.status_code < 300:
            is_json = headers["accept"] != "application/json" or said is not None
            return (answer, "") if is_json else (None, "answered with something else than JSON")
        told = self._quoted(text_at(said, "msg") or text_at(said, "message"))
        if _QUOTA in told.lower():
            raise ArtifactError(f"the artifact storage is full: {told}")
        if answer.status_code == 409:
            raise ConflictError("the artifact service answered 409" + (f": {told}" if told else ""))
        if answer.status_code in _PASSING:
            return None, f"answered {answer.status_code}"
        raise ArtifactError(f"the artifact service answered {answer.status_code}" + (f": {told}" if told else ""))

    def _quoted(self, message: str) -> str:
        """What the service says, without what must not be told, should it echo that."""
        for secret in sorted(self._secrets, key=len, reverse=True):
            message = message.replace(secret, "…")
        message = _ADDRESS.sub("…", message)
        words = " ".join(message.split())
        return words if len(words) <= _LONGEST_QUOTE else words[:_LONGEST_QUOTE] + "…"


def _pieces(secret: str) -> list[str]:
    """The pieces of a token or an address that tell something by themselves."""
    return [piece for piece in re.split(r"[^A-Za-z0-9_%-]+", secret) if len(piece) >= _SHORTEST_SECRET]


def no_auth(request: requests.PreparedRequest) -> requests.PreparedRequest:
    """Leave a request as it is: requests would put in what .netrc says of the host."""
    return request


def _said(answer: requests.Response) -> Any:
    try:
        return json.loads(answer.content)
    except (ValueError, RecursionError):
        return None
