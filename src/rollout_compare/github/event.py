"""Which pull request a run is about: decided from the event alone, in one function, before any request is sent.

Source: GitHub's documentation of the events that trigger workflows, and of their webhook payloads.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

from rollout_compare.github.api.payload import text_at, value_at
from rollout_compare.github.settings import SettingError

QUEUE = re.compile(r"(?:refs/heads/)?gh-readonly-queue/(?P<base>.+)/pr-(?P<number>[0-9]+)-[0-9a-f]{40,64}$")
"""The branch on which a merge queue tries out a pull request."""
_SHA = re.compile(r"[0-9a-f]{40,64}")
_REPOSITORY = re.compile(r"[A-Za-z0-9._-]+/[A-Za-z0-9._-]+")
_PULL_REQUEST_EVENTS = ("pull_request", "pull_request_target", "pull_request_review", "pull_request_review_comment")
_LONGEST_NUMBER = 9
"""Digits of the number of a pull request."""
_LARGEST_EVENT = 64 << 20
_DEPENDABOT = "dependabot[bot]"


class Action(Enum):
    """What is to be done about a pull request."""

    COMMENT = "comment"
    """Comment on the pull requests that are named."""
    VERIFY = "verify"
    """Comment on the one that is named, if its head is the commit that was run."""
    FIND_BY_HEAD = "find by head"
    """Look for the open pull request of a branch whose head is the commit that was run."""
    FIND_BY_COMMIT = "find by commit"
    """Look for the open pull requests whose head is the commit that was pushed."""
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do, for which pull requests, and what to say about it."""

    action: Action
    numbers: tuple[int, ...] = ()
    head_sha: str = ""
    """The commit that the rollouts belong to, as far as the event tells."""
    head: str = ""
    """`owner:branch` to look for."""
    can_write: bool = True
    """Whether the token of such a run may comment at all."""
    reason: str = ""
    """Why no comment is made, as the end of a message; empty when one is made."""
    is_refused: bool = False
    """Whether a comment was asked for that must not be made."""
    queue_number: int | None = None
    """The pull request that a merge queue is trying out: for the title only."""


class Run(NamedTuple):
    """Which run of a workflow this is. Later ones have higher numbers."""

    run_id: int = 0
    attempt: int = 0


@dataclass(frozen=True, slots=True)
class Event:
    """What started the run. The payload is untrusted data: each value is checked where it is used."""

    name: str
    repository: str
    sha: str
    ref: str
    actor: str
    run: Run = field(default_factory=Run)
    server_url: str = "https://github.com"
    api_url: str = "https://api.github.com"
    graphql_url: str = "https://api.github.com/graphql"
    payload: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Event:
        """The event that the runner describes.

        Raises EventError when the file of the event cannot be read; a run outside of GitHub has no event.
        """

        def number(name: str) -> int:
            text = environment.get(name, "")
            return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else 0

        def address(name: str, usual: str) -> str:
            return environment.get(name, "").rstrip("/") or usual

        repository = environment.get("GITHUB_REPOSITORY", "")
        return cls(
            environment.get("GITHUB_EVENT_NAME", ""),
            repository if _REPOSITORY.fullmatch(repository) else "",
            environment.get("GITHUB_SHA", ""),
            environment.get("GITHUB_REF", ""),
            environment.get("GITHUB_ACTOR", ""),
            Run(number("GITHUB_RUN_ID"), number("GITHUB_RUN_ATTEMPT")),
            address("GITHUB_SERVER_URL", "https://github.com"),
            address("GITHUB_API_URL", "https://api.github.com"),
            address("GITHUB_GRAPHQL_URL", "https://api.github.com/graphql"),
            _payload(environment.get("GITHUB_EVENT_PATH", "")),
        )

    @property
    def default_branch(self) -> str:
        """The repository's default branch; empty when the payload does not tell."""
        return text_at(self.payload, "repository", "default_branch")

    @property
    def run_url(self) -> str:
        """The page of the run; empty outside of GitHub."""
        return self.page_of(self.run.run_id) if self.repository and self.run.run_id else ""

    def page_of(self, run: int) -> str:
        """The page of a run of the repository."""
        return f"{self.server_url}/{self.repository}/actions/runs/{run}"


class EventError(Exception):
    """An event whose file cannot be read; the message says why."""


def _payload(path: str) -> Mapping[str, Any]:
    if not path:
        return {}
    try:
        with Path(path).open("rb") as file:
            text = file.read(_LARGEST_EVENT + 1)
    except (OSError, ValueError) as fault:
        raise EventError(
            f"the event file cannot be read ({getattr(fault, 'strerror', None) or 'not a valid path'})"
        ) from None
    if not text.strip() or len(text) > _LARGEST_EVENT:
        raise EventError("the event file is empty" if not text.strip() else "the event file is too large")
    try:
        payload = json.loads(text.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        raise EventError("the event file is not JSON") from None
    return payload if isinstance(payload, dict) else {}


def decide(event: Event, pr_number: int | None = None) -> Decision:
    """What to do about pull requests. `pr_number` is the one that was asked for by the input of that name.

    Raises SettingError when one is asked for outside of a repository.
    """
    if pr_number is not None and not event.repository:
        raise SettingError("input `pr-number` needs a repository: GITHUB_REPOSITORY is not set")
    if event.name == "workflow_run":
        return _of_workflow_run(event, pr_number)
    if pr_number is not None:
        return _commenting(event, pr_number, _own_head(event, pr_number))
    if event.name in _PULL_REQUEST_EVENTS:
        return _of_pull_request(event)
    if event.name == "issue_comment":
        return _of_issue_comment(event)
    if event.name in ("push", "merge_group"):
        return _of_push(event)
    if not event.name:
        return Decision(Action.NOTHING, reason="not run by GitHub")
    return Decision(
        Action.NOTHING,
        reason=f"{event.name} events are not about a pull request: set input `pr-number` to comment on one",
    )


def _commenting(event: Event, number: int, head_sha: str) -> Decision:
    why_not = _why_read_only(event)
    if why_not:
        return Decision(Action.NOTHING, (number,), head_sha, can_write=False, reason=why_not)
    return Decision(Action.COMMENT, (number,), head_sha)


def _why_read_only(event: Event) -> str:
    """Why the token of such a run may not comment; empty when it may. Only these events have such tokens."""
    if event.name not in ("pull_request", "pull_request_review", "pull_request_review_comment"):
        return ""
    if event.actor == _DEPENDABOT:
        return "runs by Dependabot have a token that may not comment"
    head, base = (text_at(event.payload, "pull_request", end, "repo", "full_name") for end in ("head", "base"))
    if head == (base or event.repository):
        return ""
    return "runs for a pull request from a fork have a token that may not comment"


def _of_pull_request(event: Event) -> Decision:
    number = _number(value_at(event.payload, "pull_request", "number"))
    if number is None:
        return Decision(Action.NOTHING, reason="the event does not name a pull request")
    return _commenting(event, number, _sha(value_at(event.payload, "pull_request", "head", "sha")))


def _own_head(event: Event, number: int) -> str:
    """The head that the event gives for this pull request, if it is about this one."""
    if _number(value_at(event.payload, "pull_request", "number")) == number:
        return _sha(value_at(event.payload, "pull_request", "head", "sha"))
    return ""


def _of_issue_comment(event: Event) -> Decision:
    number = _number(value_at(event.payload, "issue", "number"))
    if number is None or not isinstance(value_at(event.payload, "issue", "pull_request"), dict):
        return Decision(Action.NOTHING, reason="the comment is on an issue, not on a pull request")
    return Decision(Action.COMMENT, (number,))


def _of_push(event: Event) -> Decision:
    queued = QUEUE.match(event.ref)
    if event.name == "merge_group" and queued is None:
        queued = QUEUE.match(text_at(event.payload, "merge_group", "head_ref"))
    if queued is not None or event.name == "merge_group":
        number = int(queued["number"]) if queued is not None and len(queued["number"]) <= _LONGEST_NUMBER else None
        return Decision(Action.NOTHING, reason="runs of a merge queue do not comment", queue_number=number)
    sha = _sha(value_at(event.payload, "after")) or _sha(event.sha)
    if not event.ref.startswith("refs/heads/") or not sha or not sha.strip("0"):
        return Decision(Action.NOTHING, reason="the push is not of a commit to a branch")
    return Decision(Action.FIND_BY_COMMIT, head_sha=sha)


def _of_workflow_run(event: Event, pr_number: int | None) -> Decision:
    run = value_at(event.payload, "workflow_run")
    sha = _sha(value_at(event.payload, "workflow_run", "head_sha"))
    if not isinstance(run, dict) or not sha:
        reason = "the event does not name a commit, so no pull request can be checked against it"
        return Decision(Action.NOTHING, reason=reason, is_refused=pr_number is not None)
    if pr_number is not None:
        return Decision(Action.VERIFY, (pr_number,), sha)
    listed = run.get("pull_requests")
    numbers = [
        _number(value_at(entry, "number"))
        for entry in (listed if isinstance(listed, list) else ())
        if _sha(value_at(entry, "head", "sha")) == sha and _is_own(entry, event)
    ]
    known = tuple(dict.fromkeys(number for number in numbers if number is not None))
    if known:
        return Decision(Action.COMMENT, known, sha)
    owner, branch = text_at(run, "head_repository", "owner", "login"), text_at(run, "head_branch")
    if owner and branch:
        return Decision(Action.FIND_BY_HEAD, head_sha=sha, head=f"{owner}:{branch}")
    return Decision(Action.FIND_BY_COMMIT, head_sha=sha)


def _is_own(entry: Any, event: Event) -> bool:
    """Whether a pull request listed by a run is one of this repository: lists name those of forks' parents too."""
    of_base, own = value_at(entry, "base", "repo", "id"), value_at(event.payload, "repository", "id")
    return of_base is None or own is None or of_base == own


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _sha(value: Any) -> str:
    return value if isinstance(value, str) and _SHA.fullmatch(value) else ""
