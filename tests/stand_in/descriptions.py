"""What GitHub publishes of its API: answers and requests are held against it, and bodies are made from it."""

from __future__ import annotations

import functools
import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from graphql import GraphQLSchema, build_schema
from openapi_core import OpenAPI
from openapi_core.testing import MockRequest, MockResponse

FOLDER = Path(__file__).resolve().parent.parent / "cases" / "github"
_HOST = "https://api.github.com"
_ERROR = {
    "description": "Not described for this operation",
    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/basic-error"}}},
}


class Descriptions:
    """The REST description and the GraphQL schema. Reading them takes a second: once in a session is enough."""

    def __init__(self) -> None:
        description = json.loads((FOLDER / "rest.json").read_text(encoding="utf-8"))
        _loosen(description)
        self._openapi = OpenAPI.from_dict(description)
        self._parameters = dict(_query_parameters(description))
        self._lock = threading.Lock()
        self.schema: GraphQLSchema = build_schema((FOLDER / "schema.graphql").read_text(encoding="utf-8"))

    def request_faults(self, method: str, path: str, query: dict[str, list[str]], body: bytes) -> list[str]:
        """What is wrong with a request, in words."""
        with self._lock:
            faults = [_text(error) for error in self._openapi.iter_request_errors(_request(method, path, query, body))]
        for (known_method, pattern), names in self._parameters.items():
            if method == known_method and pattern.fullmatch(_described(path)):
                faults += [f"unknown parameter {name}" for name in query if name not in names]
        return faults

    def answer_faults(self, method: str, path: str, status: int, headers: dict[str, str], content: bytes) -> list[str]:
        """What is wrong with an answer, in words."""
        response = MockResponse(content, status, headers, headers.get("content-type", ""))
        with self._lock:
            errors = self._openapi.iter_response_errors(_request(method, path, {}, b""), response)
            return [_text(error) for error in errors]


def _request(method: str, path: str, query: dict[str, list[str]], body: bytes) -> MockRequest:
    return MockRequest(_HOST, method, _described(path), args=query, data=body)


def _loosen(description: dict[str, Any]) -> None:
    """Allow what GitHub does although it does not say so."""
    for item in description["paths"].values():
        for operation in item.values():
            operation["responses"].setdefault("default", _ERROR)
    for name in ("pull-request", "pull-request-simple"):  # a fork may be gone
        head = description["components"]["schemas"][name]["properties"]["head"]["properties"]
        head["repo"] = {"anyOf": [head["repo"], {"enum": [None], "nullable": True}]}
    run = description["components"]["schemas"]["workflow-run"]["properties"]
    run["head_repository"] = {"anyOf": [run["head_repository"], {"enum": [None], "nullable": True}]}


def _described(path: str) -> str:
    """The path with its last parameter in one piece: names of branches may hold slashes."""
    before, compare, range_of = path.partition("/compare/")
    return before + compare + range_of.replace("/", "%2F")


def _query_parameters(description: dict[str, Any]) -> Iterator[tuple[tuple[str, re.Pattern[str]], set[str]]]:
    for path, item in description["paths"].items():
        pattern = re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(path)))
        for method, operation in item.items():
            parameters = [_resolved(description, parameter) for parameter in operation.get("parameters", ())]
            yield (method.upper(), pattern), {entry["name"] for entry in parameters if entry["in"] == "query"}


def _resolved(description: dict[str, Any], parameter: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in parameter:
        return parameter
    found: dict[str, Any] = description["components"]["parameters"][parameter["$ref"].rsplit("/", 1)[1]]
    return found


def _text(error: BaseException) -> str:
    schema_errors = getattr(error.__cause__, "schema_errors", None) or getattr(error, "schema_errors", None) or ()
    places = [f"{'/'.join(map(str, item.absolute_path))}: {item.message[:300]}" for item in schema_errors]
    return "; ".join(places) or f"{type(error).__name__}: {str(error)[:300]}"


@functools.cache
def example(name: str) -> str:
    """A published answer, as text."""
    return (FOLDER / "answers" / f"{name}.json").read_text(encoding="utf-8")
