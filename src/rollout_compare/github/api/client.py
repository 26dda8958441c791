"""Requests to GitHub's API: patient with what passes, quick to give up on what does not.

A POST that makes something is sent once only: a 502 may hide that it was carried out, and to send it again would make
two comments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

from rollout_compare.github.api.answer import Answer, checked, first_message, quoted
from rollout_compare.github.api.faults import ApiError
from rollout_compare.github.api.patience import Patience
from rollout_compare.github.api.payload import value_at

if TYPE_CHECKING:
    from rollout_compare.github.api.session import Session

_TRIES = 5
_MOST_PAGES = 300
_PER_PAGE = 100
_NEXT_PAGE = re.compile(r'<([^<>]+)>; rel="next"')
_FOUND = 302
"""How GitHub answers with the place of a content; a renamed repository is answered otherwise."""
_REDIRECTED = frozenset({301, 302, 307, 308})
_MOST_REDIRECTIONS = 3

Method = Literal["GET", "POST", "PATCH", "DELETE"]


class Client:
    """GitHub's API with one token. A step has one client; it connects when it is asked for something."""

    def __init__(self, token: str, *, api_url: str, graphql_url: str, patience: Patience, user_agent: str) -> None:
        self.patience = patience
        self._token = token
        self._api_url = api_url
        self._graphql_url = graphql_url
        self._user_agent = user_agent
        self._session: Session | None = None

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
            entries = answer.data if member is None else value_at(answer.data, member)
            if not isinstance(entries, list):
                raise ApiError("GitHub did not return a list")
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
            raise ApiError("GitHub did not say where the content is")
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

        Raises ApiError.
        """
        return self._followed("POST", path, body=body).data

    def graphql(self, query: str, variables: Mapping[str, Any]) -> Mapping[str, Any]:
        """The data of a query that changes nothing. Raises ApiError, also when the answer holds errors."""
        answer = self._tried("POST", self._graphql_url, body={"query": query, "variables": variables})
        errors, data = value_at(answer.data, "errors"), value_at(answer.data, "data")
        if errors or not isinstance(data, dict):
            raise ApiError(quoted(first_message(errors)) or "GitHub did not return any data", status=answer.status)
        return data

    def close(self) -> None:
        """Close the connection, if there is one."""
        if self._session is not None:
            self._session.close()

    def _tried(
        self,
        method: Method,
        path: str,
        *,
        parameters: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        is_followed: bool = True,
    ) -> Answer:
        return self.patience.tried(
            lambda: self._followed(method, path, parameters=parameters, body=body, is_followed=is_followed), _TRIES
        )

    def _followed(
        self,
        method: Method,
        path: str,
        *,
        parameters: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        is_followed: bool = True,
    ) -> Answer:
        """The answer after all redirections, as a repository may have been renamed.

        With `is_followed` off, a redirection to a content is the answer.
        """
        for _ in range(_MOST_REDIRECTIONS):
            with self.patience.charged_if_it_fails():
                answer = self._connected().send(method, path, parameters=parameters, body=body)
                place = answer.headers.get("location", "")
                if answer.status == _FOUND and not is_followed:
                    return answer
                if answer.status not in _REDIRECTED or not place:
                    return checked(answer, self.patience.clock.wall())
            path, parameters = self._own_address(place), None
        raise ApiError("GitHub redirects in a circle")

    def _own_address(self, url: str) -> str:
        """An address that GitHub gave, if it is on the same host: no other one may see the token."""
        from urllib.parse import urljoin, urlsplit

        # PyGithub puts its own prefix before a path, but not before an address.
        try:
            whole = urljoin(self._api_url, url)
            own, other = urlsplit(self._api_url), urlsplit(whole)
        except ValueError:
            raise ApiError("GitHub redirects to an address that is not valid") from None
        if (own.scheme, own.netloc) != (other.scheme, other.netloc):
            raise ApiError("GitHub redirects to another host")
        return whole

    def _connected(self) -> Session:
        if self._session is None:
            from rollout_compare.github.api.session import Session

            self._session = Session(self._token, api_url=self._api_url, user_agent=self._user_agent)
        return self._session
