"""The REST operation that compares two commits, and the graph of commits that it answers from."""

from __future__ import annotations

import re
from typing import Any

from tests.stand_in.answers import NOT_FOUND, Answer, Call, Refusal, page_of, positive, refused
from tests.stand_in.bodies import Bodies
from tests.stand_in.state import Repository

_MOST_COMMITS = 250
"""What an answer without pages holds."""


class Comparisons:
    """Answers comparisons: from the merge base, what is ahead and what is behind."""

    def __init__(self, bodies: Bodies) -> None:
        self._bodies = bodies
        self.routes = [("GET", re.compile(r"/compare/(.+?)\.\.\.(.+)"), self._compare)]

    def _compare(self, repository: Repository, call: Call, base: Any, head: Any) -> Answer:
        if call.token is not None and call.token.contents == "none":
            raise refused(call.token, "contents=read")
        base_sha, head_sha = (_resolved(repository, str(each)) for each in (base, head))
        of_base, of_head = (_ancestors(repository, each) for each in (base_sha, head_sha))
        common = [sha for sha in of_head if sha in of_base]
        if not common:
            raise Refusal(404, f"No common ancestor between {base} and {head}.")
        older = {sha for each in common for sha in _ancestors(repository, each)[1:]}
        merge_base = next(sha for sha in common if sha not in older)
        ahead = [sha for sha in reversed(of_head) if sha not in of_base]
        behind = [sha for sha in of_base if sha not in of_head]
        is_paged = "page" in call.query or "per_page" in call.query
        page, links = page_of(self._bodies.api_url, repository, call, ahead) if is_paged else (ahead, {})
        # Without pages the last ones are left out; of the files, all are told on the first page only.
        shown = page if is_paged else ahead[:_MOST_COMMITS]
        is_first = (positive(call.parameter("page")) or 1) == 1
        body = self._bodies.comparison(repository, f"{base}...{head}", (base_sha, merge_base), shown)
        if not is_first:
            body["files"] = []
        facts = {
            "status": _status(len(ahead), len(behind)),
            "ahead_by": len(ahead),
            "behind_by": len(behind),
            "total_commits": len(ahead),
        }
        return Answer(200, body | facts, links)


def _status(ahead: int, behind: int) -> str:
    if ahead and behind:
        return "diverged"
    return "ahead" if ahead else "behind" if behind else "identical"


def _resolved(repository: Repository, name: str) -> str:
    """The commit that a branch, a commit's SHA, or either behind `owner:` is."""
    plain = name.rpartition(":")[2]
    sha = repository.branches.get(plain, plain)
    if sha not in repository.parents:
        raise NOT_FOUND
    return sha


def _ancestors(repository: Repository, sha: str) -> list[str]:
    """The commit and all before it, the newest first."""
    found: dict[str, None] = {}
    waiting = [sha]
    while waiting:
        each = waiting.pop(0)
        if each not in found:
            found[each] = None
            waiting.extend(repository.parents[each])
    return list(found)
