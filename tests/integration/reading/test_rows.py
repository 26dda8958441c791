"""What a row says: its reward, whether it is masked, its agent error, its failure kind, in any shape."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from tests.conftest import Compare, Rollouts, Summary

Side = Callable[..., dict[str, Any]]

TRUTHY = ["true", "1", "-1", "0.5", '"false"', '"0"', '" "', "[0]", "[null]", '{"a": null}', "NaN", "1e999"]
FALSY = ["false", "null", "0", "-0", "0.0", "-0.0", '""', "[]", "{}", "[ ]", "{ }"]
ODD = [
    "null",
    "true",
    "false",
    "0",
    "7",
    "1.5",
    "NaN",
    '""',
    '"text"',
    "[]",
    '["error_type"]',
    "{}",
    '{"a": [1]}',
]
HUGE = "9" * 401
BEYOND_TEXT = "9" * 5000


def short(value: object) -> str:
    """A readable test id for a parameter of thousands of characters."""
    return str(value)[:48]


def row(members: str, task: str = "t") -> str:
    """A raw line; only so can it hold what `json.dumps` would not write."""
    return f'{{"task_id": "{task}", {members}}}'


def deep(depth: int) -> str:
    return "[" * depth + "]" * depth


@pytest.fixture
def entry(rollouts: Rollouts, summary: Summary) -> Side:
    """The one task of a comparison whose old side has these rows, and whose new side scored 0.25."""

    def call(*old_rows: str) -> dict[str, Any]:
        old = rollouts.write("old.jsonl", old_rows)
        [found] = summary(old, rollouts.write("new.jsonl", [row('"reward": 0.25')]))["tasks"]
        assert found["task"] == "t"
        return dict(found)

    return call


@pytest.fixture
def side(entry: Side) -> Side:
    """The old side of that task."""

    def call(*old_rows: str) -> dict[str, Any]:
        return dict(entry(*old_rows)["old"])

    return call


# Rewards


@pytest.mark.parametrize(
    ("text", "reward"),
    [
        ("1", 1.0),
        ("0", 0.0),
        ("-0", 0.0),
        ("-0.0", 0.0),
        ("1.0", 1.0),
        ("1e0", 1.0),
        ("10E-1", 1.0),
        ("-2.5", -2.5),
        ("17", 17.0),
        ("5e-324", 5e-324),
        ("1e-400", 0.0),
        ("1.7976931348623157e308", 1.7976931348623157e308),
        ("0.1000000000000000055511151231257827021181583404541015625", 0.1),
        ("9007199254740993", 9007199254740992.0),
        ("18446744073709551616", 18446744073709551616.0),
        ("1" + "0" * 308, 1e308),
    ],
    ids=short,
)
def test_a_finite_number_is_the_reward_as_a_float(side: Side, text: str, reward: float) -> None:
    old = side(row(f'"reward": {text}'))
    assert (old["reward"], old["counted_reward"], old["counted_rows"], old["masked"]) == (
        reward,
        reward,
        1,
        None,
    )


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ('"other": 1', "no reward"),
        ('"reward": null', "no reward"),
        ('"reward": NaN', "non-finite reward (nan)"),
        ('"reward": Infinity', "non-finite reward (inf)"),
        ('"reward": -Infinity', "non-finite reward (-inf)"),
        ('"reward": 1e999', "non-finite reward (inf)"),
        ('"reward": -1e999', "non-finite reward (-inf)"),
        (f'"reward": {HUGE}', "non-finite reward (inf)"),
        (f'"reward": -{HUGE}', "non-finite reward (-inf)"),
        (f'"reward": {BEYOND_TEXT}', "non-finite reward (inf)"),
        (f'"reward": -{BEYOND_TEXT}', "non-finite reward (-inf)"),
        ('"reward": NaN, "failure_kind": "judge_failed"', "non-finite reward (nan)"),
        ('"reward": null, "failure_kind": "judge_failed"', "no reward"),
    ],
    ids=short,
)
def test_a_row_without_a_finite_reward_is_masked(entry: Side, members: str, reason: str) -> None:
    found = entry(row(members))
    assert (found["category"], found["winner"]) == ("masked", None)
    old = found["old"]
    assert (old["masked"], old["reward"], old["counted_reward"], old["counted_rows"]) == (
        reason,
        None,
        None,
        0,
    )
    assert (old["rows"], old["rewards"]) == (1, [None])


@pytest.mark.parametrize("digits", [309, 401, 4300, 4301, 100_000])
def test_an_integer_of_any_length_is_a_number(entry: Side, digits: int) -> None:
    assert entry(row(f'"reward": {"7" * digits}'))["old"]["masked"] == "non-finite reward (inf)"


def test_an_integer_just_below_the_float_limit_counts(side: Side) -> None:
    largest = int(1.7976931348623157e308)
    assert side(row(f'"reward": {largest}'))["counted_reward"] == 1.7976931348623157e308


# Masks


@pytest.mark.parametrize("value", TRUTHY)
def test_a_truthy_mask_masks(entry: Side, value: str) -> None:
    found = entry(row(f'"reward": 1, "mask_sample": {value}'))
    assert (found["category"], found["old"]["masked"]) == ("masked", "mask_sample")


@pytest.mark.parametrize("value", FALSY)
def test_a_falsy_mask_does_not_mask(entry: Side, value: str) -> None:
    found = entry(row(f'"reward": 1, "mask_sample": {value}'))
    assert (found["category"], found["winner"], found["old"]["masked"]) == ("flipped", "old", None)


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ('"mask_sample": true', "mask_sample"),
        ('"mask_sample": true, "reward": NaN', "mask_sample"),
        ('"mask_sample": true, "reward": 1, "failure_kind": "oom"', "mask_sample (failure_kind=oom)"),
        ('"mask_sample": true, "failure_kind": "oom"', "mask_sample (failure_kind=oom)"),
        ('"mask_sample": true, "reward": 1, "failure_kind": 54', "mask_sample (failure_kind=54)"),
        ('"mask_sample": true, "reward": 1, "failure_kind": null', "mask_sample"),
        ('"mask_sample": true, "reward": 1, "failure_kind": ""', "mask_sample"),
        ('"mask_sample": false, "failure_kind": "oom"', "no reward"),
    ],
)
def test_the_first_mask_reason_that_fits_is_told(side: Side, members: str, reason: str) -> None:
    old = side(row(members))
    assert (old["masked"], old["failure_kind"]) == (reason, None)


def test_a_masked_row_keeps_its_reward_out_of_the_counted_one(entry: Side) -> None:
    found = entry(row('"reward": 1, "mask_sample": true'), row('"reward": 0.5'))
    old = found["old"]
    assert found["category"] == "masked"
    assert (old["reward"], old["rows"], old["masked"]) == (0.75, 2, "1/2 rows masked: mask_sample")
    assert (old["counted_reward"], old["counted_rows"], old["rewards"]) == (0.5, 1, [None, 0.5])


def test_equal_rewards_of_a_masked_row_are_no_identical_task(entry: Side) -> None:
    assert entry(row('"reward": 0.25, "mask_sample": true'))["category"] == "masked"


def test_the_first_reason_of_several_masked_rows_is_told(side: Side) -> None:
    old = side(row('"reward": 1'), row('"reward": null'), row('"reward": NaN'), row('"mask_sample": true'))
    assert old["masked"] == "3/4 rows masked: no reward"


# Failure kinds


def test_a_failure_kind_alone_never_masks(entry: Side) -> None:
    found = entry(row('"reward": 0, "failure_kind": "verifier_timeout"'))
    assert (found["category"], found["winner"]) == ("flipped", "new")
    assert (found["old"]["masked"], found["old"]["failure_kind"]) == (None, "verifier_timeout")


@pytest.mark.parametrize("value", ["null", '""'])
def test_an_empty_failure_kind_is_none(side: Side, value: str) -> None:
    assert side(row(f'"reward": 0, "failure_kind": {value}'))["failure_kind"] is None


def test_the_first_measured_failure_kind_is_told(side: Side) -> None:
    old = side(
        row('"reward": 0, "mask_sample": true, "failure_kind": "masked_kind"'),
        row('"reward": 0'),
        row('"reward": 0, "failure_kind": "first"'),
        row('"reward": 0, "failure_kind": "second"'),
    )
    assert old["failure_kind"] == "first"


@pytest.mark.parametrize(
    "marker",
    [
        "_ng_failure_message",
        "_ng_omitted_rollout",
        "_ng_dispatch_drained",
        "_ng_unrouted_run_error",
    ],
)
def test_a_row_of_the_main_file_counts_whatever_sidecar_field_it_carries(entry: Side, marker: str) -> None:
    found = entry(row(f'"reward": 1, "{marker}": "agent_timeout"'))
    assert (found["category"], found["old"]["masked"], found["old"]["counted_rows"]) == ("flipped", None, 1)


# Agent errors


@pytest.mark.parametrize(
    ("error", "told"),
    [
        ('"boom"', "error: boom"),
        ('"Traceback:\\n  File x\\nValueError: 3\\n\\n"', "error: ValueError: 3"),
        ('"first\\r\\nlast\\r\\n"', "error: last"),
        ('"first\\rlast"', "error: last"),
        ('"first\\u2028last"', "error: last"),
        ('"first\\u0085last"', "error: last"),
        ('"first\\u000blast\\u000c"', "error: last"),
        ('"first\\n  indented  \\n "', "error:   indented"),
        ('"   led by spaces"', "error: led by spaces"),
        ('"  \\n "', "error:   \n "),
        ('" "', "error:  "),
        (json.dumps("é" * 200), "error: " + "é" * 120),
        (json.dumps("y" * 200 + "\n" + "x" * 119 + "zz"), "error: " + "x" * 119 + "z"),
        ('"false"', "error: false"),
        ("true", "error: True"),
        ("7", "error: 7"),
        ("-1.50", "error: -1.5"),
        ("1e22", "error: 1e+22"),
        ("NaN", "error: nan"),
        ("[1, null, true]", "error: [1, None, True]"),
        ('{"code": 502, "text": "a\\nb"}', "error: {'code': 502, 'text': 'a\\nb'}"),
        ('["it\'s"]', 'error: ["it\'s"]'),
    ],
)
def test_a_truthy_error_is_told_by_its_last_line(entry: Side, error: str, told: str) -> None:
    found = entry(row(f'"reward": 1, "error": {error}'))
    assert (found["category"], found["old"]["agent_error"]) == ("flipped_agent_error", told)


@pytest.mark.parametrize("value", FALSY)
def test_a_falsy_error_is_none(entry: Side, value: str) -> None:
    members = f'"reward": 1, "error": {value}, "response": {{"metadata": {{"error_type": {value}}}}}'
    found = entry(row(members))
    assert (found["category"], found["old"]["agent_error"]) == ("flipped", None)


@pytest.mark.parametrize(
    ("metadata", "told"),
    [
        ('{"terminus2_error_type": "Timeout"}', "terminus2_error_type=Timeout"),
        ('{"error_type": "Timeout"}', "error_type=Timeout"),
        ('{"a_error_type": "", "b_error_type": "B", "c_error_type": "C"}', "b_error_type=B"),
        ('{"z_error_type": "Z", "a_error_type": "A"}', "z_error_type=Z"),
        ('{"x_error_type": true}', "x_error_type=True"),
        ('{"x_error_type": 5}', "x_error_type=5"),
        ('{"x_error_type": ["a", null]}', "x_error_type=['a', None]"),
        ('{"x_error_type": {"k": 1.0}}', "x_error_type={'k': 1.0}"),
        ('{"n\\u00e4me_error_type": "x"}', "näme_error_type=x"),
        ('{"error_types": "x", "error_type_2": "x", "ERROR_TYPE": "x", "error": "x"}', None),
        ('{"nested": {"error_type": "x"}}', None),
    ],
)
def test_an_error_type_of_the_response_is_an_agent_error(side: Side, metadata: str, told: str | None) -> None:
    assert side(row(f'"reward": 1, "response": {{"metadata": {metadata}}}'))["agent_error"] == told


def test_the_error_field_goes_before_the_response(side: Side) -> None:
    old = side(row('"response": {"metadata": {"error_type": "late"}}, "error": "early", "reward": 1'))
    assert old["agent_error"] == "error: early"


def test_the_first_agent_error_of_several_rows_is_told(side: Side) -> None:
    old = side(
        row('"reward": 1'),
        row('"reward": 1, "response": {"metadata": {"error_type": "first"}}'),
        row('"reward": 1, "error": "second"'),
    )
    assert old["agent_error"] == "error_type=first"


@pytest.mark.parametrize("reward", ["0.25", "null"])
def test_an_agent_error_alone_changes_no_class(entry: Side, reward: str) -> None:
    found = entry(row(f'"reward": {reward}, "error": "boom"'))
    assert found["category"] == ("masked" if reward == "null" else "identical")
    assert found["old"]["agent_error"] == "error: boom"


# Odd shapes


@pytest.mark.parametrize("value", ODD)
def test_a_response_of_any_shape_is_no_crash(entry: Side, value: str) -> None:
    found = entry(row(f'"reward": 1, "response": {value}'))
    assert (found["category"], found["old"]["agent_error"]) == ("flipped", None)


@pytest.mark.parametrize("value", ODD)
def test_response_metadata_of_any_shape_is_no_crash(entry: Side, value: str) -> None:
    found = entry(row(f'"reward": 1, "response": {{"metadata": {value}, "output": {value}}}'))
    assert (found["category"], found["old"]["agent_error"]) == ("flipped", None)


@pytest.mark.parametrize(
    "value", [*ODD, HUGE, BEYOND_TEXT, "1e999", "[[]]", '"\\ud800"', '"/"', '"\\u0000"'], ids=short
)
@pytest.mark.parametrize(
    "field",
    [
        "verifier_logs_dir",
        "test_output",
        "details",
        "judge_evaluations",
        "responses_create_params",
        "instance_config",
        "verifier_metadata",
        "_ng_task_index",
        "_ng_rollout_index",
        "_ng_run_id",
        "agent_ref",
        "score",
    ],
)
def test_a_field_of_any_shape_leaves_the_verdict_alone(
    rollouts: Rollouts, run: Compare, field: str, value: str
) -> None:
    old = rollouts.write("old.jsonl", [row(f'"reward": 0, "{field}": {value}')])
    new = rollouts.write("new.jsonl", [row(f'"reward": 1, "{field}": {value}')])
    done = run(old, new, "--json", "-")
    assert (done.status, run(old, new).status) == (0, 0), done.err
    assert [entry["category"] for entry in done.json["tasks"]] == ["flipped"]


@pytest.mark.parametrize("name", ["d" * 300, "d/" * 3000, "/", "..", ".", "", "\0", "\n", "~", "\ud800"])
def test_a_logs_dir_of_any_name_is_no_crash(rollouts: Rollouts, summary: Summary, name: str) -> None:
    old = rollouts.write("old.jsonl", [{"task_id": "t", "reward": 0, "verifier_logs_dir": name}])
    new = rollouts.write("new.jsonl", [row('"reward": 1')])
    [found] = summary(old, new)["tasks"]
    assert found["category"] == "flipped"
    assert found["verifier_output"]["source"].startswith("unavailable: ")


@pytest.mark.parametrize("value", ODD)
def test_a_prompt_of_any_shape_is_no_crash(rollouts: Rollouts, run: Compare, value: str) -> None:
    shapes = [
        value,
        f"[{value}]",
        f'[{{"role": {value}, "content": {value}}}]',
        f'[{{"content": [{value}]}}]',
    ]
    prompts = [row(f'"reward": 1, "responses_create_params": {{"input": {shape}}}') for shape in shapes]
    path = rollouts.write("old.jsonl", prompts)
    done = run(path, path, "--json", "-")
    assert done.status == 0, done.err
    assert done.json["counts"]["identical"] == 1


@pytest.mark.parametrize(
    "members",
    [
        f'"reward": 1, "skipped": {BEYOND_TEXT}',
        f'"reward": 1, "skipped": {{"list": [-{BEYOND_TEXT}]}}',
        f'"reward": 1, "failure_kind": {BEYOND_TEXT}',
        f'"reward": 1, "_ng_task_index": {BEYOND_TEXT}, "_ng_rollout_index": {BEYOND_TEXT}',
    ],
    ids=short,
)
def test_an_integer_too_long_for_text_is_no_crash(entry: Side, members: str) -> None:
    assert entry(row(members))["category"] == "flipped"


@pytest.mark.parametrize("members", [f'"error": {BEYOND_TEXT}', f'"error": [{BEYOND_TEXT}]'], ids=short)
def test_an_error_too_long_for_text_is_an_agent_error(entry: Side, members: str) -> None:
    assert entry(row(f'"reward": 1, {members}'))["category"] == "flipped_agent_error"


@pytest.mark.parametrize("kind", ['"oom"', BEYOND_TEXT], ids=short)
def test_a_mask_too_long_for_text_masks(side: Side, kind: str) -> None:
    old = side(row(f'"reward": 1, "mask_sample": {BEYOND_TEXT}, "failure_kind": {kind}'))
    assert old["masked"].startswith("mask_sample (failure_kind=")


def test_an_id_too_long_for_text_joins_itself(rollouts: Rollouts, summary: Summary) -> None:
    old = rollouts.write("old.jsonl", [f'{{"task_id": {BEYOND_TEXT}, "reward": 1}}'])
    new = rollouts.write("new.jsonl", [f'{{"task_id": {BEYOND_TEXT}, "reward": 0}}'])
    assert summary(old, new)["counts"]["flipped"] == 1


# Deep nesting


@pytest.mark.parametrize("depth", [50, 900, 1500, 100_000])
@pytest.mark.parametrize(
    "members",
    [
        '"skipped": %s',
        '"error": %s',
        '"mask_sample": %s',
        '"failure_kind": %s',
        '"response": %s',
        '"response": {"metadata": {"x_error_type": %s}}',
        '"verifier_metadata": %s',
        '"responses_create_params": {"input": %s}',
        '"test_output": %s',
        '"details": %s',
        '"_ng_task_id": {"x": %s}',
        '"_ng_task_index": %s',
    ],
)
def test_deep_nesting_ends_in_a_report_or_in_one_error_line(
    rollouts: Rollouts, run: Compare, members: str, depth: int
) -> None:
    old = rollouts.write("old.jsonl", [row(f'"reward": 0, {members % deep(depth)}')])
    new = rollouts.write("new.jsonl", [row(f'"reward": 1, {members % deep(depth)}')])
    done = run(old, new, "--json", "-")
    if depth == 50:
        assert done.status == 0, done.err
    if done.status == 0:
        assert done.json["counts"]["tasks"] == 1
        assert run(old, new).status == 0
    else:
        assert (done.status, done.out, done.err.count("\n")) == (1, "", 1)
        assert done.err.startswith(f"error: {old}:1: ")


@pytest.mark.parametrize("depth", [1500, 100_000])
@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_deep_nesting_that_never_closes_is_one_error_line(
    rollouts: Rollouts, run: Compare, opening: str, depth: int
) -> None:
    old = rollouts.write("old.jsonl", ['{"task_id": "t", "reward": 1, "skipped": ' + opening * depth])
    done = run(old, old)
    assert (done.status, done.out, done.err.count("\n")) == (1, "", 1)
    assert done.err.startswith(f"error: {old}:1: ")


# Means


@pytest.mark.parametrize(
    ("rewards", "mean"),
    [
        ([1, 0], 0.5),
        ([1, 1, 0], 2 / 3),
        ([1.5e308, 1.5e308], 1.5e308),
        ([-1.5e308, -1.5e308], -1.5e308),
        ([1.7976931348623157e308] * 3, 1.7976931348623157e308),
        ([1.5e308, -1.5e308], 0.0),
        ([1e308, 1e308, 1e308, -1e308], 5e307),
        ([5e-324, 5e-324], 5e-324),
        ([0.1] * 10, 0.1),
        ([1e16, 1.0, -1e16], 1 / 3),
    ],
)
def test_the_mean_neither_overflows_nor_loses_precision(side: Side, rewards: list[float], mean: float) -> None:
    old = side(*[row(f'"reward": {reward!r}') for reward in rewards])
    assert old["reward"] == pytest.approx(mean, rel=1e-15, abs=0)
    assert old["counted_reward"] == old["reward"]
    assert (old["counted_rows"], old["rewards"]) == (len(rewards), rewards)


def test_a_finite_reward_and_a_non_finite_one_have_the_mean_of_the_finite(side: Side) -> None:
    old = side(row('"reward": 0.5'), row('"reward": Infinity'), row('"reward": 1'))
    assert (old["reward"], old["counted_reward"], old["rows"], old["counted_rows"]) == (0.75, 0.75, 3, 2)
    assert old["masked"] == "1/3 rows masked: non-finite reward (inf)"


# Lone surrogates


@pytest.mark.parametrize("output", ["text", "json"])
@pytest.mark.parametrize("field", ["task_id", "error", "test_output", "failure_kind", "verifier_logs_dir"])
def test_a_lone_surrogate_is_carried(rollouts: Rollouts, run: Compare, field: str, output: str) -> None:
    raw = f'{{"task_id": "t", "reward": %d, "{field}": "a\\ud83d"}}'
    old, new = rollouts.write("old.jsonl", [raw % 0]), rollouts.write("new.jsonl", [raw % 1])
    done = run(old, new, "--format", output)
    assert done.status == 0, done.err
    if output == "json":
        [entry] = done.json["tasks"]
        assert entry["winner"] == "new"
        assert entry["task"] == ("a\ud83d" if field == "task_id" else "t")


@pytest.mark.parametrize("encoding", ["ascii", "ascii:strict", "latin-1", "utf-8:strict"])
@pytest.mark.parametrize("reward", ["0", '"0"'])
def test_an_output_that_cannot_encode_gets_utf8(rollouts: Rollouts, encoding: str, reward: str) -> None:
    old = rollouts.write("old.jsonl", [f'{{"task_id": "é漢\\ud800", "reward": {reward}}}'])
    new = rollouts.write("new.jsonl", ['{"task_id": "é漢\\ud800", "reward": 1}'])
    command = [sys.executable, "-m", "rollout_compare", str(old), str(new)]
    done = subprocess.run(command, capture_output=True, check=False, env=os.environ | {"PYTHONIOENCODING": encoding})
    if reward == "0":
        assert (done.returncode, done.stderr) == (0, b"")
        assert "é漢" in done.stdout.decode()
    else:
        assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (1, b"", 1)
        assert done.stderr.startswith(b"error: ")
