"""What is noted beside a comparison: facts about tasksets, ids that fit several tasks, and failures counted as zero."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Json, Rollouts, Summary
from tests.rows import member, row


@pytest.mark.parametrize(
    ("wide", "beginning"),
    [(("old",), "the old side spans"), (("new",), "the new side spans"), (("old", "new"), "both sides span")],
    ids=["old", "new", "both"],
)
def test_the_tasksets_of_a_side_that_spans_several_are_noted(
    wide: tuple[str, ...], beginning: str, rollouts: Rollouts, summary: Summary
) -> None:
    paths = [
        rollouts.write(
            f"{side}.jsonl", [member("shell", "b"), member("quiz", "a")] if side in wide else [row("a"), row("b")]
        )
        for side in ("old", "new")
    ]
    notes = [note for note in summary(*paths)["notes"] if "several tasksets" in note]
    assert notes == [f"{beginning} several tasksets: quiz, shell"]


@pytest.mark.parametrize(("number", "more"), [(1, ""), (5, ""), (6, "; and 1 more"), (8, "; and 3 more")])
def test_ids_that_recur_across_tasksets_are_named_five_at_a_time(
    number: int, more: str, rollouts: Rollouts, summary: Summary
) -> None:
    ids = [f"t{n}" for n in range(number)]
    wide = rollouts.write("wide.jsonl", [member(taskset, task) for taskset in ("quiz", "shell") for task in ids])
    bare = rollouts.write("bare.jsonl", [row(task) for task in ids])
    found = summary(wide, bare)
    [note] = [note for note in found["notes"] if note.startswith("ids found in several tasksets")]
    named = "; ".join(f"{task} in quiz/{task}, shell/{task}" for task in ids[:5])
    assert note.endswith(f": {named}{more}")
    assert found["counts"]["missing"] == 3 * number


def test_an_ambiguous_id_is_noted_with_the_labels_of_its_tasks(rollouts: Rollouts, summary: Summary) -> None:
    # A prefix comes off all ids of the wide side; then `b` joins, and `a` fits two tasks.
    wide = rollouts.write("wide.jsonl", [member("x", "tb/a"), member("y", "tb/a"), member("y", "tb/b")])
    bare = rollouts.write("bare.jsonl", [row("a"), row("b")])
    found = summary(wide, bare)
    assert found["join"]["old_prefix_stripped"] == "tb/"
    assert [task["task"] for task in found["tasks"] if task["category"] == "identical"] == ["b"]
    left = [task["task"] for task in found["tasks"] if task["category"] == "missing" and task["old"]]
    assert len(left) == 2
    [note] = [note for note in found["notes"] if note.startswith("ids found in several tasksets")]
    assert note.endswith(f": a in {', '.join(left)}")


def test_a_prefix_comes_off_where_both_sides_span_several_tasksets(rollouts: Rollouts, summary: Summary) -> None:
    with_prefix = rollouts.write("one.jsonl", [member("quiz", "tb/a"), member("shell", "tb/b")])
    without = rollouts.write("other.jsonl", [member("quiz", "a"), member("shell", "b", 0.0)])
    for paths, told in (((with_prefix, without), ("tb/", None)), ((without, with_prefix), (None, "tb/"))):
        found = summary(*paths)
        assert (found["join"]["old_prefix_stripped"], found["join"]["new_prefix_stripped"]) == told
        assert [(task["task"], task["category"]) for task in found["tasks"]] == [
            ("quiz/a", "identical"),
            ("shell/b", "flipped"),
        ]


def test_a_prefix_does_not_make_tasks_of_other_tasksets_meet(rollouts: Rollouts, summary: Summary) -> None:
    old = rollouts.write("old.jsonl", [member("quiz", "tb/a"), member("shell", "tb/b")])
    new = rollouts.write("new.jsonl", [member("quiz", "b"), member("shell", "a")])
    found = summary(old, new)
    assert (found["join"]["old_prefix_stripped"], found["counts"]["missing"]) == (None, 4)


def test_records_that_count_as_zero_are_noted_by_side_and_class(rollouts: Rollouts, summary: Summary) -> None:
    def failures(*classes: str) -> list[Json]:
        return [
            {"task_id": "a", "_ng_task_index": 0, "_ng_rollout_index": n, "_ng_failure_class": name}
            for n, name in enumerate(classes, start=1)
        ]

    old = rollouts.write("old.jsonl", [row("a")], failures=failures("oom"))
    new = rollouts.write("new.jsonl", [row("a")], failures=failures("oom", "lost", "oom", "other"))
    asked = [part for name in ("oom", "lost", "typo") for part in ("--count-as-zero", name)]
    notes = [note for note in summary(old, new, *asked)["notes"] if "reward 0" in note]
    assert notes == [
        "old: 1 failures sidecar record of class oom counted as reward 0",
        "new: 1 failures sidecar record of class lost counted as reward 0",
        "new: 2 failures sidecar records of class oom counted as reward 0",
        "no failures sidecar record of class typo was there to count as reward 0",
    ]


def test_what_became_of_the_records_of_a_sidecar_is_counted(rollouts: Rollouts, summary: Summary) -> None:
    def record(index: int, **more: Any) -> Json:
        return {"task_id": f"t{index}", "_ng_task_index": index, "_ng_rollout_index": 0, **more}

    failures = [
        # The attempt has a row; twice.
        record(0),
        record(0),
        # Tried three times: the last one stands.
        record(1),
        record(1),
        record(1),
        # Left out on purpose, after one failure.
        record(2),
        record(2, _ng_omitted_rollout=True),
        record(3, _ng_dispatch_drained=True),
        record(4, _ng_unrouted_run_error="no server"),
    ]
    rows = [{"task_id": "t0", "_ng_task_index": 0, "_ng_rollout_index": 0, "reward": 1}]
    path = rollouts.write("side.jsonl", rows, failures=failures)
    side = summary(path, path)["sides"]["old"]
    assert side["sidecar"] == {"records": 9, "standing": 1, "superseded": 5, "set_aside": 3}
    assert (side["rows"], side["masked_rows"]) == (2, 1)


@pytest.mark.parametrize("named", ["_ng_task_index", "_ng_rollout_index"])
def test_rows_that_lack_one_of_two_indices_are_no_duplicates(named: str, rollouts: Rollouts, summary: Summary) -> None:
    path = rollouts.write("side.jsonl", [{"task_id": "a", "reward": 1, named: 0}] * 2)
    assert "duplicate_rollouts" not in [warning["code"] for warning in summary(path, path)["warnings"]]


def test_fields_that_only_sound_like_a_reward_or_only_are_numbers_are_not_offered(
    rollouts: Rollouts, summary: Summary
) -> None:
    row = {"task_id": "a", "score_name": "f1", "steps": 12, "Final_Score": 0.5, "passed": True, "grades": [1]}
    path = rollouts.write("side.jsonl", [row])
    sentences = [warning["sentence"] for warning in summary(path, path)["warnings"] if warning["code"] == "no_rewards"]
    offers = "`--reward Final_Score` would score 1 row; `--reward passed` would score 1 row"
    assert [sentence.partition("; ")[2] for sentence in sentences] == [offers] * 2


def test_the_commonest_pair_of_repeats_is_told(rollouts: Rollouts, summary: Summary) -> None:
    old = rollouts.write("old.jsonl", [row(task) for task in ("a", "b", "b", "b", "c")])
    new = rollouts.write("new.jsonl", [row(task) for task in ("a", "a", "b", "c", "c")])
    [warning] = [each for each in summary(old, new)["warnings"] if each["code"] == "unequal_repeats"]
    assert (warning["count"], warning["tasks"]) == (3, ["a", "b", "c"])
    assert "most often 1 old and 2 new" in warning["sentence"]


def test_sidecars_are_found_beside_files_of_the_working_folder(
    rollouts: Rollouts, summary: Summary, monkeypatch: pytest.MonkeyPatch
) -> None:
    rollouts.write("old.jsonl", [row("a"), row("b")])
    rollouts.write("new.jsonl", [row("a")], failures=[{"task_id": "b"}])
    monkeypatch.chdir(rollouts.folder)
    found = summary("old.jsonl", "new.jsonl")
    assert [(task["task"], task["category"]) for task in found["tasks"]] == [("a", "identical"), ("b", "masked")]


def test_rewards_that_are_no_numbers_do_not_look_like_one(rollouts: Rollouts, summary: Summary) -> None:
    path = rollouts.write("side.jsonl", ['{"task_id": "a", "reward": NaN, "attempts": 3}'])
    sentences = [warning["sentence"] for warning in summary(path, path)["warnings"] if warning["code"] == "no_rewards"]
    assert sentences == ["no row of the old side has a reward", "no row of the new side has a reward"]


@pytest.mark.parametrize("masked", ["old", "new"])
def test_the_side_that_masks_more_is_told(masked: str, rollouts: Rollouts, summary: Summary) -> None:
    rows = [row(f"t{n}") for n in range(8)]
    # The sign test of 6 against 0 gives 2/2^6 = 0.031.
    masking = [row | {"mask_sample": n < 6} for n, row in enumerate(rows)]
    sides = {"old": rows, "new": rows} | {masked: masking}
    found = summary(*(rollouts.write(f"{name}.jsonl", made) for name, made in sides.items()))
    [warning] = [each for each in found["warnings"] if each["code"] == "masking_differs"]
    told = (
        "6 tasks masked only on the old side, 0 only" if masked == "old" else "0 tasks masked only on the old side, 6"
    )
    assert warning["sentence"].startswith(told)
    assert "(exact p 0.031)" in warning["sentence"]
    assert (warning["count"], warning["tasks"]) == (6, ["t0", "t1", "t2", "t3", "t4"])
