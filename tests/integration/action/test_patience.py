"""How long a step waits for others: one budget for all its requests, of which only what fails takes anything."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from tests.integration.action.conftest import COMMENTS, GRAPHQL, Clock, Stage
from tests.integration.action.recorded import ARTIFACTS, COMPARE, RUNS, Recorded
from tests.stand_in import (
    GitHub,
    answer,
    drop,
    hook,
    primary_limit,
    secondary_limit,
    too_many_requests,
    unavailable,
)
from tests.stand_in.artifacts import Artifacts
from tests.stand_in.connection import Server
from tests.stand_in.faults import Outcome
from tests.stand_in.payloads import payload, with_head

BUDGET = 120
"""Seconds that a step waits in all, as docs/comment.md says."""


def passing(clock: Clock, seconds: float) -> Outcome:
    """Let time pass until the answer comes."""

    def let_pass(*_: object) -> None:
        clock.passed += seconds

    return hook(let_pass)


def test_all_waits_of_a_step_together_keep_within_its_budget(recorded: Recorded) -> None:
    recorded.old()
    waits = []
    recorded.service.fault("ListArtifacts", too_many_requests(), times=3)
    waits += [1, 2, 4]
    recorded.service.fault("GetSignedArtifactURL", unavailable(), times=3)
    waits += [1, 2, 4]
    recorded.service.fault("GetBlob", unavailable())
    waits += [1]
    recorded.github.fault("GET", COMPARE, secondary_limit(30))
    waits += [30]
    recorded.github.fault("GET", f"{RUNS}*", unavailable(), times=4)
    waits += [1, 2, 4, 8]
    recorded.github.fault("GET", f"{ARTIFACTS}/*/zip", secondary_limit(25))
    waits += [25]
    recorded.github.fault("GET", "storage:*", drop(), times=2)
    waits += [1, 2]
    recorded.service.fault("CreateArtifact", too_many_requests(), times=2)
    waits += [1, 2]
    recorded.github.fault("POST", COMMENTS, secondary_limit(20), times=2)
    waits += [20]
    done = recorded(upload_artifact="true")
    # Of the 120 s, 91 were gone before the comment: there is room for one of its pauses, not for the other.
    assert (done.clock.slept, sum(done.clock.slept)) == (waits, 111)
    assert (done.status, len(recorded.github.calls("POST", COMMENTS))) == (0, 2)
    [warning] = done.warnings
    assert f"{BUDGET} s" in warning
    assert "Rollout comparison" in done.summary


EVERYTHING = {
    "unavailable": unavailable(),
    "dropped": drop(),
    "429": too_many_requests(),
    "429 with a pause": too_many_requests(50),
    "secondary limit": secondary_limit(),
    "secondary limit with a pause": secondary_limit(50),
    "primary limit": primary_limit(4_000_000_000),
}


@pytest.mark.parametrize("outcome", EVERYTHING.values(), ids=EVERYTHING.keys())
@pytest.mark.parametrize("sides", ["files", "artifacts", "new side", "old side"])
def test_where_everything_fails_a_step_ends_within_its_budget(recorded: Recorded, sides: str, outcome: Outcome) -> None:
    recorded.old()
    given: dict[str, Any] = {
        "files": {"old": "old.jsonl", "new": "new.jsonl", "old_artifact": "", "new_artifact": ""},
        "artifacts": {},
        "new side": {"old": "old.jsonl", "old_artifact": ""},
        "old side": {"new": "new.jsonl", "new_artifact": ""},
    }[sides]
    recorded.github.fault("*", "*", outcome, times=None)
    recorded.service.fault("*", outcome, times=None)
    done = recorded(upload_artifact="true", **given)
    assert sum(done.clock.slept) <= BUDGET
    assert done.status == (0 if sides == "files" else 1)
    assert done.warnings != []


def test_several_pull_requests_share_the_budget_with_the_upload(step: Stage, github: GitHub) -> None:
    for number in range(1, 6):
        github.state.add_pull_request(number, head_sha="6" * 40)
    github.fault("POST", "*/comments", secondary_limit(), times=None)
    about = with_head(payload("push"), "6" * 40)
    with Artifacts() as service:
        service.fault("PutBlock", unavailable(), times=None)
        step.environment |= service.environment
        branch = {"GITHUB_REF": "refs/heads/feature"}
        done = step(github, event="push", about=about, environment=branch, upload_artifact="true")
    # 15 s for the upload, a minute for the first comment, and nothing is left for a second one.
    assert done.clock.slept == [1, 2, 4, 8, 60]
    assert (done.status, len(done.warnings)) == (0, 6)


def test_what_is_slow_but_succeeds_takes_nothing_of_the_budget(recorded: Recorded, step: Stage) -> None:
    clock = Clock()
    recorded.old()
    for path in ("storage:*", COMPARE, GRAPHQL):
        recorded.github.fault("*", path, passing(clock, 500), times=None)
    for call in ("GetBlob", "PutBlock", "ListArtifacts"):
        recorded.service.fault(call, passing(clock, 500), times=None)
    recorded.github.fault("POST", COMMENTS, secondary_limit())
    done = recorded(upload_artifact="true", clock=clock)
    assert clock.passed > 2_500
    assert (done.status, done.warnings, done.clock.slept) == (0, [], [60])
    assert len(recorded.github.state.bodies()) == 1


def test_what_passes_until_a_request_fails_is_taken_from_the_budget(step: Stage, pull_request: GitHub) -> None:
    clock = Clock()
    pull_request.fault("POST", GRAPHQL, passing(clock, 50), times=None)
    pull_request.fault("POST", GRAPHQL, drop(), times=None)
    done = step(pull_request, clock=clock)
    # 50 + 1 + 50 + 2 + 50 s are more than 120, so there is no fourth try.
    assert (done.clock.slept, len(pull_request.requests)) == ([1, 2], 3)
    assert (done.status, len(done.warnings)) == (0, 1)


def test_with_nothing_left_a_request_is_still_tried_once(step: Stage, pull_request: GitHub) -> None:
    with Artifacts() as service:
        service.fault("CreateArtifact", too_many_requests(), times=4)
        clock = Clock()
        service.fault("CreateArtifact", passing(clock, 1_000), times=4)
        step.environment |= service.environment
        done = step(pull_request, clock=clock, upload_artifact="true")
    assert done.clock.slept == []
    [warning] = done.warnings
    assert "120 s" in warning
    assert len(pull_request.state.bodies()) == 1


def test_a_step_has_one_client_whatever_it_asks(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    came: list[str] = []
    enter = Server.enter

    def count(server: Server, connection: socket.socket) -> None:
        came.append(server.origin)
        enter(server, connection)

    monkeypatch.setattr(Server, "enter", count)
    recorded.old()
    recorded.github.fault("GET", f"{ARTIFACTS}/*/zip", answer(503, {}))
    recorded.github.fault("GET", COMPARE, secondary_limit(1))
    done = recorded(upload_artifact="true")
    assert (done.status, done.warnings) == (0, [])
    paths = {request.path.split("/")[-1] for request in recorded.github.requests}
    assert {"graphql", "comments", "artifacts", "runs", "zip"} <= paths, "the step asked of everything"
    # A client keeps its connection to the API.
    assert came.count(recorded.github.api_url) == 1
    assert done.clock.slept == [1, 1]
