"""The stand-in answers what is asked of runs, artifacts and commits as GitHub does."""

from __future__ import annotations

import http.client
import urllib.parse
from typing import Any

import pytest

from tests.stand_in import INSTALLATION, REPOSITORY, GitHub, cut, unavailable
from tests.stand_in.descriptions import Descriptions
from tests.unit.stand_in.test_rest import Answered, ask, links

REPO = f"/repos/{REPOSITORY}"
RUNS = f"{REPO}/actions/runs"
ARTIFACTS = f"{REPO}/actions/artifacts"


def download(url: str, headers: dict[str, str] | None = None) -> tuple[int, bytes]:
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=5)
    try:
        connection.request("GET", f"{parts.path}?{parts.query}", headers=headers or {})
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def ids(answered: Answered, key: str = "workflow_runs") -> list[int]:
    return [entry["id"] for entry in answered.json[key]]


def test_runs_are_listed_newest_first_in_pages(github: GitHub) -> None:
    for _ in range(250):
        github.state.add_run()
    first = ask(github, "GET", f"{RUNS}?per_page=100")
    second = ask(github, "GET", links(first)["next"])
    third = ask(github, "GET", links(second)["next"])
    assert [*ids(first), *ids(second), *ids(third)] == list(range(250, 0, -1))
    assert (first.json["total_count"], "next" in links(third)) == (250, False)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("branch=main", [4, 2, 1]),
        ("event=schedule", [2]),
        (f"head_sha={'c' * 40}", [4, 3]),
        ("status=failure", [1]),
        ("status=completed&branch=main", [4, 2, 1]),
        ("status=success&branch=main&exclude_pull_requests=true", [4, 2]),
    ],
)
def test_filters_narrow_the_list_of_runs(github: GitHub, query: str, found: list[int]) -> None:
    github.state.add_run(1, conclusion="failure")
    github.state.add_run(2, event="schedule")
    github.state.add_run(3, branch="other", sha="c" * 40)
    github.state.add_run(4, sha="c" * 40, head_repository="ada/octo-repo")
    assert ids(ask(github, "GET", f"{RUNS}?{query}")) == found


def test_a_search_finds_a_thousand_runs_at_most(github: GitHub) -> None:
    for _ in range(1_050):
        github.state.add_run()
    assert len(ask(github, "GET", f"{RUNS}?branch=main&per_page=100&page=10").json["workflow_runs"]) == 100
    assert ask(github, "GET", f"{RUNS}?branch=main&per_page=100&page=11").json["workflow_runs"] == []
    assert len(ask(github, "GET", f"{RUNS}?per_page=100&page=11").json["workflow_runs"]) == 50


def test_a_run_tells_where_its_head_lies(github: GitHub) -> None:
    github.state.add_run(1)
    github.state.add_run(2, head_repository="ada/octo-repo")
    github.state.add_run(3, head_repository=None)
    own, fork, gone = (ask(github, "GET", f"{RUNS}/{number}").json for number in (1, 2, 3))
    assert own["head_repository"]["id"] == own["repository"]["id"] == 1296269
    assert (fork["head_repository"]["full_name"], fork["repository"]["id"]) == ("ada/octo-repo", 1296269)
    assert fork["head_repository"]["id"] != 1296269
    assert gone["head_repository"] is None
    assert ask(github, "GET", f"{RUNS}/4").status == 404


def test_the_runs_of_a_workflow_are_found_by_its_file_and_by_its_number(github: GitHub) -> None:
    run = github.state.add_run(1)
    github.state.add_run(2, workflow=".github/workflows/other.yml")
    for name in ("evaluate.yml", run.workflow_id):
        assert ids(ask(github, "GET", f"{REPO}/actions/workflows/{name}/runs")) == [1]
    assert ask(github, "GET", f"{REPO}/actions/workflows/nothing.yml/runs").status == 404


def test_artifacts_are_listed_newest_first_by_name_and_by_run(github: GitHub) -> None:
    runs = [github.state.add_run(number) for number in (1, 2)]
    made = [github.state.add_artifact(run, name, b"zip") for name in ("a", "b") for run in runs]
    numbers = [artifact.id for artifact in made]
    assert ids(ask(github, "GET", ARTIFACTS), "artifacts") == numbers[::-1]
    assert ids(ask(github, "GET", f"{ARTIFACTS}?name=a"), "artifacts") == [numbers[1], numbers[0]]
    assert ids(ask(github, "GET", f"{RUNS}/2/artifacts"), "artifacts") == [numbers[3], numbers[1]]
    assert ids(ask(github, "GET", f"{RUNS}/2/artifacts?name=b"), "artifacts") == [numbers[3]]
    one = ask(github, "GET", f"{ARTIFACTS}/{numbers[0]}").json
    assert (one["workflow_run"]["id"], one["size_in_bytes"], one["digest"][:7]) == (1, 3, "sha256:")


def test_a_download_is_redirected_to_another_origin(github: GitHub) -> None:
    artifact = github.state.add_artifact(github.state.add_run(), "rollouts", b"content")
    answered = [ask(github, "GET", f"{ARTIFACTS}/{artifact.id}/zip") for _ in range(2)]
    urls = [each.headers["location"] for each in answered]
    assert [each.status for each in answered] == [302, 302]
    assert urllib.parse.urlsplit(urls[0]).netloc != urllib.parse.urlsplit(github.api_url).netloc
    assert urls[0] != urls[1], "each address is a new one"
    assert [download(url) for url in urls] == [(200, b"content")] * 2
    assert download(urls[0].replace("sig=", "sig=0"))[0] == 403
    assert [request.path for request in github.downloads] == [f"storage:{artifact.id}"] * 3


def test_a_token_that_reaches_the_storage_is_noted(descriptions: Descriptions) -> None:
    with GitHub(descriptions) as github:
        artifact = github.state.add_artifact(github.state.add_run(), "rollouts", b"content")
        url = ask(github, "GET", f"{ARTIFACTS}/{artifact.id}/zip").headers["location"]
        assert download(url, {"Authorization": "Bearer ghs_installation"})[0] == 403
        assert github.violations == [f"storage:{artifact.id}: has an Authorization header"]


def test_a_download_can_fail_or_be_cut(github: GitHub) -> None:
    artifact = github.state.add_artifact(github.state.add_run(), "rollouts", b"content")
    url = ask(github, "GET", f"{ARTIFACTS}/{artifact.id}/zip").headers["location"]
    github.fault("GET", "storage:*", unavailable())
    github.fault("GET", "storage:*", cut(3), nth=2)
    assert download(url)[0] == 503
    with pytest.raises(http.client.IncompleteRead):
        download(url)
    assert download(url) == (200, b"content")


def test_an_expired_artifact_is_gone(github: GitHub) -> None:
    artifact = github.state.add_artifact(github.state.add_run(), "rollouts", expired=True)
    answered = ask(github, "GET", f"{ARTIFACTS}/{artifact.id}/zip")
    assert (answered.status, answered.json["message"]) == (410, "Artifact has expired")
    assert ask(github, "GET", f"{ARTIFACTS}/{artifact.id}").json["expired"] is True


def test_what_a_token_may_not_read_is_refused(github: GitHub) -> None:
    github.state.add_commits("main", "a" * 40)
    artifact = github.state.add_artifact(github.state.add_run(1), "rollouts")
    token = github.state.tokens[INSTALLATION]
    paths = ["runs", "runs/1", "runs/1/artifacts", "artifacts", f"artifacts/{artifact.id}/zip"]
    compare = f"{REPO}/compare/main...{'a' * 40}"
    token.actions = "none"
    answers = [ask(github, "GET", f"{REPO}/actions/{path}") for path in paths]
    assert {(each.status, each.json["message"]) for each in answers} == {
        (403, "Resource not accessible by integration")
    }
    assert ask(github, "GET", compare).status == 200
    token.actions, token.contents = "read", "none"
    assert (ask(github, "GET", RUNS).status, ask(github, "GET", compare).status) == (200, 403)
    assert ask(github, "GET", f"{ARTIFACTS}/{artifact.id}/zip", token=None).status == 401


def compared(github: GitHub, range_of: str) -> dict[str, Any]:
    body = ask(github, "GET", f"{REPO}/compare/{range_of}").json
    return {name: body[name] for name in ("status", "ahead_by", "behind_by")} | {
        "merge_base": body["merge_base_commit"]["sha"][0],
        "commits": "".join(commit["sha"][0] for commit in body["commits"]),
    }


def test_commits_are_compared_from_their_merge_base(github: GitHub) -> None:
    a, b, c, d, e = (letter * 40 for letter in "abcde")
    github.state.add_commits("main", a, b, c)
    github.state.add_commits("feature/x", d, e, onto=b)
    assert compared(github, f"main...{e}") == {
        "status": "diverged",
        "ahead_by": 2,
        "behind_by": 1,
        "merge_base": "b",
        "commits": "de",
    }
    assert compared(github, f"main...{a}")["status"] == "behind"
    assert compared(github, f"{a}...main")["commits"] == "bc"
    assert compared(github, f"main...{c}")["status"] == "identical"
    assert compared(github, f"feature/x...{c}")["ahead_by"] == 1
    assert compared(github, f"octo-org:main...ada:{e}")["merge_base"] == "b"
    assert ask(github, "GET", f"{REPO}/compare/main...{'9' * 40}").status == 404


def test_commits_without_a_common_one_cannot_be_compared(github: GitHub) -> None:
    github.state.add_commits("main", "a" * 40)
    github.state.add_commits("other", "b" * 40)
    answered = ask(github, "GET", f"{REPO}/compare/main...other")
    assert (answered.status, answered.json["message"]) == (404, "No common ancestor between main and other.")


def test_a_long_comparison_is_cut_or_comes_in_pages(github: GitHub) -> None:
    shas = [f"{number:040x}" for number in range(300)]
    github.state.add_commits("main", *shas)
    path = f"{REPO}/compare/{shas[0]}...main"
    whole, second = ask(github, "GET", path), ask(github, "GET", f"{path}?per_page=100&page=2")
    assert (whole.json["ahead_by"], len(whole.json["commits"])) == (299, 250)
    assert [commit["sha"] for commit in second.json["commits"]] == shas[101:201]
    assert (second.json["files"], len(whole.json["files"])) == ([], 1)
