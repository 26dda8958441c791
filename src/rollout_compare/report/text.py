"""The report for a terminal: the verdict, the counts in one sentence, how the sides were joined, the evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rollout_compare.core.compare import Comparison
from rollout_compare.core.schema import Category, SideName, TaskComparison, TaskSide, counted, p_text
from rollout_compare.core.side import Side
from rollout_compare.core.verifier_output import VerifierOutput, VerifierOutputs
from rollout_compare.report.untrusted import label, log_line
from rollout_compare.statistics.evidence import Evidence
from rollout_compare.statistics.paired import Interval

_WIDTH = 80
_LISTED = 200
"""Longest list of masked or missing tasks; the JSON summary holds all of them."""
_FIGURE = "  {:<28}{:>12}{:>12}   {}"
_WIDE = 1e6
"""Rewards from here on are told by their power of ten."""
_ROW = "  {:<22}{:>9}   {}"
_WINS = {"old": "old wins", "new": "new wins"}


def text_report(comparison: Comparison, outputs: VerifierOutputs) -> Iterator[str]:
    """The lines of the report, without line ends."""
    yield label(comparison.verdict.sentence)
    yield headline(comparison.counts)
    yield ""
    yield from _sides(comparison)
    yield from _figures(comparison)
    yield from _doubts(comparison)
    yield ""
    yield from _category_table(comparison.counts)
    yield from _flips(comparison, outputs, "flipped", "Flips")
    yield from _flips(comparison, outputs, "flipped_agent_error", "Flips with agent errors")
    yield from _list(comparison, "masked", "Masked", _masked)
    yield from _list(comparison, "missing", "Missing", _missing)


def headline(counts: dict[str, int]) -> str:
    """One sentence that states the counts in words."""
    flipped = f"{counts['flipped']:,} flipped"
    if counts["flipped"]:
        flipped += f" ({counts['flipped_old_win']:,} to old, {counts['flipped_new_win']:,} to new)"
    if counts["flipped_agent_error"]:
        flipped += f", {counts['flipped_agent_error']:,} flipped with an agent error"
    return (
        f"{counted(counts['tasks'], 'task')} compared: {counts['identical']:,} identical, {flipped}, "
        f"{counts['masked']:,} masked, {counts['missing']:,} missing."
    )


def _sides(comparison: Comparison) -> Iterator[str]:
    for name, side in (("old", comparison.old), ("new", comparison.new)):
        yield f"  {name}   {_described(side)}"
    join = comparison.join
    keys = [_key(join.old_key, join.old_prefix_stripped), _key(join.new_key, join.new_prefix_stripped)]
    joined = f"by {keys[0]}" if keys[0] == keys[1] else f"old by {keys[0]}, new by {keys[1]}"
    yield f"  join  {joined}" + (", within each taskset" if join.keyed_by_taskset else "")


def _described(side: Side) -> str:
    paths = side.paths if len(side.paths) == 1 else [f"{side.paths[0]} and {len(side.paths) - 1} more"]
    masked = side.masked_rows
    shards = f", {len(side.shards)} shards" if len(side.shards) > 1 else ""
    return f"{label(paths[0])}: {counted(len(side), 'row')}{f', {masked:,} masked' if masked else ''}{shards}"


def _key(key: str, prefix: str | None) -> str:
    return label(key) + (f" (prefix {label(prefix)} stripped)" if prefix is not None else "")


def _figures(comparison: Comparison) -> Iterator[str]:
    found = comparison.assessment.statistics
    if found.mean_old is None or found.mean_new is None or found.mean_difference is None:
        return
    yield ""
    yield _FIGURE.format("", "old", "new", "difference").rstrip()
    means = _mean(found.mean_old), _mean(found.mean_new)
    spread = _signed(found.mean_difference) + _spread(found.interval)
    yield _FIGURE.format(f"mean reward, {counted(found.n, 'task')}", *means, spread)
    for other in found.secondary:
        name = f"{other.name.replace('_', ' ')}, {counted(other.n, 'task')}"
        numbers = f"{other.mean_old:,.1f}", f"{other.mean_new:,.1f}"
        yield _FIGURE.format(name, *numbers, f"{other.mean_difference:+,.1f}")
    for name, old, new in (
        ("model", comparison.old.models, comparison.new.models),
        ("agent", comparison.old.agents_seen, comparison.new.agents_seen),
    ):
        told = [", ".join(label(text) for text, _ in seen.most_common(2)) or "-" for seen in (old, new)]
        if old or new:
            yield f"  {name} " + (told[0] if told[0] == told[1] else f"old {told[0]}, new {told[1]}")
    for group in found.groups[:_LISTED]:
        difference = "-" if group.mean_difference is None else _signed(group.mean_difference)
        p = "" if group.p_adjusted is None else f", adjusted p {p_text(group.p_adjusted)}"
        yield f"  {group.by} {label(group.name)}: {difference}{_spread(group.interval)}, {counted(group.n, 'task')}{p}"


def _spread(interval: Interval | None) -> str:
    return "" if interval is None else f" (95% CI {_signed(interval.low)} to {_signed(interval.high)})"


def _mean(number: float) -> str:
    return f"{number:.3f}" if abs(number) < _WIDE else f"{number:.3g}"


def _signed(number: float) -> str:
    return f"{number:+.3f}" if abs(number) < _WIDE else f"{number:+.3g}"


def _doubts(comparison: Comparison) -> Iterator[str]:
    said = [f"warning ({warning.code}): {warning.sentence}" for warning in comparison.warnings]
    said += [f"note: {note}" for note in comparison.notes]
    if said:
        yield ""
    for sentence in said:
        yield from _wrapped(label(sentence), "  ")


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


def _category_table(counts: dict[str, int]) -> Iterator[str]:
    def wins(old: int, new: int, words: str) -> str:
        return f"old {words} {old:,}, new {words} {new:,}".replace("  ", " ") if old or new else ""

    rows = [
        ("class", "tasks", ""),
        ("identical", f"{counts['identical']:,}", ""),
        (
            "flipped",
            f"{counts['flipped']:,}",
            wins(counts["flipped_old_win"], counts["flipped_new_win"], "wins"),
        ),
        ("flipped, agent error", f"{counts['flipped_agent_error']:,}", "rerun before counting"),
        ("masked", f"{counts['masked']:,}", wins(counts["masked_old"], counts["masked_new"], "")),
        (
            "missing",
            f"{counts['missing']:,}",
            wins(counts["missing_old_only"], counts["missing_new_only"], "only"),
        ),
    ]
    for name, number, more in rows:
        yield _ROW.format(name, number, more if number != "0" else "").rstrip()


def _heading(title: str, number: int) -> list[str]:
    text = f"{title} ({number:,})"
    return ["", text, "-" * len(text)]


def _flips(comparison: Comparison, outputs: VerifierOutputs, category: Category, title: str) -> Iterator[str]:
    positions = comparison.tasks.positions(category)
    if positions:
        yield from _heading(title, len(positions))
    for number, at in enumerate(positions):
        if number:
            yield ""
        yield from _flip(comparison.tasks[at], comparison.assessment.evidence[at], outputs.of(at))


def _flip(task: TaskComparison, evidence: Evidence, output: VerifierOutput) -> Iterator[str]:
    assert task.old is not None
    assert task.new is not None
    assert task.winner is not None
    change = " -> ".join(_told_apart(task.old.counted_reward, task.new.counted_reward))
    repeats = "" if task.old.rows == task.new.rows == 1 else f", {task.old.rows} v {task.new.rows} rows"
    p = "" if evidence.p is None else f", p {p_text(evidence.p)}"
    tag = evidence.tag.replace("_", " ")
    yield f"- {label(task.task)}: {change}  ({_WINS[task.winner]}{repeats}, {tag}{p})"
    for name, side in (("old", task.old), ("new", task.new)):
        yield from (f"  {name} {said}" for said in _signals(side))
    if output.lines is None:
        yield f"  {output.side} verifier output {label(output.source)}"
        return
    lines = "no lines" if not output.lines else f"last {counted(len(output.lines), 'line')}"
    yield f"  {output.side} verifier output, {lines} of {label(output.source)}:"
    yield from (f"    | {log_line(line)}".rstrip() for line in output.lines)


def _signals(side: TaskSide) -> Iterator[str]:
    if side.rows > 1:
        yield "rewards " + ", ".join(_reward(reward) for reward in side.rewards)
    if side.agent_error is not None:
        yield f"reports {label(side.agent_error)}"
    if side.failure_kind is not None:
        yield f"failed by {label(side.failure_kind)}, which counts"


def _reward(reward: float | None, digits: int = 6) -> str:
    return "masked" if reward is None else f"{reward:.{digits}g}"


def _told_apart(old: float | None, new: float | None) -> tuple[str, str]:
    """Both rewards with as many digits as it takes to see that they differ."""
    for digits in (6, 9, 12):
        texts = _reward(old, digits), _reward(new, digits)
        if texts[0] != texts[1]:
            return texts
    return _reward(old, 17), _reward(new, 17)


def _list(
    comparison: Comparison, category: Category, title: str, line: Callable[[TaskComparison], str]
) -> Iterator[str]:
    positions = comparison.tasks.positions(category)
    if positions:
        yield from _heading(title, len(positions))
    for at in positions[:_LISTED]:
        yield line(comparison.tasks[at])
    if len(positions) > _LISTED:
        yield f"… and {len(positions) - _LISTED:,} more (--json lists every task)"


def _masked(task: TaskComparison) -> str:
    sides: tuple[tuple[SideName, TaskSide | None], ...] = (("old", task.old), ("new", task.new))
    said = [
        f"{name} {label(side.masked)}" + (f": {label(side.failure_message)}" if side.failure_message else "")
        for name, side in sides
        if side is not None and side.masked is not None
    ]
    return f"- {label(task.task)}: {'; '.join(said)}"


def _missing(task: TaskComparison) -> str:
    return f"- {label(task.task)}: {'old only' if task.new is None else 'new only'}"
