"""The digest of a side stands for what its rows say, and for nothing else."""

from __future__ import annotations

import gzip
from typing import Any

import pytest

from tests.conftest import Rollouts, Summary

ROWS = [
    {"task_id": "a", "reward": 1, "meta": {"case": "x"}},
    {"task_id": "b", "reward": 0.5, "mask_sample": True, "meta": {"case": "y"}},
]
FAILURE = {"task_id": "b", "_ng_failure_class": "oom", "meta": {"case": "y"}}


def digests(result: dict[str, Any]) -> tuple[str, str]:
    return result["sides"]["old"]["digest"], result["sides"]["new"]["digest"]


@pytest.mark.parametrize("asked", [["--key", "meta.case"], ["--count-as-zero", "oom"], ["--tail", "0"]])
def test_what_is_asked_for_does_not_change_the_digest(asked: list[str], rollouts: Rollouts, summary: Summary) -> None:
    old = rollouts.write("old.jsonl", ROWS, failures=[FAILURE])
    new = rollouts.write("new.jsonl", ROWS)
    assert digests(summary(old, new)) == digests(summary(old, new, *asked))


def test_packing_spacing_and_names_do_not_change_the_digest(rollouts: Rollouts, summary: Summary) -> None:
    old = rollouts.write("old.jsonl", ROWS)
    packed = rollouts.folder / "other.jsonl.gz"
    packed.write_bytes(gzip.compress(old.read_bytes().replace(b", ", b" ,   ")))
    first, second = digests(summary(old, packed))
    assert first == second


@pytest.mark.parametrize(
    "change",
    [
        {"reward": 0.75},
        {"task_id": "c"},
        {"mask_sample": False},
        {"error": "broke"},
        {"failure_kind": "timeout"},
        {"_ng_task_index": 3},
        {"_ng_rollout_index": 3},
        {"responses_create_params": {"input": "do it"}},
        {"_ng_task_id": {"taskset": "quiz", "task_id": "b"}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_another_value_of_a_kept_field_changes_the_digest(
    change: dict[str, Any], rollouts: Rollouts, summary: Summary
) -> None:
    old = rollouts.write("old.jsonl", ROWS)
    new = rollouts.write("new.jsonl", [ROWS[0], ROWS[1] | change])
    first, second = digests(summary(old, new, "--key", "meta.case"))
    assert first != second
