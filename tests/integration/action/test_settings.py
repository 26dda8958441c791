"""The inputs: their defaults, what each takes, and what is said of a value that is not allowed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from rollout_compare.github.settings import OUTPUTS, Settings, input_names
from tests.integration.action.conftest import Stage, row
from tests.stand_in import GitHub

ROOT = Path(__file__).parents[3]
TOKEN = "ghs_" + "t" * 36


def settings(**inputs: str) -> Settings:
    variables = {f"INPUT_{name.upper().replace('_', '-')}": value for name, value in inputs.items()}
    return Settings.from_environment({"INPUT_OLD": "old.jsonl", "INPUT_NEW": "new.jsonl"} | variables)


def test_inputs_that_are_not_set_have_their_defaults(step: Stage, pull_request: GitHub) -> None:
    step.rollouts.write("out/test-stdout.txt", [f"line {number:02}" for number in range(1, 31)])
    step.write([row("a", 1.0)], [row("a", 0.0, verifier_logs_dir="out")])
    done = step(pull_request)
    assert sorted(path.name for path in (step.workspace / "rollout-compare-report").iterdir()) == [
        "report.html",
        "report.md",
        "summary.json",
    ]
    assert done.summary.startswith("<!-- rollout-compare:default -->\n")
    assert done.outputs["comment-id"] != ""
    assert re.findall(r"^line \d\d$", done.text("report.md"), re.MULTILINE) == [f"line {n:02}" for n in range(16, 31)]


def test_fifteen_lines_of_an_embedded_output_are_shown(step: Stage, pull_request: GitHub) -> None:
    lines = "\n".join(f"line {number:02}" for number in range(1, 31))
    step.write([row("a", 1.0)], [row("a", 0.0, test_output=lines)])
    shown = re.compile(r"^line \d\d$", re.MULTILINE)
    assert shown.findall(step(pull_request).text("report.md")) == [f"line {number:02}" for number in range(16, 31)]
    assert len(shown.findall(step(pull_request, tail=3).text("report.md"))) == 3
    assert len(shown.findall(step(pull_request, tail=0).text("report.md"))) == 0


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *((text, True) for text in ("", " ", "true", "TRUE", "True", " true ", "tRuE\n")),
        *((text, False) for text in ("false", "FALSE", "False", " false\n")),
    ],
)
def test_true_and_false_are_known_in_any_case(text: str, value: bool) -> None:
    assert settings(job_summary=text).job_summary is value


@pytest.mark.parametrize("text", ["yes", "no", "1", "0", "on", "off", "y", "truee", "true false", "null", "\u0422RUE"])
def test_nothing_else_is_true_or_false(step: Stage, github: GitHub, text: str) -> None:
    done = step(github, job_summary=text)
    assert done.status == 2
    assert "`job-summary`" in done.error
    assert "true or false" in done.error


@pytest.mark.parametrize(
    ("name", "text", "allowed"),
    [
        ("tail", "many", "number"),
        ("tail", "-1", "number"),
        ("tail", "1.5", "number"),
        ("tail", "٣", "number"),
        ("tail", "9" * 5_000, "number"),
        ("comment", "sometimes", "always, changes or off"),
        ("comment", "true", "always, changes or off"),
        ("comment-id", "a b", "A-Z"),
        ("comment-id", "x" * 65, "64"),
        ("comment-id", "x -->", "A-Z"),
        ("comment-id", "é", "A-Z"),
        ("comment-id", "a\nb", "A-Z"),
        ("pr-number", "0", "number"),
        ("pr-number", "-4", "number"),
        ("pr-number", "#4", "number"),
        ("pr-number", "4/../5", "number"),
        ("pr-number", "four", "number"),
        ("margin", "wide", "above 0"),
        ("margin", "0", "above 0"),
        ("margin", "-0.1", "above 0"),
        ("margin", "nan", "above 0"),
        ("margin", "inf", "above 0"),
        ("margin", "0%", "0.02 or 2%"),
        ("redact", "(", "regular expressions"),
        ("redact", "fine\n[", "regular expressions"),
        ("verifier-fields", "a..b", "field names"),
        ("verifier-fields", "fine\nnot..fine", "field names"),
        ("key", "a..b", "field name"),
    ],
)
def test_a_value_that_is_not_allowed_fails_with_the_inputs_name_and_what_is(
    step: Stage, github: GitHub, name: str, text: str, allowed: str
) -> None:
    given: dict[str, Any] = {name: text}
    done = step(github, **given)
    assert done.status == 2
    assert f"`{name}`" in done.error
    assert allowed in done.error
    assert github.requests == []
    assert done.out.count("::error") == 1


def test_a_margin_in_percent_is_a_hundredth(step: Stage, pull_request: GitHub) -> None:
    rows = [{"task_id": f"t{k}", "reward": k % 2} for k in range(200)]
    step.write(rows, [row | {"side": "new"} for row in rows])
    # Nothing changed in 200 tasks: ±1.39 points, and 3 in 200 are 1.5.
    assert step(pull_request, margin="1.5%").outputs["verdict"] == "within_margin"
    assert step(pull_request, margin="1.4%").outputs["verdict"] == "no_clear_difference"


@pytest.mark.parametrize("margin", ["2", "200%"])
def test_a_margin_that_allows_any_difference_is_an_input_error(step: Stage, pull_request: GitHub, margin: str) -> None:
    done = step(pull_request, margin=margin)
    assert done.status == 2
    assert "0.02 is 2 points" in done.error
    assert done.out.count("::error") == 1
    assert pull_request.state.bodies() == []


def test_an_error_does_not_repeat_a_value_that_may_be_secret(step: Stage, github: GitHub) -> None:
    for name in ("tail", "comment", "comment_id", "pr_number", "margin", "job_summary", "redact", "key"):
        given: dict[str, Any] = {name: f"( {TOKEN}\n::add-mask::x"}
        done = step(github, **given)
        assert done.status == 2
        assert TOKEN not in done.told


@pytest.mark.parametrize("name", ["old", "new"])
@pytest.mark.parametrize("text", ["", "  \n "])
def test_a_missing_side_is_named(step: Stage, github: GitHub, name: str, text: str) -> None:
    given: dict[str, Any] = {name: text}
    done = step(github, **given)
    assert done.status == 2
    assert f"`{name}`" in done.error


def test_a_broken_template_is_named(step: Stage, pull_request: GitHub) -> None:
    (step.workspace / "broken.md.j2").write_text("{% if %}")
    done = step(pull_request, template="broken.md.j2")
    assert done.status == 2
    assert "broken.md.j2" in done.error
    assert pull_request.requests == []


def test_a_missing_template_is_named(step: Stage, pull_request: GitHub) -> None:
    done = step(pull_request, template="absent.md.j2")
    assert done.status == 2
    assert "absent.md.j2" in done.error


def test_a_template_of_ones_own_is_used(step: Stage, pull_request: GitHub) -> None:
    source = '{% extends "report.md.j2" %}{% block title %}### Our own title{% endblock %}'
    (step.workspace / "own.md.j2").write_text(source)
    done = step(pull_request, template="own.md.j2")
    assert "### Our own title" in pull_request.state.bodies()[0]
    assert "### Our own title" in done.summary


@pytest.mark.parametrize("form", ["INPUT_{}", "INPUT_{} with underscores"])
def test_names_with_hyphens_and_with_underscores_are_both_read(step: Stage, pull_request: GitHub, form: str) -> None:
    names = {"report-dir": "elsewhere", "comment-id": "math", "job-summary": "false", "logs-root": "logs"}
    variables = {}
    for name, value in names.items():
        given = name.replace("-", "_") if "underscores" in form else name
        variables[f"INPUT_{given.upper()}"] = value
    step(pull_request, environment=variables)
    assert (step.workspace / "elsewhere" / "summary.json").is_file()
    assert pull_request.state.bodies()[0].startswith("<!-- rollout-compare:math -->\n")


def test_the_token_is_read_under_both_names(step: Stage, pull_request: GitHub) -> None:
    step(pull_request, token="", environment={"INPUT_GITHUB_TOKEN": "ghs_installation"})
    assert len(pull_request.state.bodies()) == 1


@pytest.mark.parametrize("token", ["ghs_installation\n", "  ghs_installation  ", "ghs_installation\r\n"])
def test_white_space_round_a_token_does_no_harm(step: Stage, pull_request: GitHub, token: str) -> None:
    done = step(pull_request, token=token)
    assert (len(pull_request.state.bodies()), done.warnings) == (1, [])


def test_a_token_that_no_header_can_hold_is_a_warning(step: Stage, pull_request: GitHub) -> None:
    done = step(pull_request, token="ghs_two\nlines\u2028of_it")  # noqa: S106
    assert (done.status, len(done.warnings), pull_request.writes) == (0, 1, [])
    assert "lines" not in done.warnings[0]


def test_settings_do_not_show_the_token() -> None:
    made = settings(github_token=TOKEN)
    shown = [repr(made), str(made), repr(made.model_dump()), made.model_dump_json(), repr(vars(made))]
    assert not [text for text in shown if TOKEN in text]


def test_the_title_is_told_as_it_is_and_on_one_line(step: Stage, pull_request: GitHub) -> None:
    step(pull_request, title="a | b `c`\n# d <!-- rollout-compare:default --> @octocat")
    body = pull_request.state.bodies()[0]
    assert body.count("<!-- rollout-compare:default -->") == 1
    [title] = [line for line in body.split("\n") if line.startswith("### ")]
    assert "octocat" in title


def test_the_key_and_the_margin_reach_the_comparison(step: Stage, pull_request: GitHub) -> None:
    rows = [{"uid": str(number), "task_name": "same", "reward": 1.0} for number in range(200)]
    step.write(rows, rows)
    done = step(pull_request, key="uid", margin="0.05")
    assert (done.json["counts"]["tasks"], done.outputs["tasks"]) == (200, "200")
    assert done.outputs["verdict"] == "within_margin"


def test_recorded_failures_count_as_zero_on_request(step: Stage, pull_request: GitHub) -> None:
    step.rollouts.write("old.jsonl", [row("a", 1.0)])
    step.rollouts.write("new.jsonl", [row("b", 1.0)], failures=[row("a", None, _ng_failure_class="timeout")])
    masked, counted = step(pull_request).outputs, step(pull_request, count_as_zero="crash\n timeout \n").outputs
    assert (masked["masked"], masked["flipped"]) == ("1", "0")
    assert (counted["masked"], counted["flipped"]) == ("0", "1")


def action() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    return loaded


def test_the_manifest_has_the_inputs_of_the_model() -> None:
    inputs = action()["inputs"]
    assert list(inputs) == input_names()
    for name, entry in inputs.items():
        # Of a path and an artifact one must be given, which a manifest cannot say.
        assert not entry.get("required"), name
        assert entry["description"].strip(), name


def test_the_manifest_has_the_defaults_of_the_model() -> None:
    inputs = action()["inputs"]
    given = {f"INPUT_{name.upper()}": str(entry.get("default", "")) for name, entry in inputs.items()}
    given["INPUT_GITHUB-TOKEN"] = ""
    sides = {"INPUT_OLD": "old.jsonl", "INPUT_NEW": "new.jsonl"}
    assert Settings.from_environment(given | sides) == Settings.from_environment(sides)
    assert inputs["github-token"]["default"] == "${{ github.token }}"


def test_the_manifest_has_the_outputs_of_the_model() -> None:
    outputs = action()["outputs"]
    assert list(outputs) == list(OUTPUTS)
    assert all(entry["description"].strip() for entry in outputs.values())


def test_the_manifest_starts_the_command_of_the_action_in_a_container() -> None:
    runs = action()["runs"]
    assert runs["using"] == "docker"
    assert runs["entrypoint"].startswith("/")
    assert runs["entrypoint"].endswith("/rollout-compare-action")


def test_the_page_of_inputs_and_outputs_names_the_same() -> None:
    text = (ROOT / "docs/inputs-and-outputs.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| `([a-z-]+)` \|", text, re.MULTILINE)
    assert named == [*input_names(), *OUTPUTS]


def test_a_step_sets_exactly_the_outputs_that_are_promised(step: Stage, pull_request: GitHub) -> None:
    done = step(pull_request)
    assert list(done.outputs) == list(action()["outputs"])
    counts = json.loads(done.text("summary.json"))["counts"]
    assert {name.replace("_", "-"): str(value) for name, value in counts.items()}.items() <= done.outputs.items()
