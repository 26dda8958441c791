"""The Action: compares, writes the report files, comments, adds the job summary, sets the outputs.

A report, not a gate: the step fails only when an input cannot be read, or for a setting that makes no sense. All else
is done as far as it can be, with a warning for what cannot.
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
from rollout_compare.core.redaction import shortened
from rollout_compare.github.api.client import Client
from rollout_compare.github.api.clock import Clock, SystemClock
from rollout_compare.github.artifacts.service import Service
from rollout_compare.github.artifacts.upload import Uploads, upload_reports
from rollout_compare.github.baselines.origin import origin_of
from rollout_compare.github.comments.comment import Posted, Stamp
from rollout_compare.github.comments.posting import Posting
from rollout_compare.github.event import Event, EventError, decide
from rollout_compare.github.runner import Commands, Files, Workspace, free_place, made_folder
from rollout_compare.github.settings import OUTPUTS, SettingError, Settings, count_outputs
from rollout_compare.github.sides import Fetcher, Tools
from rollout_compare.output import OutputError, described, whole_file
from rollout_compare.pipeline import Reports, Request
from rollout_compare.report.budget import Limit
from rollout_compare.report.by_hand import Download
from rollout_compare.report.markdown import (
    COMMENT,
    JOB_SUMMARY,
    Link,
    ReportContext,
    markdown_report,
    unreadable_report,
)
from rollout_compare.report.template import Template, TemplateError, own_template
from rollout_compare.report.untrusted import Redactor, label
from rollout_compare.version import VERSION

_REPORT, _UNREADABLE, _MISUSED, _TERMINATED = 0, 1, 2, 143
_SHORT_SHA = 7
_LONGEST_TITLE = 200
_FILES = {"summary-path": "summary.json", "markdown-path": "report.md", "html-path": "report.html"}
_USER_AGENT = f"rollout-compare/{VERSION}"


def entry() -> NoReturn:
    """The `rollout-compare-action` command."""
    # As the first process of a container, Python would ignore this signal.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(_TERMINATED))
    workspace = os.environ.get("GITHUB_WORKSPACE", "")
    if workspace:
        with contextlib.suppress(OSError):
            os.chdir(workspace)
    sys.exit(main(os.environ))


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
        return _Step(settings, environment, commands, redact, clock or SystemClock()).run()
    except UsageError as fault:
        commands.error(str(fault))
        return _MISUSED
    except MemoryError:
        commands.error("not enough memory for these inputs")
        return _UNREADABLE
    except Exception as fault:  # noqa: BLE001 - a traceback may hold data, which the runner would read as commands
        place = traceback.extract_tb(fault.__traceback__)[-1]
        where = f"{os.path.basename(place.filename)}:{place.lineno}"
        commands.error(f"a fault of rollout-compare itself, please report it: {type(fault).__name__} at {where}")
        return _UNREADABLE


def _write(text: str) -> None:
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))
    sys.stdout.buffer.flush()


class _Step:
    def __init__(
        self,
        settings: Settings,
        environment: Mapping[str, str],
        commands: Commands,
        redact: Redactor,
        clock: Clock,
    ) -> None:
        self._settings = settings
        self._commands = commands
        self._redact = redact
        self._clock = clock
        self._environment = environment
        self._workspace = Workspace(environment)
        self._files = Files(environment, commands.warning)
        self._event = self._read_event(environment)
        self._decision = decide(self._event, settings.pr_number)
        self._posting = Posting(settings, self._event.repository, self._decision, self._client, commands)
        self._downloads: tuple[Download, ...] = ()
        self._template = None if settings.template is None else self._own_template(settings.template)

    def _read_event(self, environment: Mapping[str, str]) -> Event:
        try:
            return Event.from_environment(environment)
        except EventError as fault:
            self._commands.warning(f"{fault}: what it says of a pull request is not known")
            return Event.from_environment({**environment, "GITHUB_EVENT_PATH": ""})

    def _own_template(self, given: str) -> Template:
        path = self._workspace.path(given)
        if not self._workspace.holds(path):
            raise SettingError(
                f"input `template` has a value that is not allowed: it takes a file in the workspace, not {given}"
            )
        return own_template(path)

    def run(self) -> int:
        """The whole step."""
        with contextlib.ExitStack() as stack:
            try:
                reports = self._compare(stack)
            except CompareInputError as fault:
                return self._unreadable(described(fault, self._redact), fault)
            # Logs are read while reports are written: what was unpacked must still be there.
            return self._report(reports)

    def _report(self, reports: Reports) -> int:
        setting = replace(self._setting(), options=reports.options)
        changed = _has_changed(reports)
        stamp = self._stamp(reports)
        folder = self._write_files(reports, setting)
        # Before anything is written that could link to them.
        uploads = self._upload(folder)
        setting = uploads.linked(setting)
        stamped = replace(setting, run_line=stamp.text())
        if not uploads.whole and self._settings.job_summary and self._files.room_for_summary():
            stamped = replace(stamped, elsewhere="the job summary")
        posted = self._posting.comment(
            lambda size: self._markdown(reports, COMMENT._replace(size=size), stamped),
            stamp,
            create=self._settings.comment == "always" or changed,
        )
        self._summarize(lambda limit: self._markdown(reports, limit, setting))
        self._commands.notice(label(reports.comparison.verdict.sentence))
        outputs = self._outputs(reports, changed=changed, folder=folder, posted=posted) | uploads.outputs()
        self._files.set_outputs((name, outputs.get(name, "")) for name in OUTPUTS)
        return _REPORT

    def _compare(self, stack: contextlib.ExitStack) -> Reports:
        settings, path = self._settings, self._workspace.path
        fetcher = self._fetcher()
        try:
            sides = stack.enter_context(fetcher.sides())
        finally:
            self._redact = self._redact.branch(fetcher.stand_ins)
        self._downloads = tuple(sides.downloads)
        request = Request(
            sides.paths["old"],
            sides.paths["new"],
            old_key=settings.key,
            new_key=settings.key,
            margin=settings.margin,
            count_as_zero=settings.count_as_zero,
            tail=settings.tail,
            logs_roots=list(map(path, settings.logs_root)),
            old_logs_roots=list(map(path, settings.old_logs_root)),
            new_logs_roots=list(map(path, settings.new_logs_root)),
            verifier_fields=settings.verifier_fields,
            baseline=sides.baseline,
            baseline_max_age=settings.baseline_max_age,
            no_baseline=sides.no_baseline,
            old_unpacked=sides.roots("old", [*settings.old_logs_root, *settings.logs_root]),
            new_unpacked=sides.roots("new", [*settings.new_logs_root, *settings.logs_root]),
            bring=sides.bring,
        )
        return Reports.from_request(request, self._redact, with_html=True)

    def _fetcher(self) -> Fetcher:
        temporary = self._environment.get("RUNNER_TEMP", "")
        tools = Tools(
            client=self._client,
            service=self._service,
            clock=self._clock,
            user_agent=_USER_AGENT,
            path=self._workspace.path,
            temporary=temporary if os.path.isdir(temporary) and os.access(temporary, os.W_OK) else None,
            warn=self._commands.warning,
        )
        origin = origin_of(self._event, self._decision, self._environment.get("GITHUB_WORKFLOW_REF", ""))
        return Fetcher(self._settings, self._event, self._decision, origin, tools)

    def _service(self) -> Service:
        return Service(self._environment, self._clock, user_agent=_USER_AGENT)

    def _unreadable(self, message: str, fault: CompareInputError) -> int:
        """Say so where an older report may stand, and fail."""
        setting = self._setting()
        stamp = Stamp(self._event.run, self._decision.head_sha, "")
        stamped = replace(setting, run_line=stamp.text())
        self._posting.comment(lambda _: unreadable_report(message, stamped), stamp, create=False)
        self._summarize(lambda _: unreadable_report(message, setting))
        self._commands.error(f"{message}; {self._workspace.visible()}" if fault.is_missing else message)
        return _UNREADABLE

    def _setting(self) -> ReportContext:
        settings, event, decision = self._settings, self._event, self._decision
        title = [settings.title, f"pull request {decision.queue_number}" if decision.queue_number else ""]
        return ReportContext(
            comment_id=settings.comment_id,
            title=shortened(" · ".join(filter(None, title)), _LONGEST_TITLE, self._redact),
            commit=decision.head_sha[:_SHORT_SHA],
            links=(Link("workflow run", event.run_url),) if event.run_url else (),
            attempt=event.run.attempt or None,
            downloads=self._downloads,
        )

    def _stamp(self, reports: Reports) -> Stamp:
        comparison = reports.comparison
        told = (comparison.old.digest(), comparison.new.digest(), comparison.join.old_key, comparison.join.new_key)
        inputs = hashlib.sha256("\0".join(told).encode("utf-8", "replace")).hexdigest()[:16]
        return Stamp(self._event.run, self._decision.head_sha, inputs)

    def _markdown(self, reports: Reports, limit: Limit, setting: ReportContext) -> str:
        return markdown_report(reports.facts(), limit, setting, self._template)

    def _write_files(self, reports: Reports, setting: ReportContext) -> str | None:
        """Write the report files; their folder, or None when that cannot be done."""
        wanted = self._settings.report_dir
        try:
            folder = made_folder(self._workspace, wanted)
            texts: dict[str, Callable[[], Iterable[str]]] = {
                "summary.json": reports.json,
                "report.md": lambda: [self._markdown(reports, COMMENT, setting)],
                "report.html": reports.html,
            }
            for name, pieces in texts.items():
                path = os.path.join(folder, name)
                free_place(path)
                with whole_file(path, reports.input_files) as file:
                    file.write(pieces())
                self._workspace.give_to_owner(path)
        except (OutputError, OSError, UsageError) as fault:
            if isinstance(fault, TemplateError):
                raise
            self._commands.warning(f"the report files are not written: {fault}")
            return None
        return folder

    def _upload(self, folder: str | None) -> Uploads:
        """Upload the report files, as far as that can be done."""
        settings = self._settings
        if not settings.upload_artifact or folder is None:
            return Uploads()
        files = {file: os.path.join(folder, file) for file in _FILES.values()}
        return upload_reports(
            files,
            folder,
            settings.artifact_name,
            self._service,
            retention_days=settings.retention_days,
            warn=self._commands.warning,
        )

    def _client(self) -> Client:
        event = self._event
        return Client(
            self._settings.github_token.get_secret_value(),
            api_url=event.api_url,
            graphql_url=event.graphql_url,
            clock=self._clock,
            user_agent=_USER_AGENT,
        )

    def _summarize(self, markdown: Callable[[Limit], str]) -> None:
        if not self._settings.job_summary:
            return
        room = min(self._files.room_for_summary(), JOB_SUMMARY.size)
        try:
            text = markdown(JOB_SUMMARY._replace(size=room)) if room else ""
        except TemplateError:
            # It was fine for the report files, which have more room.
            text = ""
        if text:
            self._files.add_summary(text + "\n")
        else:
            self._commands.warning("the job summary is not there, or has no room left: no report is added to it")

    def _outputs(self, reports: Reports, *, changed: bool, folder: str | None, posted: list[Posted]) -> dict[str, str]:
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
