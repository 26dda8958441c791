"""Where a side is read from: files, directories, globs, shards, compression, pipes; and what ends a line."""

from __future__ import annotations

import gzip
import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from rollout_compare import CompareInputError, compare, load_side
from tests.conftest import Compare, Rollouts, Summary
from tests.integration.reading.files import line, one_error, put
from tests.summaries import labels

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


BOM = b"\xef\xbb\xbf"
SIDECAR_LIKE = [
    "rollouts_failures.jsonl",
    "rollouts_materialized_inputs.jsonl",
    "rollouts_reward_profiling.jsonl",
    "rollout_verdicts.jsonl",
]


def lines(*tasks: str) -> bytes:
    return b"".join(line(task) for task in tasks)


def category(summary: dict[str, Any], name: str) -> str:
    [found] = [str(entry["category"]) for entry in summary["tasks"] if entry["task"] == name]
    return found


def zstd_frame(content: bytes) -> bytes:
    return bytes(zstd.compress(content))


def skippable_frame(content: bytes) -> bytes:
    """The kind of frame that parallel compressors put before their data; it holds none of it."""
    return b"\x50\x2a\x4d\x18" + len(content).to_bytes(4, "little") + content


COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".zst": zstd_frame}


# What ends a line


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(lines("a", "b"), id="plain"),
        pytest.param(lines("a", "b").rstrip(b"\n"), id="no-last-line-end"),
        pytest.param(lines("a", "b").replace(b"\n", b"\r\n"), id="crlf"),
        pytest.param(lines("a", "b").replace(b"\n", b"\r\n").rstrip(b"\n"), id="crlf-cut-to-cr"),
        pytest.param(b"\n\n" + lines("a") + b"\n \t\n\r\n" + lines("b") + b"\n\n", id="blank-lines"),
        pytest.param(BOM + lines("a", "b"), id="bom"),
        pytest.param(BOM + b"\r\n" + lines("a", "b"), id="bom-then-blank-line"),
        pytest.param(b"  \t" + lines("a") + b" " + lines("b").replace(b"\n", b"  \n"), id="spaces-around"),
        pytest.param(lines("a", "b").replace(b", ", b",\r"), id="cr-between-members"),
    ],
)
def test_the_same_two_rows_however_the_lines_end(rollouts: Rollouts, summary: Summary, content: bytes) -> None:
    old = put(rollouts.folder / "old.jsonl", content)
    new = rollouts.write("new.jsonl", [{"task_id": "a", "reward": 1}, {"task_id": "b", "reward": 1}])
    result = summary(old, new)
    assert labels(result) == ["a", "b"]
    assert result["counts"]["identical"] == 2
    assert result["sides"]["old"]["rows"] == 2


@pytest.mark.parametrize(
    ("mark", "escaped"),
    [
        *((mark, False) for mark in ("\u2028", "\u2029", "\u0085")),
        *((mark, True) for mark in ("\u2028", "\u2029", "\u0085", "\n", "\r", "\u000b", "\u000c", "\u001c")),
    ],
)
def test_only_a_line_feed_ends_a_line(rollouts: Rollouts, summary: Summary, mark: str, escaped: bool) -> None:
    raw = json.dumps({"task_id": f"a{mark}b", "reward": 1, "note": mark * 3}, ensure_ascii=escaped)
    old, new = rollouts.write("old.jsonl", [raw]), rollouts.write("new.jsonl", [raw])
    assert labels(summary(old, new)) == [f"a{mark}b"]


def test_a_byte_order_mark_counts_at_the_start_of_the_file_only(rollouts: Rollouts, run: Compare) -> None:
    old = put(rollouts.folder / "old.jsonl", line("a") + BOM + line("b"))
    assert f"{old}:2:" in one_error(run(old, old))


def test_a_sidecar_may_start_with_a_byte_order_mark(rollouts: Rollouts, summary: Summary) -> None:
    old = rollouts.write("old.jsonl", [{"task_id": "a", "reward": 1}])
    put(rollouts.folder / "old_failures.jsonl", BOM + b'{"task_id": "a"}\r\n')
    new = rollouts.write("new.jsonl", [{"task_id": "a", "reward": 1}])
    assert category(summary(old, new), "a") == "masked"


# What is JSON


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", '"\\ud800"', '"\\u0000"'])
def test_values_the_standard_library_reads_are_read(rollouts: Rollouts, summary: Summary, text: str) -> None:
    raw = f'{{"task_id": "a", "reward": 1, "other": {text}, "deep": {{"list": [{text}]}}}}'
    path = rollouts.write("old.jsonl", [raw])
    assert category(summary(path, rollouts.write("new.jsonl", [raw])), "a") == "identical"


@pytest.mark.parametrize(
    "raw",
    [
        '{"task_id": "x", "reward": 0, "task_id": "a", "reward": 1}',
        '{"reward": "text", "task_id": "a", "reward": 1}',
        '{"reward": 0, "task_id": "a", "rew\\u0061rd": 1}',
        '{"rew\\u0061rd": 0, "task_id": "a", "reward": 1}',
        '{"task_id": "a", "mask_sample": true, "reward": 1, "mask_sample": false}',
        '{"task_id": "a", "reward": 1, "error": "x", "error": null}',
        '{"task_id": "a", "reward": 1, "response": {"metadata": {"error_type": "x"}}, "response": {}}',
    ],
)
def test_the_last_of_two_equal_keys_wins(rollouts: Rollouts, summary: Summary, raw: str) -> None:
    new = rollouts.write("new.jsonl", [{"task_id": "a", "reward": 1}])
    [entry] = summary(rollouts.write("old.jsonl", [raw]), new)["tasks"]
    assert (entry["task"], entry["category"], entry["old"]["agent_error"]) == ("a", "identical", None)


@pytest.mark.parametrize(
    ("raw", "replaced"),
    [
        (b"\xff", "\ufffd"),
        (b"\xc3", "\ufffd"),
        (b"\xf0\x9f\x98", "\ufffd"),
        (b"\xed\xa0\x80", "\ufffd\ufffd\ufffd"),
        (b"\xc0\xaf", "\ufffd\ufffd"),
        (b"\xe2\x82x", "\ufffdx"),
    ],
)
def test_bytes_that_are_no_utf8_become_replacement_characters(
    rollouts: Rollouts, summary: Summary, raw: bytes, replaced: str
) -> None:
    old = rollouts.write("old.jsonl", [b'{"task_id": "a' + raw + b'", "reward": 1, "log": "' + raw + b'"}'])
    new = rollouts.write("new.jsonl", [{"task_id": f"a{replaced}", "reward": 1}])
    assert category(summary(old, new), f"a{replaced}") == "identical"


# Directories


def test_a_directory_is_read_by_its_rollouts_file(rollouts: Rollouts, summary: Summary) -> None:
    rollouts.write("run/rollouts.jsonl", [{"task_id": "a", "reward": 1}], failures=[{"task_id": "b"}])
    rollouts.write("run/another.jsonl", [{"task_id": "other", "reward": 1}])
    assert labels(summary(rollouts.folder / "run", rollouts.folder / "run")) == ["a", "b"]


@pytest.mark.parametrize("name", ["results.jsonl", "rollouts.jsonl.gz", "step-9.jsonl.zst"])
def test_a_directory_is_read_by_its_only_rollouts_file(rollouts: Rollouts, summary: Summary, name: str) -> None:
    content = COMPRESSORS.get(Path(name).suffix, bytes)(lines("a"))
    folder = put(rollouts.folder / "run" / name, content).parent
    put(folder / "README.md", b"# a run\n")
    assert labels(summary(folder, folder)) == ["a"]


@pytest.mark.parametrize("compression", ["", ".gz", ".zst"])
@pytest.mark.parametrize("name", SIDECAR_LIKE)
def test_a_directory_and_a_glob_pass_over_files_that_hold_no_rollouts(
    rollouts: Rollouts, summary: Summary, name: str, compression: str
) -> None:
    folder = put(rollouts.folder / "run" / "part.jsonl", lines("a")).parent
    put(folder / (name + compression), COMPRESSORS.get(compression, bytes)(lines("not-a-rollout")))
    assert labels(summary(folder, f"{folder}/*")) == ["a"]


@pytest.mark.parametrize("name", SIDECAR_LIKE)
def test_a_file_named_outright_is_read_whatever_its_name(rollouts: Rollouts, summary: Summary, name: str) -> None:
    old = put(rollouts.folder / name, lines("a"))
    new = rollouts.write("new.jsonl", [{"task_id": "a", "reward": 1}])
    assert category(summary(old, new), "a") == "identical"


def test_a_directory_with_several_rollouts_files_is_an_error_that_lists_them(rollouts: Rollouts, run: Compare) -> None:
    for name in ("first.jsonl", "second.jsonl"):
        put(rollouts.folder / "run" / name, lines("a"))
    error = one_error(run(rollouts.folder / "run", rollouts.folder / "run" / "first.jsonl"))
    assert "first.jsonl" in error
    assert "second.jsonl" in error


@pytest.mark.parametrize("name", ["README.md", *SIDECAR_LIKE])
def test_a_directory_without_rollouts_is_an_error_that_names_it(rollouts: Rollouts, run: Compare, name: str) -> None:
    folder = put(rollouts.folder / "bare" / name, lines("a")).parent
    other = rollouts.write("new.jsonl", [{"task_id": "a", "reward": 1}])
    assert str(folder) in one_error(run(folder, other))
    assert str(folder) in one_error(run(other, folder))


# Globs and shards


def test_a_glob_makes_one_side_of_all_its_files(rollouts: Rollouts, summary: Summary) -> None:
    for number in (1, 2, 10):
        put(rollouts.folder / f"shard-{number}.jsonl", lines(f"t{number}"))
    new = rollouts.write("new.jsonl", [{"task_id": t, "reward": 1} for t in ("t1", "t10", "t2")])
    result = summary(f"{rollouts.folder}/shard-*.jsonl", new)
    assert result["counts"]["identical"] == 3
    assert result["sides"]["old"]["rows"] == 3


def test_a_glob_may_match_plain_and_compressed_files(rollouts: Rollouts, summary: Summary) -> None:
    for suffix, name in (("", "a"), (".gz", "b"), (".zst", "c")):
        put(rollouts.folder / f"{name}.jsonl{suffix}", COMPRESSORS.get(suffix, bytes)(lines(name)))
    pattern = f"{rollouts.folder}/?.jsonl*"
    assert labels(summary(pattern, pattern)) == ["a", "b", "c"]


def test_an_existing_path_is_never_taken_for_a_glob(rollouts: Rollouts, summary: Summary) -> None:
    bracketed = put(rollouts.folder / "run[12].jsonl", lines("bracketed"))
    put(rollouts.folder / "run1.jsonl", lines("one"))
    starred = put(rollouts.folder / "run*.jsonl", lines("starred"))
    assert labels(summary(bracketed, starred)) == ["bracketed", "starred"]


@pytest.mark.parametrize("pattern", ["none-*.jsonl", "part?.jsonl", "x[0-9].jsonl", "run/*_failures.jsonl"])
def test_a_glob_that_matches_nothing_is_an_error_that_names_it(rollouts: Rollouts, run: Compare, pattern: str) -> None:
    put(rollouts.folder / "run" / "rollouts_failures.jsonl", lines("a"))
    new = rollouts.write("new.jsonl", [{"task_id": "a", "reward": 1}])
    assert pattern in one_error(run(f"{rollouts.folder}/{pattern}", new))


def test_several_paths_are_one_side_read_in_sorted_order(rollouts: Rollouts, summary: Summary) -> None:
    first = put(rollouts.folder / "a.jsonl", line("t", error="from a"))
    second = put(rollouts.folder / "b.jsonl", line("t", error="from b"))
    new = rollouts.write("new.jsonl", [{"task_id": "t", "reward": 1}])
    results = [
        summary("--old", first, "--old", second, "--new", new),
        summary("--old", second, "--old", first, "--new", new),
        summary(f"{rollouts.folder}/[ab].jsonl", new),
    ]
    for result in results:
        [entry] = result["tasks"]
        assert (entry["old"]["rows"], entry["old"]["agent_error"]) == (2, "error: from a")
    assert len({result["sides"]["old"]["digest"] for result in results}) == 1


def test_each_shard_has_its_own_sidecar(rollouts: Rollouts, summary: Summary) -> None:
    for name in ("a", "b"):
        rollouts.write(
            f"{name}.jsonl", [{"task_id": f"{name}-ok", "reward": 1}], failures=[{"task_id": f"{name}-lost"}]
        )
    new = rollouts.write("new.jsonl", [{"task_id": t, "reward": 1} for t in ("a-lost", "a-ok", "b-lost", "b-ok")])
    result = summary("--old", rollouts.folder / "a.jsonl", "--old", rollouts.folder / "b.jsonl", "--new", new)
    assert [entry["category"] for entry in result["tasks"]] == ["masked", "identical", "masked", "identical"]


def test_a_directory_may_be_one_of_several_paths(rollouts: Rollouts, summary: Summary) -> None:
    folder = put(rollouts.folder / "run" / "rollouts.jsonl", lines("a")).parent
    extra = put(rollouts.folder / "extra.jsonl.gz", gzip.compress(lines("b")))
    result = summary("--old", folder, "--old", extra, "--new", extra)
    assert [(entry["task"], entry["category"]) for entry in result["tasks"]] == [
        ("a", "missing"),
        ("b", "identical"),
    ]


# Compression


@pytest.mark.parametrize("name", ["old.jsonl.gz", "old.jsonl.GZ", "old.jsonl"])
@pytest.mark.parametrize(
    "members",
    [
        pytest.param([lines("a", "b")], id="one-member"),
        pytest.param([lines("a"), lines("b")], id="two-members"),
        pytest.param([lines("a")[:9], lines("a")[9:] + lines("b")], id="members-split-inside-a-line"),
        pytest.param([lines("a"), b"", lines("b"), b""], id="empty-members"),
        pytest.param([BOM + lines("a"), lines("b")], id="bom"),
    ],
)
def test_all_members_of_a_gzip_file_are_read(
    rollouts: Rollouts, summary: Summary, members: list[bytes], name: str
) -> None:
    old = put(rollouts.folder / name, b"".join(gzip.compress(member) for member in members))
    new = put(rollouts.folder / "new.jsonl", lines("a", "b"))
    result = summary(old, new)
    assert result["counts"]["identical"] == 2
    assert result["sides"]["old"]["digest"] == result["sides"]["new"]["digest"]


@pytest.mark.parametrize("name", ["old.jsonl.zst", "old.jsonl.ZST", "old.jsonl"])
@pytest.mark.parametrize(
    "frames",
    [
        pytest.param([zstd_frame(lines("a", "b"))], id="one-frame"),
        pytest.param([zstd_frame(lines("a")), zstd_frame(lines("b"))], id="two-frames"),
        pytest.param([zstd_frame(lines("a")[:9]), zstd_frame(lines("a")[9:] + lines("b"))], id="split-inside-a-line"),
        pytest.param([zstd_frame(lines("a")), zstd_frame(b""), zstd_frame(lines("b"))], id="empty-frame"),
        pytest.param(
            [zstd_frame(lines("a")), skippable_frame(b"index"), zstd_frame(lines("b"))],
            id="skippable-between",
        ),
    ],
)
def test_all_frames_of_a_zstandard_file_are_read(
    rollouts: Rollouts, summary: Summary, frames: list[bytes], name: str
) -> None:
    old = put(rollouts.folder / name, b"".join(frames))
    new = put(rollouts.folder / "new.jsonl", lines("a", "b"))
    result = summary(old, new)
    assert result["counts"]["identical"] == 2
    assert result["sides"]["old"]["digest"] == result["sides"]["new"]["digest"]


def test_a_zstandard_file_that_starts_with_a_skippable_frame_is_read(rollouts: Rollouts, summary: Summary) -> None:
    old = put(rollouts.folder / "old.jsonl.zst", skippable_frame(b"\0" * 4) + zstd_frame(lines("a")))
    assert labels(summary(old, old)) == ["a"]


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_many_compressed_rows_are_all_read(rollouts: Rollouts, summary: Summary, suffix: str) -> None:
    names = [f"t{number:04}" for number in range(3000)]
    content = b"".join(line(name, text=f"{name} " * 150) for name in names)
    old = put(rollouts.folder / f"old.jsonl{suffix}", COMPRESSORS[suffix](content))
    new = put(rollouts.folder / "new.jsonl", lines(*names))
    result = summary(old, new)
    assert (result["counts"]["tasks"], result["counts"]["identical"]) == (3000, 3000)


@pytest.mark.parametrize("kept", [0.5, 0.9, 0.999])
@pytest.mark.parametrize(
    ("named", "suffix"),
    [("old.jsonl", ".gz"), ("old.jsonl.gz", ".gz"), ("old.jsonl", ".zst"), ("old.jsonl.zst", ".zst")],
)
def test_a_compressed_file_that_ends_early_is_unreadable_after_many_good_lines(
    rollouts: Rollouts, run: Compare, suffix: str, named: str, kept: float
) -> None:
    whole = COMPRESSORS[suffix](b"".join(line(f"t{n}", note=str(n**9)) for n in range(3000)))
    old = put(rollouts.folder / named, whole[: int(len(whole) * kept)])
    new = put(rollouts.folder / "new.jsonl", lines("t1"))
    assert str(old) in one_error(run(old, new))


@pytest.mark.parametrize("missing", [1, 4, 8])
def test_a_gzip_file_without_its_trailer_is_unreadable(rollouts: Rollouts, run: Compare, missing: int) -> None:
    old = put(rollouts.folder / "old.jsonl.gz", gzip.compress(lines("a", "b"))[:-missing])
    assert str(old) in one_error(run(old, put(rollouts.folder / "new.jsonl", lines("a"))))


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_a_second_member_that_ends_early_is_unreadable(rollouts: Rollouts, run: Compare, suffix: str) -> None:
    pack = COMPRESSORS[suffix]
    old = put(rollouts.folder / f"old.jsonl{suffix}", pack(lines("a")) + pack(lines("b"))[:-3])
    assert str(old) in one_error(run(old, put(rollouts.folder / "new.jsonl", lines("a"))))


# Which file is the sidecar


@pytest.mark.parametrize(
    ("main", "sidecar"),
    [
        ("s.jsonl", "s_failures.jsonl"),
        ("s.jsonl", "s_failures.jsonl.gz"),
        ("s.jsonl", "s_failures.jsonl.zst"),
        ("s.jsonl.gz", "s_failures.jsonl"),
        ("s.jsonl.gz", "s_failures.jsonl.gz"),
        ("s.jsonl.gz", "s_failures.jsonl.zst"),
        ("s.jsonl.zst", "s_failures.jsonl"),
        ("s.jsonl.zst", "s_failures.jsonl.zst"),
        ("s.ndjson", "s_failures.ndjson"),
        ("s.ndjson", "s_failures.jsonl"),
        ("s.ndjson.gz", "s_failures.ndjson.gz"),
        ("s.ndjson.gz", "s_failures.jsonl"),
        ("s.json", "s_failures.json"),
        ("s.JSONL", "s_failures.JSONL"),
        ("s.JSONL", "s_failures.jsonl"),
        ("s.jsonl", "s_failures.JSONL"),
        ("s.NDJSON", "s_failures.ndjson"),
        ("s.jsonl.GZ", "s_failures.jsonl.gz"),
        ("s.v2.jsonl", "s.v2_failures.jsonl"),
    ],
)
def test_the_sidecar_is_found_beside_its_file(rollouts: Rollouts, summary: Summary, main: str, sidecar: str) -> None:
    for name, content in ((main, lines("a", "b")), (sidecar, b'{"task_id": "b"}\n')):
        put(rollouts.folder / name, COMPRESSORS.get(Path(name).suffix.lower(), bytes)(content))
    new = put(rollouts.folder / "new.jsonl", lines("a", "b"))
    result = summary(rollouts.folder / main, new)
    assert [entry["category"] for entry in result["tasks"]] == ["identical", "masked"]


@pytest.mark.parametrize(
    "other",
    ["s-failures.jsonl", "_failures.jsonl", "t_failures.jsonl", "s_failures.txt", "xs_failures.jsonl"],
)
def test_a_file_of_another_name_is_no_sidecar(rollouts: Rollouts, summary: Summary, other: str) -> None:
    main = put(rollouts.folder / "s.jsonl", lines("a"))
    put(rollouts.folder / other, b'{"task_id": "a"}\n')
    assert category(summary(main, main), "a") == "identical"


def test_the_sidecar_with_the_same_ending_goes_before_the_plain_one(rollouts: Rollouts, summary: Summary) -> None:
    main = put(rollouts.folder / "s.ndjson", lines("a", "b"))
    put(rollouts.folder / "s_failures.ndjson", b'{"task_id": "a"}\n')
    put(rollouts.folder / "s_failures.jsonl", b'{"task_id": "b"}\n')
    result = summary(main, put(rollouts.folder / "new.jsonl", lines("a", "b")))
    assert [entry["category"] for entry in result["tasks"]] == ["masked", "identical"]


def test_a_sidecar_is_recognised_as_compressed_by_its_content(rollouts: Rollouts, summary: Summary) -> None:
    main = put(rollouts.folder / "s.jsonl", lines("a"))
    put(rollouts.folder / "s_failures.jsonl", gzip.compress(b'{"task_id": "a"}\n'))
    assert category(summary(main, main), "a") == "masked"


@pytest.mark.parametrize("content", [b"", b"\n \n", BOM])
def test_a_sidecar_without_a_record_changes_nothing(rollouts: Rollouts, summary: Summary, content: bytes) -> None:
    main = put(rollouts.folder / "s.jsonl", lines("a"))
    put(rollouts.folder / "s_failures.jsonl", content)
    result = summary(main, main)
    assert category(result, "a") == "identical"
    assert (result["sides"]["old"]["rows"], result["sides"]["old"]["masked_rows"]) == (1, 0)


# Pipes


@contextmanager
def pipe(content: bytes) -> Iterator[str]:
    """A path that can be read once, as a shell's process substitution makes it."""
    reader, writer = os.pipe()
    os.write(writer, content)
    os.close(writer)
    try:
        yield f"/dev/fd/{reader}"
    finally:
        os.close(reader)


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstd_frame])
def test_a_pipe_is_read_as_a_side(rollouts: Rollouts, summary: Summary, pack: Callable[[bytes], bytes]) -> None:
    new = put(rollouts.folder / "new.jsonl", lines("a", "b"))
    with pipe(pack(lines("a", "b"))) as old:
        assert summary(old, new)["counts"]["identical"] == 2
    with pipe(pack(lines("a", "b"))) as piped:
        assert summary(new, piped)["counts"]["identical"] == 2


def test_a_named_pipe_longer_than_its_buffer_is_read_to_the_end(rollouts: Rollouts, summary: Summary) -> None:
    names = [f"t{number}" for number in range(500)]
    content = b"".join(line(name, text="x" * 4000) for name in names)
    fifo = rollouts.folder / "old.jsonl"
    os.mkfifo(fifo)
    writer = threading.Thread(target=fifo.write_bytes, args=(content,), daemon=True)
    writer.start()
    result = summary(fifo, put(rollouts.folder / "new.jsonl", lines(*names)))
    writer.join(timeout=10)
    assert result["counts"]["identical"] == 500


def test_a_fault_in_a_pipe_is_told_by_its_path_and_line(rollouts: Rollouts, run: Compare) -> None:
    new = put(rollouts.folder / "new.jsonl", lines("a"))
    with pipe(line("a") + b"oops\n") as old:
        assert f"{old}:2:" in one_error(run(old, new))


def test_the_embedded_log_of_a_pipe_is_unavailable_and_the_report_says_so(
    rollouts: Rollouts, summary: Summary, run: Compare
) -> None:
    loser = line("a", 0.0, test_output="assert 1 == 2")
    new = put(rollouts.folder / "new.jsonl", lines("a"))
    with pipe(loser) as old:
        [entry] = summary(old, new)["tasks"]
    source = entry["verifier_output"]["source"]
    assert source.startswith("unavailable: ")
    with pipe(loser) as old:
        report = run(old, new)
    assert report.status == 0
    assert "pipe" in report.out
    assert "assert 1 == 2" not in report.out


# The library


def test_the_library_reads_one_path_or_several(rollouts: Rollouts) -> None:
    first = put(rollouts.folder / "a.jsonl", lines("a"))
    second = put(rollouts.folder / "b.jsonl.gz", gzip.compress(lines("b")))
    result = compare(load_side([second, first]), load_side(str(first)))
    assert [(entry.task, entry.category) for entry in result.tasks] == [("a", "identical"), ("b", "missing")]


@pytest.mark.parametrize("several", [True, False])
def test_the_library_raises_one_error_that_names_path_and_line(rollouts: Rollouts, several: bool) -> None:
    bad = put(rollouts.folder / "a.jsonl", lines("a") + b"oops\n")
    with pytest.raises(CompareInputError) as caught:
        load_side([bad, put(rollouts.folder / "b.jsonl", lines("b"))] if several else bad)
    assert f"{bad}:2:" in str(caught.value)


# What the summary says of a side


def test_a_side_is_described_by_its_paths_size_and_rows(rollouts: Rollouts, summary: Summary) -> None:
    old = put(rollouts.folder / "old.jsonl", lines("a", "b") + b'{"task_id": "c"}\n')
    new = put(rollouts.folder / "new.jsonl", lines("a"))
    sides = summary(old, new)["sides"]
    assert (sides["old"]["paths"], sides["old"]["bytes"]) == ([str(old)], old.stat().st_size)
    assert (sides["old"]["rows"], sides["old"]["masked_rows"]) == (3, 1)
    assert (sides["new"]["rows"], sides["new"]["masked_rows"]) == (1, 0)


def test_the_digest_tells_other_rows_and_another_order_apart(rollouts: Rollouts, summary: Summary) -> None:
    contents = {"same": lines("a", "b"), "order": lines("b", "a"), "other": lines("a") + line("b", 0.5)}
    new = put(rollouts.folder / "new.jsonl", lines("a", "b"))
    seen = {
        name: summary(put(rollouts.folder / f"{name}.jsonl", content), new)["sides"]
        for name, content in contents.items()
    }
    assert seen["same"]["old"]["digest"] == seen["same"]["new"]["digest"]
    assert len({sides["old"]["digest"] for sides in seen.values()}) == 3


def test_shards_have_the_digest_of_their_merged_file(rollouts: Rollouts, summary: Summary) -> None:
    parts = [put(rollouts.folder / f"part-{name}.jsonl", lines(name)) for name in ("a", "b")]
    merged = put(rollouts.folder / "merged.jsonl", lines("a", "b"))
    sides = summary("--old", parts[0], "--old", parts[1], "--new", merged)["sides"]
    assert sides["old"]["digest"] == sides["new"]["digest"]


def test_a_side_without_a_row_leaves_every_task_of_the_other_missing(rollouts: Rollouts, summary: Summary) -> None:
    empty = put(rollouts.folder / "old.jsonl", b"\n")
    new = put(rollouts.folder / "new.jsonl", lines("a", "b"))
    assert summary(empty, new)["counts"]["missing_new_only"] == 2
    assert summary(new, empty)["counts"]["missing_old_only"] == 2


def test_very_many_blank_lines_are_skipped(rollouts: Rollouts, summary: Summary) -> None:
    # In proportion to their number: in proportion to its square, this would take minutes.
    old = rollouts.write("old.jsonl", [{"task_name": "a", "reward": 1.0}])
    old.write_text(old.read_text() + "\n" * 100_000)
    assert summary(old, old)["sides"]["old"]["rows"] == 1
