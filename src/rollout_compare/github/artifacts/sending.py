"""Requests to the artifact service and to its storage: without credentials but those given, tried again when a failure
may pass, and quoted without secrets.

The runtime token and the signed addresses are as good as passwords: neither is part of any message.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rollout_compare.github.api.faults import RequestError
from rollout_compare.github.api.patience import Patience
from rollout_compare.github.api.payload import text_at
from rollout_compare.github.api.silence import silence_libraries

if TYPE_CHECKING:
    import requests

_BROKEN = 500
_TRIES = 5
_TIMEOUT = 30.0
_SHORTEST_SECRET = 8
_PASSING = frozenset({408, 429, 500, 502, 503, 504})
_QUOTA = "insufficient usage"
_LONGEST_QUOTE = 200
_ADDRESS = re.compile(r"\S*://\S*")


class ArtifactError(RequestError):
    """An artifact that could not be stored or fetched; the message says why, and holds neither token nor address."""


class ConflictError(ArtifactError):
    """What is asked for does not go with what is there."""


class Sender:
    """Sends requests for one job, and quotes the answers without `token`, should they echo it."""

    def __init__(self, patience: Patience, *, token: str, user_agent: str) -> None:
        self._patience = patience
        self._secrets = _pieces(token)
        self._user_agent = user_agent

    def tried(
        self, method: str, url: str, bodies: Sequence[bytes], headers: Mapping[str, str]
    ) -> tuple[requests.Response, int]:
        """The answer, and to which of the bodies: the last one is for a service that breaks at the first.

        Raises ConflictError when the service finds one, ArtifactError for everything else.
        """
        number = 0
        attempts = self._patience.attempts(_TRIES)
        while True:
            try:
                with self._patience.charged_if_it_fails():
                    return self._once(method, url, bodies[number], headers), number
            except ArtifactError as fault:
                attempts.wait_after(fault)
                number = len(bodies) - 1 if fault.status == _BROKEN and not number else 0

    def _once(self, method: str, url: str, body: bytes, headers: Mapping[str, str]) -> requests.Response:
        """The answer to one request. Raises ArtifactError, which says whether another try may help."""
        import requests

        try:
            with plain_session(self._user_agent) as session:
                answer = session.request(
                    method, url, data=body, headers=dict(headers), timeout=_TIMEOUT, allow_redirects=False
                )
        except (OSError, ValueError) as fault:
            may_pass = isinstance(fault, requests.exceptions.RequestException) and not isinstance(fault, ValueError)
            # Its text holds the address.
            raise ArtifactError(
                f"the artifact service cannot be reached ({type(fault).__name__})", wait=0.0 if may_pass else None
            ) from None
        said = _said(answer)
        if 200 <= answer.status_code < 300:
            if headers["accept"] == "application/json" and said is None:
                raise ArtifactError("the artifact service did not answer in JSON", wait=0.0)
            return answer
        raise self._fault(answer.status_code, self._quoted(text_at(said, "msg") or text_at(said, "message")))

    def _fault(self, status: int, said: str) -> ArtifactError:
        """What an answer that is not a success means."""
        answered = f"the artifact service answered {status}" + (f": {said}" if said else "")
        if _QUOTA in said.lower():
            return ArtifactError(f"the artifact storage is full: {said}", status=status)
        if status == 409:
            return ConflictError(answered, status=status)
        return ArtifactError(answered, status=status, wait=0.0 if status in _PASSING else None)

    def _quoted(self, message: str) -> str:
        """What the service says, without what must not be told, should it echo that."""
        for secret in sorted(self._secrets, key=len, reverse=True):
            message = message.replace(secret, "…")
        message = _ADDRESS.sub("…", message)
        words = " ".join(message.split())
        return words if len(words) <= _LONGEST_QUOTE else words[:_LONGEST_QUOTE] + "…"


@contextlib.contextmanager
def plain_session(user_agent: str) -> Iterator[requests.Session]:
    """A session without credentials of its own, such as those in .netrc: the storage refuses requests with any."""
    import requests

    silence_libraries()
    with requests.Session() as session:
        session.headers["user-agent"] = user_agent
        session.auth = _no_auth
        session.rebuild_auth = lambda *_: None  # type: ignore[method-assign] # nor for where it redirects to
        yield session


def _no_auth(request: requests.PreparedRequest) -> requests.PreparedRequest:
    """Leave a request as it is; without this, requests adds what .netrc says of the host."""
    return request


def _pieces(secret: str) -> list[str]:
    """The pieces of a token or an address that tell something by themselves."""
    return [piece for piece in re.split(r"[^A-Za-z0-9_%-]+", secret) if len(piece) >= _SHORTEST_SECRET]


def _said(answer: requests.Response) -> Any:
    try:
        return json.loads(answer.content)
    except (ValueError, RecursionError):
        return None
