"""Logs of Inspect as rows."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import pytest

from tests.unit.formats.reading import (
    DEFLATE,
    ZSTANDARD,
    fault_of,
    masked,
    notes_of,
    outputs_of,
    row_of,
    rows_of,
    task_of,
    write_json,
    write_zip,
)

LOG = "2026-11-02T10-00-00_demo_abc.eval"


def evaluation(**changed: Any) -> dict[str, Any]:
    return {
        "eval_id": "e1",
        "run_id": "r1",
        "created": "2026-11-02T10:00:00+00:00",
        "task": "demo",
        "task_id": "t1",
        "model": "made/up",
        "scorers": [{"name": "verify"}],
    } | changed


def header(results: Any = None, *, invalidated: bool = False, **changed: Any) -> dict[str, Any]:
    return {
        "version": 2,
        "status": "success",
        "eval": evaluation(**changed),
        "plan": {},
        "results": results,
        "stats": {},
        "invalidated": invalidated,
    }


def scored(value: Any, **more: Any) -> dict[str, Any]:
    return {"value": value, "answer": "a", "explanation": "because"} | more


def sample(name: Any = "s1", epoch: int = 1, scores: Any = None, **changed: Any) -> dict[str, Any]:
    return {
        "id": name,
        "epoch": epoch,
        "input": "Please do it.",
        "target": "ok",
        "scores": {"verify": scored("C")} if scores is None else scores,
        "model_usage": {
            "made/up": {
                "input_tokens": 700,
                "input_tokens_cache_read": 200,
                "input_tokens_cache_write": 50,
                "output_tokens": 120,
            },
            "made/grader": {"input_tokens": 10, "output_tokens": 5},
        },
        "total_time": 41.0,
        "working_time": 40.0,
        "uuid": "u1",
    } | changed


def log(
    path: Path,
    samples: list[dict[str, Any]],
    results: Any = None,
    *,
    whole: list[dict[str, Any]] | None = None,
    method: int = ZSTANDARD,
    **changed: Any,
) -> Path:
    """A finished log; `whole` are its samples as members, `changed` is what is different about the evaluation."""
    members: dict[str, Any] = {"_journal/start.json": {"version": 2, "eval": evaluation(**changed), "plan": {}}}
    members |= {f"samples/{each['id']}_epoch_{each['epoch']}.json": each for each in whole or ()}
    members |= {"summaries.json": samples, "header.json": header(results, **changed)}
    return write_zip(path / LOG if path.is_dir() else path, members, method)


def headline(scorer: Any = "verify", score: Any = None) -> dict[str, Any]:
    return {"scores": [], "headline": {"scorer": scorer, "score": scorer if score is None else score}}


@pytest.mark.parametrize("method", [DEFLATE, ZSTANDARD])
def test_a_sample_says_all_of_this(tmp_path: Path, method: int) -> None:
    path = log(tmp_path, [sample(epoch=2)], headline(), method=method, solver="react")
    wanted = {
        "_ng_task_id": {"taskset": "demo", "task_id": "s1"},
        "_ng_rollout_index": 1,
        "_ng_rollout_id": "u1",
        "reward": 1.0,
        "response": {"model": "made/up", "usage": {"input_tokens": 960, "output_tokens": 125}},
        "agent_ref": {"name": "react"},
        "agent_run_time": 40.0,
        "responses_create_params": {"input": "Please do it."},
    }
    # What it said besides is read when it is shown.
    assert {name: value for name, value in row_of(path).items() if name != "verifier_output"} == wanted
    assert "verifier_output" not in row_of(path)


def test_a_document_says_the_same_as_a_zip(tmp_path: Path) -> None:
    samples = [sample(), sample("s2", scores={"verify": scored("I")}), sample(17, error={"message": "gone"})]
    zipped = log(tmp_path, samples, headline())
    text = write_json(tmp_path / "log.json", header(headline()) | {"samples": samples})
    assert rows_of(text) == rows_of(zipped)


@pytest.mark.parametrize(
    ("value", "reward"),
    [
        ("C", 1.0),
        ("P", 0.5),
        ("I", 0.0),
        ("N", 0.0),
        ("YES", 1.0),
        ("true", 1.0),
        ("No", 0.0),
        ("FALSE", 0.0),
        ("0.25", 0.25),
        (" -3 ", -3.0),
        (True, 1.0),
        (False, 0.0),
        (7, 7.0),
        ("c", None),
        ("correct", None),
        ("nan", None),
        ("1e999", None),
        ([1, 0], None),
    ],
)
def test_a_value_counts_as_inspects_own_value_to_float_takes_it(tmp_path: Path, value: Any, reward: Any) -> None:
    row = row_of(log(tmp_path, [sample(scores={"verify": scored(value)})], headline()))
    assert row["reward"] == reward
    assert masked(row)[:2] == ((True, "score_is_no_number") if reward is None else (False, None))


def test_nan_is_passed_on_and_the_rest_of_the_log_is_read(tmp_path: Path) -> None:
    samples = [sample("s1", scores={"verify": scored(float("nan"))}), sample("s2")]
    first, second = rows_of(log(tmp_path, samples, headline()))
    assert math.isnan(first["reward"])
    assert (second["reward"], task_of(second)) == (1.0, ("demo", "s2"))


TWO = {"verify": scored("C"), "length": scored(0.25)}


@pytest.mark.parametrize(
    ("results", "scorers", "scores", "reward"),
    [
        (headline("length"), None, TWO, 0.25),
        (headline("missing", "length"), None, TWO, 0.25),
        ({"scores": [{"scorer": "length", "name": "length"}]}, None, TWO, 0.25),
        ({"scores": [{"scorer": None, "name": "length"}]}, None, TWO, 0.25),
        (None, [{"name": "length"}, {"name": "verify"}], TWO, 0.25),
        (None, None, TWO, 1.0),
        (None, [], TWO, 1.0),
        (headline("match1"), None, {"match": scored("I"), "match1": scored("C")}, 1.0),
        (headline("verify", "part"), None, {"verify": scored({"part": 0.5, "other": 1})}, 0.5),
        (headline(), None, {"verify": scored({"only": 0.5})}, 0.5),
        (None, [{"name": "package/verify"}], {"verify": scored("P")}, 0.5),
    ],
)
def test_the_score_is_the_headline_else_the_first(
    tmp_path: Path, results: Any, scorers: Any, scores: dict[str, Any], reward: float
) -> None:
    assert row_of(log(tmp_path, [sample(scores=scores)], results, scorers=scorers))["reward"] == reward


@pytest.mark.parametrize(
    ("asked", "reward"),
    [
        ("length", 0.25),
        ("verify", 1.0),
        ("parts.a", 0.75),
        ("parts.b", 0.5),
        ("dotted.name", 0.125),
        ("dotted.name.x", None),
        ("parts.c", None),
        ("missing", None),
    ],
)
def test_another_score_by_its_name_and_key(tmp_path: Path, asked: str, reward: float | None) -> None:
    scores = TWO | {"parts": scored({"a": 0.75, "b": 0.5}), "dotted.name": scored(0.125)}
    row = row_of(log(tmp_path, [sample(scores=scores)], headline()), reward=asked)
    if asked == "dotted.name.x":
        # Its value is not an object, so there is nothing that a key could choose from.
        assert row["reward"] == 0.125
    else:
        assert row["reward"] == reward


def test_an_object_of_several_values_is_no_number_and_offers_its_keys(tmp_path: Path) -> None:
    row = row_of(log(tmp_path, [sample(scores={"verify": scored({"a": 1, "b": 0})})], headline()))
    is_masked, kind, reason = masked(row)
    assert (is_masked, kind) == (True, "score_is_no_number")
    assert "a, b" in reason


def test_two_scores_are_a_choice_that_is_told(tmp_path: Path) -> None:
    [note] = notes_of(log(tmp_path, [sample(scores=TWO), sample("s2", scores=TWO)], headline("length")))
    assert "length" in note
    assert "verify" in note
    assert "--reward" in note


def test_a_single_score_is_no_choice(tmp_path: Path) -> None:
    assert notes_of(log(tmp_path, [sample()], headline())) == []


@pytest.mark.parametrize("error", ["gone", {"message": "gone", "traceback": "..."}])
def test_an_error_masks_without_a_score_and_is_the_agents_with_one(tmp_path: Path, error: Any) -> None:
    without, with_one = rows_of(log(tmp_path, [sample(scores={}, error=error), sample("s2", error=error)], headline()))
    assert masked(without) == (True, "error", "gone")
    assert "error" not in without
    assert (with_one["error"], with_one["reward"], masked(with_one)[0]) == ("gone", 1.0, False)


@pytest.mark.parametrize("limit", ["token", {"type": "token", "limit": 100, "reason": "too many"}])
def test_a_limit_beside_a_score_is_measured(tmp_path: Path, limit: Any) -> None:
    row = row_of(log(tmp_path, [sample(limit=limit)], headline()))
    assert (row["reward"], masked(row)[:2]) == (1.0, (False, "limit: token"))


def test_a_sample_without_a_score_is_masked(tmp_path: Path) -> None:
    path = log(tmp_path, [sample(scores={}), sample("s2", scores={"verify": None}), sample("s3")], headline())
    assert [masked(row)[:2] for row in rows_of(path)] == [(True, "no_score"), (True, "no_score"), (False, None)]


def test_a_log_that_was_never_scored_says_so(tmp_path: Path) -> None:
    path = log(tmp_path, [sample(scores={}), sample("s2", scores={})], {"scores": []})
    assert [masked(row)[:2] for row in rows_of(path)] == [(True, "no_score")] * 2
    [note] = notes_of(path)
    assert "never scored" in note


def test_a_log_that_ended_in_an_error_keeps_the_scores_before_it(tmp_path: Path) -> None:
    assert row_of(log(tmp_path, [sample()], None))["reward"] == 1.0


def test_invalidated_samples_are_masked_though_summaries_do_not_say_which(tmp_path: Path) -> None:
    whole = [sample("s1", invalidation={"author": "someone", "reason": "wrong data"}), sample("s2", invalidation=None)]
    zipped = log(tmp_path, [sample("s1"), sample("s2")], headline(), whole=whole, invalidated=True)
    text = write_json(tmp_path / "log.json", header(headline()) | {"samples": whole})
    for path in (zipped, text):
        assert [masked(row) for row in rows_of(path)] == [(True, "invalidated", "wrong data"), (False, None, None)]


def test_output_is_the_explanation_as_the_sample_has_it(tmp_path: Path) -> None:
    long = "line one\nline two\n" + "x" * 3000
    short = sample(scores={"verify": scored("I", explanation="line one line two")})
    whole = sample(scores={"verify": scored("I", explanation=long)})
    assert outputs_of(log(tmp_path, [short], headline(), whole=[whole])) == [long]
    assert outputs_of(log(tmp_path, [short], headline())) == ["line one line two"]


def test_output_without_an_explanation_is_answer_and_target(tmp_path: Path) -> None:
    plain = sample(scores={"verify": {"value": "I", "answer": "5"}}, target=["4", "four"])
    assert outputs_of(log(tmp_path, [plain], headline())) == ['answer: 5\ntarget: ["4","four"]']


@pytest.mark.parametrize("name", ["../../etc/passwd", "a/b c", "..", "/abs", "x\\y", "ä", "new\nline", "a" * 300])
def test_an_id_may_hold_anything_and_is_never_a_path(tmp_path: Path, name: str) -> None:
    whole = sample(name, scores={"verify": scored("I", explanation="whole\ntext")})
    path = log(tmp_path, [sample(name, scores={"verify": scored("I")})], headline(), whole=[whole])
    assert task_of(row_of(path)) == ("demo", name)
    assert outputs_of(path) == ["whole\ntext"]
    assert sorted(tmp_path.iterdir()) == [path]


def test_a_number_and_the_same_as_text_are_two_samples(tmp_path: Path) -> None:
    path = log(tmp_path, [sample(17), sample("17")], headline())
    assert [task_of(row)[1] for row in rows_of(path)] == [17, "17"]


def test_of_equal_samples_in_a_log_the_last_counts(tmp_path: Path) -> None:
    first, last = sample(scores={"verify": scored("I")}), sample(scores={"verify": scored("C")})
    path = log(tmp_path, [first, sample("s2"), sample(epoch=2), last], headline())
    assert [(task_of(row)[1], row["_ng_rollout_index"], row["reward"]) for row in rows_of(path)] == [
        ("s2", 0, 1.0),
        ("s1", 1, 1.0),
        ("s1", 0, 1.0),
    ]


def test_of_a_log_and_its_retry_the_newest_sample_stands(tmp_path: Path) -> None:
    failed = [sample("s1"), sample("s2", scores={}, error="gone"), sample("s3", scores={"verify": scored("I")})]
    again = [sample("s2"), sample("s3", scores={"verify": scored("P")})]
    # Neither the names nor the order of files tell which is newer.
    log(tmp_path / "z.eval", failed, None, created="2026-11-02T10:00:00+00:00")
    log(tmp_path / "a.eval", again, headline(), created="2026-11-02T11:00:00+00:00")
    rows = rows_of(tmp_path)
    assert sorted((task_of(row)[1], row["reward"]) for row in rows) == [("s1", 1.0), ("s2", 1.0), ("s3", 0.5)]
    assert any("1 retry" in note for note in notes_of(tmp_path))


def test_logs_of_one_task_that_are_no_retries_are_repeats(tmp_path: Path) -> None:
    log(tmp_path / "a.eval", [sample()], headline(), task_id="t1")
    log(tmp_path / "b.eval", [sample()], headline(), task_id="t2")
    assert len(rows_of(tmp_path)) == 2
    assert any("2 logs" in note for note in notes_of(tmp_path))


def test_several_models_of_a_task_are_told_apart(tmp_path: Path) -> None:
    log(tmp_path / "a.eval", [sample()], headline(), task_id="t1", model="made/one", solver="react")
    log(tmp_path / "b.eval", [sample()], headline(), task_id="t2", model="made/two")
    log(tmp_path / "c.eval", [sample()], headline(), task_id="t3", model="made/one", task="other", solver="react")
    agents = {(task_of(row)[0], row.get("agent_ref", {}).get("name")) for row in rows_of(tmp_path)}
    assert agents == {("demo", "react (made/one)"), ("demo", "made/two"), ("other", "react")}


def test_a_running_log_is_read_from_its_journal_in_the_order_of_numbers(tmp_path: Path) -> None:
    members: dict[str, Any] = {"_journal/start.json": {"version": 2, "eval": evaluation(), "plan": {}}}
    members |= {f"_journal/summaries/{number}.json": [sample(f"s{number}")] for number in (10, 9, 1)}
    members |= {"_journal/summaries/notes.json": [sample("no")]}
    rows = rows_of(write_zip(tmp_path / LOG, members))
    assert [task_of(row)[1] for row in rows] == ["s1", "s9", "s10"]


def test_a_later_batch_of_the_journal_supersedes_an_earlier_one(tmp_path: Path) -> None:
    members: dict[str, Any] = {"_journal/start.json": {"version": 2, "eval": evaluation(), "plan": {}}}
    members["_journal/summaries/10.json"] = [sample(scores={"verify": scored("C")})]
    members["_journal/summaries/9.json"] = [sample(scores={"verify": scored("I")})]
    assert row_of(write_zip(tmp_path / LOG, members))["reward"] == 1.0


def test_a_killed_log_without_a_journal_is_read_from_its_samples(tmp_path: Path) -> None:
    members: dict[str, Any] = {f"samples/{name}_epoch_1.json": sample(name) for name in ("with/slash", "s2")}
    members["samples/s3_epoch_1/part.json"] = {"id": "s3"}
    members["_journal/start.json"] = {"version": 2, "eval": evaluation(), "plan": {}}
    assert [task_of(row)[1] for row in rows_of(write_zip(tmp_path / LOG, members))] == ["with/slash", "s2"]


def test_a_log_may_begin_with_megabytes_of_samples(tmp_path: Path) -> None:
    whole = sample(messages=[os.urandom(1_000_000).hex()])
    members = {"samples/s1_epoch_1.json": whole, "summaries.json": [sample()], "header.json": header(headline())}
    path = write_zip(tmp_path / "no-ending", members)
    assert row_of(path)["reward"] == 1.0


def test_documents_beside_logs_that_are_none_are_passed_over(tmp_path: Path) -> None:
    log(tmp_path, [sample()], headline())
    write_json(tmp_path / "logs.json", {LOG: {"status": "success", "eval": evaluation()}})
    write_json(tmp_path / "eval-set.json", {"eval_set_id": "x", "tasks": []})
    write_json(tmp_path / ".hidden.json", header(headline()) | {"samples": [sample("hidden")]})
    write_json(tmp_path / "notes.txt", "notes")
    assert len(rows_of(tmp_path)) == 1


def test_older_logs_lack_much(tmp_path: Path) -> None:
    bare = {
        "id": 1,
        "epoch": 1,
        "input": [{"role": "user", "content": "hi"}],
        "target": "x",
        "scores": {"m": {"value": "C"}},
    }
    path = write_json(
        tmp_path / "old.json",
        {
            "version": 1,
            "status": "success",
            "eval": {"task": "demo", "created": "2024-01-01T00:00:00"},
            "samples": [bare],
        },
    )
    assert row_of(path) == {
        "_ng_task_id": {"taskset": "demo", "task_id": 1},
        "_ng_rollout_index": 0,
        "reward": 1.0,
        "responses_create_params": {"input": [{"role": "user", "content": "hi"}]},
    }


def test_prompts_are_cut_so_that_a_summary_and_its_sample_agree(tmp_path: Path) -> None:
    text = "x" * 6000
    parts = [{"type": "text", "text": text}, {"type": "image", "image": "data:..."}]
    whole = [sample("s1", input=text), sample("s2", input=[{"role": "user", "content": parts}])]
    cut = text[:5115] + "..."
    shown = [{"type": "text", "text": cut}, {"type": "text", "text": "(Image)"}]
    short = [sample("s1", input=cut), sample("s2", input=[{"role": "user", "content": shown}])]
    zipped = log(tmp_path, short, headline())
    text_log = write_json(tmp_path / "log.json", header(headline()) | {"samples": whole})
    prompts = [[row["responses_create_params"] for row in rows_of(path)] for path in (zipped, text_log)]
    assert prompts[0] == prompts[1]


def test_a_sample_without_an_id_names_the_log(tmp_path: Path) -> None:
    path = log(tmp_path, [sample(None)], headline())
    fault = fault_of(path)
    assert fault.path == str(path)
    assert "id" in fault.what


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut", b"\x00\x01\x02"])
def test_a_log_that_is_no_zip_is_unreadable(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / LOG
    path.write_bytes(content)
    for given in (path, tmp_path):
        assert fault_of(given).path == str(path)


@pytest.mark.parametrize("cut", [0.2, 0.5, 0.9, 0.99])
def test_a_log_cut_short_is_unreadable(tmp_path: Path, cut: float) -> None:
    path = log(tmp_path, [sample(f"s{number}") for number in range(50)], headline())
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * cut)])
    assert "zip" in fault_of(path).what


@pytest.mark.parametrize("member", ["header.json", "summaries.json"])
@pytest.mark.parametrize("content", ["", "{", "[{", "7", "nonsense"])
def test_a_broken_member_is_named(tmp_path: Path, member: str, content: str) -> None:
    members: dict[str, Any] = {"summaries.json": [sample()], "header.json": header(headline())}
    path = write_zip(tmp_path / LOG, members | {member: content})
    if (member, content) == ("summaries.json", "7"):
        assert rows_of(path) == []
    else:
        fault = fault_of(path)
        assert (fault.path, member in fault.what or content == "7") == (str(path), True)


def test_a_zip_without_a_header_is_no_log(tmp_path: Path) -> None:
    path = write_zip(tmp_path / LOG, {"summaries.json": [sample()]})
    assert "header.json" in fault_of(path).what


def test_a_log_with_more_samples_than_an_artifact_may_have_files_is_read(tmp_path: Path) -> None:
    number = 10_500
    members: dict[str, Any] = {f"samples/{each}_epoch_1.json": "{}" for each in range(number)}
    members |= {"summaries.json": [{"id": each, "epoch": 1} for each in range(number)], "header.json": header()}
    assert len(rows_of(write_zip(tmp_path / LOG, members, DEFLATE))) == number
