"""From what was asked to the reports of it: load, compare, lay out. The command line and the Action share this."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from rollout_compare import options
from rollout_compare.core.causes.explanation import END_SEARCH, Explanation, explain
from rollout_compare.core.causes.selection import Selection
from rollout_compare.core.compare import Comparison, compare, describe
from rollout_compare.core.judging.baseline import Baseline, NoBaseline
from rollout_compare.core.logs.search import LogSearch
from rollout_compare.core.logs.verifier_output import LONGEST_TAIL, VerifierOutputs
from rollout_compare.core.reading.choice import Condition
from rollout_compare.core.reading.ids import Names
from rollout_compare.core.reading.inputs import find_shards, find_sources
from rollout_compare.core.reading.lines import Progress
from rollout_compare.core.reading.load import load_side
from rollout_compare.core.reading.source import OpenSource
from rollout_compare.formats.source import open_source
from rollout_compare.report.by_hand import option_text
from rollout_compare.report.facts import Facts
from rollout_compare.report.json_summary import json_summary
from rollout_compare.report.text import text_report
from rollout_compare.report.untrusted import Redactor


@dataclass(frozen=True, slots=True)
class Request:
    """One comparison that is asked for."""

    old: Sequence[str]
    """Files, directories and globs."""
    new: Sequence[str]
    old_key: str | None = None
    new_key: str | None = None
    reward: str | None = None
    """The field that holds the reward, when it is not `reward`; where a format has several, the name of one."""
    old_where: Sequence[Condition] = ()
    """What the rows that are compared have to say."""
    new_where: Sequence[Condition] = ()
    margin: float | None = None
    count_as_zero: Sequence[str] = ()
    tail: int = options.TAIL
    logs_roots: Sequence[str] = ()
    old_logs_roots: Sequence[str] = ()
    new_logs_roots: Sequence[str] = ()
    working_directory: str | None = None
    """A last folder in which logs are looked for."""
    verifier_fields: Sequence[str] = ()
    allow_absolute_logs: bool = False
    baseline: Baseline | None = None
    """The recorded run whose rollouts `old` names, if it does."""
    baseline_max_age: float = options.BASELINE_MAX_AGE
    """Days from which on a baseline is called stale."""
    no_baseline: NoBaseline | None = None
    """Why there is nothing to compare with: then `old` names nothing."""
    old_unpacked: Sequence[str] = ()
    """Folders that artifacts of the old side were unpacked into: its logs are looked for there too."""
    new_unpacked: Sequence[str] = ()
    bring: Callable[[str], None] | None = None
    """Makes a log of those folders be there before it is looked at."""
    bring_document: Callable[[str], None] | None = None
    """The same for a file of the results that another tool wrote."""
    format_in: str | None = None
    """The format that both sides are read as; None to find out."""

    def options(self) -> str:
        """The options of the command line that change what is compared, for whoever does it by hand."""
        both = self.old_key if self.old_key == self.new_key else None
        named = (
            ("--key", [both]),
            ("--old-key", [None if both else self.old_key]),
            ("--new-key", [None if both else self.new_key]),
            ("--format-in", [self.format_in]),
            ("--reward", [self.reward]),
            ("--old-where", map(str, self.old_where)),
            ("--new-where", map(str, self.new_where)),
            ("--margin", [None if self.margin is None else repr(self.margin)]),
            ("--count-as-zero", self.count_as_zero),
            ("--logs-root", filter(os.path.isdir, self.logs_roots)),
            ("--old-logs-root", filter(os.path.isdir, self.old_logs_roots)),
            ("--new-logs-root", filter(os.path.isdir, self.new_logs_roots)),
            ("--verifier-field", self.verifier_fields),
        )
        given = [(name, value) for name, values in named for value in values if value is not None]
        return " ".join(option_text(name, value) for name, value in given)

    def input_files(self) -> list[str]:
        """Every file that will be read, sidecars included. Raises CompareInputError when there is none."""
        found: list[str] = []
        for paths in (self.old, self.new):
            sources, others = find_sources(paths, self.open_source())
            found += [source.path for source in sources]
            found += [path for files in (find_shards(others) if others else []) for path in files.all()]
        return found

    def open_source(self, progress: Progress | None = None) -> OpenSource:
        """Opens a path that another tool wrote."""
        return partial(
            open_source, forced=self.format_in, reward=self.reward, bring=self.bring_document, progress=progress
        )


class Reports:
    """A finished comparison, and every report of it, each with its own count of what was redacted."""

    def __init__(
        self,
        comparison: Comparison,
        outputs: VerifierOutputs,
        explanation: Explanation,
        redact: Redactor,
        request: Request,
        input_files: Sequence[str],
    ) -> None:
        self.comparison = comparison
        self.options = redact(request.options())
        self.input_files = input_files
        """Every file that was read: none of them may be written to."""
        self._outputs = outputs
        self._explanation = explanation
        self._redact = redact

    @classmethod
    def from_request(
        cls, request: Request, redact: Redactor, *, with_html: bool = False, progress: Progress | None = None
    ) -> Reports:
        """Read both sides and compare them. Raises CompareInputError for an input that cannot be read.

        `with_html`: the HTML report will be among those asked for, and may show more of each log than the others.
        """
        names = Names()
        old, new = (
            load_side(
                paths,
                key=key,
                reward=request.reward,
                where=where,
                count_as_zero=request.count_as_zero,
                names=names,
                progress=progress,
                redact=redact,
                open_source=request.open_source(progress),
            )
            for paths, key, where in (
                (request.old, request.old_key, request.old_where),
                (request.new, request.new_key, request.new_where),
            )
        )
        if request.no_baseline is not None:
            comparison = describe(new, request.no_baseline, redact=redact)
        else:
            comparison = compare(old, new, margin=request.margin, redact=redact)
        if request.baseline is not None:
            warnings = [*comparison.warnings, *request.baseline.warnings(request.baseline_max_age)]
            comparison = replace(comparison, baseline=request.baseline, warnings=warnings)
        search = LogSearch(
            roots=request.logs_roots,
            old_roots=[*request.old_logs_roots, *request.old_unpacked],
            new_roots=[*request.new_logs_roots, *request.new_unpacked],
            working_directory=request.working_directory,
            fields=request.verifier_fields,
            tail=request.tail,
            longest=LONGEST_TAIL if with_html and request.tail else 0,
            allow_absolute=request.allow_absolute_logs,
            redact=redact,
            bring=request.bring,
            end=END_SEARCH,
        )
        selection = Selection.from_tasks(comparison.tasks)
        outputs = VerifierOutputs.from_comparison(comparison, search, selection.wanted(comparison.tasks))
        explanation = explain(comparison, outputs, selection, redact)
        files = [path for side in (old, new) for shard in side.shards for path in shard.all_files()]
        return cls(comparison, outputs, explanation, redact, request, files)

    def facts(self) -> Facts:
        """What there is to tell, for one report."""
        redact = self._redact.branch()
        return Facts(self.comparison, self._outputs.redacted_by(redact), redact, self._explanation)

    def json(self) -> Iterable[str]:
        """The JSON summary in pieces."""
        return json_summary(self.facts())

    def text(self, *, colour: bool = False) -> Iterable[str]:
        """The report for a terminal in pieces."""
        return (f"{line}\n" for line in text_report(self.facts(), colour=colour))

    def html(self) -> Iterable[str]:
        """The report for a browser in pieces."""
        # Jinja2 is imported only by the reports that need it.
        from rollout_compare.report.html import html_report

        return html_report(self.facts())
