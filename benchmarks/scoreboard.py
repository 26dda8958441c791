"""Collects what was measured, sets it against the goals and writes it down as Markdown tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from measure import Sample

MB = 1_000_000


@dataclass
class Scoreboard:
    """The lines of both tables, in the order they were measured."""

    goals: list[tuple[str, ...]] = field(default_factory=list)
    medians: list[tuple[str, ...]] = field(default_factory=list)
    waiting: float = 1.0  # the most that wall time was above CPU time, as a ratio

    def at_least(self, goal: str, what: str, value: float, bound: float, unit: str, *, aim: float = 0) -> None:
        """Add a figure that should reach the bound; `aim` is a further mark to beat."""
        further = f" (aim {_figure(aim, unit)})" if aim else ""
        outcome = _outcome(bound - value, unit)
        if outcome == "met" and aim:
            outcome = "met, aim too" if value >= aim else f"met, short of the aim by {_figure(aim - value, unit)}"
        self.goals.append((goal, what, _figure(value, unit), f"≥ {_figure(bound, unit)}{further}", outcome))

    def at_most(self, goal: str, what: str, value: float, bound: float, unit: str) -> None:
        """Add a figure that should stay below the bound."""
        outcome = _outcome(value - bound, unit)
        self.goals.append((goal, what, _figure(value, unit), f"≤ {_figure(bound, unit)}", outcome))

    def inform(self, goal: str, what: str, text: str) -> None:
        """Add a figure that has no goal, or one that could not be measured."""
        self.goals.append((goal, what, text, "", ""))

    def measured(self, workload: str, command: str, sample: Sample, plain_bytes: int = 0) -> None:
        """Add the medians of one command; with the input's bytes also its throughput."""
        self.waiting = max(self.waiting, sample.wall / sample.cpu)
        rate = f"{plain_bytes / sample.wall / MB:,.0f}" if plain_bytes else ""
        row = (workload, command, f"{sample.wall:.3f}", f"{sample.cpu:.3f}", f"{sample.rss / MB:,.0f}", rate)
        self.medians.append(row)

    def markdown(self, title: str, remarks: Sequence[str]) -> str:
        """Write everything down."""
        against = _table(("goal", "what", "measured", "goal is", "outcome"), self.goals)
        raw = _table(("workload", "command", "wall s", "CPU s", "peak MB", "MB/s"), self.medians)
        notes = "\n".join(f"- {remark}" for remark in remarks)
        return f"# {title}\n\n{against}\n\n## Medians\n\n{raw}\n\n{notes}\n"


def _outcome(short: float, unit: str) -> str:
    return "met" if short <= 0 else f"short by {_figure(short, unit)}"


def _figure(value: float, unit: str) -> str:
    match unit:
        case "x":
            return f"{value:.1f} x"
        case "MB":
            return f"{value / MB:,.1f} MB"
        case "ms":
            return f"{value * 1000:,.0f} ms"
        case "s":
            return f"{value:,.2f} s"
        case _:
            return f"{value:.2f}"


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    columns = list(zip(head, *rows, strict=True))
    widths = [max(3, *map(len, column)) for column in columns]
    lines = [head, tuple("-" * width for width in widths), *rows]
    return "\n".join("| " + " | ".join(map(str.ljust, line, widths)) + " |" for line in lines)
