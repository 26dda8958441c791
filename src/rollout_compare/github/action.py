"""The Action: compares, writes the report files, comments, adds to the job summary, sets the outputs.

A step is a report, not a gate. It fails only when an input cannot be read, or when a setting is invalid. Whatever else
goes wrong, such as a comment that may not be made, is a warning, and the step goes on.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import NoReturn

from rollout_compare.core.errors import CompareInputError, UsageError
from rollout_compare.core.reading.digest import digest_of
from rollout_compare.core.redaction import shortened
from rollout_compare.github.api.clock import Clock, SystemClock
from rollout_compare.github.artifacts.upload import Uploads, upload_reports
from rollout_compare.github.comments.comment import Posted, Stamp
from rollout_compare.github.context import Context, prepare
from rollout_compare.github.runner import Commands, free_place, made_folder
from rollout_compare.github.settings import OUTPUTS, Settings, count_outputs
from rollout_compare.github.sides import Inputs, fetch
from rollout_compare.output import OutputError, described, settle_streams, whole_file
from rollout_compare.pipeline import Reports, Request
from rollout_compare.report.budget import Limit
from rollout_compare.report.markdown import (
    COMMENT,
    JOB_SUMMARY,
    Link,
    ReportContext,
    markdown_report,
    unreadable_report,
)
from rollout_compare.report.template import TemplateError
from rollout_compare.report.untrusted import Redactor, label

_REPORT, _UNREADABLE, _MISUSED, _TERMINATED = 0, 1, 2, 143
_SHORT_SHA = 7
_LONGEST_TITLE = 200
_FILES = {"summary-path": "summary.json", "markdown-path": "report.md", "html-path": "report.html"}


def entry() -> NoReturn:
    """The `rollout-compare-action` command."""
    # As the first process of a container, Python would ignore this signal.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(_TERMINATED))
    workspace = os.environ.get("GITHUB_WORKSPACE", "")
    if workspace:
        with contextlib.suppress(OSError):
            os.chdir(workspace)
    try:
        status = main(os.environ)
    finally:
        settle_streams()
    sys.exit(status)


def main(
    environment: Mapping[str, str],
    *,
    write: Callable[[str], None] | None = None,
    clock: Clock | None = None,
) -> int:
    """Run the Action in the current folder, the workspace, and return the exit status of the step."""
    redact = Redactor.from_environment(environment)
    commands = Commands(write or _write, redact)
    try:
        settings = Settings.from_environment(environment)
        redact = Redactor.from_environment(
            environment, [settings.github_token.get_secret_value()], patterns=settings.redact
        )
        commands = Commands(write or _write, redact)
        context = prepare(settings, environment, commands, redact, clock or SystemClock())
        return run(context)
    except UsageError as fault:
        commands.error(str(fault))
        return _MISUSED
    except MemoryError:
        commands.error("not enough memory for these inputs")
        return _UNREADABLE
    except Exception as fault:  # noqa: BLE001 - a traceback may hold data, which the runner would read as commands
        place = traceback.extract_tb(fault.__traceback__)[-1]
        where = f"{os.path.basename(place.filename)}:{place.lineno}"
        commands.error(f"this is a bug in rollout-compare, please report it: {type(fault).__name__} at {where}")
        return _UNREADABLE


def _write(text: str) -> None:
    if sys.stdout is not None:
        # A step whose annotations nobody takes still has its comment, its files and its outputs.
        with contextlib.suppress(OSError):
            sys.stdout.buffer.write(text.encode("utf-8", "replace"))
            sys.stdout.buffer.flush()


def run(context: Context) -> int:
    """Fetch what a step is asked to compare, and report. The exit status of the step."""
    with contextlib.closing(context.client), contextlib.ExitStack() as stack:
        try:
            inputs = fetch(context, stack)
        except CompareInputError as fault:
            return _report_unreadable(context, fault, context.redact)
        # Logs are read while reports are written, so the unpacked artifacts stay until here.
        return report(context, inputs)


def report(context: Context, inputs: Inputs) -> int:
    """Compare, and report in all places that the inputs name. The exit status of the step."""
    redact = context.redact.branch(inputs.stand_ins)
    try:
        reports = Reports.from_request(_request(context, inputs), redact, with_html=True)
    except CompareInputError as fault:
        return _report_unreadable(context, fault, redact)
    said = replace(_report_context(context, redact), options=reports.options, downloads=inputs.downloads)
    changed = _has_changed(reports)
    folder = _write_files(context, reports, said)
    # First of all, so that the comment and the job summary can link to the artifacts.
    uploads = _upload(context, folder)
    posted = _comment(context, reports, said, uploads, create=context.settings.comment == "always" or changed)
    linked = uploads.linked(said)
    _summarize(context, lambda limit: _markdown(context, reports, limit, linked))
    is_empty = any(warning.code == "empty_side" for warning in reports.comparison.warnings)
    tell = context.commands.warning if is_empty else context.commands.notice
    tell(label(reports.comparison.verdict.sentence))
    outputs = _outputs(reports, changed=changed, folder=folder, posted=posted) | uploads.outputs()
    context.files.set_outputs((name, outputs.get(name, "")) for name in OUTPUTS)
    return _REPORT


def _report_unreadable(context: Context, fault: CompareInputError, redact: Redactor) -> int:
    """Say that an input cannot be read, also where an older report may stand. The exit status of the step."""
    message = described(fault, redact)
    said = _report_context(context, redact)
    stamp = Stamp(context.event.run, context.decision.head_sha, "")
    stamped = replace(said, run_line=stamp.text())
    context.posting.comment(lambda _: unreadable_report(message, stamped), stamp, create=False)
    _summarize(context, lambda _: unreadable_report(message, said))
    context.commands.error(f"{message}; {context.workspace.visible()}" if fault.is_missing else message)
    return _UNREADABLE


def _request(context: Context, inputs: Inputs) -> Request:
    settings, path, sides = context.settings, context.workspace.path, inputs.sides
    return Request(
        sides.old.paths,
        sides.new.paths,
        old_key=settings.key,
        new_key=settings.key,
        old_where=[*settings.where, *settings.old_where],
        new_where=[*settings.where, *settings.new_where],
        margin=settings.margin,
        count_as_zero=settings.count_as_zero,
        tail=settings.tail,
        logs_roots=list(map(path, settings.logs_root)),
        old_logs_roots=list(map(path, settings.old_logs_root)),
        new_logs_roots=list(map(path, settings.new_logs_root)),
        verifier_fields=settings.verifier_fields,
        baseline=inputs.baseline,
        baseline_max_age=settings.baseline_max_age,
        no_baseline=inputs.no_baseline,
        old_unpacked=sides.old.roots([*settings.old_logs_root, *settings.logs_root]),
        new_unpacked=sides.new.roots([*settings.new_logs_root, *settings.logs_root]),
        bring=inputs.bring,
        bring_document=inputs.bring_document,
        format_in=settings.format,
        reward=settings.reward,
    )


def _report_context(context: Context, redact: Redactor) -> ReportContext:
    settings, event, decision = context.settings, context.event, context.decision
    title = [settings.title, f"pull request {decision.queue_number}" if decision.queue_number else ""]
    return ReportContext(
        comment_id=settings.comment_id,
        title=shortened(" · ".join(filter(None, title)), _LONGEST_TITLE, redact),
        commit=decision.head_sha[:_SHORT_SHA],
        links=(Link("workflow run", event.run_url),) if event.run_url else (),
        attempt=event.run.attempt or None,
    )


def _markdown(context: Context, reports: Reports, limit: Limit, said: ReportContext) -> str:
    return markdown_report(reports.facts(), limit, said, context.template)


def _write_files(context: Context, reports: Reports, said: ReportContext) -> str | None:
    """Write the report files, and return their folder; None, with a warning, when they could not be written."""
    try:
        folder = made_folder(context.workspace, context.settings.report_dir)
        texts: dict[str, Callable[[], Iterable[str]]] = {
            "summary.json": reports.json,
            "report.md": lambda: [_markdown(context, reports, COMMENT, said)],
            "report.html": reports.html,
        }
        for name, pieces in texts.items():
            path = os.path.join(folder, name)
            free_place(path)
            with whole_file(path, reports.input_files) as file:
                file.write(pieces())
            context.workspace.give_to_owner(path)
    except TemplateError:
        raise
    except (OutputError, OSError, UsageError) as fault:
        context.commands.warning(f"the report files could not be written: {fault}")
        return None
    return folder


def _upload(context: Context, folder: str | None) -> Uploads:
    """Upload the report files, if that is wanted; what could not be uploaded is a warning."""
    settings = context.settings
    if not settings.upload_artifact or folder is None:
        return Uploads()
    return upload_reports(
        {file: os.path.join(folder, file) for file in _FILES.values()},
        folder,
        settings.artifact_name,
        context.service,
        retention_days=settings.retention_days,
        warn=context.commands.warning,
    )


def _comment(
    context: Context, reports: Reports, said: ReportContext, uploads: Uploads, *, create: bool
) -> list[Posted]:
    stamp = _stamp(context, reports)
    stamped = replace(uploads.linked(said), run_line=stamp.text())
    if not uploads.whole and context.settings.job_summary and context.files.room_for_summary():
        stamped = replace(stamped, elsewhere="the job summary")
    return context.posting.comment(
        lambda size: _markdown(context, reports, COMMENT._replace(size=size), stamped), stamp, create=create
    )


def _stamp(context: Context, reports: Reports) -> Stamp:
    comparison = reports.comparison
    told = (*comparison.sides.map(digest_of), comparison.join.old_key, comparison.join.new_key)
    inputs = hashlib.sha256("\0".join(told).encode("utf-8", "replace")).hexdigest()[:16]
    return Stamp(context.event.run, context.decision.head_sha, inputs)


def _summarize(context: Context, markdown: Callable[[Limit], str]) -> None:
    """Add a report to the job summary, if one is wanted and there is room."""
    if not context.settings.job_summary:
        return
    room = min(context.files.room_for_summary(), JOB_SUMMARY.size)
    try:
        text = markdown(JOB_SUMMARY._replace(size=room)) if room else ""
    except TemplateError:
        # It was fine for the report files, which have more room.
        text = ""
    if text:
        context.files.add_summary(text + "\n")
    else:
        context.commands.warning(
            "the report was not added to the job summary: there is no job summary, or it has no room left"
        )


def _outputs(reports: Reports, *, changed: bool, folder: str | None, posted: list[Posted]) -> dict[str, str]:
    comparison = reports.comparison
    difference = comparison.assessment.statistics.mean_difference
    values = dict(count_outputs(comparison.counts)) | {
        "verdict": comparison.verdict.kind,
        "verdict-sentence": label(comparison.verdict.sentence),
        "changed": "true" if changed else "false",
        "mean-difference": "" if difference is None else repr(difference),
        "report-dir": folder or "",
        "comment-id": "\n".join(str(comment.number) for comment in posted),
        "comment-url": "\n".join(comment.url for comment in posted),
    }
    for name, file in _FILES.items():
        values[name] = os.path.join(folder, file) if folder is not None else ""
    return values


def _has_changed(reports: Reports) -> bool:
    counts = reports.comparison.counts
    # That the baseline is old or some commits away is usual, and no news.
    warnings = [warning for warning in reports.comparison.warnings if not warning.code.startswith("baseline_")]
    return bool(counts["flipped"] or counts["flipped_agent_error"] or warnings)
