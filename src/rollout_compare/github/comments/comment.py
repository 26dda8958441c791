"""One comment per pull request and id: found again, brought up to date, never doubled, never taken for another's.

The protocol is in docs/comment.md. In short: the comment begins with a hidden line that holds the id, and is ours by
its author; a second hidden line says which run wrote it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from rollout_compare.github.api.client import Client
from rollout_compare.github.api.faults import ApiError
from rollout_compare.github.api.payload import text_at, value_at
from rollout_compare.github.event import Run

_QUERY = """
query($owner: String!, $name: String!, $number: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      headRefOid
      comments(first: 100, after: $after) {
        nodes { fullDatabaseId body url viewerDidAuthor author { __typename login } }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
}
"""
_RUN_LINE = re.compile(r"<!-- rollout-compare-run (\{.*\}) -->")
_ACTIONS_BOT = "github-actions[bot]"
_MOST_PAGES = 300
_TRIES = 3
_FURTHEST_AHEAD = 20_000_000_000
"""How far ahead the id of a newer run may be. GitHub counts the runs of all repositories together, about 8 thousand
million in 2025. A stamp further ahead is not of a run, and must not keep the comment for ever."""
_TOO_LONG = re.compile(r"body is too long", re.IGNORECASE)


class Stamp(NamedTuple):
    """Which run wrote a report, of which commit and of which inputs."""

    run: Run
    head: str
    inputs: str

    def text(self) -> str:
        """The hidden second line, without its comment signs."""
        said = {
            "run_id": str(self.run.run_id),
            "attempt": self.run.attempt,
            "head": self.head,
            "inputs": self.inputs,
        }
        return f"rollout-compare-run {json.dumps(said, separators=(',', ':'))}"

    def outdoes(self, other: Stamp, head: str) -> bool:
        """Whether a report with this stamp must not be replaced by the other: it is newer, or of the current head."""
        if head and self.head and other.head and (self.head == head) != (other.head == head):
            return self.head == head
        # Outside of a run there is no order.
        is_known = other.run.run_id > 0 and self.run.run_id - other.run.run_id <= _FURTHEST_AHEAD
        return is_known and self.run > other.run

    def is_other_of_same_run(self, other: Stamp) -> bool:
        """Whether both are of one run, but of other inputs."""
        return bool(self.run.run_id) and self.run == other.run and self.inputs != other.inputs

    @classmethod
    def from_body(cls, body: str) -> Stamp | None:
        """The stamp of a comment's body; None when it has none."""
        lines = body.split("\n", 2)
        match = _RUN_LINE.fullmatch(lines[1].rstrip()) if len(lines) > 1 else None
        if match is None:
            return None
        try:
            said = json.loads(match[1])
            return cls(Run(int(said["run_id"]), int(said["attempt"])), str(said["head"]), str(said["inputs"]))
        except (ValueError, KeyError, TypeError, RecursionError):
            return None


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment of a pull request, as far as it matters here."""

    number: int
    body: str
    url: str
    is_ours: bool
    by_bot: bool

    @property
    def posted(self) -> Posted:
        """The comment as one that stands."""
        return Posted(self.number, self.url)


class Thread(NamedTuple):
    """The comments of a pull request that carry our marker, oldest first, and its head commit now."""

    ours: list[Comment]
    others: list[Comment]
    """Written by another bot."""
    head: str


class Posted(NamedTuple):
    """The comment that stands; number 0 when there is none."""

    number: int
    url: str


_NOT_POSTED = Posted(0, "")


class _Report(NamedTuple):
    """What is to stand in the comment."""

    bodies: Callable[[int], str]
    """The body within a number of code points."""
    stamp: Stamp
    sizes: Sequence[int]
    """Numbers of code points that are tried, one after the other."""


class Writer:
    """Writes the comment of one id. Messages go to `warn`, or to `tell` when nothing has to be done about them."""

    def __init__(
        self,
        client: Client,
        repository: str,
        marker: str,
        *,
        warn: Callable[[str], None],
        tell: Callable[[str], None],
    ) -> None:
        self._client = client
        self._repository = repository
        self._marker = marker
        self._warn = warn
        self._tell = tell
        self._login = _ACTIONS_BOT
        self._shared: set[int] = set()
        """Pull requests whose comment is shared by several comparisons of this run: told once."""

    def write(
        self, number: int, bodies: Callable[[int], str], stamp: Stamp, *, create: bool = True, sizes: Sequence[int]
    ) -> Posted:
        """Bring the comment of a pull request up to date. Raises ApiError when that cannot be done.

        `bodies` gives the body within a number of code points; `sizes` are tried one after the other when GitHub
        finds a body too long. `create`: whether there should be a comment if there is none yet.
        """
        report = _Report(bodies, stamp, sizes)
        thread = self._thread(number)
        for other in thread.others:
            self._warn(f"a comment by a different bot carries the same marker and is left alone: {other.url}")
        if thread.ours:
            return self._settle(thread, number, report, may_create=create)
        return self._create(number, report) if create else _NOT_POSTED

    def _create(self, number: int, report: _Report) -> Posted:
        """Post a comment, and see what others posted meanwhile. It is done once at most: a list may lag behind."""
        path = f"/repos/{self._repository}/issues/{number}/comments"
        created = self._sized(report, lambda body: self._post(path, number, body, report.stamp))
        try:
            thread = self._thread(number)
        except ApiError as fault:
            self._warn(f"whether another run commented at the same time is not known ({fault})")
            return created.posted
        if created.number and all(comment.number != created.number for comment in thread.ours):
            thread = thread._replace(ours=sorted([*thread.ours, created], key=lambda comment: comment.number))
        if not thread.ours or [comment.number for comment in thread.ours] == [created.number]:
            return created.posted
        return self._settle(thread, number, report, may_create=False)

    def _settle(self, thread: Thread, number: int, report: _Report, *, may_create: bool) -> Posted:
        """Leave one comment, the oldest, with the report that is to stand: ours, or one that ours must not replace."""
        self._tell_of_other_jobs(thread, number, report.stamp)
        while thread.ours:
            oldest, *rest = thread.ours
            try:
                self._change(oldest, thread, report)
            except ApiError as fault:
                if fault.status != 404:
                    raise
                # Somebody deleted it meanwhile, or before, and the list lags behind.
                thread = thread._replace(ours=rest)
            else:
                self._delete(rest)
                return oldest.posted
        return self._create(number, report) if may_create else _NOT_POSTED

    def _change(self, comment: Comment, thread: Thread, report: _Report) -> None:
        """Let a comment hold the report that is to stand, if it does not yet."""

        def write(body: str) -> Comment:
            if _normal(body) != _normal(comment.body):
                path = f"/repos/{self._repository}/issues/comments/{comment.number}"
                self._client.patch(path, {"body": body})
            return comment

        better = self._better(thread, report.stamp)
        if better is None:
            self._sized(report, write)
        else:
            write(better.body)

    def _tell_of_other_jobs(self, thread: Thread, number: int, stamp: Stamp) -> None:
        """Warn, once for a pull request, that a report of this run is about to be replaced by one of the same run."""
        stamps = (Stamp.from_body(comment.body) for comment in thread.ours)
        if number not in self._shared and any(
            standing is not None and stamp.is_other_of_same_run(standing) for standing in stamps
        ):
            self._shared.add(number)
            self._warn(
                "two comparisons of this run share one comment, and the last one stays: give each its own `comment-id`"
            )

    def _better(self, thread: Thread, stamp: Stamp) -> Comment | None:
        """The comment with the report that ours must not replace; the best one of several."""
        best: tuple[Comment, Stamp] | None = None
        for comment in thread.ours:
            standing = Stamp.from_body(comment.body)
            rival = stamp if best is None else best[1]
            if standing is not None and standing.outdoes(rival, thread.head):
                best = comment, standing
        if best is None:
            return None
        if best[1].run > stamp.run:
            self._tell("a newer run has already commented: its report stays")
        else:
            self._tell("the comment is about the pull request's current commit, and this run is not: the comment stays")
        return best[0]

    def _post(self, path: str, number: int, body: str, stamp: Stamp) -> Comment:
        """Post a comment; after a failure that may have posted it, look before trying again."""
        attempts = self._client.patience.attempts(_TRIES)
        while True:
            try:
                made = self._client.post_once(path, {"body": body})
            except ApiError as fault:
                attempts.wait_after(fault)
                for comment in self._thread(number).ours:
                    if Stamp.from_body(comment.body) == stamp:
                        return comment
            else:
                # Where GraphQL is missing, only this tells who we are.
                self._login = text_at(made, "user", "login") or self._login
                by_bot = value_at(made, "user", "type") == "Bot"
                return Comment(_identity(value_at(made, "id")), body, text_at(made, "html_url"), True, by_bot)  # noqa: FBT003

    def _sized(self, report: _Report, write: Callable[[str], Comment]) -> Comment:
        for size in report.sizes:
            try:
                return write(report.bodies(size))
            except ApiError as fault:
                if fault.status != 422 or not _TOO_LONG.search(fault.message) or size == report.sizes[-1]:
                    raise
        raise AssertionError

    def _delete(self, comments: Iterable[Comment]) -> None:
        for comment in comments:
            try:
                self._client.delete(f"/repos/{self._repository}/issues/comments/{comment.number}")
            except ApiError as fault:
                self._warn(f"a second comment of an earlier race could not be deleted ({fault}): {comment.url}")

    def _thread(self, number: int) -> Thread:
        try:
            comments, head = self._by_graphql(number)
        except ApiError as fault:
            if fault.status in (0, 401) or fault.is_rate_limit:
                raise
            comments, head = self._by_rest(number)
        marked = [comment for comment in comments if _first_line(comment.body) == self._marker]
        marked.sort(key=lambda comment: comment.number)
        return Thread(
            [comment for comment in marked if comment.is_ours],
            [comment for comment in marked if not comment.is_ours and comment.by_bot],
            head,
        )

    def _by_graphql(self, number: int) -> tuple[list[Comment], str]:
        owner, _, name = self._repository.partition("/")
        comments: list[Comment] = []
        head, after = "", None
        for _ in range(_MOST_PAGES):
            asked = {"owner": owner, "name": name, "number": number, "after": after}
            pull_request = value_at(self._client.graphql(_QUERY, asked), "repository", "pullRequest")
            nodes, page = (value_at(pull_request, "comments", name) for name in ("nodes", "pageInfo"))
            if not isinstance(nodes, list) or not isinstance(page, Mapping):
                raise ApiError("GitHub did not return the pull request", status=200)
            head = text_at(pull_request, "headRefOid")
            comments += [_of_node(node) for node in nodes if isinstance(node, Mapping)]
            if not page.get("hasNextPage"):
                break
            after = page.get("endCursor")
        return comments, head

    def _by_rest(self, number: int) -> tuple[list[Comment], str]:
        """The same where GraphQL is missing: ours are those of the bot that workflows comment as, or of who we are."""
        path = f"/repos/{self._repository}/issues/{number}/comments"
        comments = [_of_entry(entry, self._login) for entry in self._client.pages(path) if isinstance(entry, Mapping)]
        return comments, text_at(self._client.get(f"/repos/{self._repository}/pulls/{number}"), "head", "sha")


def _of_node(node: Mapping[str, Any]) -> Comment:
    return Comment(
        _identity(node.get("fullDatabaseId")),
        text_at(node, "body"),
        text_at(node, "url"),
        node.get("viewerDidAuthor") is True,
        value_at(node, "author", "__typename") == "Bot",
    )


def _of_entry(entry: Mapping[str, Any], login: str) -> Comment:
    by_bot = value_at(entry, "user", "type") == "Bot"
    return Comment(
        _identity(entry.get("id")),
        text_at(entry, "body"),
        text_at(entry, "html_url"),
        text_at(entry, "user", "login") == login and (by_bot or login != _ACTIONS_BOT),
        by_bot,
    )


def _identity(value: Any) -> int:
    try:
        return int(value)
    except (TypeError, ValueError):
        return 0


def _first_line(body: str) -> str:
    return body.split("\n", 1)[0].rstrip()


def _normal(body: str) -> str:
    """A body as it is compared: an edit in the browser saves other line ends."""
    return "\n".join(line.rstrip() for line in body.replace("\r\n", "\n").split("\n")).rstrip()
