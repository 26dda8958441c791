"""Which pull request a run comments on, by the event that started it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rollout_compare.github.event import Action, Decision, Event, decide
from tests.integration.action.conftest import HEAD, MERGE_COMMIT, Stage, pull_request_event
from tests.stand_in import REPOSITORY, GitHub, Token, answer
from tests.stand_in.payloads import (
    Payload,
    by_dependabot,
    from_fork,
    on_pull_request,
    payload,
    with_head,
    with_number,
    without_head_repository,
)

FORK = "contributor/octo-repo"
PUSHED = "6113728f27ae82c7b1a177c8d03f9e96e0adf246"
"""The commit of the published push event."""


def workflow_run(head: str = HEAD, *, numbers: tuple[int, ...] = ()) -> Payload:
    """A workflow run of this repository that lists these pull requests, all with this head."""
    event = payload("workflow_run.pull_request" if numbers else "workflow_run")
    run = event["workflow_run"]
    run["pull_requests"] = [json.loads(json.dumps(run["pull_requests"][0])) | {"number": each} for each in numbers]
    for entry in run["pull_requests"]:
        entry["base"]["repo"]["id"] = event["repository"]["id"]
    return with_head(event, head)


def issue_comment(number: int = 1, *, on: str = "pull request") -> Payload:
    event = with_number(payload("issue_comment"), number)
    return on_pull_request(event) if on == "pull request" else event


def review(event: str) -> Payload:
    """An event about a pull request whose published example has another name."""
    return pull_request_event() | {"action": event}


def edited(event: Payload, value: Any, *names: str) -> Payload:
    """The event with another value at a path of names."""
    *way, last = names
    inner = event
    for name in way:
        inner = inner[name]
    inner[last] = value
    return event


def without(event: Payload, *names: str) -> Payload:
    *way, last = names
    inner = event
    for name in way:
        inner = inner[name]
    del inner[last]
    return event


def decided(tmp_path: Path, name: str, about: object, number: int | None = None, **environment: str) -> Decision:
    path = tmp_path / "event.json"
    path.write_text(json.dumps(about), encoding="utf-8")
    variables = {
        "GITHUB_ACTOR": "octocat",
        "GITHUB_EVENT_NAME": name,
        "GITHUB_EVENT_PATH": str(path),
        "GITHUB_REF": "refs/pull/1/merge",
        "GITHUB_REPOSITORY": REPOSITORY,
        "GITHUB_SHA": MERGE_COMMIT,
    }
    return decide(Event.from_environment(variables | environment), number)


@dataclass
class Row:
    """An event, and what a run that it starts does about pull requests."""

    name: str
    about: Callable[[], object]
    action: Action
    numbers: tuple[int, ...] = ()
    head_sha: str = ""
    head: str = ""
    can_write: bool = True
    queue_number: int | None = None
    asked: int | None = None
    """The input `pr-number`."""
    ref: str = "refs/heads/main"
    actor: str = "octocat"


PULL_REQUEST_EVENTS = ("pull_request", "pull_request_target", "pull_request_review", "pull_request_review_comment")
QUEUE_REF = f"refs/heads/gh-readonly-queue/main/pr-104-{'a' * 40}"
NESTED_QUEUE_REF = f"refs/heads/gh-readonly-queue/release/pr-7-{'b' * 40}/pr-12-{'c' * 40}"

TABLE = {
    **{
        f"{name} names its pull request, and its own head rather than the merge commit": Row(
            name, lambda: review("submitted"), Action.COMMENT, (1,), HEAD
        )
        for name in PULL_REQUEST_EVENTS
    },
    **{
        f"{name} from a fork may not write": Row(
            name, lambda: from_fork(pull_request_event(), FORK), Action.NOTHING, (1,), HEAD, can_write=False
        )
        for name in ("pull_request", "pull_request_review", "pull_request_review_comment")
    },
    "pull_request_target may write for a fork": Row(
        "pull_request_target", lambda: from_fork(pull_request_event(), FORK), Action.COMMENT, (1,), HEAD
    ),
    "pull_request of a deleted fork may not write": Row(
        "pull_request",
        lambda: without_head_repository(pull_request_event()),
        Action.NOTHING,
        (1,),
        HEAD,
        can_write=False,
    ),
    "pull_request_target of a deleted fork may write": Row(
        "pull_request_target", lambda: without_head_repository(pull_request_event()), Action.COMMENT, (1,), HEAD
    ),
    "pull_request by Dependabot may not write": Row(
        "pull_request",
        lambda: by_dependabot(pull_request_event()),
        Action.NOTHING,
        (1,),
        HEAD,
        can_write=False,
        actor="dependabot[bot]",
    ),
    "issue_comment on a pull request": Row("issue_comment", issue_comment, Action.COMMENT, (1,)),
    "issue_comment on an issue": Row("issue_comment", lambda: issue_comment(on="issue"), Action.NOTHING),
    "workflow_run lists its pull request": Row(
        "workflow_run", lambda: workflow_run(numbers=(1,)), Action.COMMENT, (1,), HEAD
    ),
    "workflow_run lists several, all are meant": Row(
        "workflow_run", lambda: workflow_run(numbers=(1, 4)), Action.COMMENT, (1, 4), HEAD
    ),
    "workflow_run lists one of another repository": Row(
        "workflow_run",
        lambda: edited(workflow_run(numbers=(1,)), 4711, "repository", "id"),
        Action.FIND_BY_HEAD,
        head_sha=HEAD,
        head="octo-org:master",
    ),
    "workflow_run lists one that moved on": Row(
        "workflow_run",
        lambda: (
            edited(workflow_run(numbers=(1,)), HEAD, "workflow_run", "head_sha")
            | {"workflow_run": with_head(workflow_run(numbers=(1,)), "9" * 40)["workflow_run"] | {"head_sha": HEAD}}
        ),
        Action.FIND_BY_HEAD,
        head_sha=HEAD,
        head="octo-org:master",
    ),
    "workflow_run of a fork": Row(
        "workflow_run",
        lambda: from_fork(workflow_run(), FORK, "main"),
        Action.FIND_BY_HEAD,
        head_sha=HEAD,
        head="contributor:main",
    ),
    "workflow_run of a deleted fork": Row(
        "workflow_run", lambda: without_head_repository(workflow_run()), Action.FIND_BY_COMMIT, head_sha=HEAD
    ),
    "workflow_run with a number": Row("workflow_run", workflow_run, Action.VERIFY, (7,), HEAD, asked=7),
    "push to a branch": Row("push", lambda: payload("push"), Action.FIND_BY_COMMIT, head_sha=PUSHED),
    "push of a tag": Row("push", lambda: payload("push"), Action.NOTHING, ref="refs/tags/v1"),
    "push that deletes a branch": Row("push", lambda: with_head(payload("push"), "0" * 40), Action.NOTHING),
    "push on a queue": Row("push", lambda: payload("push"), Action.NOTHING, ref=QUEUE_REF, queue_number=104),
    "push on a queue within a queue": Row(
        "push", lambda: payload("push"), Action.NOTHING, ref=NESTED_QUEUE_REF, queue_number=12
    ),
    "merge_group": Row("merge_group", lambda: payload("merge_group"), Action.NOTHING, queue_number=104),
    "merge_group on its ref": Row(
        "merge_group", lambda: payload("merge_group"), Action.NOTHING, ref=NESTED_QUEUE_REF, queue_number=12
    ),
    **{
        f"{name} without a number": Row(name, lambda: payload("workflow_dispatch"), Action.NOTHING)
        for name in ("workflow_dispatch", "schedule", "repository_dispatch", "workflow_call", "release")
    },
    **{
        f"{name} with a number": Row(name, lambda: payload("workflow_dispatch"), Action.COMMENT, (7,), asked=7)
        for name in ("workflow_dispatch", "schedule", "push", "merge_group")
    },
    "the number comes before the event": Row("pull_request", pull_request_event, Action.COMMENT, (7,), asked=7),
    "the number of the event itself keeps its head": Row(
        "pull_request", pull_request_event, Action.COMMENT, (1,), HEAD, asked=1
    ),
    "a number does not make a fork's token write": Row(
        "pull_request",
        lambda: from_fork(pull_request_event(), FORK),
        Action.NOTHING,
        (7,),
        can_write=False,
        asked=7,
    ),
}


@pytest.mark.parametrize("row", TABLE.values(), ids=TABLE.keys())
def test_each_event_says_what_to_do(tmp_path: Path, row: Row) -> None:
    found = decided(tmp_path, row.name, row.about(), row.asked, GITHUB_REF=row.ref, GITHUB_ACTOR=row.actor)
    assert (found.action, found.numbers, found.head_sha, found.head, found.can_write, found.queue_number) == (
        row.action,
        row.numbers,
        row.head_sha,
        row.head,
        row.can_write,
        row.queue_number,
    )
    assert bool(found.reason) == (found.action is Action.NOTHING)


ODD: list[Any] = [None, True, -1, 0, 1.5, [], {}, [{}], [None], [[1]], {"sha": 1}]


@pytest.mark.parametrize("odd", ODD, ids=repr)
@pytest.mark.parametrize(
    ("name", "about", "names"),
    [
        *(("pull_request", pull_request_event, names) for names in [("pull_request",), ("pull_request", "number")]),
        ("pull_request", pull_request_event, ("pull_request", "head")),
        ("pull_request", pull_request_event, ("pull_request", "head", "repo")),
        ("pull_request", pull_request_event, ("pull_request", "head", "sha")),
        ("pull_request", pull_request_event, ("pull_request", "base")),
        ("issue_comment", issue_comment, ("issue",)),
        ("issue_comment", issue_comment, ("issue", "number")),
        ("workflow_run", workflow_run, ("workflow_run",)),
        ("workflow_run", workflow_run, ("workflow_run", "head_sha")),
        ("workflow_run", workflow_run, ("workflow_run", "pull_requests")),
        ("workflow_run", workflow_run, ("workflow_run", "head_repository")),
        ("workflow_run", workflow_run, ("workflow_run", "head_branch")),
        ("workflow_run", workflow_run, ("repository",)),
        ("push", lambda: payload("push"), ("after",)),
        ("merge_group", lambda: payload("merge_group"), ("merge_group",)),
        ("merge_group", lambda: payload("merge_group"), ("merge_group", "head_ref")),
    ],
)
def test_a_value_of_another_type_is_as_if_it_were_missing(
    tmp_path: Path, name: str, about: Callable[[], Payload], names: tuple[str, ...], odd: object
) -> None:
    with_odd = decided(tmp_path, name, edited(about(), odd, *names), GITHUB_REF="refs/heads/main")
    missing = decided(tmp_path, name, without(about(), *names), GITHUB_REF="refs/heads/main")
    assert with_odd == missing


@pytest.mark.parametrize("odd", ["1", "x" * 40, "A" * 40, f"{HEAD}\n", f"{HEAD}/../../user", "--" * 20], ids=repr)
def test_what_is_no_commit_is_not_asked_for(tmp_path: Path, odd: str) -> None:
    assert decided(tmp_path, "workflow_run", with_head(workflow_run(), odd)).action is Action.NOTHING
    assert decided(tmp_path, "pull_request", pull_request_event(head=odd)).head_sha == ""
    pushed = decided(tmp_path, "push", with_head(payload("push"), odd), GITHUB_REF="refs/heads/main")
    assert pushed.head_sha == MERGE_COMMIT


@pytest.mark.parametrize("odd", ["1", "", "null", "../1"], ids=repr)
def test_a_number_in_quotes_is_none(tmp_path: Path, odd: str) -> None:
    for name, about in (("pull_request", pull_request_event), ("issue_comment", issue_comment)):
        path = ("pull_request", "number") if name == "pull_request" else ("issue", "number")
        assert decided(tmp_path, name, edited(about(), odd, *path)).action is Action.NOTHING


@pytest.mark.parametrize("odd", [[], "text", 1, None, {}], ids=repr)
@pytest.mark.parametrize("name", [*PULL_REQUEST_EVENTS, "issue_comment", "workflow_run", "merge_group", "schedule"])
def test_a_payload_that_tells_nothing_leads_to_no_comment(tmp_path: Path, name: str, odd: object) -> None:
    found = decided(tmp_path, name, odd, GITHUB_REF="refs/heads/main")
    assert (found.action, found.numbers) == (Action.NOTHING, ())


def test_a_queue_ref_with_an_endless_number_is_no_reason_to_fail(step: Stage, pull_request: GitHub) -> None:
    ref = f"refs/heads/gh-readonly-queue/main/pr-{'1' * 5_000}-{'a' * 40}"
    done = step(pull_request, event="push", about=payload("push"), environment={"GITHUB_REF": ref})
    assert (done.status, pull_request.requests) == (0, [])


# Below, whole steps.


@pytest.mark.parametrize("name", PULL_REQUEST_EVENTS)
def test_an_event_about_a_pull_request_comments_on_it(step: Stage, pull_request: GitHub, name: str) -> None:
    done = step(pull_request, event=name, about=review("submitted"))
    [body] = pull_request.state.bodies(1)
    assert f'"head":"{HEAD}"' in body
    assert MERGE_COMMIT not in body
    assert done.warnings == []


@pytest.mark.parametrize(
    ("about", "actor"),
    [
        (lambda: from_fork(pull_request_event(), FORK), "contributor"),
        (lambda: without_head_repository(pull_request_event()), "contributor"),
        (lambda: by_dependabot(pull_request_event()), "dependabot[bot]"),
    ],
    ids=["fork", "deleted fork", "Dependabot"],
)
def test_a_run_whose_token_may_not_write_asks_nothing_and_names_the_files(
    step: Stage, pull_request: GitHub, about: Callable[[], Payload], actor: str
) -> None:
    done = step(pull_request, about=about(), environment={"GITHUB_ACTOR": actor})
    assert (done.status, pull_request.requests) == (0, [])
    [warning] = done.warnings
    assert "rollout-compare-report" in warning
    assert "workflow_run" in warning
    assert "Rollout comparison" in done.text("report.md")
    assert "Rollout comparison" in done.summary
    assert (done.outputs["comment-id"], done.outputs["comment-url"]) == ("", "")


def test_pull_request_target_comments_for_a_fork(step: Stage, pull_request: GitHub) -> None:
    step(pull_request, event="pull_request_target", about=from_fork(pull_request_event(), FORK))
    assert len(pull_request.state.bodies(1)) == 1


def test_a_comment_on_a_pull_request_leads_to_it_and_one_on_an_issue_does_not(
    step: Stage, pull_request: GitHub
) -> None:
    pull_request.state.add_issue(2)
    done = step(pull_request, event="issue_comment", about=issue_comment(2, on="issue"))
    assert (pull_request.requests, done.warnings, len(done.notices)) == ([], [], 2)
    step(pull_request, event="issue_comment", about=issue_comment(1))
    assert (len(pull_request.state.bodies(1)), pull_request.state.bodies(2)) == (1, [])


def test_a_workflow_run_finds_the_pull_request_of_a_fork_by_branch_and_head(step: Stage, github: GitHub) -> None:
    github.state.add_pull_request(3, head_repository=FORK, head_ref="main", head_sha=HEAD)
    github.state.add_pull_request(4, head_repository="another/octo-repo", head_ref="main", head_sha="4" * 40)
    done = step(github, event="workflow_run", about=from_fork(workflow_run(), FORK, "main"))
    assert [len(github.state.bodies(number)) for number in (3, 4)] == [1, 0]
    [asked] = github.calls("GET", f"/repos/{REPOSITORY}/pulls")
    assert (asked.query["state"], asked.query["head"]) == (["open"], ["contributor:main"])
    assert (done.warnings, done.outputs["comment-url"].count("/pull/3#")) == ([], 1)


def test_a_workflow_run_of_an_older_commit_does_not_comment(step: Stage, github: GitHub) -> None:
    github.state.add_pull_request(3, head_repository=FORK, head_ref="main", head_sha="9" * 40)
    done = step(github, event="workflow_run", about=from_fork(workflow_run(), FORK, "main"))
    assert (github.writes, done.status, done.outputs["comment-url"]) == ([], 0, "")
    assert "Rollout comparison" in done.summary


def test_two_pull_requests_of_one_fork_with_the_same_head_are_not_guessed_between(step: Stage, github: GitHub) -> None:
    for number, base in ((3, "main"), (4, "release")):
        github.state.add_pull_request(number, head_repository=FORK, head_ref="main", head_sha=HEAD, base_ref=base)
    done = step(github, event="workflow_run", about=from_fork(workflow_run(), FORK, "main"))
    assert github.writes == []
    [warning] = done.warnings
    assert "set `pr-number` to one of them" in warning
    done = step(github, event="workflow_run", about=from_fork(workflow_run(), FORK, "main"), pr_number=4)
    assert (len(github.state.bodies(3)), len(github.state.bodies(4)), done.warnings) == (0, 1, [])


def test_a_closed_pull_request_is_not_found_by_its_head(step: Stage, github: GitHub) -> None:
    github.state.add_pull_request(3, head_repository=FORK, head_ref="main", head_sha=HEAD, state="closed")
    step(github, event="workflow_run", about=from_fork(workflow_run(), FORK, "main"))
    assert github.writes == []


def test_a_workflow_run_of_a_deleted_fork_finds_the_pull_request_by_its_commit(step: Stage, github: GitHub) -> None:
    github.state.add_pull_request(3, head_repository=None, head_owner="contributor", head_sha=HEAD)
    step(github, event="workflow_run", about=without_head_repository(from_fork(workflow_run(), FORK)))
    assert len(github.state.bodies(3)) == 1


def test_a_workflow_run_comments_on_all_pull_requests_that_it_lists(step: Stage, github: GitHub) -> None:
    for number in (1, 4):
        github.state.add_pull_request(number, head_sha=HEAD)
    done = step(github, event="workflow_run", about=workflow_run(numbers=(1, 4)))
    assert [len(github.state.bodies(number)) for number in (1, 4)] == [1, 1]
    assert [url.partition("#")[0].rpartition("/")[2] for url in done.outputs["comment-url"].split("\n")] == ["1", "4"]


@pytest.mark.parametrize(("head", "commented"), [(HEAD, 1), ("9" * 40, 0)])
def test_a_workflow_run_takes_a_given_number_only_with_the_right_head(
    step: Stage, github: GitHub, head: str, commented: int
) -> None:
    github.state.add_pull_request(7, head_sha=head, head_repository=FORK)
    done = step(github, event="workflow_run", about=from_fork(workflow_run(), FORK), pr_number=7)
    assert (len(github.state.bodies(7)), len(done.warnings), done.status) == (commented, 1 - commented, 0)


def test_a_workflow_run_refuses_a_number_that_does_not_exist(step: Stage, github: GitHub) -> None:
    done = step(github, event="workflow_run", about=from_fork(workflow_run(), FORK), pr_number=7)
    assert (github.writes, len(done.warnings), done.status) == ([], 1, 0)


@pytest.mark.parametrize("about", [b"", b"{", b"[]", b"{}"], ids=["empty", "broken", "a list", "empty object"])
def test_a_workflow_run_whose_event_tells_no_commit_takes_no_number(
    step: Stage, pull_request: GitHub, about: bytes
) -> None:
    done = step(pull_request, event="workflow_run", about=about, pr_number=1)
    assert (pull_request.writes, pull_request.state.bodies(), done.status) == ([], [], 0)
    assert len(done.warnings) >= 1


def test_a_push_updates_every_open_pull_request_with_that_head(step: Stage, github: GitHub) -> None:
    github.state.add_pull_request(1, head_sha=PUSHED)
    github.state.add_pull_request(2, head_sha=PUSHED, base_ref="release")
    github.state.add_pull_request(3, head_sha=PUSHED, state="closed")
    github.state.add_pull_request(4, head_sha="4" * 40, commits=[PUSHED])
    done = step(github, event="push", about=payload("push"), environment={"GITHUB_REF": "refs/heads/feature"})
    assert [len(github.state.bodies(number)) for number in (1, 2, 3, 4)] == [1, 1, 0, 0]
    urls, numbers = done.outputs["comment-url"].split("\n"), done.outputs["comment-id"].split("\n")
    assert (len(urls), len(numbers)) == (2, 2)
    assert all(url.endswith(f"#issuecomment-{number}") for url, number in zip(urls, numbers, strict=True))


def test_one_pull_request_that_refuses_the_comment_does_not_keep_it_from_the_other(step: Stage, github: GitHub) -> None:
    github.state.add_pull_request(2, head_sha=PUSHED, locked=True)
    github.state.add_pull_request(1, head_sha=PUSHED)
    done = step(github, event="push", about=payload("push"), environment={"GITHUB_REF": "refs/heads/feature"})
    assert (len(github.state.bodies(1)), done.status) == (1, 0)
    [warning] = done.warnings
    assert "2" in warning
    assert "locked" in warning


def test_a_push_that_no_pull_request_is_about_leaves_the_summary(step: Stage, github: GitHub) -> None:
    github.state.repositories[REPOSITORY].commits.add(PUSHED)
    done = step(github, event="push", about=payload("push"), environment={"GITHUB_REF": "refs/heads/feature"})
    assert (github.writes, done.warnings, done.status) == ([], [], 0)
    assert "Rollout comparison" in done.summary


@pytest.mark.parametrize("name", ["merge_group", "push"])
def test_a_merge_queue_gives_the_title_its_pull_request_and_gets_no_comment(
    step: Stage, github: GitHub, name: str
) -> None:
    github.state.add_pull_request(104)
    done = step(github, event=name, about=payload(name), environment={"GITHUB_REF": QUEUE_REF})
    assert (github.requests, done.warnings) == ([], [])
    assert "104" in done.summary.split("\n\n")[0]


@pytest.mark.parametrize("name", ["schedule", "workflow_dispatch"])
def test_a_run_that_names_no_pull_request_needs_the_number(step: Stage, pull_request: GitHub, name: str) -> None:
    done = step(pull_request, event=name, about=payload("workflow_dispatch"))
    assert (pull_request.requests, done.status, done.warnings) == ([], 0, [])
    assert any("pr-number" in notice for notice in done.notices)
    assert "Rollout comparison" in done.summary
    step(pull_request, event=name, about=payload("workflow_dispatch"), pr_number=1)
    assert len(pull_request.state.bodies(1)) == 1


@pytest.mark.parametrize("missing", ["file", "variable"])
def test_without_an_event_file_the_run_is_a_local_one(step: Stage, pull_request: GitHub, missing: str) -> None:
    path = "/nonexistent/event.json" if missing == "file" else ""
    done = step(pull_request, environment={"GITHUB_EVENT_PATH": path})
    assert (done.status, pull_request.requests) == (0, [])
    assert len(done.warnings) == (1 if missing == "file" else 0)
    assert done.json["counts"]["tasks"] == 2


def test_an_empty_event_file_is_a_warning(step: Stage, pull_request: GitHub) -> None:
    done = step(pull_request, about=b"")
    assert (done.status, len(done.warnings), pull_request.requests) == (0, 1, [])


def test_invalid_text_in_the_event_does_no_harm(step: Stage, pull_request: GitHub) -> None:
    about = pull_request_event()
    about["pull_request"]["title"] = "TITLE"
    raw = json.dumps(about).encode().replace(b"TITLE", b"\xff\xfe \xf0\x9f\x8e\x89")
    step(pull_request, about=raw)
    assert len(pull_request.state.bodies(1)) == 1


def test_a_find_that_fails_leaves_the_summary(step: Stage, github: GitHub) -> None:
    github.fault("GET", "*", answer(404, {"message": "Not Found"}), times=None)
    done = step(github, event="push", about=payload("push"), environment={"GITHUB_REF": "refs/heads/feature"})
    assert (done.status, len(done.warnings)) == (0, 1)
    assert "Rollout comparison" in done.summary


def test_a_private_repository_is_asked_with_the_token(step: Stage, github: GitHub) -> None:
    github.state.add_repository("octo-org/closed", private=True)
    github.state.add_pull_request(3, repository="octo-org/closed", head_sha=HEAD)
    github.state.tokens["ghs_closed"] = Token(repositories=frozenset({"octo-org/closed"}))
    about = without_head_repository(with_head(payload("workflow_run", repository="octo-org/closed"), HEAD))
    environment = {"GITHUB_REPOSITORY": "octo-org/closed"}
    step(github, event="workflow_run", about=about, token="ghs_closed", environment=environment)  # noqa: S106
    assert len(github.state.bodies(3, "octo-org/closed")) == 1
