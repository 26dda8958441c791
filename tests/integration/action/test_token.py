"""Whose comment is ours with whatever token, and where the token never goes."""

from __future__ import annotations

import re
import socket
from typing import Any

import pytest

from tests.integration.action.conftest import COMMENTS, GRAPHQL, ONE_COMMENT, Stage
from tests.stand_in import FINE_GRAINED, INSTALLATION, PERSONAL, GitHub, Token, answer

APP = "ghs_another_app"
OWNERS = {
    INSTALLATION: "github-actions[bot]",
    PERSONAL: "hubot",
    FINE_GRAINED: "octocat",
    APP: "another-app[bot]",
}


@pytest.fixture
def offline(pull_request: GitHub) -> GitHub:
    """A GitHub without GraphQL, with a token of another app."""
    pull_request.state.tokens[APP] = Token("another-app[bot]", "Bot")
    pull_request.switch_graphql_off()
    return pull_request


def run_of(body: str) -> str:
    found = re.search(r'"run_id":"(\d+)"', body)
    assert found is not None
    return found[1]


@pytest.mark.parametrize("token", OWNERS)
def test_without_graphql_three_runs_leave_one_comment(step: Stage, offline: GitHub, token: str) -> None:
    for run_id in (100, 101, 102):
        done = step(offline, token=token, run_id=run_id)
        assert done.status == 0
        [comment] = offline.state.comments_of()
        assert (comment.author, run_of(comment.body)) == (OWNERS[token], str(run_id))
        assert done.outputs["comment-id"] == str(comment.id)


@pytest.mark.parametrize("token", [PERSONAL, APP])
def test_without_graphql_comments_of_others_with_our_marker_stay(step: Stage, offline: GitHub, token: str) -> None:
    body = "<!-- rollout-compare:default -->\n### Of somebody else"
    others = [offline.state.add_comment(body, author=author) for author in ("somebody", "third-app[bot]")]
    for run_id in (100, 101, 102):
        step(offline, token=token, run_id=run_id)
    assert [other.body for other in others] == [body, body]
    ours = [comment for comment in offline.state.comments_of() if comment.author == OWNERS[token]]
    assert [run_of(comment.body) for comment in ours] == ["102"]


# Redirections


@pytest.fixture
def asked_hosts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The hosts whose address was asked for; none but this machine's is told."""
    hosts: list[str] = []
    real = socket.getaddrinfo

    def ask(host: Any, *arguments: Any, **named: Any) -> Any:
        hosts.append(host.decode() if isinstance(host, bytes) else str(host))
        if hosts[-1] != "127.0.0.1":
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return real(host, *arguments, **named)

    monkeypatch.setattr(socket, "getaddrinfo", ask)
    return hosts


PLACES = [
    ".evil.example/",
    "@evil.example/x",
    ":80@evil.example/x",
    "//evil.example/",
    "///evil.example/",
    "\\\\evil.example/x",
    "/\\evil.example/x",
    "https://evil.example/x",
    "HTTP://evil.example/x",
    "http:evil.example/x",
    "http://127.0.0.1.evil.example/",
    "http://127.0.0.1@evil.example/",
    "http://user:word@127.0.0.1/",
    "file:///etc/passwd",
    "http://[::1/",
]


@pytest.mark.parametrize("status", [301, 302, 307, 308])
@pytest.mark.parametrize("place", PLACES)
def test_no_redirection_leads_to_another_host(
    step: Stage, pull_request: GitHub, asked_hosts: list[str], place: str, status: int
) -> None:
    for path in (GRAPHQL, COMMENTS, ONE_COMMENT):
        pull_request.fault("*", path, answer(status, {}, {"location": place}), times=None)
    done = step(pull_request)
    assert (done.status, len(done.warnings)) == (0, 1)
    assert set(asked_hosts) == {"127.0.0.1"}
    assert pull_request.state.bodies() == []
    pull_request.violations.clear()  # Some of these places are paths on the same host, which its API does not have.


@pytest.mark.parametrize("place", PLACES)
def test_no_redirection_continues_the_name_of_the_host(
    step: Stage, pull_request: GitHub, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    # An address without a port, as GitHub's own: what is put behind it could be more of its name.
    monkeypatch.setenv("http_proxy", pull_request.api_url)
    monkeypatch.setenv("no_proxy", "")
    host = "api.github.invalid"
    addresses = {"GITHUB_API_URL": f"http://{host}", "GITHUB_GRAPHQL_URL": f"http://{host}/graphql"}
    pull_request.fault("*", COMMENTS, answer(307, {}, {"location": place}), times=None)
    done = step(pull_request, environment=addresses)
    assert (done.status, len(done.warnings)) == (0, 1)
    assert {request.headers["host"].removesuffix(":80") for request in pull_request.requests} == {host}
    pull_request.violations.clear()  # As above.


@pytest.mark.parametrize("place", PLACES)
def test_no_next_page_leads_to_another_host(
    step: Stage, pull_request: GitHub, asked_hosts: list[str], place: str
) -> None:
    pull_request.switch_graphql_off()
    link = {"link": f'<{place}>; rel="next"'}
    pull_request.fault("GET", COMMENTS, answer(200, [], link), times=None)
    done = step(pull_request)
    assert (done.status, len(done.warnings)) == (0, 1)
    assert set(asked_hosts) == {"127.0.0.1"}
    pull_request.violations.clear()  # As above.
