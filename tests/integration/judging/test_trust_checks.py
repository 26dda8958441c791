"""The typed warnings about a join: when each appears, and a close case in which it does not."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from tests.conftest import Compare, Json, Rollouts, Summary
from tests.rows import asking, member, row


def attempt(task: Any, index: int, rollout: int, reward: float | None = 1.0, **fields: Any) -> Json:
    return row(task, reward, _ng_task_index=index, _ng_rollout_index=rollout, **fields)


def prompted(task: Any, prompt: Any, **fields: Any) -> Json:
    return row(task, **asking(prompt), **fields)


def rows(names: Iterable[Any]) -> list[Json]:
    return [row(name) for name in names]


def found(summary: Json, code: str) -> Json | None:
    """The warning of that code, or None; every warning is checked for its shape on the way."""
    for warning in summary["warnings"]:
        assert warning.keys() == {"code", "sentence", "count", "tasks"}
        assert warning["sentence"].strip()
        assert isinstance(warning["count"], int)
        assert len(warning["tasks"]) <= 5
    matching = [warning for warning in summary["warnings"] if warning["code"] == code]
    assert len(matching) <= 1
    return matching[0] if matching else None


def told(summary: Json, code: str) -> tuple[int, list[str]]:
    """The count and the sorted task names of a warning that must be there."""
    warning = found(summary, code)
    assert warning is not None, f"no {code} among {[w['code'] for w in summary['warnings']]}"
    return warning["count"], sorted(warning["tasks"])


def test_a_sound_comparison_has_no_warning(rollouts: Rollouts, summary: Summary) -> None:
    old = rollouts.write("old.jsonl", [attempt(n, i, 0) for i, n in enumerate("abc")])
    new = rollouts.write("new.jsonl", [attempt(n, i, 0, 0.0) for i, n in enumerate("abc")])
    assert summary(old, new)["warnings"] == []


def test_a_warning_names_five_tasks_and_counts_them_all(rollouts: Rollouts, summary: Summary) -> None:
    names = [f"t{n}" for n in range(7)]
    old = rollouts.write("old.jsonl", [prompted(n, "old text") for n in names])
    new = rollouts.write("new.jsonl", [prompted(n, "new text") for n in names])
    count, tasks = told(summary(old, new), "prompts_differ")
    assert count == 7
    assert len(set(tasks)) == 5
    assert set(tasks) <= set(names)


def test_a_warning_stands_in_the_text_report_too(rollouts: Rollouts, summary: Summary, run: Compare) -> None:
    old = rollouts.write("old.jsonl", [prompted("a", "old text"), row("b"), row("b")])
    new = rollouts.write("new.jsonl", [prompted("a", "new text"), row("b")])
    text = " ".join(run(old, new).out.split())
    warnings = summary(old, new)["warnings"]
    assert {w["code"] for w in warnings} == {"prompts_differ", "unequal_repeats"}
    for warning in warnings:
        assert " ".join(warning["sentence"].split()) in text


# nothing_joined


def test_nothing_joined_comes_first_and_shows_ids_of_both_sides(rollouts: Rollouts, summary: Summary) -> None:
    old = rollouts.write("old.jsonl", [row(f"left-{n}", uuid=f"u{n}") for n in range(3)])
    new = rollouts.write("new.jsonl", [row(f"right-{n}", uuid=f"u{n + 1}") for n in range(3)])
    result = summary(old, new)
    assert found(result, "nothing_joined") == result["warnings"][0]
    sentence = result["warnings"][0]["sentence"]
    for shown in ("left-0", "left-1", "left-2", "right-0", "right-1", "right-2", "uuid"):
        assert shown in sentence


def test_one_joined_task_is_not_nothing(rollouts: Rollouts, summary: Summary) -> None:
    old, new = rollouts.write("old.jsonl", rows("abcx")), rollouts.write("new.jsonl", rows("defx"))
    assert found(summary(old, new), "nothing_joined") is None


def test_a_joined_task_that_is_masked_is_not_nothing(rollouts: Rollouts, summary: Summary) -> None:
    old, new = (
        rollouts.write("old.jsonl", rows("ax")),
        rollouts.write("new.jsonl", [row("x", mask_sample=True)]),
    )
    assert found(summary(old, new), "nothing_joined") is None


@pytest.mark.parametrize("failures", [[], [{"_ng_failure_class": "oom"}]], ids=["no rows", "anonymous only"])
def test_a_side_without_tasks_is_not_a_join_that_failed(
    failures: list[Json], rollouts: Rollouts, summary: Summary
) -> None:
    old, new = rollouts.write("old.jsonl", rows("ab")), rollouts.write("new.jsonl", [], failures=failures)
    assert found(summary(old, new), "nothing_joined") is None


def test_nothing_joined_is_said_in_the_first_line_of_the_text_report(rollouts: Rollouts, run: Compare) -> None:
    old, new = rollouts.write("old.jsonl", rows("ab")), rollouts.write("new.jsonl", rows("cd"))
    assert "joined" in run(old, new).out.splitlines()[0]


# prompts_differ


def test_joined_tasks_with_other_prompts_are_counted(rollouts: Rollouts, summary: Summary) -> None:
    old = rollouts.write("old.jsonl", [prompted(n, f"Solve {n}") for n in "abcd"] + [prompted("left", "x")])
    new = rollouts.write(
        "new.jsonl",
        [prompted(n, f"Solve {n}" + "!" * (n in "bd")) for n in "abcd"] + [prompted("right", "y")],
    )
    assert told(summary(old, new), "prompts_differ") == (2, ["b", "d"])


@pytest.mark.parametrize("key", ["task_id", "uuid", "_ng_task_index"])
def test_prompts_are_compared_under_every_key(key: str, rollouts: Rollouts, summary: Summary) -> None:
    def side(texts: str) -> list[Json]:
        return [{key: n, "reward": 1.0, **asking(text)} for n, text in enumerate(texts)]

    old, new = rollouts.write("old.jsonl", side("ABC")), rollouts.write("new.jsonl", side("AXC"))
    assert told(summary(old, new), "prompts_differ") == (1, ["1"])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (["one"], ["one"]),
        (["one"], [[{"role": "user", "content": "one"}]]),
        (["one"], [""]),
        (["one"], [[]]),
        (["one"], [None]),
        (["one", "two"], ["two", "three"]),
        (["one", "two"], ["three"]),
        (["one"], ["two", "three"]),
        (["one", "two"], ["three", "four"]),
    ],
    ids=[
        "equal",
        "another form",
        "empty text",
        "empty list",
        "null",
        "one in common",
        "old repeats differ",
        "new repeats differ",
        "repeats of both differ",
    ],
)
def test_prompts_do_not_differ(old: list[Any], new: list[Any], rollouts: Rollouts, summary: Summary) -> None:
    paths = [
        rollouts.write(name, [prompted("a", p) for p in side])
        for name, side in (("old.jsonl", old), ("new.jsonl", new))
    ]
    assert found(summary(*paths), "prompts_differ") is None


def test_a_task_without_a_prompt_on_one_side_is_not_compared(rollouts: Rollouts, summary: Summary) -> None:
    old, new = rollouts.write("old.jsonl", [prompted("a", "one")]), rollouts.write("new.jsonl", rows("a"))
    assert found(summary(old, new), "prompts_differ") is None


def test_equal_repeats_with_another_prompt_do_differ(rollouts: Rollouts, summary: Summary) -> None:
    old = rollouts.write("old.jsonl", [prompted("a", "one"), prompted("a", "one")])
    new = rollouts.write("new.jsonl", [prompted("a", "two"), prompted("a", "two")])
    assert told(summary(old, new), "prompts_differ") == (1, ["a"])


# index_join_contradicted


@pytest.mark.parametrize(
    ("old_ids", "new_ids", "contradicted"),
    [
        ([{"id": "a"}, {}], [{"id": "b"}, {}], True),
        ([{"uid": "a", "id": "i"}, {}], [{"uid": "b", "id": "i"}, {}], True),
        ([{"task_id": "a"}, {}], [{"task_id": "b"}, {}], True),
        ([{"id": "a"}, {}], [{"id": "a"}, {}], False),
        ([{"id": "a"}, {}], [{"uid": "b"}, {}], False),
        ([{"id": 1}, {}], [{"id": "1"}, {}], False),
        ([{"id": None}, {}], [{"id": "b"}, {}], False),
    ],
    ids=["id", "one field of two", "a candidate", "equal", "other fields", "equal as text", "null"],
)
def test_the_index_is_contradicted_by_ids_that_joined_rows_carry(
    old_ids: list[Json], new_ids: list[Json], contradicted: bool, rollouts: Rollouts, summary: Summary
) -> None:
    def side(ids: list[Json]) -> list[Json]:
        return [{"_ng_task_index": n, "reward": 1.0, **asking(f"Task {n}"), **own} for n, own in enumerate(ids)]

    result = summary(rollouts.write("old.jsonl", side(old_ids)), rollouts.write("new.jsonl", side(new_ids)))
    assert (found(result, "index_join_contradicted") is not None) == contradicted
    key = "prompt" if contradicted else "_ng_task_index"
    assert (result["join"]["old_key"], result["join"]["new_key"]) == (key, key)


def test_no_index_join_is_contradicted_where_ids_join(rollouts: Rollouts, summary: Summary) -> None:
    old = rollouts.write("old.jsonl", [attempt(n, i, 0) for i, n in enumerate("abc")])
    new = rollouts.write("new.jsonl", [attempt(n, i, 0) for i, n in enumerate("cab")])
    assert found(summary(old, new), "index_join_contradicted") is None


# key_collapses_tasks


def family(name: str, indices: Iterable[int], **fields: Any) -> list[Json]:
    return [
        {"task_name": name, "reward": 1.0, "_ng_task_index": n, "_ng_rollout_index": 0, "uuid": f"{name}{n}"} | fields
        for n in indices
    ]


@pytest.mark.parametrize("collapsed", ["old", "new", "both"])
def test_a_key_that_holds_several_task_indices_collapses_tasks(
    collapsed: str, rollouts: Rollouts, summary: Summary
) -> None:
    wide = family("knights", (0, 1, 2)) + family("maze", (3, 4)) + family("sums", (5,))
    thin = family("knights", (0,)) + family("maze", (3,)) + family("sums", (5,))
    old = rollouts.write("old.jsonl", thin if collapsed == "new" else wide)
    new = rollouts.write("new.jsonl", thin if collapsed == "old" else wide)
    result = summary(old, new)
    assert told(result, "key_collapses_tasks") == (2, ["knights", "maze"])
    warning = found(result, "key_collapses_tasks")
    assert warning is not None
    assert "uuid" in warning["sentence"]


def test_repeats_of_one_task_index_are_no_collapse(rollouts: Rollouts, summary: Summary) -> None:
    path = rollouts.write("old.jsonl", [attempt(n, i, k) for i, n in enumerate("ab") for k in range(3)])
    assert found(summary(path, path), "key_collapses_tasks") is None


def test_other_indices_on_the_other_side_are_no_collapse(rollouts: Rollouts, summary: Summary) -> None:
    old = rollouts.write("old.jsonl", [attempt(n, i, 0) for i, n in enumerate("ab")])
    new = rollouts.write("new.jsonl", [attempt(n, i, 0) for i, n in enumerate("ba")])
    assert found(summary(old, new), "key_collapses_tasks") is None


def test_shards_that_restart_their_indices_are_no_collapse(rollouts: Rollouts, summary: Summary) -> None:
    first = rollouts.write("s1.jsonl", [attempt("a", 0, 0), attempt("b", 1, 0)])
    second = rollouts.write("s2.jsonl", [attempt("b", 0, 0), attempt("a", 1, 0)])
    new = rollouts.write("new.jsonl", [attempt(n, i, k) for i, n in enumerate("ab") for k in (0, 1)])
    result = summary("--old", first, "--old", second, "--new", new)
    assert found(result, "key_collapses_tasks") is None


def test_a_collapse_within_one_shard_of_several_is_told(rollouts: Rollouts, summary: Summary) -> None:
    first = rollouts.write("s1.jsonl", [attempt("a", 0, 0), attempt("a", 1, 0)])
    second = rollouts.write("s2.jsonl", [attempt("b", 0, 0)])
    new = rollouts.write("new.jsonl", [attempt(n, i, 0) for i, n in enumerate("ab")])
    result = summary("--old", first, "--old", second, "--new", new)
    assert told(result, "key_collapses_tasks") == (1, ["a"])


def test_one_id_in_two_tasksets_is_no_collapse(rollouts: Rollouts, summary: Summary) -> None:
    made = [
        {"_ng_task_id": {"taskset": t, "task_id": "a"}, "reward": 1.0, "_ng_task_index": n}
        for n, t in enumerate(("quiz", "shell"))
    ]
    path = rollouts.write("old.jsonl", made)
    assert found(summary(path, path), "key_collapses_tasks") is None


# duplicate_rollouts


@pytest.mark.parametrize("side", ["old", "new"])
def test_one_attempt_twice_in_a_file_is_a_duplicate(side: str, rollouts: Rollouts, summary: Summary) -> None:
    once = [attempt("a", 0, 0), attempt("b", 1, 0), attempt("c", 2, 0)]
    twice = [*once, attempt("a", 0, 0, 0.0), attempt("c", 2, 0)]
    old = rollouts.write("old.jsonl", twice if side == "old" else once)
    new = rollouts.write("new.jsonl", twice if side == "new" else once)
    assert told(summary(old, new), "duplicate_rollouts") == (2, ["a", "c"])


@pytest.mark.parametrize(
    "again",
    [attempt("a", 0, 1), attempt("a", 1, 0), attempt("b", 0, 0), row("a"), row("a", _ng_task_index=0)],
    ids=["another rollout", "another index", "another task", "no indices", "no rollout index"],
)
def test_a_like_row_is_no_duplicate(again: Json, rollouts: Rollouts, summary: Summary) -> None:
    path = rollouts.write("old.jsonl", [attempt("a", 0, 0), again])
    assert found(summary(path, path), "duplicate_rollouts") is None


def test_rows_without_indices_are_repeats_not_duplicates(rollouts: Rollouts, summary: Summary) -> None:
    path = rollouts.write("old.jsonl", [row("a"), row("a")])
    assert found(summary(path, path), "duplicate_rollouts") is None


@pytest.mark.parametrize(
    ("again", "duplicate"),
    [
        (attempt("a", 0, 0, 1.0, text="seen"), True),
        (attempt("a", 0, 0, 0.0, text="seen"), False),
        (attempt("a", 0, 0, 1.0, text="longer"), False),
        (attempt("a", 0, 1, 1.0, text="seen"), False),
    ],
    ids=["the same row", "another reward", "another length", "another rollout"],
)
def test_across_shards_only_an_equal_row_is_a_duplicate(
    again: Json, duplicate: bool, rollouts: Rollouts, summary: Summary
) -> None:
    shard = rollouts.write("shard.jsonl", [attempt("a", 0, 0, 1.0, text="seen")])
    whole = rollouts.write("whole.jsonl", [again, attempt("b", 1, 0)])
    new = rollouts.write("new.jsonl", rows("ab"))
    result = summary("--old", shard, "--old", whole, "--new", new)
    if duplicate:
        assert told(result, "duplicate_rollouts") == (1, ["a"])
    else:
        assert found(result, "duplicate_rollouts") is None


# mixed_id_types


@pytest.mark.parametrize("side", ["old", "new"])
def test_a_number_and_its_text_on_one_side_are_mixed_types(side: str, rollouts: Rollouts, summary: Summary) -> None:
    mixed = rows([1, "1", 2, "3", 4, "4"])
    even = rows(["1", "1", "2", "3", "4", "4"])
    old = rollouts.write("old.jsonl", mixed if side == "old" else even)
    new = rollouts.write("new.jsonl", mixed if side == "new" else even)
    assert told(summary(old, new), "mixed_id_types") == (2, ["1", "4"])


@pytest.mark.parametrize(
    ("old", "new"),
    [([1, 2], ["1", "2"]), ([1, "2"], [1, "2"]), ([1, 1], [1, 1]), (["1", "01"], ["1", "01"])],
    ids=["numbers against texts", "other numbers and texts", "numbers", "texts"],
)
def test_ids_of_one_type_a_task_are_not_mixed(
    old: list[Any], new: list[Any], rollouts: Rollouts, summary: Summary
) -> None:
    paths = rollouts.write("old.jsonl", rows(old)), rollouts.write("new.jsonl", rows(new))
    assert found(summary(*paths), "mixed_id_types") is None


# unequal_repeats


def test_tasks_with_more_rows_on_one_side_have_unequal_repeats(rollouts: Rollouts, summary: Summary) -> None:
    old = rollouts.write("old.jsonl", rows("aaabbc"))
    new = rollouts.write("new.jsonl", rows("abbcc"))
    assert told(summary(old, new), "unequal_repeats") == (2, ["a", "c"])


@pytest.mark.parametrize(("old", "new"), [("aabb", "abab"), ("ab", "ba"), ("aab", "aac")])
def test_equal_or_one_sided_repeats_are_not_unequal(old: str, new: str, rollouts: Rollouts, summary: Summary) -> None:
    paths = rollouts.write("old.jsonl", rows(old)), rollouts.write("new.jsonl", rows(new))
    assert found(summary(*paths), "unequal_repeats") is None


# low_coverage


@pytest.mark.parametrize(
    ("old", "new", "low"),
    [
        (rows("abc"), rows("a"), True),
        (rows("ab"), rows("a"), False),
        (rows("abcd"), rows("ab"), False),
        (rows("abcde"), rows("ab"), True),
        (rows("abc"), [*rows("a"), row("b", None), row("c", mask_sample=True)], True),
        (rows("abcd"), [*rows("ab"), row("c", None), row("d", mask_sample=True)], False),
        (rows("ab"), rows("ac"), True),
    ],
    ids=["1 of 3", "1 of 2", "2 of 4", "2 of 5", "2 of 3 masked", "2 of 4 masked", "missing on both sides"],
)
def test_coverage_is_low_under_half_of_all_tasks(
    old: list[Json], new: list[Json], low: bool, rollouts: Rollouts, summary: Summary
) -> None:
    result = summary(rollouts.write("old.jsonl", old), rollouts.write("new.jsonl", new))
    assert (found(result, "low_coverage") is not None) == low


# masking_differs


@pytest.mark.parametrize(
    ("only_old", "only_new", "differs"),
    [(0, 6, True), (6, 0, True), (0, 5, False), (1, 7, False), (1, 8, True), (4, 4, False)],
)
def test_masks_of_one_side_only_differ_by_the_exact_sign_test(
    only_old: int, only_new: int, differs: bool, rollouts: Rollouts, summary: Summary
) -> None:
    # Two-sided p: (0, 6) 0.031, (0, 5) 0.063, (1, 7) 0.070, (1, 8) 0.039.
    names = [f"t{n:02}" for n in range(30)]
    masked_old, masked_new = set(names[:only_old]), set(names[20 : 20 + only_new])
    old = rollouts.write("old.jsonl", [row(n, mask_sample=n in masked_old) for n in names])
    new = rollouts.write("new.jsonl", [row(n, mask_sample=n in masked_new) for n in names])
    warning = found(summary(old, new), "masking_differs")
    assert (warning is not None) == differs
    if warning:
        assert set(warning["tasks"]) <= masked_old | masked_new


def test_tasks_masked_on_both_sides_do_not_make_masking_differ(rollouts: Rollouts, summary: Summary) -> None:
    names = [f"t{n}" for n in range(10)]
    path = rollouts.write("old.jsonl", [row(n, mask_sample=True) for n in names])
    assert found(summary(path, path), "masking_differs") is None


# stale_sidecar


@pytest.mark.parametrize("side", ["old", "new"])
def test_a_sidecar_of_superseded_records_is_stale(side: str, rollouts: Rollouts, summary: Summary) -> None:
    made = [attempt("a", 0, 0), attempt("b", 1, 0)]
    record = {"_ng_task_index": 1, "_ng_rollout_index": 0, "_ng_failure_class": "oom", "task_id": "b"}
    failures = {side: [record]}
    paths = [rollouts.write(f"{name}.jsonl", made, failures=failures.get(name)) for name in ("old", "new")]
    result = summary(*paths)
    assert told(result, "stale_sidecar")[0] == 1
    assert result["counts"]["identical"] == 2


@pytest.mark.parametrize(
    "failures",
    [
        [],
        [
            {"_ng_task_index": 0, "_ng_rollout_index": 0, "task_id": "a"},
            {"_ng_task_index": 0, "_ng_rollout_index": 1, "task_id": "a"},
        ],
        [{"task_id": "a"}],
    ],
    ids=["no record", "one stands", "no indices"],
)
def test_a_sidecar_with_a_standing_record_or_none_is_not_stale(
    failures: list[Json], rollouts: Rollouts, summary: Summary
) -> None:
    path = rollouts.write("old.jsonl", [attempt("a", 0, 0), attempt("b", 1, 0)], failures=failures)
    assert found(summary(path, path), "stale_sidecar") is None


@pytest.mark.parametrize(("record_run", "stale"), [("r2", True), ("r1", False), (None, False)])
def test_records_of_another_run_are_stale(
    record_run: str | None, stale: bool, rollouts: Rollouts, summary: Summary
) -> None:
    record = {"task_id": "b", "_ng_task_index": 1, "_ng_rollout_index": 0, "_ng_failure_class": "oom"}
    if record_run:
        record["_ng_run_id"] = record_run
    made = [attempt("a", 0, 0, _ng_run_id="r1")]
    old = rollouts.write("old.jsonl", rows("ab"))
    new = rollouts.write("new.jsonl", made, failures=[record])
    assert (found(summary(old, new), "stale_sidecar") is not None) == stale


# low_overlap


@pytest.mark.parametrize("swapped", [False, True])
def test_a_prefix_that_hides_most_of_the_overlap_is_told(swapped: bool, rollouts: Rollouts, summary: Summary) -> None:
    old = rollouts.write("old.jsonl", rows(["tb/a", "tb/b", "tb/c"]))
    new = rollouts.write("new.jsonl", rows(["a", "b", "tb/c"]))
    result = summary(new, old) if swapped else summary(old, new)
    warning = found(result, "low_overlap")
    assert warning is not None
    assert "prefix" in warning["sentence"]
    assert result["counts"]["identical"] == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (["tb/a", "tb/b", "tb/c"], ["a", "tb/b", "tb/c"]),
        (["tb/a", "tb/b"], ["a", "tb/b"]),
        (["tb/a", "tb/b"], ["a", "b"]),
        (["tb/a", "tb/b"], ["tb/a", "z"]),
        (["tb/a", "tb/b", "x"], ["a", "b", "x"]),
    ],
    ids=["fewer would join", "as many would join", "it came off", "none would join", "no prefix on all ids"],
)
def test_a_prefix_that_hides_nothing_is_no_low_overlap(
    old: list[str], new: list[str], rollouts: Rollouts, summary: Summary
) -> None:
    paths = rollouts.write("old.jsonl", rows(old)), rollouts.write("new.jsonl", rows(new))
    assert found(summary(*paths), "low_overlap") is None


# no_rewards


@pytest.mark.parametrize("side", ["old", "new"])
@pytest.mark.parametrize("lacking", [{}, {"reward": None}], ids=["absent", "null"])
def test_a_side_whose_rows_have_no_reward_names_fields_that_look_like_one(
    side: str, lacking: Json, rollouts: Rollouts, summary: Summary
) -> None:
    scored = [{"task_id": n, "score": 1.0, **lacking} for n in "ab"]
    sides = {"old": rows("ab"), "new": rows("ab")} | {side: scored}
    result = summary(*(rollouts.write(f"{name}.jsonl", made) for name, made in sides.items()))
    warning = found(result, "no_rewards")
    assert warning is not None
    assert "score" in warning["sentence"]
    assert side in warning["sentence"]
    assert result["counts"]["masked"] == 2


def test_rows_without_any_reward_like_field_are_told_too(rollouts: Rollouts, summary: Summary) -> None:
    old = rollouts.write("old.jsonl", [{"task_id": n} for n in "ab"])
    new = rollouts.write("new.jsonl", rows("ab"))
    assert found(summary(old, new), "no_rewards") is not None


@pytest.mark.parametrize(
    "made",
    [[row("a", None, score=1.0), row("b", 0.0)], [row("a", 0.0, score=1.0), row("b", 0.0, score=1.0)]],
    ids=["one row with a reward", "rewards of zero"],
)
def test_a_side_with_a_reward_has_rewards(made: list[Json], rollouts: Rollouts, summary: Summary) -> None:
    path = rollouts.write("old.jsonl", made)
    assert found(summary(path, path), "no_rewards") is None


# tasksets_differ


def members(*tasksets: str | None) -> list[Json]:
    return [member(t, f"t{n}") for n, t in enumerate(tasksets)]


@pytest.mark.parametrize(
    ("old", "new", "differ"),
    [
        (members("quiz", "quiz"), members("shell", "shell"), True),
        (members("quiz", "quiz"), members("quiz", "quiz"), False),
        (members("quiz", "quiz"), members(None, None), False),
        (members("quiz", "quiz"), [row("t0"), row("t1")], False),
        (members("quiz", "shell"), members("shell", "quiz"), False),
        (members("quiz", "quiz"), members("quiz", "shell"), False),
        (members("quiz", ""), members("quiz", None), False),
    ],
    ids=["two", "the same", "none", "plain ids", "several each", "one of several", "the same beside none"],
)
def test_two_different_single_tasksets_differ(
    old: list[Json], new: list[Json], differ: bool, rollouts: Rollouts, summary: Summary
) -> None:
    result = summary(rollouts.write("old.jsonl", old), rollouts.write("new.jsonl", new))
    warning = found(result, "tasksets_differ")
    assert (warning is not None) == differ
    if warning:
        assert "quiz" in warning["sentence"]
        assert "shell" in warning["sentence"]
        assert result["counts"]["identical"] == 2
