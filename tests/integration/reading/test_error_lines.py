"""The one line of an error, word for word where the rules give the words, and where it points to."""

from __future__ import annotations

import codecs
import gzip
import json
from typing import Any

import pytest

from rollout_compare import CompareInputError, load_side
from tests.conftest import Compare, Rollouts, Row

GOOD = {"task_id": "a", "reward": 1}


@pytest.mark.parametrize(
    ("reward", "kind"),
    [("true", "a boolean"), ('"1"', "a string"), ("[1]", "an array"), ('{"mean": 1}', "an object")],
)
@pytest.mark.parametrize(("named", "ending"), [('"task_id": "b", ', " (task b)"), ("", "")], ids=["named", "nameless"])
def test_a_reward_of_another_type_is_told_with_file_line_and_task(
    reward: str, kind: str, named: str, ending: str, rollouts: Rollouts, run: Compare
) -> None:
    path = rollouts.write("side.jsonl", [GOOD, f'{{{named}"reward": {reward}}}'])
    done = run(path, path)
    assert (done.status, done.out) == (1, "")
    assert done.err == f"error: {path}:2: reward is {kind}, not a number{ending}\n"


@pytest.mark.parametrize(
    ("line", "kind"),
    [("[1]", "an array"), ('"x"', "a string"), ("null", "null"), ("true", "a boolean"), ("1", "a number")],
)
def test_a_line_that_is_no_object_is_told_by_its_kind(line: str, kind: str, rollouts: Rollouts, run: Compare) -> None:
    path = rollouts.write("side.jsonl", [GOOD, line])
    assert run(path, path).err == f"error: {path}:2: {kind}, not a JSON object\n"


@pytest.mark.parametrize(
    ("lines", "number", "words"),
    [
        (["version https://git-lfs.github.com/spec/v1"], 1, "Git LFS pointer"),
        (["<!DOCTYPE html>"], 1, "HTML page"),
        (["", "<html>"], 2, "HTML page"),
        ([codecs.BOM_UTF16_LE + '{"a": 1}'.encode("utf-16-le")], 1, "UTF-16"),
        ([codecs.BOM_UTF16_BE + '{"a": 1}'.encode("utf-16-be")], 1, "UTF-16"),
        ([GOOD, b'{"a": 1\0}'], 2, "NUL bytes"),
        ([json.dumps(GOOD) + json.dumps(GOOD)], 1, "two JSON values on one line"),
        ([json.dumps(GOOD) + ' ["x"]'], 1, "two JSON values on one line"),
        ([GOOD, json.dumps(GOOD) + " so it is"], 2, "text after the JSON object"),
        ([GOOD, '{"task_id": "b", "rew'], 2, "the last line is cut short"),
    ],
    ids=str,
)
def test_common_accidents_are_named(
    lines: list[Row], number: int, words: str, rollouts: Rollouts, run: Compare
) -> None:
    path = rollouts.write("side.jsonl", lines)
    done = run(path, path)
    assert (done.status, done.out, done.err.count("\n")) == (1, "", 1)
    assert done.err.startswith(f"error: {path}:{number}: ")
    assert words in done.err


@pytest.mark.parametrize("field", ["_ng_run_id", "_ng_task_index", "_ng_rollout_index", "task_id"])
@pytest.mark.parametrize("at", [0, 1, 2])
def test_nesting_too_deep_for_an_id_is_told_by_its_line(field: str, at: int, rollouts: Rollouts, run: Compare) -> None:
    depth = 100_000
    rows: list[Row] = [dict(GOOD), dict(GOOD), dict(GOOD)]
    rows[at] = f'{{"task_id": "a", "reward": 1, "{field}": {"[" * depth}{"]" * depth}}}'
    path = rollouts.write("side.jsonl", rows)
    done = run(path, path)
    assert (done.status, done.out, done.err.count("\n")) == (1, "", 1)
    assert done.err.startswith(f"error: {path}:{at + 1}: ")
    assert "nested too deeply" in done.err


def test_an_empty_path_is_told(rollouts: Rollouts, run: Compare) -> None:
    done = run("", rollouts.write("side.jsonl", [GOOD]))
    assert (done.status, done.err) == (1, "error: '': an empty path\n")


@pytest.mark.parametrize("given", ["missing.jsonl", "missing/", "missing-*.jsonl", "[x].jsonl"])
def test_a_path_that_names_nothing_is_told(given: str, rollouts: Rollouts, run: Compare) -> None:
    path = f"{rollouts.folder}/{given}"
    done = run(path, rollouts.write("side.jsonl", [GOOD]))
    what = "the pattern matches no rollouts file" if "*" in given or "[" in given else "no such file or directory"
    assert (done.status, done.err) == (1, f"error: {path}: {what}\n")


def test_the_rows_of_a_file_with_a_byte_order_mark_are_read_again_without_it(rollouts: Rollouts, run: Compare) -> None:
    loser: Any = {"task_id": "a", "reward": 0, "test_output": "assert 1 == 2"}
    for rows in ([loser], [loser, {**loser, "task_id": "b", "test_output": "assert 3 == 4"}]):
        old = rollouts.write("old.jsonl", [{"task_id": row["task_id"], "reward": 1} for row in rows])
        new = rollouts.write("new.jsonl", [codecs.BOM_UTF8 + json.dumps(rows[0]).encode(), *rows[1:]])
        out = run(old, new).out
        assert all(row["test_output"] in out for row in rows)


@pytest.mark.parametrize(("named", "ending"), [({"task_id": "b"}, " (task b)"), ({}, "")], ids=["named", "nameless"])
def test_the_error_of_the_library_has_the_same_words(named: Any, ending: str, rollouts: Rollouts) -> None:
    path = rollouts.write("side.jsonl", [GOOD, {**named, "reward": "1"}])
    with pytest.raises(CompareInputError) as caught:
        load_side(path)
    assert str(caught.value) == f"{path}:2: reward is a string, not a number{ending}"


def test_packed_input_that_ends_early_or_is_broken_is_told(rollouts: Rollouts, run: Compare) -> None:
    packed = gzip.compress(json.dumps(GOOD).encode() + b"\n")
    path = rollouts.folder / "side.jsonl.gz"
    path.write_bytes(packed[:-9])
    assert "gzip data ends early" in run(path, path).err
    # The last eight bytes are a check sum and a length.
    path.write_bytes(packed[:-8] + b"\0" * 8)
    assert "broken gzip data" in run(path, path).err


def test_sides_without_a_task_in_common_name_tasks_of_both(rollouts: Rollouts, run: Compare) -> None:
    old, new = (
        rollouts.write(f"{name}.jsonl", [{"task_id": f"{name}{n}", "reward": 1} for n in range(4)]) for name in "xy"
    )
    [warning] = [each for each in run(old, new, "--json", "-").json["warnings"] if each["code"] == "nothing_joined"]
    assert (warning["count"], warning["tasks"]) == (8, ["x0", "x1", "x2", "y0", "y1"])
