"""The content of an artifact, wherever it is: of this run through the artifact service, of another one through the API.

Both raise CompareInputError for an artifact that does not exist, or that the token may not read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from rollout_compare.core.errors import CompareInputError
from rollout_compare.core.reading.inputs import listed
from rollout_compare.github.api.faults import ApiError, advice
from rollout_compare.github.artifacts.sending import ArtifactError
from rollout_compare.github.artifacts.service import Service
from rollout_compare.github.baselines.runs import Artifact, Runs


class Content(NamedTuple):
    """Where an artifact's content is."""

    address: Callable[[], str]
    """A signed address, good for a short time: a secret. Raises CompareInputError."""
    digest: str
    """`sha256:` and hexadecimal digits of the content; empty when it is not known."""


def of_this_run(service: Callable[[], Service], run: int, name: str) -> Content:
    """The content of an artifact of this run, from whichever job."""
    try:
        offered = service()
        stored = offered.find(name)
        others = [] if stored is not None else offered.names()
    except ArtifactError as fault:
        raise CompareInputError(_place(name), f"this run's artifacts could not be listed: {fault}") from None
    if stored is None:
        raise CompareInputError(
            _place(name),
            f"this run, {run}, has no artifact of that name ({_named(others)}): add the job that uploads it to `needs`",
        )

    def address() -> str:
        try:
            return offered.address(stored)
        except ArtifactError as fault:
            raise CompareInputError(_place(name), f"could not be downloaded: {fault}") from None

    return Content(address, stored.digest)


def of_run(runs: Runs, run: int, name: str) -> tuple[Artifact, Content]:
    """An artifact of another run, and its content."""
    try:
        artifacts = runs.artifacts_of(run, name)
    except ApiError as fault:
        raise unreadable(name, fault, missing=f"run {run}") from None
    usable = [artifact for artifact in artifacts if not artifact.is_expired]
    if not usable:
        why = "its artifact of that name has expired" if artifacts else "it does not have an artifact of that name"
        raise CompareInputError(_place(name), f"run {run}: {why}")
    return usable[0], content_of(runs, usable[0])


def content_of(runs: Runs, artifact: Artifact) -> Content:
    """The content of an artifact that a run is known to have."""

    def address() -> str:
        try:
            return runs.address(artifact)
        except ApiError as fault:
            if fault.status == 410:
                raise CompareInputError(_place(artifact.name), f"run {artifact.run}: it has expired") from None
            raise unreadable(artifact.name, fault, missing=f"this artifact of run {artifact.run}") from None

    return Content(address, artifact.digest)


def unreadable(name: str, fault: ApiError, *, missing: str) -> CompareInputError:
    """The error for an artifact that GitHub's API does not give; `missing` is what a 404 may mean."""
    return CompareInputError(_place(name), advice(fault, needs="actions: read", missing=missing))


def _place(name: str) -> str:
    return f"artifact {name}"


def _named(names: list[str]) -> str:
    return f"it has {listed(names)}" if names else "it has no artifact at all"
