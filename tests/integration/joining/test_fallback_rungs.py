"""The fields that join tasks when no candidate does, and the fingerprint of the prompt."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from tests.conftest import Compare, Json, Rollouts, Summary
from tests.rows import asking, holding
from tests.rules import FALLBACK_RUNGS, PROMPT, TASK_INDEX
from tests.summaries import codes, keys


def merged(one: Json, other: Json) -> Json:
    both = dict(one)
    for key, value in other.items():
        both[key] = merged(both[key], value) if isinstance(both.get(key), dict) else value
    return both


def carrying(rung: str, task: int) -> Json:
    """A row that names task number `task` by one rung only."""
    if rung == PROMPT:
        return asking(f"Solve number {task}.") | {"reward": 1.0}
    return holding(rung, task if rung == TASK_INDEX else f"t{task}") | {"reward": 1.0}


def prompted(prompt: Any, **fields: Any) -> Json:
    return asking(prompt) | {"reward": 1.0, **fields}


def user(content: Any, **extra: Any) -> Json:
    return {"role": "user", "content": content, **extra}


@pytest.mark.parametrize("rung", FALLBACK_RUNGS)
def test_each_rung_joins_by_itself_and_a_note_names_it(rung: str, rollouts: Rollouts, summary: Summary) -> None:
    old = rollouts.write("old.jsonl", [carrying(rung, 0), carrying(rung, 1)])
    new = rollouts.write("new.jsonl", [carrying(rung, 1) | {"reward": 0.0}, carrying(rung, 0)])
    result = summary(old, new)
    assert keys(result) == (rung, rung)
    assert (result["counts"]["identical"], result["counts"]["flipped_old_win"]) == (1, 1)
    assert any(rung in note for note in result["notes"])


def test_a_join_by_a_candidate_makes_no_note(rollouts: Rollouts, summary: Summary) -> None:
    path = rollouts.write("old.jsonl", [{"task_id": "a", "uuid": "u", "reward": 1.0}])
    result = summary(path, path)
    assert keys(result) == ("task_id", "task_id")
    assert result["notes"] == []


@pytest.mark.parametrize(("first", "second"), list(pairwise(FALLBACK_RUNGS[:-1])))
def test_an_earlier_rung_that_joins_wins(first: str, second: str, rollouts: Rollouts, summary: Summary) -> None:
    # The earlier rung joins one task of two, the later one both.
    old = [merged(carrying(second, n), carrying(first, n)) for n in (0, 1)]
    new = [merged(carrying(second, n), carrying(first, n + 1)) for n in (0, 1)]
    result = summary(rollouts.write("old.jsonl", old), rollouts.write("new.jsonl", new))
    assert keys(result) == (first, first)


@pytest.mark.parametrize(("first", "second"), [("instance_id", "uuid"), ("uuid", "id"), ("id", "prompt")])
def test_a_rung_that_joins_nothing_gives_way_to_one_that_joins(
    first: str, second: str, rollouts: Rollouts, summary: Summary
) -> None:
    old = rollouts.write("old.jsonl", [merged(carrying(second, n), carrying(first, n)) for n in (0, 1)])
    new = rollouts.write("new.jsonl", [merged(carrying(second, n), carrying(first, n + 5)) for n in (0, 1)])
    result = summary(old, new)
    assert keys(result) == (second, second)
    assert result["counts"]["identical"] == 2


def test_the_first_rung_that_both_carry_is_used_when_none_joins(rollouts: Rollouts, summary: Summary) -> None:
    old = rollouts.write("old.jsonl", [{"problem_id": "p1", "uid": "u1", "id": "i1", "reward": 1}])
    new = rollouts.write("new.jsonl", [{"uuid": "x", "uid": "u2", "id": "i2", "reward": 1}])
    result = summary(old, new)
    assert keys(result) == ("uid", "uid")
    assert "nothing_joined" in codes(result)
    assert any("uid" in note for note in result["notes"])


@pytest.mark.parametrize("lacking", [{}, {"uuid": None}], ids=["absent", "null"])
@pytest.mark.parametrize("side", ["old", "new"])
def test_a_rung_that_one_row_lacks_is_passed_over(
    side: str, lacking: Json, rollouts: Rollouts, summary: Summary
) -> None:
    full = [{"uuid": "a", "id": "x", "reward": 1}, {"uuid": "b", "id": "y", "reward": 1}]
    partial = [full[0], {"id": "y", "reward": 1, **lacking}]
    sides = {"old": full, "new": full} | {side: partial}
    paths = [rollouts.write(f"{name}.jsonl", rows) for name, rows in sides.items()]
    assert keys(summary(*paths)) == ("id", "id")


@pytest.mark.parametrize("bare", ["old", "new"])
def test_both_sides_leave_their_candidates_when_one_side_has_none(
    bare: str, rollouts: Rollouts, summary: Summary
) -> None:
    full = rollouts.write("full.jsonl", [{"task_id": "a", "uuid": "u1", "reward": 1}])
    lone = rollouts.write("lone.jsonl", [{"uuid": "u1", "reward": 1}])
    result = summary(lone, full) if bare == "old" else summary(full, lone)
    assert keys(result) == ("uuid", "uuid")
    assert result["counts"]["identical"] == 1


def test_a_candidate_that_joins_nothing_is_not_replaced_by_a_rung(rollouts: Rollouts, summary: Summary) -> None:
    old = rollouts.write("old.jsonl", [{"task_id": "a", "uuid": "u1", "reward": 1}])
    new = rollouts.write("new.jsonl", [{"task_id": "b", "uuid": "u1", "reward": 1}])
    result = summary(old, new)
    assert keys(result) == ("task_id", "task_id")
    assert result["counts"]["missing"] == 2


def test_anonymous_failures_have_no_vote_on_the_rung(rollouts: Rollouts, summary: Summary) -> None:
    rows = [{"uuid": "a", "id": "x", "reward": 1}]
    old = rollouts.write("old.jsonl", rows)
    new = rollouts.write("new.jsonl", rows, failures=[{"_ng_failure_class": "sandbox_lost"}])
    result = summary(old, new)
    assert keys(result) == ("uuid", "uuid")
    assert [(t["task"], t["category"]) for t in result["tasks"]] == [
        ("a", "identical"),
        ("unknown#1", "masked"),
    ]


@pytest.mark.parametrize("rung", ["_ng_task_index", "prompt", "uuid"])
def test_a_record_with_only_indices_belongs_to_the_task_of_its_index(
    rung: str, rollouts: Rollouts, summary: Summary
) -> None:
    # Tasks are numbered the other way round on the new side, so that their prompts outrank their index.
    order = (1, 0) if rung == "prompt" else (0, 1)
    record = {"_ng_task_index": 1, "_ng_rollout_index": 1, "_ng_failure_class": "oom"}
    rows = [
        [carrying(rung, n) | {"_ng_task_index": i, "_ng_rollout_index": 0} for n, i in enumerate(indices)]
        for indices in ((0, 1), order)
    ]
    old = rollouts.write("old.jsonl", rows[0])
    new = rollouts.write("new.jsonl", rows[1], failures=[record])
    result = summary(old, new)
    assert keys(result) == (rung, rung)
    assert sorted((t["category"], t["new"]["rows"]) for t in result["tasks"]) == [("identical", 1), ("masked", 2)]


# The prompt's fingerprint. Every file holds a second task that joins in any case.

REST = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Name a river."}]
BASE = [user("Name a colour.")]


def matched(summary: Summary, rollouts: Rollouts, one: Any, other: Any) -> bool:
    """Whether two prompts are taken for one and the same."""
    old = rollouts.write("old.jsonl", [prompted(one), prompted(REST)])
    new = rollouts.write("new.jsonl", [prompted(REST), prompted(other)])
    result = summary(old, new)
    assert keys(result) == ("prompt", "prompt")
    assert result["counts"]["identical"] + result["counts"]["missing_old_only"] == 2
    return bool(result["counts"]["identical"] == 2)


@pytest.mark.parametrize(
    "same",
    [
        "Name a colour.",
        [user("Name a colour.", type="message")],
        [user("Name a colour.", id="msg_1", status="completed", name=None)],
        [{"content": "Name a colour.", "role": "user"}],
        [user([{"type": "input_text", "text": "Name a colour."}])],
        [user([{"text": "Name a colour.", "type": "input_text", "annotations": []}], type="message")],
    ],
    ids=["a string", "a type", "extra keys", "key order", "a list of parts", "a part with extra keys"],
)
def test_the_form_of_a_prompt_does_not_change_its_fingerprint(same: Any, rollouts: Rollouts, summary: Summary) -> None:
    assert matched(summary, rollouts, BASE, same)
    assert matched(summary, rollouts, same, BASE)


def test_the_form_of_a_long_conversation_does_not_change_its_fingerprint(rollouts: Rollouts, summary: Summary) -> None:
    texts = [
        ("system", "Be brief."),
        ("user", "Hi \u2028 \U0001f600"),
        ("assistant", "Hello"),
        ("user", "Bye"),
    ]
    plain = [{"role": role, "content": text} for role, text in texts]
    parts = [
        {"type": "message", "content": [{"type": "input_text", "text": text}], "role": role, "id": n}
        for n, (role, text) in enumerate(texts)
    ]
    assert matched(summary, rollouts, plain, parts)


@pytest.mark.parametrize(
    "other",
    [
        "Name a color.",
        "name a colour.",
        [{"role": "system", "content": "Name a colour."}],
        [user("Name a colour."), user("Name a colour.")],
        [{"role": "system", "content": "Be brief."}, user("Name a colour.")],
        [user("Name a"), user(" colour.")],
        [user([{"type": "input_text", "text": "Name a colour!"}])],
    ],
    ids=["text", "case", "role", "a message twice", "a system message", "two messages", "text of a part"],
)
def test_other_roles_or_texts_change_the_fingerprint(other: Any, rollouts: Rollouts, summary: Summary) -> None:
    assert not matched(summary, rollouts, BASE, other)


def test_the_order_of_messages_changes_the_fingerprint(rollouts: Rollouts, summary: Summary) -> None:
    assert not matched(summary, rollouts, [user("one"), user("two")], [user("two"), user("one")])


def test_text_cannot_imitate_the_end_of_a_message(rollouts: Rollouts, summary: Summary) -> None:
    two = [user("one"), {"role": "system", "content": "two"}]
    for glue in ("", "\n", "\0", "\x1f", "\x1e", "system", "\nsystem\n", "\0system\0", "\x1esystem\x1f"):
        assert not matched(summary, rollouts, two, [user(f"one{glue}two")])


def test_parts_that_are_no_text_tell_prompts_apart(rollouts: Rollouts, summary: Summary) -> None:
    def shown(url: str) -> list[Json]:
        text = {"type": "input_text", "text": "What is this?"}
        return [user([text, {"type": "input_image", "image_url": url}])]

    assert matched(summary, rollouts, shown("data:image/png;base64,AAAA"), shown("data:image/png;base64,AAAA"))
    assert not matched(summary, rollouts, shown("data:image/png;base64,AAAA"), shown("data:image/png;base64,BBBB"))
    assert not matched(summary, rollouts, shown("data:image/png;base64,AAAA"), [user("What is this?")])


@pytest.mark.parametrize("params", [None, {}, {"input": None}, 7, "x", ["y"], True], ids=repr)
def test_params_without_an_input_carry_no_prompt(params: Any, rollouts: Rollouts, run: Compare) -> None:
    path = rollouts.write("old.jsonl", [{"reward": 1.0, "responses_create_params": params}])
    done = run(path, path)
    assert (done.status, done.out) == (1, "")
    assert "no task id field found" in done.err


@pytest.mark.parametrize("empty", ["", [], None], ids=["text", "list", "null"])
def test_an_empty_prompt_is_not_carried(empty: Any, rollouts: Rollouts, run: Compare, summary: Summary) -> None:
    lacking = rollouts.write("old.jsonl", [prompted("Name a colour."), prompted(empty)])
    full = rollouts.write("new.jsonl", [prompted("Name a colour.")])
    done = run(lacking, full)
    assert done.status == 1
    assert "no task id field found" in done.err
    rows = [prompted("Name a colour.", id="a"), prompted(empty, id="b")]
    path = rollouts.write("old.jsonl", rows)
    assert keys(summary(path, path)) == ("id", "id")


# Joining by the task's index.


def indexed(index: int, prompt: Any = None, **fields: Any) -> Json:
    return {"_ng_task_index": index, "reward": 1.0, **fields} | ({} if prompt is None else prompted(prompt))


def test_index_zero_is_carried_and_tasks_are_listed_as_text(rollouts: Rollouts, summary: Summary) -> None:
    path = rollouts.write("old.jsonl", [indexed(n) for n in (0, 2, 10)])
    assert [t["task"] for t in summary(path, path)["tasks"]] == ["0", "10", "2"]


@pytest.mark.parametrize(
    ("new_prompts", "key", "identical"),
    [
        ("ABC", "_ng_task_index", 3),
        ("BCA", "prompt", 3),
        ("XYZ", "_ng_task_index", 3),
        ("ABX", "_ng_task_index", 3),
        ("ACB", "prompt", 3),
        ("BXY", "prompt", 1),
    ],
    ids=["equal", "reindexed", "all rewritten", "one rewritten", "two swapped", "one kept elsewhere"],
)
def test_the_index_gives_way_when_prompts_join_more_than_it_does_with_equal_prompts(
    new_prompts: str, key: str, identical: int, rollouts: Rollouts, summary: Summary
) -> None:
    old = rollouts.write("old.jsonl", [indexed(n, f"Task {p}") for n, p in enumerate("ABC")])
    new = rollouts.write("new.jsonl", [indexed(n, f"Task {p}") for n, p in enumerate(new_prompts)])
    result = summary(old, new)
    assert keys(result) == (key, key)
    assert result["counts"]["identical"] == identical


def test_the_index_is_no_key_for_a_side_of_several_shards(rollouts: Rollouts, run: Compare, summary: Summary) -> None:
    def sides(prompts: str) -> list[object]:
        rows = [[indexed(0, p or None)] for p in prompts] if prompts else [[indexed(0)], [indexed(0)]]
        shards = [rollouts.write(f"s{n}.jsonl", one) for n, one in enumerate(rows)]
        new = rollouts.write("new.jsonl", [indexed(0, "A"), indexed(1, "B")] if prompts else [indexed(0)])
        return ["--old", shards[0], "--old", shards[1], "--new", new]

    result = summary(*sides("AB"))
    assert keys(result) == ("prompt", "prompt")
    assert result["counts"]["identical"] == 2
    done = run(*sides(""))
    assert done.status == 1
    assert "no task id field found" in done.err


def test_a_contradicted_index_gives_way_to_the_next_rung(rollouts: Rollouts, summary: Summary) -> None:
    # `id` is no rung here, as one row lacks it; one disagreement is enough.
    old = rollouts.write("old.jsonl", [indexed(0, "A", id="a"), indexed(1, "B", id="b"), indexed(2, "C")])
    new = rollouts.write("new.jsonl", [indexed(0, "A", id="a"), indexed(1, "B2", id="x"), indexed(2, "C")])
    result = summary(old, new)
    assert keys(result) == ("prompt", "prompt")
    assert result["counts"]["identical"] == 2
    assert "index_join_contradicted" in codes(result)


def test_a_contradicted_index_is_not_used_even_when_nothing_else_joins(rollouts: Rollouts, summary: Summary) -> None:
    old = rollouts.write("old.jsonl", [indexed(n, uuid=f"u{n}") for n in (0, 1)])
    new = rollouts.write("new.jsonl", [indexed(n, uuid=f"v{n}") for n in (0, 1)])
    result = summary(old, new)
    assert keys(result) == ("uuid", "uuid")
    assert result["counts"]["missing"] == 4
    assert {"index_join_contradicted", "nothing_joined"} <= set(codes(result))


def test_a_contradicted_index_without_any_other_rung_is_unreadable(rollouts: Rollouts, run: Compare) -> None:
    old = rollouts.write("old.jsonl", [indexed(0, id="a"), indexed(1)])
    new = rollouts.write("new.jsonl", [indexed(0, id="b"), indexed(1)])
    done = run(old, new)
    assert (done.status, done.out) == (1, "")
    assert "no task id field found" in done.err
    assert "--key" in done.err


def test_an_index_whose_rows_agree_on_their_ids_is_used(rollouts: Rollouts, summary: Summary) -> None:
    old = rollouts.write("old.jsonl", [indexed(0, id="a"), indexed(1, uid="u"), indexed(2)])
    new = rollouts.write("new.jsonl", [indexed(0, id="a"), indexed(1, question_id="q"), indexed(2, id="z")])
    result = summary(old, new)
    assert keys(result) == ("_ng_task_index", "_ng_task_index")
    assert result["counts"]["identical"] == 3
    assert "index_join_contradicted" not in codes(result)


def test_a_side_of_failures_only_votes_on_the_rung(rollouts: Rollouts, run: Compare) -> None:
    # No record of the old side has a prompt, so the prompts of the new side are no common rung.
    failures = [{"task_name": "a", "_ng_failure_class": "oom"}, {"task_id": "b", "_ng_failure_class": "oom"}]
    old = rollouts.write("old.jsonl", [], failures=failures)
    new = rollouts.write("new.jsonl", [{"task_id": "b", "reward": 1, **asking("hi")}])
    done = run(old, new)
    assert done.status == 1
    assert "no task id field found" in done.err
    assert "--key" in done.err


def test_a_contradicted_index_is_told_when_nothing_else_joins(rollouts: Rollouts, run: Compare) -> None:
    old = rollouts.write(
        "old.jsonl", [{"_ng_task_index": 0, "id": "a", "reward": 1}, {"_ng_task_index": 1, "reward": 1}]
    )
    new = rollouts.write(
        "new.jsonl", [{"_ng_task_index": 0, "id": "b", "reward": 1}, {"_ng_task_index": 1, "reward": 1}]
    )
    done = run(old, new)
    assert done.status == 1
    assert "`_ng_task_index` name different tasks" in done.err
