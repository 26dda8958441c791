"""The stand-in executes GraphQL documents against the published schema."""

from __future__ import annotations

import http.client
import json
import urllib.parse
from typing import Any

import pytest

from tests.stand_in import INSTALLATION, PERSONAL, REPOSITORY, GitHub
from tests.stand_in.descriptions import Descriptions

COMMENTS = """
query ($number: Int!, $after: String) {
  repository(owner: "octo-org", name: "octo-repo") {
    issueOrPullRequest(number: $number) {
      __typename
      ... on PullRequest { comments(first: 100, after: $after) { ...page } }
      ... on Issue { comments(first: 100, after: $after) { ...page } }
    }
  }
}
fragment page on IssueCommentConnection {
  nodes {
    databaseId fullDatabaseId id body url viewerDidAuthor isMinimized minimizedReason author { login __typename }
  }
  pageInfo { hasNextPage endCursor }
}
"""
MINIMIZE = """
mutation ($id: ID!) {
  minimizeComment(input: {subjectId: $id, classifier: OFF_TOPIC}) { minimizedComment { isMinimized minimizedReason } }
}
"""
DELETE = "mutation ($id: ID!) { deleteIssueComment(input: {id: $id}) { clientMutationId } }"


def ask(github: GitHub, query: str, token: str = INSTALLATION, **variables: object) -> tuple[int, Any]:
    url = urllib.parse.urlsplit(github.graphql_url)
    connection = http.client.HTTPConnection(url.netloc, timeout=5)
    try:
        body = json.dumps({"query": query, "variables": variables})
        connection.request("POST", url.path, body, {"Authorization": f"bearer {token}"})
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def connection_of(answered: tuple[int, Any]) -> dict[str, Any]:
    comments: dict[str, Any] = answered[1]["data"]["repository"]["issueOrPullRequest"]["comments"]
    return comments


def test_comments_tell_whether_the_viewer_wrote_them(github: GitHub) -> None:
    github.state.add_pull_request(1)
    ours = github.state.add_comment("ours")
    github.state.add_comment("theirs", author="hubot", minimized="outdated")
    github.state.add_comment("nobody's", author=None)
    nodes = connection_of(ask(github, COMMENTS, number=1))["nodes"]
    assert [node["viewerDidAuthor"] for node in nodes] == [True, False, False]
    assert [node["author"] for node in nodes] == [
        {"login": "github-actions", "__typename": "Bot"},
        {"login": "hubot", "__typename": "User"},
        None,
    ]
    assert [node["isMinimized"] for node in nodes] == [False, True, False]
    assert (nodes[0]["fullDatabaseId"], nodes[0]["databaseId"]) == (str(ours.id), None)
    seen_by_hubot = connection_of(ask(github, COMMENTS, PERSONAL, number=1))["nodes"]
    assert [node["viewerDidAuthor"] for node in seen_by_hubot] == [False, True, False]


def test_comments_come_in_pages(github: GitHub) -> None:
    github.state.add_issue(2)
    for number in range(131):
        github.state.add_comment(str(number), 2)
    first = connection_of(ask(github, COMMENTS, number=2))
    second = connection_of(ask(github, COMMENTS, number=2, after=first["pageInfo"]["endCursor"]))
    assert (first["pageInfo"]["hasNextPage"], second["pageInfo"]["hasNextPage"]) == (True, False)
    assert [node["body"] for node in first["nodes"] + second["nodes"]] == github.state.bodies(2)


def test_a_comment_is_minimized_and_deleted(enterprise: GitHub) -> None:
    enterprise.state.add_pull_request(1)
    comment = enterprise.state.add_comment("text")
    _, answered = ask(enterprise, MINIMIZE, id=comment.node_id)
    shown = {"isMinimized": True, "minimizedReason": "off-topic"}
    assert answered == {"data": {"minimizeComment": {"minimizedComment": shown}}}
    ask(enterprise, DELETE, id=comment.node_id)
    assert enterprise.state.bodies() == []


@pytest.mark.parametrize("document", [MINIMIZE, DELETE])
def test_a_token_that_only_reads_is_refused_with_200(github: GitHub, document: str) -> None:
    github.state.add_pull_request(1)
    comment = github.state.add_comment("text")
    github.state.tokens[INSTALLATION].access = "read"
    status, answered = ask(github, document, id=comment.node_id)
    [error] = answered["errors"]
    assert (status, error["type"], error["message"]) == (200, "FORBIDDEN", "Resource not accessible by integration")
    assert (comment.minimized, github.state.bodies()) == (None, ["text"])


def test_what_is_missing_is_an_error_beside_null(github: GitHub) -> None:
    _, answered = ask(github, COMMENTS, number=99)
    assert answered["data"] == {"repository": {"issueOrPullRequest": None}}
    assert answered["errors"][0]["type"] == "NOT_FOUND"
    assert answered["errors"][0]["path"] == ["repository", "issueOrPullRequest"]


def test_an_unknown_token_is_refused(github: GitHub) -> None:
    assert ask(github, COMMENTS, "ghs_unknown", number=1)[0] == 401


def test_graphql_can_be_missing_or_fail(github: GitHub, enterprise: GitHub) -> None:
    github.switch_graphql_off()
    enterprise.let_graphql_fail("broken")
    assert ask(github, COMMENTS, number=1)[0] == 404
    status, answered = ask(enterprise, COMMENTS, number=1)
    assert (status, answered["errors"][0]["message"]) == (200, "broken")


def test_a_former_name_is_followed(github: GitHub) -> None:
    github.state.add_pull_request(1)
    github.state.add_comment("text")
    github.state.rename_repository(REPOSITORY, "octo-org/renamed")
    assert [node["body"] for node in connection_of(ask(github, COMMENTS, number=1))["nodes"]] == ["text"]


@pytest.mark.parametrize(
    ("document", "variables", "violation"),
    [
        ("{ viewer { login } }", {}, "Cannot query field 'viewer' on type 'Query'."),
        (COMMENTS, {"number": "one"}, "Int cannot represent non-integer value"),
        ("{ repository(", {}, "Syntax Error"),
    ],
)
def test_a_document_that_breaks_the_schema_is_noted(
    descriptions: Descriptions, document: str, variables: dict[str, Any], violation: str
) -> None:
    with GitHub(descriptions) as github:
        status, answered = ask(github, document, **variables)
        assert (status, "data" in answered) == (200, False)
        assert violation in github.violations[0]
