"""The inputs and outputs of the Action, the one place that defines them.

`action.yml` and `docs/inputs-and-outputs.md` say the same; a test keeps the three equal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError

from rollout_compare.core.errors import UsageError
from rollout_compare.core.field import is_field_name

_TRUTH = {"true": True, "false": False}
_COMMENT_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_DIGITS = re.compile(r"[0-9]{1,9}")
_LONGEST_ARTIFACT_NAME = 200


class SettingError(UsageError):
    """An input of the Action with a value that is not allowed: which input, and what is."""


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


def _choice(value: Any) -> Any:
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


def _margin(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        margin = float(value)
    except ValueError:
        margin = 0.0
    if not 0 < margin < float("inf"):
        message = "a difference of rewards above 0"
        raise ValueError(message)
    return margin


def _artifact_name(value: Any) -> Any:
    name = value.strip()
    if len(name) > _LONGEST_ARTIFACT_NAME:
        message = f"a name of at most {_LONGEST_ARTIFACT_NAME} characters"
        raise ValueError(message)
    return name


def _token(value: Any) -> Any:
    return value.strip() if isinstance(value, str) else value


def _title(value: Any) -> Any:
    return " ".join(value.split())


_Lines = Annotated[list[str], BeforeValidator(_lines)]
_Fields = Annotated[list[str], BeforeValidator(_fields)]
_Truth = Annotated[bool, BeforeValidator(_truth)]


class Settings(BaseModel):
    """The inputs, under their names in `action.yml`. An input that is not set, or empty, has its default."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=lambda name: name.replace("_", "-"))

    old: _Lines = Field(
        description="Reference rollouts: files (`.jsonl`, also `.gz` and `.zst`), directories or globs, one per line."
    )
    new: _Lines = Field(description="Candidate rollouts, likewise.")
    key: Annotated[str | None, BeforeValidator(_field)] = Field(
        None, description="Dotted field that names the task. By default it is found."
    )
    tail: Annotated[int, BeforeValidator(_number)] = Field(
        15, description="Lines of verifier output shown per flip; 0 shows none."
    )
    logs_root: _Lines = Field([], description="Folders that relative `verifier_logs_dir` paths begin in, one per line.")
    old_logs_root: _Lines = Field([], description="The same for the old side only.")
    new_logs_root: _Lines = Field([], description="The same for the new side only.")
    verifier_fields: _Fields = Field(
        [], description="More row fields that may hold verifier output, one dotted name per line."
    )
    count_as_zero: _Lines = Field(
        [], description="Failure classes whose recorded failures count as reward 0, one per line."
    )
    margin: Annotated[float | None, BeforeValidator(_margin)] = Field(
        None, description="Largest difference of mean rewards that does not matter, such as 0.02."
    )
    redact: Annotated[list[re.Pattern[str]], BeforeValidator(_patterns)] = Field(
        [], description="Regular expressions, one per line; what matches is shown as `[redacted]`."
    )
    title: Annotated[str, BeforeValidator(_title)] = Field("", description="Words for the title of the report.")
    comment: Annotated[Literal["always", "changes", "off"], BeforeValidator(_choice)] = Field(
        "always",
        description="When to comment on the pull request: `always`, `changes` (only when a task flipped or a check "
        "warns; an earlier comment is still updated), or `off`.",
    )
    comment_id: Annotated[str, BeforeValidator(_comment_id)] = Field(
        "default", description="Tells several comparisons in one pull request apart: each id has its own comment."
    )
    pr_number: Annotated[int | None, BeforeValidator(_positive)] = Field(
        None, description="The pull request to comment on. By default the event tells."
    )
    github_token: Annotated[SecretStr, BeforeValidator(_token)] = Field(
        SecretStr(""), description="Token that writes the comment; needs `pull-requests: write`."
    )
    job_summary: _Truth = Field(True, description="Whether to write the report into the job summary.")  # noqa: FBT003
    upload_artifact: _Truth = Field(
        True,  # noqa: FBT003
        description="Whether to upload the report files as artifacts of the run: one with all of them, and the HTML "
        "report by itself, to open in the browser.",
    )
    artifact_name: Annotated[str, BeforeValidator(_artifact_name)] = Field(
        "rollout-compare", description="Name of the artifact; the HTML report's has `.html` behind it."
    )
    retention_days: Annotated[int | None, BeforeValidator(_positive)] = Field(
        None, description="Days that the artifacts are kept. By default as the repository says."
    )
    report_dir: str = Field(
        "rollout-compare-report", description="Folder in the workspace for summary.json, report.md and report.html."
    )
    template: str | None = Field(None, description="A Jinja2 template that extends the Markdown report.")

    @classmethod
    def of_environment(cls, environment: Mapping[str, str]) -> Settings:
        """The settings that the runner passes as `INPUT_*` variables.

        Raises SettingError for the first input that is missing or has a value that is not allowed.
        """
        given = {}
        for name in input_names():
            value = _given(environment, name)
            if value is not None:
                given[name] = value
        for name in ("old", "new"):
            if name not in given:
                message = f"input `{name}` is missing: give it the path of a rollouts file"
                raise SettingError(message)
        try:
            return cls.model_validate(given)
        except ValidationError as fault:
            error = fault.errors()[0]
            name = str(error["loc"][0])
            context = error.get("ctx", {}).get("error", error["msg"])
            message = f"input `{name}` has a value that is not allowed: it takes {context}"
            raise SettingError(message) from None


def _given(environment: Mapping[str, str], name: str) -> str | None:
    """The value of an input; the runner keeps hyphens in the variable's name, other tools write underscores."""
    for variable in (f"INPUT_{name.upper()}", f"INPUT_{name.upper().replace('-', '_')}"):
        value = environment.get(variable, "")
        if value.strip():
            return value
    return None


def input_names() -> list[str]:
    """The names of all inputs, in the order of `action.yml`."""
    return [field.alias or name for name, field in Settings.model_fields.items()]


OUTPUTS: dict[str, str] = {
    "tasks": "Number of tasks.",
    "identical": "Tasks with the same reward on both sides.",
    "flipped": "Tasks whose reward differs, without an agent error.",
    "flipped-old-win": "Flipped tasks with the higher reward on the old side.",
    "flipped-new-win": "Flipped tasks with the higher reward on the new side.",
    "flipped-agent-error": "Tasks whose reward differs and where a side reports an agent error.",
    "masked": "Tasks that do not count on a side.",
    "masked-old": "Tasks masked on the old side.",
    "masked-new": "Tasks masked on the new side.",
    "missing": "Tasks that only one side has.",
    "missing-old-only": "Tasks that only the old side has.",
    "missing-new-only": "Tasks that only the new side has.",
    "verdict": "Kind of the verdict: `not_comparable`, `too_little`, `lower`, `higher`, `within_margin` or "
    "`no_clear_difference`.",
    "verdict-sentence": "The verdict in one sentence.",
    "changed": "`true` when a task flipped or a check warns, else `false`.",
    "mean-difference": "Difference of mean rewards, new minus old, over the tasks that both sides scored; empty when "
    "there is none.",
    "report-dir": "Folder of the report files, relative to the workspace.",
    "summary-path": "The JSON summary, relative to the workspace.",
    "markdown-path": "The Markdown report, relative to the workspace.",
    "html-path": "The HTML report, relative to the workspace.",
    "comment-id": "Number of the comment; one per line for several pull requests.",
    "comment-url": "Address of the comment; one per line for several pull requests.",
    "artifact-id": "Number of the artifact with the report files.",
    "artifact-url": "Address of that artifact.",
    "artifact-digest": "SHA-256 of that artifact's zip, as `sha256:` and hexadecimal digits.",
    "html-artifact-url": "Address of the artifact that is the HTML report.",
}
"""The outputs with their descriptions. An output that does not exist is empty."""


def count_outputs(counts: Mapping[str, int]) -> Iterable[tuple[str, str]]:
    """The counts of a summary under the names of their outputs."""
    return ((name.replace("_", "-"), str(number)) for name, number in counts.items())
