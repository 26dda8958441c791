"""Rollouts that runs recorded as artifacts, and steps that compare them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.integration.action.conftest import HEAD, Stage, Step, pull_request_event, row
from tests.integration.action.zips import jsonl, zipped
from tests.stand_in import REPOSITORY, GitHub
from tests.stand_in.artifacts import Artifacts
from tests.stand_in.payloads import Payload, payload, with_head
from tests.stand_in.runs import StoredArtifact, WorkflowRun

NAME = "rollouts"
ROLLOUTS = "rollouts.jsonl"
THIS_RUN = 100
BEFORE, BASE, AFTER, LATEST = "a" * 40, "b" * 40, "c" * 40, "d" * 40
"""The commits of `main`; the pull request's head lies on BASE."""
OLD = jsonl([row("a", 1.0), row("b", 0.0)])
NEW = jsonl([row("a", 0.0), row("b", 0.0)])
REPO = f"/repos/{REPOSITORY}"
RUNS, ARTIFACTS = f"{REPO}/actions/runs", f"{REPO}/actions/artifacts"
WORKFLOWS = f"{REPO}/actions/workflows"
COMPARE = f"{REPO}/compare/*"


def own_event(about: Payload, github: GitHub) -> Payload:
    """The event as the repository of the stand-in sends it: with its id and its default branch."""
    known = github.state.repositories[REPOSITORY]

    def owned(value: Any) -> Any:
        if isinstance(value, list):
            return [owned(each) for each in value]
        if not isinstance(value, dict):
            return value
        changed = {name: owned(each) for name, each in value.items()}
        if value.get("full_name") == REPOSITORY:
            changed["id"] = known.id
            changed |= {"default_branch": known.default_branch} if "default_branch" in value else {}
        return changed

    owned_event: Payload = owned(about)
    return owned_event


@dataclass
class Recorded:
    """Both sides are artifacts of runs, of pull request 1 unless another event is given."""

    stage: Stage
    github: GitHub
    service: Artifacts
    temporary: Path

    def old(
        self,
        content: bytes | None = None,
        *,
        name: str = NAME,
        artifact: dict[str, Any] | None = None,
        **run: Any,
    ) -> WorkflowRun:
        """A run with an artifact; `artifact` says how that one differs, the rest how the run does."""
        made = self.github.state.add_run(**{"sha": BASE} | run)
        self.attach(made, content, name=name, **artifact or {})
        return made

    def attach(
        self, run: WorkflowRun, content: bytes | None = None, *, name: str = NAME, **artifact: Any
    ) -> StoredArtifact:
        """Give a run one more artifact."""
        content = zipped({ROLLOUTS: OLD}) if content is None else content
        return self.github.state.add_artifact(run, name, content, **artifact)

    def event(self, base: str = "main") -> Payload:
        """Pull request 1, opened against this branch."""
        about = pull_request_event()
        about["pull_request"]["base"]["ref"] = base
        return own_event(about, self.github)

    def push(self, branch: str = "main", sha: str = LATEST) -> dict[str, Any]:
        """How a step runs that a push started."""
        about = with_head(payload("push"), sha) | {"ref": f"refs/heads/{branch}"}
        environment = {"GITHUB_REF": f"refs/heads/{branch}", "GITHUB_REF_NAME": branch, "GITHUB_SHA": sha}
        return {"event": "push", "about": own_event(about, self.github), "environment": environment}

    def variables(self, **environment: str) -> dict[str, str]:
        """What the runner tells of repository and workflow, and where it keeps temporary files."""
        return {
            "GITHUB_REPOSITORY_ID": str(self.github.state.repositories[REPOSITORY].id),
            "GITHUB_WORKFLOW_REF": f"{REPOSITORY}/.github/workflows/evaluate.yml@refs/pull/1/merge",
            "RUNNER_TEMP": str(self.temporary),
        } | environment

    def __call__(self, *, environment: dict[str, str] | None = None, **how: Any) -> Step:
        """Run the step; afterwards nothing secret was told, and no temporary file is left."""
        given: dict[str, Any] = {"old": "", "new": "", "old_artifact": NAME, "new_artifact": NAME}
        if "about" not in how:
            given["about"] = self.event()
        done = self.stage(self.github, environment=self.variables(**environment or {}), **given | how)
        self.check(done)
        return done

    def check(self, done: Step) -> None:
        told = done.told + "".join(self.github.state.bodies())
        assert [each for each in (*self.github.secrets, *self.service.secrets) if each in told] == []
        assert str(self.temporary.parent) not in told.replace(str(self.stage.workspace), ""), "a temporary path is told"
        assert sorted(self.temporary.rglob("*")) == [], "temporary files are left"

    def chosen(self, **how: Any) -> int:
        """The run whose artifact a step that must succeed compares with."""
        done = self(**how)
        assert done.status == 0, done.out
        number = done.json["baseline"]["run_id"]
        assert isinstance(number, int)
        return number


def none_found(done: Step) -> bool:
    """Whether a green step compared with nothing."""
    return (done.status, done.outputs.get("verdict"), done.json["baseline"]) == (0, "no_baseline", None)


def codes(done: Step) -> list[str]:
    """The codes of the warnings in the summary."""
    return [warning["code"] for warning in done.json["warnings"]]


def recording(stage: Stage, github: GitHub, temporary: Path) -> Iterator[Recorded]:
    """A GitHub with commits and one open pull request, and a service with this run's rollouts."""
    github.state.add_commits("main", BEFORE, BASE, AFTER, LATEST)
    github.state.add_commits("feature", HEAD, onto=BASE)
    github.state.add_pull_request(1, head_sha=HEAD)
    temporary.mkdir()
    with Artifacts() as service:
        stage.environment |= service.environment
        service.add(NAME, content=zipped({ROLLOUTS: NEW}))
        yield Recorded(stage, github, service, temporary)
        assert service.violations == []
