"""Inputs by whatever name the workspace has in and out of the container, and what is said when there is nothing."""

from __future__ import annotations

import gzip
import json
import os
from typing import Any

import pytest
from backports import zstd

from tests.integration.action.conftest import RUNNER_WORK, Stage, row
from tests.stand_in import GitHub

HOST = f"{RUNNER_WORK}/octo-repo/octo-repo"
JOB_CONTAINER = "/__w/octo-repo/octo-repo"


@pytest.mark.parametrize(
    "place", ["", "./", "x/../", "/github/workspace/", f"{HOST}/", f"{JOB_CONTAINER}/", "/github/workspace//", "REAL/"]
)
def test_a_file_is_found_under_every_name_of_the_workspace(step: Stage, pull_request: GitHub, place: str) -> None:
    (step.workspace / "x").mkdir()
    place = place.replace("REAL", str(step.workspace))
    done = step(pull_request, old=f"{place}old.jsonl", new=f"{place}new.jsonl")
    assert (done.status, done.outputs["tasks"]) == (0, "2")


def test_a_self_hosted_runners_folder_is_known_too(step: Stage, pull_request: GitHub) -> None:
    environment = {"RUNNER_WORKSPACE": "/srv/actions/_work/octo-repo"}
    done = step(pull_request, old="/srv/actions/_work/octo-repo/octo-repo/old.jsonl", environment=environment)
    assert (done.status, done.outputs["tasks"]) == (0, "2")


def test_a_folder_whose_name_only_begins_like_the_workspace_is_another(step: Stage, github: GitHub) -> None:
    done = step(github, old="/github/workspace-2/old.jsonl")
    assert "/github/workspace-2/old.jsonl" in done.error


def test_the_runner_translates_the_first_line_and_we_the_others(step: Stage, pull_request: GitHub) -> None:
    for number in range(3):
        step.rollouts.write(f"part-{number}.jsonl", [row(f"t{number}", 1.0)])
    paths = "\n".join(["/github/workspace/part-0.jsonl", f"{HOST}/part-1.jsonl", f"  {HOST}/part-2.jsonl  ", ""])
    done = step(pull_request, old=paths, new=paths.replace("\n", "\r\n"))
    assert (done.status, done.outputs["tasks"]) == (0, "3")


def test_logs_are_found_under_every_name_of_the_workspace(step: Stage, pull_request: GitHub) -> None:
    step.rollouts.write("logs/run/test-stdout.txt", ["the log of the loser"])
    step.write([row("a", 1.0)], [row("a", 0.0, verifier_logs_dir="run")])
    for root in ("logs", "/github/workspace/logs", f"elsewhere\n{HOST}/logs", f"{JOB_CONTAINER}/logs"):
        done = step(pull_request, comment="off", logs_root=root)
        assert "the log of the loser" in done.text("report.md"), root
    assert "the log of the loser" in step(pull_request, comment="off", new_logs_root="logs").text("report.md")
    assert "the log of the loser" not in step(pull_request, comment="off", old_logs_root="logs").text("report.md")


@pytest.mark.parametrize(
    "name",
    ["with space.jsonl", "-n.jsonl", "--help", "ünïcödé-🎉.jsonl", "$(touch x).jsonl", "`id`;.jsonl", "'\".jsonl"],
)
def test_names_are_taken_as_they_are(step: Stage, pull_request: GitHub, name: str) -> None:
    (step.workspace / "old.jsonl").rename(step.workspace / name)
    done = step(pull_request, old=name)
    assert (done.status, done.outputs["tasks"]) == (0, "2")
    assert sorted(path.name for path in step.workspace.iterdir()) == sorted(
        [name, "new.jsonl", "rollout-compare-report"]
    )


def test_a_pattern_names_many_files_in_order(step: Stage, pull_request: GitHub) -> None:
    for number in (3, 1, 2):
        step.rollouts.write(f"shards/old-{number}.jsonl", [row(f"t{number}", 1.0)])
        step.rollouts.write(f"shards/new-{number}.jsonl", [row(f"t{number}", 0.0)])
    done = step(pull_request, old="shards/old-*.jsonl", new="/github/workspace/shards/new-*.jsonl")
    assert done.outputs["flipped"] == "3"
    names = [f"old-{number}.jsonl" for number in (1, 2, 3)]
    places = [json.dumps(done.json["sides"]["old"]).index(name) for name in names]
    assert places == sorted(places)


def test_one_file_for_a_pattern_will_do(step: Stage, pull_request: GitHub) -> None:
    assert step(pull_request, old="ol?.jsonl", new="[n]ew.jsonl").outputs["tasks"] == "2"


def test_a_folder_is_read(step: Stage, pull_request: GitHub) -> None:
    for name in ("old", "new"):
        (step.workspace / f"{name}-run").mkdir()
        (step.workspace / f"{name}.jsonl").rename(step.workspace / f"{name}-run" / "rollouts.jsonl")
    assert step(pull_request, old="old-run", new="new-run/").outputs["tasks"] == "2"


@pytest.mark.parametrize("side", ["old", "new"])
@pytest.mark.parametrize("given", ["absent.jsonl", "/srv/of-the-host/x.jsonl", "absent/*.jsonl", "no-*.jsonl"])
def test_a_missing_input_is_named_with_what_there_is(step: Stage, github: GitHub, side: str, given: str) -> None:
    inputs: dict[str, Any] = {side: given}
    done = step(github, **inputs)
    assert done.status == 1
    assert given in done.error
    assert str(step.workspace) in done.error or "/github/workspace" in done.error
    assert all(name in done.error for name in ("old.jsonl", "new.jsonl"))
    assert given.strip("*") in done.summary or given.replace("*", "&#42;") in done.summary


def test_an_empty_workspace_gets_its_own_hint(step: Stage, github: GitHub) -> None:
    for path in step.workspace.iterdir():
        path.unlink()
    done = step(github)
    assert done.status == 1
    assert "empty" in done.error
    assert "checkout" in done.error


def test_names_in_the_workspace_cannot_give_commands(step: Stage, github: GitHub) -> None:
    for name in ("::error::x", "a\r::add-mask::b", "c\n::error::d", "##[error]e", "%0A::error::f", "\x1b[2J", "\udcff"):
        (step.workspace / name).write_text("")
    done = step(github, old="absent\r::error::y")
    assert done.status == 1
    assert "::add-mask::b" in done.error


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["{}", "", '{"task_name": "a", "reward"'], "old.jsonl:3"),
        (["[1, 2]"], "old.jsonl:1"),
    ],
)
def test_an_input_that_cannot_be_read_is_named_with_its_line(
    step: Stage, github: GitHub, lines: list[str], words: str
) -> None:
    step.rollouts.write("old.jsonl", lines)
    done = step(github)
    assert done.status == 1
    assert words in done.error
    assert "holds:" not in done.error


@pytest.mark.parametrize("lines", [[], ["", " "]], ids=["empty", "blank lines"])
def test_two_sides_without_rows_are_unreadable(step: Stage, github: GitHub, lines: list[str]) -> None:
    step.write(lines, lines)
    done = step(github)
    assert (done.status, "old.jsonl" in done.error, "new.jsonl" in done.error) == (1, True, True)


def test_line_seventeen_is_named(step: Stage, github: GitHub) -> None:
    step.rollouts.write("old.jsonl", [*(row(f"t{number}", 1) for number in range(16)), "{broken", row("z", 1)])
    assert "old.jsonl:17" in step(github).error


def test_rollouts_in_utf_16_are_unreadable_and_named(step: Stage, github: GitHub) -> None:
    (step.workspace / "old.jsonl").write_text('{"task_name": "a", "reward": 1}\n', encoding="utf-16")
    done = step(github)
    assert (done.status, "old.jsonl" in done.error, "UTF-16" in done.error) == (1, True, True)


def test_a_byte_order_mark_and_invalid_text_are_read(step: Stage, pull_request: GitHub) -> None:
    (step.workspace / "old.jsonl").write_bytes(b'\xef\xbb\xbf{"task_name": "a\xff", "reward": 1}\n')
    step.rollouts.write("new.jsonl", [row("a\ufffd", 0)])
    done = step(pull_request)
    assert (done.status, done.outputs["flipped"]) == (0, "1")


@pytest.mark.parametrize("content", [b"\xff\xfeb\x00a\x00d\x00\n\x00", bytes(range(256)) * 20, b"\x80\x81 text \xff\n"])
def test_logs_that_are_no_text_are_shown_as_far_as_they_are(step: Stage, pull_request: GitHub, content: bytes) -> None:
    (step.workspace / "out").mkdir()
    (step.workspace / "out" / "test-stdout.txt").write_bytes(content)
    step.write([row("a", 1.0)], [row("a", 0.0, verifier_logs_dir="out")])
    done = step(pull_request)
    assert (done.status, done.warnings, len(pull_request.state.bodies())) == (0, [], 1)


def test_a_folder_without_rollouts_is_unreadable(step: Stage, github: GitHub) -> None:
    (step.workspace / "empty").mkdir()
    done = step(github, old="empty")
    assert (done.status, "empty" in done.error) == (1, True)


def test_an_input_without_permission_is_unreadable(step: Stage, github: GitHub) -> None:
    (step.workspace / "old.jsonl").chmod(0)
    step.workspace.chmod(0o777)
    step(github)  # whatever is imported late is there now
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        done = step_without_files(step, github)
    finally:
        os.seteuid(user)
    assert (done[0], "old.jsonl" in done[1], "ermission" in done[1]) == (1, True, True)


def step_without_files(stage: Stage, github: GitHub) -> tuple[int, str]:
    """A step whose files of the runner may not be writable for whoever it runs as."""
    from rollout_compare.github.action import main
    from tests.integration.action.conftest import Clock

    names = ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GITHUB_EVENT_PATH", "GITHUB_EVENT_NAME")
    variables = {
        "INPUT_OLD": "old.jsonl",
        "INPUT_NEW": "new.jsonl",
        "INPUT_JOB-SUMMARY": "false",
        **dict.fromkeys(names, ""),
    }
    written: list[str] = []
    return main(variables, write=written.append, clock=Clock()), "".join(written)


@pytest.mark.parametrize("packing", ["gz", "zst"])
def test_packed_rollouts_are_read(step: Stage, pull_request: GitHub, packing: str) -> None:
    for name in ("old.jsonl", "new.jsonl"):
        raw = (step.workspace / name).read_bytes()
        packed = gzip.compress(raw) if packing == "gz" else zstd.compress(raw)
        (step.workspace / f"{name}.{packing}").write_bytes(packed)
    done = step(pull_request, old=f"old.jsonl.{packing}", new=f"new.jsonl.{packing}")
    assert done.outputs["flipped"] == "1"


def test_a_truncated_packed_file_is_unreadable(step: Stage, github: GitHub) -> None:
    (step.workspace / "old.jsonl.gz").write_bytes(gzip.compress(b'{"task_name": "a", "reward": 1}\n' * 99)[:-12])
    done = step(github, old="old.jsonl.gz")
    assert (done.status, "old.jsonl.gz" in done.error) == (1, True)


@pytest.mark.parametrize("way", ["../../etc", "/etc", "link", "logs/../../runner"])
def test_logs_outside_of_their_roots_are_not_read(step: Stage, pull_request: GitHub, way: str) -> None:
    (step.runner / "test-stdout.txt").write_text("outside of the workspace\n")
    (step.workspace / "link").symlink_to(step.runner)
    step.write([row("a", 1.0)], [row("a", 0.0, verifier_logs_dir=way)])
    done = step(pull_request, logs_root=".")
    assert (done.status, done.warnings) == (0, [])
    assert "outside of the workspace" not in done.told + pull_request.state.bodies()[0]
    assert "verifier output unavailable" in done.text("report.md")


def test_a_log_that_is_a_link_out_of_the_workspace_is_not_read(step: Stage, pull_request: GitHub) -> None:
    (step.runner / "secret.txt").write_text("outside of the workspace\n")
    (step.workspace / "out").mkdir()
    (step.workspace / "out" / "test-stdout.txt").symlink_to(step.runner / "secret.txt")
    step.write([row("a", 1.0)], [row("a", 0.0, verifier_logs_dir="out")])
    done = step(pull_request)
    assert done.status == 0
    assert "outside of the workspace" not in done.told


def test_a_missing_log_is_told_in_the_report(step: Stage, pull_request: GitHub) -> None:
    step.write([row("a", 1.0)], [row("a", 0.0, verifier_logs_dir="gone")])
    done = step(pull_request)
    assert (done.status, done.warnings) == (0, [])
    assert "gone" in done.text("report.md")
    assert "unavailable" in done.text("report.md")
