"""SWE-bench: the summary of an evaluation, the folders of its instances, or both; a summary decides.

Layout: `<model>.<run>.json` beside `logs/run_evaluation/<run>/<model>/<instance>/`, there `report.json` and
`test_output.txt`, as swebench up to 5.0 writes them.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from rollout_compare.core.errors import CompareInputError
from rollout_compare.core.reading.inputs import listed
from rollout_compare.core.sentences import quoted, told
from rollout_compare.formats.attempt import Attempt, Reading
from rollout_compare.formats.documents import object_of
from rollout_compare.formats.given import Given
from rollout_compare.formats.marks import outline
from rollout_compare.formats.values import Id, mapping, name, sequence, text

NAME = "swebench"
TITLE = "SWE-bench run"
ROWS = "instance"

_LOGS = "logs/run_evaluation"
_REPORT = "report.json"
_LISTS = ("completed", "resolved", "unresolved", "empty_patch", "error", "infra_failure", "ambiguous_failure")
_LOOKED_AT = 50
"""How many folders are looked into before it is clear that a folder holds no instances."""


def detect(given: Given) -> bool:
    """Whether this is a summary, or a folder with a summary or with instances."""
    if not given.is_folder:
        return _is_summary(given, given.name)
    return bool(_summaries(given)) or next(_runs(given, _LOOKED_AT), None) is not None


def rows(given: Given, reading: Reading) -> Iterator[dict[str, Any]]:
    """A row for each instance with a prediction. Raises CompareInputError when it is not clear which run is meant."""
    summaries = [given.name] if not given.is_folder else _summaries(given)
    if len(summaries) > 1:
        raise CompareInputError(given.path, f"several SWE-bench summaries, name one of them: {listed(summaries)}")
    if summaries:
        yield from _of_summary(given, summaries[0], reading)
        return
    runs = list(_runs(given))
    if not runs:
        raise CompareInputError(given.path, "not a SWE-bench run: there is neither a summary nor a folder of instances")
    if len(runs) > 1:
        raise CompareInputError(given.path, f"several SWE-bench runs, name one of their folders: {listed(runs)}")
    reading.note(
        told(
            "{}: without the summary of its run, instances with an empty patch are missing instead of 0",
            quoted(given.path),
        )
    )
    yield from _of_folder(given, runs[0])


def _is_summary(given: Given, member: str) -> bool:
    names = outline(given, member)
    # Of a long summary, the first bytes show the counts and a list or two.
    return "resolved_ids" in names or {"resolved_instances", "completed_ids"} <= names


def _summaries(given: Given) -> list[str]:
    return [member for member in given.files(ending=".json") if _is_summary(given, member)]


def _runs(given: Given, most: int | None = None) -> Iterator[str]:
    """The folders of instances: the given one, or those of one or two floors further down (model; run and model)."""
    top = next(filter(given.has_folder, (_LOGS, posixpath.basename(_LOGS))), "")
    if _has_instances(given, top, most):
        yield top
        return
    for run in islice(given.folders(top), most):
        if _has_instances(given, run, most):
            yield run
        else:
            yield from (model for model in islice(given.folders(run), most) if _has_instances(given, model, most))


def _has_instances(given: Given, folder: str, most: int | None) -> bool:
    for instance in islice(given.folders(folder), most):
        whole = mapping(object_of(given.find(f"{instance}/{_REPORT}")))
        report = mapping(whole.get(posixpath.basename(instance)))
        if "resolved" in report or "patch_exists" in report or given.has_file(f"{instance}/run_instance.log"):
            return True
    return False


@dataclass(frozen=True, slots=True)
class _Instances:
    """The folders of a model's instances, by the names of the instances."""

    given: Given
    folders: dict[Id, str]
    model: str | None

    @classmethod
    def in_folder(cls, given: Given, folder: str | None, model: str | None) -> _Instances:
        found = [] if folder is None else given.folders(folder)
        return cls(given, {posixpath.basename(member): member for member in found}, model)

    def attempt(self, instance: Id, report: dict[str, Any]) -> Attempt:
        attempt = Attempt(instance, model=self.model, tests=mapping(report.get("tests_status")))
        output = f"{self.folders.get(instance)}/test_output.txt"
        if instance in self.folders and self.given.has_file(output):
            attempt.logs = output
        return attempt

    def report(self, instance: Id) -> dict[str, Any]:
        """What an instance's report says; nothing when there is none, or it is broken."""
        folder = self.folders.get(instance)
        whole = None if folder is None else object_of(self.given.find(f"{folder}/{_REPORT}"))
        return mapping(mapping(whole).get(str(instance)))


def _of_summary(given: Given, member: str, reading: Reading) -> Iterator[dict[str, Any]]:
    summary = object_of(given.read(member))
    if summary is None:
        raise CompareInputError(given.shown(member), "not a SWE-bench summary: not a JSON object (cut short?)")
    ids = {kind: _ids(summary, kind, given.shown(member)) for kind in ("submitted", *_LISTS, "incomplete")}
    # Other tools that write such a summary may leave lists out.
    submitted = ids["submitted"] or {instance: None for kind in _LISTS for instance in ids[kind]}
    reading.lost += len(ids["incomplete"])
    reasons = mapping(summary.get("failure_reasons"))
    instances = _beside(given, member)
    for instance in submitted:
        if instance in ids["incomplete"]:
            continue
        report = instances.report(instance)
        attempt = instances.attempt(instance, report)
        reason = text(reasons.get(str(instance))) or text(report.get("infra_failure_reason"))
        if instance in ids["error"]:
            attempt.mask("error", reason)
        elif instance in ids["resolved"]:
            attempt.reward = 1.0
        elif instance in ids["empty_patch"]:
            attempt.reward, attempt.failure_kind = 0.0, "empty_patch"
        elif instance in ids["unresolved"] or instance in ids["completed"]:
            is_infra = instance in ids["infra_failure"] or report.get("infra_failure") is True
            _unresolved(attempt, reason, is_infra=is_infra, is_ambiguous=instance in ids["ambiguous_failure"])
        else:
            attempt.mask("not_evaluated", reason)
        yield attempt.row()


def _ids(summary: dict[str, Any], kind: str, path: str) -> dict[Id, None]:
    """The instances of a list of the summary, once each, in its order."""
    found = dict.fromkeys(map(name, sequence(summary.get(f"{kind}_ids"))))
    if None in found:
        raise CompareInputError(path, f"{kind}_ids holds what does not name an instance")
    return {instance: None for instance in found if instance is not None}


def _beside(given: Given, member: str) -> _Instances:
    """The instances of a summary, if they lie beside it in the folder that its name tells of."""
    summary = posixpath.basename(member)
    for run in given.folders(_LOGS):
        for model in given.folders(run):
            # Both may hold dots: only the folders tell where the one ends.
            if summary == f"{posixpath.basename(model)}.{posixpath.basename(run)}.json":
                return _Instances.in_folder(given, model, posixpath.basename(model))
    return _Instances.in_folder(given, None, text(summary.removesuffix(".json").rpartition(".")[0]))


def _of_folder(given: Given, folder: str) -> Iterator[dict[str, Any]]:
    instances = _Instances.in_folder(given, folder, text(posixpath.basename(folder or given.real_root)))
    for instance, member in instances.folders.items():
        if not any(given.has_file(f"{member}/{file}") for file in (_REPORT, "run_instance.log")):
            continue
        report = instances.report(instance)
        attempt = instances.attempt(instance, report)
        reason = text(report.get("infra_failure_reason"))
        if not isinstance(report.get("resolved"), bool):
            attempt.mask("no_report", reason)
        elif report["resolved"]:
            attempt.reward = 1.0
        else:
            _unresolved(attempt, reason, is_infra=report.get("infra_failure") is True, is_ambiguous=False)
        yield attempt.row()


def _unresolved(attempt: Attempt, reason: str | None, *, is_infra: bool, is_ambiguous: bool) -> None:
    attempt.reward, attempt.failure_reason = 0.0, reason
    if is_infra:
        attempt.failure_kind = "infra_failure"
    elif reason or is_ambiguous:
        attempt.failure_kind = "ambiguous_failure"
