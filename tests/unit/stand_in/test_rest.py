"""The stand-in answers REST requests as GitHub does."""

from __future__ import annotations

import http.client
import json
import re
import urllib.parse
from dataclasses import dataclass
from typing import Any

import pytest

from tests.stand_in import FINE_GRAINED, INSTALLATION, PERSONAL, REPOSITORY, GitHub, Token
from tests.stand_in.descriptions import Descriptions

COMMENTS = f"/repos/{REPOSITORY}/issues/1/comments"


@dataclass(frozen=True)
class Answered:
    status: int
    headers: dict[str, str]
    json: Any


def ask(
    github: GitHub, method: str, path: str, body: object = None, token: str | None = INSTALLATION, timeout: float = 5
) -> Answered:
    url = urllib.parse.urlsplit(path if path.startswith("http") else github.api_url + path)
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    connection = http.client.HTTPConnection(url.netloc, timeout=timeout)
    try:
        target = f"{url.path}?{url.query}" if url.query else url.path
        connection.request(method, target, None if body is None else json.dumps(body), headers)
        response = connection.getresponse()
        content = response.read()
        names = {name.lower(): value for name, value in response.getheaders()}
        return Answered(response.status, names, json.loads(content) if content else None)
    finally:
        connection.close()


def links(answered: Answered) -> dict[str, str]:
    return {name: url for url, name in re.findall(r'<([^>]+)>; rel="(\w+)"', answered.headers.get("link", ""))}


def test_comments_come_in_pages_that_link_each_other(github: GitHub) -> None:
    github.state.add_pull_request(1)
    for number in range(250):
        github.state.add_comment(f"comment {number}")
    first = ask(github, "GET", f"{COMMENTS}?per_page=100")
    second = ask(github, "GET", links(first)["next"])
    third = ask(github, "GET", links(second)["next"])
    assert [entry["body"] for page in (first, second, third) for entry in page.json] == github.state.bodies()
    assert [list(links(page)) for page in (first, second, third)] == [
        ["next", "last"],
        ["prev", "next", "last", "first"],
        ["prev", "first"],
    ]
    assert links(first)["last"] == f"{github.api_url}/repositories/1296269/issues/1/comments?per_page=100&page=3"


@pytest.mark.parametrize(("query", "shown"), [("", 30), ("?per_page=7", 7), ("?per_page=100&page=2", 0)])
def test_a_page_has_30_entries_unless_asked_otherwise(github: GitHub, query: str, shown: int) -> None:
    github.state.add_pull_request(1)
    for number in range(40):
        github.state.add_comment(str(number))
    assert len(ask(github, "GET", COMMENTS + query).json) == shown


def test_a_comment_is_created_edited_and_deleted(github: GitHub) -> None:
    github.state.add_pull_request(1)
    created = ask(github, "POST", COMMENTS, {"body": "first"})
    address = created.json["url"]
    assert (created.status, created.json["user"]["login"]) == (201, "github-actions[bot]")
    edited = ask(github, "PATCH", address, {"body": "second"})
    assert (edited.status, edited.json["body"]) == (200, "second")
    assert edited.json["updated_at"] > edited.json["created_at"]
    assert ask(github, "GET", address).json == edited.json
    assert ask(github, "DELETE", address).status == 204
    assert ask(github, "PATCH", address, {"body": "third"}).status == 404
    assert [(request.method, request.status) for request in github.writes] == [
        ("POST", 201),
        ("PATCH", 200),
        ("DELETE", 204),
        ("PATCH", 404),
    ]


@pytest.mark.parametrize(
    ("token", "access", "status", "message"),
    [
        ("ghs_unknown", "write", 401, "Bad credentials"),
        (None, "write", 401, "Requires authentication"),
        (INSTALLATION, "read", 403, "Resource not accessible by integration"),
        (FINE_GRAINED, "read", 403, "Resource not accessible by personal access token"),
        (PERSONAL, "write", 201, None),
    ],
)
def test_only_a_token_that_may_write_creates_a_comment(
    github: GitHub, token: str | None, access: str, status: int, message: str | None
) -> None:
    github.state.add_pull_request(1)
    for held in github.state.tokens.values():
        held.access = access
    answered = ask(github, "POST", COMMENTS, {"body": "text"}, token)
    assert (answered.status, answered.json.get("message")) == (status, message)


def test_locked_conversations_and_archived_repositories_take_no_comment(github: GitHub) -> None:
    pull_request = github.state.add_pull_request(1, locked=True)
    locked = ask(github, "POST", COMMENTS, {"body": "text"})
    pull_request.locked = False
    github.state.repositories[REPOSITORY].archived = True
    archived = ask(github, "POST", COMMENTS, {"body": "text"})
    assert (locked.status, locked.json["message"]) == (403, "Unable to create comment because issue is locked.")
    assert (archived.status, archived.json["message"]) == (403, "Repository was archived so is read-only.")
    assert github.state.bodies() == []


@pytest.mark.parametrize(("length", "status"), [(65_536, 201), (65_537, 422)])
def test_a_body_has_at_most_65536_characters(github: GitHub, length: int, status: int) -> None:
    github.state.add_pull_request(1)
    answered = ask(github, "POST", COMMENTS, {"body": "😀" * length})
    assert answered.status == status
    if status == 422:
        assert answered.json["errors"][0]["message"] == "Body is too long (maximum is 65536 characters)"


def test_a_private_repository_is_hidden_from_foreign_tokens(github: GitHub) -> None:
    github.state.add_repository("octo-org/secret", private=True)
    github.state.tokens["ghs_foreign"] = Token(repositories=frozenset({REPOSITORY}))
    statuses = [ask(github, "GET", "/repos/octo-org/secret", token=token).status for token in ("ghs_foreign", None)]
    assert (statuses, ask(github, "GET", "/repos/octo-org/secret").status) == ([404, 404], 200)


def test_a_renamed_repository_redirects(github: GitHub) -> None:
    github.state.add_pull_request(1)
    github.state.add_comment("text")
    github.state.rename_repository(REPOSITORY, "octo-org/renamed")
    read = ask(github, "GET", f"{COMMENTS}?per_page=100")
    written = ask(github, "POST", COMMENTS, {"body": "more"})
    assert (read.status, written.status) == (301, 307)
    assert [entry["body"] for entry in ask(github, "GET", read.headers["location"]).json] == ["text"]
    assert ask(github, "POST", written.headers["location"], {"body": "more"}).status == 201


def test_pull_requests_are_found_by_head_and_by_commit(github: GitHub) -> None:
    github.state.add_pull_request(1, head_ref="main", head_repository="ada/octo-repo", head_sha="a" * 40)
    github.state.add_pull_request(2, head_ref="main", head_repository="bob/octo-repo", head_sha="b" * 40)
    github.state.add_pull_request(3, head_ref="main", head_repository=None, user="eve", commits=["b" * 40])
    github.state.add_pull_request(4, head_ref="main", head_repository="bob/octo-repo", state="closed")

    def numbers(path: str) -> list[int]:
        return [entry["number"] for entry in ask(github, "GET", f"/repos/{REPOSITORY}/{path}").json]

    assert numbers("pulls?head=bob:main") == [2]
    assert numbers("pulls?head=bob:main&state=all") == [4, 2]
    assert numbers("pulls?head=main") == [3, 2, 1]
    assert numbers(f"commits/{'b' * 40}/pulls") == [3, 2]
    assert ask(github, "GET", f"/repos/{REPOSITORY}/pulls/3").json["head"]["repo"] is None
    assert ask(github, "GET", f"/repos/{REPOSITORY}/commits/{'9' * 40}/pulls").status == 422


def test_an_issue_is_not_a_pull_request(github: GitHub) -> None:
    github.state.add_issue(2)
    github.state.add_pull_request(3)
    assert "pull_request" not in ask(github, "GET", f"/repos/{REPOSITORY}/issues/2").json
    assert "pull_request" in ask(github, "GET", f"/repos/{REPOSITORY}/issues/3").json
    assert ask(github, "GET", f"/repos/{REPOSITORY}/pulls/2").status == 404


def test_addresses_lead_back_to_an_enterprise_server(enterprise: GitHub) -> None:
    enterprise.state.add_pull_request(1)
    created = ask(enterprise, "POST", COMMENTS, {"body": "text"}).json
    assert created["url"].startswith(f"{enterprise.api_url}/repos/")
    assert created["html_url"] == f"https://github.example.com/{REPOSITORY}/pull/1#issuecomment-{created['id']}"
    assert enterprise.api_url.endswith("/api/v3")


@pytest.mark.parametrize(
    ("method", "path", "body", "violation"),
    [
        ("GET", f"{COMMENTS}?per_pages=100", None, "unknown parameter per_pages"),
        ("GET", f"{COMMENTS}?per_page=many", None, "per_page"),
        ("POST", COMMENTS, {"text": "text"}, "'body' is a required property"),
        ("PUT", COMMENTS, {"body": "text"}, "Operation put not found"),
        ("GET", "/user", None, "Path not found"),
    ],
)
def test_a_request_that_breaks_the_description_is_noted(
    descriptions: Descriptions, method: str, path: str, body: object, violation: str
) -> None:
    with GitHub(descriptions) as github:
        github.state.add_pull_request(1)
        ask(github, method, path, body)
        assert len(github.violations) == 1
        assert violation in github.violations[0]


def test_an_answer_that_breaks_the_description_is_noted(descriptions: Descriptions) -> None:
    with GitHub(descriptions, clock=lambda: "yesterday") as github:
        github.state.add_pull_request(1)
        github.state.add_comment("text")
        ask(github, "GET", COMMENTS)
        assert len(github.violations) == 1
        assert "'yesterday' is not a 'date-time'" in github.violations[0]
