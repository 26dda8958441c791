"""The report as one file to open in a browser: what is fixed as tables, the tasks as data for the script in the page.

Nothing is fetched: style and script are part of the file, and a Content-Security-Policy names their hashes, so that
nothing else can act. The file is written piece by piece. Logs come in order of importance, as long as there is room.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import resources
from typing import Any

import jinja2
from markupsafe import Markup

from rollout_compare.core.judging.importance import change_of
from rollout_compare.core.logs.search import VerifierOutput
from rollout_compare.core.logs.verifier_output import LONGEST_TAIL
from rollout_compare.core.redaction import shortened
from rollout_compare.core.schema import Category, TaskComparison, TaskSide
from rollout_compare.core.sentences import counted
from rollout_compare.report.chart import Bar, difference_bars, reward_chart
from rollout_compare.report.facts import SIDES, WINS, Facts, Flip, GroupFigure
from rollout_compare.report.untrusted import is_web_address, label, log_line
from rollout_compare.report.wording import (
    NAME_LIMIT,
    evidence_text,
    joined_by,
    repeats_text,
    reward_text,
    rewards_text,
    told_apart,
)
from rollout_compare.version import VERSION

LISTED = 100_000
"""How many tasks the list holds; of more, those that are not identical."""
LOG_BYTES = 20_000_000
"""How much of the file logs may take at their longest; from there on they are as long as `--tail` says."""
ALL_LOG_BYTES = 40_000_000
"""How much of the file logs may take at all."""
_CLASSES = ("regressed", "improved", "agent_error", "masked", "missing", "identical")
"""The classes of the list, by their numbers in the data."""
_NAMES = 50
"""How many masked and missing tasks are named outside the list, and how many flips are told without the script."""
_LINES = 200
"""Longest table of groups, and longest list of notes."""
_PATHS = 20
_CAUSES = 20
"""How many causes are told outside the list."""
_SAID = 300
"""The longest thing that a side says of a task, in characters; the JSON summary has all of it."""
_ABSENT = "absent"
_MARKUP = {each: f"\\u{ord(each):04x}" for each in "<>&\u2028\u2029"}
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def html_report(facts: Facts) -> Iterator[str]:
    """The text of the file in pieces."""
    template = _environment().get_template("report.html.j2")
    return template.generate(_HtmlPage(facts).context())


@lru_cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.PackageLoader("rollout_compare.report", "templates"),
        # Every text is made harmless first, then escaped.
        autoescape=True,
        finalize=lambda value: label(value) if isinstance(value, str) and not isinstance(value, Markup) else value,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _part_of_page(name: str) -> str:
    return resources.files("rollout_compare.report").joinpath("templates", name).read_text("utf-8")


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")


def _json(value: Any) -> str:
    """JSON that may stand inside a script element: nothing in it can end the element or a line of it."""
    text = _encode(value)
    for character, escape in _MARKUP.items():
        text = text.replace(character, escape)
    return text


@dataclass(frozen=True, slots=True)
class _Group:
    """One taskset or agent with its bar."""

    figure: GroupFigure
    bar: Bar | None


class _HtmlPage:
    """What the template prints. Everything is plain text, but for the data of the script."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._tasks = facts.comparison.tasks

    def context(self) -> dict[str, Any]:
        """The names that the template uses; what takes long comes in pieces, as the page is written."""
        facts = self._facts
        style, script = _part_of_page("report.css"), _part_of_page("report.js")
        verdict_head, verdict_rest = facts.verdict_head
        return {
            "facts": facts,
            "version": VERSION,
            "style": style,
            "style_hash": _hash(style),
            "script": script,
            "script_hash": _hash(script),
            "verdict_head": verdict_head,
            "verdict_rest": verdict_rest,
            "baseline_url": self._baseline_url(),
            "chart": self._chart(),
            "kinds": " and ".join(dict.fromkeys(group.by for group in facts.statistics.groups)),
            "groups": list(self._groups()),
            "top_flips": self._importance[:_NAMES],
            "flips": len(self._importance),
            "keys": (
                joined_by(facts.join.old_key, facts.join.old_prefix_stripped),
                joined_by(facts.join.new_key, facts.join.new_prefix_stripped),
            ),
            "listed": self._listed,
            "identical_left_out": self._identical_left_out,
            "left_out": len(self._tasks) - self._identical_left_out - len(self._listed),
            "names": _NAMES,
            "causes": _CAUSES,
            "lines": _LINES,
            "paths": _PATHS,
            "data": self._data(),
            "logs": self._logs(),
        }

    def _baseline_url(self) -> str:
        baseline = self._facts.comparison.baseline
        return baseline.run_url if baseline is not None and is_web_address(baseline.run_url) else ""

    def _chart(self) -> Any:
        pairs = self._tasks.paired()
        return reward_chart(*pairs.means, shares=self._facts.statistics.rewards_are_shares)

    def _groups(self) -> Iterator[_Group]:
        groups = self._facts.statistics.groups[:_LINES]
        bars = difference_bars([(group.mean_difference, group.interval) for group in groups])
        # The figures go on when there are more groups than are shown.
        return map(_Group, self._facts.groups, bars)

    @cached_property
    def _classes(self) -> dict[int, int]:
        """The class of each task that is not identical, by its position; the most important first."""
        found = {at: _CLASSES.index(section.key) for section in self._facts.sections for at in section.positions}
        others: tuple[Category, Category] = ("masked", "missing")
        for category in others:
            found |= dict.fromkeys(self._tasks.positions(category), _CLASSES.index(category))
        return found

    @cached_property
    def _importance(self) -> list[int]:
        """The flips, the most important first."""
        return [at for section in self._facts.sections for at in section.positions]

    @cached_property
    def _listed(self) -> list[int]:
        if len(self._tasks) <= LISTED:
            return list(range(len(self._tasks)))
        return sorted(list(self._classes)[:LISTED])

    @property
    def _identical_left_out(self) -> int:
        return len(self._tasks) - len(self._classes) if len(self._tasks) > LISTED else 0

    def _data(self) -> Iterator[str]:
        """The rows of the list, the tasksets that they name by number, and causes with the numbers of their rows."""
        tasksets: dict[str, int] = {}
        causes: dict[str, list[int]] = {}
        separator = ""
        yield '{"rows":['
        for number, at in enumerate(self._listed):
            cause = self._facts.explanation.signatures.get(at)
            if cause is not None:
                causes.setdefault(label(cause), []).append(number)
            taskset = self._tasks.taskset(at)
            place = -1
            if taskset is not None:
                place = tasksets.setdefault(label(shortened(taskset, NAME_LIMIT)), len(tasksets))
            yield separator + _json(self._row(at, place))
            separator = ",\n"
        shared = sorted(causes.items(), key=lambda cause: -len(cause[1]))
        yield f'],\n"tasksets":{_json(list(tasksets))},\n"causes":{_json(shared)}}}'

    def _row(self, at: int, taskset: int) -> list[Any]:
        """A task as report.js reads it: see `FIELDS` there."""
        task = self._tasks[at]
        name = label(shortened(task.task, NAME_LIMIT))
        number = self._classes.get(at, len(_CLASSES) - 1)
        said = [
            [side, what, label(shortened(data, _SAID))]
            for side, told in zip(SIDES, (task.old, task.new), strict=True)
            if told is not None
            for what, data in _said(told)
        ]
        row: list[Any] = [name, number, taskset, *_rewards(task), said]
        if task.winner is None:
            return row if said else row[:-1]
        assert task.old is not None
        assert task.new is not None
        evidence = self._facts.comparison.assessment.evidence[at]
        tags = [WINS[task.winner], repeats_text(task.old, task.new), evidence_text(evidence)]
        return [*row, change_of(task), evidence.p, [tag for tag in tags if tag], at]

    def _logs(self) -> Iterator[tuple[int, str]]:
        """The log of each listed flip by its position, each as long as there is room for it."""
        listed = set(self._listed)
        outputs = _Outputs(self._facts)
        for at in self._importance:
            if at in listed:
                yield at, outputs.next(at, _changed(self._facts.flip(at)))


def _rewards(task: TaskComparison) -> tuple[str, str]:
    if task.old is not None and task.new is not None and task.winner is not None:
        return told_apart(task.old.counted_reward, task.new.counted_reward)
    return _reward(task.old), _reward(task.new)


def _reward(side: TaskSide | None) -> str:
    if side is None:
        return _ABSENT
    return reward_text(None if side.masked is not None else side.counted_reward)


def _said(side: TaskSide) -> Iterator[tuple[str, str]]:
    """What a side reports of a task besides its reward: words of ours, and text from its rows."""
    if side.rows > 1:
        yield f"rewards {rewards_text(side.rewards)}", ""
    said = (
        ("masked", side.masked),
        ("reports", side.agent_error_message),
        ("measured failure", side.failure_kind),
        ("message", side.failure_message),
    )
    for what, data in said:
        if data is not None:
            yield what, data


def _changed(flip: Flip) -> dict[str, Any]:
    """The components and the tests of a flip as report.js reads them; of each pair the second is data."""
    changed: dict[str, Any] = {}
    if flip.components:
        changed["components"] = [[label(each.name), each.change] for each in flip.components]
    if flip.tests is not None:
        tests = [[test.what, label(test.name), test.rates, label(test.message)] for test in flip.tests.tests]
        changed["tests"] = {"summary": flip.tests.summary, "tests": tests, "more": flip.tests.more}
    return changed


class _Outputs:
    """The verifier outputs of flips, the most important one first, within the room that a file has for logs."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._used = 0
        self._limits: list[tuple[int, int | None]] = [(LOG_BYTES, LONGEST_TAIL), (ALL_LOG_BYTES, None)]
        """Up to how many bytes logs have how many lines; as many as are usual for None."""
        self._shown = False
        """Whether any log has a line: none has when none was asked for."""

    def next(self, at: int, changed: dict[str, Any]) -> str:
        """The JSON of the verifier output of the next flip, and of what changed besides."""
        while self._limits:
            limit, lines = self._limits[0]
            text = _json(_log(self._read(at, lines)) | changed)
            size = len(text.encode())
            if self._used + size <= limit:
                self._used += size
                return text
            del self._limits[0]
        output = self._facts.outputs.source(at)
        return _json(_log(output, left_out=output.lines is not None) | changed)

    def _read(self, at: int, lines: int | None) -> VerifierOutput:
        if lines is None or not self._shown:
            usual = self._facts.output(at)
            self._shown = self._shown or bool(usual.lines)
            if lines is None or not usual.lines:
                return usual
        return self._facts.outputs.of(at, lines)


def _log(output: VerifierOutput, *, left_out: bool = False) -> dict[str, Any]:
    """A log as report.js reads it; of its source, words of ours and data in turn."""
    head = f"{output.side.capitalize()} verifier output"
    if left_out:
        head += ", omitted to fit the size limit, of"
    elif output.lines is not None:
        head += f", last {counted(len(output.lines), 'line')} of" if output.lines else ", no lines of"
    text = "\n".join(map(log_line, output.lines)) if output.lines else None
    return {"head": head, "source": list(map(label, output.source.parts)), "text": text}
