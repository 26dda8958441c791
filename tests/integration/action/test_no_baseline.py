"""A search that finds nothing to compare with: a green step, and a report on the new side alone that says why."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.action.conftest import HEAD, row
from tests.integration.action.recorded import BEFORE, NAME, ROLLOUTS, Recorded, none_found
from tests.integration.action.zips import jsonl, zipped

FORK = "contributor/octo-repo"


def test_without_a_baseline_the_step_is_green_and_says_so_everywhere(recorded: Recorded) -> None:
    done = recorded()
    assert none_found(done)
    [body] = recorded.github.state.bodies()
    for text in (body, done.summary, done.text("report.md"), done.text("report.html")):
        assert NAME in text
        assert "main" in text
        assert "evaluate.yml" in text
    assert done.json["verdict"]["kind"] == "no_baseline"
    assert done.outputs["verdict-sentence"] != ""
    assert recorded.github.downloads == []


def test_the_new_side_is_told_by_itself(recorded: Recorded) -> None:
    rows = [row("a", 1.0), row("b", 0.0), row("c", 0.5), row("d", 0.0, mask_sample=True)]
    recorded.service.add(NAME, content=zipped({ROLLOUTS: jsonl(rows)}))
    done = recorded()
    assert none_found(done)
    assert done.json["one_sided"] == {"tasks": 4, "scored": 3, "mean_reward": 0.5, "solved": 1, "masked": 1}
    assert {(task["category"], task["old"]) for task in done.json["tasks"]} == {("missing", None)}
    counts = done.json["counts"]
    assert (counts["tasks"], counts["missing_new_only"], counts["flipped"]) == (4, 4, 0)
    assert (done.outputs["tasks"], done.outputs["missing-new-only"]) == ("4", "4")


def test_a_task_that_is_masked_is_counted_apart(recorded: Recorded) -> None:
    failures = jsonl([row("c", None, agent_error="gave up"), row("d", None, agent_error="gave up")])
    files = {ROLLOUTS: jsonl([row("a", 1.0), row("b", 0.0)]), "rollouts_failures.jsonl": failures}
    recorded.service.add(NAME, content=zipped(files))
    one_sided = recorded().json["one_sided"]
    assert one_sided == {"tasks": 4, "scored": 2, "mean_reward": 0.5, "solved": 1, "masked": 2}


def test_rewards_of_another_range_have_no_solved_tasks(recorded: Recorded) -> None:
    recorded.service.add(NAME, content=zipped({ROLLOUTS: jsonl([row("a", 7.0), row("b", -1.0)])}))
    one_sided = recorded().json["one_sided"]
    assert one_sided == {"tasks": 2, "scored": 2, "mean_reward": 3.0, "solved": None, "masked": 0}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"artifact": {"expired": True}}, "expired"),
        ({"branch": "release"}, "branch"),
        ({"conclusion": "failure"}, "success"),
        ({"head_repository": FORK}, "fork"),
        ({"workflow": ".github/workflows/other.yml"}, "workflow"),
        ({"event": "pull_request"}, "proposed"),
    ],
    ids=str,
)
def test_why_nothing_fitted_is_told_with_numbers(recorded: Recorded, wrong: dict[str, Any], said: str) -> None:
    for _ in range(3):
        recorded.old(**wrong)
    done = recorded()
    assert none_found(done)
    [body] = recorded.github.state.bodies()
    for text in (body, done.summary):
        assert said in text
        assert "3" in text


def test_a_comment_for_changes_alone_is_not_made(recorded: Recorded) -> None:
    done = recorded(comment="changes")
    assert none_found(done)
    assert recorded.github.state.bodies() == []
    assert NAME in done.summary


def test_the_first_run_of_the_branch_itself_has_no_baseline(recorded: Recorded) -> None:
    recorded.old(run_id=101)
    assert none_found(recorded(**recorded.push()))


def test_once_there_is_a_baseline_the_comment_is_the_comparison(recorded: Recorded) -> None:
    recorded()
    [first] = recorded.github.state.bodies()
    recorded.old(sha=BEFORE)
    done = recorded(run_id=101)
    [second] = recorded.github.state.bodies()
    assert first != second
    assert "flipped" in second
    assert (done.json["one_sided"], done.outputs["verdict"] == "no_baseline") == (None, False)


def test_an_unreadable_new_side_is_an_error_all_the_same(recorded: Recorded) -> None:
    recorded.service.add(NAME, content=zipped({ROLLOUTS: b"no rollout\n"}))
    assert recorded().status == 1


def test_a_new_side_given_as_a_path_is_described_as_well(recorded: Recorded) -> None:
    done = recorded(new="new.jsonl")
    assert none_found(done)
    assert done.json["one_sided"]["tasks"] == 2


def test_artifacts_of_pull_requests_are_no_baseline(recorded: Recorded) -> None:
    for number in range(3):
        recorded.old(event="pull_request", branch="main", head_repository=FORK, sha=HEAD, run_id=50 + number)
    done = recorded()
    assert none_found(done)
    assert recorded.github.downloads == []
