"""The GraphQL side of the stand-in: documents are executed against the published schema, over the same state."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from typing import Any

from graphql import GraphQLError, GraphQLSchema, OperationDefinitionNode, execute_sync, parse, validate

from tests.stand_in.bodies import Bodies
from tests.stand_in.state import Comment, Issue, PullRequest, Repository, State, Token

_LARGEST_INTEGER = 2**31 - 1
_MOST = 100


class Graph:
    """Executes GraphQL documents; what does not fit the schema is told to `complain` too."""

    def __init__(self, state: State, bodies: Bodies, schema: GraphQLSchema, complain: Callable[[str], None]) -> None:
        self._state = state
        self._bodies = bodies
        self._schema = schema
        self._complain = complain

    def answer(self, request: Any, token: Token) -> dict[str, Any]:
        """The body of the answer to a document with its variables."""
        try:
            document = parse(request["query"])
        except GraphQLError as error:
            return self._refused([error])
        faults = validate(self._schema, document)
        if faults:
            return self._refused(faults)
        operations = [item for item in document.definitions if isinstance(item, OperationDefinitionNode)]
        mutates = operations[0].operation.value == "mutation"
        root = self._mutations(token) if mutates else {"repository": self._repository(token)}
        result = execute_sync(
            self._schema,
            document,
            root,
            variable_values=request.get("variables"),
            operation_name=request.get("operationName"),
        )
        errors = result.errors or []
        if any(error.path is None for error in errors):  # a variable that does not fit
            return self._refused(errors)
        return {"data": result.data} | ({"errors": list(map(_shown, errors))} if errors else {})

    def _refused(self, errors: Sequence[GraphQLError]) -> dict[str, Any]:
        for error in errors:
            self._complain(f"GraphQL: {error.message}")
        return {"errors": [_shown(error) for error in errors]}

    def _repository(self, token: Token) -> Callable[..., dict[str, Any]]:
        def resolve(_: Any, *, owner: str, name: str, followRenames: bool = True) -> dict[str, Any]:  # noqa: N803
            for repository in self._state.repositories.values():
                names = [repository.full_name, *(repository.former_names if followRenames else ())]
                hidden = repository.private and repository.full_name not in (token.repositories or names)
                if f"{owner}/{name}" in names and not hidden:
                    return self._shown_repository(repository, token)
            raise _Error(f"Could not resolve to a Repository with the name '{owner}/{name}'.", "NOT_FOUND")

        return resolve

    def _shown_repository(self, repository: Repository, token: Token) -> dict[str, Any]:
        def find(kind: type[Issue] | tuple[type[Issue], ...], word: str) -> Callable[..., dict[str, Any]]:
            def resolve(_: Any, *, number: int) -> dict[str, Any]:
                issue = repository.issues.get(number)
                if type(issue) not in (kind if isinstance(kind, tuple) else (kind,)):
                    raise _Error(f"Could not resolve to {word} with the number of {number}.", "NOT_FOUND")
                if repository.private and token.access == "none":
                    raise _refusal(token)
                assert issue is not None
                return self._shown_issue(issue, repository, token)

            return resolve

        return {
            "id": f"R_{repository.id}",
            "nameWithOwner": repository.full_name,
            "isArchived": repository.archived,
            "isPrivate": repository.private,
            "url": f"{self._bodies.server_url}/{repository.full_name}",
            "issue": find(Issue, "an Issue"),
            "pullRequest": find(PullRequest, "a PullRequest"),
            "issueOrPullRequest": find((Issue, PullRequest), "an issue or pull request"),
        }

    def _shown_issue(self, issue: Issue, repository: Repository, token: Token) -> dict[str, Any]:
        kind, page = ("PullRequest", "pull") if isinstance(issue, PullRequest) else ("Issue", "issues")
        merged = isinstance(issue, PullRequest) and issue.merged
        shown = {
            "__typename": kind,
            "id": f"{kind}_{issue.number}",
            "fullDatabaseId": str(issue.number),
            "number": issue.number,
            "title": issue.title,
            "state": "MERGED" if merged else issue.state.upper(),
            "locked": issue.locked,
            "url": f"{self._bodies.server_url}/{repository.full_name}/{page}/{issue.number}",
            "author": self._author(issue.user, "User"),
            "comments": self._comments(issue, repository, token),
        }
        if isinstance(issue, PullRequest):
            shown["headRefName"] = issue.head_ref
            shown["headRefOid"] = issue.head_sha
            shown["isCrossRepository"] = issue.head_repository != repository.full_name
        return shown

    def _comments(self, issue: Issue, repository: Repository, token: Token) -> Callable[..., dict[str, Any]]:
        def resolve(
            _: Any,
            *,
            first: int | None = None,
            last: int | None = None,
            after: str | None = None,
            before: str | None = None,
        ) -> dict[str, Any]:
            every = self._state.comments_of(issue.number, repository.full_name)
            window = [item for item in every if _between(item, after, before)]
            shown = _cut(window, first, last)
            return {
                "totalCount": len(every),
                "nodes": [self._shown_comment(comment, issue, token) for comment in shown],
                "pageInfo": {
                    "startCursor": _cursor(shown[0]) if shown else None,
                    "endCursor": _cursor(shown[-1]) if shown else None,
                    "hasPreviousPage": bool(shown) and shown[0] is not every[0],
                    "hasNextPage": bool(shown) and shown[-1] is not every[-1],
                },
            }

        return resolve

    def _shown_comment(self, comment: Comment, issue: Issue, token: Token) -> dict[str, Any]:
        return {
            "__typename": "IssueComment",
            "id": comment.node_id,
            # A number this field cannot hold; the full one is a string.
            "databaseId": comment.id if comment.id <= _LARGEST_INTEGER else None,
            "fullDatabaseId": str(comment.id),
            "body": comment.body,
            "url": self._bodies.comment_url(comment, issue),
            "createdAt": comment.created,
            "updatedAt": comment.updated,
            "isMinimized": comment.minimized is not None,
            "minimizedReason": comment.minimized,
            "viewerCanMinimize": token.access == "write",
            "viewerDidAuthor": comment.author == token.login,
            "author": self._author(comment.author, comment.author_type),
        }

    def _author(self, login: str | None, kind: str) -> dict[str, Any] | None:
        if login is None:
            return None
        login = login.removesuffix("[bot]")
        path = f"/apps/{login}" if kind == "Bot" else f"/{login}"
        url = f"{self._bodies.server_url}{path}"
        return {"__typename": kind, "id": f"U_{login}", "login": login, "resourcePath": path, "url": url}

    def _mutations(self, token: Token) -> dict[str, Callable[..., dict[str, Any]]]:
        def allowed(node_id: str) -> Comment:
            for comment in self._state.comments.values():
                if comment.node_id == node_id:
                    if token.access != "write":
                        raise _refusal(token)
                    if self._state.repositories[comment.repository].archived:
                        raise _Error("Repository was archived so is read-only.", "FORBIDDEN")
                    return comment
            raise _Error(f"Could not resolve to a node with the global id of '{node_id}'.", "NOT_FOUND")

        def minimize(_: Any, *, input: dict[str, Any]) -> dict[str, Any]:  # noqa: A002 - the schema's word
            comment = allowed(input["subjectId"])
            comment.minimized = input["classifier"].lower().replace("_", "-")
            issue = self._state.repositories[comment.repository].issues[comment.number]
            shown = self._shown_comment(comment, issue, token)
            return {"clientMutationId": input.get("clientMutationId"), "minimizedComment": shown}

        def delete(_: Any, *, input: dict[str, Any]) -> dict[str, Any]:  # noqa: A002 - the schema's word
            del self._state.comments[allowed(input["id"]).id]
            return {"clientMutationId": input.get("clientMutationId")}

        return {"minimizeComment": minimize, "deleteIssueComment": delete}


class _Error(GraphQLError):
    """An error with GitHub's word for its kind."""

    def __init__(self, message: str, kind: str) -> None:
        super().__init__(message)
        self.kind = kind


def _refusal(token: Token) -> _Error:
    return _Error(f"Resource not accessible by {token.refused_to}", "FORBIDDEN")


def _shown(error: GraphQLError) -> dict[str, Any]:
    kind = getattr(error.original_error or error, "kind", None)
    return ({"type": kind} if kind else {}) | dict(error.formatted)


def _cursor(comment: Comment) -> str:
    return base64.b64encode(f"cursor:v2:{comment.id}".encode()).decode()


def _between(comment: Comment, after: str | None, before: str | None) -> bool:
    return (after is None or comment.id > _position(after)) and (before is None or comment.id < _position(before))


def _position(cursor: str) -> int:
    return int(base64.b64decode(cursor).rsplit(b":", 1)[1])


def _cut(comments: list[Comment], first: int | None, last: int | None) -> list[Comment]:
    size = first if first is not None else last
    if size is None:
        message = "You must provide a `first` or `last` value to properly paginate the `comments` connection."
        raise _Error(message, "MISSING_PAGINATION_BOUNDARIES")
    if not 0 <= size <= _MOST:
        message = (
            f"Requesting {size} records on the `comments` connection exceeds the `first` limit of {_MOST} records."
        )
        raise _Error(message, "EXCESSIVE_PAGINATION")
    return comments[:size] if first is not None else comments[len(comments) - min(size, len(comments)) :]
