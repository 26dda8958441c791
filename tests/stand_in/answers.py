"""What a request is to the operations of the stand-in, and the forms of what they answer."""

from __future__ import annotations

import json
import urllib.parse
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.stand_in.state import Repository, Token

DOCUMENTATION = "https://docs.github.com/rest"


@dataclass
class Call:
    """One request as the operations see it; the path is that below /repos/{owner}/{repo}."""

    method: str
    path: str
    query: dict[str, list[str]]
    json: Any
    token: Token | None

    def parameter(self, name: str, default: str = "") -> str:
        return self.query.get(name, [default])[-1]


@dataclass
class Answer:
    status: int
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def content(self) -> bytes:
        return b"" if self.body is None else json.dumps(self.body).encode()


class Refusal(Exception):  # noqa: N818 - an answer, which the server gives in place of another
    """An answer that ends the operation."""

    def __init__(self, status: int, message: str, documentation: str = DOCUMENTATION, **more: Any) -> None:
        super().__init__(message)
        body = {"message": message, **more, "documentation_url": documentation, "status": str(status)}
        self.answer = Answer(status, body)


NOT_FOUND = Refusal(404, "Not Found")


def page_of(
    api_url: str, repository: Repository, call: Call, entries: Sequence[Any]
) -> tuple[Sequence[Any], dict[str, str]]:
    """The entries of the page asked for, and the links to other pages."""
    size = min(positive(call.parameter("per_page")) or 30, 100)
    page = positive(call.parameter("page")) or 1
    last = max(1, -(-len(entries) // size))
    links = []
    for relation, number, due in (
        ("prev", min(page - 1, last), page > 1),
        ("next", page + 1, page < last),
        ("last", last, page < last),
        ("first", 1, page > 1),
    ):
        if due:
            query = urllib.parse.urlencode(call.query | {"page": [str(number)]}, doseq=True)
            address = f"{api_url}/repositories/{repository.id}{call.path}?{query}"
            links.append(f'<{address}>; rel="{relation}"')
    return entries[(page - 1) * size : page * size], {"link": ", ".join(links)} if links else {}


def positive(text: str) -> int:
    return int(text) if text.isdecimal() else 0


def refused(token: Token, needed: str) -> Refusal:
    """What a token is told that lacks the permissions needed."""
    refusal = Refusal(403, f"Resource not accessible by {token.refused_to}")
    refusal.answer.headers["x-accepted-github-permissions"] = needed
    return refusal
