"""The content of an artifact, wherever it is: of this run through the artifact service, of another one through the API.

Both raise CompareInputError for an artifact that is not there, or that nobody may have.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, NoReturn

from rollout_compare.core.errors import CompareInputError
from rollout_compare.core.reading.inputs import listed
from rollout_compare.github.api.client import ApiError, is_rate_limit
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
        raise CompareInputError(_place(name), f"this run's artifacts cannot be looked at: {fault}") from None
    if stored is None:
        raise CompareInputError(
            _place(name),
            f"this run, {run}, has none of that name{_named(others)}: name the job that uploads it in `needs`",
        )
    found = stored

    def address() -> str:
        try:
            return offered.address(found)
        except ArtifactError as fault:
            raise CompareInputError(_place(name), f"cannot be downloaded: {fault}") from None

    return Content(address, stored.digest)


def of_run(runs: Runs, run: int, name: str) -> tuple[Artifact, Content]:
    """An artifact of another run, and its content."""
    try:
        found = runs.artifacts_of(run, name)
    except ApiError as fault:
        if fault.status == 404:
            raise CompareInputError(
                _place(name),
                f"there is no run {run} that the token can see: the job needs `permissions: actions: read`",
            ) from None
        unreadable(name, fault)
    usable = [artifact for artifact in found if not artifact.is_expired]
    if not usable:
        why = "its artifact of that name has expired" if found else "it has no artifact of that name"
        raise CompareInputError(_place(name), f"run {run}: {why}")
    return usable[0], content_of(runs, usable[0])


def content_of(runs: Runs, artifact: Artifact) -> Content:
    """The content of an artifact that was found."""

    def address() -> str:
        try:
            return runs.address(artifact)
        except ApiError as fault:
            if fault.status == 410:
                raise CompareInputError(_place(artifact.name), f"run {artifact.run}: it has expired") from None
            unreadable(artifact.name, fault)

    return Content(address, artifact.digest)


def unreadable(name: str, fault: ApiError) -> NoReturn:
    """Raise that an artifact cannot be had, with what GitHub says and what to do about it."""
    what = f"GitHub says {fault}" if fault.status else str(fault)
    if fault.status == 401:
        what += ": the `github-token` is not accepted"
    elif fault.status in (403, 404) and not is_rate_limit(fault):
        what += ": the job needs `permissions: actions: read`"
    raise CompareInputError(_place(name), what) from None


def _place(name: str) -> str:
    return f"artifact {name}"


def _named(names: list[str]) -> str:
    if not names:
        return ", nor any other"
    return f", but {listed(names)}"
