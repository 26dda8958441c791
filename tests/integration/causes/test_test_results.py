"""Which tests changed: what each source of results says, which of them counts, and what is no source."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

from tests.conftest import Compare, Json, Summary
from tests.integration.causes.conftest import Flip, Pair, ctrf, graded, listed, names

MIB = 1 << 20
NUMBERS = ("old_passed", "old_total", "new_passed", "new_total")


def numbers(tests: Json) -> list[float]:
    return [tests[name] for name in NUMBERS]


# One source at a time

JUNIT = '<testsuites><testsuite name="all">{}</testsuite></testsuites>'
OLD_JUNIT = JUNIT.format('<testcase classname="A" name="x"/><testcase classname="A" name="y"/>')
NEW_JUNIT = OLD_JUNIT.replace('name="y"/>', 'name="y"><failure>no</failure></testcase>')
REPORT = {
    "old": json.dumps({"i-1": {"tests_status": graded(["x", "y"], [])}}),
    "new": json.dumps({"i-1": {"tests_status": graded(["x"], ["y"])}}),
}
BOTH = {"x": "passed", "y": "passed"}
BROKEN = {"x": "passed", "y": "failed"}
RESULTS = {"ctrf.json": ctrf(x="failed: no")}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param({"ctrf.json": ctrf(**BOTH)}, {"ctrf.json": ctrf(**BROKEN)}, id="ctrf"),
        pytest.param({"report.json": REPORT["old"]}, {"report.json": REPORT["new"]}, id="report"),
        pytest.param({"junit.xml": OLD_JUNIT}, {"junit.xml": NEW_JUNIT}, id="junit"),
        pytest.param(
            {"tests_status": graded(["x", "y"], [])}, {"tests_status": graded(["x"], ["y"])}, id="tests_status"
        ),
        pytest.param(
            {"metadata": {"eval_report": {"a.b": {"tests_status": graded(["x", "y"], [])}}}},
            {"metadata": {"eval_report": {"a.b": {"tests_status": graded(["x"], ["y"])}}}},
            id="eval_report",
        ),
        pytest.param({"parser_results": BOTH}, {"parser_results": BROKEN}, id="words"),
        pytest.param(
            {"test_results": {"x": True, "y": True}}, {"test_results": {"x": True, "y": False}}, id="booleans"
        ),
        pytest.param(
            {"test_results": {"passed": ["x", "y"]}}, {"test_results": {"passed": ["x"], "failed": ["y"]}}, id="lists"
        ),
        pytest.param(
            {"test_results": [{"name": "x", "status": "PASSED"}, {"name": "y", "status": "PASSED"}]},
            {"test_results": [{"name": "x", "status": "PASSED"}, {"name": "y", "outcome": "error"}]},
            id="objects",
        ),
    ],
)
def test_each_source_tells_which_test_broke(flip: Flip, old: Json, new: Json) -> None:
    tests = flip(old, new)["tests"]
    assert numbers(tests) == [2, 2, 1, 2]
    (broke,) = names(tests, "broke")
    assert broke.split("::")[-1] == "y"
    assert (tests["fixed"], tests["not_run"], tests["broke_total"]) == ([], [], 1)


ORDER = ("ctrf.json", "report.json", "tests_status", "metadata", "parser_results", "test_results", "junit.xml")


def every_source(reward: float) -> Json:
    """A row and its files in which each source names another test."""
    result = "passed" if reward else "failed"

    def status(name: str) -> Json:
        return graded([name], []) if reward else graded([], [name])

    failure = "" if reward else "<failure/>"
    return {
        "ctrf.json": ctrf(**{"ctrf.json": result}),
        "report.json": json.dumps({"i": {"tests_status": status("report.json")}}),
        "tests_status": status("tests_status"),
        "metadata": {"eval_report": {"i": {"tests_status": status("metadata")}}},
        "parser_results": {"parser_results": result},
        "test_results": {"test_results": result},
        "junit.xml": JUNIT.format(f'<testcase name="junit.xml">{failure}</testcase>'),
    }


@pytest.mark.parametrize("first", range(len(ORDER)))
def test_the_first_source_of_the_losing_row_counts(flip: Flip, first: int) -> None:
    new = {name: value for name, value in every_source(0).items() if name in ORDER[first:]}
    (broke,) = names(flip(every_source(1), new)["tests"], "broke")
    assert ORDER[first] in broke


@pytest.mark.parametrize("missing", range(len(ORDER) - 1))
def test_a_source_that_the_other_side_lacks_gives_way_to_the_next(flip: Flip, missing: int) -> None:
    old, new = every_source(1), every_source(0)
    for name in ORDER[: missing + 1]:
        del old[name]
    (broke,) = names(flip(old, new)["tests"], "broke")
    assert ORDER[missing + 1] in broke


@pytest.mark.parametrize(
    ("old", "new"), [({}, RESULTS), ({"test-stdout.txt": "fine"}, RESULTS), (RESULTS, {}), ({}, {})]
)
def test_nothing_is_said_of_tests_when_a_side_has_no_results(flip: Flip, old: Json, new: Json) -> None:
    assert flip(old, {"test-stdout.txt": "over", **new})["tests"] is None


# What is no source


def declaring(entity: str) -> str:
    return f"<!DOCTYPE x [<!ENTITY {entity}]>"


BOMB = declaring('a "ha"><!ENTITY b "&a;&a;">') + NEW_JUNIT.replace("no</f", "&b;</f")


@pytest.mark.parametrize(
    "files",
    [
        pytest.param({"report.json": ""}, id="empty"),
        pytest.param({"report.json": "{}"}, id="nothing in it"),
        pytest.param({"report.json": json.dumps({"tests": [{"outcome": "failed"}]})}, id="a report of another tool"),
        pytest.param({"report.json": json.dumps({"i": {"resolved": False}})}, id="not graded"),
        pytest.param({"ctrf.json": '{"results": {"tests": [{"name": "x", "status": "failed"}'}, id="cut short"),
        pytest.param({"ctrf.json": "[" * 100_000}, id="nested too deeply"),
        pytest.param({"ctrf.json": '{"results": {"tests": ' + "[" + "{}," * 300_000 + "{}]}}"}, id="brackets only"),
        pytest.param({"ctrf.json": json.dumps({"results": {"tests": {"x": "failed"}}})}, id="no list"),
        pytest.param({"ctrf.json": json.dumps([1, "x", None])}, id="no object"),
        pytest.param({"junit.xml": BOMB}, id="entities"),
        pytest.param(
            {"junit.xml": declaring('% p SYSTEM "file:///etc/passwd">%p;') + NEW_JUNIT}, id="parameter entity"
        ),
        pytest.param({"junit.xml": declaring('e SYSTEM "file:///etc/passwd">') + NEW_JUNIT}, id="external entity"),
        pytest.param({"junit.xml": NEW_JUNIT[:-9]}, id="XML cut short"),
        pytest.param({"junit.xml": "<html><testcase name='y'><failure/></testcase></html>"}, id="no report"),
        pytest.param({"junit.xml": '<?xml version="1.0" encoding="no-such"?>' + NEW_JUNIT}, id="unknown encoding"),
        pytest.param({"parser_results": {"passed": 3, "failed": 2}}, id="totals"),
        pytest.param({"test_results": {"passed": False, "output": "2 failed"}}, id="one result of all"),
        pytest.param({"test_results": [True, False]}, id="no names"),
        pytest.param({"tests_status": {"FAIL_TO_PASS": ["y"]}}, id="other lists"),
        pytest.param({"metadata": {"eval_report": {"i": {"resolved": False}}}}, id="other metadata"),
        pytest.param({"results.json": ctrf(y="failed")}, id="another name"),
        pytest.param({"CTRF.json": ctrf(y="failed")}, id="another case"),
        pytest.param({"sub/ctrf.json": ctrf(y="failed")}, id="further down"),
    ],
)
def test_what_is_no_source_says_nothing_of_tests(flip: Flip, files: Json) -> None:
    good = {"ctrf.json": ctrf(**BOTH), "junit.xml": OLD_JUNIT, "report.json": REPORT["old"], "parser_results": BOTH}
    good |= {"test_results": {"y": True}, "tests_status": graded(["y"], [])}
    task = flip(good, {"test-stdout.txt": "the run is over", **files})
    assert task["tests"] is None
    assert task["verifier_output"]["source"].endswith("test-stdout.txt")


def test_a_plain_doctype_is_ignored(flip: Flip) -> None:
    document = '<?xml version="1.0"?><!DOCTYPE testsuites SYSTEM "https://example.com/junit.dtd">' + NEW_JUNIT
    assert names(flip({"junit.xml": OLD_JUNIT}, {"junit.xml": document})["tests"], "broke") == ["A::y"]


@pytest.mark.parametrize(("size", "is_read"), [(4 * MIB, True), (4 * MIB + 1, False)])
def test_a_file_is_read_up_to_4_mib(flip: Flip, size: int, is_read: bool) -> None:
    results = ctrf(x="failed: no").encode()
    tests = flip({"ctrf.json": ctrf(x="passed")}, {"ctrf.json": results + b" " * (size - len(results))})["tests"]
    assert (tests is not None) == is_read


@pytest.mark.parametrize(("size", "is_read"), [(4 * MIB, True), (4 * MIB + 1, False)])
def test_a_field_is_read_up_to_4_mib(pair: Pair, summary: Summary, tmp_path: Path, size: int, is_read: bool) -> None:
    old, new = pair([{"task_id": "t", "reward": 1, "parser_results": {"x": "passed"}}], [])
    value = b'{"x": "failed"' + b" " * (size - 15) + b"}"
    new.write_bytes(b'{"task_id": "t", "reward": 0, "parser_results": ' + value + b"}\n")
    (task,) = summary(old, new)["tasks"]
    assert (task["tests"] is not None) == is_read


def test_a_comparison_reads_50_mb_of_results_and_says_when_there_was_more(
    pair: Pair, run: Compare, tmp_path: Path
) -> None:
    results = {"old": ctrf(x="passed").encode(), "new": ctrf(x="failed: no").encode()}
    rows: dict[str, list[Json]] = {"old": [], "new": []}
    for side, data in results.items():
        whole = tmp_path / f"{side}.data"
        whole.write_bytes(data + b" " * (4_000_000 - len(data)))
        for number in range(8):
            folder = tmp_path / "logs" / side / str(number)
            folder.mkdir(parents=True)
            os.link(whole, folder / "ctrf.json")
            reward = 1.0 if side == "old" else number / 10
            rows[side].append({"task_id": f"t{number}", "reward": reward, "verifier_logs_dir": f"logs/{side}/{number}"})
    done = run(*pair(rows["old"], rows["new"]), "--json", tmp_path / "summary.json")
    compared = [task["task"] for task in json.loads((tmp_path / "summary.json").read_text())["tasks"] if task["tests"]]
    # Two files of 4 MB a task, and the biggest losses first.
    assert compared == ["t0", "t1", "t2", "t3", "t4", "t5"]
    assert "The test results of 2 flips were not read" in " ".join(done.out.split())


# Where files are looked for


def test_results_are_found_though_the_log_is_missing(flip: Flip) -> None:
    task = flip({"ctrf.json": ctrf(x="passed")}, {"ctrf.json": ctrf(x="failed: no")})
    assert names(task["tests"], "broke") == ["t.py::x"]
    assert task["verifier_output"]["source"].startswith("unavailable: not found")


LOGS = (
    "logs/new",
    "logs/new/",
    "logs/new/out.log",
    "logs/new/gone.txt",
    "/data/run5/logs/new",
    "/data/logs/new/out.log",
)


@pytest.mark.parametrize("log", LOGS)
def test_the_folder_of_a_log_is_that_of_its_file(pair: Pair, summary: Summary, tmp_path: Path, log: str) -> None:
    for side, result in (("old", "passed"), ("new", "failed")):
        (tmp_path / "logs" / side).mkdir(parents=True)
        (tmp_path / "logs" / side / "ctrf.json").write_text(ctrf(x=result))
    (tmp_path / "logs/new/out.log").write_text("over")
    old = [{"task_id": "t", "reward": 1, "verifier_logs_dir": "logs/old"}]
    new = [{"task_id": "t", "reward": 0, "verifier_logs_dir": log}]
    (task,) = summary(*pair(old, new))["tasks"]
    assert names(task["tests"], "broke") == ["t.py::x"]


@pytest.mark.parametrize("trap", ["outside", "hidden", "link", "linked name", "pipe", "folder"])
def test_results_are_confined_like_logs(pair: Pair, summary: Summary, tmp_path: Path, trap: str) -> None:
    (tmp_path / "out").mkdir()
    secret = tmp_path / "out" / "ctrf.json"
    secret.write_text(ctrf(x="failed: planted"))
    folder = tmp_path / "work" / (".logs" if trap == "hidden" else "logs")
    folder.mkdir(parents=True)
    (tmp_path / "work/good").mkdir()
    (tmp_path / "work/good/ctrf.json").write_text(ctrf(x="passed"))
    path = folder / "ctrf.json"
    if trap == "hidden":
        path.write_text(ctrf(x="failed: planted"))
    elif trap == "link":
        path.symlink_to(secret)
    elif trap == "linked name":
        (folder / "token.json").write_text(ctrf(x="failed: planted"))
        path.symlink_to("token.json")
    elif trap == "pipe":
        os.mkfifo(path)
    elif trap == "folder":
        path.mkdir()
    logs = str(tmp_path / "out") if trap == "outside" else folder.name
    old = tmp_path / "work/old.jsonl"
    new = tmp_path / "work/new.jsonl"
    old.write_text(json.dumps({"task_id": "t", "reward": 1, "verifier_logs_dir": "good"}) + "\n")
    new.write_text(json.dumps({"task_id": "t", "reward": 0, "verifier_logs_dir": logs}) + "\n")
    told = summary(old, new)
    assert told["tasks"][0]["tests"] is None
    assert "planted" not in json.dumps(told)


def test_results_of_the_other_side_are_not_taken_for_its_own(summary: Summary, tmp_path: Path) -> None:
    for side, reward in (("old", 1), ("new", 0)):
        (tmp_path / side).mkdir()
        row = {"task_id": "t", "reward": reward, "verifier_logs_dir": "verifier/a"}
        (tmp_path / side / "rollouts.jsonl").write_text(json.dumps(row) + "\n")
    (tmp_path / "old/verifier/a").mkdir(parents=True)
    (tmp_path / "old/verifier/a/ctrf.json").write_text(ctrf(x="passed"))
    (task,) = summary(tmp_path / "old", tmp_path / "new")["tasks"]
    assert task["tests"] is None


# Names and results


def test_of_equal_names_the_failing_one_counts_and_names_are_needed(flip: Flip) -> None:
    said: list[tuple[object, str]] = [("a", "failed"), ("a", "passed"), ("b", "passed"), ("b", "skipped")]
    said += [("", "failed"), (None, "failed"), (7, "failed")]
    new = listed([{"name": name, "status": status} for name, status in said])
    old = listed([{"name": name, "status": "passed"} for name in "ab"])
    tests = flip({"ctrf.json": old}, {"ctrf.json": new})["tests"]
    assert numbers(tests) == [2, 2, 1, 2]
    assert (names(tests, "broke"), names(tests, "not_run")) == (["a"], [])


@pytest.mark.parametrize(
    ("test", "name"),
    [
        ({"name": "t.py::x", "suite": ["t.py"]}, "t.py::x"),
        ({"name": "t.py::A::x", "suite": ["t.py", "A"]}, "t.py::A::x"),
        ({"name": "x", "suite": ["t.py", "A"]}, "t.py::A::x"),
        ({"name": "x", "suite": "shop"}, "shop::x"),
        ({"name": "x", "filePath": "spec/x.ts"}, "spec/x.ts::x"),
        ({"name": "x", "suite": [], "filePath": ""}, "x"),
        ({"name": "x", "suite": {"odd": 1}}, "x"),
    ],
)
def test_a_name_in_ctrf_is_suite_or_file_and_test(flip: Flip, test: Json, name: str) -> None:
    files = [{"ctrf.json": listed([test | {"status": status}])} for status in ("passed", "failed")]
    assert names(flip(*files)["tests"], "broke") == [name]


@pytest.mark.parametrize(
    ("case", "name"),
    [
        ('<testcase classname="p.C" name="x">', "p.C::x"),
        ('<testcase file="a.rb" name="x">', "a.rb::x"),
        ('<testcase name="x">', "all::x"),
    ],
)
def test_a_name_in_junit_is_class_file_or_suite_and_test(flip: Flip, case: str, name: str) -> None:
    files = [{"junit.xml": JUNIT.format(f"{case}{inside}</testcase>")} for inside in ("", "<error/>")]
    assert names(flip(*files)["tests"], "broke") == [name]


@pytest.mark.parametrize(
    ("inside", "message"),
    [
        ('<failure message="first&#10;second">text</failure>', "first"),
        ("<failure>\n\n  said\nmore</failure>", "said"),
        ('<failure type="T"/>', ""),
        ('<failure message="one"/><error message="two"/>', "one"),
        ('<skipped/><failure message="one"/>', "one"),
        ('<system-out>noise</system-out><failure message="one"/>', "one"),
    ],
)
def test_the_message_of_a_failure_in_junit(flip: Flip, inside: str, message: str) -> None:
    files = [{"junit.xml": JUNIT.format(f'<testcase name="x">{each}</testcase>')} for each in ("", inside)]
    (broke,) = flip(*files)["tests"]["broke"]
    assert broke["message"] == message


@pytest.mark.parametrize("message", ["The test failed in the call phase due to an assertion error", "/work/t.py:13"])
def test_a_message_that_only_names_a_phase_or_a_place_gives_way_to_the_trace(flip: Flip, message: str) -> None:
    trace = "def x():\n>   f()\nE   ValueError: b is bad\n\nt.py:3: ValueError"
    failed = {"name": "x", "status": "failed", "message": message, "trace": trace}
    task = flip({"ctrf.json": listed([failed | {"status": "passed"}])}, {"ctrf.json": listed([failed])})
    assert task["tests"]["broke"][0]["message"] == "ValueError: b is bad"
    assert task["cause"] == "ValueError: b is bad"


# What changed


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("passed", "failed", "broke"),
        ("failed", "passed", "fixed"),
        ("skipped", "passed", "fixed"),
        ("passed", "skipped", "not_run"),
        ("passed", "pending", "not_run"),
        ("passed", None, "not_run"),
        (None, "passed", "not_run"),
        ("failed", None, "not_run"),
        ("passed", "passed", None),
        ("failed", "failed", None),
        ("skipped", "skipped", None),
        ("failed", "skipped", None),
        ("skipped", "failed", None),
    ],
)
def test_what_becomes_of_a_test(flip: Flip, old: str | None, new: str | None, kind: str | None) -> None:
    sides = [{"ctrf.json": ctrf(z="passed", **({} if each is None else {"x": each}))} for each in (old, new)]
    tests = flip(*sides)["tests"]
    assert {each: names(tests, each) for each in ("broke", "fixed", "not_run")} == {
        each: ["t.py::x"] if each == kind else [] for each in ("broke", "fixed", "not_run")
    }


def test_tests_are_told_in_the_order_of_the_losing_row(flip: Flip) -> None:
    order = ["c", "a", "d", "b"]
    new = ctrf(**{name: f"failed: {name} is wrong" for name in order})
    task = flip({"ctrf.json": ctrf(a="passed", b="passed", c="passed", d="passed")}, {"ctrf.json": new})
    assert names(task["tests"], "broke") == [f"t.py::{name}" for name in order]
    assert task["cause"] == "c is wrong"


def test_50_tests_of_a_kind_are_named_and_all_are_counted(flip: Flip) -> None:
    many = {f"test_{number:03}": "passed" for number in range(314)}
    failed = dict.fromkeys(many, "failed: no")
    tests = flip({"ctrf.json": ctrf(**many)}, {"ctrf.json": ctrf(**failed)})["tests"]
    assert numbers(tests) == [314, 314, 0, 314]
    assert names(tests, "broke") == [f"t.py::test_{number:03}" for number in range(50)]
    assert tests["broke_total"] == 314


@pytest.mark.parametrize("field", ["parser_results", "test_results"])
def test_a_losing_side_that_ran_no_test_says_so_once(flip: Flip, run: Compare, tmp_path: Path, field: str) -> None:
    tests = flip({field: {"x": "passed", "y": "passed"}}, {field: {}})["tests"]
    assert (numbers(tests), tests["broke"], tests["not_run_total"]) == ([2, 2, 0, 0], [], 2)
    text = run(tmp_path / "old.jsonl", tmp_path / "new.jsonl").out
    assert "tests 2 of 2 -> 0 of 0: the new side ran none" in text
    assert "not run" not in text


def repeats(*said: tuple[float, Json | None]) -> list[Json]:
    """Rows of one task, each with its reward and its test results."""
    return [
        {"task_id": "t", "_ng_task_index": 0, "_ng_rollout_index": at, "reward": reward}
        | ({} if results is None else {"test_results": results})
        for at, (reward, results) in enumerate(said)
    ]


def test_rates_count_all_rows_with_results(pair: Pair, run: Compare, tmp_path: Path) -> None:
    good = {"a": "passed", "b": "passed", "c": "failed"}
    old = repeats((1, good), (1, good), (0.9, None))
    new = repeats(
        (0, {"a": "failed", "b": "passed"}),
        (1, {"a": "failed", "b": "skipped", "c": "passed"}),
        (1, {"a": "passed", "b": "passed", "c": "failed"}),
    )
    done = run(*pair(old, new), "--json", tmp_path / "summary.json")
    (task,) = json.loads((tmp_path / "summary.json").read_text())["tasks"]
    tests = task["tests"]
    # Old: 2 of 3 in each of two rows. New: 1 of 2, 1 of 3, 2 of 3.
    assert numbers(tests) == pytest.approx([2, 3, 4 / 3, 8 / 3])
    assert (names(tests, "broke"), names(tests, "fixed")) == (["a", "b"], ["c"])
    for words in ("broke: a 2/2 -> 1/3", "broke: b 2/2 -> 2/3", "fixed: c 0/2 -> 1/3"):
        assert words in done.out


def test_32_rows_of_a_task_are_compared(pair: Pair, summary: Summary) -> None:
    def rows(number: int, result: str, reward: float) -> list[Json]:
        return repeats(*((reward, {f"x{at}": result}) for at in range(number)))

    (task,) = summary(*pair(rows(30, "passed", 1), rows(40, "failed", 0)))["tasks"]
    # Each row has one test of its own, and there is room for 16 rows of either side.
    assert numbers(task["tests"]) == [1, 1, 0, 1]
    assert task["tests"]["broke_total"] == 16
    (task,) = summary(*pair(rows(4, "passed", 1), rows(40, "failed", 0)))["tasks"]
    assert (task["tests"]["broke_total"], task["tests"]["not_run_total"]) == (4, 24)


def test_groups_are_told(flip: Flip, run: Compare, tmp_path: Path) -> None:
    old = graded(["p"], []) | graded(["f"], [], "FAIL_TO_PASS")
    new = graded([], ["p"]) | graded([], ["f"], "FAIL_TO_PASS")
    tests = flip({"tests_status": old}, {"tests_status": new})["tests"]
    assert [(test["name"], test["group"]) for test in tests["broke"]] == [("f", "FAIL_TO_PASS"), ("p", "PASS_TO_PASS")]
    text = run(tmp_path / "old.jsonl", tmp_path / "new.jsonl").out
    assert "not solved: f" in text
    assert "broke, a regression: p" in text


def test_an_improved_flip_tells_what_was_fixed(pair: Pair, summary: Summary, run: Compare) -> None:
    sides = pair(
        [{"task_id": "t", "reward": 0, "parser_results": {"x": "failed"}}],
        [{"task_id": "t", "reward": 1, "parser_results": {"x": "passed"}}],
    )
    (task,) = summary(*sides)["tasks"]
    assert (names(task["tests"], "fixed"), names(task["tests"], "broke")) == (["x"], [])
    assert "tests 0 of 1 -> 1 of 1: 1 fixed" in run(*sides).out


def test_a_report_names_5_tests_and_says_how_many_more(pair: Pair, run: Compare) -> None:
    tests = [f"x{number}" for number in range(9)]
    sides = pair(
        [{"task_id": "t", "reward": 1, "parser_results": dict.fromkeys(tests, "passed")}],
        [{"task_id": "t", "reward": 0, "parser_results": dict.fromkeys(tests, "failed")}],
    )
    for form in ("text", "markdown"):
        told = run(*sides, "--format", form).out
        assert [test for test in tests if f"broke: `{test}`" in told or f"broke: {test}\n" in told] == tests[:5]
        assert "4 more" in told


def test_results_and_reasons_in_rows_of_packed_inputs(pair: Pair, summary: Summary) -> None:
    old, new = (
        [{"task_id": f"t{at}", "reward": reward, "parser_results": {"x": result}} for at in range(3)]
        for reward, result in ((1, "passed"), (0, "failed"))
    )
    new = [row | {"failure_reason": "gave up", "error": {"message": "late"}} for row in new]
    sides = []
    for path in pair(old, new):
        sides.append(path.with_suffix(".jsonl.gz"))
        sides[-1].write_bytes(gzip.compress(path.read_bytes()))
    tasks = summary(*sides)["tasks"]
    assert [task["tests"]["broke_total"] for task in tasks] == [1, 1, 1]
    assert {task["cause"] for task in tasks} == {"gave up"}
