"""The report in GitHub's Markdown: for a comment, or for a job summary, each within its limit.

The layout is a Jinja2 template; this module says what is told in how much detail. `docs/reports.md` describes both for
people who write a template of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from rollout_compare.core.redaction import shortened
from rollout_compare.core.sentences import counted
from rollout_compare.report.budget import Budget, Limit, Plan
from rollout_compare.report.by_hand import Download, command_line
from rollout_compare.report.causes import CauseFact, ChangedTestFact, TestsFact
from rollout_compare.report.facts import Facts, Figure, Flip, Listing
from rollout_compare.report.template import REPORT, Template, TemplateError, built_in_template
from rollout_compare.report.untrusted.markdown import code, hidden, link, ours, prose, strong
from rollout_compare.report.wording import NAME_LIMIT, joined_by
from rollout_compare.version import VERSION

if TYPE_CHECKING:
    from markupsafe import Markup

COMMENT = Limit(65_000, "code points")
"""GitHub takes comments of 65,536 characters."""
JOB_SUMMARY = Limit(1_000_000, "bytes")
"""The runner drops job summaries over 1,048,576 bytes."""

_ALERTS = {
    "not_comparable": "CAUTION",
    "lower": "WARNING",
    "higher": "TIP",
    "within_margin": "TIP",
    "too_little": "NOTE",
    "no_clear_difference": "NOTE",
    "no_baseline": "NOTE",
}
_LONGEST_OPEN_LIST = 5
_DIGEST_LENGTH = 12
_MOST_NOTES = 20
_LISTED_CAUSES = 10


class Link(NamedTuple):
    """A link of the report: words of ours, and an http address."""

    words: str
    url: str


@dataclass(frozen=True, slots=True)
class ReportContext:
    """What a report says besides the comparison: where it stands, and what it leads to."""

    comment_id: str = "default"
    title: str = ""
    """What is compared; from a person, shown as it is."""
    run_line: str = ""
    """A hidden second line for whoever finds the report again."""
    commit: str = ""
    """What the new side belongs to."""
    options: str = ""
    """The options of the command line that this comparison takes besides its paths."""
    links: tuple[Link, ...] = ()
    elsewhere: str = "the JSON summary"
    """Where the rest is, when a list is cut."""
    attempt: int | None = None
    downloads: tuple[Download, ...] = ()
    """The artifacts that sides came from."""

    @property
    def marker(self) -> str:
        """The hidden first line, by which a comment is found again."""
        return hidden(f"rollout-compare:{self.comment_id}")


def markdown_report(
    facts: Facts, limit: Limit = COMMENT, setting: ReportContext | None = None, template: Template | None = None
) -> str:
    """The report with as much detail as fits the limit.

    Details are given up in this order: log tails get shorter, the logs of the least important flips go, flips become
    rows of a table, the list is cut. The logs of the few most important flips stay, at their shortest.

    Raises TemplateError when the template is broken, loses the marker, or does not fit even without any detail.
    """
    setting = setting or ReportContext()
    template = template or built_in_template(REPORT)
    page = _Page(facts, setting)

    def render(plan: Plan) -> str:
        text = template.render(page.context(plan))
        _check_marker(text, setting.marker, template)
        return text

    try:
        return Budget(facts, limit).fit(render)
    except OverflowError:
        raise TemplateError(
            f"{template.name}: the report does not fit {limit.size:,} {limit.unit} even without a flip"
        ) from None


def unreadable_report(message: str, setting: ReportContext) -> str:
    """What stands in place of a report when an input cannot be read. `message` is redacted and of bounded length."""
    return built_in_template("unreadable.md.j2").render(
        {
            "marker": setting.marker,
            "run_line": hidden(setting.run_line) if setting.run_line else "",
            "title": _title(setting),
            "message": message,
            "links": [link(*each) for each in setting.links],
        }
    )


def _check_marker(text: str, marker: str, template: Template) -> None:
    if text.partition("\n")[0] == marker and text.count(marker) == 1:
        return
    raise TemplateError(
        f"{template.name}: the report must begin with a line {{{{ marker }}}} and hold it once: extend "
        '"report.md.j2", or begin with it'
    )


class _Page:
    """The context of the template. Text of ours is `Markup`; all other text is made a code span when it is printed."""

    def __init__(self, facts: Facts, setting: ReportContext) -> None:
        self._facts = facts
        self._fixed = self._without_details(setting)
        self._group_figures = list(facts.groups)
        self._masked = facts.masked
        self._missing = facts.missing

    def _without_details(self, setting: ReportContext) -> dict[str, Any]:
        facts = self._facts
        counts = facts.counts
        changed = not facts.is_one_sided and (counts["identical"] != counts["tasks"] or bool(facts.warnings))
        return {
            "marker": setting.marker,
            "run_line": hidden(setting.run_line) if setting.run_line else "",
            "title": _title(setting),
            "alert": ours(_ALERTS[facts.verdict.kind]),
            "verdict": dict(zip(("head", "rest"), map(prose, facts.verdict_head), strict=True)),
            "baseline": self._baseline(),
            "advice": "" if facts.advice is None else prose(facts.advice),
            "figures": list(map(_figure, facts.figures)),
            "makers": [
                {
                    "name": ours(maker.name.capitalize()),
                    "old": maker.old,
                    "new": maker.new,
                    "same": maker.same,
                    "difference": ours(maker.difference),
                }
                for maker in facts.makers
            ],
            "changed": changed,
            "classes": [
                {
                    "name": ours(row.name),
                    "number": _number(row.number),
                    "detail": ours(row.detail.replace(", ", " · ")),
                }
                for row in facts.classes
            ],
            "warnings": [
                {"code": code(warning.code), "sentence": prose(warning.sentence)} for warning in facts.warnings
            ],
            "joined": self._joined(),
            "links": [link(*each) for each in setting.links],
            "command": code(command_line(facts.inputs, setting.options, setting.downloads)),
            "commit": setting.commit,
            "elsewhere": ours(setting.elsewhere),
            "attempt": setting.attempt,
        }

    def _baseline(self) -> Markup | str:
        """Which recorded run the old side is, with a link to it."""
        baseline, sentence = self._facts.comparison.baseline, self._facts.baseline
        if baseline is None or sentence is None:
            return ""
        return ours("Baseline: ") + prose(sentence) + ours(" · ") + link("the run", baseline.run_url)

    def context(self, plan: Plan) -> dict[str, Any]:
        """Everything the template may print, in the detail of the plan."""
        sections = []
        before = 0
        for section in self._facts.sections:
            number = len(section.positions)
            # Of all flips in order of importance, those of this section.
            details, rows = (max(0, min(number, limit - before)) for limit in (plan.details, plan.rows))
            sections.append(
                {
                    "title": ours(section.title),
                    "number": _number(number),
                    "details": [
                        self._flip(at, plan, before + place) for place, at in enumerate(section.positions[:details])
                    ],
                    "rows": [_row(self._facts.flip(at)) for at in section.positions[details:rows]],
                    "more": _number(number - rows) if number > rows else "",
                }
            )
            before += number
        return self._fixed | {
            "sections": sections,
            "causes": self._causes(plan.names),
            "masked": _listings(self._masked, plan.names),
            "missing": _listings(self._missing, plan.names),
            "groups": self._groups(plan.names),
            "notes": [prose(note) for note in self._facts.notes[: min(_MOST_NOTES, plan.names)]],
            "footer": self._footer(),
        }

    def _causes(self, names: int) -> dict[str, Any] | None:
        causes, number = self._facts.causes, min(_LISTED_CAUSES, names)
        if not causes.telling and not causes.usual and not causes.limits:
            return None
        return {
            "number": _number(len(causes.telling) + len(causes.usual)),
            "telling": [_cause(cause) for cause in causes.telling[:number]],
            "usual": [_cause(cause) for cause in causes.usual[:number]],
            "usual_number": _number(len(causes.usual)),
            "rest": _more(max(0, len(causes.telling) - number) + max(0, len(causes.usual) - number)),
            "limits": list(map(ours, causes.limits)),
        }

    def _flip(self, at: int, plan: Plan, place: int) -> dict[str, Any]:
        flip = self._facts.flip(at)
        shown = plan.log(place)
        side: str = flip.loser
        lines: list[str] = []
        if shown is None:
            where, source = "verifier output omitted to fit the size limit", None
        elif shown.lines is None:
            where, source = "verifier output ", shown.source
        else:
            lines = shown.lines
            number = f"last {counted(len(lines), 'line')}" if lines else "verifier output, no lines"
            where, source = f"{number} of ", shown.source
        return _row(flip) | {
            "errors": [
                {"side": ours(signal.side), "data": signal.data} for signal in flip.signals if signal.what == "reports"
            ],
            "said": list(_said(flip)),
            "tests": None if flip.tests is None else _tests(flip.tests),
            "side": ours(side),
            "where": ours(where),
            "source": "" if source is None else prose(source),
            "lines": lines,
        }

    def _joined(self) -> Markup:
        join = self._facts.join
        keys = [
            code(key) + ("" if prefix is None else ours(" (prefix ") + code(prefix) + ours(" stripped)"))
            for key, prefix in (
                joined_by(join.old_key, join.old_prefix_stripped),
                joined_by(join.new_key, join.new_prefix_stripped),
            )
        ]
        said = ours("By ") + keys[0] if keys[0] == keys[1] else ours("Old by ") + keys[0] + ours(", new by ") + keys[1]
        counts = self._facts.counts
        both = counts["tasks"] - counts["missing"]
        return (
            said
            + ours(", within each taskset" if join.keyed_by_taskset else "")
            + ours(f": {counted(both, 'task')} on both sides, {counts['missing']:,} on one.")
        )

    def _groups(self, names: int) -> dict[str, Any] | None:
        figures = self._group_figures
        if not figures or not names:
            return None
        kinds = dict.fromkeys(figure.by for figure in figures)
        shown = figures[:names]
        return {
            "title": ours("By " + " and ".join(kinds)),
            "figures": [
                {
                    "name": figure.name,
                    "tasks": _number(figure.tasks),
                    "difference": ours(figure.difference + (f" ({figure.interval})" if figure.interval else "")),
                    "p": ours(figure.p),
                }
                for figure in shown
            ],
            "rest": _more(len(figures) - len(shown)),
        }

    def _footer(self) -> Markup:
        facts = self._facts
        said = [ours(f"rollout-compare {VERSION}")]
        for side in facts.inputs:
            path = code(shortened(side.path, NAME_LIMIT)) + ours(f" and {side.more} more" if side.more else "")
            rows = ours(f" {side.size} ")
            said.append(ours(f"{side.name} ") + path + rows + code(side.digest[:_DIGEST_LENGTH]))
        if self._fixed["commit"]:
            said.append(ours("commit ") + code(self._fixed["commit"]))
        if self._fixed["attempt"] is not None:
            said.append(ours(f"attempt {self._fixed['attempt']}"))
        if facts.redacted:
            said.append(ours(facts.redacted))
        return ours(" · ").join(said)


def _title(setting: ReportContext) -> Markup:
    title = ours("Rollout comparison")
    return title + ours(" · ") + code(setting.title) if setting.title else title


def _number(number: int) -> Markup:
    return ours(f"{number:,}")


def _figure(figure: Figure) -> dict[str, Markup]:
    difference = ours(figure.difference)
    return {
        "name": ours(figure.name[:1].upper() + figure.name[1:]),
        "old": ours(figure.old),
        "new": ours(figure.new),
        "difference": strong(difference) if figure.is_clear else difference,
        "interval": ours(f" ({figure.interval})") if figure.interval else ours(""),
    }


def _row(flip: Flip) -> dict[str, Any]:
    tags = [tag for tag in (flip.repeats, flip.evidence) if tag]
    return {
        "task": flip.task,
        "change": ours(f"{flip.old} → {flip.new}"),
        "tags": ours("".join(f" · {tag}" for tag in tags)),
        "row_tags": ours(" · ".join(tags)),
    }


def _said(flip: Flip) -> Iterable[Markup]:
    """What each side reports of a flip besides an agent error, a line a side."""
    for side in ("old", "new"):
        signals = [
            ours(signal.what) + (ours(" ") + code(signal.data) if signal.data else "")
            for signal in flip.signals
            if signal.side == side and signal.what != "reports"
        ]
        if signals:
            yield ours(" · ").join([ours(side), *signals])
    if flip.components:
        yield ours("components ") + ours(" · ").join(
            code(each.name) + ours(f" {each.change}") for each in flip.components
        )


def _tests(tests: TestsFact) -> dict[str, Any]:
    return {"summary": ours(tests.summary), "tests": list(map(_test, tests.tests)), "more": _more(tests.more)}


def _test(test: ChangedTestFact) -> Markup:
    rates = ours(f" {test.rates}" if test.rates else "")
    return ours(f"{test.what}: ") + code(test.name) + rates + (ours(" · ") + code(test.message) if test.message else "")


def _cause(cause: CauseFact) -> Markup:
    names = ours(", ").join(map(code, cause.tasks)) + ours(f" and {cause.more:,} more" if cause.more else "")
    said = strong(ours(cause.number)) + ours(": ") + code(cause.cause) + ours(" · ") + names
    return said + ours(f" · {cause.before}" if cause.before else "")


def _listings(listings: Sequence[Listing], names: int) -> dict[str, Any] | None:
    number = sum(len(listing.tasks) for listing in listings)
    if not number:
        return None
    rows = []
    left = names
    for listing in listings[:names]:
        shown = listing.tasks[:left]
        left -= len(shown)
        rows.append(
            {"reasons": _reasons(listing), "number": _number(len(listing.tasks)), "tasks": _names(listing, shown)}
        )
    return {
        "number": _number(number),
        "open": ours(" open" if number <= _LONGEST_OPEN_LIST else ""),
        "listings": rows,
        "rest": _more(len(listings) - len(rows)),
    }


def _reasons(listing: Listing) -> Markup:
    return ours(" · ").join(
        [ours(side) + (ours(": ") + code(reason, in_table=True) if reason else "") for side, reason in listing.reasons]
    )


def _names(listing: Listing, shown: list[str]) -> Markup:
    names = [code(name, in_table=True) for name in shown]
    more = len(listing.tasks) - len(shown)
    return ours(", ").join([*names, *([ours(f"{more:,} more" if names else "")] if more else [])])


def _more(number: int) -> Markup:
    return _number(number) if number > 0 else ours("")
