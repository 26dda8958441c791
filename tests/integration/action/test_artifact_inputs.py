"""Rollouts named by their artifact: the inputs, whose artifact is meant, what lies inside, and what may be missing."""

from __future__ import annotations

import gzip
import re
import shlex
from typing import Any

import pytest

from tests.integration.action.conftest import HEAD, Step, row
from tests.integration.action.recorded import (
    ARTIFACTS,
    BASE,
    COMPARE,
    NAME,
    NEW,
    OLD,
    ROLLOUTS,
    RUNS,
    THIS_RUN,
    Recorded,
    own_event,
)
from tests.integration.action.zips import jsonl, zipped
from tests.stand_in import INSTALLATION, REPOSITORY, answer, cut, drop, unavailable
from tests.stand_in.artifacts import EARLIER_ATTEMPT, OTHER_JOB
from tests.stand_in.payloads import payload, with_head

TRIGGER = 90


@pytest.mark.parametrize("side", ["old", "new"])
def test_a_side_that_is_not_given_is_one_error_with_both_names(recorded: Recorded, side: str) -> None:
    given: dict[str, Any] = {f"{side}_artifact": ""}
    done = recorded(**given)
    assert done.status == 2
    assert f"`{side}`" in done.error
    assert f"`{side}-artifact`" in done.error
    assert (recorded.github.requests, recorded.service.requests) == ([], [])


@pytest.mark.parametrize("side", ["old", "new"])
def test_a_path_wins_over_an_artifact_with_a_warning(recorded: Recorded, side: str) -> None:
    recorded.old()
    given: dict[str, Any] = {side: f"{side}.jsonl"}
    done = recorded(**given)
    assert done.status == 0
    [warning] = done.warnings
    assert f"`{side}-artifact`" in warning
    assert done.json["sides"][side]["paths"] == [f"{side}.jsonl"]
    assert (done.json["baseline"] is None) is (side == "old")
    if side == "old":
        assert recorded.github.calls("GET", ARTIFACTS) == []
    else:
        assert recorded.service.requests == []


@pytest.mark.parametrize("side", ["old", "new"])
@pytest.mark.parametrize(
    "value", [":", "..", ". ", ":rollouts.jsonl", f"{NAME}:/etc/passwd", f"{NAME}:../x", f"{NAME}:a/../../b"]
)
def test_a_place_in_an_artifact_that_is_not_allowed_is_an_error(recorded: Recorded, side: str, value: str) -> None:
    given: dict[str, Any] = {f"{side}_artifact": value}
    done = recorded(**given)
    assert done.status == 2
    assert f"`{side}-artifact`" in done.error
    assert (recorded.github.requests, recorded.service.requests) == ([], [])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("old-run-id", "latest"),
        ("old-run-id", "-1"),
        ("old-run-id", "0"),
        ("baseline-max-age", "0"),
        ("baseline-max-age", "1.5"),
        ("baseline-max-age", "-7"),
        ("baseline-max-age", "soon"),
    ],
)
def test_a_number_that_makes_no_sense_is_an_error(recorded: Recorded, name: str, value: str) -> None:
    given: dict[str, Any] = {name.replace("-", "_"): value}
    done = recorded(**given)
    assert done.status == 2
    assert f"`{name}`" in done.error


@pytest.mark.parametrize(
    ("place", "files", "read"),
    [
        ("out/b.jsonl", {"out/a.jsonl": NEW, "out/b.jsonl": OLD}, ["out/b.jsonl"]),
        ("out", {"out/a.jsonl": OLD, "c.jsonl": NEW}, ["out/a.jsonl"]),
        ("out/", {"out/a.jsonl": OLD, "c.jsonl": NEW}, ["out/a.jsonl"]),
        ("o*/*.jsonl", {"out/a.jsonl": OLD, "one/c.jsonl": jsonl([row("c", 1.0)]), "d.jsonl": NEW}, None),
        ("", {"rollouts.jsonl": OLD, "other.jsonl": NEW, "deep/x.jsonl": NEW}, ["rollouts.jsonl"]),
        ("", {"only.jsonl": OLD, "readme.md": "text", "deep/x.jsonl": NEW}, ["only.jsonl"]),
        ("", {"a/b/c/only.jsonl": OLD, "a/notes.txt": "text"}, ["a/b/c/only.jsonl"]),
        ("", {"a/x.jsonl": OLD, "a/x_failures.jsonl": "", "a/x_materialized_inputs.jsonl": ""}, ["a/x.jsonl"]),
        ("", {"rollouts.jsonl.gz": gzip.compress(OLD)}, ["rollouts.jsonl.gz"]),
    ],
    ids=[
        "file",
        "folder",
        "folder with slash",
        "glob",
        "usual name",
        "only one at the root",
        "only one",
        "derived",
        "gz",
    ],
)
def test_the_rollouts_inside_are_found(
    recorded: Recorded, place: str, files: dict[str, bytes | str], read: list[str] | None
) -> None:
    recorded.old(zipped(files))
    done = recorded(old_artifact=f"{NAME}:{place}" if place else NAME)
    assert done.status == 0, done.out
    expected = ["out/a.jsonl", "one/c.jsonl"] if read is None else read
    assert sorted(done.json["sides"]["old"]["shards"]) == sorted(f"{NAME}/{path}" for path in expected)
    assert done.json["counts"]["flipped"] == 1


@pytest.mark.parametrize(
    ("place", "files", "said"),
    [
        ("", {"a/x.jsonl": OLD, "b/y.jsonl": NEW}, ["a/x.jsonl", "b/y.jsonl"]),
        ("", {"x.jsonl": OLD, "y.jsonl": NEW}, ["x.jsonl", "y.jsonl"]),
        ("", {"notes.txt": "text"}, [NAME]),
        ("", {"x_failures.jsonl": ""}, [NAME]),
        ("", {}, [NAME]),
        ("missing.jsonl", {"there.jsonl": OLD}, ["missing.jsonl"]),
        ("missing", {"there.jsonl": OLD}, ["missing"]),
        ("m*.jsonl", {"there.jsonl": OLD}, ["m*.jsonl"]),
    ],
)
@pytest.mark.parametrize("side", ["old", "new"])
def test_an_artifact_without_the_rollouts_is_one_error(
    recorded: Recorded, side: str, place: str, files: dict[str, bytes | str], said: list[str]
) -> None:
    if side == "old":
        recorded.old(zipped(files))
    else:
        recorded.old()
        recorded.service.artifacts.clear()
        recorded.service.add(NAME, content=zipped(files))
    given: dict[str, Any] = {f"{side}_artifact": f"{NAME}:{place}" if place else NAME}
    done = recorded(**given)
    assert done.status == 1
    assert [words for words in [NAME, *said] if words not in done.error] == []


def test_failures_and_inputs_beside_the_rollouts_are_read_too(recorded: Recorded) -> None:
    failures = jsonl([row("c", None, agent_error="gave up")])
    recorded.old(zipped({"x/rollouts.jsonl": OLD, "x/rollouts_failures.jsonl": failures}))
    assert recorded().json["sides"]["old"]["sidecar"]["records"] == 1


def test_an_artifact_that_is_no_zip_is_the_file_itself(recorded: Recorded) -> None:
    recorded.old(OLD, name="old.jsonl", artifact={"mime_type": "application/octet-stream"})
    recorded.service.add("new.jsonl", content=NEW, mime_type="application/jsonl")
    done = recorded(old_artifact="old.jsonl", new_artifact="new.jsonl")
    assert (done.status, done.json["counts"]["flipped"]) == (0, 1)


def test_of_several_artifacts_of_this_run_the_newest_is_taken(recorded: Recorded) -> None:
    recorded.old()
    wanted = recorded.service.add(NAME, content=zipped({ROLLOUTS: OLD}), job=OTHER_JOB, run=EARLIER_ATTEMPT)
    recorded.service.add("another", content=b"")
    recorded.service.add(NAME, content=b"not finished", finished=False)
    recorded.service.artifacts.reverse()
    done = recorded()
    assert (done.status, done.json["counts"]["identical"]) == (0, 2)
    [listed] = recorded.service.calls("ListArtifacts")
    [signed] = recorded.service.calls("GetSignedArtifactURL")
    assert listed.json["name_filter"] == NAME
    assert (signed.json["workflow_run_backend_id"], signed.json["workflow_job_run_backend_id"]) == (
        wanted.run,
        wanted.job,
    )


def test_answers_of_the_service_may_be_in_camel_case(recorded: Recorded) -> None:
    recorded.old()
    recorded.service.casing = "camel"
    assert recorded().status == 0


def test_the_service_is_asked_again_while_that_may_help(recorded: Recorded) -> None:
    recorded.old()
    for call in ("ListArtifacts", "GetSignedArtifactURL", "GetBlob"):
        recorded.service.fault(call, unavailable())
    recorded.service.fault("GetBlob", cut(10), nth=2)
    assert recorded().status == 0
    assert len(recorded.service.calls("GetBlob")) == 3


def test_an_artifact_that_this_run_lacks_is_an_error_that_says_what_to_do(recorded: Recorded) -> None:
    recorded.old()
    recorded.github.state.add_comment("of somebody else")
    done = recorded(new_artifact="candidates")
    assert done.status == 1
    missing = [words for words in ("candidates", str(THIS_RUN), "needs") if words not in done.error]
    assert missing == [], done.error
    assert len(recorded.github.state.bodies()) == 1
    assert "candidates" in done.summary


def test_without_the_service_the_artifact_of_this_run_is_an_error(recorded: Recorded) -> None:
    recorded.old()
    recorded.stage.environment.clear()
    done = recorded()
    assert done.status == 1
    assert NAME in done.error


def test_the_old_side_can_be_this_runs_too(recorded: Recorded) -> None:
    recorded.service.add("reference", content=zipped({ROLLOUTS: OLD}), job=OTHER_JOB)
    done = recorded(old_artifact="reference", old_run_id=THIS_RUN)
    assert (done.status, done.json["counts"]["flipped"]) == (0, 1)
    assert recorded.github.downloads == []


def test_a_run_can_be_named_whatever_it_is(recorded: Recorded) -> None:
    named = recorded.old(branch="topic", event="pull_request", conclusion="failure", workflow=".github/workflows/x.yml")
    recorded.old()
    done = recorded(old_run_id=named.id)
    assert (done.status, done.json["baseline"]["run_id"]) == (0, named.id)


@pytest.mark.parametrize(
    ("old", "said"),
    [
        ({"artifact": {"expired": True}}, "expired"),
        ({"name": "another"}, NAME),
        ({"run_id": 8}, NAME),
    ],
    ids=["expired", "none of that name", "no such run"],
)
def test_a_named_run_without_the_artifact_is_an_error(recorded: Recorded, old: dict[str, Any], said: str) -> None:
    recorded.old(**{"run_id": 7} | old)
    done = recorded(old_run_id=7)
    assert done.status == 1
    assert [words for words in (NAME, "7", said) if words not in done.error] == []
    assert done.outputs.get("verdict", "") == ""


def triggered(recorded: Recorded, *, event: str = "pull_request", path: str = ".github/workflows/evaluate.yml") -> Any:
    """How a step runs that another workflow's run started."""
    about = with_head(payload("workflow_run"), HEAD)
    about["workflow_run"] |= {"id": TRIGGER, "path": path, "event": event, "head_branch": "feature"}
    workflow = "octo-org/octo-repo/.github/workflows/report.yml@refs/heads/main"
    return {
        "event": "workflow_run",
        "about": own_event(about, recorded.github),
        "environment": {"GITHUB_WORKFLOW_REF": workflow, "GITHUB_REF": "refs/heads/main", "GITHUB_SHA": "d" * 40},
    }


def trigger(recorded: Recorded, content: bytes | None = None, **artifact: Any) -> None:
    run = recorded.github.state.add_run(TRIGGER, event="pull_request", branch="feature", sha=HEAD)
    recorded.attach(run, zipped({ROLLOUTS: NEW}) if content is None else content, **artifact)


def test_after_another_workflow_both_sides_are_that_ones(recorded: Recorded) -> None:
    recorded.service.artifacts.clear()
    recorded.old(workflow=".github/workflows/report.yml")
    base = recorded.old()
    trigger(recorded)
    done = recorded(**triggered(recorded))
    assert (done.status, done.json["baseline"]["run_id"]) == (0, base.id)
    assert done.json["baseline"]["merge_base"] == BASE
    assert done.json["counts"]["flipped"] == 1
    assert recorded.service.requests == []
    assert len(recorded.github.downloads) == 2
    assert len(recorded.github.state.bodies()) == 1


@pytest.mark.parametrize(
    ("artifact", "said"), [({"expired": True}, "expired"), ({"name": "another"}, NAME)], ids=["expired", "none"]
)
def test_a_triggering_run_without_the_artifact_is_an_error(
    recorded: Recorded, artifact: dict[str, Any], said: str
) -> None:
    recorded.old()
    trigger(recorded, **artifact)
    done = recorded(**triggered(recorded))
    assert done.status == 1
    assert [words for words in (NAME, str(TRIGGER), said) if words not in done.error] == []


@pytest.mark.parametrize("how", ["search", "named run", "triggering run"])
def test_without_the_right_to_read_runs_the_error_names_it(recorded: Recorded, how: str) -> None:
    recorded.github.state.tokens[INSTALLATION].actions = "none"
    named = recorded.old()
    trigger(recorded)
    done = recorded(
        **triggered(recorded) if how == "triggering run" else {"old_run_id": named.id} if how == "named run" else {}
    )
    assert done.status == 1
    assert "actions: read" in done.error
    assert done.clock.slept == []


@pytest.mark.parametrize("status", [403, 404])
def test_a_search_that_is_refused_is_an_error(recorded: Recorded, status: int) -> None:
    recorded.old()
    message = "Resource not accessible by integration" if status == 403 else "Not Found"
    recorded.github.fault("GET", ARTIFACTS, answer(status, {"message": message}), times=None)
    recorded.github.fault("GET", f"{RUNS}*", answer(status, {"message": message}), times=None)
    done = recorded()
    assert done.status == 1
    assert "actions: read" in done.error


def test_without_a_token_the_search_is_an_error_that_says_so(recorded: Recorded) -> None:
    recorded.old()
    done = recorded(token="")
    assert done.status == 1
    assert "github-token" in done.error


def downloaded(done: Step, recorded: Recorded) -> int:
    assert done.status == 0, done.out
    targets = [request.target for request in recorded.github.downloads]
    assert len(set(targets)) == len(targets), "an address was used twice"
    return len(targets)


@pytest.mark.parametrize("outcome", [unavailable(), cut(0), cut(50), drop()], ids=["503", "nothing", "cut", "dropped"])
def test_a_download_that_fails_for_a_moment_starts_anew_at_a_new_address(recorded: Recorded, outcome: Any) -> None:
    recorded.old()
    recorded.github.fault("GET", "storage:*", outcome, times=2)
    assert downloaded(recorded(), recorded) == 3


def test_a_redirection_that_fails_for_a_moment_is_asked_for_again(recorded: Recorded) -> None:
    recorded.old()
    recorded.github.fault("GET", f"{ARTIFACTS}/*/zip", unavailable(), times=2)
    recorded.github.fault("GET", f"{RUNS}*", unavailable())
    assert downloaded(recorded(), recorded) == 1


def test_a_download_that_never_succeeds_is_an_error(recorded: Recorded) -> None:
    recorded.old()
    recorded.github.fault("GET", "storage:*", unavailable(), times=None)
    done = recorded()
    assert done.status == 1
    assert NAME in done.error
    assert len(recorded.github.downloads) <= 10


def test_an_artifact_that_expires_meanwhile_is_called_expired(recorded: Recorded) -> None:
    run = recorded.old()
    recorded.github.fault("GET", f"{ARTIFACTS}/*/zip", answer(410, {"message": "Artifact has expired"}), times=None)
    done = recorded(old_run_id=run.id)
    assert done.status == 1
    assert "expired" in done.error


@pytest.mark.parametrize("side", ["old", "new"])
def test_content_with_another_digest_than_told_is_an_error(recorded: Recorded, side: str) -> None:
    recorded.old(artifact={"digest": f"sha256:{0:064x}"} if side == "old" else {})
    if side == "new":
        recorded.service.add(NAME, content=zipped({ROLLOUTS: NEW}), digest=f"sha256:{0:064x}")
    done = recorded()
    assert done.status == 1
    assert [words for words in (NAME, "digest") if words not in done.error] == []


@pytest.mark.parametrize("digest", [None, "md5:0123"])
def test_without_a_known_digest_nothing_is_checked(recorded: Recorded, digest: str | None) -> None:
    recorded.old(artifact={"digest": digest})
    assert recorded().status == 0


def test_a_baseline_that_cannot_be_read_is_an_error_not_the_next_run(recorded: Recorded) -> None:
    recorded.old()
    recorded.old(b"PK\x03\x04 is cut here")
    done = recorded()
    assert done.status == 1
    assert NAME in done.error


def test_the_report_says_how_to_make_the_comparison_by_hand(recorded: Recorded) -> None:
    files = {f"deep er/{ROLLOUTS}": OLD}
    run = recorded.old(zipped(files))
    report = recorded().text("report.md")
    [command] = re.findall(r"locally: `(.*)`$", report, re.MULTILINE)
    fetched, also_fetched, compared = command.split(" && ")
    assert shlex.split(fetched) == [
        *("gh", "run", "download", str(run.id), "--repo", REPOSITORY, "--name", NAME, "--dir", "old")
    ]
    assert shlex.split(also_fetched)[3] == str(THIS_RUN)
    assert shlex.split(compared)[-2:] == [f"old/deep er/{ROLLOUTS}", f"new/{ROLLOUTS}"]


def test_a_run_that_is_named_needs_no_merge_base(recorded: Recorded) -> None:
    run = recorded.old()
    recorded.github.fault("GET", COMPARE, unavailable(), times=20)
    done = recorded(old_run_id=run.id)
    assert done.status == 0
    assert (done.json["baseline"]["run_id"], done.json["baseline"]["merge_base"]) == (run.id, None)
