"""PyGithub as the carrier of requests, without what it does behind our back.

It follows a 301 without end and without the query, sleeps when an answer is not ready, and logs what was sent and
received. Here a redirection is an answer like any other, and nothing is logged. Imported only when something is asked:
PyGithub takes as long to import as a small comparison takes.
"""

from __future__ import annotations

import logging

from github import Auth, Github
from github.Requester import (
    HTTPRequestsConnectionClass,
    HTTPSRequestsConnectionClass,
    Requester,
    RequestsResponse,
)

_AS = {301: 308, 202: 503}
"""A permanent redirection, under the number that PyGithub does not act on; not ready yet, as something that passes."""


class _PlainConnection(HTTPRequestsConnectionClass):
    def getresponse(self) -> RequestsResponse:
        return _left_alone(super().getresponse())


class _SecureConnection(HTTPSRequestsConnectionClass):
    def getresponse(self) -> RequestsResponse:
        return _left_alone(super().getresponse())


def _left_alone(response: RequestsResponse) -> RequestsResponse:
    response.status = _AS.get(response.status, response.status)
    return response


def requester(token: str, *, api_url: str, timeout: int, user_agent: str, verify: bool | str) -> Requester:
    """What sends requests with this token; it neither tries again nor waits by itself."""
    silent = logging.getLogger("rollout-compare.silent")
    silent.disabled = True
    Requester.injectLogger(silent)
    Requester.injectConnectionClasses(_PlainConnection, _SecureConnection)
    return Github(
        auth=Auth.Token(token),
        base_url=api_url,
        timeout=timeout,
        user_agent=user_agent,
        verify=verify,
        retry=None,
        seconds_between_requests=None,
        seconds_between_writes=None,
        lazy=True,
    ).requester
