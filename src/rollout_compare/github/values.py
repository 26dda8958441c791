"""What inputs of the Action may hold: types that turn the text which the runner passes into a value.

The error for an invalid text is the end of a sentence: "input `tail` must be" and then "a whole number".
"""

from __future__ import annotations

import posixpath
import re
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BeforeValidator, SecretStr

from rollout_compare import options
from rollout_compare.core.reading.choice import Condition
from rollout_compare.formats.names import FORMAT_NAMES

_TRUTH = {"true": True, "false": False}
_COMMENT_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_RUN_ID = re.compile(r"[0-9]{1,18}")
_WORKFLOW = re.compile(r"(?:\.github/workflows/)?[^/\x00-\x1f]{1,200}")
_NO_REF = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|^[-/]|/$|\.$|\.lock$")
_NO_ARTIFACT_NAME = re.compile(r'["<>|*?\\/\x00-\x1f]')
_LONGEST_ARTIFACT_NAME = 200
_LONGEST_REF = 250


class ArtifactPath(NamedTuple):
    """An artifact of a run, and what is meant in it."""

    name: str
    path: str = ""
    """A file, a folder or a glob in the artifact; empty for the rollouts file that is to be looked for."""


def _truth(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    truth = _TRUTH.get(value.strip().lower())
    if truth is None:
        raise ValueError("true or false")
    return truth


def _lines(value: Any) -> Any:
    return [line.strip() for line in value.splitlines() if line.strip()] if isinstance(value, str) else value


def _fields(value: Any) -> Any:
    names = _lines(value)
    try:
        return list(map(options.field_name, names))
    except ValueError:
        raise ValueError("dotted field names, one per line") from None


def _field(value: Any) -> Any:
    return options.field_name(value.strip()) if isinstance(value, str) else value


def _conditions(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return [Condition(*options.condition(line)) for line in _lines(value)]
    except ValueError:
        raise ValueError("conditions such as split=dev, one per line, each with a dotted field name") from None


def _patterns(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    patterns = []
    for number, line in enumerate(value.splitlines(), start=1):
        if line.strip():
            try:
                patterns.append(options.pattern(line.strip()))
            except ValueError as fault:
                raise ValueError(f"regular expressions, one per line; line {number}: {fault}") from None
    return patterns


def _comment_mode(value: Any) -> Any:
    choice = value.strip().lower() if isinstance(value, str) else value
    if choice not in ("always", "changes", "off"):
        raise ValueError("always, changes or off")
    return choice


def _format_name(value: Any) -> Any:
    name = value.strip() if isinstance(value, str) else value
    if name is not None and name not in FORMAT_NAMES:
        raise ValueError(f"one of {', '.join(FORMAT_NAMES)}")
    return name


def _comment_id(value: Any) -> Any:
    if not _COMMENT_ID.fullmatch(value):
        raise ValueError("1 to 64 of the characters A-Z a-z 0-9 . _ -")
    return value


def _number(value: Any) -> Any:
    return options.number(value.strip()) if isinstance(value, str) else value


def _positive(value: Any) -> Any:
    number = _number(value)
    if number == 0:
        raise ValueError("a whole number above 0")
    return number


def _run_id(value: Any) -> Any:
    if isinstance(value, str):
        if not _RUN_ID.fullmatch(value.strip()) or not int(value):
            raise ValueError("the number of a workflow run, as in the address of its page")
        return int(value)
    return value


def _margin(value: Any) -> Any:
    return options.margin(value.strip()) if isinstance(value, str) else value


def _artifact_name(value: Any) -> Any:
    name = value.strip()
    if len(name) > _LONGEST_ARTIFACT_NAME:
        raise ValueError(f"a name of at most {_LONGEST_ARTIFACT_NAME} characters")
    return name


def _artifact_path(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    name, _, path = (part.strip() for part in value.strip().partition(":"))
    is_name = name.strip(".") and len(name) <= _LONGEST_ARTIFACT_NAME and _NO_ARTIFACT_NAME.search(name) is None
    inside = posixpath.normpath(path) if path else ""
    if not is_name or inside.startswith(("/", "..")) or "\\" in path or not path.isprintable():
        raise ValueError("the name of an artifact, or `name:path` with a path inside it")
    return ArtifactPath(name, "" if inside == "." else inside)


def _branch(value: Any) -> Any:
    name = value.strip().removeprefix("refs/heads/")
    if not name or len(name) > _LONGEST_REF or _NO_REF.search(name) is not None:
        raise ValueError("the name of a branch")
    return name


def _workflow(value: Any) -> Any:
    name = value.strip()
    if _WORKFLOW.fullmatch(name) is None:
        raise ValueError("the file name of a workflow, such as evaluate.yml, or its number")
    return name.rpartition("/")[2]


def _token(value: Any) -> Any:
    return value.strip() if isinstance(value, str) else value


def _title(value: Any) -> Any:
    return " ".join(value.split())


Lines = Annotated[list[str], BeforeValidator(_lines)]
Fields = Annotated[list[str], BeforeValidator(_fields)]
FieldName = Annotated[str | None, BeforeValidator(_field)]
Conditions = Annotated[list[Condition], BeforeValidator(_conditions)]
Patterns = Annotated[list[re.Pattern[str]], BeforeValidator(_patterns)]
Truth = Annotated[bool, BeforeValidator(_truth)]
CommentMode = Annotated[Literal["always", "changes", "off"], BeforeValidator(_comment_mode)]
FormatName = Annotated[str | None, BeforeValidator(_format_name)]
CommentId = Annotated[str, BeforeValidator(_comment_id)]
Number = Annotated[int, BeforeValidator(_number)]
Positive = Annotated[int | None, BeforeValidator(_positive)]
Days = Annotated[int, BeforeValidator(_positive)]
RunId = Annotated[int | None, BeforeValidator(_run_id)]
Margin = Annotated[float | None, BeforeValidator(_margin)]
ArtifactName = Annotated[str, BeforeValidator(_artifact_name)]
ArtifactPlace = Annotated[ArtifactPath | None, BeforeValidator(_artifact_path)]
Branch = Annotated[str | None, BeforeValidator(_branch)]
Workflow = Annotated[str | None, BeforeValidator(_workflow)]
Token = Annotated[SecretStr, BeforeValidator(_token)]
Title = Annotated[str, BeforeValidator(_title)]
