"""Write tests/cases/github: what GitHub publishes of its API and its webhooks, cut to what the tests use.

`python -m tools.github_descriptions` needs npm, and graphql-core. The packages are pinned by version and digest.
"""

from __future__ import annotations

import json
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from graphql import (
    DefinitionNode,
    FieldDefinitionNode,
    InputObjectTypeDefinitionNode,
    InputValueDefinitionNode,
    InterfaceTypeDefinitionNode,
    NamedTypeNode,
    Node,
    ObjectTypeDefinitionNode,
    TypeNode,
    UnionTypeDefinitionNode,
    build_schema,
    parse,
    print_ast,
)
from graphql.language import DocumentNode

from tools.npm import NpmError, npm

_FOLDER = Path(__file__).resolve().parent.parent / "tests" / "cases" / "github"

_DIGESTS = {
    "@octokit/openapi@23.0.2": (
        "sha512-pV8M7L9GY23AybNvTmo2nyjmpmnt6+2sRE/tqr0ZLQcPS4lnw7u5eZGNmwRNkBC3D7gZXbFx5AHzLUVRBXGDhg=="
    ),
    "@octokit/graphql-schema@15.26.1": (
        "sha512-RFDC2MpRBd4AxSRvUeBIVeBU7ojN/SxDfALUd7iVYOSeEK3gZaqR2MGOysj4Zh2xj2RY5fQAUT+Oqq7hWTraMA=="
    ),
    "@octokit/webhooks-examples@7.6.1": (
        "sha512-De6U3XB6O3DtCa7bKgCMzTHdeopqqZ6SNivMYJnK65ierKL1AnNIA0tkRYCRS7lwGT792d+Ps1WbfHlso6MynQ=="
    ),
}

_FILES = ("LICENSE", "LICENSE.md", "api.github.com/index.json", "generated/api.github.com.json", "schema.graphql")

_REPOSITORY = "/repos/{owner}/{repo}"
_OPERATIONS = {
    _REPOSITORY: ("get",),
    f"{_REPOSITORY}/issues/{{issue_number}}": ("get",),
    f"{_REPOSITORY}/issues/{{issue_number}}/comments": ("get", "post"),
    f"{_REPOSITORY}/issues/comments/{{comment_id}}": ("get", "patch", "delete"),
    f"{_REPOSITORY}/pulls": ("get",),
    f"{_REPOSITORY}/pulls/{{pull_number}}": ("get",),
    f"{_REPOSITORY}/commits/{{commit_sha}}/pulls": ("get",),
    f"{_REPOSITORY}/compare/{{basehead}}": ("get",),
    f"{_REPOSITORY}/actions/runs": ("get",),
    f"{_REPOSITORY}/actions/runs/{{run_id}}": ("get",),
    f"{_REPOSITORY}/actions/runs/{{run_id}}/artifacts": ("get",),
    f"{_REPOSITORY}/actions/artifacts": ("get",),
    f"{_REPOSITORY}/actions/artifacts/{{artifact_id}}": ("get",),
    f"{_REPOSITORY}/actions/artifacts/{{artifact_id}}/{{archive_format}}": ("get",),
    f"{_REPOSITORY}/actions/workflows/{{workflow_id}}/runs": ("get",),
}

# The published answers that the stand-in's answers are made from.
_EXAMPLES = {
    "artifact": "artifact",
    "commit_comparison": "commit-comparison",
    "comment": "issue-comment",
    "issue": "issue",
    "pull_request": "pull-request",
    "pull_requests": "pull-request-simple-items",
    "repository": "full-repository-default-response",
    "workflow_run": "workflow-run",
}

_FIELDS = {
    "Query": ("repository",),
    "Mutation": ("deleteIssueComment", "minimizeComment"),
    "Repository": (
        "id",
        "isArchived",
        "isPrivate",
        "issue",
        "issueOrPullRequest",
        "nameWithOwner",
        "pullRequest",
        "url",
    ),
    "Issue": ("author", "comments", "fullDatabaseId", "id", "locked", "number", "state", "title", "url"),
    "PullRequest": (
        *("author", "comments", "fullDatabaseId", "headRefName", "headRefOid", "id", "isCrossRepository", "locked"),
        *("number", "state", "title", "url"),
    ),
    "IssueCommentConnection": ("nodes", "pageInfo", "totalCount"),
    "IssueComment": (
        *("author", "body", "createdAt", "databaseId", "fullDatabaseId", "id", "isMinimized", "minimizedReason"),
        *("updatedAt", "url", "viewerCanMinimize", "viewerDidAuthor"),
    ),
    "PageInfo": ("endCursor", "hasNextPage", "hasPreviousPage", "startCursor"),
    "Actor": ("login", "resourcePath", "url"),
    "Bot": ("databaseId", "id", "login", "resourcePath", "url"),
    "User": ("databaseId", "id", "login", "resourcePath", "url"),
    "Minimizable": ("isMinimized", "minimizedReason", "viewerCanMinimize"),
    "MinimizeCommentPayload": ("clientMutationId", "minimizedComment"),
    "DeleteIssueCommentPayload": ("clientMutationId",),
}
_INPUTS = ("DeleteIssueCommentInput", "MinimizeCommentInput")

# The event, and which of its published examples.
_WEBHOOKS = {
    "issue_comment": ("issue_comment", 0),
    "merge_group": ("merge_group", 0),
    "pull_request.opened": ("pull_request", 0),
    "pull_request.synchronize": ("pull_request", 22),
    "pull_request_review": ("pull_request_review", 0),
    "push": ("push", 4),
    "workflow_dispatch": ("workflow_dispatch", 0),
    "workflow_run": ("workflow_run", 1),
    "workflow_run.pull_request": ("workflow_run", 2),
}


def unpack(package: str, folder: Path) -> dict[str, str]:
    """The wanted files of an npm package, whose digest must be the pinned one."""
    try:
        [packed] = json.loads(npm("pack", "--json", package, folder=folder))
    except NpmError as fault:
        raise SystemExit(str(fault)) from None
    if packed["integrity"] != _DIGESTS[package]:
        raise SystemExit(f"{package}: the digest is {packed['integrity']}, not {_DIGESTS[package]}")
    files = {}
    with tarfile.open(folder / packed["filename"]) as archive:
        for member in archive:
            name = member.name.removeprefix("package/")
            content = archive.extractfile(member) if name in _FILES else None
            if content is not None:
                files[name] = content.read().decode("utf-8")
    return files


def cut_rest(published: dict[str, Any]) -> dict[str, Any]:
    """The description of the operations used, closed over what they refer to, without prose and examples."""
    paths = {}
    for path, methods in _OPERATIONS.items():
        item = published["paths"][path]
        paths[path] = {key: _plain(item[key]) for key in ("parameters", *methods) if key in item}
    components: dict[str, dict[str, Any]] = {}
    waiting = list(_references(paths))
    while waiting:
        section, name = waiting.pop()
        if name not in components.setdefault(section, {}):
            components[section][name] = _kept(section, published["components"][section][name])
            waiting.extend(_references(components[section][name]))
    return {
        "openapi": published["openapi"],
        "info": {key: published["info"][key] for key in ("title", "version", "license")},
        "servers": published["servers"],
        "paths": paths,
        "components": {section: dict(sorted(components[section].items())) for section in sorted(components)},
    }


def _plain(value: Any, parent: str = "") -> Any:
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    if parent in ("properties", "responses"):  # the keys are names here, not words of the description's language
        return {key: _kept(parent, item) for key, item in value.items()}
    dropped = ("description", "example", "examples", "externalDocs", "summary", "tags", "title")
    return {key: _plain(item, key) for key, item in value.items() if key not in dropped and key[:2] != "x-"}


def _kept(parent: str, item: Any) -> Any:
    """A property or an answer; an answer must have a description."""
    if parent == "responses" and "description" in item:
        return {"description": item["description"], **_plain(item)}
    return _plain(item)


def _references(value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, list):
        for item in value:
            yield from _references(item)
    elif isinstance(value, dict):
        reference = value.get("$ref")
        if isinstance(reference, str):
            _, _, section, name = reference.split("/")
            yield section, name
        for item in value.values():
            yield from _references(item)


def cut_graphql(text: str) -> str:
    """The schema with the types and fields used, closed over the plain types they need, without prose."""
    published = {node.name.value: node for node in parse(text).definitions if hasattr(node, "name")}
    kept: dict[str, DefinitionNode] = {}
    waiting = [*_FIELDS, *_INPUTS]
    while waiting:
        name = waiting.pop()
        if name not in kept and name in published:
            kept[name] = _cut(published[name], published)
            waiting.extend(_types_of(kept[name]))
    schema = print_ast(DocumentNode(definitions=tuple(kept[name] for name in sorted(kept)))) + "\n"
    build_schema(schema)
    return schema


def _cut(node: Any, published: dict[str, Any]) -> Any:
    changes: dict[str, Any] = {"description": None, "directives": ()}
    if isinstance(node, ObjectTypeDefinitionNode | InterfaceTypeDefinitionNode):
        changes["interfaces"] = tuple(kind for kind in node.interfaces or () if kind.name.value in _FIELDS)
        wanted = _FIELDS[node.name.value]
        changes["fields"] = tuple(
            _cut_field(field, published) for field in node.fields or () if field.name.value in wanted
        )
    elif isinstance(node, UnionTypeDefinitionNode):
        changes["types"] = tuple(kind for kind in node.types or () if kind.name.value in _FIELDS)
    elif isinstance(node, InputObjectTypeDefinitionNode):
        changes["fields"] = tuple(_bare(field) for field in node.fields or ())
    elif hasattr(node, "values"):
        changes["values"] = tuple(_bare(value) for value in node.values or ())
    return _with(node, changes)


def _cut_field(field: FieldDefinitionNode, published: dict[str, Any]) -> Any:
    arguments = tuple(_bare(argument) for argument in field.arguments or () if _is_simple(argument, published))
    return _with(field, {"description": None, "directives": (), "arguments": arguments})


def _is_simple(argument: InputValueDefinitionNode, published: dict[str, Any]) -> bool:
    name = _name(argument.type)
    return name in _INPUTS or not isinstance(published.get(name), InputObjectTypeDefinitionNode)


def _bare(node: Node) -> Any:
    return _with(node, {"description": None, "directives": ()})


def _with(node: Any, changes: dict[str, Any]) -> Any:
    return type(node)(**{key: getattr(node, key) for key in node.keys} | changes)


def _name(node: TypeNode) -> str:
    return node.name.value if isinstance(node, NamedTypeNode) else _name(node.type)  # type: ignore[attr-defined]


def _types_of(node: Any) -> Iterator[str]:
    for field in getattr(node, "fields", None) or ():
        yield _name(field.type)
        yield from (_name(argument.type) for argument in getattr(field, "arguments", None) or ())
    for kind in getattr(node, "types", None) or ():
        yield kind.name.value


def _write(name: str, content: Any) -> None:
    text = content if isinstance(content, str) else json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    path = _FOLDER / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    print(f"{path.stat().st_size:>8}  {name}")


def main() -> int:
    """Fetch the packages and write the folder's files."""
    with tempfile.TemporaryDirectory() as name:
        openapi, graphql, webhooks = (unpack(package, Path(name)) for package in _DIGESTS)
    published = json.loads(openapi["generated/api.github.com.json"])
    _write("rest.json", cut_rest(published))
    for name, example in _EXAMPLES.items():
        _write(f"answers/{name}.json", published["components"]["examples"][example]["value"])
    _write("schema.graphql", cut_graphql(graphql["schema.graphql"]))
    events = {event["name"]: event["examples"] for event in json.loads(webhooks["api.github.com/index.json"])}
    for name, (event, index) in _WEBHOOKS.items():
        _write(f"webhooks/{name}.json", events[event][index])
    _write("LICENSE.openapi", openapi["LICENSE"].rstrip() + "\n")
    _write("LICENSE.graphql-schema", graphql["LICENSE.md"].rstrip() + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
