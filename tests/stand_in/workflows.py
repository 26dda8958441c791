"""The REST operations on workflow runs and their artifacts."""

from __future__ import annotations

import hashlib
import itertools
import re
import urllib.parse
from collections.abc import Callable, Sequence
from typing import Any

from tests.stand_in.answers import NOT_FOUND, Answer, Call, Refusal, page_of, refused
from tests.stand_in.bodies import Bodies
from tests.stand_in.runs import StoredArtifact, WorkflowRun
from tests.stand_in.state import Repository, State

_FILTERS = ("branch", "event", "head_sha", "status")
_UNKNOWN_FILTERS = ("actor", "created", "check_suite_id")
_MOST_RESULTS = 1_000
"""What a search with filters finds at most, as the description says."""


class Workflows:
    """Answers what is asked of runs and artifacts; downloads are redirected to a storage of another origin."""

    def __init__(self, state: State, bodies: Bodies, storage_url: str) -> None:
        self._state = state
        self._bodies = bodies
        self._storage_url = storage_url
        self._signatures = itertools.count(1)
        routes: dict[str, Callable[..., Answer]] = {
            r"/actions/runs": self._runs,
            r"/actions/runs/(\d+)": self._run,
            r"/actions/runs/(\d+)/artifacts": self._artifacts_of_run,
            r"/actions/artifacts": self._artifacts,
            r"/actions/artifacts/(\d+)": self._artifact,
            r"/actions/artifacts/(\d+)/zip": self._download,
            r"/actions/workflows/([^/]+)/runs": self._runs_of_workflow,
        }
        self.routes = [("GET", re.compile(pattern), _permitted(routes[pattern])) for pattern in routes]

    def _runs(self, repository: Repository, call: Call) -> Answer:
        return self._listed_runs(repository, call, list(repository.runs.values()))

    def _runs_of_workflow(self, repository: Repository, call: Call, workflow: int | str) -> Answer:
        found = [
            run
            for run in repository.runs.values()
            if workflow in (run.workflow_id, run.path.partition("@")[0].rpartition("/")[2])
        ]
        if not found:
            raise NOT_FOUND
        return self._listed_runs(repository, call, found)

    def _listed_runs(self, repository: Repository, call: Call, runs: list[WorkflowRun]) -> Answer:
        for name in _UNKNOWN_FILTERS:
            assert name not in call.query, f"the stand-in knows no filter {name}"
        filters = {name: call.parameter(name) for name in _FILTERS if call.parameter(name)}
        found = [run for run in runs if all(run.fits(*each) for each in filters.items())]
        found.sort(key=lambda run: (run.created, run.id), reverse=True)
        if filters:
            found = found[:_MOST_RESULTS]
        page, links = page_of(self._bodies.api_url, repository, call, found)
        bodies = [self._bodies.run(run, repository, self._state) for run in page]
        return Answer(200, {"total_count": len(found), "workflow_runs": bodies}, links)

    def _run(self, repository: Repository, _: Call, number: int) -> Answer:
        return Answer(200, self._bodies.run(_run_of(repository, number), repository, self._state))

    def _artifacts_of_run(self, repository: Repository, call: Call, number: int) -> Answer:
        run = _run_of(repository, number)
        found = [artifact for artifact in repository.artifacts.values() if artifact.run is run]
        return self._listed_artifacts(repository, call, found)

    def _artifacts(self, repository: Repository, call: Call) -> Answer:
        return self._listed_artifacts(repository, call, list(repository.artifacts.values()))

    def _listed_artifacts(self, repository: Repository, call: Call, artifacts: Sequence[StoredArtifact]) -> Answer:
        name = call.parameter("name")
        found = [artifact for artifact in artifacts if name in ("", artifact.name)]
        found.sort(key=lambda artifact: artifact.id, reverse=call.parameter("direction") != "asc")
        page, links = page_of(self._bodies.api_url, repository, call, found)
        bodies = [self._bodies.artifact(artifact, repository, self._state) for artifact in page]
        return Answer(200, {"total_count": len(found), "artifacts": bodies}, links)

    def _artifact(self, repository: Repository, _: Call, number: int) -> Answer:
        return Answer(200, self._bodies.artifact(_artifact_of(repository, number), repository, self._state))

    def _download(self, repository: Repository, call: Call, number: int) -> Answer:
        if call.token is None:
            raise Refusal(401, "Requires authentication")
        artifact = _artifact_of(repository, number)
        if artifact.expired:
            raise Refusal(410, "Artifact has expired")
        signature = hashlib.sha256(f"download {next(self._signatures)} of {number}".encode()).hexdigest()
        self._state.signatures[signature] = artifact
        query = urllib.parse.urlencode({"se": "2026-01-05T00:01:00Z", "sig": signature, "sp": "r"})
        headers = {"location": f"{self._storage_url}/{number}?{query}", "content-type": "text/html;charset=utf-8"}
        return Answer(302, None, headers)


def _permitted(operation: Callable[..., Answer]) -> Callable[..., Answer]:
    def answer(repository: Repository, call: Call, *found: Any) -> Answer:
        if call.token is not None and call.token.actions == "none":
            raise refused(call.token, "actions=read")
        return operation(repository, call, *found)

    return answer


def _run_of(repository: Repository, number: int) -> WorkflowRun:
    if number not in repository.runs:
        raise NOT_FOUND
    return repository.runs[number]


def _artifact_of(repository: Repository, number: int) -> StoredArtifact:
    if number not in repository.artifacts:
        raise NOT_FOUND
    return repository.artifacts[number]
