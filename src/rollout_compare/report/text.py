"""The report for a terminal: the verdict, the counts in one sentence, how the sides were joined, the evidence."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from rollout_compare.core.schema import Category, TaskComparison
from rollout_compare.core.sentences import counted
from rollout_compare.report.causes import CauseFact, TestsFact
from rollout_compare.report.facts import SIDES, WINS, Facts, Figure, Flip, Input, Signal
from rollout_compare.report.untrusted import label, log_line

_WIDTH = 80
_COMMAND = re.compile(r"(^(?:\s|\x1b\[\d+m)*:|##)(:|\[)")
_LISTED_CAUSES = 20
_LISTED = 200
"""Longest list of masked or missing tasks; the JSON summary holds all of them."""
_ROW = "  {:<22}{:>9}   {}"
_BOLD, _RED, _GREEN, _YELLOW, _DIM, _PLAIN = (f"\x1b[{code}m" for code in ("1", "31", "32", "33", "2", "0"))
_COLOURS = {"lower": _RED, "not_comparable": _RED, "higher": _GREEN, "within_margin": _GREEN}


def text_report(facts: Facts, *, colour: bool = False) -> Iterator[str]:
    """The lines of the report, without line ends. `colour` is for a terminal that was not told `NO_COLOR`."""
    return map(_inert, _lines(facts, colour=colour))


def _inert(line: str) -> str:
    """A line that a runner of GitHub, which reads the logs of its steps, does not take for a command."""
    return _COMMAND.sub(r"\1\\\2", line) if "::" in line or "##[" in line else line


def _lines(facts: Facts, *, colour: bool) -> Iterator[str]:
    painted = _painted if colour else _unpainted
    yield painted(label(facts.verdict.sentence), _BOLD + _COLOURS.get(facts.verdict.kind, ""))
    yield facts.headline
    yield ""
    yield from _sides(facts)
    yield from _figures(facts)
    yield from _warnings_and_notes(facts, painted)
    if not facts.is_one_sided:
        yield ""
        yield from _class_table(facts)
    yield from _flips(facts, "flipped", "Flips", painted)
    yield from _causes(facts)
    yield from _flips(facts, "flipped_agent_error", "Flips with agent errors", painted)
    if not facts.is_one_sided:
        yield from _list(facts, "masked", "Masked", _masked)
        yield from _list(facts, "missing", "Missing", _missing)
    if facts.redacted:
        yield ""
        yield facts.redacted


_Paint = Callable[[str, str], str]


def _painted(text: str, colour: str) -> str:
    return f"{colour}{text}{_PLAIN}"


def _unpainted(text: str, colour: str) -> str:  # noqa: ARG001 - the same shape as the painted one
    return text


def _sides(facts: Facts) -> Iterator[str]:
    for side in facts.inputs:
        yield f"  {side.name}   {_described(side)}"
    if facts.baseline is not None:
        yield from _wrapped(label(f"base  {facts.baseline}"), "  ")
    if facts.advice is not None:
        yield from _wrapped(label(facts.advice), "  ")
        return
    join = facts.join
    keys = [_key(join.old_key, join.old_prefix_stripped), _key(join.new_key, join.new_prefix_stripped)]
    joined = f"by {keys[0]}" if keys[0] == keys[1] else f"old by {keys[0]}, new by {keys[1]}"
    yield f"  join  {joined}" + (", within each taskset" if join.keyed_by_taskset else "")


def _described(side: Input) -> str:
    path = f"{side.path} and {side.more} more" if side.more else side.path
    masked = f", {side.masked_rows:,} masked" if side.masked_rows else ""
    shards = f", {len(side.shards)} shards" if len(side.shards) > 1 else ""
    return f"{label(path)}: {side.size}{masked}{shards}"


def _key(key: str, prefix: str | None) -> str:
    return label(key) + (f" (prefix {label(prefix)} stripped)" if prefix is not None else "")


def _figures(facts: Facts) -> Iterator[str]:
    figures = facts.figures
    if not figures:
        return
    yield ""
    yield from _table([Figure("", "old", "new", "difference"), *figures])
    for maker in facts.makers:
        told = [", ".join(map(label, names)) or "-" for names in (maker.old, maker.new)]
        is_told_apart = maker.difference == "changed"
        yield f"  {maker.name} " + (f"old {told[0]}, new {told[1]}" if is_told_apart else told[1])
    for number, group in enumerate(facts.groups):
        if number == _LISTED:
            yield f"  … and {len(facts.statistics.groups) - _LISTED:,} more (--json lists every one)"
            return
        interval = f" ({group.interval})" if group.interval else ""
        p = f", adjusted p {group.p}" if group.p else ""
        difference = group.difference or "-"
        yield f"  {group.by} {label(group.name)}: {difference}{interval}, {counted(group.tasks, 'task')}{p}"


def _table(figures: Sequence[Figure]) -> Iterator[str]:
    """Figures below each other; an interval that does not fit on its line follows on the next one."""
    widths = [max(len(cell) for cell in column) for column in zip(*(each[:3] for each in figures), strict=True)]
    for figure in figures:
        cells = (figure.name.ljust(widths[0]), figure.old.rjust(widths[1]), figure.new.rjust(widths[2]))
        line = f"  {'  '.join(cells)}  "
        interval = f" ({figure.interval})" if figure.interval else ""
        if len(line + figure.difference + interval) <= _WIDTH or not interval:
            yield (line + figure.difference + interval).rstrip()
        else:
            yield line + figure.difference
            yield " " * len(line) + interval.strip()


def _warnings_and_notes(facts: Facts, painted: _Paint) -> Iterator[str]:
    if facts.warnings or facts.notes:
        yield ""
    for warning in facts.warnings:
        for line in _wrapped(label(f"warning ({warning.code}): {warning.sentence}"), "  "):
            yield painted(line, _YELLOW)
    for note in facts.notes:
        yield from _wrapped(label(f"note: {note}"), "  ")


def _wrapped(sentence: str, indent: str) -> list[str]:
    import textwrap

    return textwrap.wrap(
        sentence,
        _WIDTH,
        initial_indent=indent,
        subsequent_indent=indent + "  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _class_table(facts: Facts) -> Iterator[str]:
    yield _ROW.format("class", "tasks", "").rstrip()
    for row in facts.classes:
        yield _ROW.format(row.name, f"{row.number:,}", row.detail).rstrip()


def _heading(title: str, number: int) -> list[str]:
    text = f"{title} ({number:,})"
    return ["", text, "-" * len(text)]


def _flips(facts: Facts, category: Category, title: str, painted: _Paint) -> Iterator[str]:
    positions = facts.comparison.tasks.positions(category)
    if positions:
        yield from _heading(title, len(positions))
    for number, at in enumerate(positions):
        if number:
            yield ""
        yield from _flip(facts, facts.flip(at), painted)


def _flip(facts: Facts, flip: Flip, painted: _Paint) -> Iterator[str]:
    said = ", ".join(filter(None, (WINS[flip.winner], flip.repeats, flip.evidence)))
    change = painted(f"{flip.old} -> {flip.new}", _RED if flip.winner == "old" else _GREEN)
    yield f"- {label(flip.task)}: {change}  ({said})"
    yield from (f"  {signal.side} {_signal(signal)}" for signal in flip.signals)
    if flip.components:
        yield f"  components {', '.join(f'{label(each.name)} {_arrow(each.change)}' for each in flip.components)}"
    if flip.tests is not None:
        yield from _tests(flip.tests)
    output = facts.output(flip.at)
    if output.lines is None:
        yield f"  {output.side} verifier output {label(output.source)}"
        return
    lines = "no lines" if not output.lines else f"last {counted(len(output.lines), 'line')}"
    yield f"  {output.side} verifier output, {lines} of {label(output.source)}:"
    yield from (painted(f"    | {log_line(line)}".rstrip(), _DIM) for line in output.lines)


def _tests(tests: TestsFact) -> Iterator[str]:
    yield f"  {_arrow(tests.summary)}"
    for test in tests.tests:
        rates = f" {_arrow(test.rates)}" if test.rates else ""
        message = f": {label(test.message)}" if test.message else ""
        yield f"    {test.what}: {label(test.name)}{rates}{message}"
    if tests.more:
        yield f"    … and {tests.more:,} more"


def _arrow(figures: str) -> str:
    return figures.replace("→", "->")


def _causes(facts: Facts) -> Iterator[str]:
    causes = facts.causes
    if causes.telling or causes.usual:
        yield from _heading("Causes", len(causes.telling) + len(causes.usual))
    for title, group in (("", causes.telling), ("as frequent among the improved:", causes.usual)):
        if title and group:
            yield title
        yield from (line for cause in group[:_LISTED_CAUSES] for line in _cause(cause))
        if len(group) > _LISTED_CAUSES:
            yield f"… and {len(group) - _LISTED_CAUSES:,} more (--json lists every one)"
    for limit in causes.limits:
        yield from _wrapped(limit, "  ")


def _cause(cause: CauseFact) -> Iterator[str]:
    yield f"- {cause.number}: {label(cause.cause)}"
    names = ", ".join(map(label, cause.tasks)) + (f" and {cause.more:,} more" if cause.more else "")
    yield f"  {names}" + (f"; {cause.before}" if cause.before else "")


def _signal(signal: Signal) -> str:
    return f"{signal.what} {label(signal.data)}" if signal.data else signal.what


def _list(facts: Facts, category: Category, title: str, line: Callable[[TaskComparison], str]) -> Iterator[str]:
    tasks = facts.comparison.tasks
    positions = tasks.positions(category)
    if positions:
        yield from _heading(title, len(positions))
    for at in positions[:_LISTED]:
        yield line(tasks[at])
    if len(positions) > _LISTED:
        yield f"… and {len(positions) - _LISTED:,} more (--json lists every task)"


def _masked(task: TaskComparison) -> str:
    said = [
        f"{name} {label(side.masked)}" + (f": {label(side.failure_message)}" if side.failure_message else "")
        for name, side in zip(SIDES, (task.old, task.new), strict=True)
        if side is not None and side.masked is not None
    ]
    return f"- {label(task.task)}: {'; '.join(said)}"


def _missing(task: TaskComparison) -> str:
    return f"- {label(task.task)}: {'old only' if task.new is None else 'new only'}"
