"""What the expected.json of a case in tests/cases/causes may hold, and whether reports hold it. All of it is partial:

counts    numbers of the summary
tasks     {name: {cause, tests, old, new, source, source_not}}
          cause: words that the task's cause holds, or null; tests: numbers, and lists that name the same tests,
          one entry each (both parts of `suite::test` in its name), `broke_has` some of them, or null;
          old, new: fields that are equal; source: words that the source of the verifier output holds
causes    [{holds, regressed, improved, masked, tasks}]: the one entry whose signature and example hold the words
apart     [[words], [words]]: entries that are not the same one
groups    how many entries have 3 regressed tasks or more
markdown, text, html, visible    words that this report holds (visible: the Markdown with all folds closed);
          with `_not`: that it does not; with `_lines`: all in one line of it; with `_order`: in this order
tags_not  elements that do not come out of the Markdown
nowhere   words that no report holds
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any

import cmarkgfm
from cmarkgfm.cmark import Options

from tests.conftest import Json

_BLOCKS = frozenset(
    ("p", "li", "tr", "summary", "pre", "details", "blockquote", "table", "br", "h1", "h2", "h3", "h4", "h5", "h6")
)


class Page(HTMLParser):
    """The lines of what GitHub makes of Markdown: all of them, and those that are seen with every fold closed."""

    def __init__(self, markdown: str) -> None:
        super().__init__()
        self.all, self.seen = [""], [""]
        self.tags: set[str] = set()
        self._folds: list[bool] = []
        self._summary = 0
        options = Options.CMARK_OPT_UNSAFE | Options.CMARK_OPT_GITHUB_PRE_LANG
        self.feed(cmarkgfm.github_flavored_markdown_to_html(markdown, options))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self._begin_line(tag)
        if tag == "details":
            self._folds.append("open" in dict(attrs))
        elif tag == "summary":
            self._summary = len(self._folds)

    def handle_endtag(self, tag: str) -> None:
        self._begin_line(tag)
        if tag == "details" and self._folds:
            self._folds.pop()
        elif tag == "summary":
            self._summary = 0

    def _begin_line(self, tag: str) -> None:
        if tag in _BLOCKS:
            self.all.append("")
            self.seen.append("")

    def handle_data(self, data: str) -> None:
        is_seen = all(self._folds) or (bool(self._summary) and all(self._folds[: self._summary - 1]))
        for lines in (self.all, self.seen) if is_seen else (self.all,):
            first, *more = data.split("\n")
            lines[-1] += first
            lines.extend(more)


@dataclass(frozen=True)
class Told:
    """The reports on a case."""

    summary: Json
    text: str
    markdown: str
    html: str


def faults(want: Json, told: Told) -> list[str]:
    """What the reports lack of what is wanted, or hold although they must not."""
    page = Page(told.markdown)
    reports = {
        "markdown": page.all,
        "visible": page.seen,
        "text": told.text.split("\n"),
        "html": html.unescape(told.html).split("\n"),
    }
    found = [*_of_counts(want, told.summary), *_of_tasks(want, told.summary), *_of_causes(want, told.summary)]
    for name, lines in reports.items():
        found += _of_report(want, name, lines)
    found += [f"an element {tag}" for tag in want.get("tags_not", ()) if tag in page.tags]
    everything = "\n".join((told.text, told.markdown, html.unescape(told.html), json.dumps(told.summary)))
    return [*found, *(f"somewhere {words!r}" for words in want.get("nowhere", ()) if words in everything)]


def _of_counts(want: Json, summary: Json) -> Iterator[str]:
    for name, number in want.get("counts", {}).items():
        if summary["counts"][name] != number:
            yield f"{name}: {summary['counts'][name]}"


def _of_tasks(want: Json, summary: Json) -> Iterator[str]:
    tasks = {task["task"]: task for task in summary["tasks"]}
    for name, wanted in want.get("tasks", {}).items():
        task = tasks[name]
        if "cause" in wanted:
            cause = task["cause"]
            missing = [words for words in wanted["cause"] or () if cause is None or words not in cause]
            if missing or (wanted["cause"] is None and cause is not None):
                yield f"{name}: cause {cause!r}"
        if "tests" in wanted:
            yield from (f"{name}: {fault}" for fault in _of_tests(wanted["tests"], task["tests"]))
        for side in ("old", "new"):
            for key, value in wanted.get(side, {}).items():
                if task[side][key] != value:
                    yield f"{name}: {side}.{key} {task[side][key]!r}"
        source = (task["verifier_output"] or {"source": ""})["source"]
        if not all(words in source for words in wanted.get("source", ())):
            yield f"{name}: source {source!r}"
        if any(words in source for words in wanted.get("source_not", ())):
            yield f"{name}: source {source!r}"


def _of_tests(want: Json | None, tests: Json | None) -> Iterator[str]:
    if want is None or tests is None:
        if want is not tests:
            yield f"tests {tests!r}"
        return
    for key, value in want.items():
        if not isinstance(value, list):
            number = len(tests[key]) if isinstance(tests[key], list) else tests[key]
            if number != value:
                yield f"{key} {number!r}"
            continue
        names = [entry["name"] for entry in tests[key.removesuffix("_has")]]
        for test in value:
            match = next((name for name in names if all(part in name for part in test.split("::"))), None)
            if match is None:
                yield f"{key} lacks {test}"
            else:
                names.remove(match)
        if names and not key.endswith("_has"):
            yield f"{key} has besides {names}"


def _of_causes(want: Json, summary: Json) -> Iterator[str]:
    causes: list[Json] = summary["causes"]

    def entries(words: list[str]) -> list[Json]:
        return [each for each in causes if all(word in f"{each['signature']} {each['example']}" for word in words)]

    for wanted in want.get("causes", ()):
        held = entries(wanted["holds"])
        if len(held) != 1:
            yield f"{len(held)} causes hold {wanted['holds']}"
            continue
        for key in ("regressed", "improved", "masked"):
            if wanted.get(key, held[0][key]) != held[0][key]:
                yield f"{wanted['holds']}: {key} {held[0][key]}"
        if not set(wanted.get("tasks", ())) <= set(held[0]["tasks"]):
            yield f"{wanted['holds']}: tasks {held[0]['tasks']}"
    for one, other in want.get("apart", ()):
        if entries(one) == entries(other) or len(entries(one)) != 1:
            yield f"{one} and {other} are not two causes"
    groups = sum(cause["regressed"] >= 3 for cause in causes)
    if want.get("groups", groups) != groups:
        yield f"{groups} groups"


def _of_report(want: Json, name: str, lines: list[str]) -> Iterator[str]:
    flat = list(map(_flat, lines))
    # A line of the text may be broken in two.
    joined = [" ".join(flat[at : at + 2]) for at in range(len(flat))] if name == "text" else flat
    whole = _flat(" ".join(flat))
    yield from (f"{name} lacks {words!r}" for words in want.get(name, ()) if _flat(words) not in whole)
    yield from (f"{name} holds {words!r}" for words in want.get(f"{name}_not", ()) if _flat(words) in whole)
    for wanted in want.get(f"{name}_lines", ()):
        if not any(all(_flat(words) in line for words in wanted) for line in joined):
            yield f"{name} has no line with {wanted}"
    order = [whole.find(_flat(words)) for words in want.get(f"{name}_order", ())]
    if order != sorted(order) or -1 in order:
        yield f"{name} has another order than {want[f'{name}_order']}"


def _flat(text: Any) -> str:
    return " ".join(str(text).replace("->", "→").split())
