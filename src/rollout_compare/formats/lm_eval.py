"""lm-evaluation-harness: samples of tasks, `samples_<task>_<time>.jsonl`, with the `results_<time>.json` beside them.

Layout: as lm_eval up to 0.4.13 writes it, in a folder for each model. A task of the harness is a taskset here, and a
document of it a task. A document has a row for each filter; those of one filter count.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from rollout_compare.core.errors import CompareInputError
from rollout_compare.core.reading.inputs import listed
from rollout_compare.core.reading.lines import Line
from rollout_compare.core.sentences import Marked, field_name, named, quoted, told
from rollout_compare.formats.attempt import Attempt, Reading
from rollout_compare.formats.documents import Layout, lines_of, value_of
from rollout_compare.formats.given import Given
from rollout_compare.formats.marks import fields_of_first_line
from rollout_compare.formats.values import Id, compact, mapping, name, number, sequence, text

NAME = "lm-eval"
TITLE = "lm-eval samples"
ROWS = "document"

_TIME = r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(?:\.\d+)?"
_SAMPLES = re.compile(rf"samples_(?P<task>.+)_(?P<time>{_TIME})\.jsonl", re.DOTALL)
_RESULTS = re.compile(rf"results_(?P<time>{_TIME})\.json")
_MARKS = frozenset({"doc_id", "doc", "target", "arguments"})
_NO_METRICS = frozenset(
    "doc_id filter metrics doc target arguments resps filtered_resps doc_hash prompt_hash target_hash".split()  # noqa: SIM905
)
_LOOKED_AT = 50


class _First(msgspec.Struct):
    """What is read of a line as it comes."""

    doc_id: Any = None
    filter: Any = None
    prompt_hash: Any = None


class _Results(msgspec.Struct):
    model_name: Any = None
    higher_is_better: Any = None


def detect(given: Given) -> bool:
    """Whether this is a file of samples, or a folder of them or of folders of them."""
    if not given.is_folder:
        return fields_of_first_line(given, given.name) >= _MARKS
    return any(_samples(given, folder) for folder in ["", *given.folders()[:_LOOKED_AT]])


def rows(given: Given, reading: Reading) -> Iterator[dict[str, Any]]:
    """A row for each document of each task. Raises CompareInputError when it is not clear which model is meant."""
    files = _files(given, reading)
    results = _all_results(given, files[0].folder)
    models = {found for file in files if (found := text(results.of(file.time).model_name))}
    if len(models) > 1:
        what = f"samples of several models in one folder, name the files of one: {listed(sorted(models))}"
        raise CompareInputError(given.path, what)
    chosen: dict[Marked, list[str]] = {}
    row = 0
    for file in files:
        scoring = _scoring(given, file, reading.reward)
        directions = mapping(mapping(results.of(file.time).higher_is_better).get(str(file.task)))
        scoring.sign = -1.0 if directions.get(str(scoring.metric)) is False else 1.0
        before = row
        model = text(results.of(file.time).model_name)
        why_not = scoring.why_not()
        for found, line in _counted(given, file, scoring):
            if reading.skips(row):
                yield {}
            else:
                attempt = _attempt(found, scoring, why_not)
                attempt.taskset, attempt.model = file.task, model
                if row in reading.shown:
                    attempt.output = _output(line)
                yield attempt.row()
            row += 1
        if row > before:
            chosen.setdefault(scoring.in_words(), []).append(file.task or given.shown(file.member))
        elif scoring.filter is not None:
            pieces = (quoted(given.shown(file.member)), quoted(scoring.filter))
            reading.note(told("no row of {} has the filter {}: it is left out", *pieces))
    if not row and reading.reward is not None:
        raise CompareInputError(given.path, f"no row has the filter of `--reward {reading.reward}`")
    for counts, tasks in chosen.items():
        option = field_name("--reward METRIC,FILTER")
        reading.note(told("{}: {}; {} takes another", named(tasks), counts, option))


@dataclass(frozen=True, slots=True)
class _SampleFile:
    member: str
    task: str | None
    """None when the file's name does not tell."""
    time: str

    @property
    def folder(self) -> str:
        return posixpath.dirname(self.member)


def _samples(given: Given, folder: str) -> list[_SampleFile]:
    found = []
    for member in given.files(folder, ending=".jsonl"):
        parts = _SAMPLES.fullmatch(posixpath.basename(member))
        if parts is not None:
            found.append(_SampleFile(member, parts["task"], parts["time"]))
    return found


def _files(given: Given, reading: Reading) -> list[_SampleFile]:
    """The files to read: of a task that was run several times the newest one."""
    if not given.is_folder:
        parts = _SAMPLES.fullmatch(given.name)
        return [_SampleFile(given.name, parts and parts["task"], parts["time"] if parts else "")]
    found = _samples(given, "")
    if not found:
        models = [folder for folder in given.folders() if _samples(given, folder)]
        if not models:
            raise CompareInputError(given.path, "not lm-eval samples: there is no samples_<task>_<time>.jsonl")
        if len(models) > 1:
            raise CompareInputError(given.path, f"samples of several models, name one of the folders: {listed(models)}")
        found = _samples(given, models[0])
    newest = {file.task: file for file in sorted(found, key=lambda file: file.time)}
    older = [given.shown(file.member) for file in found if newest[file.task] is not file]
    if older:
        reading.note(told("of a task that was run several times the newest samples are read, not {}", named(older)))
    return sorted(newest.values(), key=lambda file: file.member)


@dataclass(frozen=True, slots=True)
class _AllResults:
    by_time: dict[str, _Results]

    def of(self, time: str) -> _Results:
        """The results of the run that ended at this time, else the newest ones."""
        return self.by_time.get(time) or self.by_time[max(self.by_time)]


def _all_results(given: Given, folder: str) -> _AllResults:
    shape = Layout(_Results)
    found = {"": _Results()}
    for member in given.files(folder, ending=".json"):
        parts = _RESULTS.fullmatch(posixpath.basename(member))
        if parts is None:
            continue
        try:
            read = shape.of(given.read(member))
        except (ValueError, RecursionError):
            read = None
        if read is None:
            raise CompareInputError(given.shown(member), "not a JSON object (cut short?)")
        found[parts["time"]] = read
    return _AllResults(found)


@dataclass(slots=True)
class _Scoring:
    """What of a file's rows counts."""

    metric: str | None
    known: list[str]
    offered: list[str]
    """Those of the known metrics that have a number in the first row."""
    filter: str | None
    """None when the rows of the file name no filter."""
    sign: float = 1.0

    @property
    def known_metric(self) -> str | None:
        """The metric, when rows have it."""
        return self.metric if self.metric in self.known else None

    def why_not(self) -> str | None:
        """Why no row has a reward; None when rows may have one."""
        if self.known_metric is not None:
            return None
        absent = "no metric with a number" if self.metric is None else f"no metric {self.metric}"
        return f"{absent}; there are: {', '.join(self.offered)}"

    def in_words(self) -> Marked:
        """What counts."""
        metric = told("there is no metric with a number")
        if self.metric is not None:
            metric = told("the reward is {}", quoted(self.metric))
        lower = told(", with a minus as lower is better") if self.sign < 0 else told("")
        return told(
            "{}{}{}", metric, lower, told("") if self.filter is None else told(", filter {}", quoted(self.filter))
        )


def _scoring(given: Given, file: _SampleFile, reward: str | None) -> _Scoring:
    """The metric and the filter that count, by the first row of a file."""
    first: dict[str, Any] = {}
    for _, _, line in lines_of(given, file.member, Layout(_First)):
        first = mapping(value_of(line))
        break
    metrics = [metric for metric in sequence(first.get("metrics")) if isinstance(metric, str)]
    known = metrics or [field for field in first if field not in _NO_METRICS]
    numeric = [metric for metric in known if number(first.get(metric)) is not None]
    metric, filtered = (numeric[0] if numeric else None), text(first.get("filter"))
    if reward is not None:
        metric = reward
        if reward not in known and "," in reward:
            metric, _, filtered = reward.rpartition(",")
    return _Scoring(metric, known, numeric, filtered)


def _counted(given: Given, file: _SampleFile, scoring: _Scoring) -> Iterator[tuple[Any, Line]]:
    """The rows that count, one a document, each with its line."""
    seen: set[Id] = set()
    for line_number, found, line in lines_of(given, file.member, Layout.with_value(_First, scoring.known_metric)):
        found.doc_id = name(found.doc_id)
        if found.doc_id is None:
            raise CompareInputError(given.shown(file.member), "the row has no `doc_id`", line=line_number)
        if scoring.filter is None:
            # The rows of a filter that has no name come after all those of the one before.
            if found.doc_id in seen:
                continue
            seen.add(found.doc_id)
        elif found.filter != scoring.filter:
            continue
        yield found, line


def _attempt(found: Any, scoring: _Scoring, why_not: str | None) -> Attempt:
    attempt = Attempt(found.doc_id, prompt=text(found.prompt_hash))
    reward = None if scoring.known_metric is None else number(found.value)
    if reward is None:
        attempt.mask("no_number", why_not or f"{scoring.metric} is not a number")
    else:
        attempt.reward = scoring.sign * reward
    return attempt


def _output(line: Line) -> str:
    row = mapping(value_of(line))
    answers = row.get("filtered_resps")
    if isinstance(answers, list) and len(answers) == 1:
        answers = answers[0]
    said = {"target": row.get("target"), "answer": answers}
    return "\n".join(f"{key}: {value if isinstance(value, str) else compact(value)}" for key, value in said.items())
