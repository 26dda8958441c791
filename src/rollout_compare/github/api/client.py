"""Requests to GitHub's API: patient with what passes, quick to give up on what does not, within one deadline.

PyGithub carries the requests and knows about tokens, addresses and redirections. Its own retries are switched off: by
default it sends a POST again after a 502, which makes two comments, and never a PATCH; it waits up to an hour for a
rate limit, and sleeps where no test can see it.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from rollout_compare.github.api.clock import Clock
from rollout_compare.github.api.payload import at

if TYPE_CHECKING:
    from github.Requester import Requester

DEADLINE = 120.0
"""Seconds for all requests and waits of a client together."""
_TIMEOUT = 15
"""Seconds for one answer."""
_TRIES = 5
_LONGEST_WAIT = 60.0
"""Seconds that a rate limit may ask for."""
_PASSING = frozenset({500, 502, 503, 504})
_LONGEST_MESSAGE = 20_000
_MOST_PAGES = 300
_PER_PAGE = 100
_NEXT_PAGE = re.compile(r'<([^<>]+)>; rel="next"')
_FOUND = 302
"""How GitHub answers with the place of a content; a renamed repository is answered otherwise."""
_REDIRECTED = frozenset({301, 302, 307, 308})
_MOST_REDIRECTIONS = 3
_RATE_LIMITS = ("rate limit", "please wait a few minutes", "please retry your request again later", "abuse detection")

Method = Literal["GET", "POST", "PATCH", "DELETE"]


class Answer(NamedTuple):
    """What GitHub answered."""

    status: int
    headers: Mapping[str, str]
    """With names in lower case."""
    data: Any


@dataclass
class ApiError(Exception):
    """A request that did not succeed. `status` is 0 when there was no answer.

    `message` is GitHub's own, or says why there is none; it holds neither a token nor an address.
    """

    status: int
    message: str
    maybe_done: bool = False
    """Whether it may have been carried out all the same."""

    def __str__(self) -> str:
        return f"{self.status}: {self.message}" if self.status else self.message


class Client:
    """GitHub's API for one repository. All times go through the clock."""

    def __init__(
        self, token: str, *, api_url: str, graphql_url: str, clock: Clock, user_agent: str, verify: bool | str = True
    ) -> None:
        self._token = token
        self._api_url = api_url
        self._graphql_url = graphql_url
        self._clock = clock
        self._user_agent = user_agent
        self._verify = verify
        self._deadline = clock.now() + DEADLINE
        self._requester: Requester | None = None

    def get(self, path: str, parameters: Mapping[str, Any] | None = None) -> Any:
        """The data at a path. Raises ApiError."""
        return self._tried("GET", path, parameters=parameters).data

    def pages(
        self,
        path: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        member: str | None = None,
        most: int = _MOST_PAGES,
    ) -> Iterator[Any]:
        """All entries of a list, page after page, each asked for when it is needed. Raises ApiError.

        `member` is the name of the list in the answer, when that is an object; `most` is how many pages there may be.
        """
        asked: Mapping[str, Any] | None = {**(parameters or {}), "per_page": _PER_PAGE}
        for _ in range(most):
            answer = self._tried("GET", path, parameters=asked)
            entries = answer.data if member is None else at(answer.data, member)
            if not isinstance(entries, list):
                raise ApiError(answer.status, "the answer is no list")
            yield from entries
            following = _NEXT_PAGE.search(answer.headers.get("link", ""))
            if following is None:
                return
            # As GitHub gives it: after a redirection, a page counted by us could be the same one again.
            path, asked = self._own_address(following[1]), None

    def location(self, path: str) -> str:
        """Where GitHub sends whoever asks for the content at a path: a signed address, a secret by itself.

        It is on another host, which must not see the token: whoever fetches it does so without. Raises ApiError.
        """
        answer = self._tried("GET", path, is_followed=False)
        place = answer.headers.get("location", "")
        if answer.status != _FOUND or not place:
            raise ApiError(answer.status, "GitHub gave no address for the content")
        return place

    def patch(self, path: str, body: Mapping[str, Any]) -> Any:
        """Change what is at a path: doing so twice does no harm. Raises ApiError."""
        return self._tried("PATCH", path, body=body).data

    def delete(self, path: str) -> None:
        """Take away what is at a path, if it is still there. Raises ApiError."""
        try:
            self._tried("DELETE", path)
        except ApiError as fault:
            if fault.status != 404:
                raise

    def post_once(self, path: str, body: Mapping[str, Any]) -> Any:
        """Make something new, with a single try: whoever calls finds out what became of it before trying again.

        Raises ApiError; its `maybe_done` says whether it may have been made.
        """
        return self._followed("POST", path, body=body).data

    def wait_after(self, fault: ApiError, tries: int) -> None:
        """Wait before a request that failed is made again. Raises `fault` when that would make no sense."""
        wait = getattr(fault, "wait", None)
        if wait is None:
            raise fault
        self._sleep(max(wait, _back_off(tries)), fault)

    def graphql(self, query: str, variables: Mapping[str, Any]) -> Mapping[str, Any]:
        """The data of a query that changes nothing. Raises ApiError, also when the answer holds errors."""
        answer = self._tried("POST", self._graphql_url, body={"query": query, "variables": variables})
        data = answer.data if isinstance(answer.data, dict) else {}
        errors = data.get("errors")
        if errors or not isinstance(data.get("data"), dict):
            raise ApiError(answer.status, _quoted(_first_message(errors)))
        found: Mapping[str, Any] = data["data"]
        return found

    def _tried(
        self,
        method: Method,
        path: str,
        *,
        parameters: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        is_followed: bool = True,
    ) -> Answer:
        for tries in range(1, _TRIES + 1):
            try:
                return self._followed(method, path, parameters=parameters, body=body, is_followed=is_followed)
            except ApiError as fault:
                if tries == _TRIES:
                    raise
                self.wait_after(fault, tries)
        raise AssertionError

    def _followed(
        self,
        method: Method,
        path: str,
        *,
        parameters: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        is_followed: bool = True,
    ) -> Answer:
        """The answer after all redirections: a repository may have been renamed, and PyGithub follows a 301 only.

        With `is_followed` off, one to a content is the answer.
        """
        for _ in range(_MOST_REDIRECTIONS):
            answer = self._once(method, path, parameters=parameters, body=body)
            place = answer.headers.get("location", "")
            if answer.status == _FOUND and not is_followed:
                return answer
            if answer.status not in _REDIRECTED or not place:
                return self._checked(answer)
            path, parameters = self._own_address(place), None
        raise ApiError(0, "GitHub redirects in a circle")

    def _own_address(self, url: str) -> str:
        """An address that GitHub gave, if it is on the same host: no other one may see the token."""
        from urllib.parse import urljoin, urlsplit

        # PyGithub puts its own prefix before a path, but not before an address.
        try:
            whole = urljoin(self._api_url, url)
            own, other = urlsplit(self._api_url), urlsplit(whole)
        except ValueError:
            raise ApiError(0, "GitHub redirects to what is no address") from None
        if (own.scheme, own.netloc) != (other.scheme, other.netloc):
            raise ApiError(0, "GitHub redirects to another host")
        return whole

    def _sleep(self, seconds: float, fault: ApiError) -> None:
        if seconds > _LONGEST_WAIT or self._clock.now() + seconds > self._deadline:
            fault.message += f" (gave up: it asks for {seconds:,.0f} s, which is too long)"
            raise fault
        self._clock.sleep(seconds)

    def _once(
        self,
        method: Method,
        path: str,
        *,
        parameters: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> Answer:
        import requests

        if self._clock.now() > self._deadline:
            raise ApiError(0, f"no answer from GitHub within {DEADLINE:.0f} s")
        try:
            status, headers, text = self._connection().requestJson(
                method, path, parameters=dict(parameters or {}) or None, input=None if body is None else dict(body)
            )
        except requests.exceptions.SSLError:
            raise ApiError(0, "GitHub's certificate is not trusted here (a CA bundle that is missing?)") from None
        except (requests.exceptions.Timeout, TimeoutError):
            raise PassingError(0, "GitHub did not answer in time", maybe_done=True) from None
        except requests.exceptions.InvalidHeader:
            raise ApiError(0, "the token holds characters that no token has") from None
        except requests.exceptions.RequestException as fault:
            raise PassingError(0, f"GitHub cannot be reached ({type(fault).__name__})", maybe_done=True) from None
        except OSError as fault:
            if "certificate bundle" in str(fault):
                why = "a bundle of certificates is missing: see REQUESTS_CA_BUNDLE and CURL_CA_BUNDLE"
            else:
                why = fault.strerror or type(fault).__name__
            raise ApiError(0, f"GitHub cannot be reached ({why})") from None
        except Exception as fault:  # noqa: BLE001 - PyGithub raises bare errors for redirections and odd answers
            raise ApiError(0, f"GitHub's answer makes no sense ({type(fault).__name__})", maybe_done=True) from None
        return Answer(status, {name.lower(): str(value) for name, value in headers.items()}, _parsed(text))

    def _connection(self) -> Requester:
        if self._requester is None:
            from rollout_compare.github.api.session import requester

            silence_urllib3()
            self._requester = requester(
                self._token,
                api_url=self._api_url,
                timeout=_TIMEOUT,
                user_agent=self._user_agent,
                verify=self._verify,
            )
        return self._requester

    def _checked(self, answer: Answer) -> Answer:
        status = answer.status
        if 200 <= status < 300:
            return answer
        message = _quoted(_message(answer.data) or f"GitHub answered {status}")
        wait = self._asked_wait(answer, message)
        if wait is not None:
            raise PassingError(status, message, maybe_done=status in _PASSING, wait=wait)
        raise ApiError(status, message)

    def _asked_wait(self, answer: Answer, message: str) -> float | None:
        """Seconds to wait before the same may succeed; None when it will not."""
        asked = answer.headers.get("retry-after", "")
        if answer.status in _PASSING:
            return float(asked) if _is_seconds(asked) else 0.0
        limited = any(words in message.lower() for words in _RATE_LIMITS)
        if answer.status != 429 and not (answer.status == 403 and (limited or _is_seconds(asked))):
            return None
        if _is_seconds(asked):
            return float(asked)
        reset = answer.headers.get("x-ratelimit-reset", "")
        if answer.headers.get("x-ratelimit-remaining") == "0" and _is_seconds(reset):
            # It is not clear when in that second.
            return max(0.0, float(reset) - self._clock.wall()) + 1
        return 0.0 if answer.status == 429 else _LONGEST_WAIT


class PassingError(ApiError):
    """A failure that may pass: `wait` is how many seconds to wait at least before another try."""

    def __init__(self, status: int, message: str, *, maybe_done: bool, wait: float = 0.0) -> None:
        super().__init__(status, message, maybe_done)
        self.wait = wait


def silence_urllib3() -> None:
    """Keep addresses, which may be secret, out of logs: urllib3 tells them in debug messages."""
    for name in ("urllib3", "urllib3.connectionpool"):
        logging.getLogger(name).setLevel(logging.WARNING)


def is_rate_limit(fault: ApiError) -> bool:
    """Whether a request failed for being one too many."""
    return isinstance(fault, PassingError) and fault.status in (403, 429)


def _back_off(tries: int) -> float:
    return float(2 ** (tries - 1))


def _is_seconds(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 12


def _parsed(text: Any) -> Any:
    import json

    try:
        return json.loads(text) if text else None
    except (ValueError, TypeError, RecursionError):
        # An HTML page, most likely.
        return None


def _message(data: Any) -> str:
    """GitHub's message, and what it says about single fields."""
    if not isinstance(data, dict):
        return ""
    message = data.get("message")
    errors = data.get("errors")
    told = [message if isinstance(message, str) else "", _first_message(errors)]
    return ": ".join(filter(None, told))


def _first_message(errors: Any) -> str:
    first = errors[0] if isinstance(errors, list) and errors else None
    message = first.get("message") if isinstance(first, dict) else first
    return message if isinstance(message, str) else ""


def _quoted(message: str) -> str:
    """A message on one line; whoever shows it redacts it and cuts it after that."""
    return " ".join(message[:_LONGEST_MESSAGE].split())
