"""What the step and the command say: no more than they may, in words that mean the same wherever they stand."""

from __future__ import annotations

import html
import re
import shlex
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.conftest import Rollouts, Run
from tests.github import rendered
from tests.integration.action.conftest import Stage, own_body, row
from tests.stand_in import GitHub
from tests.stand_in.artifacts import Artifacts

SUMMARY_LIMIT = 1_048_576
TOKEN = "ghp_" + "aaaaBBBBccccDDDDeeeeFFFFgggg1111"
VALUE = "correct-horse-battery"
"""Of a variable whose name says that it is secret."""
FRAGMENT = 8
"""So many characters of a secret in a row are a piece of it."""


def leaks(secret: str, told: str) -> list[str]:
    pieces = [secret[at : at + FRAGMENT] for at in range(len(secret) - FRAGMENT + 1)]
    return [piece for piece in pieces if piece in told]


# Names that are no secrets, and secrets


def test_the_key_of_the_step_is_told(step: Stage, pull_request: GitHub) -> None:
    done = step(pull_request, key="task_name")
    [body] = pull_request.state.bodies()
    assert "By `task_name`" in body
    assert "--key task_name" in body
    assert "[redacted]" not in done.told + body


@pytest.mark.parametrize(
    "name", ["SERVICE_KEY", "service-key", "MY_INPUT_KEY", "Deploy_Token", "DB_PASSWORD", "X_SECRET"]
)
def test_values_of_secret_variables_are_not_told_even_when_an_input_says_them(
    step: Stage, pull_request: GitHub, name: str
) -> None:
    step.write([row("a", 1.0)], [row("a", 0.0, test_output=f"login with {VALUE}")])
    done = step(pull_request, environment={name: VALUE}, title=f"of {VALUE}")
    assert leaks(VALUE, done.told + pull_request.state.bodies()[0]) == []
    assert "login with [redacted]" in done.text("report.md")


# Titles


def title_of(body: str) -> str:
    [title] = [line for line in body.split("\n") if line.startswith("### ")]
    return title


@pytest.mark.parametrize("before", [161, 170, 180, 190, 196, 199, 200])
def test_no_piece_of_a_secret_is_told_where_a_title_is_cut(step: Stage, pull_request: GitHub, before: int) -> None:
    done = step(pull_request, title=f"{'x' * (before - 1)} {TOKEN} and on {'y' * 300}")
    [body] = pull_request.state.bodies()
    assert leaks(TOKEN, done.told + body) == []
    assert "x" * (before - 1) in title_of(body)


def test_a_long_title_is_cut_with_an_ellipsis(step: Stage, pull_request: GitHub) -> None:
    done = step(pull_request, title="x" * 1_000)
    for text in (pull_request.state.bodies()[0], done.summary, done.text("report.md")):
        assert title_of(text).endswith("x…`")
        assert 150 <= title_of(text).count("x") <= 200


def test_a_title_that_fits_is_not_cut(step: Stage, pull_request: GitHub) -> None:
    step(pull_request, title="x" * 200)
    assert title_of(pull_request.state.bodies()[0]).endswith(f"`{'x' * 200}`")


# Where the rest is


@pytest.fixture
def artifacts(step: Stage) -> Iterator[Artifacts]:
    """The artifact service, offered to every step."""
    with Artifacts() as service:
        step.environment |= service.environment
        yield service
        assert service.violations == []


ELSEWHERE = re.compile(r"… [\d,]+ more in ([^.\n]+)\.")


@pytest.mark.parametrize("upload", [False, True], ids=["without artifacts", "with artifacts"])
def test_what_is_left_out_is_never_said_to_be_where_it_is_missing(
    step: Stage, pull_request: GitHub, artifacts: Artifacts, upload: bool
) -> None:
    many = [f"task-{number:04}-" + "x" * 150 for number in range(500)]
    step.write([row(task, 1) for task in many], [row(task, 0) for task in many])
    summary = step.runner / "summary"
    summary.write_bytes(b"x" * (SUMMARY_LIMIT - 60_000) + b"\n")
    done = step(
        pull_request, upload_artifact="true" if upload else "false", environment={"GITHUB_STEP_SUMMARY": str(summary)}
    )
    assert done.warnings == []
    [body] = pull_request.state.bodies()
    said = {name: set(ELSEWHERE.findall(text)) for name, text in (
        ("comment", body), ("summary", done.summary), ("file", done.text("report.md"))
    )}  # fmt: skip
    if upload:
        assert said == {"comment": {"the artifact"}, "summary": {"the artifact"}, "file": {"the JSON summary"}}
    else:
        assert said == {"comment": {"the job summary"}, "summary": {"the JSON summary"}, "file": {"the JSON summary"}}


@pytest.mark.parametrize(
    "how",
    [{"job_summary": "false"}, {"environment": {"GITHUB_STEP_SUMMARY": ""}}],
    ids=["switched off", "not offered"],
)
def test_without_a_job_summary_nothing_is_said_to_be_in_it(
    step: Stage, pull_request: GitHub, how: dict[str, Any]
) -> None:
    many = [f"task-{number:04}-" + "x" * 150 for number in range(500)]
    step.write([row(task, 1) for task in many], [row(task, 0) for task in many])
    step(pull_request, **how)
    [body] = pull_request.state.bodies()
    assert set(ELSEWHERE.findall(body)) == {"the JSON summary"}


# Commands to a runner

LINES = [
    "::error::stop",
    "::add-mask::report",
    "  ::set-output name=tasks::7",
    "\t::warning::x",
    "##[error]x",
    "text ##[group]x",
    "###[error]x",
    "##[##[error]x",
    "\u3000::error::x",
    "\xa0::error::x",
    "\r::error::x",
    "\v::error::x",
    "\u2028::error::x",
    "\x1b[31m::error::x",
    "word " * 14 + "::error::x and on",
    "word " * 14 + "::",
]


def hostile_sides(rollouts: Rollouts, line: str) -> tuple[Any, Any]:
    """Two sides that say the line wherever a row can: flipped, masked, missing and collapsed tasks."""

    def said(task: str, reward: float | None, **more: Any) -> dict[str, Any]:
        return {"task_name": task, "reward": reward, "taskset": line, "response": {"model": line}} | more

    same = [said(f"{line} same", 1.0, _ng_task_index=number, uuid=str(number)) for number in range(3)]
    old = [said(line, 1.0), said(f"{line} b", 1.0), said(f"{line} c", 1.0), *same]
    new = [
        said(line, 0.0, test_output=f"first\n{line}\n{line}"),
        said(f"{line} b", 0.0, agent_error=line, failure_kind=line, verifier_logs_dir=line),
        said(f"{line} c", 1.0, mask_sample=True, failure_kind=line),
        said(f"{line} only", 1.0),
        *same,
    ]
    failure = {"_ng_failure_class": line, "_ng_failure_message": line}
    return rollouts.write("old.jsonl", old), rollouts.write("new.jsonl", new, [said(f"{line} f", None) | failure])


@pytest.mark.parametrize("line", LINES, ids=ascii)
def test_no_line_of_the_text_report_is_a_command(rollouts: Rollouts, run: Callable[..., Run], line: str) -> None:
    done = run(*hostile_sides(rollouts, line), "--tail", 20)
    assert (done.status, done.err) == (0, "")
    lines = re.split(r"[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]", done.out)
    assert [each for each in lines if each.lstrip().startswith("::")] == []
    assert "##[" not in done.out
    assert done.out.count("x" if "::x" in line else line.strip()[-1]) >= 3


@pytest.mark.parametrize("line", LINES, ids=ascii)
def test_the_json_summary_holds_no_command_and_the_same_text(
    rollouts: Rollouts, run: Callable[..., Run], line: str
) -> None:
    done = run(*hostile_sides(rollouts, line), "--json", "-")
    assert (done.status, done.err) == (0, "")
    assert "##[" not in done.out
    assert [each for each in done.out.splitlines() if each.lstrip().startswith("::")] == []
    assert {f"{line} b", f"{line} only"} <= {task["task"] for task in done.json["tasks"]}
    assert list(done.json["sides"]["new"]["models"]) == [line]


@pytest.mark.parametrize("line", ["::error::x", "##[error]x", "text ##[group]x"])
def test_no_error_line_is_a_command(rollouts: Rollouts, run: Callable[..., Run], line: str) -> None:
    good = rollouts.write("good.jsonl", [{"task_id": "t", "reward": 1}])
    for arguments in (
        (good, line),
        (line, good),
        (good, good, f"--key={line}..b"),
        (good, good, "--json", f"{line}/x"),
    ):
        done = run(*arguments)
        assert done.status in (1, 2)
        assert [each for each in done.err.splitlines() if each.lstrip().startswith("::")] == []
        assert "##[" not in done.err, arguments


# Patterns that are none


@pytest.mark.parametrize(
    "pattern",
    [
        "(?P<hunter2-sesame>x)",
        "(?P=hunter2sesame)",
        "(?(hunter2sesame)a|b)",
        "fine\n(?P<hunter2sesame",
        "[hunter2sesame",
    ],
)
def test_a_pattern_that_is_none_is_not_told(step: Stage, github: GitHub, pattern: str) -> None:
    done = step(github, redact=pattern)
    assert done.status == 2
    assert "`redact`" in done.error
    assert "hunter2" not in done.told
    assert "sesame" not in done.told


# Ids of comments, and keys


def test_ids_with_dashes_have_comments_of_their_own(step: Stage, pull_request: GitHub) -> None:
    names = ["a", "a--b", "-a", "a-", "--", "-", "a-b", "a--"]
    for run_id, name in enumerate([*names, *names], start=1):
        done = step(pull_request, run_id=run_id, comment_id=name)
        assert (done.status, done.warnings) == (0, [])
    bodies = pull_request.state.bodies()
    assert [body.split("\n")[0] for body in bodies] == [f"<!-- rollout-compare:{name} -->" for name in names]
    runs = [re.findall(r'"run_id":"(\d+)"', body) for body in bodies]
    assert runs == [[str(run_id)] for run_id in range(len(names) + 1, 2 * len(names) + 1)]
    for body in bodies:
        page = rendered(body)
        assert page.all("h3")
        assert "rollout-compare:" not in page.text
        assert "run_id" not in page.text


@pytest.mark.parametrize("key", ["task id", "case of.the task", "a `b` | <c>", "-id", "$(id)", "'\"", "ключ"])
def test_a_key_is_taken_as_it_is_in_command_and_action(
    step: Stage, pull_request: GitHub, run: Callable[..., Run], key: str
) -> None:
    def keyed(value: str, reward: float) -> dict[str, Any]:
        *parents, last = key.split(".")
        holder: dict[str, Any] = {last: value}
        for name in reversed(parents):
            holder = {name: holder}
        return {"task_name": "the same for all", "reward": reward} | holder

    step.write([keyed("x", 1.0), keyed("y", 1.0)], [keyed("x", 0.0), keyed("y", 1.0)])
    done = step(pull_request, key=key)
    assert (done.status, done.outputs["tasks"], done.outputs["flipped"]) == (0, "2", "1")
    assert done.json["join"]["old_key"] == key
    command = run("old.jsonl", "new.jsonl", f"--key={key}", "--json", "-")
    assert (command.status, command.json["counts"]) == (0, done.json["counts"])


@pytest.mark.parametrize("key", ["a\nb", "a\rb", "a\r\nb"], ids=ascii)
def test_a_key_on_several_lines_is_refused_by_both(
    step: Stage, github: GitHub, run: Callable[..., Run], key: str
) -> None:
    done = step(github, key=key)
    assert done.status == 2
    assert "`key`" in done.error
    command = run("old.jsonl", "new.jsonl", f"--key={key}")
    assert (command.status, command.out) == (2, "")
    assert "--key" in command.err


# The same locally


def local_command(body: str) -> list[str]:
    """The arguments of the command that a report says makes the same comparison."""
    [line] = [line for line in body.split("\n") if "locally: " in line]
    page = rendered(line)
    [command] = [element.text for element in page.all("code") if element.text.startswith("rollout-compare ")]
    return shlex.split(command)[1:]


def failing(task: str, kind: str) -> dict[str, Any]:
    return row(task, None, uid=f"u {task}", _ng_failure_class=kind)


@pytest.fixture
def elaborate(step: Stage) -> Stage:
    """Rollouts of which each option tells something else."""
    tasks = [f"t{number:02}" for number in range(30)]
    old = [row("same", 1.0, uid=f"u {task}") for task in tasks]
    new = [
        row("same", 0.98, uid=f"u {task}", verifier_logs_dir=task, said={"last words": f"words of {task}"})
        for task in tasks[:26]
    ]
    step.rollouts.write("old.jsonl", old)
    step.rollouts.write(
        "new.jsonl", new, failures=[failing("t26", "time out"), failing("t27", "-crash"), failing("t28", "other")]
    )
    for task in tasks[:13]:
        step.rollouts.write(f"my logs/{task}/test-stdout.txt", [f"log of {task}"])
    return step


INPUTS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "key": {"key": "uid"},
    "margin": {"key": "uid", "margin": "0.025"},
    "fine margin": {"key": "uid", "margin": "0.0200000001"},
    "one class": {"key": "uid", "count_as_zero": "time out"},
    "several classes": {"key": "uid", "count_as_zero": "time out\nother"},
    "a class like an option": {"key": "uid", "count_as_zero": "-crash"},
    "logs": {"key": "uid", "logs_root": "my logs"},
    "logs of a side": {"key": "uid", "new_logs_root": "my logs", "old_logs_root": "nowhere"},
    "fields": {"key": "uid", "verifier_fields": "said.last words"},
    "all": {
        "key": "uid",
        "margin": "0.025",
        "count_as_zero": "time out\nother",
        "logs_root": "nowhere\nmy logs",
        "verifier_fields": "said.last words",
    },
}


@pytest.mark.parametrize("inputs", INPUTS.values(), ids=INPUTS.keys())
def test_the_command_of_a_report_makes_the_same_comparison(
    elaborate: Stage, pull_request: GitHub, run: Callable[..., Run], inputs: dict[str, Any]
) -> None:
    done = elaborate(pull_request, **inputs)
    [body] = pull_request.state.bodies()
    command = run("--json", "-", *local_command(body))
    assert (command.status, command.err) == (0, "")
    assert command.json == done.json
    again = run("--format", "markdown", *local_command(body))
    assert local_command(again.out) == local_command(body)


@pytest.mark.parametrize("margin", ["0.02", "0.0123456789", "1e-07", "0.98765432109"])
def test_the_margin_of_the_command_is_the_one_that_was_given(
    step: Stage, pull_request: GitHub, run: Callable[..., Run], margin: str
) -> None:
    step(pull_request, margin=margin)
    command = local_command(pull_request.state.bodies()[0])
    [given] = [
        argument for argument in " ".join(command).replace("=", " ").split() if re.fullmatch(r"[\d.e+-]+", argument)
    ]
    assert float(given) == float(margin)


def test_the_command_names_the_options_that_were_given(elaborate: Stage, pull_request: GitHub) -> None:
    elaborate(pull_request, **INPUTS["all"])
    given = local_command(pull_request.state.bodies()[0])
    text = " ".join(argument.replace("=", " ", 1) if argument.startswith("--") else argument for argument in given)
    for words in (
        "--key uid",
        "--margin 0.025",
        "--count-as-zero time out",
        "--count-as-zero other",
        "--logs-root my logs",
        "--verifier-field said.last words",
        "old.jsonl",
        "new.jsonl",
    ):
        assert words in text


@pytest.mark.parametrize("name", ["-n.jsonl", "--help", "with space.jsonl", "`id`.jsonl", "'\".jsonl"])
@pytest.mark.parametrize("number", [1, 2])
def test_the_command_takes_files_of_any_name(
    step: Stage, pull_request: GitHub, run: Callable[..., Run], name: str, number: int
) -> None:
    (step.workspace / "old.jsonl").rename(step.workspace / name)
    step.rollouts.write("more.jsonl", [row("c", 1.0)])
    done = step(pull_request, old="\n".join([name, "more.jsonl"][:number]))
    assert done.status == 0
    command = run("--json", "-", *local_command(pull_request.state.bodies()[0]))
    assert (command.status, command.err) == (0, "")
    assert command.json["counts"] == done.json["counts"]


# The sentence of the verdict

HARMFUL = re.compile("[\x00-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")


@pytest.mark.parametrize(
    "name",
    ["a\u202eb", "a\x1b[31mb", "a\nb", "a\r\nb", "a\x85b", "a\u2028b", "a\u2066b", "a\x00b", "a\u200bb", "a\tb"],
    ids=ascii,
)
def test_the_sentence_of_the_verdict_has_no_controls(step: Stage, pull_request: GitHub, name: str) -> None:
    rows = [row(name, 1.0, _ng_task_index=index, uuid=str(index)) for index in range(3)]
    step.write(rows, rows)
    done = step(pull_request)
    sentence = done.outputs["verdict-sentence"]
    assert done.outputs["verdict"] == "not_comparable"
    assert sentence.startswith("Not comparable")
    assert HARMFUL.findall(sentence) == []
    assert HARMFUL.findall("".join(done.notices)) == []
    assert "one name (a" in sentence


# Figures


def figures(markdown: str) -> dict[str, str]:
    """The difference of each figure, by the first words of its line; in Markdown, as its bold type matters."""
    table = re.findall(r"^\| ([^|]+) \| [^|]* \| [^|]* \| ([^|]*) \|$", markdown, re.MULTILINE)
    return {html.unescape(name).partition(",")[0]: html.unescape(value) for name, value in table}


def sides(old: list[float], new: list[float], **more: Any) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    pairs = [[row(f"t{number:02}", reward, **more) for number, reward in enumerate(rewards)] for rewards in (old, new)]
    return pairs[0], pairs[1]


def test_a_figure_that_does_not_change_is_0(step: Stage, pull_request: GitHub) -> None:
    rewards = [1.0, 0.0] * 8
    usage = {"response": {"usage": {"total_tokens": 120, "input_tokens": 100, "output_tokens": 20}}}
    step.write(*sides(rewards, rewards, **usage))
    body = own_body(step, pull_request)
    found = figures(body)
    assert {"Mean reward", "Solved", "Input tokens", "Output tokens"} <= set(found)
    assert {name: value.split(" (")[0] for name, value in found.items()} == dict.fromkeys(found, "0")
    assert "**" not in "".join(found.values())


LOST, WON, SAME = (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)


@pytest.mark.parametrize(
    ("pairs", "difference", "is_bold"),
    [
        pytest.param([LOST] * 12 + [SAME] * 8, "\N{MINUS SIGN}0.600", True, id="lost alone"),
        pytest.param([WON] * 12 + [SAME] * 8, "+0.600", True, id="won alone"),
        pytest.param([LOST] * 3 + [WON] * 2 + [SAME] * 15, "\N{MINUS SIGN}0.050", False, id="nearly as many won"),
        pytest.param([LOST] * 4 + [WON] * 4 + [SAME] * 12, "0", False, id="as many won"),
        pytest.param([SAME] * 20, "0", False, id="all the same"),
    ],
)
def test_a_difference_is_bold_when_its_interval_leaves_out_0(
    step: Stage, pull_request: GitHub, pairs: list[tuple[float, float]], difference: str, is_bold: bool
) -> None:
    step.write(*sides([old for old, _ in pairs], [new for _, new in pairs]))
    body = own_body(step, pull_request)
    shown = figures(body)["Mean reward"]
    assert shown.split(" (")[0] == (f"**{difference}**" if is_bold else difference)
