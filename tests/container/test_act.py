"""Whole workflows, run by act as GitHub runs them: steps, outputs, comments and artifacts."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.container.conftest import CASE, Podman
from tests.e2e.conftest import installed_client
from tests.integration.action.conftest import HEAD, REPORT_FILES, REPORT_FOLDER, pull_request_event, row
from tests.integration.action.recorded import BASE, own_event
from tests.integration.action.zips import jsonl, zipped
from tests.places import BIN, ROOT
from tests.stand_in import INSTALLATION, REPOSITORY, GitHub, hook
from tests.stand_in.artifacts import OTHER_JOB, Artifacts
from tests.stand_in.payloads import Payload, from_fork, payload, with_head

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

pytestmark = pytest.mark.e2e

ACTION = "org/rollout-compare@v1"
CHECKOUT = "actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1"
DOWNLOAD = "actions/download-artifact@3e5f45b2cfb9172054b4087a40e8e0b5a5461e7c"
UPLOAD = "actions/upload-artifact@bbbca2ddaa5d8feaa63e36b76fdaad77386f024f"
MACHINE = "localhost/python:3.13-slim"
"""What jobs run in: a shell is all that the workflows need."""
IMAGES = ("act-dockeraction", "act-org-rollout-compare-v1-dockeraction")
"""What act calls the images that it builds of an Action in the repository itself, and of ours."""
TASKS = [f"task-{number}" for number in range(30)]
WON, LOST = ([row(task, reward) for task in TASKS] for reward in (1.0, 0.0))
WON_AGAIN = [each | {"attempt": "a different one"} for each in WON]
"""The same rewards: rows that are the very same are warned of."""
EVALUATE = """\
#!/bin/sh
# In place of an evaluation: its rollouts lie ready.
set -eu
rollouts=new
while [ $# -gt 0 ]; do
    case $1 in
    --output) output=$2 ;;
    *) rollouts=$2 ;;
    esac
    shift 2
done
mkdir -p "$(dirname "$output")"
cp "ready/$rollouts.jsonl" "$output"
"""
IN_PLACE = """\
name: in place
description: Stands in for one that needs Node.js and the network
inputs: {{ name: {{ description: name }}, path: {{ description: path }} }}
runs:
  using: composite
  steps:
    - shell: sh
      env:
        WANTED: ${{{{ inputs.path }}}}
        LYING_HERE: ${{{{ github.action_path }}}}
      run: {script}
"""
COPY = 'cp -R "$LYING_HERE/$WANTED" .'
TELL = (
    """set -- "$WANTED"; if [ -d "$1" ]; then cd "$1"; set -- *; fi; printf 'uploaded:%s\\n' "$(printf ' %s' "$@")\""""
)
_PATIENCE = 300


@dataclass(frozen=True)
class Log:
    """What act tells of a run, by its lines of JSON."""

    status: int
    lines: list[dict[str, Any]]

    def results(self) -> dict[str, str]:
        """How the steps ended, by their id, or their name when they have none."""
        return {
            line["step"] if line["stepID"][0].isdigit() else line["stepID"][0]: line["stepResult"]
            for line in self.lines
            if "stepResult" in line and line.get("stage") == "Main"
        }

    def outputs(self, step: str) -> dict[str, str]:
        """The outputs that a step set."""
        return {line["name"]: line["arg"] for line in self._of(step, "set-output")}

    def messages(self, step: str, level: str) -> list[str]:
        """The annotations of a step."""
        return [line["arg"] for line in self._of(step, level)]

    def summary(self, step: str) -> str:
        """The job summary of a step."""
        return "".join(line["content"] for line in self._of(step, "summary"))

    def printed(self, start: str) -> list[str]:
        """What scripts printed behind these words."""
        told = [line["msg"].rstrip("\n") for line in self.lines if line.get("raw_output")]
        return [line.removeprefix(start) for line in told if line.startswith(start)]

    def _of(self, step: str, command: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line.get("command") == command and line["stepID"] == [step]]


class Act:
    """Runs the workflow of a repository for a pull request, with this checkout as the Action's first version."""

    def __init__(self, podman: Podman, folder: Path) -> None:
        self._podman = podman
        self._folder = folder
        self.actions = {ACTION: folder / "action"}
        """The folder of each action that is not fetched."""
        copy_checkout(self.actions[ACTION])
        for number, (name, script) in enumerate({CHECKOUT: COPY, DOWNLOAD: COPY, UPLOAD: TELL}.items()):
            self.actions[name] = folder / f"in-place-{number}"
            self.actions[name].mkdir()
            (self.actions[name] / "action.yml").write_text(IN_PLACE.format(script=script), encoding="utf-8")

    def __call__(
        self,
        repository: Path,
        variables: dict[str, str],
        *more: object,
        event: str = "pull_request",
        about: Payload | None = None,
    ) -> Log:
        """Commit all that is in the folder, and run it with these variables; by default for pull request 1."""
        commit(repository)
        payload_file = self._folder / "event.json"
        payload_file.write_text(json.dumps(about or pull_request_event()), encoding="utf-8")
        command = [
            *(BIN / "act", event, "--json", "--rm", "--pull=false", "--rebuild=false"),
            *("--action-offline-mode", "--no-cache-server", "--container-daemon-socket", "-", "--concurrent-jobs", "1"),
            *("--directory", repository, "--eventpath", payload_file),
            *("--platform", f"ubuntu-latest={MACHINE}", "--secret", f"GITHUB_TOKEN={INSTALLATION}"),
            *("--container-options", f"--label {self._podman.label}"),
            *(word for pair in self.actions.items() for word in ("--local-repository", "{}={}".format(*pair))),
            *(word for pair in variables.items() for word in ("--env", "{}={}".format(*pair))),
            *more,
        ]
        places = {"HOME": str(self._folder), "XDG_CACHE_HOME": str(self._folder / "cache")}
        done = subprocess.run(
            list(map(str, command)),
            env=self._podman.environment | places,
            cwd=self._folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            check=False,
        )
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        assert any("jobResult" in line for line in lines), done.stdout + done.stderr
        return Log(done.returncode, lines)


def commit(repository: Path) -> None:
    """Make the folder a repository as GitHub has it."""
    settings = ("-c", "user.name=octocat", "-c", "user.email=octocat@example.com", "-c", "init.defaultBranch=main")
    for command in (
        ("init", "--quiet"),
        ("add", "--all", "--force"),
        ("commit", "--quiet", "--message", "rollouts"),
        ("remote", "add", "origin", f"https://github.com/{REPOSITORY}"),
    ):
        git("-C", str(repository), *settings, *command)


def git(*arguments: str) -> str:
    plain = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    done = subprocess.run(
        # Whoever the checkout belongs to.
        ["git", "-c", "safe.directory=*", *arguments],  # noqa: S607 - where the system has it
        env=os.environ | plain,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout


def copy_checkout(folder: Path) -> None:
    """Copy what a clone of this repository holds."""
    for name in git("-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0"):
        if name and (ROOT / name).is_file():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target)


@pytest.fixture(scope="module")
def act(podman: Podman, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Act]:
    """Runs workflows, with podman under Docker's interface. What act built before is not what is here now."""
    script = ROOT / "tools" / "containers.sh"
    podman("image", "rm", "--force", *IMAGES, fails=True)
    subprocess.run([script, "socket", "start"], check=True, timeout=60)
    try:
        yield Act(podman, tmp_path_factory.mktemp("act"))
    finally:
        podman.remove_all()
        podman("image", "rm", "--force", *IMAGES, fails=True)
        subprocess.run([script, "socket", "stop"], check=True, timeout=60)


@pytest.fixture
def offered(pull_request: GitHub, artifacts: Artifacts) -> dict[str, str]:
    """The variables by which a workflow finds GitHub and the artifact service."""
    return pull_request.environment | artifacts.environment


@pytest.fixture
def consumer(tmp_path: Path) -> Path:
    """A repository with rollouts, and a workflow that uses the Action."""
    repository = tmp_path / "consumer"
    shutil.copytree(CASE, repository / "runs")
    workflows = repository / ".github" / "workflows"
    workflows.mkdir(parents=True)
    shutil.copy(Path(__file__).parent / "workflow.yml", workflows)
    return repository


def test_a_workflow_uses_a_version_of_the_action(
    act: Act, consumer: Path, offered: dict[str, str], pull_request: GitHub, artifacts: Artifacts
) -> None:
    log = act(consumer, offered, "--bind")
    check_whole_run(log, pull_request, artifacts)
    reports = {name: (consumer / REPORT_FOLDER / name).read_bytes() for name in REPORT_FILES}
    assert artifacts.finished["rollout-compare.html"].content == reports["report.html"]
    assert json.loads(reports["summary.json"])["counts"]["tasks"] == 5
    assert not (consumer / "another").exists()


def test_this_repository_uses_itself(
    act: Act, consumer: Path, offered: dict[str, str], pull_request: GitHub, artifacts: Artifacts
) -> None:
    workflow = consumer / ".github" / "workflows" / "workflow.yml"
    workflow.write_text(workflow.read_text(encoding="utf-8").replace(ACTION, "./"), encoding="utf-8")
    copy_checkout(consumer)
    check_whole_run(act(consumer, offered, "--workflows", workflow), pull_request, artifacts)


def check_whole_run(log: Log, github: GitHub, artifacts: Artifacts) -> None:
    """See that one step did all that it should, that the other one failed, and that a later one knows of both."""
    assert log.status == 0, "the failing step is allowed to"
    [outputs] = map(json.loads, log.printed("outputs: "))
    counts = ("tasks", "identical", "flipped", "flipped-old-win", "flipped-new-win", "masked", "missing")
    assert [outputs[name] for name in counts] == ["5", "1", "3", "2", "1", "1", "0"]
    assert log.printed("outcomes: ") == ["success failure"]
    assert log.printed("report: ") == ["<!-- rollout-compare:default -->"], "it is there for later steps"
    assert log.messages("comparison", "warning") == log.messages("comparison", "error") == []
    [error] = log.messages("unreadable", "error")
    assert error.startswith("runs/absent.jsonl: ")
    assert log.messages("unreadable", "warning") == []
    [comment] = github.state.comments_of(1)
    assert outputs["comment-id"] == str(comment.id)
    assert sorted(artifacts.finished) == ["rollout-compare", "rollout-compare.html"]
    assert outputs["artifact-digest"] == artifacts.finished["rollout-compare"].digest
    for shown in (comment.body, log.summary("comparison")):
        assert "two agents" in shown
        assert f"]({outputs['artifact-url']})" in shown
    assert "Not compared" in log.summary("unreadable")


def test_the_artifact_is_in_the_service_of_act(act: Act, consumer: Path, pull_request: GitHub, tmp_path: Path) -> None:
    folder = tmp_path / "stored"
    log = act(consumer, pull_request.environment, *service_of_act(folder))
    assert log.status == 0
    [stored] = folder.rglob("rollout-compare.zip")
    with zipfile.ZipFile(stored) as archive:
        assert archive.namelist() == sorted(REPORT_FILES)


def service_of_act(folder: Path) -> tuple[object, ...]:
    """Options by which act offers an artifact service of its own, which keeps what it gets in a folder."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    return ("--artifact-server-path", folder, "--artifact-server-addr", "127.0.0.1", "--artifact-server-port", port)


# Rollouts that one job uploads and another one compares. Each job has a folder of its own, which is empty at first.

OFFICIAL, OLDER = "@actions/artifact", "older-artifact"
"""The client that version 7 of actions/upload-artifact is built on, and the one of version 4."""
DEEP = "out/terminal-bench"
"""The folder in both artifacts where the rollouts lie, and the logs beside them."""
Upload = Callable[..., Log]


@pytest.fixture
def upload_and_compare(act: Act, podman: Podman, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path) -> Upload:
    """Runs a workflow in which a job uploads two artifacts with an official client, and the next one compares them."""
    repository = tmp_path / "consumer"
    for side in ("old", "new"):
        (repository / "runs" / side / DEEP).mkdir(parents=True)
        shutil.copy(CASE / f"{side}.jsonl", repository / "runs" / side / DEEP)
    shutil.copytree(CASE / "verifier-logs", repository / "runs" / "new" / DEEP / "verifier-logs")
    workflows = repository / ".github" / "workflows"
    workflows.mkdir(parents=True)
    shutil.copy(Path(__file__).parent / "artifacts.yml", workflows)
    action = ("--local-repository", f"org/upload@v1={installed_client(tmp_path_factory)}")

    def run(client: str, variables: dict[str, str], *more: object) -> Log:
        of_jobs = {"MACHINE": MACHINE, "WITH_NODE": options_with_node(podman), "CLIENT": client}
        words = (word for pair in of_jobs.items() for word in ("--var", "{}={}".format(*pair)))
        return act(repository, variables, *action, *words, *more)

    return run


def options_with_node(podman: Podman) -> str:
    """Options by which a container has the Node.js of this machine, with its libraries beyond those of C."""
    node = output_of("node", "--print", "process.execPath").strip()
    libraries = re.findall(r" => (\S+/(?!lib(?:c|dl|m|pthread|rt)\.so)[^/\s]+) ", output_of("ldd", node))
    mounts = {node: "/usr/local/bin/node"} | {library: library for library in libraries}
    volumes = [f"--volume {Path(outside).resolve()}:{inside}:ro" for outside, inside in mounts.items()]
    return " ".join([f"--label {podman.label}", *volumes])


def output_of(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


def check_artifacts_compared(log: Log, github: GitHub, packed_reports: bytes) -> None:
    """See that the report is of both artifacts, and shows logs out of one as lying in it."""
    assert (log.status, set(log.results().values())) == (0, {"success"})
    assert log.printed("workspace:") == [""], "nothing else than the artifacts can have been compared"
    [outputs] = map(json.loads, log.printed("outputs: "))
    counts = ("tasks", "identical", "flipped", "flipped-old-win", "flipped-new-win", "masked", "missing")
    assert [outputs[name] for name in counts] == ["5", "1", "3", "2", "1", "1", "0"]
    assert outputs["verdict"] == "too_little"
    assert log.printed("reports: ") == [" ".join(sorted(REPORT_FILES))]
    [comment] = github.state.comments_of(1)
    assert outputs["comment-id"] == str(comment.id)
    with zipfile.ZipFile(io.BytesIO(packed_reports)) as archive:
        reports = {name: archive.read(name).decode() for name in archive.namelist()}
    logs = [f"rollouts-new/{DEEP}/verifier-logs/{task}/test-stdout.txt" for task in ("fix-git", "headless-terminal")]
    for text in (comment.body, log.summary("comparison"), reports["report.md"], reports["report.html"]):
        assert [name for name in logs if name not in text] == []
        assert "1 failed, 1 passed in 3.02s" in text
        assert "TIMEOUT after 900 s (log cut here" in text
        assert f"rollouts-old/{DEEP}/old.jsonl" in text
        assert f"rollouts-new/{DEEP}/new.jsonl" in text
        assert "of run 1" in text
    summary = json.loads(reports["summary.json"])
    assert {name: side["paths"] for name, side in summary["sides"].items()} == {
        side: [f"rollouts-{side}/{DEEP}/{side}.jsonl"] for side in ("old", "new")
    }
    assert (summary["baseline"]["artifact"], summary["baseline"]["run_id"]) == ("rollouts-old", 1)
    told = "".join([comment.body, log.summary("comparison"), *reports.values(), *outputs.values()])
    assert re.findall(r"\S*(?:/tmp|/github/|rollout-compare-\w+/unpacked)\S*", told) == [], "a temporary path is told"


def test_rollouts_that_another_job_uploaded_are_compared(
    upload_and_compare: Upload, offered: dict[str, str], pull_request: GitHub, artifacts: Artifacts
) -> None:
    def of_another_job(*_: object) -> None:
        # The jobs of act have a token in common: what the first one uploads is not told apart by it.
        artifacts.artifacts[-1].job = OTHER_JOB

    artifacts.fault("FinalizeArtifact", hook(of_another_job), times=2)
    log = upload_and_compare(OFFICIAL, offered)
    assert sorted(artifacts.finished) == ["rollout-compare", "rollout-compare.html", "rollouts-new", "rollouts-old"]
    assert log.messages("comparison", "warning") == log.messages("comparison", "error") == []
    check_artifacts_compared(log, pull_request, artifacts.finished["rollout-compare"].content or b"")


def test_rollouts_that_another_job_uploaded_to_the_service_of_act_are_compared(
    upload_and_compare: Upload, pull_request: GitHub, tmp_path: Path
) -> None:
    # The service of act knows no types of artifacts, which the newer client always names.
    folder = tmp_path / "stored"
    log = upload_and_compare(OLDER, pull_request.environment, *service_of_act(folder))
    [warning] = log.messages("comparison", "warning")
    assert warning.startswith("the HTML report is not uploaded"), "the service has no place for a page"
    [stored] = folder.rglob("rollout-compare.zip")
    check_artifacts_compared(log, pull_request, stored.read_bytes())


def write_rollouts(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write a file of rollouts; one that ends in .zst is packed."""
    content = "".join(f"{json.dumps(each)}\n" for each in rows).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(zstd.compress(content) if path.suffix == ".zst" else content)


def write_evaluation(folder: Path, **ready: list[dict[str, Any]]) -> None:
    """Write a script that stands in for an evaluation, and the rollouts that it will find."""
    script = folder / "scripts" / "evaluate"
    script.parent.mkdir(parents=True)
    script.write_text(EVALUATE, encoding="utf-8")
    script.chmod(0o755)
    for name, rows in ready.items():
        write_rollouts(folder / "ready" / f"{name}.jsonl", rows)


Example = Callable[..., Path]


@pytest.fixture
def example(tmp_path: Path) -> Example:
    """A repository with a workflow of examples/workflows as it is, and rollouts in place of an evaluation."""

    def make(name: str, **ready: list[dict[str, Any]]) -> Path:
        repository = tmp_path / "repository"
        write_evaluation(repository, **ready)
        for baseline in ("rollouts", "math", "terminal"):
            write_rollouts(repository / "baselines" / f"{baseline}.jsonl.zst", WON)
        workflows = repository / ".github" / "workflows"
        workflows.mkdir(parents=True)
        shutil.copy(ROOT / "examples" / "workflows" / f"{name}.yml", workflows)
        return repository

    return make


def test_the_example_for_two_sides_in_one_run(
    act: Act, example: Example, offered: dict[str, str], pull_request: GitHub
) -> None:
    log = act(example("same-run", opencode=WON, hermes=LOST), offered)
    assert (log.status, log.results()[ACTION]) == (0, "success")
    [body] = pull_request.state.bodies(1)
    assert "opencode against hermes" in body


@pytest.mark.parametrize(
    ("rollouts", "verdict", "result"), [(WON, "no_clear_difference", "success"), (LOST, "lower", "failure")]
)
def test_the_example_of_a_gate_fails_by_its_own_rule_alone(
    act: Act,
    example: Example,
    offered: dict[str, str],
    rollouts: list[dict[str, Any]],
    verdict: str,
    result: str,
) -> None:
    log = act(example("gate", new=rollouts), offered)
    assert log.outputs("comparison")["verdict"] == verdict
    results = log.results()
    assert results["comparison"] == "success"
    assert results["Fail when the new rollouts are lower, or cannot be compared"] == result
    assert (log.status == 0) is (result == "success")


@pytest.mark.parametrize("changed", [False, True])
def test_the_example_for_changes_only_is_quiet_without_any(
    act: Act, example: Example, offered: dict[str, str], pull_request: GitHub, changed: bool
) -> None:
    log = act(example("only-changes", new=LOST if changed else WON_AGAIN), offered)
    assert log.status == 0
    assert log.outputs("comparison")["changed"] == ("true" if changed else "false")
    assert len(pull_request.state.bodies(1)) == (1 if changed else 0)
    assert log.printed("uploaded: ") == ([" ".join(sorted(REPORT_FILES))] if changed else [])


def test_the_example_of_a_matrix_has_a_comment_for_each_leg(
    act: Act, example: Example, offered: dict[str, str], pull_request: GitHub
) -> None:
    log = act(example("matrix", math=WON, terminal=LOST), offered)
    assert log.status == 0
    bodies = sorted(pull_request.state.bodies(1))
    assert [body.split("\n")[0] for body in bodies] == [
        "<!-- rollout-compare:math -->",
        "<!-- rollout-compare:terminal -->",
    ]


def test_the_example_for_base_and_head_compares_what_each_evaluates(
    act: Act, example: Example, offered: dict[str, str]
) -> None:
    for path, rows in (("base", WON), ("head", LOST)):
        write_evaluation(act.actions[CHECKOUT] / path, new=rows)
    log = act(example("base-and-head"), offered, "--no-skip-checkout")
    assert (log.status, log.outputs("4")["flipped-old-win"]) == (0, str(len(TASKS)))


def test_the_example_for_forks_comments_where_the_evaluated_commit_is_the_head(
    act: Act, example: Example, offered: dict[str, str], pull_request: GitHub
) -> None:
    pull_request.state.add_pull_request(1, head_repository="contributor/octo-repo", head_ref="main")
    about = from_fork(with_head(payload("workflow_run"), HEAD))
    for side, rows in (("old", WON), ("new", LOST)):
        write_rollouts(act.actions[DOWNLOAD] / "runs" / side / "rollouts.jsonl", rows)
    log = act(example("fork-comment"), offered, event="workflow_run", about=about)
    assert (log.status, log.outputs("1")["flipped-old-win"]) == (0, str(len(TASKS)))
    assert log.messages("1", "warning") == []
    assert len(pull_request.state.bodies(1)) == 1


@pytest.fixture
def main_branch(pull_request: GitHub) -> GitHub:
    """The pull request lies on a commit of the main branch."""
    pull_request.state.add_commits("main", BASE)
    pull_request.state.add_commits("feature", HEAD, onto=BASE)
    return pull_request


def compare_with_main(act: Act, example: Example, offered: dict[str, str], github: GitHub) -> Log:
    """Run the example for pull request 1, all of whose tasks are lost."""
    # What a runner says, and act does not.
    workflow = f"{REPOSITORY}/.github/workflows/compare-with-main.yml@refs/pull/1/merge"
    run = {"GITHUB_RUN_ID": "100", "GITHUB_WORKFLOW_REF": workflow}
    about = pull_request_event()
    about["pull_request"]["base"]["ref"] = "main"
    log = act(example("compare-with-main", new=LOST), offered | run, about=own_event(about, github))
    assert log.status == 0
    assert log.printed("uploaded: ") == ["rollouts.jsonl"], "the next run finds them"
    assert log.messages("3", "warning") == log.messages("3", "error") == []
    return log


def test_the_example_for_main_is_green_before_main_has_any_rollouts(
    act: Act, example: Example, offered: dict[str, str], main_branch: GitHub, artifacts: Artifacts
) -> None:
    log = compare_with_main(act, example, offered, main_branch)
    outputs = log.outputs("3")
    assert (outputs["verdict"], outputs["changed"]) == ("no_baseline", "false")
    assert (outputs["tasks"], outputs["missing-new-only"]) == (str(len(TASKS)), str(len(TASKS)))
    assert "no successful run of" in outputs["verdict-sentence"]
    [body] = main_branch.state.bodies(1)
    for text in (body, log.summary("3")):
        assert "there is no artifact of that name yet" in text
        assert "To make a baseline, let a run of `compare-with-main.yml` on `main`" in text
    assert "rollout-compare.html" in artifacts.finished


def test_the_example_for_main_compares_with_the_last_rollouts_there(
    act: Act, example: Example, offered: dict[str, str], main_branch: GitHub
) -> None:
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    run = main_branch.state.add_run(90, workflow=".github/workflows/compare-with-main.yml", sha=BASE, created=now)
    main_branch.state.add_artifact(run, "rollouts", zipped({"rollouts.jsonl": jsonl(WON)}))
    log = compare_with_main(act, example, offered, main_branch)
    assert (log.outputs("3")["verdict"], log.outputs("3")["flipped-old-win"]) == ("lower", str(len(TASKS)))
    [body] = main_branch.state.bodies(1)
    for text in (body, log.summary("3")):
        assert "rollouts/rollouts.jsonl" in text
        assert "actions/runs/90" in text
