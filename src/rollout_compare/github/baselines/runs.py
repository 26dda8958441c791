"""Recorded runs of workflows and their artifacts, as GitHub's API tells of them.

A field that is missing in an answer, or of a wrong type, becomes empty. A run or an artifact with an empty field does
not match anything that is looked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

from rollout_compare.github.api.client import Client
from rollout_compare.github.api.faults import ApiError
from rollout_compare.github.api.payload import text_at, value_at

MOST_ARTIFACTS = 2_000
"""How many artifacts of a name are gone through, from the newest on."""
MOST_RUNS = 1_000
"""How many successful runs of a workflow on a branch are gone through: GitHub lists no more."""
_PER_PAGE = 100
_LONGEST_ID = 1 << 63


class WorkflowRun(NamedTuple):
    """One run of a workflow."""

    number: int
    """Its id; later runs have higher ones."""
    branch: str
    commit: str
    event: str
    conclusion: str
    workflow: str
    """The file name of the workflow."""
    workflow_number: int
    created_at: str
    is_own: bool
    """Whether it ran this repository's own branch, not a fork's."""


class Artifact(NamedTuple):
    """One artifact of a run. Its content is a zip, or a single file."""

    number: int
    name: str
    run: int
    branch: str
    """The branch of its run, as far as the list of artifacts tells."""
    created_at: str
    digest: str
    """`sha256:` and hexadecimal digits, of the content as it is stored; empty when it is not known."""
    is_expired: bool
    is_own: bool
    """Whether its run ran this repository's own branch."""


class Distance(NamedTuple):
    """How far one commit is from another: commits that it lacks, and commits that it has alone."""

    behind: int
    ahead: int


class Runs:
    """The runs of one repository. All methods raise ApiError."""

    def __init__(self, client: Client, repository: str) -> None:
        self._client = client
        self._path = f"/repos/{repository}"

    def run(self, number: int) -> WorkflowRun:
        """One run."""
        return _run(self._client.get(f"{self._path}/actions/runs/{number}"))

    def at_commit(self, workflow: str, sha: str, branch: str) -> Iterator[WorkflowRun]:
        """The runs of a workflow, its file name or number, of a commit on a branch."""
        return self._of_workflow(workflow, {"head_sha": sha, "branch": branch})

    def succeeded_on(self, workflow: str, branch: str) -> Iterator[WorkflowRun]:
        """The runs of a workflow on a branch that succeeded, newest first, page by page, up to a limit."""
        return self._of_workflow(workflow, {"status": "success", "branch": branch})

    def _of_workflow(self, workflow: str, asked: Mapping[str, str]) -> Iterator[WorkflowRun]:
        """Runs of one workflow, so that those of others do not fill the pages; of an unknown one there are none."""
        if not workflow:
            return
        path = f"{self._path}/actions/workflows/{quote(workflow, safe='')}/runs"
        asked = {**asked, "exclude_pull_requests": "true"}
        try:
            yield from map(_run, self._client.pages(path, asked, member="workflow_runs", most=MOST_RUNS // _PER_PAGE))
        except ApiError as fault:
            # A token that may not look is told so when it asks for the artifacts.
            if fault.status != 404:
                raise

    def artifacts_of(self, run: int, name: str) -> list[Artifact]:
        """The artifacts of that name of a run, newest first: a run that was started again may have several."""
        path = f"{self._path}/actions/runs/{run}/artifacts"
        entries = map(_artifact, self._client.pages(path, {"name": name}, member="artifacts", most=10))
        artifacts = [artifact._replace(run=run) for artifact in entries if artifact.name == name]
        return sorted(artifacts, key=lambda artifact: -artifact.number)

    def artifacts_named(self, name: str) -> Iterator[Artifact]:
        """The artifacts of that name of all runs, newest first, page by page, up to a limit."""
        pages = self._client.pages(
            f"{self._path}/actions/artifacts", {"name": name}, member="artifacts", most=MOST_ARTIFACTS // _PER_PAGE
        )
        return (artifact for artifact in map(_artifact, pages) if artifact.name == name)

    def address(self, artifact: Artifact) -> str:
        """Where the content of an artifact can be fetched, without a token, for about a minute: a secret."""
        return self._client.location(f"{self._path}/actions/artifacts/{artifact.number}/zip")

    def default_branch(self) -> str:
        """The repository's default branch."""
        return text_at(self._client.get(self._path), "default_branch")

    def pull_request(self, number: int) -> tuple[str, str]:
        """The base branch and the head commit of a pull request."""
        data = self._client.get(f"{self._path}/pulls/{number}")
        return text_at(data, "base", "ref"), text_at(data, "head", "sha")

    def merge_base(self, branch: str, sha: str) -> str:
        """The commit at which the history of `sha` left that of a branch."""
        base = text_at(self._compared(branch, sha), "merge_base_commit", "sha")
        if not base:
            raise ApiError("GitHub's answer does not name a merge base")
        return base

    def distance(self, sha: str, merge_base: str) -> Distance:
        """How far a commit is from a merge base."""
        compared = self._compared(sha, merge_base)
        behind, ahead = value_at(compared, "ahead_by"), value_at(compared, "behind_by")
        if not isinstance(behind, int) or not isinstance(ahead, int):
            raise ApiError("GitHub's answer does not tell the distance")
        return Distance(behind, ahead)

    def _compared(self, base: str, head: str) -> Any:
        path = f"{self._path}/compare/{quote(base, safe='')}...{quote(head, safe='')}"
        # Changed files, up to megabytes of them, are part of the first page only.
        try:
            second = self._client.get(path, {"per_page": 1, "page": 2})
        except ApiError as fault:
            if fault.status not in (404, 422):
                raise
            second = None
        # A server may have no page beyond the last one.
        return second if value_at(second, "merge_base_commit") is not None else self._client.get(path, {"per_page": 1})


def _run(data: Any) -> WorkflowRun:
    home, own = _number(data, "head_repository", "id"), _number(data, "repository", "id")
    return WorkflowRun(
        _number(data, "id"),
        text_at(data, "head_branch"),
        text_at(data, "head_sha"),
        text_at(data, "event"),
        text_at(data, "conclusion"),
        workflow_file(text_at(data, "path")),
        _number(data, "workflow_id"),
        text_at(data, "created_at"),
        home == own != 0,
    )


def _artifact(data: Any) -> Artifact:
    home, own = (_number(data, "workflow_run", name) for name in ("head_repository_id", "repository_id"))
    return Artifact(
        _number(data, "id"),
        text_at(data, "name"),
        _number(data, "workflow_run", "id"),
        text_at(data, "workflow_run", "head_branch"),
        text_at(data, "created_at"),
        text_at(data, "digest"),
        value_at(data, "expired") is not False,
        home == own != 0,
    )


def workflow_file(path: str) -> str:
    """The file name in the path of a workflow, which may end with the ref that it was taken from."""
    return path.partition("@")[0].rpartition("/")[2]


def _number(data: Any, *names: str) -> int:
    value = value_at(data, *names)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < _LONGEST_ID else 0
