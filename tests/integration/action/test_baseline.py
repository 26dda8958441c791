"""Which run's rollouts a pull request is compared with, and what is said of that run."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.action.conftest import HEAD
from tests.integration.action.recorded import (
    AFTER,
    ARTIFACTS,
    BASE,
    BEFORE,
    COMPARE,
    LATEST,
    NAME,
    OLD,
    ROLLOUTS,
    RUNS,
    THIS_RUN,
    WORKFLOWS,
    Recorded,
    codes,
    none_found,
)
from tests.integration.action.zips import zipped
from tests.stand_in import INSTALLATION, REPOSITORY, answer

FORK = "contributor/octo-repo"
OTHER = ".github/workflows/other.yml"


def test_the_run_at_the_merge_base_is_the_baseline(recorded: Recorded) -> None:
    recorded.old(sha=BEFORE)
    base = recorded.old(sha=BASE)
    recorded.old(sha=LATEST)
    done = recorded()
    assert (done.status, done.warnings, codes(done)) == (0, [], [])
    assert done.json["baseline"] == {
        "artifact": NAME,
        "run_id": base.id,
        "run_url": f"https://github.com/{REPOSITORY}/actions/runs/{base.id}",
        "branch": "main",
        "commit": BASE,
        "created_at": "2026-01-04T00:00:00Z",
        "age_days": 1.0,
        "merge_base": BASE,
        "behind": 0,
        "ahead": 0,
    }
    assert done.json["one_sided"] is None
    assert (done.json["counts"]["flipped"], done.json["counts"]["identical"]) == (1, 1)


def test_comment_summary_and_page_tell_the_baseline_with_a_link(recorded: Recorded) -> None:
    base = recorded.old(sha=AFTER)
    url = f"https://github.com/{REPOSITORY}/actions/runs/{base.id}"
    done = recorded()
    [body] = recorded.github.state.bodies()
    for text in (body, done.summary, done.text("report.md"), done.text("report.html")):
        assert url in text
        for fact in (NAME, "main", AFTER[:7], "24 hours", "1 commit", BASE[:7]):
            assert fact in text


def test_what_was_read_is_named_by_artifact_and_path_inside(recorded: Recorded) -> None:
    recorded.old(zipped({"deep/inside/rollouts.jsonl": OLD}))
    done = recorded()
    sides = done.json["sides"]
    assert [sides[side]["shards"] for side in ("old", "new")] == [
        [f"{NAME}/deep/inside/rollouts.jsonl"],
        [f"{NAME}/{ROLLOUTS}"],
    ]


@pytest.mark.parametrize(
    "wrong",
    [
        {"conclusion": "failure"},
        {"conclusion": "cancelled"},
        {"status": "in_progress", "conclusion": None},
        {"workflow": OTHER},
        {"branch": "release"},
        {"head_repository": FORK},
        {"head_repository": None},
        {"event": "pull_request"},
        {"event": "pull_request_target"},
        {"event": "issue_comment"},
        {"event": "workflow_run"},
        {"artifact": {"expired": True}},
        {"name": "rollouts-2"},
        {"run_id": THIS_RUN},
    ],
    ids=str,
)
@pytest.mark.parametrize("sha", [BASE, LATEST], ids=["at the merge base", "elsewhere"])
def test_a_run_that_does_not_fit_is_passed_over(recorded: Recorded, sha: str, wrong: dict[str, Any]) -> None:
    fitting = recorded.old(sha=BEFORE)
    recorded.old(sha=sha, **wrong)
    assert recorded.chosen() == fitting.id


@pytest.mark.parametrize("event", ["push", "schedule", "workflow_dispatch", "repository_dispatch"])
def test_events_that_run_the_branchs_own_code_count(recorded: Recorded, event: str) -> None:
    run = recorded.old(event=event)
    assert recorded.chosen() == run.id


@pytest.mark.parametrize("path", [".github/workflows/evaluate.yml", ".github/workflows/evaluate.yml@main"])
def test_a_workflow_is_known_by_its_path_without_the_ref(recorded: Recorded, path: str) -> None:
    run = recorded.old(workflow=path)
    assert recorded.chosen() == run.id


def test_without_a_run_at_the_merge_base_the_newest_one_is_taken(recorded: Recorded) -> None:
    again = recorded.old(sha=BEFORE, updated="2026-01-04T23:00:00Z", attempt=2)
    newest = recorded.old(sha=LATEST)
    recorded.attach(again, created="2026-01-04T23:00:00Z")  # the newest artifact, of a run that was run anew
    done = recorded()
    baseline = done.json["baseline"]
    assert (baseline["run_id"], baseline["behind"], baseline["ahead"]) == (newest.id, 0, 2)
    assert (baseline["commit"], baseline["merge_base"]) == (LATEST, BASE)
    [warning] = [each for each in done.json["warnings"] if each["code"] == "baseline_not_merge_base"]
    assert "2 commits ahead" in str(warning)
    assert codes(done) == ["baseline_not_merge_base"]


def test_an_older_run_is_so_many_commits_behind(recorded: Recorded) -> None:
    recorded.old(sha=BEFORE)
    done = recorded()
    assert (done.json["baseline"]["behind"], done.json["baseline"]["ahead"]) == (1, 0)
    assert "1 commit behind" in done.summary
    assert codes(done) == ["baseline_not_merge_base"]


def test_of_several_artifacts_of_a_run_the_newest_is_taken(recorded: Recorded) -> None:
    run = recorded.old(zipped({ROLLOUTS: b"this is no rollout\n"}), attempt=3)
    recorded.attach(run, zipped({ROLLOUTS: OLD}))
    recorded.attach(run, zipped({ROLLOUTS: b"expired"}), expired=True)
    done = recorded()
    assert (done.status, done.json["sides"]["old"]["rows"]) == (0, 2)


def test_of_several_runs_at_the_merge_base_the_newest_that_fits_is_taken(recorded: Recorded) -> None:
    recorded.old(sha=BASE)
    newest = recorded.old(sha=BASE)
    recorded.old(sha=BASE, artifact={"expired": True})
    recorded.github.state.add_run(sha=BASE)
    assert recorded.chosen() == newest.id


def test_more_runs_at_the_merge_base_than_a_page_holds(recorded: Recorded) -> None:
    base = recorded.old(sha=BASE)
    for _ in range(130):
        recorded.github.state.add_run(sha=BASE, workflow=OTHER)
    recorded.old(sha=LATEST, run_id=300)
    assert recorded.chosen(run_id=1_000) == base.id


@pytest.mark.parametrize("others", [120, 350])
def test_more_artifacts_than_a_page_holds(recorded: Recorded, others: int) -> None:
    wanted = recorded.old(sha=BEFORE)
    for _ in range(others):
        recorded.old(b"", branch="feature", event="pull_request", sha=HEAD)
    assert recorded.chosen(run_id=1_000) == wanted.id
    listed = recorded.github.calls("GET", ARTIFACTS)
    assert {request.query["name"][0] for request in listed} == {NAME}
    assert {request.query["per_page"][0] for request in listed} == {"100"}


def test_many_failed_runs_do_not_hide_the_one_that_succeeded(recorded: Recorded) -> None:
    wanted = recorded.old(sha=BEFORE)
    for _ in range(150):
        recorded.old(b"", sha=LATEST, conclusion="failure")
    assert recorded.chosen(run_id=1_000) == wanted.id


@pytest.mark.parametrize("sha", [BASE, BEFORE], ids=["at the merge base", "elsewhere"])
def test_a_thousand_later_runs_of_other_workflows_do_not_hide_it(recorded: Recorded, sha: str) -> None:
    wanted = recorded.old(sha=sha)
    for _ in range(1_050):
        recorded.github.state.add_run(sha=sha, workflow=OTHER, created="2026-01-04T12:00:00Z")
    assert recorded.chosen(run_id=10_000) == wanted.id
    assert len(recorded.github.calls("GET", f"{WORKFLOWS}/*")) <= 3


@pytest.mark.parametrize("others", [2_001, 4_000])
def test_the_artifacts_of_the_same_name_by_others_do_not_hide_it(recorded: Recorded, others: int) -> None:
    wanted = recorded.old(sha=BEFORE)
    for sha in (AFTER, LATEST):
        recorded.github.state.add_run(sha=sha)  # newer runs, which recorded nothing
    branch = recorded.github.state.add_run(branch="feature", event="pull_request", sha=HEAD)
    for _ in range(others):
        recorded.attach(branch, b"")
    assert recorded.chosen(run_id=10_000) == wanted.id
    assert len(recorded.github.calls("GET", ARTIFACTS)) == 20


def test_of_many_runs_without_an_artifact_the_newest_are_asked(recorded: Recorded) -> None:
    recorded.old(sha=BEFORE)
    for _ in range(60):
        recorded.github.state.add_run(sha=BEFORE)
    branch = recorded.github.state.add_run(branch="feature", event="pull_request", sha=HEAD)
    for _ in range(2_001):
        recorded.attach(branch, b"")
    done = recorded(run_id=10_000)
    assert none_found(done)
    assert len(recorded.github.calls("GET", f"{RUNS}/*/artifacts")) == 50
    assert "newest 2,000 artifacts" in done.summary
    assert "newest 50 runs" in done.summary


def test_a_workflow_that_github_does_not_know_has_no_baseline(recorded: Recorded) -> None:
    recorded.old()
    done = recorded(old_workflow="absent.yml")
    assert none_found(done)
    assert "absent.yml" in done.summary


def test_a_search_asks_little(recorded: Recorded) -> None:
    for _ in range(90):
        recorded.old(branch="feature", event="pull_request", sha=HEAD)
    recorded.old(sha=LATEST)
    recorded()
    assert len(recorded.github.calls("GET", f"{RUNS}/*")) <= 3


def test_the_branch_can_be_named(recorded: Recorded) -> None:
    recorded.github.state.add_commits("release/1.x", onto=BASE)
    recorded.old(branch="main")
    release = recorded.old(branch="release/1.x")
    done = recorded(old_branch="release/1.x")
    assert (done.json["baseline"]["run_id"], done.json["baseline"]["branch"]) == (release.id, "release/1.x")
    assert done.json["baseline"]["merge_base"] == BASE


def test_the_base_branch_of_the_pull_request_is_the_branch(recorded: Recorded) -> None:
    recorded.github.state.add_commits("release/1.x", onto=BEFORE)
    recorded.old(branch="main")
    release = recorded.old(branch="release/1.x", sha=BEFORE)
    assert recorded.chosen(about=recorded.event(base="release/1.x")) == release.id


@pytest.mark.parametrize("name", ["schedule", "workflow_dispatch"])
def test_without_a_pull_request_the_default_branch_is_the_branch(recorded: Recorded, name: str) -> None:
    recorded.github.state.repositories[REPOSITORY].default_branch = "trunk"
    recorded.github.state.add_commits("trunk", BEFORE)
    recorded.old(branch="main")
    trunk = recorded.old(branch="trunk", sha=BEFORE)
    how = recorded.push("topic", HEAD) | {"event": name}
    assert recorded.chosen(**how) == trunk.id


@pytest.mark.parametrize("given", ["other.yml", OTHER, "number"])
def test_the_workflow_can_be_named(recorded: Recorded, given: str) -> None:
    recorded.old()
    other = recorded.old(workflow=OTHER)
    recorded.old()
    assert recorded.chosen(old_workflow=other.workflow_id if given == "number" else given) == other.id


def test_without_the_runners_word_the_run_itself_tells_its_workflow(recorded: Recorded) -> None:
    other = recorded.old(workflow=OTHER)
    recorded.old()
    recorded.github.state.add_run(THIS_RUN, workflow=OTHER, branch="feature", event="pull_request", conclusion=None)
    assert recorded.chosen(environment={"GITHUB_WORKFLOW_REF": ""}) == other.id


@pytest.mark.parametrize("event", ["push", "schedule", "workflow_dispatch"])
def test_on_the_baseline_branch_only_earlier_runs_count(recorded: Recorded, event: str) -> None:
    earlier = recorded.old(run_id=99, sha=AFTER)
    recorded.old(run_id=THIS_RUN, sha=LATEST)
    recorded.old(run_id=101, sha=LATEST)
    done = recorded(**recorded.push() | {"event": event})
    assert (done.json["baseline"]["run_id"], done.json["baseline"]["merge_base"]) == (earlier.id, None)
    assert recorded.github.calls("GET", COMPARE) == []
    assert "baseline_not_merge_base" not in codes(done)


def test_for_a_pull_request_later_runs_count_too(recorded: Recorded) -> None:
    later = recorded.old(run_id=101)
    assert recorded.chosen() == later.id


def test_an_unknown_merge_base_is_no_obstacle(recorded: Recorded) -> None:
    recorded.github.state.add_commits("feature", HEAD)
    recorded.github.state.repositories[REPOSITORY].parents[HEAD] = ()
    run = recorded.old()
    done = recorded()
    baseline = done.json["baseline"]
    assert (done.status, baseline["run_id"]) == (0, run.id)
    assert (baseline["merge_base"], baseline["behind"], baseline["ahead"]) == (None, None, None)
    assert "baseline_not_merge_base" not in codes(done)


def test_without_the_right_to_compare_one_warning_names_it(recorded: Recorded) -> None:
    recorded.github.state.tokens[INSTALLATION].contents = "none"
    run = recorded.old()
    done = recorded()
    assert (done.status, done.json["baseline"]["run_id"]) == (0, run.id)
    [warning] = done.warnings
    assert "contents: read" in warning
    assert done.json["baseline"]["merge_base"] is None


@pytest.mark.parametrize(
    ("created", "how", "stale"),
    [
        ("2025-12-29T00:00:00Z", {}, False),
        ("2025-12-28T00:00:00Z", {}, True),
        ("2026-01-03T12:00:00Z", {"baseline_max_age": 1}, True),
        ("2025-12-01T00:00:00Z", {"baseline_max_age": 60}, False),
    ],
)
def test_an_old_baseline_is_called_stale(recorded: Recorded, created: str, how: dict[str, Any], stale: bool) -> None:
    recorded.old(created=created)
    done = recorded(**how)
    assert codes(done) == (["baseline_stale"] if stale else [])
    assert ("baseline-max-age" in done.summary) is stale
    assert done.outputs["changed"] == "true"


def test_the_age_is_that_of_the_artifact(recorded: Recorded) -> None:
    run = recorded.old(created="2025-12-01T00:00:00Z")
    recorded.attach(run, created="2026-01-03T12:00:00Z")
    assert recorded().json["baseline"]["age_days"] == 1.5


@pytest.mark.parametrize("said", [{"message": "Not Found"}, {}], ids=["404", "nothing"])
def test_a_server_without_a_second_page_is_asked_for_the_first(recorded: Recorded, said: dict[str, str]) -> None:
    run = recorded.old()
    recorded.github.fault("GET", COMPARE, answer(404 if said else 200, said))
    done = recorded()
    assert done.warnings == []
    assert (done.json["baseline"]["run_id"], done.json["baseline"]["merge_base"]) == (run.id, BASE)
