"""What is uploaded: the content in blocks, the zip of files, and the name."""

from __future__ import annotations

import hashlib
import random
import zipfile
from pathlib import Path

import pytest

from rollout_compare.github.artifacts.upload import allowed_name, zipped
from tests.integration.artifact.conftest import CONTENT, NAME, Uploader
from tests.stand_in.artifacts import FORBIDDEN

MEBIBYTE = 1 << 20


@pytest.mark.parametrize(
    ("size", "blocks"),
    [
        (1, [1]),
        (8 * MEBIBYTE, [8 * MEBIBYTE]),
        (20 * MEBIBYTE, [8 * MEBIBYTE, 8 * MEBIBYTE, 4 * MEBIBYTE]),
    ],
)
def test_the_blocks_of_8_mib_put_together_are_the_content(upload: Uploader, size: int, blocks: list[int]) -> None:
    content = random.Random(size).randbytes(size)
    done = upload(content=content)
    artifact = upload.artifacts.finished[NAME]
    assert artifact.sizes == blocks
    assert artifact.content == content
    assert done.digest == artifact.digest == f"sha256:{hashlib.sha256(content).hexdigest()}"


def test_an_empty_content_is_uploaded_without_an_empty_block_which_the_storage_refuses(upload: Uploader) -> None:
    done = upload(content=b"")
    assert upload.artifacts.finished[NAME].content == b""
    assert done.digest == f"sha256:{hashlib.sha256(b'').hexdigest()}"
    assert upload.artifacts.calls("PutBlock") == []


@pytest.mark.parametrize("character", FORBIDDEN)
def test_a_forbidden_character_is_replaced_in_a_name(character: str) -> None:
    assert allowed_name(f"rollouts{character}math") == "rollouts-math"


@pytest.mark.parametrize("name", ["rollout-compare", "Rollouts of math, v1.2", "größer (neu)", "report.html"])
def test_an_allowed_name_is_kept(upload: Uploader, name: str) -> None:
    assert allowed_name(name) == name
    assert upload(name).name == name


@pytest.mark.parametrize("name", ["", " ", "..", FORBIDDEN])
def test_any_text_becomes_a_name_that_the_service_takes(upload: Uploader, name: str) -> None:
    assert upload(allowed_name(name)).name in upload.artifacts.finished


def _files(folder: Path, order: list[str]) -> list[tuple[str, str]]:
    for name in order:
        (folder / name).write_bytes(name.encode() * 1000)
    return [(name, str(folder / name)) for name in order]


def test_the_same_files_make_the_same_zip(tmp_path: Path) -> None:
    names = ["summary.json", "report.md", "report.html"]
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
    first = zipped(_files(folders[0], names)).getvalue()
    files = _files(folders[1], names[::-1])
    for _, path in files:
        Path(path).touch()
        Path(path).chmod(0o600)
    assert zipped(files).getvalue() == first


def test_the_zip_holds_the_files_by_name_with_a_fixed_time(tmp_path: Path) -> None:
    names = ["summary.json", "report.md", "report.html"]
    with zipfile.ZipFile(zipped(_files(tmp_path, names))) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == ["report.html", "report.md", "summary.json"]
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert [archive.read(name) for name in names] == [name.encode() * 1000 for name in names]
        assert all(entry.external_attr >> 16 & 0o777 == 0o644 for entry in archive.infolist())


def test_a_zip_is_uploaded_from_its_start(upload: Uploader, tmp_path: Path) -> None:
    content = zipped(_files(tmp_path, ["report.md"]))
    upload.service().upload(NAME, content, "application/zip")
    assert upload.artifacts.finished[NAME].content == content.getvalue() != CONTENT
