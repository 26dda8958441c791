"""The stand-in fails as told: once, at the nth call, or for ever."""

from __future__ import annotations

import http.client
import json

import pytest

from tests.stand_in import (
    INSTALLATION,
    REPOSITORY,
    GitHub,
    bad_gateway,
    drop,
    hang,
    hook,
    primary_limit,
    secondary_limit,
    too_many_requests,
    unavailable,
)
from tests.stand_in.faults import Outcome

COMMENTS = f"/repos/{REPOSITORY}/issues/1/comments"


def post(github: GitHub, timeout: float = 5) -> tuple[int, dict[str, str], bytes]:
    host = github.api_url.removeprefix("http://")
    connection = http.client.HTTPConnection(host, timeout=timeout)
    try:
        headers = {"Authorization": f"token {INSTALLATION}", "Content-Type": "application/json"}
        connection.request("POST", COMMENTS, json.dumps({"body": "text"}), headers)
        response = connection.getresponse()
        return response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()
    finally:
        connection.close()


def test_a_fault_happens_at_the_calls_it_is_meant_for(github: GitHub) -> None:
    github.state.add_pull_request(1)
    github.fault("POST", "*/comments", bad_gateway(), nth=2, times=2)
    github.fault("GET", "*/comments", bad_gateway(), times=None)
    assert [post(github)[0] for _ in range(4)] == [201, 502, 502, 201]
    assert [request.status for request in github.calls("POST", "*/comments")] == [201, 502, 502, 201]


@pytest.mark.parametrize(("stores", "bodies"), [(False, []), (True, ["text"])])
def test_a_bad_gateway_may_hide_that_the_comment_was_stored(github: GitHub, stores: bool, bodies: list[str]) -> None:
    github.state.add_pull_request(1)
    github.fault("POST", "*", bad_gateway(stores=stores))
    assert post(github)[0] == 502
    assert github.state.bodies() == bodies


def test_a_dropped_connection_has_no_answer(github: GitHub) -> None:
    github.state.add_pull_request(1)
    github.fault("POST", "*", drop(stores=True))
    with pytest.raises(http.client.RemoteDisconnected):
        post(github)
    assert (github.state.bodies(), github.requests[0].status) == (["text"], None)


def test_a_hanging_request_ends_when_the_client_gives_up(github: GitHub) -> None:
    github.state.add_pull_request(1)
    github.fault("POST", "*", hang())
    with pytest.raises(TimeoutError):
        post(github, timeout=0.02)
    assert post(github)[0] == 201


def test_a_hook_is_called_before_the_answer(github: GitHub) -> None:
    github.state.add_pull_request(1)
    github.fault("POST", "*", hook(lambda server, request: server.state.add_comment("another's", author="hubot")))
    assert post(github)[0] == 201
    assert github.state.bodies() == ["another's", "text"]


def test_connections_are_refused_from_a_call_on(github: GitHub) -> None:
    github.state.add_pull_request(1)
    github.fault("POST", "*", hook(lambda server, request: server.refuse_connections()), nth=2)
    assert post(github)[0] == 201
    with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
        post(github)
    with pytest.raises(ConnectionRefusedError):
        post(github)


@pytest.mark.parametrize(
    ("outcome", "status", "headers", "words"),
    [
        (secondary_limit(), 403, {"retry-after": None}, b"You have exceeded a secondary rate limit"),
        (secondary_limit(2), 403, {"retry-after": "2"}, b"You have exceeded a secondary rate limit"),
        (primary_limit(4_000_000_000), 403, {"x-ratelimit-remaining": "0"}, b"API rate limit exceeded"),
        (primary_limit(4_000_000_000, 429), 429, {"x-ratelimit-reset": "4000000000"}, b"API rate limit exceeded"),
        (too_many_requests(), 429, {"retry-after": None}, b"Too many requests"),
        (too_many_requests(3), 429, {"retry-after": "3"}, b"Too many requests"),
        (unavailable(), 503, {"content-type": "text/html; charset=utf-8"}, b"<html>"),
    ],
)
def test_limits_and_outages_look_like_githubs(
    github: GitHub, outcome: Outcome, status: int, headers: dict[str, str | None], words: bytes
) -> None:
    github.state.add_pull_request(1)
    github.fault("*", "*", outcome, times=None)
    answered, sent, content = post(github)
    assert (answered, {name: sent.get(name) for name in headers}) == (status, headers)
    assert words in content
    assert github.state.bodies() == []
