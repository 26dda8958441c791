"""PyGithub as the carrier of requests, without what it does behind our back.

PyGithub knows about tokens, addresses of Enterprise Servers and proxies. It also follows a 301 without end and without
the query, sleeps when an answer is not ready, and logs what it sends and receives. Here a redirection is an answer like
any other, waiting is left to whoever asks, and nothing is logged.

Its objects for comments, runs and artifacts are not used, nor are its lists: they take a redirection by 307 or 308 for
success, follow a link to any subdomain of GitHub's with the token, and raise errors of many types for an answer that
has a field of another type than usual. Imported only when something is asked: PyGithub takes as long to import as a
small comparison takes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import requests
from github import Auth, Github
from github.Requester import HTTPRequestsConnectionClass, HTTPSRequestsConnectionClass, RequestsResponse

from rollout_compare.github.api.answer import Answer
from rollout_compare.github.api.faults import ApiError
from rollout_compare.github.api.silence import silence_libraries

_TIMEOUT = 15
"""Seconds to connect, and from one piece of an answer to the next."""
_AS = {301: 308, 202: 503}
"""A permanent redirection, under the number that PyGithub does not act on; not ready yet, as something that passes."""
_BUNDLE = "`REQUESTS_CA_BUNDLE` must name a CA bundle that is in the container"


class _PlainConnection(HTTPRequestsConnectionClass):
    def getresponse(self) -> RequestsResponse:
        return _left_alone(super().getresponse())


class _SecureConnection(HTTPSRequestsConnectionClass):
    def getresponse(self) -> RequestsResponse:
        return _left_alone(super().getresponse())


def _left_alone(response: RequestsResponse) -> RequestsResponse:
    response.status = _AS.get(response.status, response.status)
    return response


def _connection(api_url: str) -> _PlainConnection | _SecureConnection:
    """A connection to the server at an address. Raises ApiError for an address that is not one."""
    try:
        address = urlsplit(api_url)
        scheme, host, port = address.scheme, address.hostname, address.port
    except ValueError:
        scheme, host, port = "", None, None
    if scheme not in ("http", "https") or not host:
        raise ApiError("`GITHUB_API_URL` is not a valid address")
    return (_SecureConnection if scheme == "https" else _PlainConnection)(host, port, timeout=_TIMEOUT)


class Session:
    """Sends requests with one token over one connection; it neither tries again nor waits."""

    def __init__(self, token: str, *, api_url: str, user_agent: str) -> None:
        """Raises ApiError for an address that is not one."""
        silence_libraries()
        self._connection = _connection(api_url)
        self._requester = Github(
            auth=Auth.Token(token),
            base_url=api_url,
            user_agent=user_agent,
            retry=None,
            seconds_between_requests=None,
            seconds_between_writes=None,
            lazy=True,
        ).requester

    def send(
        self,
        method: str,
        path: str,
        *,
        parameters: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> Answer:
        """Send one request, and return the answer, whatever it says. Raises ApiError when there is none."""
        try:
            status, headers, text = self._requester.requestJson(
                method,
                path,
                parameters=dict(parameters or {}),
                input=None if body is None else dict(body),
                cnx=self._connection,
            )
        except requests.exceptions.SSLError:
            raise ApiError(f"GitHub's certificate is not trusted here: {_BUNDLE} and has its authority") from None
        except (requests.exceptions.Timeout, TimeoutError):
            raise ApiError("GitHub did not answer in time", wait=0.0) from None
        except requests.exceptions.InvalidHeader:
            raise ApiError("the `github-token` has characters that no token has") from None
        except requests.exceptions.RequestException as fault:
            raise ApiError(f"GitHub cannot be reached ({type(fault).__name__})", wait=0.0) from None
        except OSError as fault:
            # So requests says that a file is not there.
            why = _BUNDLE if "certificate bundle" in str(fault) else fault.strerror or type(fault).__name__
            raise ApiError(f"GitHub cannot be reached ({why})") from None
        except (ValueError, ArithmeticError) as fault:
            # A token that no header can hold, or a header with a number that is not one.
            raise ApiError(f"GitHub's answer cannot be understood ({type(fault).__name__})") from None
        return Answer(status, {name.lower(): str(value) for name, value in headers.items()}, _parsed(text))

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def _parsed(text: str) -> Any:
    try:
        return json.loads(text) if text else None
    except (ValueError, RecursionError):
        # An HTML page, most likely.
        return None
