"""The inputs and outputs of the Action, the one place that defines them.

`action.yml` and `docs/inputs-and-outputs.md` say the same; a test keeps the three equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from rollout_compare import options
from rollout_compare.core.errors import UsageError
from rollout_compare.github.values import (
    ArtifactName,
    ArtifactPlace,
    Branch,
    CommentId,
    CommentMode,
    Conditions,
    Days,
    FieldName,
    Fields,
    FormatName,
    Lines,
    Margin,
    Number,
    Patterns,
    Positive,
    RunId,
    Title,
    Token,
    Truth,
    Workflow,
)


class SettingError(UsageError):
    """An invalid input of the Action; the message names it and says what it must be."""


class Settings(BaseModel):
    """The inputs, under their names in `action.yml`. An input that is not set, or empty, has its default."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=lambda name: name.replace("_", "-"))

    old: Lines = Field(
        [],
        description="Reference rollouts: files (`.jsonl`, also `.gz` and `.zst`), directories or globs, one per line. "
        "This or `old-artifact` must be set.",
    )
    new: Lines = Field([], description="Candidate rollouts, in the same forms. This or `new-artifact` must be set.")
    old_artifact: ArtifactPlace = Field(
        None,
        description="Reference rollouts from an artifact of an earlier run: its name, or `name:path` with the file, "
        "directory or glob inside it. Ignored when `old` is set too.",
    )
    new_artifact: ArtifactPlace = Field(
        None,
        description="Candidate rollouts from an artifact of this run, or of the run that triggered a `workflow_run`. "
        "Ignored when `new` is set too.",
    )
    old_run_id: RunId = Field(None, description="The run that `old-artifact` belongs to. By default it is looked up.")
    old_branch: Branch = Field(
        None,
        description="The branch among whose runs `old-artifact` is looked up. By default the base branch of the pull "
        "request, else the default branch.",
    )
    old_workflow: Workflow = Field(
        None,
        description="The workflow among whose runs `old-artifact` is looked up: its file name or number. By default "
        "the workflow of this run, or of the run that triggered a `workflow_run`.",
    )
    baseline_max_age: Days = Field(
        options.BASELINE_MAX_AGE, description="Days from which a baseline is called stale, in a warning."
    )
    key: FieldName = Field(None, description="Dotted field that names the task. By default it is detected.")
    where: Conditions = Field(
        [],
        description="Which rows are compared: conditions such as `split=dev`, one per line, with a dotted field name; "
        "all must hold.",
    )
    old_where: Conditions = Field([], description="The same for the old side only.")
    new_where: Conditions = Field([], description="The same for the new side only.")
    format: FormatName = Field(
        None,
        description="The format that both sides are read as: `rollouts`, `harbor`, `inspect`, `swebench`, `lm-eval`, "
        "`promptfoo`, `verifiers` or `tau2`. By default it is detected.",
    )
    reward: FieldName = Field(
        None,
        description="Dotted field that holds the reward, `reward` by default; for results of other tools the name of "
        "one of their rewards.",
    )
    tail: Number = Field(options.TAIL, description="Lines of verifier output shown per flip; 0 shows none.")
    logs_root: Lines = Field(
        [], description="Folders in which relative `verifier_logs_dir` paths are looked up, one per line."
    )
    old_logs_root: Lines = Field([], description="The same for the old side only.")
    new_logs_root: Lines = Field([], description="The same for the new side only.")
    verifier_fields: Fields = Field(
        [], description="More row fields that may hold verifier output, one dotted name per line."
    )
    count_as_zero: Lines = Field(
        [],
        description="Failure classes whose recorded failures count as reward 0, one per line; `missing` stands for "
        "planned rollouts that left no row.",
    )
    margin: Margin = Field(
        None, description="Largest difference of mean rewards that does not matter, such as 0.02 or 2%."
    )
    redact: Patterns = Field(
        [], description="Regular expressions, one per line; what matches is shown as `[redacted]`."
    )
    title: Title = Field("", description="Text for the title of the report.")
    comment: CommentMode = Field(
        "always",
        description="When to comment on the pull request: `always`, `changes` (only when a task flipped or a check "
        "warns; an earlier comment is still updated), or `off`.",
    )
    comment_id: CommentId = Field(
        "default", description="Tells several comparisons in one pull request apart: each id has its own comment."
    )
    pr_number: Positive = Field(
        None, description="The pull request to comment on. By default it is taken from the event."
    )
    github_token: Token = Field(
        SecretStr(""),
        description="Token that writes the comment; needs `pull-requests: write`. To look up artifacts of other "
        "runs it needs `actions: read`, for the merge base `contents: read`.",
    )
    job_summary: Truth = Field(True, description="Whether to write the report into the job summary.")  # noqa: FBT003
    upload_artifact: Truth = Field(
        True,  # noqa: FBT003
        description="Whether to upload the report files as artifacts of the run: one with all of them, and the HTML "
        "report by itself, to open in the browser.",
    )
    artifact_name: ArtifactName = Field(
        "rollout-compare", description="Name of the artifact; that of the HTML report ends in `.html`."
    )
    retention_days: Positive = Field(
        None, description="Days to keep the artifacts. By default as the repository is set."
    )
    report_dir: str = Field(
        "rollout-compare-report", description="Folder in the workspace for summary.json, report.md and report.html."
    )
    template: str | None = Field(None, description="A Jinja2 template that extends the Markdown report.")

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Settings:
        """The settings that the runner passes as `INPUT_*` variables.

        Raises SettingError for the first input that is missing or invalid.
        """
        given = {}
        for name in input_names():
            value = _given(environment, name)
            if value is not None:
                given[name] = value
        for name in ("old", "new"):
            if name not in given and f"{name}-artifact" not in given:
                raise SettingError(
                    f"input `{name}` is missing: set it to the path of a rollouts file, or set `{name}-artifact` to "
                    "the name of an artifact"
                )
        try:
            return cls.model_validate(given)
        except ValidationError as fault:
            error = fault.errors()[0]
            name = str(error["loc"][0])
            context = error.get("ctx", {}).get("error", error["msg"])
            raise SettingError(f"input `{name}` must be {context}") from None


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
    "masked": "Tasks masked on one side or both.",
    "masked-old": "Tasks masked on the old side.",
    "masked-new": "Tasks masked on the new side.",
    "missing": "Tasks that only one side has.",
    "missing-old-only": "Tasks that only the old side has.",
    "missing-new-only": "Tasks that only the new side has.",
    "verdict": "Kind of the verdict: `not_comparable`, `too_little`, `lower`, `higher`, `within_margin`, "
    "`no_clear_difference` or `no_baseline`.",
    "verdict-sentence": "The verdict in one sentence.",
    "changed": "`true` when a task flipped or a check warns, else `false`. Warnings about the baseline do not count.",
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
