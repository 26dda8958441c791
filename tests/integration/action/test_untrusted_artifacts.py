"""Artifacts are data of others: what an archive may not do, and that nothing of it outlives the step."""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.integration.action.conftest import Step, row
from tests.integration.action.recorded import NAME, NEW, OLD, ROLLOUTS, Recorded
from tests.integration.action.zips import (
    DEFLATED,
    ENCRYPTED,
    FOLDER,
    LINK,
    STORED,
    Entry,
    archive,
    jsonl,
    zipped,
)

MIB = 1 << 20
BZIP2, DEFLATE_64, ZSTANDARD = 12, 9, 93
HOSTILE = (
    "../evil.jsonl",
    "a/../../evil.jsonl",
    "..",
    "/evil.jsonl",
    "//evil.jsonl",
    "\\evil.jsonl",
    "a\\..\\..\\evil.jsonl",
    "C:/evil.jsonl",
    "C:evil.jsonl",
    "evil\n.jsonl",
    "evil\x00.jsonl",
    "evil\x1b[31m.jsonl",
    "evil\x7f.jsonl",
    "evil\x85.jsonl",
    "evil\x9b31m.jsonl",
)


def files_of(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if "rollout-compare-report" not in path.parts}


def refused(done: Step, *said: str) -> None:
    """The step is red, with one error that names the artifact."""
    assert done.status == 1
    lowered = done.error.lower()
    assert [words for words in (NAME, *said) if words.lower() not in lowered] == []


def plain(name: str = ROLLOUTS, content: bytes = OLD) -> Entry:
    return Entry(name, content)


def test_the_archives_of_these_tests_are_read_when_nothing_is_wrong(recorded: Recorded) -> None:
    recorded.old(archive([Entry("logs/", b"", STORED, attributes=FOLDER), plain(), Entry("a.txt", b"log", STORED)]))
    done = recorded()
    assert (done.status, done.warnings, done.json["counts"]["flipped"]) == (0, [], 1)


def test_a_file_that_grows_beyond_measure_is_refused(recorded: Recorded) -> None:
    recorded.old(archive([Entry(ROLLOUTS, OLD + b"\n" * (300 * MIB))]))
    refused(recorded(), "200")


def test_a_small_file_may_be_packed_tightly(recorded: Recorded) -> None:
    rows = [row("a", 1.0, padding="x" * 900_000), row("b", 0.0)]
    recorded.old(archive([Entry(ROLLOUTS, jsonl(rows)), Entry("noise.bin", os.urandom(64 << 10), STORED)]))
    assert recorded().status == 0


def test_a_file_that_is_larger_than_it_says_is_refused(recorded: Recorded) -> None:
    noise = Entry("noise.bin", os.urandom(4 * MIB), STORED)
    recorded.old(archive([Entry(ROLLOUTS, OLD + b"\n" * (2 * MIB), size=len(OLD)), noise]))
    refused(recorded())


def test_of_a_file_that_unpacks_beyond_measure_only_what_it_says_is_read(recorded: Recorded) -> None:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(OLD) + b"".join(packer.compress(b"\n" * MIB) for _ in range(256)) + packer.flush()
    recorded.old(archive([Entry(ROLLOUTS, OLD, packed=packed), Entry("noise.bin", os.urandom(MIB), STORED)]))
    done = recorded()
    assert done.status == 1 or done.json["sides"]["old"]["bytes"] == len(OLD)


def test_a_file_that_is_smaller_than_it_says_is_no_more_than_it_is(recorded: Recorded) -> None:
    recorded.old(archive([Entry(ROLLOUTS, OLD, size=len(OLD) + 10)]))
    done = recorded()
    assert done.status == 1 or done.json["sides"]["old"]["bytes"] == len(OLD)


def test_content_with_a_wrong_checksum_is_refused(recorded: Recorded) -> None:
    recorded.old(archive([Entry(ROLLOUTS, OLD, crc=1)]))
    refused(recorded())


def test_more_than_20_gib_in_all_are_refused_before_anything_is_unpacked(recorded: Recorded) -> None:
    large = [Entry(f"{number}.bin", b"x", size=(4 << 30) - 2, packed_size=200 * MIB) for number in range(6)]
    recorded.old(archive([plain(), *large]))
    refused(recorded())


@pytest.mark.parametrize(("number", "status"), [(9_999, 0), (10_000, 1), (60_000, 1)])
def test_an_archive_has_at_most_10000_entries(recorded: Recorded, number: int, status: int) -> None:
    recorded.old(archive([plain(), *(Entry(f"{each}.bin", b"", STORED) for each in range(number))]))
    done = recorded()
    if status:
        refused(done, "10,000" if "10,000" in done.error else "entries")
    else:
        assert (done.status, done.warnings) == (0, [])


def test_an_archive_that_hides_how_many_entries_it_has_is_refused(recorded: Recorded) -> None:
    recorded.old(archive([plain(), *(Entry(f"{each}.bin", b"", STORED) for each in range(20_000))], count=2))
    refused(recorded())


def test_a_directory_of_more_than_4_mib_is_refused_without_being_read(recorded: Recorded) -> None:
    recorded.old(archive([plain(), *(Entry(f"{each:05}{'n' * 60_000}", b"", STORED) for each in range(80))]))
    refused(recorded())


def test_entries_that_share_their_bytes_are_refused(recorded: Recorded) -> None:
    kernel = Entry(ROLLOUTS, OLD + os.urandom(MIB).hex().encode().replace(b"\n", b""))
    recorded.old(
        archive(
            [
                kernel,
                *(
                    Entry(f"{each}.txt", kernel.content, packed=b"", packed_size=len(kernel.packed or b""), at=0)
                    for each in range(300)
                ),
            ]
        )
    )
    done = recorded()
    assert done.status == 1


def test_an_archive_in_the_archive_is_never_opened(recorded: Recorded) -> None:
    inner = zipped({"rollouts.jsonl": OLD})
    recorded.old(archive([Entry("inner.zip", inner, STORED)]))
    refused(recorded())


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_that_leads_elsewhere_is_left_out_with_a_warning(recorded: Recorded, name: str) -> None:
    recorded.old(archive([plain(), Entry(name, NEW)]))
    before = files_of(recorded.stage.workspace.parent)
    done = recorded()
    assert (done.status, done.json["counts"]["flipped"]) == (0, 1)
    [warning] = done.warnings
    assert "1" in warning
    assert NAME in warning
    new = files_of(recorded.stage.workspace.parent) - before
    assert [path for path in new if path.parent.name != "runner"] == []
    assert not Path("/evil.jsonl").exists()


@pytest.mark.parametrize("name", HOSTILE)
def test_rollouts_under_such_a_name_are_not_there(recorded: Recorded, name: str) -> None:
    recorded.old(archive([Entry(name, OLD)]))
    assert recorded().status == 1


@pytest.mark.parametrize("target", [b"/etc/passwd", b"../../../../etc/passwd", b"other.jsonl"])
def test_a_link_is_never_made(recorded: Recorded, target: bytes) -> None:
    recorded.old(archive([Entry("other.jsonl", OLD), Entry(ROLLOUTS, target, STORED, attributes=LINK)]))
    done = recorded(old_artifact=f"{NAME}:{ROLLOUTS}")
    refused(done)
    assert "root:" not in done.told


def test_links_beside_the_rollouts_are_left_out_with_one_warning(recorded: Recorded) -> None:
    links = [Entry(f"{number}.txt", b"/etc/passwd", STORED, attributes=LINK) for number in range(5)]
    recorded.old(archive([plain(), *links]))
    done = recorded()
    assert done.status == 0
    [warning] = done.warnings
    assert "5" in warning


@pytest.mark.parametrize("name", ["d/" * 60 + "x.txt", "d/" * 30_000 + "x.txt", "x" * 1_001, "x" * 300])
def test_names_that_would_wear_out_whoever_makes_their_folders_are_left_out(recorded: Recorded, name: str) -> None:
    recorded.old(archive([plain(), Entry(name, b"x", STORED)]))
    done = recorded()
    assert done.status == 0
    [warning] = done.warnings
    assert "ignored" in warning


@pytest.mark.parametrize("method", [BZIP2, DEFLATE_64, ZSTANDARD, 99, 0xFFFF])
def test_only_stored_and_deflated_files_are_read(recorded: Recorded, method: int) -> None:
    recorded.old(archive([Entry(ROLLOUTS, OLD, method)]))
    refused(recorded())


def test_an_encrypted_file_is_refused(recorded: Recorded) -> None:
    recorded.old(archive([Entry(ROLLOUTS, OLD, DEFLATED, ENCRYPTED)]))
    refused(recorded(), "encrypt")


def test_names_that_appear_twice_do_not_mix(recorded: Recorded) -> None:
    recorded.old(archive([plain(content=OLD), plain(content=NEW)]))
    done = recorded()
    assert done.status == 1 or done.json["sides"]["old"]["rows"] == 2


@pytest.mark.parametrize("backwards", [False, True])
def test_a_file_where_a_folder_is_needed_does_no_harm(recorded: Recorded, backwards: bool) -> None:
    entries = [Entry("x", b"file"), Entry("x/rollouts.jsonl", OLD), Entry("x/rollouts.jsonl/a.txt", b"log")]
    recorded.old(archive(entries[::-1] if backwards else entries))
    done = recorded()
    assert done.status in (0, 1)
    assert NAME in (done.error if done.status else done.json["sides"]["old"]["shards"][0])


@pytest.mark.parametrize(
    "content",
    [b"PK\x05\x06" + bytes(17), b"PK\x03\x04" + bytes(100), zipped({ROLLOUTS: OLD})[:-30], bytes(1_000)],
    ids=["half an end", "zeros", "no end", "no zip"],
)
def test_what_is_no_archive_is_an_error(recorded: Recorded, content: bytes) -> None:
    recorded.old(content)
    refused(recorded())


def test_an_archive_may_have_a_comment(recorded: Recorded) -> None:
    whole = archive([plain()])
    recorded.old(whole[:-2] + b"\x07\x00comment")
    assert recorded().status == 0


@pytest.mark.parametrize("how", ["in front", "behind", "between"])
def test_bytes_around_an_archive_do_no_harm(recorded: Recorded, how: str) -> None:
    whole = archive([plain()], padding=bytes(1_000) if how == "between" else b"")
    recorded.old(bytes(100) * (how == "in front") + whole + bytes(100) * (how == "behind"))
    assert recorded().status in (0, 1)


def test_large_archives_in_the_64_bit_form_are_read(recorded: Recorded, tmp_path: Path) -> None:
    path = tmp_path / "wide.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made, made.open(ROLLOUTS, "w", force_zip64=True) as member:
        member.write(OLD)
    content = path.read_bytes()
    path.unlink()
    recorded.old(content)
    assert recorded().status == 0


LOSS = [row("a", 0.0, verifier_logs_dir="out/a"), row("b", 0.0)]


def test_logs_in_the_artifact_are_shown_for_a_flip(recorded: Recorded) -> None:
    recorded.old()
    files: dict[str, bytes | str] = {
        ROLLOUTS: jsonl(LOSS),
        "out/a/test-stdout.txt": "the assertion failed",
        "out/a/core.bin": "x",
    }
    recorded.service.add(NAME, content=zipped(files))
    done = recorded()
    [body] = recorded.github.state.bodies()
    for text in (body, done.summary, done.text("report.html")):
        assert "the assertion failed" in text


@pytest.mark.parametrize("place", ["deep/x/rollouts.jsonl", "deep/rollouts.jsonl"])
def test_logs_are_looked_for_beside_the_rollouts_then_at_the_root(recorded: Recorded, place: str) -> None:
    recorded.old()
    folder = place.rpartition("/")[0]
    files = {place: jsonl([*LOSS[:1], row("b", 1.0, verifier_logs_dir="out/b")])}
    files |= {f"{folder}/out/a/test-stdout.txt": b"beside the rollouts", "out/a/test-stdout.txt": b"at the root"}
    recorded.service.add(NAME, content=zipped(files))
    assert "beside the rollouts" in recorded().summary


def test_logs_at_the_root_of_the_artifact_are_found(recorded: Recorded) -> None:
    recorded.old()
    files = {"deep/rollouts.jsonl": jsonl(LOSS), "out/a/test-stdout.txt": b"at the root of all"}
    recorded.service.add(NAME, content=zipped(files))
    assert "at the root of all" in recorded().summary


def ctrf(status: str) -> str:
    return json.dumps({"results": {"tests": [{"name": "test_login", "status": status}]}})


@pytest.mark.parametrize("logs", ["out/a", "/data/run5/out/a"])
def test_tests_and_logs_in_artifacts_are_found_also_by_paths_of_another_machine(recorded: Recorded, logs: str) -> None:
    old = jsonl([row("a", 1.0, verifier_logs_dir=logs), row("b", 0.0)])
    recorded.old(zipped({ROLLOUTS: old, "out/a/ctrf.json": ctrf("passed")}))
    files: dict[str, bytes | str] = {
        ROLLOUTS: jsonl([row("a", 0.0, verifier_logs_dir=logs), row("b", 0.0)]),
        "out/a/test-stdout.txt": "the assertion failed",
        "out/a/ctrf.json": ctrf("failed"),
    }
    recorded.service.add(NAME, content=zipped(files))
    [task] = [task for task in recorded().json["tasks"] if task["task"] == "a"]
    assert [test["name"] for test in task["tests"]["broke"]] == ["test_login"]
    assert "out/a/test-stdout.txt" in task["verifier_output"]["source"]


@pytest.mark.parametrize("name", ["token.json", "out/a/results.json", "out/a/CTRF.json"])
def test_other_files_of_an_artifact_are_not_unpacked(recorded: Recorded, name: str) -> None:
    recorded.old()
    files: dict[str, bytes | str] = {ROLLOUTS: jsonl(LOSS), "out/a/test-stdout.txt": "x", name: ctrf("failed")}
    recorded.service.add(NAME, content=zipped(files))
    done = recorded()
    assert done.status == 0
    assert "test_login" not in done.told


@pytest.mark.parametrize(
    "logs", ["../../etc", "/etc", "../../../../../../../../etc", "..", "../workspace", "a/../../.."]
)
def test_logs_outside_of_the_artifact_are_never_read(recorded: Recorded, logs: str) -> None:
    recorded.old()
    (recorded.stage.workspace / "test-stdout.txt").write_text("a file of the workspace")
    rollouts = jsonl([row("a", 0.0, verifier_logs_dir=logs), row("b", 0.0)])
    files: dict[str, bytes | str] = {ROLLOUTS: rollouts, "out/x.txt": "x"}
    recorded.service.add(NAME, content=zipped(files))
    done = recorded()
    assert (done.status, done.json["counts"]["flipped"]) == (0, 1)
    assert "a file of the workspace" not in done.told
    assert "root:" not in done.told


def test_one_artifact_cannot_read_the_other_one(recorded: Recorded) -> None:
    recorded.old(zipped({ROLLOUTS: OLD, "out/test-stdout.txt": "words of the old side"}))
    rows = [row("a", 0.0, verifier_logs_dir="../old/out"), row("b", 0.0)]
    recorded.service.add(NAME, content=zipped({ROLLOUTS: jsonl(rows)}))
    assert "words of the old side" not in recorded().told


def test_a_folder_for_temporary_files_that_is_not_there_is_no_obstacle(recorded: Recorded) -> None:
    recorded.old()
    assert recorded(environment={"RUNNER_TEMP": "/nonexistent/folder"}).status == 0


def test_a_folder_for_temporary_files_may_have_any_name(recorded: Recorded) -> None:
    recorded.old(zipped({"out/x.jsonl": OLD}))
    folder = recorded.temporary / "run [1] *?"
    folder.mkdir()
    recorded.temporary = folder
    assert recorded(old_artifact=f"{NAME}:o*/*.jsonl", new_artifact=f"{NAME}:{ROLLOUTS}").status == 0


_parts = st.one_of(
    st.sampled_from(["..", ".", "", "a", "C:", "~", "con", "\\", "\x00", "\n", "é", "\ud800", "a" * 300]), st.text()
)


@settings(max_examples=40)
@given(names=st.lists(st.lists(_parts, min_size=1, max_size=4).map("/".join), max_size=6), data=st.data())
def test_whatever_the_names_are_nothing_is_written_elsewhere(
    recorded: Recorded, names: list[str], data: st.DataObject
) -> None:
    made = [name for name in names if len(name.encode("utf-8", "surrogatepass")) < 60_000]
    links = data.draw(st.lists(st.booleans(), min_size=len(made), max_size=len(made)))
    entries = [
        Entry(name, b"../../evil", STORED, attributes=LINK if link else 0)
        for name, link in zip(made, links, strict=True)
    ]
    recorded.github.state.repositories["octo-org/octo-repo"].artifacts.clear()
    recorded.old(archive([*entries, plain("rollouts-of-the-test.jsonl")]))
    recorded.github.state.comments.clear()
    before = files_of(recorded.stage.workspace.parent)
    done = recorded(old_artifact=f"{NAME}:rollouts-of-the-test.jsonl", run_id=1_000)
    assert done.status in (0, 1)
    new = files_of(recorded.stage.workspace.parent) - before
    assert [path for path in new if path.parent.name != "runner"] == []
