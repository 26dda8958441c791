"""From a decision to the numbers of pull requests: what the event does not tell is asked of GitHub, and checked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from rollout_compare.github.api.client import Client
from rollout_compare.github.api.payload import text_at, value_at
from rollout_compare.github.event import Action, Decision


class PullRequests(NamedTuple):
    """The pull requests that a run is about; if there is none, why."""

    numbers: list[int]
    reason: str = ""
    is_doubtful: bool = False
    """Whether a comment that somebody asked for is refused."""


def find_pull_requests(decision: Decision, client: Client, repository: str) -> PullRequests:
    """The open pull requests that a decision is about. Raises ApiError."""
    sha = decision.head_sha
    if decision.action is Action.COMMENT:
        return PullRequests(list(decision.numbers))
    if decision.action is Action.VERIFY:
        (number,) = decision.numbers
        head = text_at(client.get(f"/repos/{repository}/pulls/{number}"), "head", "sha")
        if head == sha:
            return PullRequests([number])
        return PullRequests([], f"the head of pull request {number} is not the commit that was run", is_doubtful=True)
    if decision.action is Action.FIND_BY_HEAD:
        entries = client.pages(f"/repos/{repository}/pulls", {"state": "open", "head": decision.head})
        return _only_one(list(_with_head(entries, sha)))
    if decision.action is Action.FIND_BY_COMMIT:
        numbers = list(_with_head(client.pages(f"/repos/{repository}/commits/{sha}/pulls"), sha))
        return PullRequests(numbers, "" if numbers else "no open pull request has this commit as its head")
    return PullRequests([], decision.reason)


def _only_one(numbers: list[int]) -> PullRequests:
    if len(numbers) == 1:
        return PullRequests(numbers)
    if not numbers:
        return PullRequests([], "no open pull request of that branch has the commit that was run as its head")
    return PullRequests(
        [],
        "several open pull requests have the commit that was run as their head: set `pr-number` to one of them",
        is_doubtful=True,
    )


def _with_head(entries: Iterator[Any], sha: str) -> Iterator[int]:
    for entry in entries:
        number = value_at(entry, "number")
        if value_at(entry, "state") == "open" and value_at(entry, "head", "sha") == sha and isinstance(number, int):
            yield number
