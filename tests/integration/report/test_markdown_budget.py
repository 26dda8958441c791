"""The limits of the Markdown report: what is given up to fit the size limit, in which order, and what stays whole."""

from __future__ import annotations

import functools
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rollout_compare import compare, load_side
from rollout_compare.core.logs.search import LogSearch
from rollout_compare.core.logs.verifier_output import VerifierOutputs
from rollout_compare.report.budget import Limit
from rollout_compare.report.facts import Facts
from rollout_compare.report.markdown import COMMENT, JOB_SUMMARY, markdown_report
from rollout_compare.report.untrusted import Redactor
from tests.conftest import Compare, Json, Rollouts
from tests.github import MARKER, Element, rendered

LIMITS = (COMMENT, JOB_SUMMARY)
ONE_LOG = "\n".join(f"line {number:02d} " + "of this log " * 6 for number in range(40))


def facts_of(old: Path, new: Path, **search: Any) -> Facts:
    comparison = compare(load_side(os.fspath(old)), load_side(os.fspath(new)))
    return Facts(
        comparison, VerifierOutputs.from_comparison(comparison, LogSearch(**{"tail": 15} | search)), Redactor()
    )


def size(markdown: str, limit: Limit) -> int:
    return len(markdown) if limit is COMMENT else len(markdown.encode())


def losses(number: int, **fields: Any) -> tuple[list[Json], list[Json]]:
    """Flips, the first of which lose most."""
    old = [{"task_id": f"task-{at:06d}", "reward": 1} for at in range(number)]
    new = [{"task_id": f"task-{at:06d}", "reward": at / number / 2} | fields for at in range(number)]
    return old, new


class Detail(NamedTuple):
    """What a report tells of its flips."""

    logs: list[int]
    """Lines of each log, by the importance of its flip; 0 for a flip without one."""
    rows: int
    """Flips that are rows of a table."""
    more: int
    """Flips that are not told."""

    @property
    def flips(self) -> int:
        """Flips told at length."""
        return len(self.logs)


def number(text: str) -> int:
    return int(text.replace(",", ""))


def detail(document: Element) -> Detail:
    """The detail of a report of losses alone, as its flips are named in their order of importance."""
    flips = [each for each in document.all("details") if "task-" in each.all("summary")[0].text]
    told = [re.findall(r"task-\d+", each.all("summary")[0].text)[0] for each in flips]
    rows = [re.findall(r"task-\d+", row.text) for row in document.all("tr")]
    table = [found[0] for found in rows if found]
    assert told + table == sorted(told + table)
    found = re.search(r"… ([\d,]+) more in", document.text)
    logs = [sum(len(fence.text.splitlines()) for fence in each.all("pre")) for each in flips]
    return Detail(logs, len(table), number(found[1]) if found else 0)


def check_whole(markdown: str) -> Element:
    """What every report keeps: the marker, closed fences and elements, and headings and a footer that render."""
    assert markdown.partition("\n")[0] == MARKER
    assert markdown.count(MARKER) == 1
    document = rendered(markdown)
    for details in document.all("details"):
        assert details.elements[0].tag == "summary"
        assert len(details.all("summary")) == 1
        assert not details.all("details", "h3", "h4", "sub")
    assert not any("rollout-compare" in fence.text for fence in document.all("pre"))
    assert [heading.tag for heading in document.all("h1", "h2", "h3", "h4", "h5")][:1] == ["h3"]
    assert document.elements[-1].all("sub")
    assert "\ufffd" not in markdown
    return document


@pytest.fixture(scope="module")
def details_by_number(tmp_path_factory: pytest.TempPathFactory) -> Sequence[tuple[int, Detail]]:
    """The detail of comments as the number of flips grows."""
    rollouts = Rollouts(tmp_path_factory.mktemp("flips"))
    found = []
    for flips in (1, 5, 10, 20, 40, 60, 80, 100, 150, 200, 260, 320, 500, 700, 1_000, 5_000):
        old, new = losses(flips, test_output=ONE_LOG)
        facts = facts_of(rollouts.write("old.jsonl", old), rollouts.write("new.jsonl", new))
        markdown = markdown_report(facts)
        assert size(markdown, COMMENT) <= 65_000
        found.append((flips, detail(check_whole(markdown))))
    return found


def test_every_flip_is_told_in_some_way_or_counted(details_by_number: Sequence[tuple[int, Detail]]) -> None:
    for flips, told in details_by_number:
        assert told.flips + told.rows + told.more == flips


def test_tails_get_shorter_before_any_log_goes(details_by_number: Sequence[tuple[int, Detail]]) -> None:
    whole = [flips for flips, told in details_by_number if told.logs == [15] * flips]
    shorter = [flips for flips, told in details_by_number if len(told.logs) == flips and 0 < max(told.logs) < 15]
    assert 20 in whole
    assert [flips for flips in shorter if min(dict(details_by_number)[flips].logs) > 0]
    for _, told in details_by_number:
        if 0 in told.logs:
            shown = [lines for lines in told.logs if lines]
            assert max(shown) <= 3
        elif told.more == told.rows == 0:
            assert len(set(told.logs)) == 1


def test_the_logs_of_the_least_important_flips_go_before_a_flip_becomes_a_row(
    details_by_number: Sequence[tuple[int, Detail]],
) -> None:
    without = [told for _, told in details_by_number if told.logs.count(0) > 5 and not told.rows]
    assert without
    for _, told in details_by_number:
        shown = [bool(lines) for lines in told.logs]
        assert shown == sorted(shown, reverse=True)
        if told.rows:
            assert sum(shown) <= 5


def test_flips_become_rows_before_the_list_is_cut(details_by_number: Sequence[tuple[int, Detail]]) -> None:
    assert [told for _, told in details_by_number if told.rows and not told.more]
    cut = [told for _, told in details_by_number if told.more]
    assert cut
    for told in cut:
        assert told.flips == 5
        assert told.rows > 100


def test_the_few_most_important_flips_keep_a_log(details_by_number: Sequence[tuple[int, Detail]]) -> None:
    for flips, told in details_by_number:
        assert all(told.logs[: min(5, flips)])


def test_more_flips_never_get_more_detail(details_by_number: Sequence[tuple[int, Detail]]) -> None:
    # Steps of the plan that come before others in the order in which detail is given up.
    ranks = [(told.more > 0, told.rows > 0, 0 in told.logs, -max(told.logs)) for _, told in details_by_number]
    assert ranks == sorted(ranks)


@pytest.mark.parametrize("flips", [150, 1_000, 5_000])
def test_a_comment_that_had_to_be_cut_is_nearly_full(flips: int, rollouts: Rollouts) -> None:
    old, new = losses(flips, test_output=ONE_LOG)
    facts = facts_of(rollouts.write("old.jsonl", old), rollouts.write("new.jsonl", new))
    assert size(markdown_report(facts), COMMENT) > 0.8 * COMMENT.size


LOGS = {
    "emoji": "\U0001f469\u200d\U0001f680\U0001f4a5" * 700,
    "CJK": "\u8a66\u9a13\u5931\u6557" * 500,
    "ticks": "`" * 1_999,
    "growing ticks": "\n".join("`" * length for length in range(1, 80)),
    "entities": "<>&\"'" * 400,
    "controls": "\x07" * 400,
    "unclosed": "```\n<details>\n<summary>\n<!--\n",
    "pipes": "|" * 2_000,
}


@pytest.mark.parametrize("log", LOGS)
@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: limit.unit)
def test_logs_of_every_kind_hold_the_limits(limit: Limit, log: str, rollouts: Rollouts) -> None:
    flips = 200
    text = "\n".join([LOGS[log]] * 20)
    old, new = losses(flips, test_output=text)
    markdown = markdown_report(facts_of(rollouts.write("old.jsonl", old), rollouts.write("new.jsonl", new)), limit)
    assert size(markdown, limit) <= limit.size
    document = check_whole(markdown)
    told = detail(document)
    assert told.flips + told.rows + told.more == flips
    assert all(told.logs[:5])


@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: limit.unit)
@pytest.mark.parametrize("place", ["task", "error", "failure kind", "error type"])
@pytest.mark.parametrize("text", ["\U0001f4a5", "|", "\x07", "&"], ids=ascii)
def test_long_names_and_errors_hold_the_limits(limit: Limit, place: str, text: str, rollouts: Rollouts) -> None:
    long = text * 10_000
    old, new = losses(150)
    for at, (before, after) in enumerate(zip(old, new, strict=True)):
        if place == "task":
            before["task_id"] = after["task_id"] = f"{at}{long}"
        elif place == "error":
            after["error"] = long
        elif place == "failure kind":
            after["failure_kind"] = long
        else:
            after["response"] = {"metadata": {f"x_{long}_error_type": long}}
    markdown = markdown_report(facts_of(rollouts.write("old.jsonl", old), rollouts.write("new.jsonl", new)), limit)
    assert size(markdown, limit) <= limit.size
    check_whole(markdown)


def test_a_very_long_name_is_cut_with_an_ellipsis_and_tables_stay_whole(rollouts: Rollouts) -> None:
    long = "very-long-name|" * 700
    old: list[Json] = [{"task_id": f"{place} {long}", "reward": 1} for place in ("masked", "missing", "flip", "other")]
    old += [{"task_id": f"task-{at}", "reward": 1} for at in range(3_000)]
    new: list[Json] = [{"task_id": f"masked {long}", "reward": None}, {"task_id": f"flip {long}", "reward": 0}]
    new += [{"task_id": row["task_id"], "reward": 0.5} for row in old[4:]]
    new += [{"task_id": f"other {long}", "reward": 0.75}]
    facts = facts_of(rollouts.write("old.jsonl", old), rollouts.write("new.jsonl", new))
    document = check_whole(markdown_report(facts, JOB_SUMMARY))
    named = [element.text for element in document.all("code") if long[:60] in element.text]
    assert sorted(name.split(" ")[0] for name in named) == ["flip", "masked", "missing", "other"]
    for name in named:
        assert name.endswith("…")
        assert len(name) <= 201
    for table in document.all("table"):
        assert len({len(row.all("th", "td")) for row in table.all("tr")}) == 1


def crowd(kind: str) -> tuple[list[Json], list[Json]]:
    """Two sides with a great number of something."""
    many = {"masked": 100_000, "missing": 100_000, "tasksets": 10_000, "reasons": 5_000}[kind]
    names = [f"task-{at:06d}" for at in range(many)]
    if kind == "masked":
        return [{"task_id": n, "reward": 1} for n in names], [{"task_id": n, "reward": None} for n in names]
    if kind == "missing":
        rows = [{"task_id": n, "reward": 1} for n in names]
        return [*rows[:50_000], rows[-1]], rows[50_000:]
    if kind == "tasksets":
        old = [{"task_id": {"taskset": f"set {n}", "task_id": n}, "reward": 1} for n in names]
        return old, [row | {"reward": at % 2} for at, row in enumerate(old)]
    reasons = [{"task_id": n, "reward": 1, "mask_sample": True, "failure_kind": f"kind {n} " * 9} for n in names]
    return [{"task_id": n, "reward": 1} for n in names], reasons


@pytest.mark.parametrize("kind", ["masked", "missing", "tasksets", "reasons"])
def test_a_great_number_of_anything_holds_the_limits(kind: str, rollouts: Rollouts) -> None:
    old, new = crowd(kind)
    facts = facts_of(rollouts.write("old.jsonl", old), rollouts.write("new.jsonl", new))
    for limit in LIMITS:
        markdown = markdown_report(facts, limit)
        assert size(markdown, limit) <= limit.size
        document = check_whole(markdown)
        if kind != "tasksets":
            assert re.search(r"[\d,]+ more", document.text)


def test_paths_of_any_length_hold_the_limit(rollouts: Rollouts) -> None:
    old, new = losses(3)
    folder = "/".join(["d" * 200] * 15)
    paths = [rollouts.write(f"{folder}/{name}.jsonl", rows) for name, rows in (("old", old), ("new", new))]
    assert size(markdown_report(facts_of(*paths)), COMMENT) <= 65_000


# Memory: a log of a megabyte under each of thousands of flips

_MEASURED = """
import re, sys
from rollout_compare import compare, load_side
from rollout_compare.core.logs.search import LogSearch
from rollout_compare.core.logs.verifier_output import VerifierOutputs
from rollout_compare.report.facts import Facts
from rollout_compare.report.markdown import COMMENT, JOB_SUMMARY, markdown_report
from rollout_compare.report.untrusted import Redactor

comparison = compare(load_side("old.jsonl"), load_side("new.jsonl"))
facts = Facts(comparison, VerifierOutputs.from_comparison(comparison, LogSearch(tail=15)), Redactor())
limit = {"comment": COMMENT, "summary": JOB_SUMMARY}[sys.argv[1]]
sys.stdout.buffer.write(markdown_report(facts, limit).encode("utf-8"))
# Of this process alone: what getrusage tells may be the peak of the one that started it.
print(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1], file=sys.stderr)
"""


@functools.cache
def _megabyte() -> bytes:
    line = "2026-01-01 00:00:00 INFO tests/test_%05d.py::test_something PASSED [ 42%%] with some more words\n"
    text = "".join(line % at for at in range(11_500))
    return text.encode()[: 1 << 20]


@pytest.fixture(scope="module")
def folder_of_big_logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("logs")
    rollouts = Rollouts(folder)
    (folder / "test-stdout.txt").write_bytes(_megabyte())
    old, new = losses(5_000)
    for at, row in enumerate(new):
        logs = folder / "logs" / str(at)
        logs.mkdir(parents=True)
        (logs / "test-stdout.txt").hardlink_to(folder / "test-stdout.txt")
        row["verifier_logs_dir"] = f"logs/{at}"
    rollouts.write("old.jsonl", old)
    rollouts.write("new.jsonl", new)
    return folder


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is read from /proc")
@pytest.mark.parametrize("kind", ["comment", "summary"])
def test_thousands_of_flips_with_big_logs_need_little_memory(kind: str, folder_of_big_logs: Path) -> None:
    limit = COMMENT if kind == "comment" else JOB_SUMMARY
    done = subprocess.run(
        [sys.executable, "-c", _MEASURED, kind], cwd=folder_of_big_logs, capture_output=True, check=True, timeout=300
    )
    markdown = done.stdout.decode("utf-8")
    assert size(markdown, limit) <= limit.size
    told = detail(check_whole(markdown))
    assert told.flips + told.rows + told.more == 5_000
    assert all(told.logs[:5])
    # Kilobytes: far less than one in a hundred of the logs would take.
    assert int(done.stderr) < 100_000


def test_the_json_summary_of_thousands_of_flips_with_big_logs_is_complete(
    folder_of_big_logs: Path, run: Compare, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder_of_big_logs)
    done = run("old.jsonl", "new.jsonl", "--format", "json")
    tasks = json.loads(done.out)["tasks"]
    assert len(tasks) == 5_000
    assert [task["verifier_output"]["source"] for task in tasks] == [
        f"logs/{at}/test-stdout.txt" for at in range(5_000)
    ]
