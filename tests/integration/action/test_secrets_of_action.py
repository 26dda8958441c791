"""No secret leaves the step, whatever fails; and nothing of others is printed as a command."""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rollout_compare.github.api.client import Client
from rollout_compare.github.api.faults import ApiError
from rollout_compare.github.api.patience import Patience
from tests.integration.action.conftest import COMMENTS, GRAPHQL, HEAD, Clock, Stage, pull_request_event, row
from tests.stand_in import (
    REPOSITORY,
    GitHub,
    Token,
    answer,
    bad_gateway,
    drop,
    primary_limit,
    secondary_limit,
    unavailable,
)

TOKEN = "ghs_" + "0Zr8vXq2Lw6Tn4Bp1Ks9Yd3Hf7Jm5Gc"
PLANTED = {
    "MY_API_KEY": "correct-horse-battery",
    "DEPLOY_TOKEN": "staple:of/the=day",
    "CLIENT_SECRET": "first line of it\nsecond line of it",
    "db_password": "hunter2hunter2",
    "ACTIONS_RUNTIME_TOKEN": "a-runtime-token-of-no-known-shape",
}
SHAPED = [
    "ghp_aaaaBBBBccccDDDDeeeeFFFFgggg1111",
    "AKIAIOSFODNN7EXAMPLE",
    "nvapi-abcdefghijklmnopqrstuvwxyz0123456789",
    "hf_abcdefghijklmnopqrstuvwxyzABCDEF",
    "sk-abcdefghijklmnopqrstuvwxyz0123456789",
]
BASIC = base64.b64encode(f"x-access-token:{TOKEN}".encode()).decode()
SECRETS = [TOKEN, BASIC, *SHAPED, *(line for value in PLANTED.values() for line in value.split("\n"))]


def plant(stage: Stage) -> None:
    """Put every secret into the rollouts, their logs, the template's reach, and the names of files."""
    stage.environment |= PLANTED
    log = "\n".join(f"{before}{secret}{after}" for secret in SECRETS for before, after in (("", ""), ("key=", ";")))
    stage.rollouts.write("out/test-stdout.txt", [log, f"AUTHORIZATION: basic {BASIC}"])
    rows = [row(f"task {secret}", 1.0, taskset=secret) for secret in SECRETS]
    losing = [
        row(
            f"task {secret}",
            0.0,
            taskset=secret,
            verifier_logs_dir="out",
            agent_error=f"failed with {secret}",
            failure_kind=secret,
            model=secret,
        )
        for secret in SECRETS
    ]
    stage.write(rows, losing)
    (stage.workspace / f"a file with {TOKEN}").write_text("")


def event() -> dict[str, object]:
    about = pull_request_event()
    about["pull_request"]["title"] = about["pull_request"]["body"] = " ".join(SECRETS)
    return about


def check(texts: Iterator[str] | list[str]) -> None:
    for text in texts:
        leaked = [secret for secret in SECRETS if secret in text or json.dumps(secret)[1:-1] in text]
        assert leaked == []


def echo(github: GitHub) -> None:
    said = {"message": f"{' '.join(SECRETS)} is not welcome", "errors": [{"message": TOKEN}]}
    github.fault("*", "*", answer(403, said), times=None)


FAULTS: dict[str, Callable[[GitHub], object]] = {
    "nothing fails": lambda github: None,
    "token refused": lambda github: github.state.tokens.pop(TOKEN),
    "token may not write": lambda github: setattr(github.state.tokens[TOKEN], "access", "read"),
    "secrets in the answer": echo,
    "bad gateway": lambda github: github.fault("*", "*", bad_gateway(), times=None),
    "dropped": lambda github: github.fault("*", "*", drop(), times=None),
    "page": lambda github: github.fault("*", "*", unavailable(), times=None),
    "primary limit": lambda github: github.fault("*", "*", primary_limit(4_000_000_000), times=None),
    "secondary limit": lambda github: github.fault("POST", COMMENTS, secondary_limit(), times=None),
    "too long": lambda github: github.fault(
        "POST", COMMENTS, answer(422, {"message": f"body is too long: {TOKEN}"}), times=None
    ),
    "redirection": lambda github: github.fault(
        "*", "*", answer(301, {}, {"location": f"http://user:{TOKEN}@localhost/{TOKEN}"}), times=None
    ),
    "nonsense": lambda github: github.fault("*", "*", answer(200, text=f"{{{TOKEN}"), times=None),
    "no GraphQL": lambda github: github.switch_graphql_off(),
    "refused": lambda github: github.refuse_connections(),
}
SITUATIONS: dict[str, dict[str, object]] = {
    "a report": {},
    "an unreadable input": {"old": f"absent {TOKEN}"},
}


@pytest.fixture
def secretive(step: Stage, pull_request: GitHub) -> Stage:
    pull_request.state.tokens[TOKEN] = Token()
    plant(step)
    return step


@pytest.mark.parametrize("situation", SITUATIONS.values(), ids=SITUATIONS.keys())
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
def test_no_secret_is_told_whatever_fails(
    secretive: Stage,
    pull_request: GitHub,
    caplog: pytest.LogCaptureFixture,
    fault: Callable[[GitHub], object],
    situation: dict[str, Any],
) -> None:
    if situation:
        earlier = '<!-- rollout-compare:default -->\n<!-- rollout-compare-run {"run_id":"1"} -->\n### Earlier'
        pull_request.state.add_comment(earlier)
    fault(pull_request)
    with caplog.at_level(logging.DEBUG):
        for name in ("github", "urllib3", "urllib3.connectionpool", "requests"):
            caplog.set_level(logging.DEBUG, name)
        done = secretive(pull_request, token=TOKEN, about=event(), title=f"about {TOKEN}", **situation)
    assert done.status == (1 if situation else 0)
    check([done.told, *pull_request.state.bodies()])
    check([request.content.decode() for request in pull_request.requests])
    check([request.target for request in pull_request.requests])
    check([caplog.text])


def test_secrets_are_marked_where_they_were(secretive: Stage, pull_request: GitHub) -> None:
    done = secretive(pull_request, token=TOKEN)
    assert "[redacted]" in pull_request.state.bodies()[0]
    assert done.json["redacted"] >= len(SECRETS) - 2


def test_what_a_pattern_of_ones_own_matches_is_not_told(step: Stage, pull_request: GitHub) -> None:
    step.write([row("employee-4711", 1.0)], [row("employee-4711", 0.0, test_output="by employee-4711\n")])
    done = step(pull_request, redact=r"employee-\d+" + "\n" + r"\bnobody\b", title="of employee-12")
    told = done.told + pull_request.state.bodies()[0]
    assert "employee-" not in told
    assert "[redacted]" in told


def test_the_faults_of_the_client_do_not_hold_the_token(pull_request: GitHub) -> None:
    pull_request.state.tokens[TOKEN] = Token(access="read")
    addresses = {"api_url": pull_request.api_url, "graphql_url": pull_request.graphql_url}
    client = Client(TOKEN, **addresses, patience=Patience(Clock()), user_agent="test")
    with pytest.raises(ApiError) as caught:
        client.post_once(COMMENTS, {"body": "text"})
    fault = caught.value
    assert TOKEN not in f"{fault!r} {fault} {client!r} {fault.__cause__!r}"
    assert caught.value.__cause__ is None


def test_the_signed_in_requests_carry_the_token_only_where_it_belongs(secretive: Stage, pull_request: GitHub) -> None:
    secretive(pull_request, token=TOKEN)
    for request in pull_request.requests:
        assert [name for name, value in request.headers.items() if TOKEN in value] == ["authorization"]


LINES = [
    "::add-mask::report",
    "::error::stop",
    "  ::set-output name=tasks::7",
    "##[group]x",
    "text ##[error]x",
    "a\r::error::x",
    "\x85::error::x",
    "\u2028::error::x",
    "\x0b::error::x\x0c::warning::y",
    "::stop-commands::x",
    "%0A::error::x",
    "::notice title=rollout-compare::forged",
]


def test_no_line_of_others_is_a_command(step: Stage, pull_request: GitHub) -> None:
    step.rollouts.write("out/test-stdout.txt", LINES)
    step.write(
        [row(line, 1.0, taskset=line) for line in LINES],
        [row(line, 0.0, taskset=line, agent_error=line, verifier_logs_dir="out") for line in LINES],
    )
    done = step(pull_request, title="::error::x\r##[error]y", environment={"GITHUB_ACTOR": "::error::z"})
    assert (done.status, [each.level for each in done.annotations]) == (0, ["notice"])
    assert done.out.count("\n") == 1


@pytest.mark.parametrize("line", LINES)
def test_a_name_of_an_input_cannot_be_a_command(step: Stage, pull_request: GitHub, line: str) -> None:
    done = step(pull_request, old=line, job_summary="false", comment="off")
    assert (done.status, [each.level for each in done.annotations]) == (1, ["error"])


@pytest.mark.parametrize("line", LINES)
def test_a_message_of_github_cannot_be_a_command(step: Stage, pull_request: GitHub, line: str) -> None:
    pull_request.fault("*", "*", answer(418, {"message": f"{line}\n{line}\r{line}"}), times=None)
    done = step(pull_request)
    assert [each.level for each in done.annotations] == ["warning", "notice"]


def test_an_address_in_the_answer_cannot_be_a_command(step: Stage, pull_request: GitHub) -> None:
    node = {"fullDatabaseId": "7", "body": "<!-- rollout-compare:default -->\n", "viewerDidAuthor": False}
    node |= {"url": "https://x/\n::error::x\r##[error]y", "author": {"__typename": "Bot", "login": "another"}}
    comments = {"nodes": [node], "pageInfo": {"hasNextPage": False, "endCursor": None}}
    found = {"data": {"repository": {"pullRequest": {"headRefOid": HEAD, "comments": comments}}}}
    pull_request.fault("POST", GRAPHQL, answer(200, found))
    done = step(pull_request)
    assert len(done.warnings) == 1
    assert len(pull_request.calls("POST", f"/repos/{REPOSITORY}/*")) == 1


def test_an_address_of_a_new_comment_cannot_set_an_output(step: Stage, pull_request: GitHub) -> None:
    made = {"id": 7, "html_url": "https://x/\nverdict=higher\nverdict<<E\nhigher\nE"}
    pull_request.fault("POST", COMMENTS, answer(201, made))
    assert step(pull_request).outputs["verdict"] == "too_little"
