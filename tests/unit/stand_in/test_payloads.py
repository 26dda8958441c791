"""Published webhook payloads are edited into the rarer cases."""

from __future__ import annotations

import pytest

from tests.stand_in import REPOSITORY, payloads
from tests.stand_in.descriptions import FOLDER

NAMES = sorted(path.stem for path in (FOLDER / "webhooks").iterdir())


@pytest.mark.parametrize("name", NAMES)
def test_a_payload_is_of_the_stand_ins_repository(name: str) -> None:
    event = payloads.payload(name)
    assert event["repository"]["full_name"] == REPOSITORY
    assert event["repository"]["owner"]["login"] == "octo-org"


@pytest.mark.parametrize("name", ["pull_request.opened", "pull_request.synchronize", "pull_request_review"])
def test_the_head_of_a_pull_request_is_moved_to_a_fork(name: str) -> None:
    event = payloads.with_head(payloads.from_fork(payloads.payload(name), "ada/octo-repo", "main"), "c" * 40)
    head = event["pull_request"]["head"]
    assert (head["label"], head["sha"], head["repo"]["full_name"]) == ("ada:main", "c" * 40, "ada/octo-repo")
    assert event["pull_request"]["base"]["repo"]["full_name"] == REPOSITORY
    assert payloads.without_head_repository(event)["pull_request"]["head"]["repo"] is None


def test_the_head_of_a_workflow_run_is_moved_to_a_fork() -> None:
    event = payloads.payload("workflow_run.pull_request")
    assert len(event["workflow_run"]["pull_requests"]) == 1
    run = payloads.from_fork(event, "ada/octo-repo", "main")["workflow_run"]
    assert (run["head_repository"]["owner"]["login"], run["head_branch"], run["pull_requests"]) == ("ada", "main", [])
    assert payloads.without_head_repository(event)["workflow_run"]["head_repository"] is None


def test_a_commented_issue_becomes_a_pull_request() -> None:
    event = payloads.with_number(payloads.on_pull_request(payloads.payload("issue_comment")), 7)
    assert event["issue"]["number"] == 7
    assert event["issue"]["pull_request"]["html_url"].endswith(f"{REPOSITORY}/pull/1")


def test_dependabot_opened_the_pull_request() -> None:
    event = payloads.by_dependabot(payloads.payload("pull_request.opened"))
    assert event["sender"]["login"] == event["pull_request"]["user"]["login"] == "dependabot[bot]"
