"""Both sides as files: paths as they are given, artifacts fetched into a temporary folder."""

from __future__ import annotations

import contextlib
import glob
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from rollout_compare.core.errors import CompareInputError
from rollout_compare.core.judging.baseline import Baseline, NoBaseline
from rollout_compare.core.schema import SideName
from rollout_compare.github.api.client import ApiError, Client
from rollout_compare.github.api.clock import Clock
from rollout_compare.github.artifacts.contents import Content, content_of, of_run, of_this_run, unreadable
from rollout_compare.github.artifacts.download import download
from rollout_compare.github.artifacts.sending import ArtifactError
from rollout_compare.github.artifacts.service import Service
from rollout_compare.github.artifacts.unpacked import Unpacked
from rollout_compare.github.baselines.lookup import Found, Wanted, find_baseline, merge_base_of
from rollout_compare.github.baselines.origin import Origin
from rollout_compare.github.baselines.runs import Artifact, Runs, WorkflowRun
from rollout_compare.github.comments.pulls import find_pull_requests
from rollout_compare.github.event import Decision, Event
from rollout_compare.github.settings import SettingError, Settings
from rollout_compare.github.values import ArtifactPath
from rollout_compare.report.by_hand import Download

_DAY = 86_400.0


@dataclass
class Sides:
    """Where the rollouts of both sides are."""

    paths: dict[SideName, list[str]] = field(default_factory=lambda: {"old": [], "new": []})
    unpacked: dict[SideName, Unpacked] = field(default_factory=dict)
    """The artifacts among them."""
    downloads: list[Download] = field(default_factory=list)
    baseline: Baseline | None = None
    no_baseline: NoBaseline | None = None

    def roots(self, side: SideName, given: Sequence[str]) -> list[str]:
        """Folders of a side's artifact in which its logs may lie: those that were given, and the whole of it."""
        unpacked = self.unpacked.get(side)
        if unpacked is None:
            return []
        return [*(os.path.join(unpacked.root, root) for root in given if unpacked.holds(root)), unpacked.root]

    def bring(self, path: str) -> None:
        """Make a log of an artifact be there at its path. Raises OSError."""
        for unpacked in self.unpacked.values():
            if path == unpacked.root or path.startswith(unpacked.root + os.sep):
                unpacked.bring(path)


@dataclass(frozen=True)
class Tools:
    """What fetching takes: `client` makes a client for GitHub, `service` one for the artifacts of this run."""

    client: Callable[[], Client]
    service: Callable[[], Service]
    clock: Clock
    user_agent: str
    path: Callable[[str], str]
    """A path of the workspace under its name here."""
    temporary: str | None
    """Where temporary files go; the system's place for None."""
    warn: Callable[[str], None]


class Fetcher:
    """Finds and fetches what a step is asked to compare."""

    def __init__(self, settings: Settings, event: Event, decision: Decision, origin: Origin, tools: Tools) -> None:
        self._settings = settings
        self._event = event
        self._decision = decision
        self._origin = origin
        self._tools = tools
        self.stand_ins: dict[str, str] = {}
        """What is told in place of temporary folders: the names of the artifacts."""

    @contextlib.contextmanager
    def sides(self) -> Iterator[Sides]:
        """Both sides as files; what is temporary is gone afterwards.

        Raises CompareInputError for an artifact that cannot be had, SettingError when there can be none.
        """
        settings, sides = self._settings, Sides()
        with contextlib.ExitStack() as stack:
            for name, paths, artifact in (
                ("new", settings.new, settings.new_artifact),
                ("old", settings.old, settings.old_artifact),
            ):
                side: SideName = "new" if name == "new" else "old"
                if paths:
                    sides.paths[side] = list(map(self._tools.path, paths))
                    if artifact is not None:
                        self._tools.warn(f"input `{side}-artifact` is ignored: `{side}` is given too, and wins")
                elif artifact is not None:
                    if not self._event.repository:
                        raise SettingError(f"input `{side}-artifact` needs a repository: GITHUB_REPOSITORY is not set")
                    content = self._old(artifact.name, sides) if side == "old" else self._new(artifact.name, sides)
                    if content is not None:
                        self._fetch(content, artifact, side, sides, stack)
            yield sides

    def _new(self, name: str, sides: Sides) -> Content:
        origin = self._origin
        sides.downloads.append(Download("new", name, origin.run, self._gh_repository))
        if not origin.is_elsewhere:
            return of_this_run(self._tools.service, self._event.run.run_id, name)
        if not origin.run:
            raise CompareInputError(f"artifact {name}", "the event names no run that it could be of")
        return of_run(self._runs(name), origin.run, name)[1]

    def _old(self, name: str, sides: Sides) -> Content | None:
        """The content of the old side; None when there is no baseline."""
        number = self._settings.old_run_id
        if number is not None and number == self._event.run.run_id:
            content = of_this_run(self._tools.service, number, name)
            sides.baseline = Baseline(name, number, self._run_url(number))
        elif number is not None:
            runs = self._runs(name)
            artifact, content = of_run(runs, number, name)
            try:
                run = runs.run(number)
            except ApiError as fault:
                unreadable(name, fault)
            try:
                merge_base = merge_base_of(runs, self._wanted(name), self._tools.warn, "only its distance is not told")
            except ApiError:
                # It is only told of: which run to compare with was said.
                merge_base = ""
            sides.baseline = self._baseline(run, artifact, merge_base)
        else:
            found = self._look_up(name)
            if isinstance(found, NoBaseline):
                sides.no_baseline = found
                return None
            sides.baseline, content = found
        sides.downloads.insert(0, Download("old", name, sides.baseline.run_id, self._gh_repository))
        return content

    def _look_up(self, name: str) -> tuple[Baseline, Content] | NoBaseline:
        runs = self._runs(name)
        try:
            wanted = self._wanted(name)
            merge_base = merge_base_of(runs, wanted, self._tools.warn, "the newest baseline is taken")
            found = find_baseline(runs, wanted, merge_base)
        except ApiError as fault:
            unreadable(name, fault)
        if not isinstance(found, Found):
            return found
        return self._baseline(found.run, found.artifact, merge_base), content_of(runs, found.artifact)

    def _wanted(self, name: str) -> Wanted:
        """Which run would do as a baseline. Raises ApiError."""
        settings, origin = self._settings, self._origin
        runs = self._runs(name)
        base, commit = settings.old_branch or origin.base, origin.commit
        if not base and origin.branch and origin.branch == self._event.default_branch:
            base = origin.branch
        if not (base and commit) and not (base and origin.branch == base):
            of_pull_request = self._pull_request(runs)
            base, commit = base or of_pull_request[0], commit or of_pull_request[1]
        base = base or self._default_branch(runs)
        return Wanted(
            artifact=name,
            branch=base,
            workflow=settings.old_workflow or origin.workflow or runs.run(self._event.run.run_id).workflow,
            other_than=origin.run,
            commit=commit,
            is_earlier=origin.branch == base,
        )

    def _pull_request(self, runs: Runs) -> tuple[str, str]:
        """The base branch and the head of the pull request that the run is about; empty when there is none."""
        try:
            numbers = (
                self._decision.numbers
                or find_pull_requests(self._decision, self._tools.client(), self._event.repository).numbers
            )
            return runs.pull_request(numbers[0]) if numbers else ("", "")
        except ApiError as fault:
            self._tools.warn(f"the pull request's base branch is not known (GitHub says {fault})")
            return "", ""

    def _default_branch(self, runs: Runs) -> str:
        return self._event.default_branch or runs.default_branch()

    def _baseline(self, run: WorkflowRun, artifact: Artifact, merge_base: str) -> Baseline:
        baseline = Baseline(
            artifact=artifact.name,
            run_id=run.number,
            run_url=self._run_url(run.number),
            branch=run.branch or None,
            commit=run.commit or None,
            created_at=artifact.created_at or None,
            age_days=self._age(artifact.created_at),
            merge_base=merge_base or None,
        )
        if not merge_base or not run.commit:
            return baseline
        try:
            distance = self._runs(artifact.name).distance(run.commit, merge_base)
        except ApiError:
            return baseline
        return replace(baseline, behind=distance.behind, ahead=distance.ahead)

    def _age(self, moment: str) -> float | None:
        try:
            made = datetime.fromisoformat(moment)
        except ValueError:
            return None
        made = made if made.tzinfo is not None else made.replace(tzinfo=UTC)
        return max(0.0, round((self._tools.clock.wall() - made.timestamp()) / _DAY, 2))

    @property
    def _gh_repository(self) -> str:
        """The repository as GitHub's command line takes it, with the host unless it is the usual one."""
        host = self._event.server_url.partition("://")[2]
        return self._event.repository if host in ("", "github.com") else f"{host}/{self._event.repository}"

    def _run_url(self, number: int) -> str:
        return f"{self._event.server_url}/{self._event.repository}/actions/runs/{number}"

    def _runs(self, name: str) -> Runs:
        """The runs of the repository, asked for with the step's token."""
        if not self._settings.github_token.get_secret_value():
            raise CompareInputError(
                f"artifact {name}", "cannot be looked up without a `github-token`, which needs `actions: read`"
            )
        return Runs(self._tools.client, self._event.repository)

    def _fetch(
        self, content: Content, artifact: ArtifactPath, side: SideName, sides: Sides, stack: contextlib.ExitStack
    ) -> None:
        """Download an artifact and unpack its rollouts."""
        name, tools = artifact.name, self._tools
        try:
            folder = stack.enter_context(
                tempfile.TemporaryDirectory(prefix="rollout-compare-", dir=tools.temporary, ignore_cleanup_errors=True)
            )
            root = os.path.join(os.path.realpath(folder), "unpacked")
            os.mkdir(root)
        except OSError as fault:
            raise CompareInputError(
                f"artifact {name}", f"there is no room for temporary files: {fault.strerror}"
            ) from None
        self.stand_ins |= {root: name, glob.escape(root): name}
        packed = os.path.join(folder, "content")
        try:
            download(content.address, packed, digest=content.digest, clock=tools.clock, user_agent=tools.user_agent)
        except ArtifactError as fault:
            raise CompareInputError(f"artifact {name}", str(fault)) from None
        stack.enter_context(opened := Path(packed).open("rb"))  # noqa: SIM115 - the stack closes it
        unpacked = Unpacked(opened, root, name, tools.warn)
        sides.unpacked[side] = unpacked
        sides.paths[side] = unpacked.rollouts(artifact.path)
