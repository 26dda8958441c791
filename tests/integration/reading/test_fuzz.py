"""Whatever the bytes of an input, a comparison ends in a report or in one error line."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from typing import Any, NoReturn

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import Compare, Rollouts, Run
from tests.rules import FALLBACK_RUNGS, KEY_CANDIDATES

Edit = Callable[[bytes], bytes]

FILES = ["old.jsonl", "new.jsonl", "new_failures.jsonl", "new_materialized_inputs.jsonl"]
VALID: dict[str, list[dict[str, Any]]] = {
    "old.jsonl": [
        {
            "_ng_task_id": {"taskset": "shell", "task_id": f"t{number}"},
            "_ng_task_index": number,
            "_ng_rollout_index": 0,
            "task_id": f"t{number}",
            "reward": number % 2,
            "responses_create_params": {"input": [{"role": "user", "content": f"do {number}"}]},
            "response": {"metadata": {"x_error_type": ""}, "output": [{"text": "caf\u00e9 \u2028"}]},
            "test_output": "one\ntwo\r\x1b[1mthree\x1b[0m",
        }
        for number in range(4)
    ],
    "new.jsonl": [
        {"task_id": "t0", "reward": 1, "_ng_task_index": 0, "_ng_rollout_index": 0, "error": "a\nb"},
        {"task_id": "t1", "reward": 0.5, "_ng_task_index": 1, "_ng_rollout_index": 0},
        {"task_id": "t2", "reward": None, "mask_sample": True, "failure_kind": "oom"},
    ],
    "new_failures.jsonl": [
        {"_ng_task_index": 3, "_ng_rollout_index": 0, "_ng_failure_class": "agent_timeout"},
        {"task_id": "t1", "_ng_task_index": 1, "_ng_rollout_index": 0, "_ng_omitted_rollout": True},
        {"_ng_failure_class": "judge_failed", "reward": 0.0},
    ],
    "new_materialized_inputs.jsonl": [{"task_id": f"t{number}", "_ng_task_index": number} for number in range(4)],
}
SNIPPETS = [
    b"\n",
    b"\r",
    b"\0",
    b"{",
    b"}",
    b"[" * 2000,
    b'{"a":' * 300,
    b'"',
    b"\\",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\x1f\x8b\x08",
    b"\x28\xb5\x2f\xfd",
    b"9" * 4400,
    b"NaN",
    b"1e999",
    b"-",
    b'"\\ud800"',
    b"\xed\xa0\x80",
    b"null",
    b"[]",
    b'{"task_id": null}\n',
    b'{"reward": true}\n',
    b"<html>\n",
    b"version https://git-lfs.github.com/spec/v1\n",
]
NUMBERS = st.one_of(st.integers(), st.floats(), st.sampled_from([10**400, -(10**400), 10**18, 1.5e308, 0, 1, -0.0]))
TEXTS = st.one_of(st.text(max_size=6), st.sampled_from(["t0", "shell", "unknown#1", "x/t0", "\ud800", "a\nb", "/"]))
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["task_id", "taskset", "id", "metadata", "error_type", "input", "role", "content", ""]),
            inner,
            max_size=3,
        ),
    ),
    max_leaves=6,
)
FIELDS = [
    *dict.fromkeys(name.partition(".")[0] for name in (*KEY_CANDIDATES, *FALLBACK_RUNGS)),
    "_ng_rollout_index",
    "_ng_run_id",
    "_ng_failure_class",
    "_ng_failure_message",
    "_ng_omitted_rollout",
    "_ng_dispatch_drained",
    "_ng_unrouted_run_error",
    "mask_sample",
    "failure_kind",
    "error",
    "response",
    "test_output",
    "verifier_logs_dir",
    "details",
    "score",
]
ROWS = st.lists(
    st.builds(
        lambda task, reward, more: {**more, "task_id": task, "reward": reward},
        st.one_of(st.sampled_from(["t0", "t1", "t2", 1, "1", 1.0]), TEXTS, VALUES),
        st.one_of(st.none(), NUMBERS),
        st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=5),
    ),
    max_size=4,
)


def refuse(constant: str) -> NoReturn:
    pytest.fail(f"{constant} is no JSON")


def jsonl(rows: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def flip(place: float, bit: int) -> Edit:
    def edit(content: bytes) -> bytes:
        if not content:
            return content
        at = int(place * (len(content) - 1))
        return content[:at] + bytes([content[at] ^ (1 << bit)]) + content[at + 1 :]

    return edit


def cut(start: float, length: int) -> Edit:
    def edit(content: bytes) -> bytes:
        at = int(start * len(content))
        return content[:at] + content[at + length :]

    return edit


def insert(place: float, snippet: bytes, at_line: bool) -> Edit:
    def edit(content: bytes) -> bytes:
        at = int(place * len(content))
        if at_line:
            at = content.rfind(b"\n", 0, at) + 1
        return content[:at] + snippet + content[at:]

    return edit


PLACES = st.floats(0, 1)
EDITS = st.one_of(
    st.builds(flip, PLACES, st.integers(0, 7)),
    st.builds(cut, PLACES, st.one_of(st.integers(1, 40), st.just(1 << 30))),
    st.builds(insert, PLACES, st.one_of(st.sampled_from(SNIPPETS), st.binary(max_size=12)), st.booleans()),
)


@pytest.fixture
def ends_well(rollouts: Rollouts, run: Compare) -> Callable[..., None]:
    """Compares files of these contents and checks how that ends."""

    def check(contents: dict[str, bytes], *argv: str) -> None:
        for path in rollouts.folder.iterdir():
            path.unlink()
        for name, content in contents.items():
            (rollouts.folder / name).write_bytes(content)
        sides = [next(rollouts.folder.glob(f"{side}.jsonl*")) for side in ("old", "new")]
        verdicts = {check_run(run(*sides, *argv, "--format", output), output) for output in ("text", "json")}
        assert len(verdicts) == 1

    return check


def check_run(done: Run, output: str) -> int:
    for word in ("Traceback", "internal"):
        assert word not in done.err
    if done.status == 0:
        assert done.out.strip()
        assert "error: " not in done.err
        if output == "json":
            counts = json.loads(done.out, parse_constant=refuse)["counts"]
            parts = ("identical", "flipped", "flipped_agent_error", "masked", "missing")
            assert counts["tasks"] == sum(counts[part] for part in parts)
    else:
        assert (done.status, done.out) == (1, "")
        assert done.err.startswith("error: ")
        assert done.err.endswith("\n")
        assert len(done.err.splitlines()) == 1
        assert len(done.err.encode()) <= 500
    return done.status


EndsWell = Callable[..., None]


@given(name=st.sampled_from(FILES), content=st.binary(max_size=200))
@settings(max_examples=100)
def test_any_bytes_in_place_of_any_file(ends_well: EndsWell, name: str, content: bytes) -> None:
    ends_well({file: jsonl(rows) for file, rows in VALID.items()} | {name: content})


@given(edits=st.dictionaries(st.sampled_from(FILES), st.lists(EDITS, min_size=1, max_size=4), min_size=1))
@settings(max_examples=300)
def test_valid_files_with_damage(ends_well: EndsWell, edits: dict[str, list[Edit]]) -> None:
    contents = {file: jsonl(rows) for file, rows in VALID.items()}
    for name, changes in edits.items():
        for change in changes:
            contents[name] = change(contents[name])
    ends_well(contents)


@given(name=st.sampled_from(FILES[:3]), edits=st.lists(EDITS, min_size=1, max_size=3))
@settings(max_examples=100)
def test_compressed_files_with_damage(ends_well: EndsWell, name: str, edits: list[Edit]) -> None:
    contents = {file: jsonl(rows) for file, rows in VALID.items()}
    packed = gzip.compress(contents.pop(name), mtime=0)
    for change in edits:
        packed = change(packed)
    ends_well(contents | {f"{name}.gz": packed})


@given(old=ROWS, new=ROWS, failures=ROWS)
@settings(max_examples=200)
def test_rows_whose_fields_hold_anything(
    ends_well: EndsWell, old: list[dict[str, Any]], new: list[dict[str, Any]], failures: list[dict[str, Any]]
) -> None:
    contents = {"old.jsonl": old, "new.jsonl": new, "new_failures.jsonl": failures}
    ends_well(
        {name: jsonl(rows) for name, rows in contents.items()},
        "--count-as-zero",
        "t0",
        "--verifier-field",
        "score",
    )
