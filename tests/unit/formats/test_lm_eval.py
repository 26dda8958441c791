"""Samples of lm-evaluation-harness as rows."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from tests.unit.formats.reading import (
    fault_of,
    masked,
    notes_of,
    outputs_of,
    row_of,
    rows_of,
    task_of,
    write_json,
    write_lines,
)

TIME = "2026-11-02T10-00-00.123456"
LATER = "2026-11-03T10-00-00.000001"


def line(doc_id: Any = 0, filtered: str | None = "none", metrics: Any = None, **values: Any) -> dict[str, Any]:
    row = {
        "doc_id": doc_id,
        "doc": {"id": "other", "question": "q"},
        "target": "4",
        "arguments": {"gen_args_0": {"arg_0": "Q", "arg_1": {}}},
        "resps": [["five"]],
        "filtered_resps": ["5"],
    }
    values = values or {"acc": 1.0}
    row |= {} if filtered is None else {"filter": filtered}
    row |= {"metrics": list(values) if metrics is None else metrics} if metrics != [] else {}
    return row | {"doc_hash": "d", "prompt_hash": f"p{doc_id}", "target_hash": "t"} | values


def samples(folder: Path, rows: list[Any], task: str = "demo", time: str = TIME) -> Path:
    return write_lines(folder / f"samples_{task}_{time}.jsonl", rows)


def results(folder: Path, time: str = TIME, **changed: Any) -> Path:
    return write_json(folder / f"results_{time}.json", {"results": {}, "model_name": "made/up"} | changed)


def test_a_document_says_all_of_this(tmp_path: Path) -> None:
    path = samples(tmp_path, [line(3)])
    results(tmp_path)
    for given in (path, tmp_path):
        assert row_of(given) == {
            "_ng_task_id": {"taskset": "demo", "task_id": 3},
            "reward": 1.0,
            "response": {"model": "made/up"},
            "responses_create_params": {"input": "p3"},
        }


@pytest.mark.parametrize(
    ("name", "taskset"),
    [
        (f"samples_demo_{TIME}.jsonl", "demo"),
        (f"samples_a_b_{LATER}_{TIME}.jsonl", f"a_b_{LATER}"),
        (f"samples_demo_{TIME[:-7]}.jsonl", "demo"),
        ("renamed.jsonl", None),
        ("samples_demo.jsonl", None),
    ],
)
def test_the_taskset_is_the_task_in_the_name_of_the_file(tmp_path: Path, name: str, taskset: str | None) -> None:
    assert task_of(row_of(write_lines(tmp_path / name, [line()]))) == (taskset, 0)


def test_two_filters_are_two_rows_a_document_of_which_one_counts(tmp_path: Path) -> None:
    strict = [line(each, "strict", exact_match=each % 2) for each in range(4)]
    flexible = [line(each, "flexible", exact_match=1.0) for each in range(4)]
    path = samples(tmp_path, strict + flexible)
    assert [(task_of(row)[1], row["reward"]) for row in rows_of(path)] == [(0, 0.0), (1, 1.0), (2, 0.0), (3, 1.0)]
    assert [row["reward"] for row in rows_of(path, reward="exact_match,flexible")] == [1.0] * 4
    [note] = notes_of(path)
    assert "exact_match" in note
    assert "strict" in note
    assert "--reward" in note


def test_without_the_name_of_a_filter_the_first_row_of_a_document_counts(tmp_path: Path) -> None:
    first = [line(each, None, exact_match=0.0) for each in range(3)]
    second = [line(each, None, exact_match=1.0) for each in range(3)]
    assert [row["reward"] for row in rows_of(samples(tmp_path, first + second))] == [0.0] * 3


def test_a_list_is_no_score_though_it_may_come_first(tmp_path: Path) -> None:
    path = samples(tmp_path, [line(f1=[0, 1], acc=0.5, acc_norm=1.0), line(1, f1=[1, 1], acc=None, acc_norm=1.0)])
    first, second = rows_of(path)
    assert first["reward"] == 0.5
    assert masked(second)[:2] == (True, "no_number")


@pytest.mark.parametrize(("asked", "rewards"), [("acc_norm", [1.0]), ("acc", [0.5]), ("acc_norm,none", [1.0])])
def test_another_metric_by_its_name(tmp_path: Path, asked: str, rewards: list[float]) -> None:
    path = samples(tmp_path, [line(acc=0.5, acc_norm=1.0)])
    assert [row["reward"] for row in rows_of(path, reward=asked)] == rewards


def test_a_metric_that_is_not_there_masks_and_offers_the_others(tmp_path: Path) -> None:
    is_masked, kind, reason = masked(row_of(samples(tmp_path, [line(acc=0.5, acc_norm=1.0)]), reward="f1"))
    assert (is_masked, kind) == (True, "no_number")
    assert "acc, acc_norm" in reason


def test_a_filter_that_no_file_has_is_an_error(tmp_path: Path) -> None:
    samples(tmp_path, [line()])
    assert "acc,strict" in fault_of(tmp_path, reward="acc,strict").what


def test_a_file_without_the_filter_is_left_out_with_a_note(tmp_path: Path) -> None:
    samples(tmp_path, [line(0, "strict", acc=1.0)], "one")
    path = samples(tmp_path, [line(0, "none", acc=1.0)], "two")
    assert [task_of(row)[0] for row in rows_of(tmp_path, reward="acc,strict")] == ["one"]
    assert any(str(path) in note for note in notes_of(tmp_path, reward="acc,strict"))


def test_older_rows_do_not_name_their_metrics(tmp_path: Path) -> None:
    assert row_of(samples(tmp_path, [line(metrics=[], bleu="x", acc=0.25)]))["reward"] == 0.25


@pytest.mark.parametrize("value", [True, False, 1, 0.5])
def test_a_metric_may_be_a_truth_value(tmp_path: Path, value: Any) -> None:
    assert row_of(samples(tmp_path, [line(acc=value)]))["reward"] == float(value)


def test_nan_is_passed_on(tmp_path: Path) -> None:
    first, second = rows_of(samples(tmp_path, [line(acc=1.0), line(1, acc=float("nan"))]))
    assert (first["reward"], math.isnan(second["reward"]), masked(second)[0]) == (1.0, True, False)


@pytest.mark.parametrize(("better", "sign"), [(True, 1), (None, 1), (False, -1)])
def test_where_lower_is_better_the_reward_has_a_minus_and_a_note_says_so(
    tmp_path: Path, better: bool | None, sign: int
) -> None:
    path = samples(tmp_path, [line(word_perplexity=12.5)])
    results(tmp_path, higher_is_better={"demo": {"word_perplexity": better}, "other": {"word_perplexity": False}})
    assert row_of(path)["reward"] == sign * 12.5
    assert any("minus" in note for note in notes_of(path)) is (sign < 0)


def test_of_a_task_that_was_run_twice_the_newest_counts_with_its_own_results(tmp_path: Path) -> None:
    older = samples(tmp_path, [line(acc=0.0)], time=TIME)
    samples(tmp_path, [line(acc=1.0)], time=LATER)
    samples(tmp_path, [line(acc=0.5)], "other", TIME)
    results(tmp_path, TIME)
    results(tmp_path, LATER)
    assert {task_of(row)[0]: row["reward"] for row in rows_of(tmp_path)} == {"demo": 1.0, "other": 0.5}
    assert any(str(older) in note for note in notes_of(tmp_path))


def test_without_results_of_its_time_the_newest_ones_name_the_model(tmp_path: Path) -> None:
    path = samples(tmp_path, [line()])
    results(tmp_path, "2026-11-01T00-00-00.000000", model_name="made/older")
    results(tmp_path, LATER, model_name="made/newest")
    assert row_of(path)["response"] == {"model": "made/newest"}


def test_several_models_are_named_by_their_folders(tmp_path: Path) -> None:
    for model in ("made__one", "made__two"):
        samples(tmp_path / model, [line()])
    assert "made__one, made__two" in fault_of(tmp_path).what
    assert len(rows_of(tmp_path / "made__one")) == 1


def test_several_models_in_one_folder_are_named(tmp_path: Path) -> None:
    samples(tmp_path, [line()], "one", TIME)
    samples(tmp_path, [line()], "two", LATER)
    results(tmp_path, TIME, model_name="made/one")
    results(tmp_path, LATER, model_name="made/two")
    assert "made/one, made/two" in fault_of(tmp_path).what


def test_a_long_context_stands_before_what_counts(tmp_path: Path) -> None:
    long = line()
    text = json.dumps({"doc_id": 0, "doc": {"text": "x" * 200_000}} | long).replace(
        '"question": "q"', '"q": "' + "y" * 200_000 + '"'
    )
    path = tmp_path / "renamed.jsonl"
    path.write_text(text + "\n" + json.dumps(line(1)) + "\n", encoding="utf-8")
    assert [row["reward"] for row in rows_of(path)] == [1.0, 1.0]


def test_output_is_target_and_answer(tmp_path: Path) -> None:
    path = samples(tmp_path, [line(), line(1) | {"target": 2, "filtered_resps": ["a", "b"]}])
    assert outputs_of(path) == ["target: 4\nanswer: 5", 'target: 2\nanswer: ["a","b"]']


@pytest.mark.parametrize("text", ["\ufeff{0}\r\n{1}\r\n", "\n{0}\n\n{1}", "{0}\n{1}\n \n"])
def test_lines_may_end_and_begin_as_they_like(tmp_path: Path, text: str) -> None:
    path = tmp_path / f"samples_demo_{TIME}.jsonl"
    path.write_bytes(text.format(json.dumps(line()), json.dumps(line(1))).encode())
    assert len(rows_of(path)) == 2


@pytest.mark.parametrize(
    ("row", "said"),
    [('{"doc_id": 1, "doc', "cut short"), ("[]", "not a JSON object"), ('{"filter": "none"}', "doc_id")],
)
def test_a_broken_row_is_named_by_its_line(tmp_path: Path, row: str, said: str) -> None:
    path = samples(tmp_path, [line()])
    path.write_text(path.read_text(encoding="utf-8") + row + "\n", encoding="utf-8")
    fault = fault_of(path)
    assert (fault.path, fault.line) == (str(path), 2)
    assert said in fault.what


@pytest.mark.parametrize("content", ["", "[]", "{"])
def test_results_that_are_broken_are_named(tmp_path: Path, content: str) -> None:
    samples(tmp_path, [line()])
    path = write_json(tmp_path / f"results_{TIME}.json", content)
    assert fault_of(tmp_path).path == str(path)


@pytest.mark.parametrize("metric", ['a"b', "a\\b", "a\nb", "filter", "doc_id", "ä,ö"])
def test_a_metric_may_have_an_odd_name(tmp_path: Path, metric: str) -> None:
    row = line(metrics=[metric, "acc"], acc=0.5) | ({} if metric in ("filter", "doc_id") else {metric: 1.0})
    found = rows_of(samples(tmp_path, [row]))
    assert len(found) == 1
