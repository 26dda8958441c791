"""What GitHub makes of the Markdown report: headings, tables, flips to open, and nothing broken."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from rollout_compare import compare, load_side
from rollout_compare.core.logs.search import LogSearch
from rollout_compare.core.logs.verifier_output import VerifierOutputs
from rollout_compare.report.facts import Facts
from rollout_compare.report.markdown import Link, ReportContext, markdown_report
from rollout_compare.report.untrusted import Redactor
from tests.conftest import Compare, Json, Rollouts, Summary
from tests.github import MARKER, Element, rendered, table_rows
from tools.golden import cases, prepare

ALERTS = ("[!NOTE]", "[!WARNING]", "[!TIP]", "[!CAUTION]")
SECTIONS = ("Regressed", "Improved", "Flipped with an agent error", "Causes")


@pytest.fixture
def markdown(run: Compare, rollouts: Rollouts) -> Callable[..., str]:
    """The report on two sides' rows."""

    def call(old: list[Json], new: list[Json], *options: object, failures: list[Json] | None = None) -> str:
        paths = rollouts.write("old.jsonl", old), rollouts.write("new.jsonl", new, failures)
        done = run(*paths, "--format", "markdown", *options)
        assert done.status == 0, done.err
        return done.out

    return call


def flips(document: Element) -> list[Element]:
    """The elements of the flips, each of which can be opened."""
    return [each for each in document.all("details") if " → " in each.all("summary")[0].text]


def outside_fences(markdown: str) -> list[str]:
    lines, ticks = [], ""
    for line in markdown.split("\n"):
        fence = re.match("`{3,}", line)
        if ticks:
            ticks = "" if line == ticks else ticks
        elif fence:
            ticks = fence[0]
            lines.append("a fence")
        else:
            lines.append(line)
    return lines


def cells(line: str) -> int:
    """How many cells a line of a table has, by the rule that an escaped pipe begins none."""
    return len(re.findall(r"(?<!\\)\|", line)) - 1


@pytest.mark.parametrize("case", cases())
def test_a_report_is_well_formed(case: str, tmp_path: Path, run: Compare, monkeypatch: pytest.MonkeyPatch) -> None:
    place, inputs = prepare(case, tmp_path)
    monkeypatch.chdir(place)
    markdown = run(*inputs, "--format", "markdown").out
    assert markdown.partition("\n")[0] == MARKER
    assert markdown.endswith("\n")
    assert "\n\n\n" not in "\n".join(outside_fences(markdown))
    # The reader of the tree takes no element that is left open or closed twice.
    document = rendered(markdown)
    assert [heading.tag for heading in document.all("h1", "h2", "h3", "h5", "h6")] == ["h3"]
    for heading in document.all("h4"):
        assert re.fullmatch(rf"({'|'.join(SECTIONS)}) · [1-9][\d,]*", heading.text)
    assert document.elements[2].tag == "blockquote"
    assert document.elements[2].text.strip().startswith(ALERTS)
    for details in document.all("details"):
        assert details.elements[0].tag == "summary"
        assert details.elements[0].text
        assert len(details.all("summary")) == 1
        assert len(details.elements) > 1
    for table in document.all("table"):
        assert len({len(row) for row in table_rows(table)}) == 1
        assert all(row[0] for row in table_rows(table)[1:])
    # A cell too many is dropped without a word: so the lines are counted too.
    tables = "\n".join(line if line.startswith("|") else "" for line in outside_fences(markdown)).split("\n\n")
    for lines in filter(None, (table.strip("\n") for table in tables)):
        assert len({cells(line) for line in lines.split("\n")}) == 1
    assert len(document.all("table")) == len([table for table in tables if table.strip("\n")])
    assert not document.all("a", "img", "script", "section")
    assert document.elements[-1].all("sub")[0].text.startswith("rollout-compare ")


@pytest.mark.parametrize("case", cases())
def test_every_flip_can_be_opened_and_shows_its_log(
    case: str, tmp_path: Path, run: Compare, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, inputs = prepare(case, tmp_path)
    monkeypatch.chdir(place)
    document = rendered(run(*inputs, "--format", "markdown").out)
    summary = run(*inputs, "--format", "json").json
    counts = summary["counts"]
    assert len(flips(document)) == counts["flipped"] + counts["flipped_agent_error"]
    assert bool(flips(document)) == bool(document.all("h4"))
    sources = {task["task"]: task["verifier_output"]["source"] for task in summary["tasks"] if task["verifier_output"]}
    for flip in flips(document):
        source = sources[next(task for task in sources if escaped(task) == flip.all("summary")[0].all("code")[0].text)]
        fences = [element for element in flip.elements if element.tag == "pre"]
        assert len(fences) == len(flip.all("pre")) == (0 if source.startswith("unavailable") else 1)
    assert len(document.all("pre")) == sum(len(flip.all("pre")) for flip in flips(document))


def escaped(task: str) -> str:
    """A name as a report shows it."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in task)


def test_flips_are_in_order_of_what_was_lost_then_by_name(markdown: Callable[..., str]) -> None:
    rewards = {
        "c": (1, 0),
        "a": (1, 0.5),
        "b": (1, 0),
        "f": (0, 0.5),
        "e": (0, 1),
        "d": (0, 1),
        "h": (1, 0),
        "g": (0, 1),
    }
    old = [{"task_id": name, "reward": before} for name, (before, _) in rewards.items()]
    new: list[Json] = [{"task_id": name, "reward": after} for name, (_, after) in rewards.items()]
    for row in new:
        if row["task_id"] in "gh":
            row["error"] = "broken"
    document = rendered(markdown(old, new))
    assert [heading.text for heading in document.all("h4")] == [
        "Regressed · 3",
        "Improved · 3",
        "Flipped with an agent error · 2",
    ]
    assert [flip.all("summary")[0].all("code")[0].text for flip in flips(document)] == list("bcadefhg")


def test_a_summary_line_tells_task_change_evidence_and_error(markdown: Callable[..., str]) -> None:
    old = [{"task_id": "t", "reward": 1}, {"task_id": "u", "reward": 1}, {"task_id": "u", "reward": 0}]
    new = [{"task_id": "t", "reward": 0, "error": "first\nlast"}, {"task_id": "u", "reward": 0.25}]
    summaries = [flip.all("summary")[0].text for flip in flips(rendered(markdown(old, new)))]
    assert summaries == [
        "u · 0.5 → 0.25 · 2 v 1 rows · too few repeats, p 1",
        "t · 1 → 0 · single run · new: error: last",
    ]


def test_a_flip_tells_what_each_side_reports(markdown: Callable[..., str]) -> None:
    old = [{"task_id": "t", "reward": reward} for reward in (1, 0)]
    new = [{"task_id": "t", "reward": 0, "failure_kind": "tests_failed", "test_output": "a\nb\nc"}] * 2
    (flip,) = flips(rendered(markdown(old, new, "--tail", 2)))
    assert [element.text for element in flip.all("p")] == [
        "old · rewards 1, 0",
        "new · rewards 0, 0 · measured failure tests_failed",
        "new · last 2 lines of row field test_output",
    ]
    assert flip.all("pre")[0].text == "b\nc\n"


@pytest.mark.parametrize(("side", "alert"), [
    ({"reward": 0}, "[!WARNING]"), ({"reward": 1}, "[!TIP]"), ({"reward": 0.5}, "[!NOTE]"),
])  # fmt: skip
def test_the_verdict_has_the_colour_of_what_it_says(side: Json, alert: str, markdown: Callable[..., str]) -> None:
    names = [f"t{number}" for number in range(20)]
    old = [{"task_id": name, "reward": 0.5} for name in names]
    new = [{"task_id": name} | side for name in names]
    quote = rendered(markdown(old, new)).all("blockquote")[0]
    assert quote.text.strip().startswith(alert)
    assert quote.all("strong")


def test_what_cannot_be_compared_is_a_caution(markdown: Callable[..., str]) -> None:
    document = rendered(markdown([{"task_id": "a", "reward": 1}], [{"task_id": "b", "reward": 1}]))
    assert document.all("blockquote")[0].text.strip().startswith("[!CAUTION]")


def test_a_report_without_change_is_short(markdown: Callable[..., str]) -> None:
    rows = [{"task_id": f"t{number}", "reward": number % 2} for number in range(20)]
    report = markdown(rows, [row | {"made_by": "new"} for row in rows])
    assert Counter(element.tag for element in rendered(report).elements) == Counter(
        {"#comment": 1, "h3": 1, "blockquote": 1, "table": 1, "p": 1}
    )
    assert len(report) < 1_000


def test_masked_tasks_are_grouped_by_reason_and_long_lists_collapse(markdown: Callable[..., str]) -> None:
    old = [{"task_id": f"t{number:02d}", "reward": 1} for number in range(12)]
    new = [row | {"reward": None} for row in old[:7]] + [row | {"mask_sample": True} for row in old[7:10]]
    document = rendered(markdown(old, new))
    masked, missing = (each for each in document.all("details") if each.all("table"))
    assert masked.all("summary")[0].text == "Masked · 10"
    assert ("open", None) not in masked.attributes
    header, *rows = table_rows(masked.all("table")[0])
    assert header == ["reason", "tasks", ""]
    assert [row[:2] for row in rows] == [["new: no reward", "7"], ["new: mask_sample", "3"]]
    assert rows[1][2] == "t07, t08, t09"
    assert missing.all("summary")[0].text == "Missing · 2"
    assert any(name == "open" for name, _ in missing.attributes)
    assert table_rows(missing.all("table")[0])[1:] == [["old only", "2", "t10, t11"]]


def test_the_table_of_classes_has_the_counts_of_the_summary(
    markdown: Callable[..., str], summary: Summary, rollouts: Rollouts
) -> None:
    old = [{"task_id": f"t{number:02d}", "reward": 1} for number in range(10)]
    new = [row | {"reward": reward} for row, reward in zip(old, (1, 1, 1, 0, 0, 0.5, None, 0), strict=False)]
    new[7]["error"] = "broken"
    old[5]["reward"] = 0
    document = rendered(markdown(old, new))
    counts = summary(rollouts.folder / "old.jsonl", rollouts.folder / "new.jsonl")["counts"]
    (table,) = (table for table in document.all("table") if table_rows(table)[0][0] == "class")
    assert table_rows(table)[1:] == [
        ["identical", "3", ""],
        ["flipped", "3", "old wins 2 · new wins 1"],
        ["flipped, agent error", "1", "rerun before counting"],
        ["masked", "1", "old 0 · new 1"],
        ["missing", "2", "old only 2 · new only 0"],
    ]
    assert [counts[name] for name in ("identical", "flipped", "flipped_agent_error", "masked", "missing")] == [
        int(row[1]) for row in table_rows(table)[1:]
    ]


def test_verdict_and_numbers_read_as_in_the_other_reports(
    markdown: Callable[..., str], run: Compare, rollouts: Rollouts
) -> None:
    old = [{"task_id": f"t{number:02d}", "reward": number % 2} for number in range(30)]
    new = [row | {"reward": (number % 3) / 2} for number, row in enumerate(old)]
    document = rendered(markdown(old, new))
    paths = rollouts.folder / "old.jsonl", rollouts.folder / "new.jsonl"
    text, summary = run(*paths).out, run(*paths, "--format", "json").json
    sentence = summary["verdict"]["sentence"]
    assert sentence in document.all("blockquote")[0].text
    assert text.startswith(sentence + "\n")
    row = table_rows(document.all("table")[0])[1]
    for cell in row[1:]:
        assert cell in text


def test_the_command_to_run_it_again_is_quoted_for_a_shell(rollouts: Rollouts, run: Compare) -> None:
    paths = [
        rollouts.write(f"it's {name}.jsonl", [{"task_id": "t", "reward": reward}])
        for name, reward in (("old", 1), ("new", 0))
    ]
    document = rendered(run(*paths, "--format", "markdown").out)
    (command,) = (code.text for code in document.all("code") if code.text.startswith("rollout-compare "))
    quoted = [f"'{path}'".replace("it's", "it'\"'\"'s") for path in map(str, paths)]
    assert command == f"rollout-compare {quoted[0]} {quoted[1]}"


HOSTILE = "a|b `c` </sub> <!-- x --> @octocat #1\n# heading"


def test_a_title_references_and_links_are_shown_and_never_act(rollouts: Rollouts) -> None:
    sides = [
        load_side(str(rollouts.write(f"{name}.jsonl", [{"task_id": "t", "reward": reward}])))
        for name, reward in (("old", 1), ("new", 0))
    ]
    comparison = compare(*sides)
    facts = Facts(comparison, VerifierOutputs.from_comparison(comparison, LogSearch(tail=15)), Redactor())
    links = (Link("the run", "https://github.com/o/r/actions/runs/1"), Link("bad|words", "javascript:alert(1)"))

    def report(words: str) -> str:
        setting = ReportContext("math-2", words, "run 17", words, words, links, attempt=3)
        return markdown_report(facts, setting=setting)

    markdown, plain = report(HOSTILE), report("words")
    assert markdown.split("\n")[:2] == ["<!-- rollout-compare:math-2 -->", "<!-- run 17 -->"]
    assert rendered(markdown).shape == rendered(plain).shape
    assert rendered(markdown).running_text == rendered(plain).running_text
    assert [link.attributes for link in rendered(markdown).all("a")] == [(("href", links[0].url),)]
    assert "bad|words" in rendered(markdown).running_text
    assert "attempt 3" in rendered(markdown).text
    assert markdown.count("a|b") == 3  # the title, the options and the commit
