"""Why a run does not comment, in the words that the page about the comment explains, and what else the event tells."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rollout_compare.github.event import Event, EventError, decide
from tests.integration.action.conftest import Stage, pull_request_event, row
from tests.stand_in import REPOSITORY, GitHub
from tests.stand_in.payloads import by_dependabot, from_fork, payload

GREEN = [row("a", 1.0)]


def reason(name: str, about: Any, tmp_path: Path, **environment: str) -> str:
    path = tmp_path / "event.json"
    path.write_text(json.dumps(about), encoding="utf-8")
    variables = {"GITHUB_EVENT_NAME": name, "GITHUB_EVENT_PATH": str(path), "GITHUB_REPOSITORY": REPOSITORY}
    return decide(Event.from_environment(variables | environment)).reason


def test_reasons_are_those_that_the_page_explains(tmp_path: Path) -> None:
    assert reason("", {}, tmp_path) == "not run by GitHub"
    nobody = "events are not about a pull request: set input `pr-number` to comment on one"
    assert reason("schedule", payload("workflow_dispatch"), tmp_path) == f"schedule {nobody}"
    assert reason("workflow_dispatch", payload("workflow_dispatch"), tmp_path) == f"workflow_dispatch {nobody}"
    assert reason("merge_group", payload("merge_group"), tmp_path) == "runs of a merge queue do not comment"


def test_tokens_that_may_not_comment_have_their_reasons(tmp_path: Path) -> None:
    fork = "runs for a pull request from a fork have a token that may not comment"
    assert reason("pull_request", from_fork(pull_request_event()), tmp_path) == fork
    bot = reason("pull_request", by_dependabot(pull_request_event()), tmp_path, GITHUB_ACTOR="dependabot[bot]")
    assert bot == "runs by Dependabot have a token that may not comment"


def test_a_pull_request_within_a_repository_of_another_name_is_from_no_fork(tmp_path: Path) -> None:
    # An event may name the repository as it was called before.
    assert reason("pull_request", pull_request_event(), tmp_path, GITHUB_REPOSITORY="octo-org/renamed") == ""


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the event file is empty"),
        (b" \n", "the event file is empty"),
        (b"{", "the event file is not JSON"),
        (b"[" * 100_000, "the event file is not JSON"),
    ],
    ids=["empty", "blank", "cut short", "nested too deeply"],
)
def test_an_event_file_that_tells_nothing_is_told_of(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "event.json"
    path.write_bytes(content)
    with pytest.raises(EventError) as caught:
        Event.from_environment({"GITHUB_EVENT_PATH": str(path)})
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("path", "why"),
    [("/nonexistent/event.json", "No such file or directory"), ("/", "Is a directory"), ("a\0b", "not a valid path")],
)
def test_an_event_file_that_cannot_be_read_is_told_of(path: str, why: str) -> None:
    with pytest.raises(EventError) as caught:
        Event.from_environment({"GITHUB_EVENT_PATH": path})
    assert str(caught.value) == f"the event file cannot be read ({why})"


def test_the_page_of_a_run_is_on_the_usual_server_unless_another_is_named() -> None:
    variables = {"GITHUB_REPOSITORY": REPOSITORY, "GITHUB_RUN_ID": "5"}
    assert Event.from_environment(variables).run_url == f"https://github.com/{REPOSITORY}/actions/runs/5"
    own = variables | {"GITHUB_SERVER_URL": "https://github.example.com/"}
    assert Event.from_environment(own).run_url == f"https://github.example.com/{REPOSITORY}/actions/runs/5"
    for lacking in variables:
        assert Event.from_environment({name: variables[name] for name in variables if name != lacking}).run_url == ""


def test_the_usual_addresses_of_the_api_are_those_of_github() -> None:
    event = Event.from_environment({})
    assert (event.api_url, event.graphql_url) == ("https://api.github.com", "https://api.github.com/graphql")
    assert (event.name, event.repository, event.sha, event.ref, event.actor) == ("", "", "", "", "")
    assert (event.run.run_id, event.run.attempt, event.payload) == (0, 0, {})


@pytest.mark.parametrize("text", ["", "-1", "1.5", "\u0663", "9" * 20, "many"])
def test_a_run_that_is_no_number_is_none(text: str) -> None:
    event = Event.from_environment({"GITHUB_RUN_ID": text, "GITHUB_RUN_ATTEMPT": text})
    assert (event.run.run_id, event.run.attempt) == (0, 0)


def test_where_no_comment_is_made_there_is_no_id_of_one(step: Stage, pull_request: GitHub) -> None:
    step.write(GREEN, [row | {"made_by": "new"} for row in GREEN])
    done = step(pull_request, comment="changes")
    assert (done.outputs["changed"], done.outputs["comment-id"], done.outputs["comment-url"]) == ("false", "", "")
    assert pull_request.state.bodies() == []


def test_two_comparisons_of_one_run_are_told_what_to_do(step: Stage, pull_request: GitHub) -> None:
    step(pull_request)
    step.write([row("a", 1.0), row("b", 0.0), row("c", 0.0)], [row("a", 0.0), row("b", 0.0), row("c", 1.0)])
    done = step(pull_request)
    assert done.warnings == [
        "two comparisons of this run share one comment, and the last one stays: give each its own `comment-id`"
    ]
