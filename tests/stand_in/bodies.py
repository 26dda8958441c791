"""The bodies of answers: GitHub's published examples with the stand-in's facts in them."""

from __future__ import annotations

import json
import urllib.parse
import zlib
from collections.abc import Sequence
from typing import Any

from tests.stand_in.descriptions import example
from tests.stand_in.runs import EXPIRY, StoredArtifact, WorkflowRun
from tests.stand_in.state import Comment, Issue, PullRequest, Repository, State

_EXAMPLE_REPOSITORY = "octocat/Hello-World"
_EXAMPLE_NUMBER = "1347"


class Bodies:
    """Bodies whose addresses lead back to the stand-in and to the server people use."""

    def __init__(self, api_url: str, server_url: str) -> None:
        self.api_url = api_url
        self.server_url = server_url

    def repository(self, repository: Repository) -> dict[str, Any]:
        body = self._filled(example("repository"), repository.full_name)
        for name in ("organization", "parent", "source", "template_repository"):
            body.pop(name, None)
        self._name(body, repository.full_name)
        facts: dict[str, Any] = {"id": repository.id, "private": repository.private, "archived": repository.archived}
        facts["default_branch"] = repository.default_branch
        return body | facts | {"language": "Python", "fork": False}

    def comment(self, comment: Comment, issue: Issue) -> dict[str, Any]:
        body = self._filled(example("comment"), comment.repository, comment.number)
        return body | {
            "id": comment.id,
            "node_id": comment.node_id,
            "url": f"{self.api_url}/repos/{comment.repository}/issues/comments/{comment.id}",
            "html_url": self.comment_url(comment, issue),
            "body": comment.body,
            "user": None if comment.author is None else self.user(comment.author, comment.author_type),
            "created_at": comment.created,
            "updated_at": comment.updated,
            "minimized": comment.minimized and {"reason": comment.minimized},
        }

    def comment_url(self, comment: Comment, issue: Issue) -> str:
        kind = "pull" if isinstance(issue, PullRequest) else "issues"
        return f"{self.server_url}/{comment.repository}/{kind}/{comment.number}#issuecomment-{comment.id}"

    def issue(self, issue: Issue, repository: Repository, comments: int) -> dict[str, Any]:
        body = self._filled(example("issue"), repository.full_name, issue.number) | {
            **_common(issue),
            "user": self.user(issue.user),
            "comments": comments,
        }
        if isinstance(issue, PullRequest):
            page = f"{self.server_url}/{repository.full_name}/pull/{issue.number}"
            body["html_url"] = page
            body["pull_request"] = {
                "url": f"{self.api_url}/repos/{repository.full_name}/pulls/{issue.number}",
                "html_url": page,
                "diff_url": f"{page}.diff",
                "patch_url": f"{page}.patch",
                "merged_at": "2026-01-06T00:00:00Z" if issue.merged else None,
            }
        else:
            del body["pull_request"]
        return body

    def pull_request(self, pull_request: PullRequest, repository: Repository) -> dict[str, Any]:
        body = self._filled(example("pull_request"), repository.full_name, pull_request.number)
        return self._pull_request(body, pull_request, repository) | {"merged": pull_request.merged}

    def listed_pull_request(self, pull_request: PullRequest, repository: Repository) -> dict[str, Any]:
        """A pull request as it stands in a list, with fewer fields."""
        [listed] = json.loads(example("pull_requests"))
        body = self._filled(json.dumps(listed), repository.full_name, pull_request.number)
        return self._pull_request(body, pull_request, repository)

    def run(self, run: WorkflowRun, repository: Repository, state: State) -> dict[str, Any]:
        text = example("workflow_run")
        example_run = json.loads(text)
        text = text.replace(example_run["repository"]["full_name"], repository.full_name)
        text = text.replace(f"/runs/{example_run['id']}", f"/runs/{run.id}")
        text = text.replace(f"/workflows/{example_run['workflow_id']}", f"/workflows/{run.workflow_id}")
        body = self._filled(text.replace(example_run["head_sha"], run.head_sha))
        own = json.dumps(body["repository"])
        head = None
        if run.head_repository is not None:
            head = json.loads(own.replace(repository.full_name, run.head_repository))
            self._name(head, run.head_repository)
            head |= {"id": state.id_of(run.head_repository), "fork": run.head_repository != repository.full_name}
        self._name(body["repository"], repository.full_name)
        body["repository"] |= {"id": repository.id, "private": repository.private}
        return body | {
            "id": run.id,
            "name": run.path.rpartition("/")[2],
            "path": run.path,
            "workflow_id": run.workflow_id,
            "event": run.event,
            "status": run.status,
            "conclusion": run.conclusion,
            "head_branch": run.head_branch,
            "head_repository": head,
            "run_attempt": run.attempt,
            "run_number": run.id,
            "created_at": run.created,
            "run_started_at": run.updated,
            "updated_at": run.updated,
            "referenced_workflows": [],
            "previous_attempt_url": f"{body['url']}/attempts/{run.attempt - 1}" if run.attempt > 1 else None,
        }

    def artifact(self, artifact: StoredArtifact, repository: Repository, state: State) -> dict[str, Any]:
        text = example("artifact").replace("octo-org/octo-docs", repository.full_name)
        body = self._filled(text.replace("/artifacts/11", f"/artifacts/{artifact.id}"))
        run = artifact.run
        head = run.head_repository
        facts = {
            "id": artifact.id,
            "name": artifact.name,
            "size_in_bytes": artifact.size,
            "expired": artifact.expired,
            "created_at": artifact.created,
            "updated_at": artifact.created,
            "expires_at": artifact.created if artifact.expired else EXPIRY,
            "digest": artifact.digest,
        }
        body["workflow_run"] |= {
            "id": run.id,
            "repository_id": repository.id,
            "head_repository_id": repository.id if head is None else state.id_of(head),
            "head_branch": run.head_branch,
            "head_sha": run.head_sha,
        }
        return body | facts

    def comparison(
        self, repository: Repository, range_of: str, base: tuple[str, str], commits: Sequence[str]
    ) -> dict[str, Any]:
        """A comparison without its numbers; `base` is the commit compared with, and the merge base."""
        text = example("commit_comparison").replace("master...topic", urllib.parse.quote(range_of, safe="/:.~"))
        body = self._filled(text, repository.full_name)
        commit = json.dumps(body["base_commit"])

        def at(sha: str) -> dict[str, Any]:
            filled: dict[str, Any] = json.loads(commit.replace(body["base_commit"]["sha"], sha))
            parents = [{"sha": each, "url": filled["url"].replace(sha, each)} for each in repository.parents[sha]]
            return filled | {"parents": parents}

        base_commit, merge_base = map(at, base)
        return body | {
            "base_commit": base_commit,
            "merge_base_commit": merge_base,
            "commits": [at(sha) for sha in commits],
        }

    def user(self, login: str, kind: str = "User") -> dict[str, Any]:
        text = json.dumps(json.loads(example("comment"))["user"])
        body = self._filled(text.replace("octocat", urllib.parse.quote(login)))
        facts = {"login": login, "id": zlib.crc32(login.encode()), "type": kind}
        if kind == "Bot":
            facts["html_url"] = f"{self.server_url}/apps/{login.removesuffix('[bot]')}"
        return body | facts

    def _filled(
        self, text: str, full_name: str = _EXAMPLE_REPOSITORY, number: int | str = _EXAMPLE_NUMBER
    ) -> dict[str, Any]:
        text = text.replace(_EXAMPLE_REPOSITORY, full_name).replace(f"/{_EXAMPLE_NUMBER}", f"/{number}")
        text = text.replace("https://api.github.com", self.api_url).replace("https://github.com", self.server_url)
        filled: dict[str, Any] = json.loads(text)
        return filled

    def _name(self, body: dict[str, Any], full_name: str) -> None:
        owner, name = full_name.split("/")
        body |= {"name": name, "full_name": full_name, "owner": self.user(owner)}

    def _pull_request(self, body: dict[str, Any], pull_request: PullRequest, base: Repository) -> dict[str, Any]:
        example_repository = json.dumps(body["head"]["repo"])

        def side(owner: str, ref: str, sha: str, full_name: str | None) -> dict[str, Any]:
            repository = None
            if full_name is not None:
                repository = json.loads(example_repository.replace(base.full_name, full_name))
                self._name(repository, full_name)
                repository["fork"] = full_name != base.full_name
            return {"label": f"{owner}:{ref}", "ref": ref, "sha": sha, "user": self.user(owner), "repo": repository}

        head = (pull_request.head_owner, pull_request.head_ref, pull_request.head_sha, pull_request.head_repository)
        closed = "2026-01-06T00:00:00Z" if pull_request.state == "closed" else None
        return (
            body
            | _common(pull_request)
            | {
                "user": self.user(pull_request.user),
                "head": side(*head),
                "base": side(base.owner, pull_request.base_ref, "b" * 40, base.full_name),
                "requested_teams": [],
                "closed_at": closed,
                "merged_at": closed if pull_request.merged else None,
            }
        )


def _common(issue: Issue) -> dict[str, Any]:
    return {
        "number": issue.number,
        "title": issue.title,
        "state": issue.state,
        "locked": issue.locked,
        "active_lock_reason": "too heated" if issue.locked else None,
    }
