"""The one comment of a pull request: found again, brought up to date, never doubled, never taken for another's."""

from __future__ import annotations

import contextlib
import itertools
import re
import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from rollout_compare.github.api.client import Client
from rollout_compare.github.api.patience import Patience
from rollout_compare.github.comments.comment import Posted, Stamp, Writer
from rollout_compare.github.event import Run
from tests.integration.action.conftest import (
    COMMENTS,
    GRAPHQL,
    HEAD,
    ONE_COMMENT,
    Clock,
    Stage,
    own_body,
    pull_request_event,
    row,
)
from tests.stand_in import INSTALLATION, PERSONAL, REPOSITORY, GitHub, Token, answer, hook
from tests.stand_in.payloads import on_pull_request, payload, with_number
from tests.stand_in.server import Request
from tests.stand_in.state import Comment

MARKER = "<!-- rollout-compare:default -->"
STALE_HEAD = "5" * 40
SAME = [row("a", 1.0), row("b", 0.0)]
OTHER_APP = "another-app[bot]"


def asked(github: GitHub) -> list[tuple[str, str]]:
    """Methods and paths of the requests, in order."""
    return [(request.method, request.path) for request in github.requests]


def writes(github: GitHub) -> list[tuple[str, str]]:
    return [(request.method, request.path) for request in github.writes]


def run_of(body: str) -> int:
    """The run that wrote a body."""
    found = re.match(r'<!-- [^\n]* -->\n<!-- rollout-compare-run \{"run_id":"(\d+)"', body)
    assert found is not None, body[:300]
    return int(found[1])


def patched(identifier: int) -> tuple[str, str]:
    return "PATCH", f"/repos/{REPOSITORY}/issues/comments/{identifier}"


def deleted(identifier: int) -> tuple[str, str]:
    return "DELETE", f"/repos/{REPOSITORY}/issues/comments/{identifier}"


def test_the_first_report_is_one_post(step: Stage, pull_request: GitHub) -> None:
    done = step(pull_request)
    assert asked(pull_request) == [("POST", GRAPHQL), ("POST", COMMENTS), ("POST", GRAPHQL)]
    [comment] = pull_request.state.comments_of()
    assert comment.body.split("\n")[0] == MARKER
    assert comment.body.count(MARKER) == 1
    assert done.outputs["comment-id"] == str(comment.id)
    assert done.outputs["comment-url"] == f"https://github.com/{REPOSITORY}/pull/1#issuecomment-{comment.id}"
    assert done.warnings == []


def test_the_hidden_second_line_tells_run_attempt_and_head(step: Stage, pull_request: GitHub) -> None:
    step(pull_request, run_id=12_345_678_901, attempt=3)
    second = pull_request.state.bodies()[0].split("\n")[1]
    assert re.fullmatch(
        r'<!-- rollout-compare-run \{"run_id":"12345678901","attempt":3,"head":"' + HEAD + r'","inputs":"\w+"\} -->',
        second,
    )


def test_a_later_report_replaces_the_first_in_place(step: Stage, pull_request: GitHub) -> None:
    step(pull_request)
    [first] = pull_request.state.comments_of()
    pull_request.requests.clear()
    step.write(SAME, SAME)
    done = step(pull_request, run_id=101)
    assert asked(pull_request) == [("POST", GRAPHQL), patched(first.id)]
    [comment] = pull_request.state.comments_of()
    assert (comment.id, run_of(comment.body)) == (first.id, 101)
    assert done.outputs["comment-id"] == str(first.id)


@pytest.mark.parametrize("graphql", [True, False], ids=["GraphQL", "REST"])
@pytest.mark.parametrize("position", [31, 131])
def test_the_comment_is_found_on_whatever_page(step: Stage, pull_request: GitHub, position: int, graphql: bool) -> None:
    body = own_body(step, pull_request)
    for number in range(1, 150):
        pull_request.state.add_comment(
            body if number == position else "Nice.", author=None if number == position else "x"
        )
    ours = pull_request.state.comments_of()[position - 1]
    ours.author, ours.author_type = "github-actions[bot]", "Bot"
    if not graphql:
        pull_request.switch_graphql_off()
    step(pull_request, run_id=101)
    assert writes(pull_request) == [patched(ours.id)]
    pages = pull_request.calls("POST", GRAPHQL) if graphql else pull_request.calls("GET", COMMENTS)
    assert len(pages) == 2
    assert graphql or {page.query["per_page"][0] for page in pages} == {"100"}


@pytest.mark.parametrize("graphql", [True, False], ids=["GraphQL", "REST"])
@pytest.mark.parametrize(
    ("author", "quote"),
    [("hubot", "> "), ("hubot", ""), ("github-actions[bot]", "> "), ("github-actions[bot]", "As said:\n"), (None, "")],
    ids=["quoted by a human", "copied by a human", "quoted by our bot", "below other words", "by a deleted account"],
)
def test_a_marker_in_another_place_or_of_another_author_is_not_ours(
    step: Stage, pull_request: GitHub, author: str | None, quote: str, graphql: bool
) -> None:
    theirs = pull_request.state.add_comment(quote + own_body(step, pull_request).replace("\n", f"\n{quote.strip()}"))
    theirs.author, theirs.author_type = author, "Bot" if author and author.endswith("[bot]") else "User"
    before = theirs.body
    if not graphql:
        pull_request.switch_graphql_off()
    done = step(pull_request, run_id=101)
    assert writes(pull_request) == [("POST", COMMENTS)]
    assert (theirs.body, done.status, done.warnings) == (before, 0, [])


def test_a_person_with_the_name_of_the_bot_is_no_bot(step: Stage, pull_request: GitHub) -> None:
    pull_request.state.add_comment(own_body(step, pull_request), author="github-actions", author_type="User")
    pull_request.switch_graphql_off()
    step(pull_request, run_id=101)
    assert writes(pull_request) == [("POST", COMMENTS)]


def test_comments_of_other_tools_by_the_same_bot_are_left_alone(step: Stage, pull_request: GitHub) -> None:
    bodies = ["<!-- coverage -->\n81%", "<!-- rollout-compare -->\nan older tool", "plain words", ""]
    for body in bodies:
        pull_request.state.add_comment(body)
    step(pull_request)
    assert pull_request.state.bodies()[:4] == bodies
    assert writes(pull_request) == [("POST", COMMENTS)]


@pytest.mark.parametrize("order", [("math", "math-2"), ("math-2", "math")], ids="/".join)
def test_ids_that_look_alike_have_comments_of_their_own(
    step: Stage, pull_request: GitHub, order: tuple[str, ...]
) -> None:
    for run_id, name in enumerate([*order, *order], start=1):
        step(pull_request, run_id=run_id, comment_id=name)
    assert len(pull_request.state.bodies()) == 2
    markers = {body.split("\n")[0]: run_of(body) for body in pull_request.state.bodies()}
    assert markers == {f"<!-- rollout-compare:{name} -->": run_id for run_id, name in enumerate(order, start=3)}


def test_an_id_is_no_pattern(step: Stage, pull_request: GitHub) -> None:
    step(pull_request, comment_id="mathX2")
    step(pull_request, comment_id="math.2", run_id=101)
    assert len(pull_request.state.bodies()) == 2


@pytest.mark.parametrize("graphql", [True, False], ids=["GraphQL", "REST"])
def test_a_comment_of_another_bot_is_left_alone_with_a_warning(
    step: Stage, pull_request: GitHub, graphql: bool
) -> None:
    theirs = pull_request.state.add_comment(own_body(step, pull_request), author=OTHER_APP)
    if not graphql:
        pull_request.switch_graphql_off()
    done = step(pull_request, run_id=101)
    assert writes(pull_request) == [("POST", COMMENTS)]
    [warning] = done.warnings
    assert f"#issuecomment-{theirs.id}" in warning


def test_a_token_of_a_person_finds_the_comment_of_that_person(step: Stage, pull_request: GitHub) -> None:
    step(pull_request, token=PERSONAL)
    step(pull_request, token=PERSONAL, run_id=101)
    [comment] = pull_request.state.comments_of()
    assert (comment.author, run_of(comment.body)) == ("hubot", 101)


def test_a_minimized_comment_is_updated_where_it_is(step: Stage, pull_request: GitHub) -> None:
    ours = pull_request.state.add_comment(own_body(step, pull_request), minimized="outdated")
    step(pull_request, run_id=101)
    assert writes(pull_request) == [patched(ours.id)]


@pytest.mark.parametrize("graphql", [True, False], ids=["GraphQL", "REST"])
def test_a_comment_that_is_deleted_meanwhile_is_posted_anew(step: Stage, pull_request: GitHub, graphql: bool) -> None:
    ours = pull_request.state.add_comment(own_body(step, pull_request))
    if not graphql:
        pull_request.switch_graphql_off()
    pull_request.fault("PATCH", "*", hook(lambda server, _: server.state.comments.pop(ours.id)))
    done = step(pull_request, run_id=101)
    assert writes(pull_request) == [patched(ours.id), ("POST", COMMENTS)]
    [comment] = pull_request.state.comments_of()
    assert (done.outputs["comment-id"], done.warnings) == (str(comment.id), [])


@contextlib.contextmanager
def stale_list(github: GitHub, *, shows_new: bool) -> Iterator[None]:
    """Let lists show the comments that are there now, whatever is deleted afterwards, and maybe those that come."""
    now, real = list(github.state.comments.values()), github.state.comments_of

    def listed(number: int = 1, repository: str = REPOSITORY) -> list[Comment]:
        newer = [comment for comment in real(number, repository) if comment not in now]
        return [*now, *(newer if shows_new else ())]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(github.state, "comments_of", listed)
        yield


@pytest.mark.parametrize("graphql", [True, False], ids=["GraphQL", "REST"])
@pytest.mark.parametrize("shows_new", [True, False], ids=["new ones are listed", "new ones are not listed yet"])
@pytest.mark.parametrize("gone", [1, 3])
def test_a_deleted_comment_that_is_still_listed_is_made_anew_once(
    step: Stage, pull_request: GitHub, graphql: bool, shows_new: bool, gone: int
) -> None:
    body = own_body(step, pull_request)
    for _ in range(gone):
        pull_request.state.add_comment(body)
    with stale_list(pull_request, shows_new=shows_new):
        pull_request.state.comments.clear()
        if not graphql:
            pull_request.switch_graphql_off()
        done = step(pull_request, run_id=101)
    [comment] = pull_request.state.comments_of()
    assert (len(pull_request.calls("POST", COMMENTS)), run_of(comment.body)) == (1, 101)
    assert (done.status, done.warnings, done.outputs["comment-id"]) == (0, [], str(comment.id))


def test_after_an_unreadable_input_a_comment_deleted_meanwhile_stays_deleted(step: Stage, pull_request: GitHub) -> None:
    ours = pull_request.state.add_comment(own_body(step, pull_request))
    pull_request.fault("PATCH", "*", hook(lambda server, _: server.state.comments.pop(ours.id)))
    done = step(pull_request, run_id=101, old="absent.jsonl")
    assert writes(pull_request) == [patched(ours.id)]
    assert (done.status, done.warnings, pull_request.state.bodies()) == (1, [], [])


def test_with_changes_only_a_comment_deleted_meanwhile_stays_deleted(step: Stage, pull_request: GitHub) -> None:
    step(pull_request, comment="changes")
    step.write(SAME, [row | {"made_by": "new"} for row in SAME])
    pull_request.fault("PATCH", "*", hook(lambda server, _: server.state.comments.clear()))
    done = step(pull_request, comment="changes", run_id=101)
    assert (done.status, done.warnings, done.outputs["comment-id"], pull_request.state.bodies()) == (0, [], "", [])


@pytest.mark.parametrize("graphql", [True, False], ids=["GraphQL", "REST"])
def test_of_several_own_comments_the_oldest_stays(step: Stage, pull_request: GitHub, graphql: bool) -> None:
    body = own_body(step, pull_request)
    first, second, third = (pull_request.state.add_comment(body) for _ in range(3))
    if not graphql:
        pull_request.switch_graphql_off()
    done = step(pull_request, run_id=101)
    [comment] = pull_request.state.comments_of()
    assert (comment.id, run_of(comment.body)) == (first.id, 101)
    assert Counter(writes(pull_request)) == Counter([patched(first.id), deleted(second.id), deleted(third.id)])
    assert (done.outputs["comment-id"], done.warnings) == (str(first.id), [])


@pytest.mark.parametrize("status", [403, 404, 500])
def test_a_later_comment_that_stays_is_only_a_warning(step: Stage, pull_request: GitHub, status: int) -> None:
    body = own_body(step, pull_request)
    first, second = (pull_request.state.add_comment(body) for _ in range(2))
    pull_request.fault("DELETE", "*", answer(status, {"message": "No."}), times=None)
    done = step(pull_request, run_id=101)
    assert (done.status, run_of(first.body)) == (0, 101)
    assert len(done.warnings) == (0 if status == 404 else 1)
    assert status == 404 or f"#issuecomment-{second.id}" in done.warnings[0]


def test_of_several_own_comments_the_newest_report_survives(step: Stage, pull_request: GitHub) -> None:
    step(pull_request, run_id=103)
    newest = pull_request.state.bodies()[0]
    pull_request.state.comments.clear()
    oldest = pull_request.state.add_comment(newest.replace('"run_id":"103"', '"run_id":"100"'))
    pull_request.state.add_comment(newest)
    step(pull_request, run_id=101)
    [comment] = pull_request.state.comments_of()
    assert (comment.id, comment.body) == (oldest.id, newest)


@pytest.mark.parametrize("head", [HEAD, STALE_HEAD])
def test_an_older_run_that_ends_last_leaves_the_newer_report(step: Stage, pull_request: GitHub, head: str) -> None:
    step(pull_request, run_id=101)
    before = pull_request.state.bodies()
    [comment] = pull_request.state.comments_of()
    pull_request.requests.clear()
    step.write(SAME, SAME)
    done = step(pull_request, run_id=100, about=pull_request_event(head=head))
    assert (writes(pull_request), pull_request.state.bodies()) == ([], before)
    assert any("newer" in notice or "current" in notice for notice in done.notices)
    assert done.outputs["comment-id"] == str(comment.id)
    assert done.status == 0


def test_an_older_run_whose_event_tells_no_head_leaves_the_newer_report(step: Stage, pull_request: GitHub) -> None:
    step(pull_request, run_id=101)
    before = pull_request.state.bodies()
    about = on_pull_request(with_number(payload("issue_comment"), 1))
    step(pull_request, run_id=100, event="issue_comment", about=about)
    assert pull_request.state.bodies() == before


def test_an_older_run_of_the_current_head_replaces_a_newer_one_of_another(step: Stage, pull_request: GitHub) -> None:
    step(pull_request, run_id=101, about=pull_request_event(head=STALE_HEAD))
    step(pull_request, run_id=100)
    assert f'"head":"{HEAD}"' in pull_request.state.bodies()[0]


def test_runs_are_ordered_by_number_and_not_by_text(step: Stage, pull_request: GitHub) -> None:
    step(pull_request, run_id=9)
    step(pull_request, run_id=10)
    assert run_of(pull_request.state.bodies()[0]) == 10


A_YEAR_OF_RUNS = 8_000_000_000
"""How far the ids of runs on github.com went up within 2025: from about 12.6 to about 20.6 thousand million."""


@pytest.mark.parametrize("ahead", [3 * A_YEAR_OF_RUNS, 10**18, 10**30])
@pytest.mark.parametrize("old", ["old.jsonl", "absent.jsonl"])
def test_a_run_that_cannot_be_yet_does_not_keep_the_comment_for_ever(
    step: Stage, pull_request: GitHub, ahead: int, old: str
) -> None:
    body = own_body(step, pull_request, run_id=100)
    ours = pull_request.state.add_comment(body.replace('"run_id":"100"', f'"run_id":"{101 + ahead}"'))
    done = step(pull_request, run_id=101, old=old)
    assert (run_of(ours.body), done.warnings) == (101, [])


@pytest.mark.parametrize("ahead", [1, 1_000_000, A_YEAR_OF_RUNS])
def test_a_run_that_came_within_a_year_is_a_newer_one(step: Stage, pull_request: GitHub, ahead: int) -> None:
    body = own_body(step, pull_request, run_id=100)
    ours = pull_request.state.add_comment(body.replace('"run_id":"100"', f'"run_id":"{101 + ahead}"'))
    step(pull_request, run_id=101)
    assert run_of(ours.body) == 101 + ahead


def test_a_second_attempt_of_a_run_updates_and_the_first_does_not_come_back(step: Stage, pull_request: GitHub) -> None:
    step(pull_request, attempt=1)
    step.write(SAME, SAME)
    step(pull_request, attempt=2)
    [body] = pull_request.state.bodies()
    assert '"attempt":2' in body
    step.write(SAME, [row("a", 0.0), row("b", 1.0)])
    step(pull_request, attempt=1)
    assert pull_request.state.bodies() == [body]


def test_the_eleventh_attempt_comes_after_the_second(step: Stage, pull_request: GitHub) -> None:
    for attempt in (2, 11):
        step(pull_request, attempt=attempt)
    assert '"attempt":11' in pull_request.state.bodies()[0]


def test_a_report_of_the_current_head_is_not_replaced_by_one_of_another(step: Stage, pull_request: GitHub) -> None:
    step(pull_request, run_id=100)
    before = pull_request.state.bodies()
    done = step(pull_request, run_id=101, about=pull_request_event(head=STALE_HEAD))
    assert (pull_request.state.bodies(), done.status) == (before, 0)
    assert any("current" in notice for notice in done.notices)


def test_a_report_of_the_current_head_replaces_one_of_another(step: Stage, pull_request: GitHub) -> None:
    step(pull_request, run_id=100, about=pull_request_event(head=STALE_HEAD))
    step(pull_request, run_id=101)
    assert f'"head":"{HEAD}"' in pull_request.state.bodies()[0]


def test_a_stamp_that_nobody_understands_is_replaced(step: Stage, pull_request: GitHub) -> None:
    for second in (
        "<!-- rollout-compare-run {} -->",
        "<!-- rollout-compare-run [] -->",
        '<!-- rollout-compare-run {"run_id":"x","attempt":1,"head":"","inputs":""} -->',
        '<!-- rollout-compare-run {"run_id":[],"attempt":{},"head":1,"inputs":2} -->',
        "<!-- rollout-compare-run " + "[" * 30_000 + " -->",
        '<!-- rollout-compare-run {"run_id":"' + "9" * 5_000 + '","attempt":1,"head":"","inputs":""} -->',
        "",
    ):
        pull_request.state.comments.clear()
        ours = pull_request.state.add_comment(f"{MARKER}\n{second}\n### Report")
        pull_request.requests.clear()
        step(pull_request)
        assert writes(pull_request) == [patched(ours.id)], second[:60]


@pytest.mark.parametrize("edit", ["as it was", "CRLF", "CRLF without the last line end", "white space at the ends"])
@pytest.mark.parametrize("graphql", [True, False], ids=["GraphQL", "REST"])
def test_an_unchanged_report_is_not_written_again(step: Stage, pull_request: GitHub, edit: str, graphql: bool) -> None:
    body = own_body(step, pull_request)
    if edit.startswith("CRLF"):
        body = body.replace("\n", "\r\n")
    if edit == "CRLF without the last line end":
        body = body.rstrip()
    if edit == "white space at the ends":
        body = body.rstrip("\n").replace("\n", "  \n") + " \n\n"
    ours = pull_request.state.add_comment(body)
    if not graphql:
        pull_request.switch_graphql_off()
    done = step(pull_request)
    assert (writes(pull_request), ours.body) == ([], body)
    assert (done.outputs["comment-id"], done.warnings) == (str(ours.id), [])


def test_a_comment_edited_in_the_browser_is_brought_up_to_date(step: Stage, pull_request: GitHub) -> None:
    ours = pull_request.state.add_comment(own_body(step, pull_request).replace("\n", "\r\n") + "Thanks!\r\n")
    step(pull_request, run_id=101)
    assert writes(pull_request) == [patched(ours.id)]
    assert "Thanks!" not in ours.body


def test_with_changes_only_an_unchanged_comparison_is_not_posted(step: Stage, pull_request: GitHub) -> None:
    step.write(SAME, [row | {"made_by": "new"} for row in SAME])
    done = step(pull_request, comment="changes")
    assert pull_request.writes == []
    assert (done.outputs["changed"], done.outputs["comment-url"], done.status) == ("false", "", 0)


def test_with_changes_only_a_flip_is_posted(step: Stage, pull_request: GitHub) -> None:
    done = step(pull_request, comment="changes")
    assert (len(pull_request.state.bodies()), done.outputs["changed"]) == (1, "true")


def test_with_changes_only_a_warning_of_a_check_is_posted(step: Stage, pull_request: GitHub) -> None:
    step.write([row("a", 1.0)], [row("z", 1.0)])
    done = step(pull_request, comment="changes")
    assert (len(pull_request.state.bodies()), done.outputs["changed"]) == (1, "true")


def test_with_changes_only_an_earlier_comment_is_still_brought_up_to_date(step: Stage, pull_request: GitHub) -> None:
    step(pull_request, comment="changes")
    step.write(SAME, SAME)
    step(pull_request, comment="changes", run_id=101)
    [body] = pull_request.state.bodies()
    assert run_of(body) == 101
    assert "Regressed" not in body


@pytest.mark.parametrize("how", [{"comment": "off"}, {"token": ""}, {"token": "  \n"}], ids=str)
def test_switched_off_or_without_a_token_nothing_is_asked(
    step: Stage, pull_request: GitHub, how: dict[str, Any]
) -> None:
    done = step(pull_request, **how)
    assert (pull_request.requests, done.status, done.warnings) == ([], 0, [])
    assert "Rollout comparison" in done.summary
    assert (done.json["counts"]["flipped"], done.outputs["flipped"]) == (1, "1")


def test_two_comparisons_of_one_run_that_share_an_id_are_told_so(step: Stage, pull_request: GitHub) -> None:
    step(pull_request)
    step.write(SAME, SAME)
    done = step(pull_request)
    [warning] = done.warnings
    assert "comment-id" in warning
    [body] = pull_request.state.bodies()
    assert "Regressed" not in body


def test_another_key_is_another_comparison(step: Stage, pull_request: GitHub) -> None:
    rows = [row("a", 1.0, task_id="a"), row("b", 0.0, task_id="b")]
    step.write(rows, rows)
    step(pull_request, key="task_id")
    done = step(pull_request, key="task_name")
    assert len(done.warnings) == 1


def test_of_an_unreadable_input_an_earlier_comment_tells(step: Stage, pull_request: GitHub) -> None:
    step(pull_request)
    done = step(pull_request, run_id=101, old="absent.jsonl")
    [body] = pull_request.state.bodies()
    assert body.startswith(f"{MARKER}\n<!-- rollout-compare-run ")
    assert run_of(body) == 101
    assert "not compared" in body.lower()
    assert "absent.jsonl" in body
    assert "absent.jsonl" in done.error
    assert done.status == 1


def test_of_an_unreadable_input_no_comment_is_created(step: Stage, pull_request: GitHub) -> None:
    done = step(pull_request, old="absent.jsonl")
    assert (pull_request.writes, done.status) == ([], 1)
    assert "absent.jsonl" in done.summary


def test_after_an_unreadable_input_the_next_report_stands_again(step: Stage, pull_request: GitHub) -> None:
    step(pull_request)
    step(pull_request, run_id=101, old="absent.jsonl")
    done = step(pull_request, run_id=102)
    [body] = pull_request.state.bodies()
    assert (run_of(body), "Regressed" in body, done.warnings) == (102, True, [])


def test_an_unreadable_input_of_an_older_run_leaves_the_newer_report(step: Stage, pull_request: GitHub) -> None:
    step(pull_request, run_id=101)
    before = pull_request.state.bodies()
    assert step(pull_request, run_id=100, old="absent.jsonl").status == 1
    assert pull_request.state.bodies() == before


def test_the_step_fails_for_an_unreadable_input_whatever_becomes_of_the_comment(
    step: Stage, pull_request: GitHub
) -> None:
    step(pull_request)
    pull_request.fault("*", "*", answer(500, {"message": "Oops"}), times=None)
    done = step(pull_request, run_id=101, old="absent.jsonl")
    assert (done.status, len(done.warnings)) == (1, 1)


@pytest.mark.parametrize("rows", [True, False], ids=["changed", "unchanged"])
def test_flips_do_not_fail_the_step(step: Stage, pull_request: GitHub, rows: bool) -> None:
    step.write(SAME, [row("a", 0.0), row("b", 0.0)] if rows else SAME)
    assert step(pull_request).status == 0


def test_graphql_that_answers_with_errors_is_done_without(step: Stage, pull_request: GitHub) -> None:
    ours = pull_request.state.add_comment(own_body(step, pull_request))
    pull_request.let_graphql_fail()
    done = step(pull_request, run_id=101)
    assert (writes(pull_request), done.warnings) == ([patched(ours.id)], [])


@pytest.mark.parametrize(
    "outcome",
    [
        answer(200, {"data": {"repository": None}}),
        answer(200, {"data": {"repository": {"pullRequest": None}}}),
        answer(200, {"data": None}),
        answer(200, []),
        answer(200, text="<html>"),
        answer(403, {"message": "Resource not accessible by integration"}),
        answer(502, {"message": "Server Error"}),
        answer(400, {"message": "Bad request"}),
    ],
    ids=lambda outcome: f"{outcome.status} {outcome.content.decode()}",
)
def test_whatever_else_graphql_answers_rest_tells(step: Stage, pull_request: GitHub, outcome: Any) -> None:
    ours = pull_request.state.add_comment(own_body(step, pull_request))
    pull_request.fault("POST", GRAPHQL, outcome, times=None)
    done = step(pull_request, run_id=101)
    assert (writes(pull_request), done.warnings) == ([patched(ours.id)], [])


def test_who_is_asking_is_never_asked_for(step: Stage, pull_request: GitHub) -> None:
    step(pull_request)
    pull_request.switch_graphql_off()
    step(pull_request, run_id=101)
    assert not [request for request in pull_request.requests if "/user" in request.target]


# Two runs at the same time.

OLDER, NEWER = "A", "B"
TOKENS = {OLDER: INSTALLATION, NEWER: "ghs_of_the_other_run"}


class Turns:
    """Lets the requests of two runs come in a given order, for as long as it says; whoever ended is passed over."""

    def __init__(self, order: str) -> None:
        self._order = list(order)
        self._asked: list[Request] = []
        self._changed = threading.Condition()

    def wait(self, request: Request) -> None:
        who = next(name for name, token in TOKENS.items() if request.headers["authorization"].endswith(token))
        with self._changed:
            for _ in range(5_000):
                if not self._order:
                    return
                if self._order[0] == who and all(each.status is not None for each in self._asked):
                    self._order.pop(0)
                    self._asked.append(request)
                    return
                self._changed.wait(0.001)
        message = f"{who} waits for {self._order}"
        raise AssertionError(message)

    def end(self, who: str) -> None:
        with self._changed:
            self._order = [each for each in self._order if each != who]


def run_both(github: GitHub, order: str = "", run_ids: tuple[int, int] = (100, 101)) -> list[str]:
    """Let two runs, or two jobs of one, write different reports at the same time; what they tell."""
    github.state.tokens[TOKENS[NEWER]] = Token()
    turns = Turns(order)
    github.fault("*", "*", hook(lambda _, request: turns.wait(request)), times=None)
    ended: dict[str, Posted] = {}
    told: list[str] = []

    def run(who: str, run_id: int) -> None:
        stamp = Stamp(Run(run_id, 1), HEAD, who)
        addresses = {"api_url": github.api_url, "graphql_url": github.graphql_url}
        client = Client(TOKENS[who], **addresses, patience=Patience(Clock()), user_agent="test")
        writer = Writer(client, REPOSITORY, MARKER, warn=told.append, tell=told.append)
        try:
            body = f"{MARKER}\n<!-- {stamp.text()} -->\n### Report {who} of run {run_id}\n"
            ended[who] = writer.write(1, lambda _: body, stamp, sizes=[65_000])
        finally:
            turns.end(who)

    threads = [threading.Thread(target=run, args=each) for each in zip((OLDER, NEWER), run_ids, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert set(ended) == {OLDER, NEWER}
    return told


INTERLEAVINGS = sorted({"".join(order) for order in itertools.permutations("AAAABBBB")})


@pytest.mark.parametrize("order", INTERLEAVINGS)
def test_two_runs_at_the_same_time_leave_one_comment_with_the_newest_report(pull_request: GitHub, order: str) -> None:
    run_both(pull_request, order)
    [body] = pull_request.state.bodies()
    assert run_of(body) == 101


@pytest.mark.parametrize("order", INTERLEAVINGS)
def test_of_two_jobs_of_one_run_that_share_an_id_one_tells(pull_request: GitHub, order: str) -> None:
    told = run_both(pull_request, order, run_ids=(100, 100))
    [body] = pull_request.state.bodies()
    assert run_of(body) == 100
    assert any("comment-id" in message for message in told)


@pytest.mark.parametrize("order", INTERLEAVINGS)
def test_two_runs_at_the_same_time_are_not_two_jobs_of_one(pull_request: GitHub, order: str) -> None:
    assert not any("comment-id" in message for message in run_both(pull_request, order))


def test_two_runs_that_both_find_nothing_leave_one_comment(pull_request: GitHub) -> None:
    barriers = [threading.Barrier(2), threading.Barrier(2)]
    pull_request.fault("POST", GRAPHQL, hook(lambda *_: barriers[0].wait(5)), nth=1, times=2)
    pull_request.fault("POST", COMMENTS, hook(lambda *_: barriers[1].wait(5)), nth=1, times=2)
    run_both(pull_request)
    assert len(pull_request.calls("POST", COMMENTS)) == 2
    assert len(pull_request.state.bodies()) == 1


def test_a_run_within_another_ones_first_look_leaves_one_comment(step: Stage, pull_request: GitHub) -> None:
    inner: list[int] = []
    pull_request.fault("POST", COMMENTS, hook(lambda server, _: inner.append(step(server, run_id=101).status)))
    step(pull_request, run_id=100)
    [body] = pull_request.state.bodies()
    assert (inner, run_of(body)) == ([0], 101)


def test_what_a_failed_second_look_leaves_is_told(step: Stage, pull_request: GitHub) -> None:
    pull_request.fault("POST", GRAPHQL, answer(401, {"message": "Bad credentials"}), nth=2, times=None)
    done = step(pull_request)
    assert (len(pull_request.state.bodies()), len(done.warnings), done.status) == (1, 1, 0)
    assert done.outputs["comment-id"] != ""


def test_updates_ask_for_nothing_more_than_they_need(step: Stage, pull_request: GitHub) -> None:
    step(pull_request)
    pull_request.requests.clear()
    step(pull_request, run_id=101)
    assert len(pull_request.calls("*", ONE_COMMENT)) == 1
    assert len(pull_request.requests) == 2
