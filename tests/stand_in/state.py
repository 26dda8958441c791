"""What the stand-in knows: repositories with their pull requests, comments, commits and runs, and who holds a token."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from tests.stand_in.runs import STARTED, WORKFLOW, StoredArtifact, WorkflowRun, digest_of

REPOSITORY = "octo-org/octo-repo"
INSTALLATION = "ghs_installation"
FINE_GRAINED = "github_pat_fine_grained"
PERSONAL = "ghp_personal"
BOT = "github-actions[bot]"


@dataclass
class Token:
    """Who a token acts for and what it may do: `access` to issues and pull requests is write, read or none.

    `actions` and `contents` are read or none.
    """

    login: str = BOT
    type: str = "Bot"
    access: str = "write"
    actions: str = "read"
    contents: str = "read"
    refused_to: str = "integration"
    repositories: frozenset[str] | None = None  # the private ones it sees; None: all


@dataclass
class Comment:
    """A comment; an author of None is a deleted account."""

    id: int
    repository: str
    number: int
    body: str
    author: str | None
    author_type: str
    created: str
    updated: str
    minimized: str | None = None

    @property
    def node_id(self) -> str:
        return f"IC_{self.id}"


@dataclass
class Issue:
    number: int
    title: str = "Lower the timeout"
    state: str = "open"
    locked: bool = False
    user: str = "octocat"


@dataclass
class PullRequest(Issue):
    """A pull request; a head repository of None is a deleted fork, whose owner is still known."""

    head_sha: str = ""
    head_ref: str = "feature"
    head_owner: str = ""
    head_repository: str | None = None
    base_ref: str = "main"
    merged: bool = False
    commits: frozenset[str] = frozenset()


@dataclass
class Repository:
    id: int
    full_name: str
    private: bool = False
    archived: bool = False
    former_names: list[str] = field(default_factory=list)
    issues: dict[int, Issue] = field(default_factory=dict)
    commits: set[str] = field(default_factory=set)
    default_branch: str = "main"
    branches: dict[str, str] = field(default_factory=dict)
    """The newest commit of each branch."""
    parents: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Of each commit that can be compared."""
    runs: dict[int, WorkflowRun] = field(default_factory=dict)
    artifacts: dict[int, StoredArtifact] = field(default_factory=dict)
    workflow_ids: dict[str, int] = field(default_factory=dict)

    @property
    def owner(self) -> str:
        return self.full_name.split("/")[0]

    @property
    def pull_requests(self) -> list[PullRequest]:
        """The newest first, as GitHub lists them."""
        found = [issue for issue in self.issues.values() if isinstance(issue, PullRequest)]
        return sorted(found, key=lambda pull_request: pull_request.number, reverse=True)

    def knows(self, sha: str) -> bool:
        """Whether the commit was pushed here."""
        return sha in self.commits or any(sha in (item.head_sha, *item.commits) for item in self.pull_requests)


def counting_clock() -> Callable[[], str]:
    """A clock that is a second later each time it is read."""
    start = datetime(2026, 1, 5, tzinfo=UTC)
    seconds = itertools.count()
    return lambda: (start + timedelta(seconds=next(seconds))).strftime("%Y-%m-%dT%H:%M:%SZ")


class State:
    """Everything the stand-in answers from; a test may change any of it at any time."""

    def __init__(self, clock: Callable[[], str] | None = None, first_comment_id: int = 3_000_000_001) -> None:
        self.clock = clock or counting_clock()
        self.repositories: dict[str, Repository] = {}
        self.comments: dict[int, Comment] = {}
        self.tokens = {
            INSTALLATION: Token(),
            FINE_GRAINED: Token("octocat", "User", refused_to="personal access token"),
            PERSONAL: Token("hubot", "User", refused_to="personal access token"),
        }
        self._comment_ids = itertools.count(first_comment_id)
        self._run_ids = itertools.count(1)
        self._artifact_ids = itertools.count(5_001)
        self.signatures: dict[str, StoredArtifact] = {}
        """What the addresses lead to that were given out for downloads."""
        self.add_repository(REPOSITORY)

    def add_repository(
        self, full_name: str, *, private: bool = False, archived: bool = False, former_names: Iterable[str] = ()
    ) -> Repository:
        repository = Repository(1296269 + len(self.repositories), full_name, private, archived, list(former_names))
        self.repositories[full_name] = repository
        return repository

    def rename_repository(self, old: str, new: str) -> None:
        """Give a repository another name; the old one redirects."""
        repository = self.repositories.pop(old)
        repository.former_names.append(old)
        repository.full_name = new
        self.repositories[new] = repository
        for comment in self.comments.values():
            comment.repository = new if comment.repository == old else comment.repository

    def add_pull_request(
        self,
        number: int = 1,
        *,
        repository: str = REPOSITORY,
        head_sha: str | None = None,
        head_ref: str = "feature",
        head_repository: str | None = "",
        head_owner: str | None = None,
        base_ref: str = "main",
        state: str = "open",
        merged: bool = False,
        locked: bool = False,
        user: str = "octocat",
        commits: Iterable[str] = (),
    ) -> PullRequest:
        """Open a pull request, from the repository itself unless another head repository, or None, is given."""
        from_repository = repository if head_repository == "" else head_repository
        pull_request = PullRequest(
            number=number,
            state=state,
            locked=locked,
            user=user,
            head_sha=head_sha or f"{number:040x}",
            head_ref=head_ref,
            head_owner=head_owner or (from_repository or user).split("/", maxsplit=1)[0],
            head_repository=from_repository,
            base_ref=base_ref,
            merged=merged,
            commits=frozenset(commits),
        )
        self.repositories[repository].issues[number] = pull_request
        return pull_request

    def add_issue(self, number: int = 2, *, repository: str = REPOSITORY, locked: bool = False) -> Issue:
        issue = Issue(number, locked=locked)
        self.repositories[repository].issues[number] = issue
        return issue

    def add_comment(
        self,
        body: str,
        number: int = 1,
        *,
        repository: str = REPOSITORY,
        author: str | None = BOT,
        author_type: str | None = None,
        minimized: str | None = None,
    ) -> Comment:
        """Write a comment below a pull request or an issue."""
        now = self.clock()
        kind = author_type or ("Bot" if author and author.endswith("[bot]") else "User")
        comment = Comment(next(self._comment_ids), repository, number, body, author, kind, now, now, minimized)
        self.comments[comment.id] = comment
        return comment

    def edit_comment(self, identifier: int, body: str) -> Comment:
        comment = self.comments[identifier]
        comment.body = body
        comment.updated = self.clock()
        return comment

    def add_commits(self, branch: str, *shas: str, onto: str | None = None, repository: str = REPOSITORY) -> None:
        """Put commits on a branch, one after the other; the first one on `onto`, else on what the branch has."""
        known = self.repositories[repository]
        parent = onto or known.branches.get(branch)
        for sha in shas:
            known.parents[sha] = (parent,) if parent else ()
            parent = sha
        assert parent is not None
        known.branches[branch] = parent

    def add_run(
        self,
        run_id: int | None = None,
        *,
        repository: str = REPOSITORY,
        workflow: str = WORKFLOW,
        event: str = "push",
        status: str = "completed",
        conclusion: str | None = "success",
        branch: str | None = "main",
        sha: str = "b" * 40,
        head_repository: str | None = "",
        attempt: int = 1,
        created: str = STARTED,
        updated: str | None = None,
    ) -> WorkflowRun:
        """Let a workflow have run, on the repository's own commit unless another head repository, or None, is given."""
        known = self.repositories[repository]
        number = next(each for each in self._run_ids if each not in known.runs) if run_id is None else run_id
        run = WorkflowRun(
            id=number,
            path=workflow,
            workflow_id=known.workflow_ids.setdefault(workflow.partition("@")[0], 160_001 + len(known.workflow_ids)),
            event=event,
            status=status,
            conclusion=conclusion,
            head_branch=branch,
            head_sha=sha,
            head_repository=repository if head_repository == "" else head_repository,
            attempt=attempt,
            created=created,
            updated=updated or created,
        )
        known.runs[number] = run
        return run

    def add_artifact(
        self,
        run: WorkflowRun,
        name: str,
        content: bytes = b"",
        *,
        expired: bool = False,
        created: str | None = None,
        digest: str | None = "",
        size: int | None = None,
        mime_type: str = "application/zip",
    ) -> StoredArtifact:
        """Give a run an artifact; its digest is that of the content, unless another one, or None, is given."""
        [repository] = [each for each in self.repositories.values() if run in each.runs.values()]
        artifact = StoredArtifact(
            id=next(self._artifact_ids),
            name=name,
            run=run,
            content=content,
            created=created or run.created,
            expired=expired,
            digest=digest_of(content) if digest == "" else digest,
            size=len(content) if size is None else size,
            mime_type=mime_type,
        )
        repository.artifacts[artifact.id] = artifact
        return artifact

    def id_of(self, full_name: str) -> int:
        """The number of a repository, which may be a fork that nothing else is known of."""
        known = self.repositories.get(full_name)
        return zlib.crc32(full_name.encode()) if known is None else known.id

    def comments_of(self, number: int = 1, repository: str = REPOSITORY) -> list[Comment]:
        """The comments below one pull request or issue, the oldest first."""
        return [item for item in self.comments.values() if (item.repository, item.number) == (repository, number)]

    def bodies(self, number: int = 1, repository: str = REPOSITORY) -> list[str]:
        """What those comments say."""
        return [comment.body for comment in self.comments_of(number, repository)]
