"""Input made to mislead, to crash or to hang: what it must not do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Compare, Rollouts, Summary
from tests.integration.reading.files import one_error
from tests.rows import asking

GOOD = {"task_id": "a", "reward": 1}


@pytest.mark.parametrize("depth", range(900, 1000, 7))
@pytest.mark.parametrize("field", ["_ng_task_index", "_ng_run_id", "task_id", "own.key", "details"])
def test_nesting_near_the_parsers_limit_is_a_report_or_one_error(
    depth: int, field: str, rollouts: Rollouts, run: Compare
) -> None:
    nested = '{"a":' * depth + "1" + "}" * depth
    first, _, below = field.partition(".")
    value = f'{{"{below}":{nested}}}' if below else nested
    old = rollouts.write("old.jsonl", [GOOD | {"own": {"key": "k"}}])
    new = rollouts.write("new.jsonl", [f'{{"task_id":"a","reward":0,"own":{{"key":"k"}},"{first}":{value}}}'])
    done = run(old, new, *(["--key", field] if below else []))
    if done.status:
        assert "nested too deeply" in one_error(done)
    assert "input changed" not in done.out


def test_a_dangling_link_in_a_directory_is_one_error(rollouts: Rollouts, run: Compare) -> None:
    good = rollouts.write("good.jsonl", [GOOD])
    folder = rollouts.folder / "runs"
    folder.mkdir()
    (folder / "rollouts.jsonl").symlink_to("nowhere")
    assert str(folder) in one_error(run(folder, good))


def test_a_log_that_erases_its_line_a_hundred_thousand_times_is_read_at_once(rollouts: Rollouts, run: Compare) -> None:
    # Joining each piece to the line before it would take minutes for these flips.
    (rollouts.folder / "x.log").write_bytes(b"a\x1b[K" * 262_144)
    rows = [{"task_id": str(n), "reward": 0, "verifier_logs_dir": "x.log"} for n in range(5)]
    old = rollouts.write("old.jsonl", [{"task_id": str(n), "reward": 1} for n in range(5)])
    assert run(old, rollouts.write("new.jsonl", rows)).out.count("aaaa") >= 5


def test_integers_of_one_hash_are_told_apart(rollouts: Rollouts, summary: Summary) -> None:
    # Python's hash of an integer is its value modulo this prime.
    rows = [{"task_id": n * (2**61 - 1), "reward": 1} for n in range(30_000)]
    old = rollouts.write("old.jsonl", rows)
    assert summary(old, old)["counts"]["identical"] == 30_000


@pytest.mark.parametrize("index", [True, 2**62, 2**70, -1, 1.5, "7", [1]])
def test_an_attempt_of_any_index_is_superseded_by_its_row(index: Any, rollouts: Rollouts, summary: Summary) -> None:
    attempt = {"task_id": "a", "_ng_task_index": index, "_ng_rollout_index": 0}
    old = rollouts.write("old.jsonl", [GOOD])
    new = rollouts.write("new.jsonl", [attempt | {"reward": 1}], failures=[attempt | {"_ng_failure_class": "oom"}])
    assert summary(old, new)["counts"]["identical"] == 1


def test_a_record_that_its_index_places_does_not_choose_the_key(rollouts: Rollouts, summary: Summary) -> None:
    rows = [
        {"_ng_task_id": f"t{n}", "task_name": "fam", "_ng_task_index": n, "_ng_rollout_index": 0, "reward": 1}
        for n in range(3)
    ]
    old = rollouts.write("old.jsonl", rows)
    failure = {"task_name": "fam", "_ng_task_index": 1, "_ng_rollout_index": 1, "_ng_failure_class": "oom"}
    result = summary(old, rollouts.write("new.jsonl", rows, failures=[failure]))
    assert result["join"]["new_key"] == "_ng_task_id"
    assert [(task["task"], task["category"]) for task in result["tasks"]] == [
        ("t0", "identical"),
        ("t1", "masked"),
        ("t2", "identical"),
    ]


def test_materialized_inputs_place_a_record_by_its_prompt(rollouts: Rollouts, summary: Summary) -> None:
    def asked(number: int, side: str) -> dict[str, Any]:
        return {"uuid": f"{side}{number}", "_ng_task_index": number, "_ng_rollout_index": 0} | asking(f"p{number}")

    old = rollouts.write("old.jsonl", [asked(n, "o") | {"reward": 1} for n in (0, 1, 9)])
    new = rollouts.write(
        "new.jsonl",
        [asked(n, "n") | {"reward": 1} for n in (0, 1)],
        failures=[{"uuid": "n9", "_ng_task_index": 9, "_ng_rollout_index": 0, "_ng_failure_class": "oom"}],
        materialized=[asked(9, "n")],
    )
    counts = summary(old, new)["counts"]
    assert (counts["identical"], counts["masked"], counts["missing"]) == (2, 1, 0)


def test_a_record_without_a_task_stays_masked_though_its_class_counts_as_zero(
    rollouts: Rollouts, summary: Summary
) -> None:
    old = rollouts.write("old.jsonl", [GOOD])
    new = rollouts.write("new.jsonl", [GOOD], failures=[{"_ng_failure_class": "infra"}])
    result = summary(old, new, "--count-as-zero", "infra", "--count-as-zero", "typo")
    assert (result["counts"]["masked"], result["counts"]["masked_new"]) == (1, 1)
    assert result["sides"]["new"]["masked_rows"] == 1
    assert any("typo" in note for note in result["notes"])


def test_rows_of_one_index_that_name_other_tasks_contradict_it(rollouts: Rollouts, summary: Summary) -> None:
    def rows(*ids: str) -> list[dict[str, Any]]:
        named = [{"_ng_task_index": 0, "verifier_metadata": {"id": task}, "reward": 1} for task in ids]
        return [*named, {"_ng_task_index": 1, "reward": 1}]

    prompts = asking("same for all")
    old = rollouts.write("old.jsonl", [row | prompts for row in rows("p", "q")])
    result = summary(old, rollouts.write("new.jsonl", [row | prompts for row in rows("p", "z")]))
    assert result["join"]["old_key"] == "prompt"
    assert "index_join_contradicted" in {warning["code"] for warning in result["warnings"]}


def test_labels_that_would_be_equal_are_all_told_apart(rollouts: Rollouts, summary: Summary) -> None:
    ids = [{"taskset": "A", "task_id": "b/c"}, {"taskset": "A/b", "task_id": "c"}, {"taskset": "X", "task_id": "q"}]
    rows = [{"_ng_task_id": task, "reward": 1} for task in ids]
    old = rollouts.write("old.jsonl", [*rows, {"_ng_task_id": '["A", "b/c"]', "reward": 1}])
    labels = [task["task"] for task in summary(old, rollouts.write("new.jsonl", rows))["tasks"]]
    assert len(labels) == len(set(labels)) == 4


def test_a_log_beside_the_other_sides_rollouts_is_not_this_sides(rollouts: Rollouts, run: Compare) -> None:
    old = rollouts.write("A/old.jsonl", [GOOD])
    (rollouts.folder / "A/logs").mkdir()
    (rollouts.folder / "A/logs/test-stdout.txt").write_text("said of the old side\n")
    for directory in ("../logs", "A/logs", str(rollouts.folder / "A/logs")):
        new = rollouts.write("A/new/new.jsonl", [GOOD | {"reward": 0, "verifier_logs_dir": directory}])
        done = run(old, new, "--logs-root", rollouts.folder)
        assert "said of the old side" not in done.out
        assert "outside the log roots" in done.out


def test_a_pipes_name_gives_no_root(rollouts: Rollouts, tmp_path: Path) -> None:
    old = rollouts.write("old.jsonl", [GOOD])
    secret = Path("/dev/shm") / f"rollout-compare-{os.getpid()}.log"  # noqa: S108 - the point is a folder of /dev
    try:
        secret.write_text("not for the report\n")
    except OSError:
        pytest.skip("no writable /dev/shm here")
    try:
        row = json.dumps(GOOD | {"reward": 0, "verifier_logs_dir": f"shm/{secret.name}"})
        command = [sys.executable, "-m", "rollout_compare", str(old), "/dev/stdin"]
        done = subprocess.run(command, input=row.encode(), capture_output=True, check=True, cwd=tmp_path)
    finally:
        secret.unlink()
    assert b"not for the report" not in done.stdout
    assert b"unavailable" in done.stdout


def test_a_failing_standard_error_does_not_lose_the_report(rollouts: Rollouts) -> None:
    old = rollouts.write("old.jsonl", [GOOD])
    command = [sys.executable, "-m", "rollout_compare", str(old), str(old), "--json", str(rollouts.folder / "o.json")]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=full, check=True)
    assert b"\n1 task compared" in done.stdout


def test_a_field_called_prompt_may_be_the_key(rollouts: Rollouts, summary: Summary) -> None:
    old = rollouts.write("old.jsonl", [{"prompt": "p1", "reward": 1}, {"prompt": "p2", "reward": 1}])
    assert [task["task"] for task in summary(old, old, "--key", "prompt")["tasks"]] == ["p1", "p2"]


def test_the_task_of_a_faulty_row_is_named_by_its_id(rollouts: Rollouts, run: Compare) -> None:
    bad = rollouts.write("bad.jsonl", [{"_ng_task_id": {"task_id": None, "id": "x7"}, "reward": "1"}])
    assert "(task x7)" in one_error(run(bad, bad))


def test_rewards_that_differ_are_shown_differing(rollouts: Rollouts, run: Compare) -> None:
    old = rollouts.write("old.jsonl", [GOOD])
    new = rollouts.write("new.jsonl", [GOOD | {"reward": 1.000000004}])
    assert "1 -> 1.000000004" in run(old, new).out.replace("1.00000000 ", "1 ")


def test_colours_after_a_return_are_no_text(rollouts: Rollouts, run: Compare) -> None:
    old = rollouts.write("old.jsonl", [GOOD])
    new = rollouts.write("new.jsonl", [GOOD | {"reward": 0, "test_output": "PASS 9/10\r\x1b[0m"}])
    assert "PASS 9/10" in run(old, new).out


def test_a_long_row_leaves_no_long_buffer_for_short_ones(rollouts: Rollouts, summary: Summary) -> None:
    rows: list[Any] = [GOOD | {"task_id": "long", "pad": "x" * 9_000_000}]
    rows += [{"task_id": f"t{n}", "reward": n % 2} for n in range(5_000)]
    old = rollouts.write("old.jsonl", rows)
    new = rollouts.write("new.jsonl", reversed(rows))
    assert summary(old, new)["counts"]["identical"] == 5_001


@pytest.mark.parametrize("odd", [None, "text", True, [1], {"a": 1}, float("nan"), 10**400, -1])
@pytest.mark.parametrize(
    "field",
    ["model", "usage", "created_at", "completed_at", "agent_ref", "agent_run_time", "started_at", "finished_at"],
)
def test_provenance_of_any_shape_is_no_fault(field: str, odd: Any, rollouts: Rollouts, summary: Summary) -> None:
    usual = {"model": "m", "usage": {"input_tokens": 1, "output_tokens": 2}, "created_at": 1.0, "completed_at": 3.0}
    response = usual | ({field: odd} if field in usual else {})
    times = {"agent_run_time": 4, "started_at": 1, "finished_at": 5}
    row = GOOD | {"response": response, "agent_ref": {"name": "x"}} | times
    odd_row = row | ({} if field in usual else {field: odd})
    old = rollouts.write("old.jsonl", [odd_row, row | {"task_id": "b"}])
    assert summary(old, old)["counts"]["identical"] == 2
