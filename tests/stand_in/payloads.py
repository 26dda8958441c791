"""The published webhook payloads, and edits that make of them what GitHub sends in rarer cases."""

from __future__ import annotations

import json
from typing import Any

from tests.stand_in.descriptions import FOLDER
from tests.stand_in.state import REPOSITORY

Payload = dict[str, Any]


def payload(name: str, *, repository: str = REPOSITORY) -> Payload:
    """A payload of tests/cases/github/webhooks by its file's name, in another repository of another owner."""
    text = (FOLDER / "webhooks" / f"{name}.json").read_text(encoding="utf-8")
    published: str = json.loads(text)["repository"]["full_name"]
    for old, new in zip(published.split("/"), repository.split("/"), strict=True):
        text = text.replace(old, new)
    loaded: Payload = json.loads(text)
    return loaded


def from_fork(event: Payload, full_name: str = "contributor/octo-repo", ref: str = "main") -> Payload:
    """The head of a pull request or workflow run lies in a fork."""
    owner, name = full_name.split("/")
    renamed = {"full_name": full_name, "name": name, "fork": True}
    if "workflow_run" in event:
        run = event["workflow_run"]
        run["head_repository"] |= renamed | {"owner": run["head_repository"]["owner"] | {"login": owner}}
        run |= {"head_branch": ref, "event": "pull_request", "pull_requests": []}
    else:
        head = event["pull_request"]["head"]
        head["repo"] |= renamed | {"owner": head["repo"]["owner"] | {"login": owner}}
        head |= {"label": f"{owner}:{ref}", "ref": ref, "user": head["user"] | {"login": owner}}
    return event


def without_head_repository(event: Payload) -> Payload:
    """The repository of the head was deleted."""
    if "workflow_run" in event:
        event["workflow_run"]["head_repository"] = None
    else:
        event["pull_request"]["head"]["repo"] = None
    return event


def with_head(event: Payload, sha: str) -> Payload:
    """Another commit is the head."""
    if "workflow_run" in event:
        run = event["workflow_run"]
        run["head_sha"] = sha
        for entry in run["pull_requests"]:
            entry["head"]["sha"] = sha
    elif "pull_request" in event:
        event["pull_request"]["head"]["sha"] = sha
    else:
        event["after"] = sha
    return event


def with_number(event: Payload, number: int) -> Payload:
    """Another pull request or issue is meant."""
    if "workflow_run" in event:
        for entry in event["workflow_run"]["pull_requests"]:
            entry["number"] = number
    elif "issue" in event:
        event["issue"]["number"] = number
    else:
        event["pull_request"]["number"] = number
        if "number" in event:
            event["number"] = number
    return event


def on_pull_request(event: Payload) -> Payload:
    """The issue that was commented is a pull request; no published example shows one."""
    issue = event["issue"]
    page = issue["html_url"].replace("/issues/", "/pull/")
    issue["html_url"] = page
    issue["pull_request"] = {
        "url": issue["url"].replace("/issues/", "/pulls/"),
        "html_url": page,
        "diff_url": f"{page}.diff",
        "patch_url": f"{page}.patch",
        "merged_at": None,
    }
    return event


def by_dependabot(event: Payload) -> Payload:
    """Dependabot sent the event and, where there is one, opened the pull request."""
    actor = {"login": "dependabot[bot]", "id": 49699333, "type": "Bot"}
    event["sender"] |= actor
    if "workflow_run" in event:
        event["workflow_run"]["actor"] |= actor
        event["workflow_run"]["triggering_actor"] |= actor
    elif "pull_request" in event:
        event["pull_request"]["user"] |= actor
    return event
