"""What may go wrong between a client and GitHub, and the rules that say when it does."""

from __future__ import annotations

import fnmatch
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.stand_in.server import Request

Hook = Callable[[Any, "Request"], object]
"""Takes the stand-in that is asked, and what it is asked."""

_HTML = {"content-type": "text/html; charset=utf-8"}
_UNICORN = "<!DOCTYPE html>\n<html><body><p>This page is taking too long to load.</p></body></html>\n"


@dataclass(frozen=True)
class Outcome:
    """What happens instead of the answer, or before it. `stores`: the request takes effect all the same."""

    action: str
    status: int = 0
    content: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    stores: bool = False
    seconds: float = 0
    kept: int = 0
    call: Hook | None = None


def answer(
    status: int,
    body: object = None,
    headers: dict[str, str] | None = None,
    *,
    text: str | None = None,
    stores: bool = False,
) -> Outcome:
    """Answer with this status and a JSON body, or with `text` as it is."""
    content = text.encode() if text is not None else b"" if body is None else json.dumps(body).encode()
    return Outcome("answer", status, content, {name.lower(): value for name, value in (headers or {}).items()}, stores)


def drop(*, stores: bool = False) -> Outcome:
    """Close the connection without an answer."""
    return Outcome("drop", stores=stores)


def hang(seconds: float = 10, *, stores: bool = False) -> Outcome:
    """Answer nothing until the client gives up, or for as long as this."""
    return Outcome("hang", seconds=seconds, stores=stores)


def cut(kept: int) -> Outcome:
    """Answer as usual, but close the connection after so many bytes of the body."""
    return Outcome("cut", kept=kept)


def hook(call: Hook) -> Outcome:
    """Call `call(github, request)`, then answer as usual (or as another rule says)."""
    return Outcome("hook", call=call)


def bad_gateway(*, stores: bool = False) -> Outcome:
    """A 502 by the proxy in front, which may hide that the request took effect."""
    return answer(502, {"message": "Server Error"}, stores=stores)


def unavailable() -> Outcome:
    """A 503 with a page for people."""
    return answer(503, headers=_HTML, text=_UNICORN)


def secondary_limit(retry_after: int | None = None) -> Outcome:
    """The limit for too many requests at a time."""
    address = "https://docs.github.com/free-pro-team@latest/rest/overview/rate-limits-for-the-rest-api"
    body = {
        "documentation_url": f"{address}#about-secondary-rate-limits",
        "message": "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",
        "status": "403",
    }
    return answer(403, body, {} if retry_after is None else {"retry-after": str(retry_after)})


def primary_limit(reset: int, status: int = 403) -> Outcome:
    """The limit of requests in an hour, used up until `reset`, in seconds since 1970."""
    body = {
        "message": "API rate limit exceeded for installation ID 1.",
        "documentation_url": "https://docs.github.com/rest/overview/rate-limits-for-the-rest-api",
        "status": str(status),
    }
    return answer(status, body, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(reset)})


def too_many_requests(retry_after: int | None = None) -> Outcome:
    """A 429 with or without a word on when to come back."""
    headers = {} if retry_after is None else {"retry-after": str(retry_after)}
    return answer(429, {"message": "Too many requests", "status": "429"}, headers)


@dataclass
class Rule:
    """An outcome for the calls of a method and path (`*` stands for anything) from the nth on, so many times."""

    method: str
    path: str
    outcome: Outcome
    nth: int = 1
    times: int | None = 1
    calls: int = 0

    def applies(self, method: str, path: str) -> bool:
        """Count this call if it is meant, and tell whether the outcome is due."""
        if self.method not in (method, "*") or not fnmatch.fnmatchcase(path, self.path):
            return False
        self.calls += 1
        return self.calls >= self.nth and (self.times is None or self.calls < self.nth + self.times)


class Faults:
    """The rules in the order given: every hook that is due is called, and the first other outcome happens."""

    def __init__(self) -> None:
        self._rules: list[Rule] = []
        self._lock = threading.Lock()

    def add(self, rule: Rule) -> None:
        self._rules.append(rule)

    def clear(self) -> None:
        self._rules.clear()

    def due(self, method: str, path: str) -> list[Outcome]:
        """What is to happen to this call."""
        with self._lock:
            return [rule.outcome for rule in self._rules if rule.applies(method, path)]


def graphql_error(message: str, kind: str) -> dict[str, Any]:
    """An error as GitHub's GraphQL answers it."""
    return {"data": None, "errors": [{"type": kind, "message": message}]}
