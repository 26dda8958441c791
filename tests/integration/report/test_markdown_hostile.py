"""Text from rollouts, logs and file names in the Markdown report: shown, and never acting."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import Compare, Rollouts
from tests.github import MARKER, rendered

SHA = "da39a3ee5e6b4b0d3255bfef95601890afd80709"
PLACES = (
    "task",
    "masked task",
    "missing task",
    "taskset",
    "error",
    "error type",
    "log",
    "embedded",
    "failure kind",
    "failure message",
    "model",
    "agent",
    "key",
    "old file",
    "new file",
    "logs dir",
)
SNIPPETS = (
    "```",
    "````\n",
    "\n```\n",
    "\r```\r",
    "`",
    "``",
    "~~~\n",
    "|",
    "\\|",
    "\\",
    "\\\\|",
    "| a | b |\n|--|--|\n",
    "\n",
    "\n\n",
    "\r",
    "\r\n",
    "\x0b",
    "\x0c",
    "\x85",
    "\u2028",
    "\u2029",
    "\t",
    " ",
    "    ",
    "# heading\n",
    "\n- item\n",
    "\n> [!CAUTION]\n> quote\n",
    "---\n",
    "===",
    "1. one",
    "[ ] task",
    "<b>",
    "</b>",
    "</summary>",
    "</details>",
    "<details open>",
    "</code></pre>",
    "</table></td>",
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "<!--",
    "-->",
    "--",
    MARKER,
    "<!-- rollout-compare:other -->",
    "<![CDATA[",
    "<?php",
    "&lt;",
    "&#35;",
    "&amp;",
    "![image](http://example.com/x.png)",
    "[link](javascript:alert(1))",
    "[reference]: http://example.com",
    "[a][reference]",
    "*emphasis*",
    "__strong__",
    "~~struck~~",
    "@octocat",
    "@team/reviewers",
    "#1",
    "GH-1",
    "owner/repo#1",
    SHA,
    f"owner/repo@{SHA}",
    "http://example.com",
    "https://github.com/a/b/issues/1",
    "www.example.com",
    "someone@example.com",
    ":tada:",
    "$math$",
    "$$\nmath\n$$",
    "[^1]",
    "\n[^1]: note\n",
    "{{ 7 * 7 }}",
    "{% for x in y %}",
    "{# comment #}",
    "\x1b[31mred\x1b[0m",
    "\x1b]8;;http://example.com\x07link\x1b]8;;\x07",
    "\x1b[2J",
    "\x1b[1A",
    "\x9b1A",
    "\x1b]0;title",
    "\x00",
    "\x07",
    "\x08\x08",
    "\x7f",
    "\u202e",
    "\u2066",
    "\u2069",
    "\u200b",
    "\u200d",
    "\ufeff",
    "\u00ad",
    "\U000e0041",
    "\ud800",
    "\udc00",
    "\U0001f468\u200d\U0001f469",
    "::error::x",
    "::add-mask::x",
    "##[group]x",
    "\ufffc",
    "\uffff",
)
# Nothing in a report may be of these: they are invisible, turn text around, or are read as the end of a line.
ACTING = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)
# What GitHub makes links and mentions of in text that is no code.
REFERENCES = re.compile(r"@\w|#\d|GH-\d|[0-9a-f]{7,40}\b|https?:|www\.|\$|:\w+:|\[\^", re.IGNORECASE)

texts = st.one_of(
    st.sampled_from(SNIPPETS),
    st.text(min_size=1, max_size=20),
    st.text(st.characters(categories=("Cc", "Cf", "Cs", "Zl", "Zp", "Zs", "Po", "Sk", "Sm")), min_size=1, max_size=20),
    st.lists(st.one_of(st.sampled_from(SNIPPETS), st.text(max_size=3)), min_size=1, max_size=5).map("".join),
    st.text("`\\| \n\r<>&", min_size=1, max_size=12),
).filter(bool)


def file_name(text: str) -> str:
    """The text as far as a file's name may hold it."""
    name = text.replace("/", "\u2215").replace("\0", "\u2400")
    return os.fsdecode(os.fsencode(re.sub("[\ud800-\udfff]", "\udcff", name))[:150])


def write_report(folder: Path, run: Compare, said: dict[str, str], *options: str) -> str:
    """The report of a comparison with a section of each kind, into which these texts are put at their places."""
    text = dict.fromkeys(PLACES, "word") | said
    folder.mkdir(parents=True, exist_ok=True)
    logs = f"logs {file_name(text['logs dir'])}.txt"
    (folder / logs).write_bytes(f"first\n{text['log']}\nlast\n".encode("utf-8", "surrogatepass"))
    # The name of a field is one line; dots in it would part it.
    key = text["key"].replace(".", "\u2024").replace("\r", "").replace("\n", "")[:50]
    names = {"flip": text["task"], "masked": text["masked task"], "missing": text["missing task"]}

    def row(place: str, taskset: str, reward: float | None, **more: Any) -> dict[str, Any]:
        return {
            f"key {key}": {"taskset": taskset, "task_id": f"{place} {names.get(place, '')}"},
            "reward": reward,
        } | more

    own = f"set {text['taskset']}"
    maker = {"agent_ref": {"name": f"agent {text['agent']}"}, "response": {"model": f"model {text['model']}"}}
    old = [
        row("flip", own, 1, **maker),
        row("embedded", own, 1),
        row("erring", "set", 1),
        row("typed", "set", 1),
        row("measured", own, 0, test_output="unused"),
        row("masked", own, 1),
        row("reasoned", own, 1),
        row("missing", own, 1),
        row("failed", own, 1),
        row("same", "set", 1),
    ]
    new = [
        row("flip", own, 0, verifier_logs_dir=logs, response={"model": "model"}),
        row("embedded", own, 0, test_output=f"first\n{text['embedded']}\nlast"),
        row("erring", "set", 0, error=f"error {text['error']}", test_output="one\ntwo"),
        row(
            "typed",
            "set",
            0,
            response={"metadata": {"x_error_type": f"type {text['error type']}"}},
            verifier_logs_dir=f"none {file_name(text['logs dir'])}",
        ),
        row("measured", own, 1, failure_kind=f"kind {text['failure kind']}"),
        row("masked", own, 0, mask_sample=True),
        row("reasoned", own, None, mask_sample=True, failure_kind=f"kind {text['failure kind']}"),
        row("same", "set", 1),
    ]
    failure = row("failed", own, None) | {
        "_ng_failure_class": f"class {text['failure kind']}",
        "_ng_failure_message": f"message {text['failure message']}",
    }
    rollouts = Rollouts(folder)
    paths = [
        rollouts.write(f"old {file_name(text['old file'])}.jsonl", old),
        rollouts.write(f"new {file_name(text['new file'])}.jsonl", new, [failure]),
    ]
    written = folder / "report.md"
    done = run(*paths, f"--key=key {key}", "--logs-root", folder, "--markdown", written, *options)
    assert done.status == 0, done.err
    assert not ACTING.search(done.out)
    return written.read_bytes().decode("utf-8")


def words(markdown: str) -> str:
    """The text of a report that is no code, but for the numbers of lines, which depend on the logs."""
    return re.sub(r"last \d+ lines? of", "last lines of", rendered(markdown).running_text)


@pytest.fixture(scope="session")
def plain_report(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Compare], str]:
    reports: list[str] = []

    def report(run: Compare) -> str:
        if not reports:
            reports.append(write_report(tmp_path_factory.mktemp("plain"), run, {}))
        return reports[0]

    return report


def check(markdown: str, plain: str) -> None:
    assert markdown.partition("\n")[0] == MARKER
    assert markdown.count(MARKER) == 1
    assert not ACTING.search(markdown)
    assert rendered(markdown).shape == rendered(plain).shape
    assert words(markdown) == words(plain)


def test_the_plain_report_has_every_kind_of_section_and_refers_to_nothing(
    run: Compare, plain_report: Callable[[Compare], str]
) -> None:
    document = rendered(plain_report(run))
    assert [heading.running_text.strip() for heading in document.all("h3", "h4")] == [
        "Rollout comparison",
        "Regressed · 2",
        "Improved · 1",
        "Flipped with an agent error · 2",
    ]
    summaries = [summary.text for summary in document.all("summary")]
    assert "Masked · 3" in summaries
    assert "Missing · 1" in summaries
    assert "By taskset" in " ".join(summaries)
    assert document.text.count("word") >= len(PLACES)
    assert not document.all("a", "img")
    assert not REFERENCES.search(words(plain_report(run)))


@pytest.mark.parametrize("snippet", SNIPPETS, ids=lambda snippet: ascii(snippet)[1:-1][:30])
def test_a_hostile_text_changes_no_structure_wherever_it_stands(
    snippet: str, tmp_path: Path, run: Compare, plain_report: Callable[[Compare], str]
) -> None:
    check(write_report(tmp_path, run, dict.fromkeys(PLACES, snippet)), plain_report(run))


@pytest.mark.parametrize("place", PLACES)
def test_a_marker_in_the_data_is_not_taken_for_ours(
    place: str, tmp_path: Path, run: Compare, plain_report: Callable[[Compare], str]
) -> None:
    check(write_report(tmp_path, run, {place: MARKER}), plain_report(run))


@settings(max_examples=100)
@given(said=st.dictionaries(st.sampled_from(PLACES), texts, min_size=1))
def test_whatever_the_texts_the_structure_is_that_of_plain_words(
    said: dict[str, str],
    tmp_path_factory: pytest.TempPathFactory,
    run: Compare,
    plain_report: Callable[[Compare], str],
) -> None:
    check(write_report(tmp_path_factory.mktemp("hostile"), run, said), plain_report(run))
