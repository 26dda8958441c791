"""Unreadable input: one line that says where and what, exit status 1, and nothing half-written."""

from __future__ import annotations

import gzip
import json
import os
import re
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.conftest import Compare, Rollouts
from tests.integration.reading.files import line, one_error, put

NOBODY = 65534
LFS_POINTER = (
    b"version https://git-lfs.github.com/spec/v1\n"
    b"oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\n"
    b"size 12345\n"
)
CUT_SHORT = [
    b"{",
    b'{"task_id',
    b'{"task_id"',
    b'{"task_id": ',
    b'{"task_id": "b',
    b'{"task_id": "b\\',
    b'{"task_id": "b\\u00',
    b'{"task_id": "b\xc3',
    b'{"task_id": "b"',
    b'{"task_id": "b",',
    b'{"task_id": "b", "reward": -',
    b'{"task_id": "b", "reward": 1.',
    b'{"task_id": "b", "reward": 1e',
    b'{"task_id": "b", "reward": 1',
    b'{"task_id": "b", "mask_sample": tr',
    b'{"task_id": "b", "skipped": {"list": [1, 2',
    b'{"task_id": "b", "skipped": {"list": [1, 2]',
    b'{"task_id": "b", "skipped": nul',
    b'{"task_id": "b", "skipped": "a log',
]


@pytest.fixture
def error_of(rollouts: Rollouts, run: Compare) -> Callable[[bytes], str]:
    """The error line for an old side of that content, its path taken off."""

    def call(content: bytes) -> str:
        old = put(rollouts.folder / "old.jsonl", content)
        error = one_error(run(old, put(rollouts.folder / "new.jsonl", line("a"))))
        return error.removeprefix(f"error: {old}")

    return call


ErrorOf = Callable[[bytes], str]


# Path, line and task


@pytest.mark.parametrize("reward", [True, False, "1.0", "", "NaN", [], [1], {}, {"value": 1}])
@pytest.mark.parametrize("masked", [True, False])
def test_a_reward_that_is_no_number_is_told_by_line_and_task(error_of: ErrorOf, reward: object, masked: bool) -> None:
    error = error_of(line("a") + b"\n" + line("find-leak", reward, mask_sample=masked) + line("c"))
    assert error.startswith(":3: ")
    assert "reward" in error
    assert "(task find-leak)" in error


@pytest.mark.parametrize("raw", [b"[]", b"1", b"null", b"true", b'"text"', b'[{"task_id": "a"}]', b"NaN", b"-0"])
def test_a_line_that_is_no_object_is_told_by_its_line(error_of: ErrorOf, raw: bytes) -> None:
    error = error_of(line("a") + raw + b"\n" + line("c"))
    assert error.startswith(":2: ")
    assert "object" in error


@pytest.mark.parametrize(
    "value",
    [
        b"oops",
        b"'single'",
        b"01",
        b"+1",
        b".5",
        b"1.",
        b"1e",
        b"0x10",
        b"-",
        b"--1",
        b"nul",
        b"True",
        b"nan",
        b"infinity",
        b"[1,]",
        b"[1 2]",
        b"[,]",
        b'{"a": 1,}',
        b'{"a" 1}',
        b"{a: 1}",
        b"{1: 1}",
        b'"\\x41"',
        b'"\\u12G4"',
        b'"\\u+123"',
        b'"\x01"',
        b'"\t"',
        b'"\x1f"',
        b"",
        b"1 // comment",
        b"\x0b1",
        b"\xc2\xa01",
        b"\xff",
        b"[1}",
    ],
)
@pytest.mark.parametrize("place", [b"%s", b'[0, {"deep": %s}]'])
@pytest.mark.parametrize("field", [b"reward", b"skipped", b"response", b"error"])
def test_what_is_not_json_is_unreadable_wherever_it_stands(
    error_of: ErrorOf, value: bytes, place: bytes, field: bytes
) -> None:
    broken = b'{"task_id": "b", "' + field + b'": ' + place.replace(b"%s", value) + b', "tail": 1}\n'
    assert error_of(line("a") + broken + line("c")).startswith(":2: ")


def test_blank_lines_and_lines_across_read_buffers_are_counted(error_of: ErrorOf) -> None:
    good = b"".join(line(f"t{number}", text="x" * 3000) + b"\n" for number in range(1200))
    assert error_of(good + line("bad", "text")).startswith(":2401: ")


@pytest.mark.parametrize(
    "row",
    [
        {"_ng_task_id": "find-leak"},
        {"_ng_task_id": {"taskset": "shell", "task_id": "find-leak"}},
        {"task_name": "find-leak"},
        {"task_id": "find-leak"},
        {"verifier_metadata": {"instance_id": "find-leak"}},
        {"verifier_metadata": {"id": "find-leak"}},
    ],
)
def test_the_task_is_named_by_whichever_field_names_it(error_of: ErrorOf, row: dict[str, object]) -> None:
    error = error_of(json.dumps({**row, "reward": "1.0"}).encode() + b"\n")
    assert re.search(r"\(task .*find-leak", error)


def test_a_row_that_names_no_task_has_no_task_in_its_error(error_of: ErrorOf) -> None:
    assert "(task" not in error_of(b'{"reward": "1.0"}\n')


@pytest.mark.parametrize("side", ["old", "new"])
def test_the_error_names_the_side_at_fault_by_its_path(rollouts: Rollouts, run: Compare, side: str) -> None:
    bad = put(rollouts.folder / "bad.jsonl", b"oops\n")
    good = put(rollouts.folder / "good.jsonl", line("a"))
    error = one_error(run(bad, good) if side == "old" else run(good, bad))
    assert error.startswith(f"error: {bad}:1: ")


def test_a_fault_in_a_compressed_file_is_told_by_its_line(rollouts: Rollouts, run: Compare) -> None:
    old = put(rollouts.folder / "old.jsonl.gz", gzip.compress(line("a") + b"oops\n"))
    assert one_error(run(old, old)).startswith(f"error: {old}:2: ")


def test_a_fault_in_a_shard_is_told_by_the_shard(rollouts: Rollouts, run: Compare) -> None:
    first = put(rollouts.folder / "a.jsonl", line("a") + line("b"))
    second = put(rollouts.folder / "b.jsonl", line("c") + b"{]\n" + line("d"))
    error = one_error(run("--old", first, "--old", second, "--new", first))
    assert error.startswith(f"error: {second}:2: ")


# What people really hand over is named


@pytest.mark.parametrize("content", [LFS_POINTER, LFS_POINTER.replace(b"\n", b"\r\n"), LFS_POINTER.rstrip()])
def test_a_git_lfs_pointer_says_how_to_check_the_file_out(error_of: ErrorOf, content: bytes) -> None:
    error = error_of(content)
    assert "LFS" in error
    assert "lfs: true" in error


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf16_is_named(error_of: ErrorOf, encoding: str) -> None:
    content = ("" if encoding == "utf-16" else "\ufeff") + line("a").decode() + line("b").decode()
    assert "UTF-16" in error_of(content.encode(encoding))


def test_utf16_with_windows_line_ends_is_named(error_of: ErrorOf) -> None:
    content = "\ufeff" + line("a").decode().replace("\n", "\r\n")
    assert "UTF-16" in error_of(content.encode("utf-16-le"))


@pytest.mark.parametrize(
    "content",
    [
        b"<!DOCTYPE html>\n<html><body>Sign in</body></html>\n",
        b"<!doctype html><html lang=en>",
        b"<html>\n<head><title>404</title></head>\n",
        b"\n\n  <HTML>\n",
        b"\xef\xbb\xbf<!DOCTYPE html>\n",
    ],
)
def test_an_html_page_is_named(error_of: ErrorOf, content: bytes) -> None:
    assert "HTML" in error_of(content)


@pytest.mark.parametrize(
    ("content", "number"),
    [
        (line("a") + b"\0" * 512, 2),
        (line("a") + b"\0" * 512 + b"\n" + line("b"), 2),
        (b"\0\0\0\0\n" + line("a"), 1),
        (line("a") + line("b")[:12] + b"\0" * 30, 2),
    ],
)
def test_nul_bytes_are_named(error_of: ErrorOf, content: bytes, number: int) -> None:
    error = error_of(content)
    assert error.startswith(f":{number}: ")
    assert "NUL" in error


@pytest.mark.parametrize("between", [b"", b" ", b"\t", b"\r", b"  "])
@pytest.mark.parametrize("more", [line("c"), b"", b"\n\n"])
def test_two_objects_on_one_line_are_named(error_of: ErrorOf, between: bytes, more: bytes) -> None:
    error = error_of(line("a") + line("b").rstrip() + between + line("c") + more)
    assert error.startswith(":2: ")
    assert re.search("(two|several|more than one) .*(objects?|values?)", error)
    assert "cut short" not in error


def test_two_objects_are_named_when_the_second_one_is_cut_short_in_the_middle(error_of: ErrorOf) -> None:
    error = error_of(line("a").rstrip() + b'{"task_id": "b", "rew\n' + line("c"))
    assert error.startswith(":1: ")
    assert "cut short" not in error


# A last line cut short


@pytest.mark.parametrize("cut", CUT_SHORT)
@pytest.mark.parametrize("after", [b"", b"\n", b"\r\n", b"\n\n\r\n \n"])
def test_a_last_line_cut_short_is_named(error_of: ErrorOf, cut: bytes, after: bytes) -> None:
    error = error_of(line("a") + line("c") + cut + after)
    assert error.startswith(":3: ")
    assert "cut short" in error


@pytest.mark.parametrize("cut", CUT_SHORT)
@pytest.mark.parametrize("after", [line("c"), line("c").rstrip(), b"\n\n" + line("c"), b"{\n"])
def test_a_line_in_the_middle_is_never_called_cut_short(error_of: ErrorOf, cut: bytes, after: bytes) -> None:
    error = error_of(line("a") + cut + b"\n" + after)
    assert error.startswith(":2: ")
    assert "cut short" not in error


@pytest.mark.parametrize("raw", [b'{"task_id": oops}', b'{"task_id": "b"}}', b"oops", b'{"task_id" "b"}', b"]"])
def test_a_whole_last_line_that_is_not_json_is_not_called_cut_short(error_of: ErrorOf, raw: bytes) -> None:
    error = error_of(line("a") + raw + b"\n")
    assert error.startswith(":2: ")
    assert "cut short" not in error


def test_an_only_line_cut_short_is_named(error_of: ErrorOf) -> None:
    error = error_of(line("a")[:-5])
    assert error.startswith(":1: ")
    assert "cut short" in error


@pytest.mark.parametrize("blank", [0, 10, 300_000])
def test_a_long_last_line_cut_short_is_named_however_many_blank_lines_follow(error_of: ErrorOf, blank: int) -> None:
    error = error_of(line("a") + line("b", text="x" * 3_000_000)[:-4] + b"\n" * blank)
    assert error.startswith(":2: ")
    assert "cut short" in error


def test_a_middle_line_is_not_called_cut_short_when_the_next_row_is_far_behind_it(error_of: ErrorOf) -> None:
    error = error_of(line("a") + line("b")[:-4] + b"\n" * 3_000_000 + line("c"))
    assert error.startswith(":2: ")
    assert "cut short" not in error


def test_the_last_line_of_a_compressed_file_is_called_cut_short(rollouts: Rollouts, run: Compare) -> None:
    old = put(rollouts.folder / "old.jsonl.gz", gzip.compress(line("a") + line("b")[:-4]))
    error = one_error(run(old, old))
    assert error.startswith(f"error: {old}:2: ")
    assert "cut short" in error


def test_the_last_line_of_each_shard_is_a_last_line(rollouts: Rollouts, run: Compare) -> None:
    first = put(rollouts.folder / "a.jsonl", line("a") + line("b")[:-4])
    second = put(rollouts.folder / "b.jsonl", line("c"))
    error = one_error(run("--old", first, "--old", second, "--new", second))
    assert error.startswith(f"error: {first}:2: ")
    assert "cut short" in error


# Paths that cannot be read


@pytest.mark.parametrize(
    "name",
    [
        "absent.jsonl",
        "absent/old.jsonl",
        "good.jsonl/old.jsonl",
        "dangling.jsonl",
        "circle.jsonl",
        "x" * 300 + ".jsonl",
        "-absent.jsonl",
        "absent é 漢.jsonl",
    ],
)
@pytest.mark.parametrize("side", ["old", "new"])
def test_a_path_that_leads_nowhere_is_told(rollouts: Rollouts, run: Compare, name: str, side: str) -> None:
    good = put(rollouts.folder / "good.jsonl", line("a"))
    (rollouts.folder / "dangling.jsonl").symlink_to(rollouts.folder / "gone.jsonl")
    (rollouts.folder / "circle.jsonl").symlink_to(rollouts.folder / "circle.jsonl")
    path = rollouts.folder / name
    error = one_error(run(path, good) if side == "old" else run(good, path))
    assert str(path)[-80:] in error


@pytest.fixture
def shared_folder() -> Iterator[Path]:
    """A folder that every user may enter."""
    with TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@contextmanager
def ordinary_user() -> Iterator[None]:
    """Permissions do not bind root."""
    user = os.geteuid()
    os.seteuid(user or NOBODY)
    try:
        yield
    finally:
        os.seteuid(user)


@pytest.mark.parametrize("locked", ["locked/old.jsonl", "locked", "old.jsonl", "good_failures.jsonl"])
@pytest.mark.parametrize("output", ["text", "json"])
def test_a_path_without_permission_is_told(shared_folder: Path, run: Compare, locked: str, output: str) -> None:
    good = put(shared_folder / "good.jsonl", line("a"))
    # What is imported on demand is imported while every file may still be read.
    assert run(good, good, "--format", output).status == 0
    for name in ("locked/old.jsonl", "old.jsonl", "good_failures.jsonl"):
        put(shared_folder / name, line("a"))
    (shared_folder / locked.split("/", maxsplit=1)[0]).chmod(0)
    with ordinary_user():
        done = run(good if locked.startswith("good") else shared_folder / locked, good, "--format", output)
    assert str(shared_folder / locked) in one_error(done)


def test_a_logs_dir_that_may_not_be_entered_is_no_error(shared_folder: Path, run: Compare) -> None:
    old = put(shared_folder / "old.jsonl", line("a", 0, verifier_logs_dir="logs"))
    new = put(shared_folder / "new.jsonl", line("a"))
    put(shared_folder / "logs" / "test-stdout.txt", b"assert 1 == 2\n")
    assert run(old, new, "--json", "-").status == 0
    (shared_folder / "logs").chmod(0)
    with ordinary_user():
        done = run(old, new, "--json", "-")
        report = run(old, new)
    assert (done.status, report.status) == (0, 0), done.err
    [entry] = done.json["tasks"]
    assert entry["verifier_output"]["source"].startswith("unavailable: ")


def test_a_socket_is_no_rollouts_file(rollouts: Rollouts, run: Compare, monkeypatch: pytest.MonkeyPatch) -> None:
    good = put(rollouts.folder / "good.jsonl", line("a"))
    monkeypatch.chdir(rollouts.folder)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("s.jsonl")
        assert Path("s.jsonl").is_socket()
        assert "s.jsonl" in one_error(run("s.jsonl", good))


# Nothing to compare


@pytest.mark.parametrize("content", [b"", b"\n", b"\r\n \n\t\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n"])
def test_two_files_without_a_row_are_unreadable(rollouts: Rollouts, run: Compare, content: bytes) -> None:
    old, new = (put(rollouts.folder / name, content) for name in ("old.jsonl", "new.jsonl"))
    assert "no rows in either input" in one_error(run(old, new))


@pytest.mark.parametrize("output", ["text", "json"])
def test_rows_that_name_no_task_are_unreadable(rollouts: Rollouts, run: Compare, output: str) -> None:
    nameless = put(rollouts.folder / "old.jsonl", b'{"reward": 1}\n{"verifier_metadata": "x", "reward": 0}\n')
    good = put(rollouts.folder / "new.jsonl", line("a"))
    for sides in ((nameless, good), (good, nameless)):
        error = one_error(run(*sides, "--format", output))
        assert "no task id field found" in error
        assert "--key" in error


@pytest.mark.parametrize("row", [{"meta": {"other": 1}}, {"meta": "text"}, {"meta": {"zid": None}}, {}])
@pytest.mark.parametrize("option", ["--key", "--old-key"])
def test_an_explicit_key_that_a_row_lacks_is_unreadable(
    rollouts: Rollouts, run: Compare, row: dict[str, object], option: str
) -> None:
    good = rollouts.write("new.jsonl", [{"meta": {"zid": "a"}, "task_id": "a", "reward": 1}])
    old = rollouts.write("old.jsonl", [{"meta": {"zid": "a"}, "reward": 1}, {"task_id": "b", "reward": 1, **row}])
    error = one_error(run(old, good, option, "meta.zid"))
    assert "meta.zid" in error
    assert f"{old}:2" in error


# The shape of the error line


@pytest.mark.parametrize(
    "task",
    ["x" * 5000, "é" * 5000, "漢" * 3000, "\U0001f600" * 2000, "\ud800" * 500, "\x1b" * 4000],
    ids=["ascii", "two-byte", "three-byte", "four-byte", "surrogates", "escapes"],
)
def test_a_long_task_name_does_not_make_a_long_error(error_of: ErrorOf, task: str) -> None:
    assert error_of(line(task, "1.0")).startswith(":1: ")


@pytest.mark.parametrize("length", [100, 180, 240])
def test_a_path_that_fits_is_told_whole(rollouts: Rollouts, run: Compare, length: int) -> None:
    good = put(rollouts.folder / "good.jsonl", line("a"))
    path = rollouts.folder / ("x" * length)
    assert f"error: {path}:" in one_error(run(path, good))
    put(path, b"oops\n")
    assert f"error: {path}:1: " in one_error(run(path, good))


def test_a_long_path_does_not_make_a_long_error(rollouts: Rollouts, run: Compare) -> None:
    folder = rollouts.folder.joinpath(*["d" * 200] * 8)
    good = put(rollouts.folder / "good.jsonl", line("a"))
    one_error(run(folder / "absent.jsonl", good))
    error = one_error(run(put(folder / "bad.jsonl", line("t", "1.0")), good))
    assert "reward" in error


@pytest.mark.parametrize("mark", ["\n", "\r", "\x1b[31m", "\x07", "\x08", "\x00", "\x7f", "\x85", "\x9b"])
def test_control_characters_of_a_task_name_are_escaped(error_of: ErrorOf, mark: str) -> None:
    error = error_of(line(f"a{mark}::error::b", "1.0"))
    assert mark[0] not in error.rstrip("\n")
    assert "::error::b" in error


@pytest.mark.parametrize("mark", ["\n", "\r", "\x1b[31m", "\x85"])
@pytest.mark.parametrize("exists", [True, False])
def test_control_characters_of_a_path_are_escaped(rollouts: Rollouts, run: Compare, mark: str, exists: bool) -> None:
    good = put(rollouts.folder / "good.jsonl", line("a"))
    path = rollouts.folder / f"a{mark}b.jsonl"
    if exists:
        put(path, b"oops\n")
    error = one_error(run(path, good))
    assert mark[0] not in error.rstrip("\n")
    assert "b.jsonl" in error


def test_a_path_that_is_no_utf8_is_told(rollouts: Rollouts, run: Compare) -> None:
    good = put(rollouts.folder / "good.jsonl", line("a"))
    path = rollouts.folder / os.fsdecode(b"a\xff.jsonl")
    one_error(run(path, good))
    path.write_bytes(b"oops\n")
    assert ":1: " in one_error(run(path, good))


# Nothing half-written


@pytest.mark.parametrize(
    "content", [b"oops\n", line("a") + b"oops\n", b"", b'{"reward": 1}\n', line("a", "text"), None]
)
@pytest.mark.parametrize("output", ["text", "json"])
def test_no_summary_is_left_behind(rollouts: Rollouts, run: Compare, content: bytes | None, output: str) -> None:
    old, new = rollouts.folder / "old.jsonl", put(rollouts.folder / "new.jsonl", content or b"")
    if content is not None:
        put(old, content)
    out = rollouts.folder / "out"
    out.mkdir()
    one_error(run(old, new, "--format", output, "--json", out / "summary.json"))
    assert list(out.iterdir()) == []


def test_an_earlier_summary_is_kept_as_it_was(rollouts: Rollouts, run: Compare) -> None:
    bad = put(rollouts.folder / "bad.jsonl", line("a") + b"oops\n")
    earlier = put(rollouts.folder / "out" / "summary.json", b"earlier")
    one_error(run(bad, bad, "--json", earlier))
    assert earlier.read_bytes() == b"earlier"
    assert list(earlier.parent.iterdir()) == [earlier]


@pytest.mark.parametrize(
    "output", ["old.jsonl", "new.jsonl", "old_failures.jsonl", "linked.jsonl", "hard.jsonl", "x/../old.jsonl"]
)
def test_an_output_that_is_an_input_is_refused(
    rollouts: Rollouts, run: Compare, output: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    contents = {name: line("a") for name in ("old.jsonl", "new.jsonl", "old_failures.jsonl")}
    old, new, _ = (put(rollouts.folder / name, content) for name, content in contents.items())
    (rollouts.folder / "x").mkdir()
    (rollouts.folder / "linked.jsonl").symlink_to(old)
    (rollouts.folder / "hard.jsonl").hardlink_to(new)
    monkeypatch.chdir(rollouts.folder)
    done = run(old, new, "--json", output)
    assert (done.status, done.out) == (2, "")
    assert {name: (rollouts.folder / name).read_bytes() for name in contents} == contents


def test_a_byte_order_mark_between_put_together_files_is_named(rollouts: Rollouts, run: Compare) -> None:
    good = put(rollouts.folder / "good.jsonl", line("a"))
    both = put(rollouts.folder / "both.jsonl", b"\xef\xbb\xbf" + line("a") + b"\xef\xbb\xbf" + line("b"))
    error = one_error(run(both, good))
    assert ":2: " in error
    assert "byte order mark" in error


def test_an_empty_path_is_told(rollouts: Rollouts, run: Compare) -> None:
    good = put(rollouts.folder / "good.jsonl", line("a"))
    assert "error: '': " in one_error(run("", good))
