"""A log whose path was made on another machine is found by the last parts of it, below the roots and nowhere else."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Compare, Json

Source = Callable[..., str]
FOUND = "found below the root as "


@pytest.fixture
def source(tmp_path: Path, run: Compare, monkeypatch: pytest.MonkeyPatch) -> Source:
    """Where the output of a losing row is from whose log is named so; `logs` are the files with a log.

    The sides have folders of their own, `old` and `new`, and the command runs in `elsewhere`.
    """

    def call(named: str, *logs: str, options: tuple[str, ...] = (), text: str = "") -> str:
        for side, reward in (("old", 1), ("new", 0)):
            row: Json = {"task_id": "t", "reward": reward} | ({"verifier_logs_dir": named} if side == "new" else {})
            (tmp_path / side).mkdir(exist_ok=True)
            (tmp_path / side / "rollouts.jsonl").write_text(json.dumps(row) + "\n")
        for log in logs:
            (tmp_path / log).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / log).write_text(text or f"log of {log}\n")
        (tmp_path / "elsewhere").mkdir(exist_ok=True)
        monkeypatch.chdir(tmp_path / "elsewhere")
        done = run("../old", "../new", *options, "--json", tmp_path / "summary.json")
        assert done.status == 0, done.err
        (task,) = json.loads((tmp_path / "summary.json").read_text())["tasks"]
        said: str = task["verifier_output"]["source"]
        if FOUND in said:
            assert "    | log of " in done.out
        return said

    return call


@pytest.mark.parametrize(
    ("named", "log"),
    [
        ("/data/run5/verifier/s1", "new/verifier/s1/test-stdout.txt"),
        ("/data/run5/verifier/s1", "new/data/run5/verifier/s1/test-stdout.txt"),
        ("/data/run5/verifier/s1/", "new/verifier/s1/test-stdout.txt"),
        ("/data/run5/verifier/out.log", "new/verifier/out.log"),
        ("data/run5/verifier/s1", "new/verifier/s1/test-stdout.txt"),
        ("./data//run5/./verifier/s1", "new/verifier/s1/test-stdout.txt"),
        ("E:\\runs\\run5\\verifier\\s1", "new/verifier/s1/test-stdout.txt"),
        ("verifier\\s1", "new/verifier/s1/test-stdout.txt"),
        ("/data/../run5/verifier/s1", "new/run5/verifier/s1/test-stdout.txt"),
        ("../../verifier/s1", "new/verifier/s1/test-stdout.txt"),
        ("/" + "deep/" * 40 + "verifier/s1", "new/verifier/s1/test-stdout.txt"),
    ],
)
def test_the_last_parts_of_a_path_are_tried(source: Source, named: str, log: str) -> None:
    assert source(named, log) == f"{FOUND}../{log}"


def test_the_longest_that_is_there_counts(source: Source) -> None:
    logs = ("new/s1/test-stdout.txt", "new/verifier/s1/test-stdout.txt", "new/run5/verifier/s1/test-stdout.txt")
    assert source("/data/run5/verifier/s1", *logs) == f"{FOUND}../new/run5/verifier/s1/test-stdout.txt"


@pytest.mark.parametrize("is_absolute", [True, False])
def test_each_root_in_its_order_counts_before_a_longer_path_in_the_next(source: Source, is_absolute: bool) -> None:
    logs = ("logs/verifier/s1/test-stdout.txt", "more/run5/verifier/s1/test-stdout.txt")
    options = ("--new-logs-root", "../logs", "--logs-root", "../more")
    said = source("/data/run5/verifier/s1" if is_absolute else "data/run5/verifier/s1", *logs, options=options)
    assert said == f"{FOUND}../logs/verifier/s1/test-stdout.txt"


def test_a_path_that_leads_somewhere_is_taken_as_it_is(source: Source, tmp_path: Path) -> None:
    logs = ("new/run5/verifier/s1/test-stdout.txt", "new/verifier/s1/test-stdout.txt")
    assert source("verifier/s1", *logs) == "../new/verifier/s1/test-stdout.txt"
    whole = tmp_path / "new/run5/verifier/s1"
    assert source(str(whole), *logs) == f"{whole}/test-stdout.txt"


def test_a_folder_without_its_log_is_not_looked_for_elsewhere(source: Source, tmp_path: Path) -> None:
    (tmp_path / "new/run5/verifier/s1").mkdir(parents=True)
    said = source("run5/verifier/s1", "new/verifier/s1/test-stdout.txt")
    assert said == "unavailable: not found: ../new/run5/verifier/s1/test-stdout.txt"


@pytest.mark.parametrize(
    ("named", "log"),
    [
        pytest.param("/data/verifier/s1", "new/s1/test-stdout.txt", id="one part"),
        pytest.param("/s1", "new/s1/test-stdout.txt", id="a path of one part"),
        pytest.param("/data/.hidden/s1", "new/.hidden/s1/test-stdout.txt", id="a hidden folder"),
        pytest.param("/data/verifier/.s1", "new/verifier/.s1/test-stdout.txt", id="a hidden end"),
        pytest.param("/data/verifier/s1", "verifier/s1/test-stdout.txt", id="above the root"),
        pytest.param(
            "/data/../../verifier/s1",
            "verifier/s1/test-stdout.txt",
            id="above the root by ..",
        ),
        pytest.param("/data/verifier/s1", "old/verifier/s1/test-stdout.txt", id="the other side's"),
        pytest.param("/data/verifier/s1/key.pem", "new/s1/key.pem", id="not named like a log"),
        pytest.param("/data/verifier/s1", "new/verifier/s1/ctrf.json", id="test results are no log"),
        pytest.param("E:/runs\\verifier\\s1", "new/verifier/s1/test-stdout.txt", id="a slash and backslashes"),
        pytest.param("data/verifier/s1", "elsewhere/sub/verifier/s1/test-stdout.txt", id="further down"),
    ],
)
def test_what_is_not_below_a_root_under_the_same_rules_stays_unread(source: Source, named: str, log: str) -> None:
    assert source(named, log, text="not to be seen\n").startswith("unavailable: ")


def test_a_link_that_leads_out_is_not_followed(source: Source, tmp_path: Path) -> None:
    (tmp_path / "new/verifier").mkdir(parents=True)
    (tmp_path / "new/verifier/s1").symlink_to("../../out/s1")
    said = source("/data/verifier/s1", "out/s1/test-stdout.txt", text="not to be seen\n")
    assert said.startswith("unavailable: outside the log roots: /data/verifier/s1")


def test_absolute_logs_that_are_allowed_are_still_found_elsewhere_only_below_a_root(
    source: Source, tmp_path: Path
) -> None:
    options = ("--allow-absolute-logs",)
    assert source("/data/verifier/s1", "new/verifier/s1/test-stdout.txt", options=options).startswith(FOUND)
    (tmp_path / "new/verifier/s2").symlink_to("../../out/s2")
    said = source("/data/verifier/s2", "out/s2/test-stdout.txt", options=options, text="not to be seen\n")
    assert said.startswith("unavailable: ")
