"""What a token may not do: asked once, told in one warning with what to change, and never a reason to fail."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.integration.action.conftest import COMMENTS, Stage, own_body
from tests.stand_in import FINE_GRAINED, INSTALLATION, REPOSITORY, GitHub, answer


@pytest.mark.parametrize("access", ["read", "none"])
@pytest.mark.parametrize("graphql", [True, False], ids=["GraphQL", "REST"])
def test_a_token_that_may_not_write_is_told_what_it_needs(
    step: Stage, pull_request: GitHub, access: str, graphql: bool
) -> None:
    pull_request.state.tokens[INSTALLATION].access = access
    if not graphql:
        pull_request.switch_graphql_off()
    done = step(pull_request)
    assert [(request.method, request.status) for request in pull_request.writes] == [("POST", 403)]
    [warning] = done.warnings
    assert "Resource not accessible by integration" in warning
    assert "pull-requests: write" in warning
    assert "fork" in warning
    assert (done.status, done.clock.slept) == (0, [])
    assert "Rollout comparison" in done.summary
    assert "Rollout comparison" in done.text("report.md")


def test_an_update_that_is_not_allowed_is_told_likewise(step: Stage, pull_request: GitHub) -> None:
    pull_request.state.add_comment(own_body(step, pull_request))
    pull_request.state.tokens[INSTALLATION].access = "read"
    done = step(pull_request, run_id=101)
    assert [(request.method, request.status) for request in pull_request.writes] == [("PATCH", 403)]
    [warning] = done.warnings
    assert "pull-requests: write" in warning


@pytest.mark.parametrize("graphql", [True, False], ids=["GraphQL", "REST"])
def test_nothing_at_all_of_a_private_repository_is_one_warning(
    step: Stage, pull_request: GitHub, graphql: bool
) -> None:
    pull_request.state.repositories[REPOSITORY].private = True
    pull_request.state.tokens[INSTALLATION].access = "none"
    if not graphql:
        pull_request.switch_graphql_off()
    done = step(pull_request)
    [warning] = done.warnings
    assert "pull-requests: write" in warning
    assert (done.status, pull_request.writes) == (0, [])


def test_a_private_repository_that_the_token_does_not_see_is_one_warning(step: Stage, pull_request: GitHub) -> None:
    pull_request.state.repositories[REPOSITORY].private = True
    pull_request.state.tokens[INSTALLATION] = replace(
        pull_request.state.tokens[INSTALLATION], repositories=frozenset({"octo-org/other"})
    )
    done = step(pull_request)
    [warning] = done.warnings
    assert "404" in warning
    assert done.status == 0


def test_the_words_about_a_fine_grained_token_are_quoted_with_the_advice(step: Stage, pull_request: GitHub) -> None:
    pull_request.state.tokens[FINE_GRAINED].access = "read"
    done = step(pull_request, token=FINE_GRAINED)
    [warning] = done.warnings
    assert "Resource not accessible by personal access token" in warning
    assert "pull-requests: write" in warning


def test_a_locked_pull_request_is_named_as_the_cause(step: Stage, github: GitHub) -> None:
    github.state.add_pull_request(1, locked=True)
    done = step(github)
    [warning] = done.warnings
    assert "locked" in warning
    assert "pull-requests: write" not in warning
    assert (done.status, len(github.calls("POST", COMMENTS)), done.clock.slept) == (0, 1, [])


def test_an_archived_repository_is_named_as_the_cause(step: Stage, pull_request: GitHub) -> None:
    pull_request.state.repositories[REPOSITORY].archived = True
    done = step(pull_request)
    [warning] = done.warnings
    assert "archived" in warning
    assert "pull-requests: write" not in warning
    assert (done.status, len(pull_request.calls("POST", COMMENTS))) == (0, 1)


@pytest.mark.parametrize("status", [400, 404, 405, 410, 418, 451])
def test_any_other_refusal_is_one_warning_with_githubs_words(step: Stage, pull_request: GitHub, status: int) -> None:
    pull_request.fault("POST", COMMENTS, answer(status, {"message": "Not for you"}), times=None)
    done = step(pull_request)
    [warning] = done.warnings
    assert "Not for you" in warning
    assert str(status) in warning
    assert (done.status, len(pull_request.calls("POST", COMMENTS))) == (0, 1)


def test_a_long_refusal_is_cut_and_cannot_give_commands(step: Stage, pull_request: GitHub) -> None:
    message = "No.\r\n::error::stop\n##[error]stop\r::add-mask::report" + "x" * 100_000
    pull_request.fault("POST", COMMENTS, answer(403, {"message": message}), times=None)
    done = step(pull_request)
    [warning] = done.warnings
    assert len(warning) < 1_000
