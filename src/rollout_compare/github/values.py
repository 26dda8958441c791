"""What inputs of the Action may hold: types that take the text which the runner passes and make a value of it.

For a text that is none of the allowed ones, pydantic is told what the input takes instead.
"""

from __future__ import annotations

import posixpath
import re
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BeforeValidator, SecretStr

from rollout_compare.core.field import is_field_name
from rollout_compare.core.margin import margin_of

_TRUTH = {"true": True, "false": False}
_COMMENT_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_DIGITS = re.compile(r"[0-9]{1,9}")
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
    """A file, a folder or a glob in the artifact; empty when its rollouts are to be found."""


def _truth(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    truth = _TRUTH.get(value.strip().lower())
    if truth is None:
        message = "true or false"
        raise ValueError(message)
    return truth


def _lines(value: Any) -> Any:
    return [line.strip() for line in value.splitlines() if line.strip()] if isinstance(value, str) else value


def _fields(value: Any) -> Any:
    names = _lines(value)
    if not all(map(is_field_name, names)):
        message = "dotted field names, one per line"
        raise ValueError(message)
    return names


def _field(value: Any) -> Any:
    if isinstance(value, str) and not is_field_name(value.strip()):
        message = "a dotted field name"
        raise ValueError(message)
    return value.strip() if isinstance(value, str) else value


def _patterns(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    patterns = []
    for number, line in enumerate(value.splitlines(), start=1):
        if line.strip():
            try:
                patterns.append(re.compile(line.strip()))
            except (re.error, RecursionError, OverflowError) as fault:
                # The pattern itself may be the secret.
                where = f" at position {fault.pos}" if isinstance(fault, re.error) and fault.pos is not None else ""
                message = f"regular expressions, one per line, and line {number} is none{where}"
                raise ValueError(message) from None
    return patterns


def _comment_mode(value: Any) -> Any:
    choice = value.strip().lower() if isinstance(value, str) else value
    if choice not in ("always", "changes", "off"):
        message = "always, changes or off"
        raise ValueError(message)
    return choice


def _comment_id(value: Any) -> Any:
    if not _COMMENT_ID.fullmatch(value):
        message = "1 to 64 of A-Z a-z 0-9 . _ -"
        raise ValueError(message)
    return value


def _number(value: Any) -> Any:
    if isinstance(value, str):
        if not _DIGITS.fullmatch(value.strip()):
            message = "a whole number"
            raise ValueError(message)
        return int(value.strip())
    return value


def _positive(value: Any) -> Any:
    number = _number(value)
    if number == 0:
        message = "a whole number above 0"
        raise ValueError(message)
    return number


def _run_id(value: Any) -> Any:
    if isinstance(value, str):
        if not _RUN_ID.fullmatch(value.strip()) or not int(value):
            message = "the number of a workflow run, as in the address of its page"
            raise ValueError(message)
        return int(value)
    return value


def _margin(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    margin = margin_of(value)
    if margin is None:
        message = "a difference of rewards above 0, such as 0.02 or 2%"
        raise ValueError(message)
    return margin


def _artifact_name(value: Any) -> Any:
    name = value.strip()
    if len(name) > _LONGEST_ARTIFACT_NAME:
        message = f"a name of at most {_LONGEST_ARTIFACT_NAME} characters"
        raise ValueError(message)
    return name


def _artifact_path(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    name, _, path = (part.strip() for part in value.strip().partition(":"))
    is_name = name.strip(".") and len(name) <= _LONGEST_ARTIFACT_NAME and _NO_ARTIFACT_NAME.search(name) is None
    inside = posixpath.normpath(path) if path else ""
    if not is_name or inside.startswith(("/", "..")) or "\\" in path or not path.isprintable():
        message = "the name of an artifact, or `name:path` with a path inside of it"
        raise ValueError(message)
    return ArtifactPath(name, "" if inside == "." else inside)


def _branch(value: Any) -> Any:
    name = value.strip().removeprefix("refs/heads/")
    if not name or len(name) > _LONGEST_REF or _NO_REF.search(name) is not None:
        message = "the name of a branch"
        raise ValueError(message)
    return name


def _workflow(value: Any) -> Any:
    name = value.strip()
    if _WORKFLOW.fullmatch(name) is None:
        message = "the file name of a workflow, such as evaluate.yml, or its number"
        raise ValueError(message)
    return name.rpartition("/")[2]


def _token(value: Any) -> Any:
    return value.strip() if isinstance(value, str) else value


def _title(value: Any) -> Any:
    return " ".join(value.split())


Lines = Annotated[list[str], BeforeValidator(_lines)]
Fields = Annotated[list[str], BeforeValidator(_fields)]
FieldName = Annotated[str | None, BeforeValidator(_field)]
Patterns = Annotated[list[re.Pattern[str]], BeforeValidator(_patterns)]
Truth = Annotated[bool, BeforeValidator(_truth)]
CommentMode = Annotated[Literal["always", "changes", "off"], BeforeValidator(_comment_mode)]
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
