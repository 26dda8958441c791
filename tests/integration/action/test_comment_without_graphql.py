"""The comment where GitHub has no GraphQL: what REST tells has to do."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.action.conftest import GRAPHQL, HEAD, Stage, pull_request_event, row
from tests.stand_in import PERSONAL, GitHub, answer

MARKER = "<!-- rollout-compare:default -->"
STALE_HEAD = "5" * 40


@pytest.fixture
def by_rest(pull_request: GitHub) -> GitHub:
    """A GitHub with one open pull request and without GraphQL."""
    pull_request.switch_graphql_off()
    return pull_request


def test_a_report_of_the_current_head_is_not_replaced_by_one_of_another(step: Stage, by_rest: GitHub) -> None:
    step(by_rest, run_id=100)
    before = by_rest.state.bodies()
    done = step(by_rest, run_id=101, about=pull_request_event(head=STALE_HEAD))
    assert (by_rest.state.bodies(), done.status, done.warnings) == (before, 0, [])
    assert (
        "the comment is about the pull request's current commit, and this run is not: the comment stays" in done.notices
    )


def test_an_older_run_of_the_current_head_replaces_a_newer_one_of_another(step: Stage, by_rest: GitHub) -> None:
    step(by_rest, run_id=101, about=pull_request_event(head=STALE_HEAD))
    step(by_rest, run_id=100)
    [body] = by_rest.state.bodies()
    assert f'"head":"{HEAD}"' in body


def test_an_older_run_leaves_the_newer_report(step: Stage, by_rest: GitHub) -> None:
    step(by_rest, run_id=101)
    before = by_rest.state.bodies()
    step.write([row("a", 1.0)], [row("a", 1.0)])
    done = step(by_rest, run_id=100)
    assert by_rest.state.bodies() == before
    assert "a newer run has already commented: its report stays" in done.notices


def test_who_posted_is_known_after_the_post_and_the_older_comment_stays(step: Stage, by_rest: GitHub) -> None:
    earlier = by_rest.state.add_comment(f"{MARKER}\nan earlier report", author="hubot", author_type="User")
    others = by_rest.state.add_comment(f"{MARKER}\nof another person", author="somebody", author_type="User")
    done = step(by_rest, token=PERSONAL, run_id=101)
    ours, theirs = by_rest.state.comments_of()
    assert (theirs.id, theirs.body) == (others.id, f"{MARKER}\nof another person")
    assert ours.id == earlier.id
    assert '"run_id":"101"' in ours.body
    assert (done.outputs["comment-id"], done.warnings) == (str(earlier.id), [])


@pytest.mark.parametrize(
    "comments",
    [
        {"nodes": [], "pageInfo": None},
        {"nodes": None, "pageInfo": {"hasNextPage": False, "endCursor": None}},
        {"nodes": []},
        None,
    ],
    ids=["no page", "no comments", "nothing of a page", "nothing"],
)
def test_half_an_answer_of_graphql_is_done_without(comments: Any, step: Stage, pull_request: GitHub) -> None:
    step(pull_request)
    [before] = pull_request.state.comments_of()
    step.write([row("a", 1.0)], [row("a", 1.0)])
    content = {"data": {"repository": {"pullRequest": {"headRefOid": HEAD, "comments": comments}}}}
    pull_request.fault("POST", GRAPHQL, answer(200, content), times=None)
    done = step(pull_request, run_id=101)
    [comment] = pull_request.state.comments_of()
    assert (comment.id, done.status, done.warnings) == (before.id, 0, [])
    assert '"run_id":"101"' in comment.body


def test_white_space_within_a_line_that_somebody_edited_is_overwritten(step: Stage, pull_request: GitHub) -> None:
    step(pull_request)
    [comment] = pull_request.state.comments_of()
    before = comment.body
    hidden, shown = before.split("-->\n\n", 1) if "-->\n\n" in before else before.rsplit("-->\n", 1)
    pull_request.state.edit_comment(comment.id, before.removesuffix(shown) + shown.replace(" ", "\n", 1))
    assert hidden in comment.body
    assert comment.body != before
    step(pull_request)
    assert pull_request.state.bodies() == [before]
