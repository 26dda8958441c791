"""The command line: exit statuses, what goes to which stream and file, and the shape of the text report."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Compare, Json, Rollouts, Sides, Summary

COMMAND = (sys.executable, "-c", "import sys; from rollout_compare.cli import main; sys.exit(main())")


def run_apart(*arguments: object, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """The command in a process of its own, with these environment variables."""
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        capture_output=True,
        env={**os.environ, **environment},
        timeout=30,
        check=False,
    )


@pytest.fixture
def sides(rollouts: Rollouts) -> Sides:
    """7 identical tasks, 3 flips (one improves), 2 flips with an agent error, 4 masked, 6 missing."""
    old: list[Json] = [{"task_id": f"identical-{n}", "reward": 0.5} for n in range(7)]
    new = [dict(row) for row in old]
    for n in range(3):
        old.append({"task_id": f"flip-{n}", "reward": float(n != 2), "test_output": f"old output {n}"})
        new.append({"task_id": f"flip-{n}", "reward": float(n == 2), "test_output": f"new output {n}"})
    for n in range(2):
        old.append({"task_id": f"crashed-{n}", "reward": 1.0})
        new.append({"task_id": f"crashed-{n}", "reward": 0.0, "error": f"Traceback\nagent error {n}"})
    for n in range(4):
        old.append({"task_id": f"masked-{n}", "reward": 1.0})
        new.append({"task_id": f"masked-{n}", "reward": 0.0, "mask_sample": True, "failure_kind": "oom"})
    old += [{"task_id": f"old-only-{n}", "reward": 1.0} for n in range(5)]
    new.append({"task_id": "new-only-0", "reward": 1.0})
    return rollouts.write("old.jsonl", old), rollouts.write("new.jsonl", new)


# Exit statuses


def test_a_report_is_status_0_whatever_it_says(run: Compare, sides: Sides) -> None:
    done = run(*sides)
    assert (done.status, done.err) == (0, "")
    assert done.out.endswith("\n")


def test_sides_that_share_no_task_are_a_report_too(rollouts: Rollouts, run: Compare) -> None:
    old = rollouts.write("old.jsonl", [{"task_id": "a", "reward": 1.0}])
    done = run(old, rollouts.write("new.jsonl", [{"task_id": "b", "reward": 1.0}]))
    assert (done.status, done.err) == (0, "")


@pytest.mark.parametrize("output", [(), ("--json", "-"), ("--format", "json"), ("--json", "out.json")], ids=str)
@pytest.mark.parametrize(
    "content",
    [None, b"no JSON\n", b'{"task_id": "a", "reward": "1"}\n'],
    ids=["missing", "no JSON", "text reward"],
)
def test_an_unreadable_input_is_one_error_line_and_nothing_else(
    run: Compare,
    sides: Sides,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    content: bytes | None,
    output: tuple[str, ...],
) -> None:
    monkeypatch.chdir(tmp_path)
    bad = tmp_path / "bad.jsonl"
    if content is not None:
        bad.write_bytes(content)
    done = run(sides[0], bad, *output)
    assert (done.status, done.out) == (1, "")
    assert re.fullmatch(rf"error: {re.escape(str(bad))}\b.+\n", done.err)
    assert not (tmp_path / "out.json").exists()


USAGE = {
    "no arguments": [],
    "one side only": ["OLD"],
    "three sides": ["OLD", "NEW", "NEW"],
    "an unknown option": ["OLD", "NEW", "--no-such-option"],
    "a tail below zero": ["OLD", "NEW", "--tail", "-1"],
    "a tail that is no number": ["OLD", "NEW", "--tail", "many"],
    "a tail that is no integer": ["OLD", "NEW", "--tail", "1.5"],
    "an unknown format": ["OLD", "NEW", "--format", "yaml"],
    "an option without its value": ["OLD", "NEW", "--key"],
    "only old paths": ["--old", "OLD"],
    "only new paths": ["--new", "NEW"],
}


@pytest.mark.parametrize("arguments", USAGE.values(), ids=USAGE.keys())
def test_wrong_usage_is_status_2(run: Compare, sides: Sides, arguments: list[str]) -> None:
    paths = {"OLD": sides[0], "NEW": sides[1]}
    done = run(*[paths.get(argument, argument) for argument in arguments])
    assert (done.status, done.out) == (2, "")
    assert "error: " in done.err
    assert "Traceback" not in done.err


def test_wrong_usage_is_said_before_an_input_is_read(run: Compare, tmp_path: Path) -> None:
    assert run(tmp_path / "missing", tmp_path / "missing", "--tail", "-1").status == 2


@pytest.mark.parametrize("text", ["Z\u00fcrich", "\u65e5\u672c"], ids=ascii)
def test_file_names_of_any_alphabet_are_read(rollouts: Rollouts, run: Compare, text: str) -> None:
    old = rollouts.write(f"{text} a/old rollouts.jsonl", [{"task_id": "t", "reward": 1.0}])
    done = run(old, old)
    assert done.status == 0
    assert text in done.out


# --version and --help


def test_the_version_is_that_of_the_summary(run: Compare, summary: Summary, sides: Sides) -> None:
    done = run("--version")
    assert (done.status, done.err) == (0, "")
    tool = summary(*sides)["tool"]
    assert re.fullmatch(rf"{tool['name']} {re.escape(tool['version'])}( \([0-9a-f]{{12}}\))?\n", done.out)
    assert re.match(r"\d+\.\d+", tool["version"])


OPTIONS = [
    "--old",
    "--new",
    "--key",
    "--old-key",
    "--new-key",
    "--tail",
    "--logs-root",
    "--old-logs-root",
    "--new-logs-root",
    "--allow-absolute-logs",
    "--verifier-field",
    "--count-as-zero",
    "--json",
    "--format",
    "--version",
    "--help",
]


def test_help_names_every_option(run: Compare) -> None:
    done = run("--help")
    assert (done.status, done.err) == (0, "")
    assert [option for option in OPTIONS if not re.search(rf"(?<!\S){option}\b(?!-)", done.out)] == []


# The JSON summary as an output


def test_the_summary_on_standard_output_and_in_a_file_are_the_same_bytes(
    run: Compare, sides: Sides, tmp_path: Path
) -> None:
    printed = run(*sides, "--json", "-")
    assert (printed.status, printed.err) == (0, "")
    assert printed.json["counts"]["flipped"] == 3
    run(*sides, "--json", tmp_path / "out.json")
    assert (tmp_path / "out.json").read_bytes() == printed.out.encode()
    assert run(*sides, "--format", "json").out == printed.out


def test_a_summary_file_comes_beside_the_report(run: Compare, sides: Sides, tmp_path: Path) -> None:
    report = run(*sides).out
    done = run(*sides, "--json", tmp_path / "out.json")
    assert (done.status, done.out) == (0, report)
    assert done.err.splitlines() == [f"wrote {tmp_path / 'out.json'}"]
    assert run(*sides, "--format", "text").out == report


def test_a_summary_file_is_replaced_whole_and_leaves_nothing_beside_it(
    run: Compare, sides: Sides, tmp_path: Path
) -> None:
    folder = tmp_path / "reports"
    folder.mkdir()
    (folder / "out.json").write_text("x" * 100_000)
    assert run(*sides, "--json", folder / "out.json").status == 0
    assert json.loads((folder / "out.json").read_text())["counts"]["flipped"] == 3
    assert [path.name for path in folder.iterdir()] == ["out.json"]


def test_an_unreadable_input_leaves_an_older_summary_alone(run: Compare, sides: Sides, tmp_path: Path) -> None:
    folder = tmp_path / "reports"
    folder.mkdir()
    (folder / "out.json").write_text("of an earlier run")
    with sides[1].open("a") as stream:
        stream.write("no JSON\n")
    assert run(*sides, "--json", folder / "out.json").status == 1
    assert (folder / "out.json").read_text() == "of an earlier run"
    assert [path.name for path in folder.iterdir()] == ["out.json"]


def _in_no_folder(tmp_path: Path) -> Path:
    return tmp_path / "no-such-folder/out.json"


def _a_folder(tmp_path: Path) -> Path:
    (tmp_path / "out.json").mkdir()
    return tmp_path / "out.json"


def _below_a_file(tmp_path: Path) -> Path:
    (tmp_path / "file").touch()
    return tmp_path / "file/out.json"


def _too_long_a_name(tmp_path: Path) -> Path:
    return tmp_path / ("o" * 300)


@pytest.mark.parametrize("place", [_in_no_folder, _a_folder, _below_a_file, _too_long_a_name])
@pytest.mark.parametrize("shown", ["text", "json"])
def test_an_output_that_cannot_be_written_is_status_1_and_prints_nothing(
    run: Compare, sides: Sides, tmp_path: Path, place: Callable[[Path], Path], shown: str
) -> None:
    target = place(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    done = run(*sides, "--json", target, "--format", shown)
    assert (done.status, done.out) == (1, "")
    assert re.fullmatch(r"error: .+\n", done.err)
    assert sorted(tmp_path.rglob("*")) == before


def _old(sides: Sides) -> Path:
    return sides[0]


def _new(sides: Sides) -> Path:
    return sides[1]


def _sidecar(sides: Sides) -> Path:
    return sides[1].with_name("new_failures.jsonl")


def _by_another_way(sides: Sides) -> Path:
    return sides[0].parent / "folder/.." / sides[0].name


def _by_a_link(sides: Sides) -> Path:
    (sides[0].parent / "link.json").symlink_to(sides[0])
    return sides[0].parent / "link.json"


def _by_a_linked_folder(sides: Sides) -> Path:
    (sides[0].parent / "linked").symlink_to(sides[0].parent)
    return sides[0].parent / "linked" / sides[1].name


NAMES_OF_INPUTS = [_old, _new, _sidecar, _by_another_way, _by_a_link, _by_a_linked_folder]


@pytest.mark.parametrize("target", NAMES_OF_INPUTS)
def test_an_output_that_names_an_input_is_refused(
    run: Compare, sides: Sides, tmp_path: Path, target: Callable[[Sides], Path]
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "new_failures.jsonl").write_text('{"task_id": "failed", "_ng_failure_class": "oom"}\n')
    output = target(sides)
    before = {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    done = run(*sides, "--json", output)
    assert (done.status, done.out) == (2, "")
    assert "error: " in done.err
    assert {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before


def test_an_output_that_names_a_found_input_is_refused(rollouts: Rollouts, run: Compare, tmp_path: Path) -> None:
    for name in ("old/rollouts.jsonl", "new/part-0.jsonl", "new/part-1.jsonl"):
        rollouts.write(name, [{"task_id": name, "reward": 1.0}])
    found = {"old/rollouts.jsonl", "new/part-1.jsonl"}
    for name in sorted(found):
        before = (tmp_path / name).read_bytes()
        done = run(tmp_path / "old", tmp_path / "new/part-*.jsonl", "--json", tmp_path / name)
        assert (done.status, done.out) == (2, ""), name
        assert (tmp_path / name).read_bytes() == before


# Standard output


def _write_many_flips(rollouts: Rollouts) -> Sides:
    old = [{"task_id": f"task-{n:05}", "reward": 1.0} for n in range(2_000)]
    new = [{**row, "reward": 0.0, "test_output": "failed"} for row in old]
    return rollouts.write("old.jsonl", old), rollouts.write("new.jsonl", new)


@pytest.mark.parametrize("output", [(), ("--json", "-")], ids=["report", "summary"])
@pytest.mark.parametrize("taken", [0, 100], ids=["at once", "after some bytes"])
def test_a_closed_pipe_is_no_traceback(rollouts: Rollouts, output: tuple[str, ...], taken: int) -> None:
    command = [*COMMAND, *map(str, _write_many_flips(rollouts)), *output]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(taken)
        process.stdout.close()
        complaint = process.stderr.read()
    assert complaint == b""


@pytest.mark.parametrize(
    "environment",
    [
        {"PYTHONIOENCODING": "ascii"},
        {"PYTHONIOENCODING": "latin-1:strict"},
        {"LC_ALL": "C", "PYTHONUTF8": "0"},
    ],
    ids=["ASCII", "Latin-1", "C locale"],
)
def test_the_report_is_utf8_whatever_the_encoding_of_the_output(
    rollouts: Rollouts, environment: dict[str, str]
) -> None:
    rows = [
        {"task_id": "caf\u00e9 \u65e5\u672c \ud83d\ude00", "reward": 1.0},
        {"task_id": "x\ud800y", "reward": 1.0},
    ]
    old = rollouts.write("old.jsonl", rows)
    new = rollouts.write("new.jsonl", [{**row, "reward": 0.0, "test_output": "\u20ac \udfff"} for row in rows])
    done = run_apart(old, new, **environment)
    assert (done.returncode, done.stderr) == (0, b"")
    report = done.stdout.decode("utf-8")
    assert "caf\u00e9 \u65e5\u672c \U0001f600" in report
    assert "\u20ac" in report


def test_an_error_line_is_utf8_whatever_the_encoding(rollouts: Rollouts) -> None:
    missing = rollouts.folder / "caf\u00e9-\u65e5\u672c.jsonl"
    done = run_apart(missing, missing, PYTHONIOENCODING="ascii")
    assert done.returncode == 1
    assert re.fullmatch(rb"error: [^\n]+\n", done.stderr)


def test_locale_time_zone_and_hash_seed_change_no_byte(rollouts: Rollouts, sides: Sides) -> None:
    surroundings = [
        {"LC_ALL": "C", "TZ": "UTC", "PYTHONHASHSEED": "1", "COLUMNS": "80"},
        {"LC_ALL": "C.UTF-8", "TZ": "Asia/Tokyo", "PYTHONHASHSEED": "2", "COLUMNS": "200"},
    ]
    outputs = [rollouts.folder / "first.json", rollouts.folder / "second.json"]
    first, second = (
        run_apart(*sides, "--json", output, **environment)
        for output, environment in zip(outputs, surroundings, strict=True)
    )
    assert first.returncode == 0
    assert first.stdout == second.stdout
    assert outputs[0].read_bytes() == outputs[1].read_bytes()


# The text report

HEADINGS = ("Flips", "Flips with agent errors", "Masked", "Missing")


def headings(report: str) -> dict[str, tuple[int, int]]:
    """The section headings of a report: the line each stands on and the count it gives."""
    found = {}
    for number, line in enumerate(report.splitlines()):
        match = re.fullmatch(r"[^\w\s]*\s*(Flips with agent errors|Flips|Masked|Missing)\W+(\d+)\b.*", line)
        if match:
            found[match[1]] = (number, int(match[2]))
    return found


def test_the_sections_come_in_order_each_with_its_count(run: Compare, sides: Sides) -> None:
    found = headings(run(*sides).out)
    assert {heading: count for heading, (_, count) in found.items()} == dict(zip(HEADINGS, (3, 2, 4, 6), strict=True))
    places = [found[heading][0] for heading in HEADINGS]
    assert places == sorted(places)


def test_each_task_stands_in_its_section(run: Compare, sides: Sides) -> None:
    report = run(*sides).out
    starts = [headings(report)[heading][0] for heading in HEADINGS]
    lines = report.splitlines()
    kinds = {"flip": 3, "crashed": 2, "masked": 4, "old-only": 5, "new-only": 1}
    for kind, section in zip(kinds, (0, 1, 2, 3, 3), strict=True):
        end = [*starts, None][section + 1]
        text = "\n".join(lines[starts[section] : end])
        assert [n for n in range(kinds[kind]) if f"{kind}-{n}" not in text] == [], kind
    assert "identical-0" not in report


def test_the_report_starts_with_the_verdict_and_then_gives_the_counts_in_words(
    run: Compare, summary: Summary, sides: Sides
) -> None:
    verdict, counts, *rest = run(*sides).out.splitlines()
    assert verdict == summary(*sides)["verdict"]["sentence"]
    assert counts.endswith(".")
    assert ". " not in counts
    assert {"22", "7", "4", "6"} <= set(re.findall(r"\d+", counts))
    for word in ("identical", "flipped", "masked", "missing"):
        assert word in counts
    assert rest


@pytest.mark.parametrize("count", [0, 1, 2, 40])
def test_the_counts_follow_the_flips(rollouts: Rollouts, run: Compare, count: int) -> None:
    rows = [{"task_id": f"t-{n}", "reward": 1.0} for n in range(50)]
    old = rollouts.write("old.jsonl", rows)
    new = rollouts.write("new.jsonl", [{**row, "reward": float(n >= count)} for n, row in enumerate(rows)])
    assert f" {count} flipped" in run(old, new).out.splitlines()[1]


def test_the_category_table_gives_every_count(run: Compare, sides: Sides) -> None:
    report = run(*sides).out
    table = report[: report.index(report.splitlines()[headings(report)["Flips"][0]])]
    counts = {"identical": 7, "flipped": 3, "agent error": 2, "masked": 4, "missing": 6}
    for name, count in counts.items():
        assert re.search(rf"(?im)^.*\b{name}\b.*\b{count}\b", table), name


def test_the_report_names_sides_keys_notes_and_warnings(rollouts: Rollouts, run: Compare, summary: Summary) -> None:
    rows = [{"instance_id": f"t-{n}", "reward": None} for n in range(3)]
    old = rollouts.write("reference.jsonl", rows)
    new = rollouts.write("candidate.jsonl", rows)
    found = summary(old, new)
    report = " ".join(run(old, new).out.split())
    assert found["notes"]
    assert "no_rewards" in [warning["code"] for warning in found["warnings"]]
    for text in [*found["notes"], *(warning["sentence"] for warning in found["warnings"])]:
        assert " ".join(text.split()) in report
    for text in ("reference.jsonl", "candidate.jsonl", "instance_id"):
        assert text in report


def test_what_each_side_reports_of_a_flip_is_shown(run: Compare, sides: Sides) -> None:
    report = run(*sides).out
    for text in ("new output 0", "new output 1", "old output 2", "agent error 0", "agent error 1", "oom"):
        assert text in report
    assert "old output 0" not in report


# Text that rows bring along

HOSTILE = "evil\x1b[31m\r\nFlips (99)\n\x07\x08\x7f\x9b2J\x85\u2028\u2029::error::x"


def _hostile_task(row: Json) -> Json:
    return {**row, "task_id": HOSTILE}


def _hostile_agent_error(row: Json) -> Json:
    return {**row, "error": HOSTILE}


def _hostile_metadata(row: Json) -> Json:
    return {**row, "response": {"metadata": {f"{HOSTILE}error_type": HOSTILE}}}


def _hostile_failure_kind(row: Json) -> Json:
    return {**row, "failure_kind": HOSTILE}


def _hostile_mask(row: Json) -> Json:
    return {**row, "failure_kind": HOSTILE, "mask_sample": True}


def _hostile_logs_dir(row: Json) -> Json:
    return {**row, "verifier_logs_dir": HOSTILE}


def _hostile_taskset(row: Json) -> Json:
    return {**row, "task_id": {"taskset": HOSTILE, "task_id": "t"}}


@pytest.mark.parametrize(
    "change",
    [
        _hostile_task,
        _hostile_agent_error,
        _hostile_metadata,
        _hostile_failure_kind,
        _hostile_mask,
        _hostile_logs_dir,
        _hostile_taskset,
    ],
)
@pytest.mark.parametrize("joined", [True, False], ids=["joined", "missing"])
def test_control_characters_of_rows_are_escaped(
    rollouts: Rollouts, run: Compare, change: Callable[[Json], Json], joined: bool
) -> None:
    others = [{"task_id": f"other-{n}", "reward": 1.0} for n in range(2)]
    old_row, new_row = ({"task_id": "t", "reward": reward} for reward in (1.0, 0.0))
    renamed = {"task_id": change(new_row)["task_id"]}
    old = rollouts.write("old.jsonl", [*others, {**old_row, **renamed}] if joined else others)
    done = run(old, rollouts.write("new.jsonl", [*others, change(new_row)]))
    assert (done.status, done.err) == (0, "")
    assert [c for c in done.out if not (c.isprintable() or c == "\n")] == []
    assert headings(done.out).get("Flips", (0, 0))[1] in (0, 1)
    assert not any(line.startswith(("Flips (99)", "::error::")) for line in done.out.splitlines())


def test_a_label_with_line_ends_takes_no_more_lines_than_another(rollouts: Rollouts, run: Compare) -> None:
    counts = []
    for label in ("t", "t\n\n\r\n\x0b\x0c\x85\u2028t"):
        for side, reward in (("old", 1.0), ("new", 0.0)):
            rollouts.write(f"{side}.jsonl", [{"task_id": label, "reward": reward}])
        report = run(rollouts.folder / "old.jsonl", rollouts.folder / "new.jsonl").out
        counts.append(len(report.splitlines()))
    assert counts[0] == counts[1]


@pytest.mark.parametrize("name", ["a\x1b[31mb", "a\nb", "a\rb", "a\x7fb", "a\u2028b"], ids=ascii)
def test_control_characters_of_file_names_are_escaped(rollouts: Rollouts, run: Compare, name: str) -> None:
    path = rollouts.write(f"{name}.jsonl", [{"task_id": "t", "reward": 1.0}])
    done = run(path, path, "--json", rollouts.folder / f"{name}.json")
    assert done.status == 0
    assert [c for c in done.out + done.err if not (c.isprintable() or c == "\n")] == []
    assert len(done.err.splitlines()) == 1


def test_control_characters_in_an_error_line_are_escaped(rollouts: Rollouts, run: Compare) -> None:
    bad = rollouts.write("a\x1b[31m.jsonl", [{"task_id": HOSTILE, "reward": "text"}])
    done = run(bad, bad)
    assert (done.status, done.out) == (1, "")
    assert len(done.err.splitlines()) == 1
    assert [c for c in done.err if not (c.isprintable() or c == "\n")] == []
    assert len(done.err.encode()) <= 500


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (("--key", "a..b"), "argument --key: not a dotted field name: 'a..b'"),
        (("--margin", "x"), "argument --margin: must be a difference above 0, such as 0.02 or 2%, not 'x'"),
        (("--margin", "-1"), "argument --margin: must be a difference above 0, such as 0.02 or 2%, not '-1'"),
        (("--tail", "1.5"), "argument --tail: must be a whole number, not '1.5'"),
        (("--json", ""), "argument --json: not a path: ''"),
        (("--redact", "ab("), "argument --redact: invalid regular expression (position 2)"),
    ],
)
def test_a_value_that_is_not_allowed_is_told_with_what_it_must_be(
    run: Compare, sides: Sides, option: tuple[str, str], message: str
) -> None:
    found = run(*sides, "=".join(option))
    assert found.status == 2
    assert found.err.splitlines()[-1] == f"rollout-compare: error: {message}"
