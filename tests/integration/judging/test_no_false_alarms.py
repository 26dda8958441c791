"""Ordinary rows that look like misleading ones: no warning, no change of what is compared."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Callable, Iterable

import pytest

from tests.conftest import Compare, Json, Rollouts, Summary

Judge = Callable[[Iterable[Json], Iterable[Json]], Json]
NEW_CODES = frozenset(
    {
        "empty_side",
        "agents_mixed",
        "models_mixed",
        "key_collapses_tasks",
        "ids_almost_equal",
        "same_rows",
        "rerun_until_passed",
        "rollouts_lost",
        "repeated_rows",
    }
)


@pytest.fixture
def judge(rollouts: Rollouts, summary: Summary) -> Judge:
    """The summary of two sides' rows."""

    def call(old: Iterable[Json], new: Iterable[Json]) -> Json:
        return summary(rollouts.write("old.jsonl", old), rollouts.write("new.jsonl", new))

    return call


def codes(found: Json) -> set[str]:
    return {warning["code"] for warning in found["warnings"]}


def tasks(number: int = 12, repeats: int = 1, **fields: object) -> list[Json]:
    return [
        {"task_id": f"task-{n}", "reward": float((n + k) % 3 > 0)} | fields
        for n in range(number)
        for k in range(repeats)
    ]


def test_one_agent_a_side_is_the_usual_comparison(judge: Judge) -> None:
    found = judge(tasks(agent_ref={"name": "alpha"}), tasks(agent_ref={"name": "beta"}))
    assert codes(found) & NEW_CODES == set()
    assert found["counts"]["tasks"] == 12
    assert "keyed_by_agent" not in found["join"]


def test_each_agent_on_tasks_of_its_own_is_no_mixture(judge: Judge) -> None:
    rows = [row | {"agent_ref": {"name": "alpha" if n % 2 else "beta"}} for n, row in enumerate(tasks())]
    found = judge(rows, [row | {"side": "new"} for row in rows])
    assert "keyed_by_agent" not in found["join"]
    assert codes(found) & NEW_CODES == set()


def test_one_model_a_side_is_the_usual_comparison(judge: Judge) -> None:
    found = judge(tasks(repeats=3, response={"model": "a"}), tasks(repeats=3, response={"model": "b"}))
    assert codes(found) & NEW_CODES == set()
    assert "keyed_by_model" not in found["join"]


def test_several_agents_hide_that_there_are_several_models(judge: Judge) -> None:
    rows = [
        {"task_id": f"t{n}", "reward": 1.0, "agent_ref": {"name": agent}, "response": {"model": model}}
        for n in range(12)
        for agent in ("alpha", "beta")
        for model in ("x", "y")
    ]
    found = judge(rows, [row | {"side": "new"} for row in rows])
    assert found["join"]["keyed_by_agent"] is True
    assert "keyed_by_model" not in found["join"]
    assert found["counts"]["tasks"] == 24


def test_a_failure_without_an_agent_belongs_to_the_only_one_of_its_task(rollouts: Rollouts, summary: Summary) -> None:
    rows = [
        {"task_id": f"t{n}", "_ng_task_index": n, "_ng_rollout_index": k, "reward": 1.0, "agent_ref": {"name": agent}}
        for n in range(12)
        for k, agent in enumerate(("alpha", "beta") if n else ("alpha",))
    ]
    lost = {"_ng_task_index": 0, "_ng_rollout_index": 1, "_ng_failure_class": "timeout"}
    old = rollouts.write("old.jsonl", rows, failures=[lost])
    new = rollouts.write("new.jsonl", [row | {"side": "new"} for row in rows])
    [task] = [task for task in summary(old, new)["tasks"] if task["task"] == "t0 [alpha]"]
    assert (task["agent"], task["old"]["rows"], task["old"]["masked"]) == (
        "alpha",
        2,
        "1/2 rows masked: mask_sample (failure_kind=timeout)",
    )


@pytest.mark.parametrize("prompt", ["prompt", "question", "input"])
def test_repeats_with_one_prompt_are_repeats_whatever_their_indices(judge: Judge, prompt: str) -> None:
    rows = [
        row | {"_ng_task_index": place, "id": f"sample-{place}", prompt: row["task_id"]}
        for place, row in enumerate(tasks(repeats=4))
    ]
    found = judge(rows, [row | {"side": "new"} for row in rows])
    assert codes(found) & NEW_CODES == set()
    assert found["counts"]["tasks"] == 12


@pytest.mark.parametrize("ids", [(0, 1, 2, 3), (1, 2, 3, 4), (11, 12, 13, 14), ("a", "b", "c", "d")])
@pytest.mark.parametrize("field", ["id", "sample_id", "seed_id"])
def test_ids_that_are_the_same_under_every_task_number_its_repeats(
    judge: Judge, field: str, ids: Iterable[object]
) -> None:
    rows = [row | {field: number} for row, number in zip(tasks(repeats=4), itertools.cycle(ids), strict=False)]
    found = judge(rows, [row | {"side": "new"} for row in rows])
    assert codes(found) & NEW_CODES == set()
    assert found["counts"]["tasks"] == 12


def test_numbers_of_repeats_of_which_some_are_missing_are_such_numbers_too(judge: Judge) -> None:
    rows = [row | {"id": place % 4} for place, row in enumerate(tasks(repeats=4))]
    found = judge(rows, [row | {"side": "new"} for place, row in enumerate(rows) if place % 11])
    assert codes(found) & NEW_CODES == set()


def test_ids_of_rollouts_name_no_family(judge: Judge) -> None:
    old = [row | {"uuid": f"old-{place}"} for place, row in enumerate(tasks(repeats=4))]
    new = [row | {"uuid": f"new-{place}"} for place, row in enumerate(tasks(repeats=4))]
    assert codes(judge(old, new)) & NEW_CODES == set()


def test_prompts_drawn_anew_for_each_row_name_no_family(judge: Judge) -> None:
    old = [row | {"prompt": f"{row['task_id']}, drawn {place}"} for place, row in enumerate(tasks(repeats=4))]
    new = [row | {"prompt": f"{row['task_id']}, drawn again {place}"} for place, row in enumerate(tasks(repeats=4))]
    assert "key_collapses_tasks" not in codes(judge(old, new))


def test_what_was_answered_is_no_part_of_the_prompt(judge: Judge) -> None:
    def talk(row: Json, answer: str) -> Json:
        asked = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": row["task_id"]}]
        return row | {
            "messages": [*asked, {"role": "assistant", "content": answer}, {"role": "user", "content": answer}]
        }

    found = judge([talk(row, "yes") for row in tasks()], [talk(row, "no") for row in tasks()])
    assert "prompts_differ" not in codes(found)
    asked_anew = [talk(row | {"task_id": f"{row['task_id']}?"}, "no") | {"task_id": row["task_id"]} for row in tasks()]
    found = judge([talk(row, "yes") for row in tasks()], asked_anew)
    assert [warning["count"] for warning in found["warnings"] if warning["code"] == "prompts_differ"] == [12]


def test_an_id_of_a_rollout_under_two_tasks_is_none(judge: Judge) -> None:
    rows = [row | {"rollout_id": f"attempt-{place % 2}"} for place, row in enumerate(tasks(repeats=2))]
    found = judge(rows, [row | {"side": "new"} for row in rows])
    assert "repeated_rows" not in codes(found)
    assert found["tasks"][0]["old"]["rows"] == 2


@pytest.mark.parametrize("rollout_id", ["abc", 1234567, None, ["abcd"]])
def test_a_short_id_or_one_that_is_not_text_is_none(judge: Judge, rollout_id: object) -> None:
    rows = [{"task_id": f"t{n}", "reward": 1.0, "rollout_id": rollout_id} for n in range(1) for _ in range(3)]
    assert judge(rows, [row | {"side": "new"} for row in rows])["tasks"][0]["old"]["rows"] == 3


def test_equal_ids_with_different_indices_are_different_rollouts(judge: Judge) -> None:
    rows = [
        {"task_id": f"t{n}", "reward": 1.0, "rollout_id": f"made-of-t{n}", "_ng_rollout_index": k}
        for n in range(12)
        for k in range(3)
    ]
    found = judge(rows, [row | {"side": "new"} for row in rows])
    assert "repeated_rows" not in codes(found)
    assert found["tasks"][0]["old"]["rows"] == 3


def test_a_response_id_made_of_the_tasks_name_is_no_id_of_a_rollout(judge: Judge) -> None:
    rows = [
        {"task_id": f"t{n}", "reward": k / 4, "response": {"id": f"resp-t{n}"}, "steps": "x" * k}
        for n in range(12)
        for k in range(3)
    ]
    found = judge(rows, [row | {"side": "new"} for row in rows])
    assert "repeated_rows" not in codes(found)
    assert found["tasks"][0]["old"]["rows"] == 3


def test_a_row_counts_more_than_the_record_of_a_failure_with_its_id(rollouts: Rollouts, summary: Summary) -> None:
    rows = [row | {"rollout_id": f"run-{place}"} for place, row in enumerate(tasks())]
    failures = [{"task_id": "task-0", "rollout_id": "run-0", "_ng_failure_class": "timeout"}]
    old = rollouts.write("old.jsonl", rows, failures=failures)
    found = summary(old, rollouts.write("new.jsonl", [row | {"side": "new"} for row in rows]))
    assert (found["tasks"][0]["old"]["rows"], found["tasks"][0]["old"]["masked"]) == (1, None)


def test_more_rows_on_some_tasks_are_no_reruns_when_the_last_is_not_the_best(judge: Judge) -> None:
    more = [{"task_id": f"task-{n}", "reward": float(k == n % 3)} for n in range(20) for k in range(3)]
    found = judge([*tasks(40)], [*tasks(40)[20:], *more])
    assert "rerun_until_passed" not in codes(found)


@pytest.mark.parametrize(("reran", "fires"), [(7, False), (8, True)])
def test_reruns_until_something_passed_take_eight_tasks(judge: Judge, reran: int, fires: bool) -> None:
    rows = [{"task_id": f"task-{n}", "reward": 1.0} for n in range(30)]
    reruns = [{"task_id": f"task-{n}", "reward": reward} for n in range(reran) for reward in (0.0, 1.0)]
    assert ("rerun_until_passed" in codes(judge(rows, [*reruns, *rows[reran:]]))) is fires


def test_the_same_number_of_rows_for_every_task_is_no_rerun(judge: Judge) -> None:
    rows = [{"task_id": f"task-{n}", "reward": reward} for n in range(20) for reward in (0.0, 1.0)]
    assert "rerun_until_passed" not in codes(judge(rows, [row | {"side": "new"} for row in rows]))


def test_a_plan_that_is_met_is_not_told(rollouts: Rollouts, summary: Summary) -> None:
    rows = tasks(repeats=2)
    failures = [{"task_id": "task-0", "_ng_failure_class": "timeout", "_ng_task_index": 0, "_ng_rollout_index": 9}]
    new = rollouts.write("new.jsonl", rows[1:], failures=failures, materialized=[{"task_id": "any"}] * len(rows))
    assert "rollouts_lost" not in codes(summary(rollouts.write("old.jsonl", rows), new))


def test_a_few_lost_rollouts_are_told_and_the_verdict_stands(rollouts: Rollouts, summary: Summary) -> None:
    rows = tasks(40)
    (rollouts.folder / "new_coverage.json").write_text('{"expected": 42}', encoding="utf-8")
    found = summary(
        rollouts.write("old.jsonl", rows), rollouts.write("new.jsonl", [row | {"side": "new"} for row in rows])
    )
    assert found["verdict"]["kind"] == "no_clear_difference"
    assert "New: 2 of 42 planned rollouts left no row" in found["verdict"]["sentence"]


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"expected": "many"}', '{"expected": -1}', "\x00", '{"expected": true}']
)
def test_a_plan_that_nobody_understands_is_none(rollouts: Rollouts, summary: Summary, content: str) -> None:
    (rollouts.folder / "new_coverage.json").write_text(content, encoding="utf-8")
    found = summary(rollouts.write("old.jsonl", tasks()), rollouts.write("new.jsonl", tasks(side="new")))
    assert "rollouts_lost" not in codes(found)


def test_lost_rollouts_count_as_zero_where_it_is_known_which_they_are(rollouts: Rollouts, summary: Summary) -> None:
    planned = [{"task_id": f"t{n}", "_ng_task_index": n, "_ng_rollout_index": k} for n in range(12) for k in range(2)]
    old = rollouts.write("old.jsonl", [row | {"reward": 1.0} for row in planned])
    new = rollouts.write(
        "new.jsonl", [row | {"reward": 1.0, "side": "new"} for row in planned[::2]], materialized=planned
    )
    found = summary(old, new, "--count-as-zero", "missing")
    assert {(task["new"]["counted_reward"], task["new"]["rows"]) for task in found["tasks"]} == {(0.5, 2)}
    assert "rollouts_lost" not in codes(found)
    assert found["sides"]["new"]["digest"] == summary(old, new)["sides"]["new"]["digest"]


def test_equal_rewards_in_different_lines_are_no_same_rows(judge: Judge) -> None:
    assert "same_rows" not in codes(judge(tasks(), [row | {"side": "n"} for row in tasks()]))
    # As long as the others, too.
    old, new = ([row | {"note": letter} for row in tasks()] for letter in "ab")
    assert "same_rows" not in codes(judge(old, new))


def test_ids_that_are_almost_those_of_joined_tasks_are_not_told(judge: Judge) -> None:
    rows = [{"task_id": name, "reward": 1.0} for name in ("Alpha", "alpha", "beta")]
    assert "ids_almost_equal" not in codes(judge(rows, [row | {"side": "new"} for row in rows]))


@pytest.mark.parametrize(("old", "new"), [("Task A", "task a"), (" task", "task"), ("caf\u00e9", "cafe\u0301")])
def test_ids_that_differ_in_how_they_are_written_are_told_and_not_joined(judge: Judge, old: str, new: str) -> None:
    found = judge([*tasks(), {"task_id": old, "reward": 1}], [*tasks(side="new"), {"task_id": new, "reward": 1}])
    [warning] = [warning for warning in found["warnings"] if warning["code"] == "ids_almost_equal"]
    assert warning["count"] == 1
    assert found["counts"]["missing"] == 2


def test_choosing_rows_is_like_leaving_out_the_others(rollouts: Rollouts, summary: Summary) -> None:
    rows = [
        row | {"meta": {"split": split, "hard": hard, "level": 1.0}}
        for row, split, hard in zip(
            tasks(24), itertools.cycle(("dev", "test")), itertools.cycle((True, True, False)), strict=False
        )
    ]
    chosen = [row for row in rows if row["meta"]["split"] == "dev" and row["meta"]["hard"]]
    paths = rollouts.write("old.jsonl", rows), rollouts.write("new.jsonl", [row | {"side": "new"} for row in rows])
    asked = ("--where", "meta.split=dev", "--where", "meta.hard=true", "--where", "meta.level=1")
    found = summary(*paths, *asked)
    by_hand = summary(
        rollouts.write("a.jsonl", chosen), rollouts.write("b.jsonl", [row | {"side": "new"} for row in chosen])
    )
    for part in ("counts", "tasks", "statistics"):
        assert found[part] == by_hand[part]
    assert found["sides"]["old"]["rows"] == len(chosen)


def test_a_failure_that_lacks_the_field_goes_with_its_task(rollouts: Rollouts, summary: Summary) -> None:
    rows = [row | {"split": "dev" if place < 12 else "test"} for place, row in enumerate(tasks(24))]
    failures = [{"task_id": name, "_ng_failure_class": "timeout"} for name in ("task-1", "task-20", "task-99")]
    old = rollouts.write("old.jsonl", rows, failures=failures)
    found = summary(old, rollouts.write("new.jsonl", [row | {"side": "new"} for row in rows]), "--where", "split=dev")
    named = {task["task"]: task["category"] for task in found["tasks"]}
    assert named["task-1"] == "masked"
    assert "task-20" not in named
    # Nothing tells where it belongs.
    assert named["task-99"] == "missing"


@pytest.mark.parametrize(("value", "reward"), [(True, 1.0), (False, 0.0), (0.25, 0.25), (3, 3.0), (None, None)])
def test_a_chosen_reward_may_be_a_truth_value(
    rollouts: Rollouts, summary: Summary, value: object, reward: object
) -> None:
    path = rollouts.write("side.jsonl", [{"task_id": "a", "reward": 9, "said": {"ok": value}}])
    assert summary(path, path, "--reward", "said.ok")["tasks"][0]["old"]["reward"] == reward


def test_a_chosen_reward_that_is_text_is_unreadable(rollouts: Rollouts, run: Compare) -> None:
    path = rollouts.write("side.jsonl", [{"task_id": "a", "reward": 1, "said": "1.0"}])
    done = run(path, path, "--reward", "said")
    assert done.status == 1
    assert done.err == f"error: {path}:1: `said` is a string, not a number (task a)\n"


def test_a_side_without_rows_is_empty_whatever_is_chosen_of_it(rollouts: Rollouts, summary: Summary) -> None:
    found = summary(
        rollouts.write("old.jsonl", tasks(split="dev")), rollouts.write("new.jsonl", []), "--where", "split=dev"
    )
    assert found["warnings"][0]["code"] == "empty_side"


@pytest.mark.parametrize("call", ["function_call", "reasoning", "function_call_output"])
def test_what_follows_the_first_call_is_not_part_of_the_prompt(judge: Judge, call: str) -> None:
    def rows(text: str, asked: str = "question") -> list[Json]:
        said = [{"role": "user", "content": asked}, {"type": call, "arguments": text, "output": text}]
        return tasks(messages=said)

    assert "prompts_differ" not in codes(judge(rows("one"), rows("two")))
    assert "prompts_differ" in codes(judge(rows("one"), rows("one", "a different one")))


def test_the_choice_that_is_offered_may_be_pasted_into_a_shell(rollouts: Rollouts, summary: Summary) -> None:
    rows = [each for name in ("one agent; ls", "a $different one") for each in tasks(agent_ref={"name": name})]
    old = rollouts.write("old.jsonl", rows)
    new = rollouts.write("new.jsonl", [{**each, "agent_ref": {"name": "new"}} for each in rows[:12]])
    [mixed] = [each for each in summary(old, new)["warnings"] if each["code"] == "agents_mixed"]
    offered = re.search(r"`(--old-where .*?)` would", mixed["sentence"])
    assert offered is not None, mixed["sentence"]
    assert summary(old, new, *shlex.split(offered[1]))["statistics"]["n"] == 12


def test_a_reward_that_no_row_has_is_named_as_it_was_asked_for(rollouts: Rollouts, summary: Summary) -> None:
    old, new = rollouts.write("old.jsonl", tasks(score=1.0)), rollouts.write("new.jsonl", tasks(scoer=1.0))
    told = [
        each["sentence"] for each in summary(old, new, "--reward", "scoer")["warnings"] if each["code"] == "no_rewards"
    ]
    assert told == ["no row of the old side has a reward in `scoer`; `--reward score` would score 12 rows"]


def test_blank_lines_of_a_plan_are_not_planned(rollouts: Rollouts, summary: Summary) -> None:
    old = rollouts.write("old.jsonl", tasks(note="old"))
    new = rollouts.write("new.jsonl", tasks(note="new"))
    (new.parent / "new_materialized_inputs.jsonl").write_text("{}\n" * 12 + "   \n\t \r\n\n")
    assert "rollouts_lost" not in codes(summary(old, new))
