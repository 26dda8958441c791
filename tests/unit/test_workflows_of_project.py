"""The project's own workflows ask for no more than they need, and what they use cannot change under them."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.places import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
SCHEMAS = {
    ".github/dependabot.yml": "vendor.dependabot",
    ".github/ISSUE_TEMPLATE/config.yml": "vendor.github-issue-config",
    ".github/ISSUE_TEMPLATE/bug.yml": "vendor.github-issue-forms",
    ".github/ISSUE_TEMPLATE/feature.yml": "vendor.github-issue-forms",
}
USES = re.compile(r"^ *(?:- )?uses: (.*)$", re.MULTILINE)
PINNED = re.compile(r"[\w.-]+/[\w.-]+(?:/[\w./-]+)?@[0-9a-f]{40} # v\d+\.\d+\.\d+")

each_workflow = pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)


def load(file: Path) -> dict[Any, Any]:
    loaded: dict[Any, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
    return loaded


def jobs(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    yield from load(file)["jobs"].items()


def test_there_are_workflows_for_changes_releases_and_the_action_itself() -> None:
    assert [file.name for file in WORKFLOWS] == ["ci.yml", "dogfood.yml", "release.yml"]


@each_workflow
def test_a_workflow_has_no_permission_that_a_job_does_not_ask_for(file: Path) -> None:
    assert load(file)["permissions"] == {}
    for name, job in jobs(file):
        assert isinstance(job["permissions"], dict), name


@each_workflow
def test_every_action_is_pinned_by_its_full_commit_with_its_version_beside_it(file: Path) -> None:
    used = USES.findall(file.read_text(encoding="utf-8"))
    assert used
    assert [name for name in used if not name.startswith("./") and not PINNED.fullmatch(name)] == []


def test_an_action_is_pinned_to_one_commit_wherever_it_is_used() -> None:
    files = [*WORKFLOWS, *(ROOT / "examples" / "workflows").glob("*.yml")]
    pins: dict[str, set[str]] = {}
    for file in files:
        for used in USES.findall(file.read_text(encoding="utf-8")):
            if PINNED.fullmatch(used):
                pins.setdefault(used.partition("@")[0], set()).add(used)
    assert "actions/checkout" in pins
    assert {name: found for name, found in pins.items() if len(found) > 1} == {}


@each_workflow
def test_every_job_ends_by_itself(file: Path) -> None:
    for name, job in jobs(file):
        # A called workflow has limits of its own.
        assert job.get("uses", "").startswith("./") or 0 < job["timeout-minutes"] <= 60, name


@each_workflow
def test_runs_of_a_workflow_do_not_overtake_each_other(file: Path) -> None:
    assert load(file)["concurrency"]["group"]


@each_workflow
def test_no_token_stays_in_a_checkout(file: Path) -> None:
    for name, job in jobs(file):
        for step in job.get("steps", ()):
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False, name


@each_workflow
def test_no_expression_is_written_into_a_script(file: Path) -> None:
    for name, job in jobs(file):
        for step in job.get("steps", ()):
            assert "${{" not in step.get("run", ""), name


def test_code_of_a_pull_request_never_runs_with_the_rights_of_the_base() -> None:
    for file in WORKFLOWS:
        # YAML 1.1 reads the key `on` as true.
        events = load(file)[True]
        assert {"pull_request_target", "workflow_run", "issue_comment"}.isdisjoint(events), file.name


def test_only_a_release_may_write_to_the_repository_or_to_packages() -> None:
    writers = {
        (file.name, right)
        for file in WORKFLOWS
        for _, job in jobs(file)
        for right, level in job["permissions"].items()
        if level == "write"
    }
    assert {right for name, right in writers if name != "release.yml"} == {"pull-requests"}


def test_a_release_is_made_of_main_after_all_tests() -> None:
    steps = dict(jobs(ROOT / ".github" / "workflows" / "release.yml"))
    assert steps["check"]["if"] == "github.ref == 'refs/heads/main'"
    assert steps["test"]["uses"] == "./.github/workflows/ci.yml"
    assert {"check", "test"} <= set(steps["image"]["needs"])
    assert {"image", "platforms"} <= set(steps["release"]["needs"])


def test_ci_is_the_same_script_that_anyone_can_run() -> None:
    ran = [step.get("run") for _, job in jobs(ROOT / ".github" / "workflows" / "ci.yml") for step in job["steps"]]
    assert ".ci/run" in ran


def test_ci_tries_every_python_that_the_package_names() -> None:
    named = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', (ROOT / "pyproject.toml").read_text("utf-8"))
    tried = load(ROOT / ".github" / "workflows" / "ci.yml")["jobs"]["pythons"]["strategy"]["matrix"]["python"]
    assert tried == named


@pytest.mark.parametrize(("file", "schema"), SCHEMAS.items())
def test_what_github_reads_has_the_shape_that_it_expects(file: str, schema: str) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, file]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_every_form_for_issues_is_checked() -> None:
    folder = ROOT / ".github" / "ISSUE_TEMPLATE"
    assert {f".github/ISSUE_TEMPLATE/{file.name}" for file in folder.iterdir()} <= set(SCHEMAS)


def test_dependabot_waits_some_days_and_groups_what_it_finds() -> None:
    for update in load(ROOT / ".github" / "dependabot.yml")["updates"]:
        assert update["cooldown"]["default-days"] >= 7
        assert update["groups"]
