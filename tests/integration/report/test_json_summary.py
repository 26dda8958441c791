"""The JSON summary: its keys, its numbers, its order, its digests, and the schema that describes it."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import jsonschema
import pytest

from tests.places import SCHEMA

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

from tests.conftest import Compare, Json, Rollouts, Sides, Summary
from tests.rows import asking

CATEGORIES = {"identical", "flipped", "flipped_agent_error", "masked", "missing"}


@pytest.fixture
def sides(rollouts: Rollouts) -> Sides:
    """Every category, winners on both sides, masked and missing tasks on either, repeats and a failure."""
    old: list[Json] = [
        {"task_id": "same", "reward": 0.25},
        {"task_id": "worse", "reward": 1.0},
        {"task_id": "better", "reward": 0.0, "test_output": "2 failed"},
        {"task_id": "better-too", "reward": 0.5},
        {"task_id": "agent", "reward": 1.0},
        {"task_id": "masked-old", "reward": 1.0, "mask_sample": True, "failure_kind": "oom"},
        {"task_id": "masked-new", "reward": 1.0},
        {"task_id": "masked-both", "reward": None},
        {"task_id": "gone", "reward": 1.0},
        {"task_id": "gone-too", "reward": 0.0},
        {"task_id": "repeats", "reward": 1.0},
        {"task_id": "repeats", "reward": 0.0},
    ]
    new: list[Json] = [
        {"task_id": "same", "reward": 0.25},
        {"task_id": "worse", "reward": 0.0, "failure_kind": "timeout"},
        {"task_id": "better", "reward": 1.0},
        {"task_id": "better-too", "reward": 0.75},
        {"task_id": "agent", "reward": 0.0, "error": "the agent\ncrashed"},
        {"task_id": "masked-old", "reward": 1.0},
        {"task_id": "masked-both", "reward": 0.0, "mask_sample": 1},
        {"task_id": "found", "reward": 0.0},
        {"task_id": "repeats", "reward": 0.5},
        {"task_id": "repeats", "reward": None},
    ]
    failures = [{"task_id": "masked-new", "_ng_failure_class": "judge_failed", "reward": 0.0}]
    return rollouts.write("old.jsonl", old), rollouts.write("new.jsonl", new, failures=failures)


def one_task(rollouts: Rollouts, old: object, new: object) -> Sides:
    """Both sides with one row of one task, with these rewards."""
    return (
        rollouts.write("old.jsonl", [{"task_id": "t", "reward": old}]),
        rollouts.write("new.jsonl", [{"task_id": "t", "reward": new}]),
    )


# Keys and counts


def test_the_counts_are_those_of_the_rows(summary: Summary, sides: Sides) -> None:
    assert summary(*sides)["counts"] == {
        "tasks": 12,
        "identical": 1,
        "flipped": 3,
        "flipped_old_win": 1,
        "flipped_new_win": 2,
        "flipped_agent_error": 1,
        "masked": 4,
        "masked_old": 2,
        "masked_new": 3,
        "missing": 3,
        "missing_old_only": 2,
        "missing_new_only": 1,
    }


def test_the_join_says_how_the_sides_were_joined(summary: Summary, sides: Sides) -> None:
    assert summary(*sides)["join"] == {
        "old_key": "task_id",
        "new_key": "task_id",
        "old_prefix_stripped": None,
        "new_prefix_stripped": None,
        "keyed_by_taskset": False,
    }


def test_every_part_has_its_keys(summary: Summary, sides: Sides) -> None:
    found = summary(*sides)
    assert found["schema_version"] == 1
    assert set(found["tool"]) == {"name", "version"}
    assert found["tool"]["name"] == "rollout-compare"
    assert set(found["sides"]) == {"old", "new"}
    for side in found["sides"].values():
        assert set(side) >= {"paths", "bytes", "rows", "masked_rows", "digest"}
    assert all(isinstance(note, str) for note in found["notes"])


def test_every_warning_has_its_keys(rollouts: Rollouts, summary: Summary) -> None:
    old, new = (rollouts.write(f"{s}.jsonl", [{"task_id": f"{s}-{n}", "reward": 1} for n in range(9)]) for s in "ab")
    warnings = summary(old, new)["warnings"]
    assert "nothing_joined" in [warning["code"] for warning in warnings]
    for warning in warnings:
        assert set(warning) == {"code", "sentence", "count", "tasks"}
        assert isinstance(warning["count"], int)
        assert warning["sentence"]
        assert len(warning["tasks"]) <= 5


def test_every_task_has_its_keys(summary: Summary, sides: Sides) -> None:
    for task in summary(*sides)["tasks"]:
        assert set(task) >= {"task", "category", "winner", "old", "new"}
        assert task["category"] in CATEGORIES
        for side in filter(None, (task["old"], task["new"])):
            assert set(side) >= {
                *("reward", "rows", "masked", "agent_error", "failure_kind"),
                *("counted_reward", "counted_rows", "rewards"),
            }


def test_tasks_agree_with_the_counts(summary: Summary, sides: Sides) -> None:
    found = summary(*sides)
    for category in CATEGORIES:
        assert sum(task["category"] == category for task in found["tasks"]) == found["counts"][category]
    assert len(found["tasks"]) == found["counts"]["tasks"]


@pytest.mark.parametrize(
    ("label", "category", "winner"),
    [
        ("same", "identical", None),
        ("worse", "flipped", "old"),
        ("better", "flipped", "new"),
        ("agent", "flipped_agent_error", "old"),
        ("masked-old", "masked", None),
        ("masked-both", "masked", None),
        ("gone", "missing", None),
        ("found", "missing", None),
    ],
)
def test_a_task_has_its_category_and_winner(
    summary: Summary, sides: Sides, label: str, category: str, winner: str | None
) -> None:
    (task,) = [task for task in summary(*sides)["tasks"] if task["task"] == label]
    assert (task["category"], task["winner"]) == (category, winner)
    assert (task["old"] is None) == (label == "found")
    assert (task["new"] is None) == (label == "gone")
    assert bool(task.get("verifier_output")) == category.startswith("flipped")


@pytest.mark.parametrize(
    ("label", "side", "expected"),
    [
        (
            "same",
            "old",
            {"reward": 0.25, "rows": 1, "counted_reward": 0.25, "counted_rows": 1, "rewards": [0.25]},
        ),
        ("same", "old", {"masked": None, "agent_error": None, "failure_kind": None}),
        ("worse", "new", {"failure_kind": "timeout", "masked": None}),
        ("agent", "new", {"agent_error": "error: crashed", "reward": 0.0}),
        (
            "masked-old",
            "old",
            {"masked": "mask_sample (failure_kind=oom)", "reward": 1.0, "counted_reward": None},
        ),
        ("masked-old", "old", {"rows": 1, "counted_rows": 0, "rewards": [None]}),
        ("masked-new", "new", {"masked": "mask_sample (failure_kind=judge_failed)", "counted_rows": 0}),
        ("masked-both", "old", {"masked": "no reward", "reward": None, "counted_reward": None}),
        ("repeats", "old", {"reward": 0.5, "rows": 2, "counted_rows": 2, "rewards": [1.0, 0.0]}),
        ("repeats", "new", {"reward": 0.5, "rows": 2, "counted_rows": 1, "rewards": [0.5, None]}),
        ("repeats", "new", {"masked": "1/2 rows masked: no reward", "counted_reward": 0.5}),
    ],
)
def test_a_side_of_a_task_says_what_its_rows_say(
    summary: Summary, sides: Sides, label: str, side: str, expected: Json
) -> None:
    (task,) = [task for task in summary(*sides)["tasks"] if task["task"] == label]
    assert {name: task[side][name] for name in expected} == expected


def test_sides_count_rows_and_bytes(summary: Summary, sides: Sides) -> None:
    found = summary(*sides)["sides"]
    assert (found["old"]["rows"], found["old"]["masked_rows"]) == (12, 2)
    assert (found["new"]["rows"], found["new"]["masked_rows"]) == (11, 3)
    assert found["old"]["bytes"] == sides[0].stat().st_size


def test_paths_are_as_they_were_given(
    rollouts: Rollouts, summary: Summary, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("a.jsonl", "b.jsonl", "parts/c.jsonl"):
        rollouts.write(name, [{"task_id": name, "reward": 1.0}])
    monkeypatch.chdir(tmp_path)
    found = summary("--old", "a.jsonl", "--old", "./b.jsonl", "--new", "parts/../parts/c.jsonl")["sides"]
    assert sorted(found["old"]["paths"]) == ["./b.jsonl", "a.jsonl"]
    assert found["new"]["paths"] == ["parts/../parts/c.jsonl"]


# Numbers


def _refuse(constant: str) -> NoReturn:
    raise AssertionError(f"{constant} is no JSON")


@pytest.mark.parametrize(
    "reward",
    ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", "1" + "0" * 400],
    ids=["NaN", "Infinity", "-Infinity", "1e999", "-1e999", "401 digits"],
)
def test_no_number_is_infinite_or_none(rollouts: Rollouts, run: Compare, reward: str) -> None:
    row = f'{{"task_id": "t", "reward": {reward}, "failure_kind": NaN}}'
    masked = '{"task_id": "m", "reward": 1.0, "mask_sample": Infinity}'
    old = rollouts.write("old.jsonl", [row, row, masked])
    new = rollouts.write("new.jsonl", ['{"task_id": "t", "reward": 1.0}', masked])
    found = json.loads(run(old, new, "--json", "-").out, parse_constant=_refuse)
    side = found["tasks"][1]["old"]
    assert (side["reward"], side["counted_reward"], side["rewards"]) == (None, None, [None, None])
    assert side["masked"].startswith("2/2 rows masked: non-finite reward (")


@pytest.mark.parametrize("reward", [1.5e308, -1.5e308, 1.7976931348623157e308, 5e-324])
def test_the_mean_of_rewards_at_the_limits_of_floats_is_exact(rollouts: Rollouts, run: Compare, reward: float) -> None:
    path = rollouts.write("side.jsonl", [{"task_id": "t", "reward": reward}] * 2)
    found = json.loads(run(path, path, "--json", "-").out, parse_constant=_refuse)
    assert found["counts"]["identical"] == 1
    assert found["tasks"][0]["old"]["reward"] == found["tasks"][0]["old"]["counted_reward"] == reward


@pytest.mark.parametrize("reward", [0.1, 1 / 3, 1e22, 123456789.123456789, -0.3])
def test_a_reward_keeps_every_digit(rollouts: Rollouts, summary: Summary, reward: float) -> None:
    side = summary(*one_task(rollouts, reward, reward))["tasks"][0]["new"]
    assert (side["reward"], side["counted_reward"], side["rewards"]) == (reward, reward, [reward])


# Text and order

LABELS = [
    "a",
    "Z",
    "10",
    "9",
    "a/b",
    "a-b",
    "",
    "\u00e9",
    "e\u0301",
    "\uffee",
    "\U0001f600",
    "a\n",
    " ",
    "~",
    "\x7f",
]


def test_tasks_come_in_the_order_of_code_points(rollouts: Rollouts, summary: Summary) -> None:
    rows = [{"task_id": label, "reward": 1.0} for label in LABELS]
    old = rollouts.write("old.jsonl", rows[:10])
    new = rollouts.write("new.jsonl", [*rows[::-1][:-2], {"task_id": "only-new", "reward": None}])
    assert [task["task"] for task in summary(old, new)["tasks"]] == sorted([*LABELS, "only-new"])


@pytest.mark.parametrize(
    "text", ["\u65e5\u672c", "\U0001f600", "x\ud800y", "\udc00", "\x00\x1b\x7f\x85\u2028", '"\\/'], ids=ascii
)
def test_text_is_written_in_ascii_and_survives(rollouts: Rollouts, run: Compare, text: str) -> None:
    rows = [{"task_id": text, "reward": 1.0, "error": text, "failure_kind": text}]
    old = rollouts.write("old.jsonl", rows)
    new = rollouts.write("new.jsonl", [{**rows[0], "reward": 0.0, "test_output": text}])
    done = run(old, new, "--json", "-")
    assert done.status == 0
    assert done.out.isascii()
    (task,) = done.json["tasks"]
    assert task["task"] == text
    assert (task["new"]["failure_kind"], task["old"]["failure_kind"]) == (text, text)


def test_the_summary_is_one_document_with_a_line_end(run: Compare, sides: Sides) -> None:
    out = run(*sides, "--json", "-").out
    assert out.startswith("{")
    assert out.endswith("}\n")
    assert json.loads(out, object_pairs_hook=_without_repeats)


def _without_repeats(pairs: list[tuple[str, object]]) -> Json:
    names = [name for name, _ in pairs]
    assert len(set(names)) == len(names)
    return dict(pairs)


# Digests

ROWS = [{"task_id": f"t{n}", "reward": n / 7, "_ng_rollout_index": n} for n in range(5)]
PLAIN = b"".join(json.dumps(row).encode() + b"\n" for row in ROWS)


def digest_of(rollouts: Rollouts, summary: Summary, content: bytes, name: str = "new.jsonl") -> str:
    """The digest of the new side when its file holds `content`."""
    old = rollouts.write("old.jsonl", ROWS)
    path = rollouts.folder / name
    path.write_bytes(content)
    digest: str = summary(old, path)["sides"]["new"]["digest"]
    return digest


@pytest.mark.parametrize(
    ("name", "content"),
    [
        pytest.param("other.jsonl", PLAIN, id="another name"),
        pytest.param("new.jsonl.gz", gzip.compress(PLAIN), id="gzip"),
        pytest.param("new.jsonl.gz", gzip.compress(PLAIN[:90]) + gzip.compress(PLAIN[90:]), id="two gzip members"),
        pytest.param("new.jsonl.zst", zstd.compress(PLAIN), id="zstd"),
        pytest.param("new.jsonl", b"\xef\xbb\xbf" + PLAIN, id="byte order mark"),
        pytest.param("new.jsonl", PLAIN.replace(b"\n", b"\r\n\n"), id="other line ends and blank lines"),
        pytest.param("new.jsonl", PLAIN[:-1], id="no line end at the end"),
        pytest.param("new.jsonl", PLAIN.replace(b": ", b" :\t"), id="other spaces"),
    ],
)
def test_the_same_rows_have_the_same_digest(rollouts: Rollouts, summary: Summary, name: str, content: bytes) -> None:
    digest = digest_of(rollouts, summary, PLAIN)
    assert re.fullmatch(r"(sha256:)?[0-9a-f]{64}", digest)
    assert digest_of(rollouts, summary, content, name) == digest


def test_both_sides_of_the_same_rows_have_the_same_digest(rollouts: Rollouts, summary: Summary) -> None:
    old, new = (rollouts.write(f"{side}.jsonl", ROWS) for side in ("old", "new"))
    found = summary(old, new)["sides"]
    assert found["old"]["digest"] == found["new"]["digest"]


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(PLAIN.replace(b'"reward": 0.0', b'"reward": 1.0'), id="another reward"),
        pytest.param(PLAIN.replace(b'"reward": 0.0', b'"reward": null'), id="no reward"),
        pytest.param(PLAIN.replace(b'"t0"', b'"t9"'), id="another task"),
        pytest.param(PLAIN.replace(b'"reward": 0.0', b'"reward": 0.0, "mask_sample": true'), id="masked"),
        pytest.param(PLAIN + PLAIN.splitlines(keepends=True)[0], id="one row more"),
        pytest.param(PLAIN[: PLAIN.rindex(b"{")], id="one row less"),
        pytest.param(b"".join(PLAIN.splitlines(keepends=True)[::-1]), id="another order"),
    ],
)
def test_other_rows_have_another_digest(rollouts: Rollouts, summary: Summary, content: bytes) -> None:
    assert digest_of(rollouts, summary, content) != digest_of(rollouts, summary, PLAIN)


def test_a_digest_is_not_that_of_nothing(rollouts: Rollouts, summary: Summary) -> None:
    assert hashlib.sha256(b"").hexdigest() not in digest_of(rollouts, summary, PLAIN)


# The schema


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft202012Validator:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def _every_category(_: Rollouts, sides: Sides) -> list[object]:
    return [*sides]


def _nothing_joined(rollouts: Rollouts, _: Sides) -> list[object]:
    old = rollouts.write("a.jsonl", [{"task_id": f"a{n}", "reward": n} for n in range(9)])
    return [old, rollouts.write("b.jsonl", [{"task_id": f"b{n}", "reward": n} for n in range(9)])]


def _one_empty_side(rollouts: Rollouts, sides: Sides) -> list[object]:
    return [sides[0], rollouts.write("empty.jsonl", [])]


def _anonymous_failure(rollouts: Rollouts, sides: Sides) -> list[object]:
    rows = [{"task_id": "unknown#1", "reward": 1.0}]
    return [sides[0], rollouts.write("c.jsonl", rows, failures=[{"_ng_failure_class": "oom"}])]


def _tasksets(rollouts: Rollouts, _: Sides) -> list[object]:
    rows = [{"_ng_task_id": {"taskset": s, "task_id": 1}, "reward": 1, "verifier_logs_dir": 1} for s in "xy"]
    return [
        rollouts.write("d.jsonl", rows),
        rollouts.write("e.jsonl", [{**row, "reward": 0} for row in rows]),
    ]


def _odd_rewards(rollouts: Rollouts, _: Sides) -> list[object]:
    rows = [
        '{"task_id": 1, "reward": NaN}',
        '{"task_id": "1", "reward": 1e999}',
        '{"task_id": "\\ud800", "reward": 1}',
    ]
    return [rollouts.write("f.jsonl", rows), rollouts.write("g.jsonl", rows[::-1])]


def _prompt_join(rollouts: Rollouts, _: Sides) -> list[object]:
    rows = [asking(f"question {n}") | {"reward": n} for n in range(3)]
    return [rollouts.write("h.jsonl", rows), rollouts.write("i.jsonl", rows)]


def _counted_failures(_: Rollouts, sides: Sides) -> list[object]:
    return ["--old", sides[0], "--new", sides[1], "--count-as-zero", "judge_failed", "--key", "task_id"]


ARRANGEMENTS = [
    _every_category,
    _nothing_joined,
    _one_empty_side,
    _anonymous_failure,
    _tasksets,
    _odd_rewards,
    _prompt_join,
    _counted_failures,
]


@pytest.mark.parametrize("arrange", ARRANGEMENTS)
def test_the_schema_describes_every_summary(
    rollouts: Rollouts,
    summary: Summary,
    sides: Sides,
    validator: jsonschema.Draft202012Validator,
    arrange: Callable[[Rollouts, Sides], list[object]],
) -> None:
    found = summary(*arrange(rollouts, sides))
    assert [error.message for error in validator.iter_errors(found)] == []
    assert set(found["counts"]) == set(summary(*sides)["counts"])
    assert set(found["join"]) == set(summary(*sides)["join"])


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda found: found.pop("counts"), id="no counts"),
        pytest.param(lambda found: found["counts"].pop("masked_old"), id="a count is missing"),
        pytest.param(lambda found: found["counts"].update(flipped="three"), id="a count is text"),
        pytest.param(lambda found: found["join"].pop("keyed_by_taskset"), id="a join key is missing"),
        pytest.param(lambda found: found["tasks"][0].update(category="tied"), id="an unknown category"),
        pytest.param(lambda found: found["tasks"][0].pop("task"), id="a task without a name"),
        pytest.param(lambda found: found["tasks"][0].update(winner="both"), id="an unknown winner"),
        pytest.param(lambda found: found["sides"]["old"].pop("digest"), id="no digest"),
        pytest.param(lambda found: found.update(notes="a note"), id="notes that are no list"),
    ],
)
def test_the_schema_refuses_what_is_no_summary(
    summary: Summary,
    sides: Sides,
    validator: jsonschema.Draft202012Validator,
    spoil: Callable[[Json], object],
) -> None:
    found = summary(*sides)
    assert validator.is_valid(found)
    spoil(found)
    assert not validator.is_valid(found)
