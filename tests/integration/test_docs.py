"""The documentation says what is there: links, options, inputs and outputs, workflows, templates, shown commands."""

from __future__ import annotations

import functools
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

import jinja2.meta
import pytest
import yaml

from rollout_compare.github.settings import OUTPUTS, SettingError, Settings, input_names
from tests.conftest import Run
from tests.github import Element, rendered

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.glob("*.md"), *ROOT.glob("examples/**/*.md"), *ROOT.glob("benchmarks/*.md")])
WORKFLOWS = sorted((ROOT / "examples" / "workflows").glob("*.yml"))
REPORTS = (DOCS / "reports.md").read_text(encoding="utf-8")
RECIPES = (DOCS / "recipes.md").read_text(encoding="utf-8")
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


def test_every_option_is_in_the_documentation(run: Callable[..., Run]) -> None:
    options = set(re.findall(r"--[a-z][a-z-]+", run("--help").out)) - {"--help"}
    assert len(options) > 15
    said = "".join(page.read_text(encoding="utf-8") for page in [ROOT / "README.md", *DOCS.glob("*.md")])
    assert {option for option in options if not re.search(rf"{option}(?![\w-])", said)} == set()


def test_no_option_is_in_the_documentation_that_is_not_there(run: Callable[..., Run]) -> None:
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
    unset = Settings.of_environment(REQUIRED)
    told = {f"INPUT_{row.name.upper()}": row.default for row in inputs if row.default and row.default != "required"}
    assert told.pop("INPUT_GITHUB-TOKEN") == "${{ github.token }}"
    assert len(told) >= 5
    assert Settings.of_environment(REQUIRED | told) == unset
    for row in inputs:
        if row.default == "required":
            with pytest.raises(SettingError, match=row.name):
                Settings.of_environment({k: v for k, v in REQUIRED.items() if k != f"INPUT_{row.name.upper()}"})


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
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
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
