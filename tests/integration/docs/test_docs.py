"""The documentation says what is there: links, options, inputs and outputs, workflows, templates, shown commands."""

from __future__ import annotations

import functools
import json
import math
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import jinja2.meta
import pytest
import yaml

from rollout_compare import archive
from rollout_compare.core import schema
from rollout_compare.github.baselines import lookup, runs
from rollout_compare.github.settings import OUTPUTS, SettingError, Settings, input_names
from rollout_compare.version import VERSION
from tests import rules
from tests.conftest import Compare
from tests.github import Element, rendered
from tests.places import BIN, ROOT, SCHEMA
from tests.rules import SEMANTICS

DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.glob("*.md"), *ROOT.glob("examples/**/*.md"), *ROOT.glob("benchmarks/*.md")])
WORKFLOWS = sorted((ROOT / "examples" / "workflows").glob("*.yml"))
REPORTS = (DOCS / "reports.md").read_text(encoding="utf-8")
RECIPES = (DOCS / "recipes.md").read_text(encoding="utf-8")
SUMMARY = SEMANTICS[SEMANTICS.index("## The JSON summary") : SEMANTICS.index("## Exit status")]
SHAPE: dict[str, Any] = json.loads(SCHEMA.read_text(encoding="utf-8"))
HEADINGS = ("h1", "h2", "h3", "h4")
REQUIRED = {"INPUT_OLD": "old.jsonl", "INPUT_NEW": "new.jsonl"}


@functools.cache
def read(page: Path) -> Element:
    return rendered(page.read_text(encoding="utf-8"))


def blocks(text: str, language: str = "") -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """The names that GitHub gives to the headings of a page."""
    names: set[str] = set()
    for heading in read(page).all(*HEADINGS):
        plain = re.sub(r"[^\w\- ]", "", heading.text.strip().lower()).replace(" ", "-")
        name = next(n for n in (plain, *(f"{plain}-{i}" for i in range(1, 100))) if n not in names)
        names.add(name)
    return names


def links(page: Path) -> Iterator[str]:
    for element in read(page).all("a", "img"):
        for name, value in element.attributes:
            if name in ("href", "src") and value:
                yield unquote(value)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_within_the_documentation_leads_somewhere(page: Path) -> None:
    for link in links(page):
        if re.match("[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = page if not path else Path(os.path.normpath(page.parent / path))
        assert target.exists(), link
        assert target.is_relative_to(ROOT), link
        if anchor:
            assert anchor in anchors(target), link


def test_every_page_of_docs_is_named_in_the_readme() -> None:
    named = {link.partition("#")[0] for link in links(ROOT / "README.md")}
    assert {f"docs/{page.name}" for page in DOCS.glob("*.md")} <= named


def test_every_option_is_in_the_documentation(run: Compare) -> None:
    options = set(re.findall(r"--[a-z][a-z-]+", run("--help").out)) - {"--help"}
    assert len(options) > 15
    said = "".join(page.read_text(encoding="utf-8") for page in [ROOT / "README.md", *DOCS.glob("*.md")])
    assert {option for option in options if not re.search(rf"{option}(?![\w-])", said)} == set()


def test_no_option_is_in_the_documentation_that_is_not_there(run: Compare) -> None:
    options = set(re.findall(r"--[a-z][a-z-]+", run("--help").out))
    for text in ((ROOT / "README.md").read_text(encoding="utf-8"), REPORTS):
        commands = re.findall(r"^\$? ?rollout-compare .*$", text, re.MULTILINE)
        assert commands
        assert set(re.findall(r"(?<!\S)--[a-z][a-z-]+", " ".join(commands))) <= options


class Row(NamedTuple):
    name: str
    default: str
    description: str


def tables() -> tuple[list[Row], list[Row]]:
    """Inputs and outputs as the page has them."""
    found = [
        [[cell.text for cell in row.all("td")] for row in table.all("tr")][1:]
        for table in read(DOCS / "inputs-and-outputs.md").all("table")[:2]
    ]
    return [Row(*cells) for cells in found[0]], [Row(name, "", description) for name, description in found[1]]


def action(part: str) -> list[Row]:
    """Inputs or outputs as action.yml has them, whose texts are those of JSON."""
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    section = re.search(rf"^{part}:\n((?:  .*\n)+)", text, re.MULTILINE)
    assert section is not None
    rows = []
    for name, body in re.findall(r"^  ([a-z-]+):\n((?:    .*\n)+)", section[1], re.MULTILINE):
        said = {key: json.loads(value) for key, value in re.findall(r"^    ([a-z]+): (.*)$", body, re.MULTILINE)}
        default = "required" if said.get("required") else said.get("default", "")
        rows.append(Row(name, default, said["description"].replace("`", "")))
    return rows


def test_inputs_and_outputs_are_the_same_in_the_settings_in_action_yml_and_on_the_page() -> None:
    inputs, outputs = tables()
    assert action("inputs") == inputs
    assert action("outputs") == outputs
    assert [row.name for row in inputs] == input_names()
    assert {row.name: row.description for row in outputs} == {
        name: description.replace("`", "") for name, description in OUTPUTS.items()
    }


def test_every_documented_default_is_what_an_input_that_is_not_set_means() -> None:
    inputs, _ = tables()
    unset = Settings.from_environment(REQUIRED)
    told = {f"INPUT_{row.name.upper()}": row.default for row in inputs if row.default and row.default != "required"}
    assert told.pop("INPUT_GITHUB-TOKEN") == "${{ github.token }}"
    assert len(told) >= 5
    assert Settings.from_environment(REQUIRED | told) == unset
    for row in inputs:
        if row.default == "required":
            with pytest.raises(SettingError, match=row.name):
                Settings.from_environment({k: v for k, v in REQUIRED.items() if k != f"INPUT_{row.name.upper()}"})


def test_what_is_written_from_the_settings_is_in_step_with_them() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "action_files.py", "--check"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_each_workflow_is_on_the_page_of_recipes_as_it_is(workflow: Path) -> None:
    name = workflow.name
    text = workflow.read_text(encoding="utf-8")
    assert f"\n[`{name}`](../examples/workflows/{name}):\n\n```yaml\n{text}```\n" in RECIPES


def test_the_page_of_recipes_holds_no_workflow_that_is_no_file() -> None:
    assert len(WORKFLOWS) == len(blocks(RECIPES, "yaml")) > 5


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_grant_nothing_by_default_and_pin_what_others_wrote(workflow: Path) -> None:
    text = workflow.read_text(encoding="utf-8")
    whole = yaml.safe_load(text)
    # With permissions of its own, a job has none of the default ones.
    assert whole.get("permissions") == {} or all("permissions" in job for job in whole["jobs"].values())
    used = re.findall(r"uses: ([^\s,]+)", text)
    assert used
    for name in used:
        if not name.startswith("org/rollout-compare@"):
            assert re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40}", name)
            assert re.search(rf"{name}.* # v\d+\.\d+\.\d+\n", text)
    assert text.count("persist-credentials: false") == text.count("actions/checkout@")
    assert not re.search(r"run: .*\$\{\{", text)


def test_workflows_use_inputs_and_outputs_that_exist() -> None:
    for workflow in WORKFLOWS:
        text = workflow.read_text(encoding="utf-8")
        assert set(re.findall(r"steps\.comparison\.outputs\.([a-z-]+)", text)) <= set(OUTPUTS)
        steps = [step for job in yaml.safe_load(text)["jobs"].values() for step in job["steps"]]
        ours = [step for step in steps if step.get("uses", "").startswith("org/rollout-compare@")]
        for step in ours:
            assert step["with"]
            assert set(step["with"]) <= set(input_names())


def test_every_block_and_name_of_the_template_is_documented() -> None:
    source = (ROOT / "src/rollout_compare/report/templates/report.md.j2").read_text(encoding="utf-8")
    section = REPORTS[REPORTS.index("### Blocks") :]
    documented = set(re.findall(r"`(\w+)", section))
    environment = jinja2.Environment(autoescape=True, trim_blocks=True)
    for name in ("cell", "cells", "html", "fence", "ours"):
        environment.filters[name] = str
        assert f"| {name} }}}}" in section
    printed = jinja2.meta.find_undeclared_variables(environment.parse(source))
    fields = set(re.findall(r"\b(?:flip|signal|figure|maker|row|warning|section|listing|group|groups)\.(\w+)", source))
    assert {"figures", "sections", "marker"} <= printed
    assert {"task", "data", "row_tags"} <= fields
    assert printed | fields | set(re.findall(r"{% block (\w+)", source)) <= documented


@functools.cache
def shown_commands() -> list[tuple[str, str]]:
    """The commands of docs/reports.md, each with its output."""
    shown = [block.partition("\n") for block in blocks(REPORTS) if block.startswith("$ rollout-compare ")]
    return [(command.removeprefix("$ "), output) for command, _, output in shown]


def shell(script: str, folder: Path, *, stderr: int) -> str:
    """What a script prints, with this project's commands on its path."""
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["/bin/sh", "-c", script], cwd=folder, env={"PATH": path, "LC_ALL": "C.UTF-8"},
        stdout=subprocess.PIPE, stderr=stderr, encoding="utf-8", check=False, timeout=60,
    )  # fmt: skip
    return done.stdout


@pytest.mark.parametrize("place", range(len(shown_commands())))
def test_a_command_that_is_shown_gives_what_is_shown(place: int, tmp_path: Path) -> None:
    command, output = shown_commands()[place]
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "own.md.j2").write_text(blocks(REPORTS, "jinja")[0], encoding="utf-8")
    assert shell(command, tmp_path, stderr=subprocess.STDOUT) == output


def test_the_worked_example_of_the_statistics_gives_what_is_shown(tmp_path: Path) -> None:
    page = (DOCS / "statistics.md").read_text(encoding="utf-8")
    shown = re.findall(r"^```bash\n(.*?)^```\n\n```\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    (console,) = [block for block in blocks(page) if block.startswith("$ ")]
    shown += re.findall(r"^\$ (.*\n)((?:(?!\$ ).*\n)+)", console, re.MULTILINE)
    assert len(shown) == 4
    for script, output in shown:
        # What a reader may lack is left out with what it prints.
        commands = re.sub(r"^jq .*\n", "", script, flags=re.MULTILINE)
        kept = output if commands == script else re.sub(r"^\[.*\n", "", output, flags=re.MULTILINE)
        assert shell(commands, tmp_path, stderr=subprocess.DEVNULL) == kept


def test_the_python_example_of_the_readme_runs(tmp_path: Path) -> None:
    (example,) = blocks((ROOT / "README.md").read_text(encoding="utf-8"), "python")
    for name in ("old.jsonl", "new.jsonl"):
        (tmp_path / name).symlink_to(ROOT / "examples" / "legacy-vs-harbor" / name)
    done = subprocess.run(
        [sys.executable, "-c", example], cwd=tmp_path, capture_output=True, encoding="utf-8", check=False, timeout=60
    )
    assert done.stderr == ""
    first, second = done.stdout.splitlines()
    assert first.startswith("Too little to conclude: ")
    assert second == "3 ['chess-best-move', 'fix-git', 'headless-terminal']"


def test_every_module_is_in_the_table_of_architecture_and_no_other_one() -> None:
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    package = ROOT / "src" / "rollout_compare"
    table = re.findall(
        r"^\| (`[^|]+`) \| .+ \|$", page[page.index("## The rooms") : page.index("## The arrows")], re.MULTILINE
    )
    named = re.findall(r"`([^`]+)`", " ".join(table))
    files = {str(file.relative_to(package).with_suffix("")) for file in package.rglob("*.py")}
    modules = {name for name in files if name == "__init__" or not name.endswith("/__init__")}
    assert len(named) == len(set(named))
    assert set(named) - {"report/templates/"} == modules


def test_every_field_of_the_summary_is_told_under_its_name() -> None:
    told = set(re.findall(r"`(?:[a-z]+(?:\[\])?\.|\.)*(\w+)`", SUMMARY))
    objects = SHAPE["$defs"]
    assert set(SHAPE["properties"]) <= told | {"sides"}
    for name in (
        *("BaselineSummary", "Counts", "JoinSummary", "OneSidedSummary", "SideSummary", "SidecarSummary"),
        *("StatisticsSummary", "TaskEntry", "TaskSideEntry", "VerdictSummary", "VerifierOutputEntry", "WarningEntry"),
    ):
        assert set(objects[name]["properties"]) <= told, name


def test_every_field_that_names_a_task_is_told_at_its_rank() -> None:
    assert rules.KEY_CANDIDATES == schema.TASK_KEY_CANDIDATES
    assert rules.FALLBACK_RUNGS == schema.FALLBACK_KEYS


def test_every_field_with_verifier_output_is_told_in_its_order() -> None:
    assert rules.VERIFIER_FIELDS == schema.EMBEDDED_VERIFIER_FIELDS
    assert rules.LATER_VERIFIER_FIELDS == schema.FALLBACK_VERIFIER_FIELDS


def first_column(page: str, heading: str) -> list[str]:
    """The names in the first column of the first table below a heading."""
    table = page[page.index(f"\n{heading}\n") :].partition("|:--|")[2].partition("\n\n")[0]
    return re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)


def test_every_warning_is_told_in_the_order_of_the_schema() -> None:
    assert (
        first_column(SEMANTICS, "## Warnings and notes") == SHAPE["$defs"]["WarningEntry"]["properties"]["code"]["enum"]
    )


def test_every_kind_of_verdict_is_told_wherever_kinds_are_listed() -> None:
    kinds = set(SHAPE["$defs"]["VerdictSummary"]["properties"]["kind"]["enum"])
    statistics = (DOCS / "statistics.md").read_text(encoding="utf-8")
    rules = SEMANTICS[SEMANTICS.index("The **verdict** is") : SEMANTICS.index("## The text report")]
    for told in (SUMMARY, rules, statistics[statistics.index("## Verdict") :], OUTPUTS["verdict"]):
        assert kinds <= set(re.findall(r"`(\w+)`", told))


def test_limits_of_artifacts_are_told_as_they_are() -> None:
    gib = archive.LARGEST >> 30
    for name in ("inputs-and-outputs.md", "security.md"):
        page = " ".join((DOCS / name).read_text(encoding="utf-8").split())
        for limit in (
            f"{archive.MOST_ENTRIES:,} entries", f"{gib} GiB", f"{archive.LARGEST_RATIO} times its packed size",
        ):  # fmt: skip
            assert limit in page
    searched = " ".join((DOCS / "inputs-and-outputs.md").read_text(encoding="utf-8").split())
    assert f"newest {runs.MOST_ARTIFACTS:,} artifacts" in searched
    assert f"newest {runs.MOST_RUNS:,} successful runs" in searched
    assert f"newest {lookup.MOST_ASKED} of these runs" in searched


def test_the_action_is_named_by_the_major_number_of_this_version() -> None:
    texts = [file.read_text(encoding="utf-8") for file in [ROOT / "README.md", *DOCS.glob("*.md"), *WORKFLOWS]]
    tags = re.findall(r"org/rollout-compare@(\S+?)[\s,]", "".join(texts))
    assert len(tags) > len(WORKFLOWS)
    assert set(tags) == {f"v{VERSION.partition('.')[0]}"}


def test_every_target_of_make_that_is_told_is_there() -> None:
    targets = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    told = set()
    for page in PAGES:
        told.update(re.findall(r"(?:^\$ |`|^)make ([a-z0-9-]+)", page.read_text(encoding="utf-8"), re.MULTILINE))
    assert {"demo", "test", "check"} <= told
    assert told <= targets


def rows(**rewards: Sequence[float | None]) -> str:
    """Rollouts of tasks, one row for each reward; None is a row without one."""
    lines = [{"task_id": task, "reward": reward} for task, found in rewards.items() for reward in found]
    return "".join(json.dumps(line) + "\n" for line in lines)


@pytest.fixture
def summary_of(run: Compare, tmp_path: Path) -> Callable[[str, str], None]:
    """Writes the summary of two texts of rollouts."""

    def write(old: str, new: str) -> None:
        (tmp_path / "old.jsonl").write_text(old, encoding="utf-8")
        (tmp_path / "new.jsonl").write_text(new, encoding="utf-8")
        paths = [str(tmp_path / name) for name in ("old.jsonl", "new.jsonl", "summary.json")]
        assert run(*paths[:2], "--json", paths[2]).status == 0

    return write


def questions() -> list[str]:
    """The examples of jq, each a command that may go on in lines that are set in."""
    [block] = [block for block in blocks(SUMMARY, "bash") if "jq " in block]
    return re.findall(r"^jq .*\n(?: +.*\n)*", block, re.MULTILINE)


def ask(question: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", "-c", question], cwd=folder, capture_output=True, encoding="utf-8", check=False, timeout=60
    )


needs_jq = pytest.mark.skipif(shutil.which("jq") is None, reason="there is no jq on this machine")


@needs_jq
def test_the_questions_by_jq_are_answered_as_worked_out_by_hand(
    summary_of: Callable[[str, str], None], tmp_path: Path
) -> None:
    summary_of(
        rows(clear=[1, 1, 1, 1], less=[1], more=[0], same=[1], odd=[1, 1], none=[1], neither=[None]),
        rows(clear=[0, 0, 0, 0], less=[0.5], more=[1], same=[1], odd=[1], none=[None], neither=[None]),
    )
    answers = [ask(question, tmp_path) for question in questions()]
    assert [(done.returncode, done.stderr) for done in answers] == [(0, "")] * len(answers)
    worse, verdict, interval, clear, reasons, warnings, gate = (done.stdout for done in answers)
    assert worse == "clear\t1\t0\nless\t1\t0.5\n"
    assert verdict.startswith("too_little\nToo little to conclude: 5 paired tasks")
    # Differences -1, -0.5, 1, 0, 0: their mean is -0.1, the squares around it 2.25 - 0.05, and 2 for the added pair.
    reach = 1.959964 * math.sqrt(4.2) / 5
    assert json.loads(interval) == pytest.approx([5, -0.1, -0.1 - reach, -0.1 + reach], abs=1e-6)
    # Two of the C(8, 4) = 70 ways to deal out four ones are as uneven as all on one side.
    task, winner, p = clear.split()
    assert (task, winner) == ("clear", "old")
    assert float(p) == pytest.approx(2 / 70)
    assert json.loads(reasons) == [{"reason": "no reward", "times": 3}]
    assert warnings == "unequal_repeats 1\n"
    assert gate == "true\n"


@needs_jq
def test_the_gate_by_jq_fails_for_a_lower_new_side(summary_of: Callable[[str, str], None], tmp_path: Path) -> None:
    tasks = [f"t{place}" for place in range(20)]
    summary_of(rows(**{task: [1] for task in tasks}), rows(**{task: [int(task > "t5")] for task in tasks}))
    [gate] = [question for question in questions() if question.startswith("jq -e ")]
    assert ask(gate, tmp_path).returncode == 1
