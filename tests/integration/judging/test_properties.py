"""What holds for any two sides: nothing is lost, the sides are alike, and order means nothing."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

from rollout_compare import compare, load_side
from tests.conftest import Compare, Json, Rollouts, Summary
from tests.rules import FALLBACK_ID_FIELDS, KEY_CANDIDATES, TASK_INDEX

# Ids and tasksets whose labels can clash, ids of two types, and one that looks like an anonymous failure.
TASKS = ["a", "b", "c", "a/b", "b/a", "quiz/b", 1, "1", "unknown#1"]
NO_SLASH = [task for task in TASKS if "/" not in str(task)]
TASKSETS = ["quiz", "quiz/a", "shell", "", None]
REWARDS = [0, 1, 1.0, 0.25, 0.1, -1.0, 1 / 3, 5e-10, 1.5e308, None, math.nan]
# Explaining a failure takes minutes here, shrinking it does not.
EXAMPLES = settings(max_examples=40, phases=[Phase.explicit, Phase.generate, Phase.shrink])


@dataclass(frozen=True)
class Made:
    """A generated side: rows of its main file and records of its sidecar."""

    rows: list[Json]
    failures: list[Json]


@st.composite
def made_sides(
    draw: st.DrawFn, shapes: tuple[str, ...] = ("plain", "wide", "prefixed"), *, indexed: bool | None = None
) -> Made:
    """A valid side. `wide`: id objects with tasksets; `prefixed`: one prefix on every id."""
    shape = draw(st.sampled_from(shapes))
    numbered = draw(st.booleans()) if indexed is None else indexed
    tasks = NO_SLASH if shape == "no slash" else TASKS
    used: Counter[int] = Counter()

    def names(task: Any, taskset: Any) -> Json:
        if shape == "wide":
            return {"_ng_task_id": {"taskset": taskset, "task_id": task}}
        return {"task_name": f"tb/{task}" if shape == "prefixed" else task}

    def numbers(task: Any, taskset: Any) -> Json:
        index = TASKS.index(task) * len(TASKSETS) + (TASKSETS.index(taskset) if shape == "wide" else 0)
        used[index] += 1
        return {"_ng_task_index": index, "_ng_rollout_index": used[index]}

    task_and_set = st.tuples(st.sampled_from(tasks), st.sampled_from(TASKSETS))
    signals = st.fixed_dictionaries(
        {},
        optional={
            "mask_sample": st.sampled_from([True, False, 0, "x"]),
            "error": st.sampled_from(["boom", ""]),
            "failure_kind": st.sampled_from(["agent_timeout", "sandbox_lost"]),
        },
    )
    rows = [
        names(*which) | (numbers(*which) if numbered else {}) | own | ({} if reward is ... else {"reward": reward})
        for which, reward, own in draw(
            st.lists(
                st.tuples(task_and_set, st.sampled_from([*REWARDS, ...]), st.one_of(st.just({}), signals)),
                min_size=1,
                max_size=8,
            )
        )
    ]
    kinds = st.sampled_from(["keyed", "numbered", "index only", "anonymous", "_ng_omitted_rollout"])
    failures: list[Json] = []
    for kind, which in draw(st.lists(st.tuples(kinds, task_and_set), max_size=4)):
        record: Json = {"_ng_failure_class": "sandbox_lost", "reward": 0.0}
        record |= names(*which) if kind in ("keyed", "numbered", "_ng_omitted_rollout") else {}
        record |= {} if kind in ("keyed", "anonymous") else numbers(*which)
        failures.append(record | ({kind: True} if kind.startswith("_ng") else {}))
    return Made(rows, failures)


def write(rollouts: Rollouts, name: str, side: Made) -> Any:
    # The sidecar is always written, so that none is left over from an earlier example.
    return rollouts.write(name, side.rows, failures=side.failures)


def compared(rollouts: Rollouts, summary: Summary, old: Made, new: Made) -> Json:
    return summary(write(rollouts, "old.jsonl", old), write(rollouts, "new.jsonl", new))


def task_facts(side: Json | None) -> Any:
    """What a side says of a task, without what depends on the order of its rows."""
    if side is None:
        return None
    rewards = sorted(side["rewards"], key=lambda reward: (reward is None, reward or 0.0))
    return side["rows"], side["counted_rows"], side["masked"] is None, side["agent_error"] is None, rewards


def anonymous(label: str) -> str:
    """The label, the same for every `unknown#n`: their numbers run over old, then new."""
    return "unknown" if label.startswith("unknown#") else label


@given(old=made_sides(), new=made_sides())
@EXAMPLES
def test_counts_add_up_and_no_row_is_lost(old: Made, new: Made, rollouts: Rollouts, summary: Summary) -> None:
    result = compared(rollouts, summary, old, new)
    counts, tasks = result["counts"], result["tasks"]
    classes = ("identical", "flipped", "flipped_agent_error", "masked", "missing")
    assert counts["tasks"] == len(tasks) == sum(counts[name] for name in classes)
    assert {name: counts[name] for name in classes} == {
        name: sum(t["category"] == name for t in tasks) for name in classes
    }
    assert counts["flipped"] == counts["flipped_old_win"] + counts["flipped_new_win"]
    assert counts["missing"] == counts["missing_old_only"] + counts["missing_new_only"]
    assert max(counts["masked_old"], counts["masked_new"]) <= counts["masked"]
    assert counts["masked"] <= counts["masked_old"] + counts["masked_new"]
    for name, made in (("old", old), ("new", new)):
        there = [t[name] for t in tasks if t[name] is not None]
        assert sum(side["rows"] for side in there) == result["sides"][name]["rows"]
        assert len(made.rows) <= result["sides"][name]["rows"] <= len(made.rows) + len(made.failures)
        masked = sum(side["rows"] - side["counted_rows"] for side in there)
        assert masked == result["sides"][name]["masked_rows"]


@given(old=made_sides(), new=made_sides())
@EXAMPLES
def test_tasks_are_in_order_under_labels_of_their_own(
    old: Made, new: Made, rollouts: Rollouts, summary: Summary
) -> None:
    labels = [t["task"] for t in compared(rollouts, summary, old, new)["tasks"]]
    assert labels == sorted(labels)
    assert len(set(labels)) == len(labels)


@given(old=made_sides(), new=made_sides())
@EXAMPLES
def test_each_side_of_a_task_agrees_with_itself(old: Made, new: Made, rollouts: Rollouts, summary: Summary) -> None:
    for task in compared(rollouts, summary, old, new)["tasks"]:
        for side in filter(None, (task["old"], task["new"])):
            counted = [Fraction(reward) for reward in side["rewards"] if reward is not None]
            assert (len(side["rewards"]), len(counted)) == (side["rows"], side["counted_rows"])
            assert (side["masked"] is None) == (side["rows"] == side["counted_rows"])
            if counted:
                mean = float(sum(counted) / len(counted))
                assert math.isclose(side["counted_reward"], mean, rel_tol=1e-12, abs_tol=1e-12)
            else:
                assert side["counted_reward"] is None
            if side["masked"] is None:
                assert side["reward"] == side["counted_reward"]
        both = task["old"] is not None and task["new"] is not None
        assert both or task["category"] in ("missing", "masked")
        assert (task["winner"] is not None) == task["category"].startswith("flipped")


@given(old=made_sides(), new=made_sides())
@EXAMPLES
def test_swapping_the_sides_swaps_what_is_one_sided(old: Made, new: Made, rollouts: Rollouts, summary: Summary) -> None:
    result, swapped = (compared(rollouts, summary, *pair) for pair in ((old, new), (new, old)))

    def turned(name: str) -> str:
        return "_".join({"old": "new", "new": "old"}.get(part, part) for part in name.split("_"))

    assert swapped["counts"] == {turned(name): count for name, count in result["counts"].items()}
    assert swapped["join"] == {turned(name): value for name, value in result["join"].items()}
    assert {w["code"] for w in swapped["warnings"]} == {w["code"] for w in result["warnings"]}

    def facts(tasks: list[Json], one: str, other: str) -> list[str]:
        named = {None: None, one: "one", other: "other"}
        return sorted(repr((anonymous(t["task"]), t["category"], named[t["winner"]], t[one], t[other])) for t in tasks)

    assert facts(swapped["tasks"], "new", "old") == facts(result["tasks"], "old", "new")


@given(data=st.data(), old=made_sides(), new=made_sides())
@EXAMPLES
def test_the_order_of_rows_changes_nothing_but_what_is_first(
    data: st.DataObject, old: Made, new: Made, rollouts: Rollouts, summary: Summary
) -> None:
    result = compared(rollouts, summary, old, new)
    mixed = [replace(side, rows=data.draw(st.permutations(side.rows))) for side in (old, new)]
    shuffled = compared(rollouts, summary, *mixed)
    for part in ("counts", "join"):
        assert shuffled[part] == result[part]
    assert {w["code"] for w in shuffled["warnings"]} == {w["code"] for w in result["warnings"]}
    for before, after in zip(result["tasks"], shuffled["tasks"], strict=True):
        assert [after[key] for key in ("task", "category", "winner")] == [
            before[key] for key in ("task", "category", "winner")
        ]
        for side in ("old", "new"):
            assert task_facts(after[side]) == task_facts(before[side])
            for mean in ("reward", "counted_reward") if before[side] else ():
                one, other = before[side][mean], after[side][mean]
                assert one == other or math.isclose(one, other, rel_tol=1e-12, abs_tol=1e-9)


@given(data=st.data(), old=made_sides(indexed=True), new=made_sides(indexed=True))
@EXAMPLES
def test_a_superseded_record_changes_nothing(
    data: st.DataObject, old: Made, new: Made, rollouts: Rollouts, summary: Summary
) -> None:
    result = compared(rollouts, summary, old, new)
    later = [f for f in new.failures if "_ng_rollout_index" in f]
    winner = data.draw(st.sampled_from([*new.rows, *later]))
    record = {name: winner[name] for name in ("_ng_task_index", "_ng_rollout_index")}
    record |= {"_ng_failure_class": "late", "reward": 0.0}
    record |= data.draw(st.sampled_from([{}, {"task_name": "ghost"}, {"_ng_task_id": "ghost"}, {"uuid": "x"}]))
    # First in the sidecar, as a record supersedes only those before it.
    more = compared(rollouts, summary, old, replace(new, failures=[record, *new.failures]))
    for part in ("counts", "join", "tasks"):
        assert more[part] == result[part]
    for fact in ("rows", "masked_rows"):
        assert more["sides"]["new"][fact] == result["sides"]["new"][fact]
    assert more["sides"]["old"] == result["sides"]["old"]
    about_sidecars = {"stale_sidecar"}
    assert [w for w in more["warnings"] if w["code"] not in about_sidecars] == [
        w for w in result["warnings"] if w["code"] not in about_sidecars
    ]


@given(side=made_sides())
@EXAMPLES
def test_a_file_compared_with_itself_has_no_flips(side: Made, rollouts: Rollouts, summary: Summary) -> None:
    path = write(rollouts, "old.jsonl", side)
    for result in (summary(path, path), summary(path, write(rollouts, "copy.jsonl", side))):
        counts = result["counts"]
        assert (counts["flipped"], counts["flipped_agent_error"], counts["missing"]) == (0, 0, 0)
        assert counts["masked_old"] == counts["masked_new"]
        assert result["sides"]["old"]["digest"] == result["sides"]["new"]["digest"]
        assert (result["join"]["old_prefix_stripped"], result["join"]["new_prefix_stripped"]) == (None, None)


@given(old=made_sides(("no slash",)), new=made_sides(("no slash",)))
@EXAMPLES
def test_a_prefix_on_one_side_changes_nothing_but_itself(
    old: Made, new: Made, rollouts: Rollouts, summary: Summary
) -> None:
    ids = [
        {str(r["task_name"]) for r in side.rows + side.failures if "task_name" in r and not hidden(r)}
        for side in (old, new)
    ]
    assume(ids[0] & ids[1])
    result = compared(rollouts, summary, old, new)
    prefixed = [
        [r | {"task_name": f"tb/{r['task_name']}"} if "task_name" in r else r for r in rows]
        for rows in (old.rows, old.failures)
    ]
    other = compared(rollouts, summary, Made(*prefixed), new)
    assert other["join"] == result["join"] | {"old_prefix_stripped": "tb/"}
    assert other["counts"] == result["counts"]
    assert other["tasks"] == result["tasks"]


def hidden(record: Json) -> bool:
    return "_ng_omitted_rollout" in record


@given(old=made_sides(("plain",)), new=made_sides(("plain",)))
@EXAMPLES
def test_the_field_that_names_the_task_does_not_matter(
    old: Made, new: Made, rollouts: Rollouts, summary: Summary
) -> None:
    result = compared(rollouts, summary, old, new)
    moved = [
        [
            {k: v for k, v in r.items() if k != "task_name"} | {"verifier_metadata": {"id": r["task_name"]}}
            if "task_name" in r
            else r
            for r in rows
        ]
        for rows in (new.rows, new.failures)
    ]
    other = compared(rollouts, summary, old, Made(*moved))
    assert other["join"] == result["join"] | {"new_key": "verifier_metadata.id"}
    assert other["counts"] == result["counts"]
    assert other["tasks"] == result["tasks"]


FIELDS = [
    *dict.fromkeys(name.partition(".")[0] for name in (*KEY_CANDIDATES, *FALLBACK_ID_FIELDS, TASK_INDEX)),
    "response",
    "_ng_rollout_index",
    "_ng_run_id",
    "mask_sample",
    "failure_kind",
    "error",
    "verifier_logs_dir",
    "agent_ref",
    "_ng_omitted_rollout",
    "_ng_dispatch_drained",
    "_ng_unrouted_run_error",
    "_ng_failure_class",
    "_ng_failure_message",
]
INNER = ["task_id", "taskset", "id", "instance_id", "metadata", "input", "role", "content", "type", "text"]
ANY_JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=4), st.sampled_from("ab")),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.one_of(st.sampled_from(INNER), st.text(max_size=2)), inner, max_size=4),
    ),
    max_leaves=6,
)
ANY_ROWS = st.lists(
    st.tuples(
        st.dictionaries(st.sampled_from(FIELDS), ANY_JSON, max_size=6),
        st.sampled_from([{"reward": 0}, {"reward": 1.0}, {}]),
    ).map(lambda parts: parts[0] | parts[1]),
    max_size=4,
)


@given(old=ANY_ROWS, new=ANY_ROWS, failures=ANY_ROWS, key=ANY_JSON)
@EXAMPLES
def test_any_values_end_in_a_report_or_in_one_error_line(
    old: list[Json],
    new: list[Json],
    failures: list[Json],
    key: Any,
    rollouts: Rollouts,
    run: Compare,
) -> None:
    # Half of the examples would be unreadable for lack of a key, so that a common one is put in where it lacks.
    sides = [[{"task_id": key} | row for row in rows] for rows in (old, new)]
    paths = [
        rollouts.write(f"{name}.jsonl", rows, failures=records)
        for name, rows, records in (("old", sides[0], failures), ("new", sides[1], []))
    ]
    done = run(*paths, "--json", "-")
    assert run(*paths).status == done.status
    if done.status == 0:
        for name, rows in zip(("old", "new"), sides, strict=True):
            told = [task[name]["rows"] for task in done.json["tasks"] if task[name] is not None]
            assert sum(told) == done.json["sides"][name]["rows"] >= len(rows)
    else:
        assert (done.status, done.out, done.err.count("\n")) == (1, "", 1)
        assert done.err.startswith("error: ")


def expected_class(old: list[Json], new: list[Json]) -> tuple[str, str | None]:
    """The class and winner of a task by the written rules, of exact means."""
    if not old or not new:
        return "missing", None

    def masked(row: Json) -> bool:
        reward = row.get("reward")
        return bool(row.get("mask_sample")) or reward is None or not math.isfinite(reward)

    if any(map(masked, old + new)):
        return "masked", None
    first, second = (float(sum(Fraction(r["reward"]) for r in rows) / len(rows)) for rows in (old, new))
    if abs(first - second) <= 1e-9:
        return "identical", None
    erred = any(row.get("error") for row in old + new)
    return "flipped_agent_error" if erred else "flipped", "old" if first > second else "new"


@given(old=made_sides(("no slash",)), new=made_sides(("no slash",)))
@EXAMPLES
def test_classes_are_those_of_the_written_rules(old: Made, new: Made, rollouts: Rollouts, summary: Summary) -> None:
    result = compared(rollouts, summary, Made(old.rows, []), Made(new.rows, []))
    sides = [[(str(r["task_name"]), r) for r in side.rows] for side in (old, new)]
    labels = sorted({label for side in sides for label, _ in side})
    expected = {
        label: expected_class(*([row for name, row in side if name == label] for side in sides)) for label in labels
    }
    assert {t["task"]: (t["category"], t["winner"]) for t in result["tasks"]} == expected
    assert [t["task"] for t in result["tasks"]] == labels


@given(old=made_sides(), new=made_sides())
@EXAMPLES
def test_the_library_finds_the_tasks_of_the_command_line(
    old: Made, new: Made, rollouts: Rollouts, summary: Summary
) -> None:
    result = compared(rollouts, summary, old, new)
    comparison = compare(load_side(rollouts.folder / "old.jsonl"), load_side(rollouts.folder / "new.jsonl"))
    assert len(comparison.tasks) == result["counts"]["tasks"]
