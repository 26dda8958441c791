"""Both sides as files: paths as they are given, artifacts fetched into temporary folders."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from rollout_compare.core.errors import CompareInputError
from rollout_compare.core.judging.baseline import Baseline, NoBaseline
from rollout_compare.core.schema import Both, SideName
from rollout_compare.formats.source import open_source
from rollout_compare.github.api.faults import ApiError
from rollout_compare.github.artifacts.contents import Content, content_of, of_run, of_this_run, unreadable
from rollout_compare.github.artifacts.download import download
from rollout_compare.github.artifacts.sending import ArtifactError
from rollout_compare.github.artifacts.unpacked import UnpackedArtifact
from rollout_compare.github.baselines.lookup import Wanted, find_baseline, merge_base_of
from rollout_compare.github.baselines.record import baseline_of
from rollout_compare.github.baselines.runs import Runs
from rollout_compare.github.comments.pulls import find_pull_requests
from rollout_compare.github.context import USER_AGENT, Context
from rollout_compare.github.settings import SettingError
from rollout_compare.github.values import ArtifactPath
from rollout_compare.report.by_hand import Download


@dataclass(frozen=True)
class FetchedSide:
    """Where the rollouts of one side are."""

    paths: Sequence[str] = ()
    unpacked: UnpackedArtifact | None = None
    """The artifact that they came from, if they did."""
    download: Download | None = None
    """How somebody else gets that artifact."""

    def roots(self, given: Sequence[str]) -> list[str]:
        """Folders of the artifact in which its logs may lie: those that were given, and the whole of it."""
        if self.unpacked is None:
            return []
        root = self.unpacked.root
        return [*(os.path.join(root, folder) for folder in given if self.unpacked.holds(folder)), root]


@dataclass(frozen=True)
class Inputs:
    """What a step compares."""

    sides: Both[FetchedSide]
    baseline: Baseline | None = None
    """The recorded run that the old side is, if it is one."""
    no_baseline: NoBaseline | None = None
    """Why there is no old side to compare with, if there is none."""

    @property
    def downloads(self) -> tuple[Download, ...]:
        """How somebody else gets the artifacts."""
        return tuple(side.download for side in self.sides if side.download is not None)

    @property
    def stand_ins(self) -> dict[str, str]:
        """What is told in place of the temporary folders."""
        return {path: name for artifact in self._artifacts() for path, name in artifact.stand_ins.items()}

    def bring(self, path: str) -> None:
        """Make a log of an artifact be there at its path. Raises OSError."""
        for artifact in self._around(path):
            artifact.bring(path)

    def bring_document(self, path: str) -> None:
        """The same for a file of the results of another tool."""
        for artifact in self._around(path):
            artifact.bring_document(path)

    def _around(self, path: str) -> list[UnpackedArtifact]:
        return [
            artifact
            for artifact in self._artifacts()
            if path == artifact.root or path.startswith(artifact.root + os.sep)
        ]

    def _artifacts(self) -> list[UnpackedArtifact]:
        return [side.unpacked for side in self.sides if side.unpacked is not None]


class _Reference(NamedTuple):
    """The old side, before it is downloaded."""

    baseline: Baseline
    content: Content


def fetch(context: Context, stack: contextlib.ExitStack) -> Inputs:
    """Both sides as files; those that are temporary are gone when the stack is closed.

    Raises CompareInputError for an artifact that could not be fetched, SettingError outside of a repository.
    """
    settings = context.settings
    artifact = _artifact(context, "new", settings.new, settings.new_artifact)
    if artifact is None:
        new = FetchedSide(list(map(context.workspace.path, settings.new)))
    else:
        new = _fetched(context, "new", artifact, _candidate(context, artifact.name), context.origin.run, stack)
    artifact = _artifact(context, "old", settings.old, settings.old_artifact)
    if artifact is None:
        return Inputs(Both(FetchedSide(list(map(context.workspace.path, settings.old))), new))
    reference = _reference(context, artifact.name)
    if isinstance(reference, NoBaseline):
        return Inputs(Both(FetchedSide(), new), no_baseline=reference)
    old = _fetched(context, "old", artifact, reference.content, reference.baseline.run_id, stack)
    return Inputs(Both(old, new), baseline=reference.baseline)


def _artifact(
    context: Context, side: SideName, paths: Sequence[str], artifact: ArtifactPath | None
) -> ArtifactPath | None:
    """The artifact that a side comes from; None when it comes from paths."""
    if artifact is None:
        return None
    if paths:
        context.commands.warning(f"input `{side}-artifact` is ignored, because `{side}` is set too")
        return None
    if not context.event.repository:
        raise SettingError(f"input `{side}-artifact` needs a repository: GITHUB_REPOSITORY is not set")
    return artifact


def _candidate(context: Context, name: str) -> Content:
    """The content of the new side."""
    origin = context.origin
    if not origin.is_elsewhere:
        return of_this_run(context.service, context.event.run.run_id, name)
    if not origin.run:
        raise CompareInputError(f"artifact {name}", "the event does not name the run that it belongs to")
    return of_run(_runs(context, name), origin.run, name)[1]


def _reference(context: Context, name: str) -> _Reference | NoBaseline:
    """The old side, of the run that was named or looked up."""
    number = context.settings.old_run_id
    if number is None:
        return _looked_up(context, name)
    if number == context.event.run.run_id:
        return _Reference(
            Baseline(name, number, context.event.page_of(number)), of_this_run(context.service, number, name)
        )
    runs = _runs(context, name)
    artifact, content = of_run(runs, number, name)
    try:
        run = runs.run(number)
    except ApiError as fault:
        raise unreadable(name, fault, missing=f"run {number}") from None
    try:
        wanted = _wanted(context, runs, name)
        merge_base = merge_base_of(runs, wanted, context.commands.warning, "the report does not tell the distance")
    except ApiError:
        # It is only told of: which run to compare with was said.
        merge_base = ""
    page = context.event.page_of(number)
    return _Reference(baseline_of(runs, run, artifact, run_url=page, merge_base=merge_base, now=context.now), content)


def _looked_up(context: Context, name: str) -> _Reference | NoBaseline:
    runs = _runs(context, name)
    try:
        wanted = _wanted(context, runs, name)
        merge_base = merge_base_of(runs, wanted, context.commands.warning, "the newest baseline is taken")
        reference = find_baseline(runs, wanted, merge_base)
    except ApiError as fault:
        raise unreadable(name, fault, missing="the repository") from None
    if isinstance(reference, NoBaseline):
        return reference
    run, artifact = reference
    page = context.event.page_of(run.number)
    return _Reference(
        baseline_of(runs, run, artifact, run_url=page, merge_base=merge_base, now=context.now),
        content_of(runs, artifact),
    )


def _wanted(context: Context, runs: Runs, name: str) -> Wanted:
    """Which run would do as a baseline. Raises ApiError."""
    settings, origin, event = context.settings, context.origin, context.event
    base, commit = settings.old_branch or origin.base, origin.commit
    if not base and origin.branch and origin.branch == event.default_branch:
        base = origin.branch
    if not (base and commit) and not (base and origin.branch == base):
        base_of_it, head_of_it = _pull_request(context, runs)
        base, commit = base or base_of_it, commit or head_of_it
    base = base or event.default_branch or runs.default_branch()
    return Wanted(
        artifact=name,
        branch=base,
        workflow=settings.old_workflow or origin.workflow or runs.run(event.run.run_id).workflow,
        other_than=origin.run,
        commit=commit,
        is_earlier=origin.branch == base,
    )


def _pull_request(context: Context, runs: Runs) -> tuple[str, str]:
    """The base branch and the head of the pull request that the run is about; empty when there is none."""
    decision = context.decision
    try:
        numbers = decision.numbers or find_pull_requests(decision, context.client, context.event.repository).numbers
        return runs.pull_request(numbers[0]) if numbers else ("", "")
    except ApiError as fault:
        context.commands.warning(f"the pull request's base branch is not known ({fault})")
        return "", ""


def _runs(context: Context, name: str) -> Runs:
    """The runs of the repository, asked for with the step's token."""
    if not context.settings.github_token.get_secret_value():
        raise CompareInputError(
            f"artifact {name}", "it cannot be looked up without a `github-token`, which needs `actions: read`"
        )
    return Runs(context.client, context.event.repository)


def _fetched(
    context: Context, side: SideName, artifact: ArtifactPath, content: Content, run: int, stack: contextlib.ExitStack
) -> FetchedSide:
    """Download an artifact of a run and unpack its rollouts."""
    name = artifact.name
    try:
        folder = stack.enter_context(
            tempfile.TemporaryDirectory(prefix="rollout-compare-", dir=context.temporary, ignore_cleanup_errors=True)
        )
        root = os.path.join(os.path.realpath(folder), "unpacked")
        os.mkdir(root)
    except OSError as fault:
        raise CompareInputError(
            f"artifact {name}", f"the temporary folder could not be created: {fault.strerror}"
        ) from None
    packed = os.path.join(folder, "content")
    try:
        download(content.address, packed, digest=content.digest, patience=context.patience, user_agent=USER_AGENT)
    except ArtifactError as fault:
        raise CompareInputError(f"artifact {name}", f"could not be downloaded: {fault}") from None
    stack.enter_context(opened := Path(packed).open("rb"))  # noqa: SIM115 - the stack closes it
    unpacked = UnpackedArtifact(opened, root, name, context.commands.warning)

    def is_of_format(path: str) -> bool:
        return open_source(path, forced=context.settings.format, bring=unpacked.bring_document) is not None

    paths = unpacked.inputs(artifact.path, is_of_format)
    return FetchedSide(paths, unpacked, Download(side, name, run, _named_repository(context)))


def _named_repository(context: Context) -> str:
    """The repository as GitHub's command line takes it, with the host unless it is the usual one."""
    event = context.event
    host = event.server_url.partition("://")[2]
    return event.repository if host in ("", "github.com") else f"{host}/{event.repository}"
