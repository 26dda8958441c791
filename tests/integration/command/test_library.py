"""The library: loading sides, comparing them, and the one error for input that cannot be read."""

from __future__ import annotations

import importlib.resources
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

import rollout_compare
from rollout_compare import CompareInputError, compare, load_side
from tests.conftest import Rollouts, Sides, Summary
from tests.rules import COUNTS, JOIN


def value(holder: Any, name: str) -> Any:
    """A value by its name, from an object or a mapping."""
    return holder[name] if isinstance(holder, Mapping) else getattr(holder, name)


def values(holder: Any, names: Iterable[str]) -> dict[str, Any]:
    return {name: value(holder, name) for name in names}


@pytest.fixture
def sides(rollouts: Rollouts) -> Sides:
    old = {"d": 1.0, "b": 1.0, "c": 0.0, "a": 0.5, "e": None, "only-old": 1.0}
    new = {"c": 1.0, "b": 0.0, "d": 0.0, "a": 0.5, "e": 1.0}
    return (
        rollouts.write("old.jsonl", [{"task_id": task, "reward": reward} for task, reward in old.items()]),
        rollouts.write("new.jsonl", [{"task_id": task, "reward": reward} for task, reward in new.items()]),
    )


def test_the_package_gives_its_names_and_its_types() -> None:
    assert {"compare", "load_side", "CompareInputError"} <= set(rollout_compare.__all__)
    assert (importlib.resources.files(rollout_compare) / "py.typed").is_file()
    assert issubclass(CompareInputError, Exception)


def test_a_comparison_has_counts_and_tasks_in_order(sides: Sides) -> None:
    comparison = compare(load_side(sides[0]), load_side(sides[1]))
    expected = {"tasks": 6, "identical": 1, "flipped": 3, "flipped_old_win": 2, "flipped_new_win": 1}
    expected |= {"flipped_agent_error": 0, "masked": 1, "masked_old": 1, "masked_new": 0}
    expected |= {"missing": 1, "missing_old_only": 1, "missing_new_only": 0}
    assert values(comparison.counts, COUNTS) == expected
    assert len(comparison.tasks) == 6
    tasks = [(value(task, "task"), value(task, "category"), value(task, "winner")) for task in comparison.tasks]
    assert tasks == [
        ("a", "identical", None),
        ("b", "flipped", "old"),
        ("c", "flipped", "new"),
        ("d", "flipped", "old"),
        ("e", "masked", None),
        ("only-old", "missing", None),
    ]


def test_tasks_are_a_sequence(sides: Sides) -> None:
    tasks = compare(load_side(sides[0]), load_side(sides[1])).tasks
    assert value(tasks[1], "task") == "b"
    assert value(tasks[-1], "task") == "only-old"
    with pytest.raises(IndexError):
        tasks[6]
    assert [value(task, "task") for task in tasks] == [value(task, "task") for task in tasks]


def test_the_library_and_the_command_line_say_the_same(rollouts: Rollouts, summary: Summary) -> None:
    rows = [{"instance_id": f"t{n}", "reward": n % 2, "error": "x" if n == 3 else ""} for n in range(6)]
    old = rollouts.write("old.jsonl", rows, failures=[{"instance_id": "t1", "_ng_failure_class": "oom"}])
    new = rollouts.write("new.jsonl", [{**row, "reward": 0} for row in rows[1:]])
    comparison, printed = compare(load_side(old), load_side(new)), summary(old, new)
    assert values(comparison.counts, COUNTS) == printed["counts"]
    optional = {"keyed_by_agent", "keyed_by_model"}
    assert values(comparison.join, [name for name in JOIN if name not in optional]) == printed["join"]
    assert list(comparison.notes) == printed["notes"]
    assert printed["notes"]
    codes = [value(warning, "code") for warning in comparison.warnings]
    assert codes == [warning["code"] for warning in printed["warnings"]]
    assert [value(task, "task") for task in comparison.tasks] == [task["task"] for task in printed["tasks"]]
    rewards = [value(value(task, "old"), "reward") for task in comparison.tasks if value(task, "old")]
    assert rewards == [task["old"]["reward"] for task in printed["tasks"] if task["old"]]


@pytest.mark.parametrize(
    "given",
    [str, Path, lambda path: [path], lambda path: [str(path)]],
    ids=["text", "path", "list of paths", "list of texts"],
)
def test_a_side_is_a_path_or_a_list_of_paths(sides: Sides, given: Callable[[Path], Any]) -> None:
    comparison = compare(load_side(given(sides[0])), load_side(given(sides[1])))
    assert values(comparison.counts, COUNTS)["flipped"] == 3


def test_shards_are_one_side(rollouts: Rollouts, sides: Sides, summary: Summary) -> None:
    first = rollouts.write("part-0.jsonl", [{"task_id": "b", "reward": 0.0}])
    failures = [{"task_id": "d", "_ng_failure_class": "oom"}]
    second = rollouts.write("part-1.jsonl", [{"task_id": "c", "reward": 1.0}], failures=failures)
    comparison = compare(load_side(sides[0]), load_side([second, first]))
    counts = values(comparison.counts, COUNTS)
    assert (counts["flipped_old_win"], counts["flipped_new_win"], counts["masked_new"]) == (1, 1, 1)
    assert counts == summary("--old", sides[0], "--new", first, "--new", second)["counts"]


def test_a_folder_is_a_side(rollouts: Rollouts) -> None:
    rollouts.write("run/rollouts.jsonl", [{"task_id": "t", "reward": 1.0}])
    side = load_side(rollouts.folder / "run")
    assert values(compare(side, side).counts, COUNTS)["identical"] == 1


def test_sides_can_be_compared_again_and_the_other_way(sides: Sides) -> None:
    old, new = load_side(sides[0]), load_side(sides[1])
    first = values(compare(old, new).counts, COUNTS)
    turned = values(compare(new, old).counts, COUNTS)
    assert values(compare(old, new).counts, COUNTS) == first
    assert (turned["flipped_old_win"], turned["flipped_new_win"]) == (1, 2)
    assert (turned["masked_old"], turned["masked_new"]) == (0, 1)
    assert (turned["missing_old_only"], turned["missing_new_only"]) == (0, 1)
    assert values(compare(old, old).counts, COUNTS)["flipped"] == 0


def test_nothing_is_printed(sides: Sides, capfd: pytest.CaptureFixture[str]) -> None:
    compare(load_side(sides[0]), load_side(sides[1]))
    assert capfd.readouterr() == ("", "")


def test_a_missing_file_is_an_input_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(CompareInputError) as caught:
        load_side(tmp_path / "missing.jsonl")
    assert os.fspath(tmp_path / "missing.jsonl") in str(caught.value)


@pytest.mark.parametrize(
    "line", [b"no JSON", b"[1]", b'{"task_id": "t2", "reward": true}', b'{"task_id": "t2", "reward": "1"}']
)
@pytest.mark.parametrize("sidecar", [False, True], ids=["main file", "sidecar"])
def test_a_bad_line_is_an_input_error_with_its_place(rollouts: Rollouts, line: bytes, sidecar: bool) -> None:
    good: dict[str, Any] = {"task_id": "t", "reward": 1.0}
    lines: list[Any] = [good, b"", line, good]
    path = rollouts.write("side.jsonl", [good] if sidecar else lines, failures=lines if sidecar else None)
    bad = path.with_name("side_failures.jsonl") if sidecar else path
    with pytest.raises(CompareInputError, match=rf"{bad.name}:3: "):
        load_side(path)


def test_no_rows_at_all_is_an_input_error(rollouts: Rollouts) -> None:
    path = rollouts.write("empty.jsonl", [])
    with pytest.raises(CompareInputError, match="no rows in either input"):
        compare(load_side(path), load_side(path))


def test_rows_without_any_id_are_an_input_error(rollouts: Rollouts) -> None:
    path = rollouts.write("side.jsonl", [{"reward": 1.0}])
    with pytest.raises(CompareInputError, match="no task id field found"):
        compare(load_side(path), load_side(path))


def test_the_error_and_the_command_line_say_the_same(rollouts: Rollouts, run: Callable[..., Any]) -> None:
    path = rollouts.write("side.jsonl", [{"task_id": "t", "reward": "much"}])
    with pytest.raises(CompareInputError) as caught:
        load_side(path)
    assert run(path, path).err == f"error: {caught.value}\n"
