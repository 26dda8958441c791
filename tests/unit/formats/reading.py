"""What the tests of formats share: rows as a source yields them, and writers of made-up results."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from backports.zstd import zipfile

from rollout_compare import CompareInputError
from rollout_compare.formats.source import Source, open_source

DEFLATE, ZSTANDARD = 8, 93


def source_of(path: Path, *, reward: str | None = None, form: str | None = None) -> Source:
    """A path that some format claims, or that one is forced on."""
    source = open_source(str(path), reward=reward, forced=form)
    assert source is not None, "no format claims it"
    return source


def rows_of(path: Path, *, reward: str | None = None, form: str | None = None) -> list[dict[str, Any]]:
    """All rows of a path."""
    return list(source_of(path, reward=reward, form=form).rows())


def row_of(path: Path, **how: Any) -> dict[str, Any]:
    """The only row of a path."""
    [row] = rows_of(path, **how)
    return row


def notes_of(path: Path, **how: Any) -> list[str]:
    """What is told of how a path was read."""
    source = source_of(path, **how)
    list(source.rows())
    return [str(note) for note in source.notes]


def outputs_of(path: Path, **how: Any) -> list[str | None]:
    """The verifier output of each row, as it is read again for reports."""
    source = source_of(path, **how)
    number = len(list(source.rows()))
    return [json.loads(row).get("verifier_output") for row in source.again(range(number))]


def fault_of(path: Path, **how: Any) -> CompareInputError:
    """Why a path cannot be read."""
    with pytest.raises(CompareInputError) as caught:
        rows_of(path, **how)
    return caught.value


def task_of(row: dict[str, Any]) -> tuple[Any, Any]:
    """Taskset and id of a row."""
    return row["_ng_task_id"].get("taskset"), row["_ng_task_id"]["task_id"]


def masked(row: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Whether a row is masked, with its kind and reason."""
    return row.get("mask_sample", False), row.get("failure_kind"), row.get("failure_reason")


def write_json(path: Path, value: Any) -> Path:
    """A document, with the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def write_lines(path: Path, rows: list[Any]) -> Path:
    """A document a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def write_zip(path: Path, members: Mapping[str, Any], method: int = ZSTANDARD) -> Path:
    """A zip of documents; bytes are written as they are."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, value in members.items():
            archive.writestr(name, value if isinstance(value, bytes | str) else json.dumps(value))
    return path
