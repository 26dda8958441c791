"""The verifier output of a flip: whose it is, where it is looked for, what is said when there is none."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

from tests.conftest import Compare, Json, Rollouts, Summary
from tests.rules import LATER_VERIFIER_FIELDS, VERIFIER_FIELDS

COMMAND = (sys.executable, "-c", "import sys; from rollout_compare.cli import main; sys.exit(main())")
NOTHING = "unavailable: row has no verifier_logs_dir and no embedded verifier output"
SIDES = ("old", "new")


def write_flip(rollouts: Rollouts, loser: str = "new", **losing_fields: object) -> tuple[Path, Path]:
    """One flipped task, each side in a folder of its own; the losing row carries `losing_fields`."""
    paths = []
    for side in SIDES:
        fields = {"reward": 0.0, **losing_fields} if side == loser else {"reward": 1.0}
        paths.append(rollouts.write(f"{side}/rollouts.jsonl", [{"task_id": "t", **fields}]))
    return paths[0], paths[1]


def write_log(folder: Path, text: str, name: str = "test-stdout.txt") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    return folder / name


def source_of(summary: Json, task: str = "t") -> str:
    """Where the output shown for `task` comes from."""
    (found,) = [entry for entry in summary["tasks"] if entry["task"] == task]
    source: str = found["verifier_output"]["source"]
    return source


# What wins

EXTRA = ("second_pass", "harness_log")
EXTRA_FIELDS = tuple(word for name in EXTRA for word in ("--verifier-field", name))
EMBEDDED = (*VERIFIER_FIELDS, *EXTRA, *LATER_VERIFIER_FIELDS, "error")


@pytest.mark.parametrize("empty", ["", None])
@pytest.mark.parametrize("wins", EMBEDDED)
def test_the_first_field_that_is_not_empty_is_shown(
    rollouts: Rollouts, run: Compare, summary: Summary, wins: str, empty: str | None
) -> None:
    first = EMBEDDED.index(wins)
    fields: Json = {
        name: f"{name} begins\n{name} ends" if EMBEDDED.index(name) >= first else empty for name in EMBEDDED
    }
    old, new = write_flip(rollouts, **fields)
    assert source_of(summary(old, new, *EXTRA_FIELDS)) == f"row field {wins}"
    out = run(old, new, *EXTRA_FIELDS).out
    assert [name for name in EMBEDDED if f"{name} begins" in out] == [wins]


def test_a_field_that_was_not_asked_for_is_not_verifier_output(rollouts: Rollouts, summary: Summary) -> None:
    old, new = write_flip(rollouts, harness_log="text of a field of no fame")
    assert source_of(summary(old, new)) == NOTHING


@pytest.mark.parametrize("empty", [[], {}])
def test_an_empty_list_or_object_is_passed_over(rollouts: Rollouts, summary: Summary, empty: object) -> None:
    old, new = write_flip(rollouts, build_output=empty, details="three of four checks failed")
    assert source_of(summary(old, new)) == "row field details"


def test_a_log_file_comes_before_every_field(rollouts: Rollouts, run: Compare, summary: Summary) -> None:
    old, new = write_flip(rollouts, verifier_logs_dir="logs/t", **dict.fromkeys(EMBEDDED, "text of a field"))
    write_log(new.parent / "logs/t", "text of the log\n")
    source = source_of(summary(old, new, *EXTRA_FIELDS))
    assert source.endswith("logs/t/test-stdout.txt")
    assert "text of the log" in run(old, new).out


@pytest.mark.parametrize(
    ("field", "options"),
    [("details", ()), ("checks", ("--verifier-field", "checks"))],
    ids=["default", "asked for"],
)
@pytest.mark.parametrize("listed", [False, True], ids=["object", "list"])
def test_a_list_or_object_is_shown_as_indented_json(
    rollouts: Rollouts, run: Compare, field: str, options: tuple[str, ...], *, listed: bool
) -> None:
    value = {"passed": 3, "failed": 1}
    fields: Json = {field: [value] if listed else value}
    old, new = write_flip(rollouts, **fields)
    lines = run(old, new, *options).out.splitlines()
    (passed,) = [number for number, line in enumerate(lines) if '"passed": 3' in line]
    (failed,) = [number for number, line in enumerate(lines) if '"failed": 1' in line]
    assert failed == passed + 1


# Whose row


@pytest.mark.parametrize("loser", SIDES)
def test_only_the_losing_side_is_shown(rollouts: Rollouts, run: Compare, summary: Summary, loser: str) -> None:
    for side in SIDES:
        row = {"task_id": "t", "reward": float(side != loser), "test_output": f"printed by {side}"}
        rollouts.write(f"{side}.jsonl", [row])
    paths = [rollouts.folder / f"{side}.jsonl" for side in SIDES]
    assert summary(*paths)["tasks"][0]["verifier_output"] == {
        "side": loser,
        "source": "row field test_output",
    }
    out = run(*paths).out
    assert [side for side in SIDES if f"printed by {side}" in out] == [loser]


@pytest.mark.parametrize("loser", SIDES)
@pytest.mark.parametrize(
    ("rewards", "losing"),
    [
        pytest.param([0.5, 0.0, 0.25], 1, id="lowest in the middle"),
        pytest.param([0.5, 0.25, 0.0], 2, id="lowest at the end"),
        pytest.param([0.0, 0.0, 0.0], 0, id="all equal"),
        pytest.param([0.5, 0.0, 0.0], 1, id="first of a tie"),
        pytest.param([0.0, -2.0, -2.0], 1, id="below zero"),
    ],
)
def test_the_losing_row_has_the_lowest_reward_and_is_the_first_of_its_equals(
    rollouts: Rollouts, run: Compare, rewards: list[float], losing: int, loser: str
) -> None:
    repeats = [
        row
        for number, reward in enumerate(rewards)
        for row in (
            {"task_id": f"other-{number}", "reward": 1.0, "test_output": "of another task"},
            {"task_id": "t", "reward": reward, "test_output": f"printed by repeat {number}"},
        )
    ]
    losing_path = rollouts.write("loser.jsonl", repeats)
    winning_path = rollouts.write("winner.jsonl", [{**row, "reward": 1.0, "test_output": "won"} for row in repeats])
    out = run(*((losing_path, winning_path) if loser == "old" else (winning_path, losing_path))).out
    assert [number for number in range(3) if f"printed by repeat {number}" in out] == [losing]
    assert "of another task" not in out


def test_a_failure_counted_as_zero_can_be_the_losing_row(rollouts: Rollouts, run: Compare) -> None:
    old = rollouts.write("old.jsonl", [{"task_id": "t", "reward": 1.0}])
    failure = {"task_id": "t", "_ng_failure_class": "timeout", "test_output": "ran out of time"}
    new = rollouts.write(
        "new.jsonl", [{"task_id": "t", "reward": 0.5, "test_output": "half of it"}], failures=[failure]
    )
    out = run(old, new, "--count-as-zero", "timeout").out
    assert "ran out of time" in out
    assert "half of it" not in out


def test_a_task_that_did_not_flip_has_no_verifier_output(rollouts: Rollouts, run: Compare, summary: Summary) -> None:
    rows = {
        "same": {"reward": 0.0},
        "masked": {"reward": 0.0, "mask_sample": True},
        "only-new": {"reward": 0.0},
    }
    new = rollouts.write("new.jsonl", [{"task_id": t, "test_output": "not a flip", **r} for t, r in rows.items()])
    old = rollouts.write("old.jsonl", [{"task_id": "same", "reward": 0.0}, {"task_id": "masked", "reward": 1.0}])
    assert [task.get("verifier_output") for task in summary(old, new)["tasks"]] == [None, None, None]
    assert "not a flip" not in run(old, new).out


def test_the_summary_holds_the_source_and_not_the_log(rollouts: Rollouts, run: Compare) -> None:
    old, new = write_flip(rollouts, test_output="assertion text of the verifier")
    assert "assertion text of the verifier" in run(old, new).out
    assert "assertion text of the verifier" not in run(old, new, "--json", "-").out


# Where a log is looked for

ROOTS = ("own folder", "root of the side", "root of both", "working folder")


@pytest.mark.parametrize("loser", SIDES)
@pytest.mark.parametrize("first", range(len(ROOTS)))
def test_a_relative_logs_dir_is_tried_against_the_roots_in_order(
    rollouts: Rollouts, run: Compare, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, loser: str, first: int
) -> None:
    old, new = write_flip(rollouts, loser, verifier_logs_dir="logs/t")
    folders = [tmp_path / loser, tmp_path / "side-root", tmp_path / "root", tmp_path / "cwd"]
    for folder in folders:
        folder.mkdir(exist_ok=True)
    for name, folder in list(zip(ROOTS, folders, strict=True))[first:]:
        write_log(folder / "logs/t", f"log below the {name}\n")
    monkeypatch.chdir(tmp_path / "cwd")
    out = run(old, new, f"--{loser}-logs-root", folders[1], "--logs-root", folders[2]).out
    assert [name for name in ROOTS if f"log below the {name}" in out] == [ROOTS[first]]


@pytest.mark.parametrize("loser", SIDES)
def test_the_logs_root_of_the_winning_side_is_not_searched(
    rollouts: Rollouts, summary: Summary, tmp_path: Path, loser: str
) -> None:
    winner = "old" if loser == "new" else "new"
    old, new = write_flip(rollouts, loser, verifier_logs_dir="logs/t")
    write_log(tmp_path / "root/logs/t", "log of the winner\n")
    source = source_of(summary(old, new, f"--{winner}-logs-root", tmp_path / "root"))
    assert source.startswith("unavailable: not found: ")
    assert str(tmp_path / "root") not in source


def test_the_folders_in_which_a_log_is_not_found_are_named(
    rollouts: Rollouts, summary: Summary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_flip(rollouts, "new", verifier_logs_dir="logs/t")
    monkeypatch.chdir(tmp_path)
    roots = [f"root-{number}" for number in range(3)]
    for root in roots:
        (tmp_path / root).mkdir()
    assert source_of(summary("old/rollouts.jsonl", "new/rollouts.jsonl", "--logs-root", roots[0])) == (
        "unavailable: not found: logs/t; looked in new, root-0, ."
    )
    options = [argument for root in roots for argument in ("--logs-root", root)]
    assert source_of(summary("old/rollouts.jsonl", "new/rollouts.jsonl", *options)) == (
        "unavailable: not found: logs/t; looked in new, root-0, root-1, 2 more"
    )


@pytest.mark.parametrize("loser", SIDES)
@pytest.mark.parametrize("way", ["own option", "common option", "link", "working folder"])
def test_the_folder_of_the_other_side_is_no_root(
    rollouts: Rollouts,
    run: Compare,
    summary: Summary,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    loser: str,
    way: str,
) -> None:
    winner = "old" if loser == "new" else "new"
    old, new = write_flip(rollouts, loser, verifier_logs_dir="logs/t")
    write_log(tmp_path / winner / "logs/t", "log of the winner\n")
    (tmp_path / "link").symlink_to(tmp_path / winner)
    options = {
        "own option": [f"--{loser}-logs-root", tmp_path / winner],
        "common option": ["--logs-root", tmp_path / winner],
        "link": ["--logs-root", tmp_path / "link"],
        "working folder": [],
    }
    if way == "working folder":
        monkeypatch.chdir(tmp_path / winner)
    assert source_of(summary(old, new, *options[way])).startswith("unavailable: not found: ")
    assert "log of the winner" not in run(old, new, *options[way]).out


@pytest.mark.parametrize("loser", SIDES)
def test_a_folder_that_both_sides_share_is_a_root(rollouts: Rollouts, run: Compare, loser: str) -> None:
    paths = [rollouts.write(f"{side}.jsonl", []) for side in SIDES]
    for side, path in zip(SIDES, paths, strict=True):
        row = {"task_id": "t", "reward": float(side != loser), "verifier_logs_dir": f"logs/{side}"}
        path.write_text(json.dumps(row) + "\n")
        write_log(rollouts.folder / "logs" / side, f"log of {side}\n")
    out = run(*paths).out
    assert [side for side in SIDES if f"log of {side}" in out] == [loser]


@pytest.mark.parametrize("given", ["file", "folder", "glob", "bare name"])
def test_logs_lie_beside_the_rollouts_however_these_are_named(
    rollouts: Rollouts, run: Compare, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, given: str
) -> None:
    old, new = write_flip(rollouts, verifier_logs_dir="logs")
    write_log(new.parent / "logs", "log of the loser\n")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(new.parent if given == "bare name" else tmp_path / "elsewhere")
    names = {
        "file": new,
        "folder": new.parent,
        "glob": new.parent / "roll*.jsonl",
        "bare name": "rollouts.jsonl",
    }
    done = run(old, names[given])
    assert "log of the loser" in done.out


@pytest.mark.parametrize("name", ["run.txt", "run.log", "run.out", "test-stdout.txt"])
@pytest.mark.parametrize("absolute", [False, True], ids=["relative", "absolute"])
def test_the_logs_dir_may_be_the_log_itself(
    rollouts: Rollouts, run: Compare, summary: Summary, name: str, *, absolute: bool
) -> None:
    log = write_log(rollouts.folder / "new/logs", "log of the loser\n", name)
    old, new = write_flip(rollouts, verifier_logs_dir=str(log) if absolute else f"logs/{name}")
    assert "log of the loser" in run(old, new).out
    assert source_of(summary(old, new)).endswith(f"logs/{name}")


# When there is none


def test_a_row_without_any_output_says_so(rollouts: Rollouts, run: Compare, summary: Summary) -> None:
    old, new = write_flip(rollouts)
    assert source_of(summary(old, new)) == NOTHING
    assert NOTHING in " ".join(run(old, new).out.split())


def _no_folder(_logs: Path) -> None:
    pass


def _empty_folder(logs: Path) -> None:
    logs.mkdir()


def _folder_in_place_of_the_log(logs: Path) -> None:
    (logs / "test-stdout.txt").mkdir(parents=True)


UNAVAILABLE = [
    pytest.param(_no_folder, "not found: ", id="no folder"),
    pytest.param(_empty_folder, "not found: ", id="empty folder"),
    pytest.param(_folder_in_place_of_the_log, "not a regular file", id="folder in place of the log"),
]


@pytest.mark.parametrize(("prepare", "why"), UNAVAILABLE)
def test_a_log_that_cannot_be_had_is_named_and_the_report_goes_on(
    rollouts: Rollouts, run: Compare, summary: Summary, prepare: Callable[[Path], None], why: str
) -> None:
    old, new = write_flip(rollouts, verifier_logs_dir="logs")
    prepare(new.parent / "logs")
    assert source_of(summary(old, new)).startswith(f"unavailable: {why}")
    done = run(old, new)
    assert (done.status, done.err) == (0, "")
    assert f"unavailable: {why}".strip() in " ".join(done.out.split())


@pytest.mark.parametrize("field", ["test_output", "validation_results", "error"])
@pytest.mark.parametrize(("prepare", "why"), UNAVAILABLE)
def test_a_log_that_cannot_be_had_gives_way_to_the_fields(
    rollouts: Rollouts, run: Compare, summary: Summary, prepare: Callable[[Path], None], why: str, field: str
) -> None:
    old, new = write_flip(rollouts, verifier_logs_dir="logs", **{field: "field begins\nfield ends"})
    prepare(new.parent / "logs")
    assert source_of(summary(old, new)) == f"row field {field}", why
    assert "field begins" in run(old, new).out


@pytest.mark.parametrize("logs_dir", [7, 0.5, True, ["logs"], {"logs": 1}, [], {}, False], ids=json.dumps)
def test_a_logs_dir_that_is_no_text_is_none(rollouts: Rollouts, summary: Summary, logs_dir: object) -> None:
    old, new = write_flip(rollouts, verifier_logs_dir=logs_dir)
    assert source_of(summary(old, new)).startswith("unavailable: ")
    old, new = write_flip(rollouts, verifier_logs_dir=logs_dir, test_output="text of the field")
    assert source_of(summary(old, new)) == "row field test_output"


# How the row is found again

OTHER = b'{"task_id": "other", "reward": 1.0, "test_output": "of another task"}'
LOSING = b'{"task_id": "t", "reward": 0.0, "test_output": "text to show"}'


@pytest.mark.parametrize(
    "before",
    [
        pytest.param([], id="first row"),
        pytest.param([b"\xef\xbb\xbf" + OTHER], id="byte order mark"),
        pytest.param([b"", b"   ", OTHER, b"", b"\r"], id="blank lines"),
        pytest.param([OTHER + b"\r", OTHER.replace(b"other", b"more") + b"\r"], id="carriage returns"),
        pytest.param(['{"task_id": "\u2028\u0085\u00e9", "reward": 1}'.encode()], id="line separators in a string"),
        pytest.param([b'{"task_id": "\xff", "reward": 1}'], id="invalid UTF-8"),
        pytest.param([b'{"task_id": "big", "reward": 1, "pad": "' + b"x" * 3_000_000 + b'"}'], id="long row"),
        pytest.param([b'{"task_id": "%d", "reward": 1}' % n for n in range(3000)], id="many rows"),
    ],
)
def test_the_embedded_text_is_that_of_the_losing_row_wherever_it_stands(
    rollouts: Rollouts, run: Compare, before: list[bytes]
) -> None:
    old = rollouts.write("old.jsonl", [{"task_id": "t", "reward": 1.0}])
    new = rollouts.write("new.jsonl", [*before, LOSING, OTHER.replace(b"other", b"last")])
    out = run(old, new).out
    assert "text to show" in out
    assert "of another task" not in out


@pytest.mark.parametrize(
    ("fields", "reward"),
    [
        pytest.param(rb'"test_output": "text to show", "more": NaN', b"0", id="not a number elsewhere"),
        pytest.param(rb'"test_output": "text to show \ud800"', b"0", id="lone surrogate"),
        pytest.param(rb'"test_output": "text\u0020to\u0020show"', b"0", id="escapes"),
        pytest.param(b'"test_output": "text to show \xff\xfe"', b"0", id="invalid UTF-8"),
        pytest.param(b'"test_output": "hidden", "test_output": "text to show"', b"0", id="duplicate keys"),
        pytest.param(b'"test_output": "text to show"', b"-1" + b"0" * 200, id="integer of 201 digits"),
        pytest.param(b'"test_output": "text to show", "more": 1' + b"0" * 5000, b"0", id="integer of 5,001 digits"),
    ],
)
def test_the_embedded_text_of_an_odd_row_is_shown(
    rollouts: Rollouts, run: Compare, fields: bytes, reward: bytes
) -> None:
    old = rollouts.write("old.jsonl", [{"task_id": "t", "reward": 1.0}])
    new = rollouts.write("new.jsonl", [b'{"task_id": "t", "reward": ' + reward + b", " + fields + b"}"])
    done = run(old, new)
    assert (done.status, done.err) == (0, "")
    assert "text to show" in done.out
    assert "hidden" not in done.out


LINES = b"".join(line + b"\n" for line in (OTHER, LOSING, OTHER.replace(b"other", b"last")))


def _in_two(compress: Callable[[bytes], bytes]) -> bytes:
    middle = LINES.index(b"\n", len(OTHER) + 1) - 9
    return compress(LINES[:middle]) + compress(LINES[middle:])


@pytest.mark.parametrize(
    ("name", "content"),
    [
        pytest.param("new.jsonl.gz", gzip.compress(LINES), id="gzip"),
        pytest.param("new.jsonl.gz", _in_two(gzip.compress), id="two gzip members"),
        pytest.param("new.jsonl.zst", zstd.compress(LINES), id="zstd"),
        pytest.param("new.jsonl.zst", _in_two(zstd.compress), id="two zstd frames"),
        pytest.param("new.jsonl", gzip.compress(LINES), id="gzip by content"),
        pytest.param("new.jsonl", zstd.compress(LINES), id="zstd by content"),
    ],
)
def test_the_embedded_text_of_a_compressed_row_is_shown(
    rollouts: Rollouts, run: Compare, summary: Summary, name: str, content: bytes
) -> None:
    old = rollouts.write("old.jsonl", [{"task_id": "t", "reward": 1.0}])
    new = rollouts.folder / name
    new.write_bytes(content)
    assert source_of(summary(old, new)) == "row field test_output"
    out = run(old, new).out
    assert "text to show" in out
    assert "of another task" not in out


@pytest.mark.parametrize("losing", [0, 1, 2])
def test_the_embedded_text_comes_from_the_right_shard(rollouts: Rollouts, run: Compare, losing: int) -> None:
    old = rollouts.write("old.jsonl", [{"task_id": f"t{n}", "reward": float(n == losing)} for n in range(3)])
    shards = [f"shard-{n}.jsonl" for n in range(3)]
    for number, name in enumerate(shards):
        row = {"task_id": f"t{number}", "reward": 0.0, "test_output": f"printed in shard {number}"}
        rollouts.write(name, [row])
    (rollouts.folder / "shard-1.jsonl.gz").write_bytes(gzip.compress((rollouts.folder / shards[1]).read_bytes()))
    shards[1] = "shard-1.jsonl.gz"
    options = [word for name in shards for word in ("--new", rollouts.folder / name)]
    out = run("--old", old, *options).out
    assert [number for number in range(3) if f"printed in shard {number}" in out] == [losing]


def test_a_relative_logs_dir_is_found_beside_its_shard(rollouts: Rollouts, run: Compare) -> None:
    old = rollouts.write("old.jsonl", [{"task_id": "a", "reward": 1.0}, {"task_id": "b", "reward": 1.0}])
    for task, reward in (("a", 1.0), ("b", 0.0)):
        rollouts.write(f"{task}/rollouts.jsonl", [{"task_id": task, "reward": reward, "verifier_logs_dir": "logs"}])
    write_log(rollouts.folder / "b/logs", "log beside the second shard\n")
    out = run("--old", old, "--new", rollouts.folder / "a", "--new", rollouts.folder / "b").out
    assert "log beside the second shard" in out


# A pipe is read once


needs_dev_stdin = pytest.mark.skipif(not Path("/dev/stdin").exists(), reason="standard input has no path here")


def compare_with_pipe(old: Path, row: Json, *options: object) -> subprocess.CompletedProcess[bytes]:
    """The command with a pipe as new side; a second reading of the pipe would wait for the time-out."""
    command = [*COMMAND, str(old), "/dev/stdin", *map(str, options)]
    content = json.dumps(row).encode() + b"\n"
    return subprocess.run(command, input=content, capture_output=True, timeout=30, check=False)


@needs_dev_stdin
def test_embedded_text_of_a_pipe_is_unavailable_and_the_report_says_so(rollouts: Rollouts) -> None:
    old = rollouts.write("old.jsonl", [{"task_id": "t", "reward": 1.0}])
    row = {"task_id": "t", "reward": 0.0, "test_output": "gone with the pipe"}
    done = compare_with_pipe(old, row, "--json", rollouts.folder / "out.json")
    assert done.returncode == 0, done.stderr
    found = json.loads((rollouts.folder / "out.json").read_text())
    assert found["counts"]["flipped_old_win"] == 1
    assert source_of(found).startswith("unavailable: ")
    assert source_of(found) != NOTHING, "the row has an embedded text; it is the pipe that cannot be read again"
    assert b"unavailable: " in done.stdout
    assert b"gone with the pipe" not in done.stdout


@needs_dev_stdin
def test_a_log_file_of_a_piped_row_is_shown(rollouts: Rollouts, tmp_path: Path) -> None:
    old = rollouts.write("old.jsonl", [{"task_id": "t", "reward": 1.0}])
    write_log(tmp_path / "root/logs", "log on the disk\n")
    row = {"task_id": "t", "reward": 0.0, "verifier_logs_dir": "logs"}
    done = compare_with_pipe(old, row, "--logs-root", tmp_path / "root")
    assert done.returncode == 0, done.stderr
    assert b"log on the disk" in done.stdout


def test_a_named_pipe_is_read_once(rollouts: Rollouts, tmp_path: Path) -> None:
    pipe = tmp_path / "new.jsonl"
    os.mkfifo(pipe)
    old = rollouts.write("old.jsonl", [{"task_id": "t", "reward": 1.0, "test_output": "text of the old side"}])
    line = '{"task_id": "t", "reward": 2.0}\n'
    threading.Thread(target=pipe.write_text, args=(line,), daemon=True).start()
    done = subprocess.run([*COMMAND, old, pipe], capture_output=True, timeout=30, check=False)
    assert done.returncode == 0, done.stderr
    assert b"text of the old side" in done.stdout
