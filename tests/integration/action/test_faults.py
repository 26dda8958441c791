"""What goes wrong on the way to GitHub: waited for when it passes, told in one warning when it does not."""

from __future__ import annotations

import re
import socket
from typing import Any

import pytest

from tests.integration.action.conftest import COMMENTS, GRAPHQL, START, Stage, own_body
from tests.stand_in import (
    REPOSITORY,
    GitHub,
    answer,
    bad_gateway,
    drop,
    hang,
    hook,
    primary_limit,
    secondary_limit,
    too_many_requests,
    unavailable,
)
from tests.stand_in.descriptions import Descriptions
from tests.stand_in.faults import Outcome
from tests.stand_in.payloads import payload, with_head

BUDGET = 120
"""Seconds that a step waits in all."""
OTHER_COMMENTS = f"/repos/{REPOSITORY}/issues/2/comments"
TOO_LONG = answer(
    422, {"message": "Validation Failed", "errors": [{"message": "Body is too long (maximum is 65536 characters)"}]}
)
NAMED = answer(422, {"message": "Validation Failed", "errors": ["Body is too long"]})


def statuses(github: GitHub, method: str = "POST", path: str = COMMENTS) -> list[int | None]:
    return [request.status for request in github.calls(method, path)]


@pytest.mark.parametrize("outcome", [bad_gateway, drop], ids=["bad gateway", "dropped"])
def test_a_post_that_was_stored_all_the_same_is_adopted(step: Stage, pull_request: GitHub, outcome: Any) -> None:
    pull_request.fault("POST", COMMENTS, outcome(stores=True))
    done = step(pull_request)
    [comment] = pull_request.state.comments_of()
    assert len(statuses(pull_request)) == 1
    assert (done.outputs["comment-id"], done.warnings) == (str(comment.id), [])
    assert done.outputs["comment-url"].endswith(f"/pull/1#issuecomment-{comment.id}")


@pytest.mark.parametrize("outcome", [bad_gateway(), drop(), unavailable()], ids=["bad gateway", "dropped", "page"])
def test_a_post_that_was_not_stored_is_made_again_after_a_look(
    step: Stage, pull_request: GitHub, outcome: Outcome
) -> None:
    pull_request.fault("POST", COMMENTS, outcome)
    done = step(pull_request)
    paths = [request.path for request in pull_request.requests]
    assert paths == [GRAPHQL, COMMENTS, GRAPHQL, COMMENTS, GRAPHQL]
    assert (len(pull_request.state.bodies()), done.warnings, len(done.clock.slept)) == (1, [], 1)


def test_what_an_earlier_run_left_is_not_taken_for_the_post_that_failed(step: Stage, pull_request: GitHub) -> None:
    older = own_body(step, pull_request, run_id=99)
    pull_request.fault("POST", COMMENTS, bad_gateway())
    pull_request.fault("POST", COMMENTS, hook(lambda server, _: server.state.add_comment(older)))
    step(pull_request)
    [body] = pull_request.state.bodies()
    assert '"run_id":"100"' in body


def test_a_post_is_given_up_after_three_tries(step: Stage, pull_request: GitHub) -> None:
    pull_request.fault("POST", COMMENTS, bad_gateway(), times=None)
    done = step(pull_request)
    assert (statuses(pull_request), done.status) == ([502] * 3, 0)
    [warning] = done.warnings
    assert "502" in warning
    assert "Rollout comparison" in done.summary


@pytest.mark.parametrize("outcome", [bad_gateway(), drop(), unavailable(), answer(500, {}), answer(504, text="")])
def test_a_patch_is_made_again(step: Stage, pull_request: GitHub, outcome: Outcome) -> None:
    ours = pull_request.state.add_comment(own_body(step, pull_request))
    pull_request.fault("PATCH", "*", outcome)
    done = step(pull_request, run_id=101)
    assert statuses(pull_request, "PATCH", "*") == [outcome.status or None, 200]
    assert ('"run_id":"101"' in ours.body, done.warnings, len(done.clock.slept)) == (True, [], 1)


@pytest.mark.parametrize("method", ["POST", "PATCH"])
@pytest.mark.parametrize(("asked", "wait"), [(None, 60), (2, 2), (0, None), (60, 60)])
def test_a_secondary_limit_is_waited_for_as_long_as_it_asks(
    step: Stage, pull_request: GitHub, method: str, asked: int | None, wait: float | None
) -> None:
    if method == "PATCH":
        pull_request.state.add_comment(own_body(step, pull_request))
    pull_request.fault(method, f"/repos/{REPOSITORY}/*", secondary_limit(asked))
    done = step(pull_request, run_id=101)
    [slept] = done.clock.slept
    assert slept == wait if wait is not None else 0 <= slept <= 2
    assert (len(pull_request.state.bodies()), done.warnings) == (1, [])


def test_a_secondary_limit_that_does_not_end_is_given_up(step: Stage, pull_request: GitHub) -> None:
    pull_request.fault("POST", COMMENTS, secondary_limit(), times=None)
    done = step(pull_request)
    assert (done.status, len(done.warnings)) == (0, 1)
    assert sum(done.clock.slept) <= BUDGET
    assert "pull-requests: write" not in done.warnings[0]


@pytest.mark.parametrize("status", [403, 429])
@pytest.mark.parametrize("path", [GRAPHQL, COMMENTS])
def test_a_limit_that_is_reset_in_an_hour_is_not_waited_for(
    step: Stage, pull_request: GitHub, path: str, status: int
) -> None:
    pull_request.fault("POST", path, primary_limit(int(START) + 3_600, status), times=None)
    done = step(pull_request)
    assert (done.clock.slept, done.status, len(statuses(pull_request, path=path))) == ([], 0, 1)
    [warning] = done.warnings
    assert "rate limit" in warning
    assert "pull-requests: write" not in warning


@pytest.mark.parametrize("status", [403, 429])
def test_a_limit_that_is_reset_soon_is_waited_for(step: Stage, pull_request: GitHub, status: int) -> None:
    pull_request.fault("POST", COMMENTS, primary_limit(int(START) + 30, status))
    done = step(pull_request)
    [slept] = done.clock.slept
    assert 30 <= slept <= 32
    assert (len(pull_request.state.bodies()), done.warnings) == (1, [])


def test_too_many_requests_are_made_again_ever_more_slowly(step: Stage, pull_request: GitHub) -> None:
    pull_request.state.add_comment(own_body(step, pull_request))
    pull_request.fault("PATCH", "*", too_many_requests(), times=3)
    done = step(pull_request, run_id=101)
    assert statuses(pull_request, "PATCH", "*") == [429, 429, 429, 200]
    assert done.clock.slept == sorted(set(done.clock.slept))
    assert (len(done.clock.slept), done.clock.slept[0] > 0, done.warnings) == (3, True, [])


@pytest.mark.parametrize("asked", ["-1", "soon", "Mon, 05 Jan 2026 00:00:10 GMT", "1e9", "9" * 400, "\u0661"])
def test_an_odd_word_on_when_to_come_back_does_no_harm(step: Stage, pull_request: GitHub, asked: str) -> None:
    headers = {"retry-after": asked.encode().decode("latin-1")}
    pull_request.fault("POST", COMMENTS, answer(429, {"message": "Too many requests"}, headers), times=None)
    done = step(pull_request)
    assert (done.status, len(done.warnings)) == (0, 1)
    assert sum(done.clock.slept) <= BUDGET


def test_an_hour_is_too_long_to_wait(step: Stage, pull_request: GitHub) -> None:
    pull_request.fault("POST", COMMENTS, secondary_limit(3_600), times=None)
    done = step(pull_request)
    assert (done.clock.slept, done.status, len(done.warnings)) == ([], 0, 1)


def test_all_calls_together_have_one_budget(step: Stage, github: GitHub) -> None:
    for number in range(1, 6):
        github.state.add_pull_request(number, head_sha="6" * 40)
    github.fault("POST", "*/comments", secondary_limit(), times=None)
    about = with_head(payload("push"), "6" * 40)
    done = step(github, event="push", about=about, environment={"GITHUB_REF": "refs/heads/feature"})
    assert sum(done.clock.slept) <= BUDGET
    assert (done.status, len(done.warnings)) == (0, 5)


def test_a_request_that_nobody_answers_ends(step: Stage, pull_request: GitHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rollout_compare.github.api.session._TIMEOUT", 0.05)
    pull_request.fault("*", "*", hang(5), times=None)
    done = step(pull_request)
    assert (done.status, len(done.warnings)) == (0, 1)
    assert len(pull_request.requests) <= 5


def test_refused_connections_are_a_warning(step: Stage, pull_request: GitHub) -> None:
    pull_request.refuse_connections()
    done = step(pull_request)
    assert (done.status, len(done.warnings), pull_request.requests) == (0, 1, [])
    assert "Rollout comparison" in done.summary
    assert sum(done.clock.slept) <= BUDGET


def test_a_name_that_does_not_resolve_is_a_warning(
    step: Stage, pull_request: GitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    addresses = {"GITHUB_API_URL": "http://api.invalid", "GITHUB_GRAPHQL_URL": "http://api.invalid/graphql"}
    done = step(pull_request, environment=addresses)
    assert (done.status, len(done.warnings), pull_request.requests) == (0, 1, [])


@pytest.mark.parametrize(
    "address", ["nonsense", "ftp://127.0.0.1", "http://", "http://[::1", "https://127.0.0.1:99999"]
)
def test_an_address_that_makes_no_sense_is_a_warning(step: Stage, pull_request: GitHub, address: str) -> None:
    done = step(pull_request, environment={"GITHUB_API_URL": address, "GITHUB_GRAPHQL_URL": address})
    assert (done.status, len(done.warnings)) == (0, 1)


def test_pages_for_people_are_a_warning(step: Stage, pull_request: GitHub) -> None:
    pull_request.fault("*", "*", unavailable(), times=None)
    done = step(pull_request)
    assert (done.status, len(done.warnings)) == (0, 1)
    assert "<html>" not in done.out
    assert sum(done.clock.slept) <= BUDGET


@pytest.mark.parametrize("content", ["", "[]", '"text"', "{", "null", "[" * 50_000, '{"id": "x", "html_url": 7}'])
def test_an_answer_that_makes_no_sense_does_no_harm(step: Stage, pull_request: GitHub, content: str) -> None:
    pull_request.fault("*", "*", answer(200, text=content), times=None)
    done = step(pull_request)
    assert done.status == 0
    assert "Rollout comparison" in done.summary


def test_a_token_that_is_not_accepted_is_told_in_one_warning(step: Stage, pull_request: GitHub) -> None:
    done = step(pull_request, token="ghs_expired")  # noqa: S106
    [warning] = done.warnings
    assert "github-token" in warning
    assert (done.status, done.clock.slept, pull_request.writes) == (0, [], [])
    assert len(pull_request.requests) == 1


@pytest.mark.parametrize(("method", "outcome"), [("POST", TOO_LONG), ("PATCH", NAMED)])
def test_of_a_body_that_is_too_long_the_next_smaller_one_is_sent(
    step: Stage, pull_request: GitHub, method: str, outcome: Outcome
) -> None:
    many = [f"task-{number:04}" for number in range(350)]
    step.write([{"task_name": t, "reward": 1} for t in many], [{"task_name": t, "reward": 0} for t in many])
    if method == "PATCH":
        pull_request.state.add_comment(own_body(step, pull_request))
    pull_request.fault(method, f"/repos/{REPOSITORY}/*", outcome, times=2)
    done = step(pull_request, run_id=101)
    bodies = [request.json["body"] for request in pull_request.calls(method, f"/repos/{REPOSITORY}/*")]
    sizes = [len(body) for body in bodies]
    assert len(sizes) == 3
    assert 65_000 >= sizes[0] > sizes[1] > sizes[2]
    assert all(body.startswith("<!-- rollout-compare:default -->\n<!-- rollout-compare-run {") for body in bodies)
    assert (pull_request.state.bodies(), done.warnings) == ([bodies[-1]], [])


def test_a_body_that_is_always_too_long_is_given_up(step: Stage, pull_request: GitHub) -> None:
    pull_request.fault("POST", COMMENTS, TOO_LONG, times=None)
    done = step(pull_request)
    assert 1 <= len(statuses(pull_request)) <= 3
    assert (done.status, len(done.warnings), done.clock.slept) == (0, 1, [])


def test_another_422_is_not_tried_again(step: Stage, pull_request: GitHub) -> None:
    pull_request.fault("POST", COMMENTS, answer(422, {"message": "Validation Failed"}), times=None)
    done = step(pull_request)
    assert (statuses(pull_request), done.status, len(done.warnings)) == ([422], 0, 1)


@pytest.mark.parametrize("graphql", [True, False], ids=["GraphQL", "REST"])
@pytest.mark.parametrize("earlier", [False, True], ids=["first comment", "update"])
def test_a_renamed_repository_is_followed_or_told_of(
    step: Stage, pull_request: GitHub, earlier: bool, graphql: bool
) -> None:
    for number in range(40):
        pull_request.state.add_comment(f"Comment {number}", author="octocat")
    if earlier:
        pull_request.state.add_comment(own_body_of(step, pull_request))
    if not graphql:
        pull_request.switch_graphql_off()
    pull_request.state.rename_repository(REPOSITORY, "octo-org/renamed")
    done = step(pull_request, run_id=101)
    written = [body for body in pull_request.state.bodies(1, "octo-org/renamed") if '"run_id":"101"' in body]
    assert done.status == 0
    assert len(pull_request.requests) < 20
    assert len(written) == 1 or len(done.warnings) == 1


def own_body_of(stage: Stage, github: GitHub) -> str:
    """The body of a run's comment among others."""
    stage(github)
    comment = github.state.comments_of()[-1]
    del github.state.comments[comment.id]
    github.requests.clear()
    return comment.body


def test_in_a_renamed_repository_the_right_pull_request_is_found(step: Stage, github: GitHub) -> None:
    head = "6" * 40
    github.state.add_pull_request(3, head_sha=head, head_ref="main", head_repository="contributor/octo-repo")
    for number in range(4, 40):
        github.state.add_pull_request(number)
    github.state.rename_repository(REPOSITORY, "octo-org/renamed")
    about = with_head(payload("workflow_run"), head)
    about["workflow_run"]["head_branch"] = "main"
    about["workflow_run"]["head_repository"]["owner"]["login"] = "contributor"
    done = step(github, event="workflow_run", about=about)
    assert done.status == 0
    assert len(github.requests) < 12
    assert len(github.state.bodies(3, "octo-org/renamed")) == 1 or len(done.warnings) == 1


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirection_to_another_host_is_refused(
    step: Stage, pull_request: GitHub, descriptions: Descriptions, status: int
) -> None:
    with GitHub(descriptions) as elsewhere:
        elsewhere.state.add_pull_request(1)
        address = elsewhere.api_url.replace("127.0.0.1", "localhost")
        for method in ("GET", "POST"):
            pull_request.fault(method, "*", answer(status, {}, {"location": f"{address}{COMMENTS}"}), times=None)
        done = step(pull_request)
        assert elsewhere.requests == []
    assert (done.status, len(done.warnings)) == (0, 1)


@pytest.mark.parametrize("status", [301, 307])
def test_a_redirection_to_another_port_does_not_get_the_token(
    step: Stage, pull_request: GitHub, descriptions: Descriptions, status: int
) -> None:
    with GitHub(descriptions) as elsewhere:
        location = {"location": f"{elsewhere.api_url}{OTHER_COMMENTS}"}
        pull_request.fault("POST", COMMENTS, answer(status, {}, location), times=None)
        done = step(pull_request)
        assert elsewhere.requests == []
    assert (done.status, len(done.warnings)) == (0, 1)


@pytest.mark.parametrize("status", [301, 307])
def test_redirections_in_a_circle_end(step: Stage, pull_request: GitHub, status: int) -> None:
    for here, there in ((COMMENTS, OTHER_COMMENTS), (OTHER_COMMENTS, COMMENTS)):
        location = answer(status, {}, {"location": f"{pull_request.api_url}{there}"})
        pull_request.fault("POST", here, location, times=None)
    done = step(pull_request)
    assert (done.status, len(done.warnings)) == (0, 1)
    assert len(pull_request.requests) < 50


def test_an_answer_that_is_still_being_worked_out_is_waited_for_by_the_clock(step: Stage, github: GitHub) -> None:
    github.state.add_pull_request(3, head_sha="6" * 40)
    github.fault("GET", "*", answer(202, {}))
    about = with_head(payload("workflow_run"), "6" * 40)
    assert step(github, event="workflow_run", about=about, pr_number=3).status == 0


@pytest.mark.parametrize("variable", ["REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"])
def test_a_missing_bundle_of_certificates_is_a_warning(
    step: Stage, pull_request: GitHub, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "/nonexistent/bundle.pem")
    addresses = {
        "GITHUB_API_URL": pull_request.api_url.replace("http:", "https:"),
        "GITHUB_GRAPHQL_URL": pull_request.graphql_url.replace("http:", "https:"),
    }
    done = step(pull_request, environment=addresses)
    assert (done.status, pull_request.requests) == (0, [])
    [warning] = done.warnings
    assert re.search(r"CA bundle|certificate", warning)


def test_a_proxy_is_used(step: Stage, pull_request: GitHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", pull_request.api_url)
    monkeypatch.setenv("no_proxy", "")
    addresses = {
        "GITHUB_API_URL": "http://api.github.invalid",
        "GITHUB_GRAPHQL_URL": "http://api.github.invalid/graphql",
    }
    done = step(pull_request, environment=addresses)
    assert (len(pull_request.state.bodies()), done.warnings) == (1, [])


def test_a_netrc_file_does_not_replace_the_token(
    step: Stage, pull_request: GitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = step.runner / "netrc"
    netrc.write_text("machine 127.0.0.1 login someone password else\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    done = step(pull_request)
    assert (len(pull_request.state.bodies()), done.warnings) == (1, [])


def test_an_enterprise_server_is_asked_and_linked_under_its_own_addresses(step: Stage, enterprise: GitHub) -> None:
    enterprise.state.add_pull_request(1)
    done = step(enterprise)
    assert [request.target for request in enterprise.requests] == [
        "/api/graphql",
        f"/api/v3{COMMENTS}",
        "/api/graphql",
    ]
    [body] = enterprise.state.bodies()
    assert f"https://github.example.com/{REPOSITORY}/actions/runs/100" in body
    assert "https://github.com" not in body + done.summary + done.out + "".join(done.outputs.values())
    assert done.outputs["comment-url"].startswith("https://github.example.com/")


def test_an_enterprise_server_without_graphql_is_asked_by_rest(step: Stage, enterprise: GitHub) -> None:
    enterprise.state.add_pull_request(1)
    enterprise.switch_graphql_off()
    for run_id in (100, 101):
        done = step(enterprise, run_id=run_id)
        assert done.warnings == []
    assert len(enterprise.state.bodies()) == 1
    assert all(request.target.startswith("/api/") for request in enterprise.requests)


def test_addresses_that_end_in_a_slash_are_the_same(step: Stage, enterprise: GitHub) -> None:
    enterprise.state.add_pull_request(1)
    step(enterprise, environment={name: f"{value}/" for name, value in enterprise.environment.items()})
    assert len(enterprise.state.bodies()) == 1
    assert "//" not in enterprise.state.bodies()[0].replace("https://", "")


def test_a_server_that_knows_nothing_of_the_pull_request_is_a_warning(step: Stage, github: GitHub) -> None:
    done = step(github)
    [warning] = done.warnings
    assert "pull request 1 does not exist, or the job lacks" in warning
    assert (done.status, done.clock.slept) == (0, [])
