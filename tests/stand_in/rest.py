"""The REST operations of the stand-in: the answer to one request, from the state."""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Callable

from tests.stand_in.answers import DOCUMENTATION, NOT_FOUND, Answer, Call, Refusal, page_of, refused
from tests.stand_in.bodies import Bodies
from tests.stand_in.comparison import Comparisons
from tests.stand_in.state import Comment, Issue, PullRequest, Repository, State, Token
from tests.stand_in.workflows import Workflows

LONGEST_BODY = 65_536
_COMMENTS = f"{DOCUMENTATION}/issues/comments"
_WRITE = "issues=write; pull_requests=write"


class Rest:
    """Answers REST requests as GitHub does."""

    def __init__(self, state: State, bodies: Bodies, storage_url: str) -> None:
        self._state = state
        self._bodies = bodies
        self._routes: list[tuple[str, re.Pattern[str], Callable[..., Answer]]] = [
            ("GET", re.compile(r""), self._repository),
            ("GET", re.compile(r"/issues/(\d+)"), self._issue),
            ("GET", re.compile(r"/issues/(\d+)/comments"), self._comments),
            ("POST", re.compile(r"/issues/(\d+)/comments"), self._create_comment),
            ("GET", re.compile(r"/issues/comments/(\d+)"), self._comment),
            ("PATCH", re.compile(r"/issues/comments/(\d+)"), self._update_comment),
            ("DELETE", re.compile(r"/issues/comments/(\d+)"), self._delete_comment),
            ("GET", re.compile(r"/pulls"), self._pull_requests),
            ("GET", re.compile(r"/pulls/(\d+)"), self._pull_request),
            ("GET", re.compile(r"/commits/(\w+)/pulls"), self._pull_requests_of_commit),
            *Comparisons(bodies).routes,
            *Workflows(state, bodies, storage_url).routes,
        ]

    def answer(self, full_name: str, call: Call) -> Answer:
        """The answer to a call below a repository."""
        try:
            repository = self._found(full_name, call)
            if isinstance(repository, Answer):
                return repository
            for method, pattern, operation in self._routes:
                match = pattern.fullmatch(call.path)
                if match and method == call.method:
                    return operation(repository, call, *map(_number, match.groups()))
            raise NOT_FOUND
        except Refusal as refusal:
            return refusal.answer

    def _found(self, full_name: str, call: Call) -> Repository | Answer:
        """The repository, if this token may see it and do this in it, or where it went."""
        for renamed in self._state.repositories.values():
            if full_name in renamed.former_names:
                return self._moved(renamed, call)
        repository = self._state.repositories.get(full_name)
        if repository is None or (repository.private and not _sees(call.token, full_name)):
            raise NOT_FOUND
        if call.method == "GET":
            is_of_issues = call.path.startswith(("/issues", "/pulls", "/commits"))
            if repository.private and call.token and call.token.access == "none" and is_of_issues:
                raise refused(call.token, _WRITE)
            return repository
        if call.token is None:
            raise Refusal(401, "Requires authentication", _COMMENTS)
        if call.token.access != "write":
            raise refused(call.token, _WRITE)
        if repository.archived:
            raise Refusal(403, "Repository was archived so is read-only.", _COMMENTS)
        return repository

    def _moved(self, repository: Repository, call: Call) -> Answer:
        location = f"{self._bodies.api_url}/repositories/{repository.id}{call.path}"
        location += "?" + urllib.parse.urlencode(call.query, doseq=True) if call.query else ""
        status, message = (301, "Moved Permanently") if call.method == "GET" else (307, "Temporary Redirect")
        documentation = "https://docs.github.com/rest/guides/best-practices-for-using-the-rest-api#follow-redirects"
        body = {"message": message, "url": location, "documentation_url": documentation}
        return Answer(status, body, {"location": location})

    def _repository(self, repository: Repository, _: Call) -> Answer:
        return Answer(200, self._bodies.repository(repository))

    def _issue(self, repository: Repository, _: Call, number: int) -> Answer:
        issue = _issue_of(repository, number)
        comments = len(self._state.comments_of(number, repository.full_name))
        return Answer(200, self._bodies.issue(issue, repository, comments))

    def _comments(self, repository: Repository, call: Call, number: int) -> Answer:
        issue = _issue_of(repository, number)
        since = call.parameter("since")
        found = [item for item in self._state.comments_of(number, repository.full_name) if item.updated >= since]
        page, links = page_of(self._bodies.api_url, repository, call, found)
        return Answer(200, [self._bodies.comment(comment, issue) for comment in page], links)

    def _create_comment(self, repository: Repository, call: Call, number: int) -> Answer:
        issue = _issue_of(repository, number)
        if issue.locked:
            documentation = "https://docs.github.com/articles/locking-conversations/"
            raise Refusal(403, "Unable to create comment because issue is locked.", documentation)
        assert call.token is not None
        comment = self._state.add_comment(
            _valid_body(call),
            number,
            repository=repository.full_name,
            author=call.token.login,
            author_type=call.token.type,
        )
        body = self._bodies.comment(comment, issue)
        return Answer(201, body, {"location": body["url"]})

    def _comment(self, repository: Repository, _: Call, identifier: int) -> Answer:
        return self._shown(repository, self._comment_of(repository, identifier))

    def _update_comment(self, repository: Repository, call: Call, identifier: int) -> Answer:
        comment = self._comment_of(repository, identifier)
        return self._shown(repository, self._state.edit_comment(comment.id, _valid_body(call)))

    def _delete_comment(self, repository: Repository, _: Call, identifier: int) -> Answer:
        del self._state.comments[self._comment_of(repository, identifier).id]
        return Answer(204)

    def _comment_of(self, repository: Repository, identifier: int) -> Comment:
        comment = self._state.comments.get(identifier)
        if comment is None or comment.repository != repository.full_name:
            raise NOT_FOUND
        return comment

    def _shown(self, repository: Repository, comment: Comment) -> Answer:
        return Answer(200, self._bodies.comment(comment, repository.issues[comment.number]))

    def _pull_requests(self, repository: Repository, call: Call) -> Answer:
        found = repository.pull_requests
        state = call.parameter("state", "open")
        if state != "all":
            found = [item for item in found if item.state == state]
        owner, colon, ref = call.parameter("head").partition(":")
        if colon:  # without an owner GitHub ignores the parameter
            found = [item for item in found if (item.head_owner, item.head_ref) == (owner, ref)]
        if call.parameter("base"):
            found = [item for item in found if item.base_ref == call.parameter("base")]
        if call.parameter("direction") == "asc":
            found.reverse()
        return self._listed(repository, call, found)

    def _pull_requests_of_commit(self, repository: Repository, call: Call, sha: str | int) -> Answer:
        if not repository.knows(str(sha)):
            raise Refusal(422, f"No commit found for SHA: {sha}")
        found = [item for item in repository.pull_requests if sha in (item.head_sha, *item.commits)]
        return self._listed(repository, call, found)

    def _listed(self, repository: Repository, call: Call, found: list[PullRequest]) -> Answer:
        page, links = page_of(self._bodies.api_url, repository, call, found)
        return Answer(200, [self._bodies.listed_pull_request(item, repository) for item in page], links)

    def _pull_request(self, repository: Repository, _: Call, number: int) -> Answer:
        issue = _issue_of(repository, number)
        if not isinstance(issue, PullRequest):
            raise NOT_FOUND
        return Answer(200, self._bodies.pull_request(issue, repository))


def _number(text: str) -> int | str:
    return int(text) if text.isdecimal() and len(text) < 40 else text


def _issue_of(repository: Repository, number: int) -> Issue:
    if number not in repository.issues:
        raise NOT_FOUND
    return repository.issues[number]


def _sees(token: Token | None, full_name: str) -> bool:
    return token is not None and (token.repositories is None or full_name in token.repositories)


def _valid_body(call: Call) -> str:
    body = call.json.get("body") if isinstance(call.json, dict) else None
    if not isinstance(body, str) or not body.strip():
        raise _invalid("Body cannot be blank")
    if len(body) > LONGEST_BODY:
        raise _invalid(f"Body is too long (maximum is {LONGEST_BODY} characters)")
    return body


def _invalid(message: str) -> Refusal:
    error = {"resource": "IssueComment", "code": "unprocessable", "field": "data", "message": message}
    return Refusal(422, "Validation Failed", _COMMENTS, errors=[error])
