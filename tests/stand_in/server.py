"""The stand-in itself: what it is asked, what it answers, and what of that breaks the descriptions."""

from __future__ import annotations

import fnmatch
import json
import re
import threading
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from tests.stand_in.answers import Answer, Call, Refusal
from tests.stand_in.bodies import Bodies
from tests.stand_in.connection import Incoming, Reply, Server, Silence
from tests.stand_in.descriptions import Descriptions
from tests.stand_in.faults import Faults, Outcome, Rule, answer, graphql_error
from tests.stand_in.graph import Graph
from tests.stand_in.rest import Rest
from tests.stand_in.state import State, Token

_GRAPHQL = "/graphql"
_HOURLY = 5000
_RESET = "1767574800"  # the end of the hour in which the state's clock starts


@dataclass
class Request:
    """One request as it came in. Its path is without the prefix, and names the repository even if a link used the id.

    A status of None: it was not answered.
    """

    method: str
    path: str
    target: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    content: bytes
    status: int | None = None

    @property
    def json(self) -> Any:
        """The body, read as JSON; None if it is empty or something else."""
        try:
            return json.loads(self.content) if self.content else None
        except ValueError:
            return None


class GitHub:
    """A GitHub for one test. `prefix` is "" as on github.com, or "/api/v3" as on an Enterprise Server."""

    def __init__(
        self,
        descriptions: Descriptions,
        *,
        prefix: str = "",
        server_url: str = "https://github.com",
        clock: Callable[[], str] | None = None,
        first_comment_id: int = 3_000_000_001,
    ) -> None:
        self.state = State(clock, first_comment_id)
        self.faults = Faults()
        self.requests: list[Request] = []
        self.violations: list[str] = []
        self._descriptions = descriptions
        self._prefix = prefix
        self._lock = threading.Lock()
        self.downloads: list[Request] = []
        """What the storage behind the signed addresses was asked. Their path, also of faults, is `storage:` and the
        number of the artifact."""
        self._server = Server(self._respond)
        self._storage = Server(self._respond_as_storage)
        self.api_url = self._server.origin + prefix
        self._graphql_path = "/api/graphql" if prefix else _GRAPHQL
        self.graphql_url = self._server.origin + self._graphql_path
        self.server_url = server_url
        bodies = Bodies(self.api_url, server_url)
        self._rest = Rest(self.state, bodies, f"{self._storage.origin}/artifacts")
        self._graph = Graph(self.state, bodies, descriptions.schema, self.violations.append)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._server.close()
        self._storage.close()

    @property
    def environment(self) -> dict[str, str]:
        """The variables by which a runner tells where GitHub is."""
        return {
            "GITHUB_API_URL": self.api_url,
            "GITHUB_GRAPHQL_URL": self.graphql_url,
            "GITHUB_SERVER_URL": self.server_url,
        }

    def fault(self, method: str, path: str, outcome: Outcome, *, nth: int = 1, times: int | None = 1) -> None:
        """Let this happen to the nth call of a method and path, and to the next ones up to `times` (None: for ever)."""
        self.faults.add(Rule(method, path, outcome, nth, times))

    def switch_graphql_off(self) -> None:
        """Answer 404 to GraphQL, as where it is not offered."""
        self.fault("POST", _GRAPHQL, answer(404, {"message": "Not Found"}), times=None)

    def let_graphql_fail(self, message: str = "Something went wrong while executing your query.") -> None:
        """Answer 200 with errors to GraphQL."""
        self.fault("POST", _GRAPHQL, answer(200, graphql_error(message, "INTERNAL")), times=None)

    def refuse_connections(self) -> None:
        """Close the ports, and every connection: whoever comes from now on is refused."""
        self._server.refuse()
        self._storage.refuse()

    def calls(self, method: str = "*", path: str = "*") -> list[Request]:
        """The requests of a method and path so far; `*` stands for anything."""
        return [item for item in self.requests if method in (item.method, "*") and fnmatch.fnmatchcase(item.path, path)]

    @property
    def writes(self) -> list[Request]:
        """The requests so far that meant to create, change or delete something by REST."""
        return [item for item in self.requests if item.method != "GET" and item.path != _GRAPHQL]

    @property
    def secrets(self) -> list[str]:
        """What nobody may get to see: the tokens, and the signatures given out so far."""
        return [*self.state.tokens, *self.state.signatures]

    def _respond(self, incoming: Incoming) -> Reply | Silence:
        path = self._named(incoming.path)
        request = Request(incoming.method, path, incoming.target, incoming.query, incoming.headers, incoming.content)
        self.requests.append(request)
        faults = self._request_faults(request)
        self.violations.extend(f"{request.method} {request.path}: {fault}" for fault in faults)
        outcomes = self.faults.due(request.method, request.path)
        for outcome in outcomes:
            if outcome.call is not None:
                outcome.call(self, request)
        fault = next((outcome for outcome in outcomes if outcome.call is None), None)
        reply = self._answered(request) if fault is None else self._failed(request, fault)
        if not faults and fault is None and isinstance(reply, Reply):
            self._check_reply(request, reply)
        request.status = reply.status if isinstance(reply, Reply) else None
        return reply

    def _answered(self, request: Request) -> Reply:
        result = self._perform(request)
        return Reply(result.status, self._headers() | result.headers, result.content)

    def _failed(self, request: Request, fault: Outcome) -> Reply | Silence:
        if fault.stores:
            self._perform(request)
        if fault.action == "answer":
            return Reply(fault.status, self._headers() | fault.headers, fault.content)
        return Silence(fault.seconds)

    def _respond_as_storage(self, incoming: Incoming) -> Reply | Silence:
        path = f"storage:{incoming.path.rpartition('/')[2]}"
        request = Request(incoming.method, path, incoming.target, incoming.query, incoming.headers, incoming.content)
        self.downloads.append(request)
        if "authorization" in incoming.headers:
            self.violations.append(f"{path}: has an Authorization header")
        reply = self._stored(request)
        for outcome in self.faults.due(request.method, path):
            if outcome.call is not None:
                outcome.call(self, request)
            elif outcome.action == "cut":
                reply = Reply(reply.status, reply.headers, reply.content, outcome.kept)
                break
            elif outcome.action != "answer":
                return Silence(outcome.seconds)
            else:
                reply = Reply(outcome.status, {"content-type": "application/xml"} | outcome.headers, outcome.content)
                break
        request.status = reply.status
        return reply

    def _stored(self, request: Request) -> Reply:
        """What lies at a signed address; one that is used a second time is found as well."""
        artifact = self.state.signatures.get(request.query.get("sig", [""])[0])
        if artifact is None or request.path != f"storage:{artifact.id}" or "authorization" in request.headers:
            return Reply(403, {"content-type": "application/xml"}, b"<Error><Code>AuthenticationFailed</Code></Error>")
        quoted = urllib.parse.quote(artifact.file_name, "")
        headers = {
            "content-type": artifact.mime_type,
            "content-disposition": f"attachment; filename*=UTF-8''{quoted}",
        }
        return Reply(200, headers, artifact.content)

    def _named(self, path: str) -> str:
        """The path as the description has it. Outside the API, where the description knows nothing, as it is."""
        if path == self._graphql_path:
            return _GRAPHQL
        path = path.removeprefix(self._prefix) if path.startswith(f"{self._prefix}/") else f"/outside{path}"
        match = re.match(r"/repositories/(\d+)(?=/|$)", path)
        for repository in self.state.repositories.values():
            if match and repository.id == int(match[1]):
                return f"/repos/{repository.full_name}{path[match.end() :]}"
        return path

    def _perform(self, request: Request) -> Answer:
        """Do what is asked for, and tell the answer."""
        scheme, _, secret = request.headers.get("authorization", "").partition(" ")
        token = self.state.tokens.get(secret.strip()) if scheme.lower() in ("bearer", "token") else None
        if "authorization" in request.headers and token is None:
            return Refusal(401, "Bad credentials").answer
        with self._lock:
            if request.path == _GRAPHQL:
                return self._perform_graphql(request, token)
            match = re.fullmatch(r"/repos/([^/]+/[^/]+)(/.*)?", request.path)
            if match is None:
                return Refusal(404, "Not Found").answer
            return self._rest.answer(match[1], Call(request.method, match[2] or "", request.query, request.json, token))

    def _perform_graphql(self, request: Request, token: Token | None) -> Answer:
        if token is None:
            return Refusal(401, "This endpoint requires you to be authenticated.").answer
        if not isinstance(request.json, dict) or not isinstance(request.json.get("query"), str):
            self.violations.append("GraphQL: there is no query")
            return Refusal(400, "A query attribute must be specified and must be a string.").answer
        return Answer(200, self._graph.answer(request.json, token))

    def _request_faults(self, request: Request) -> list[str]:
        if request.path == _GRAPHQL:
            return []
        return self._descriptions.request_faults(request.method, request.path, request.query, request.content)

    def _check_reply(self, request: Request, reply: Reply) -> None:
        if request.path != _GRAPHQL:
            faults = self._descriptions.answer_faults(
                request.method, request.path, reply.status, reply.headers, reply.content
            )
            self.violations.extend(f"{request.method} {request.path}: {reply.status}: {fault}" for fault in faults)

    def _headers(self) -> dict[str, str]:
        used = len(self.requests)
        headers = {
            "content-type": "application/json; charset=utf-8",
            "x-github-media-type": "github.v3; format=json",
            "x-github-request-id": f"{used:04X}:0:0:0:0",
            "x-ratelimit-limit": str(_HOURLY),
            "x-ratelimit-remaining": str(_HOURLY - used),
            "x-ratelimit-reset": _RESET,
            "x-ratelimit-resource": "core",
            "x-ratelimit-used": str(used),
        }
        return headers | ({"x-github-enterprise-version": "3.19.0"} if self._prefix else {})
