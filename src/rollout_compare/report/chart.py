"""The geometry of the pictures in the HTML report: where each circle and each bar stands, whatever the numbers are.

Only finite coordinates come out: positions are shares of a range, worked out in halves so that no range overflows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from rollout_compare.core.schema import REWARD_TOLERANCE
from rollout_compare.core.sentences import counted
from rollout_compare.report.wording import reward_text
from rollout_compare.statistics.paired import Interval

Kind = Literal["worse", "better", "same"]

_LEFT, _TOP, _SIDE, _BELOW = 52, 10, 300, 42
_INSET = 26
"""Between the frame and the extreme rewards, so that their circles are whole."""
_STEPS = 20
"""Cells of the grid in each direction, on which tasks with much the same rewards become one circle."""
_FEW_CIRCLES = 9
_LARGEST, _LARGEST_OF_MANY, _SMALLEST = 24.0, 14.0, 3.0
_DIGIT = 7.0
"""The width that a digit takes inside a circle."""
_BAR_WIDTH, _BAR_HEIGHT, _BAR_INSET = 160, 18, 4


class Circle(NamedTuple):
    """Tasks with much the same rewards; `number` is shown inside when there is room for it."""

    x: str
    y: str
    radius: str
    kind: Kind
    title: str
    number: str


class Tick(NamedTuple):
    """A reward named on both axes: how far from the left, and from the top."""

    x: str
    y: str
    text: str


@dataclass(frozen=True, slots=True)
class Chart:
    """Old rewards to the right, new ones upwards: above the diagonal new is better."""

    circles: list[Circle]
    ticks: list[Tick]
    counts: dict[Kind, int]
    description: str
    width: int = _LEFT + _SIDE + _TOP
    height: int = _TOP + _SIDE + _BELOW
    left: int = _LEFT
    top: int = _TOP
    right: int = _LEFT + _SIDE
    bottom: int = _TOP + _SIDE


def reward_chart(old: Sequence[float], new: Sequence[float], *, shares: bool) -> Chart | None:
    """The picture of paired rewards, `old[i]` with `new[i]`; None without any.

    `shares` says that all lie between 0 and 1, which is then the range of both axes.
    """
    if not old:
        return None
    low, high = (0.0, 1.0) if shares else (min(map(min, (old, new))), max(map(max, (old, new))))
    counts: dict[Kind, int] = {"worse": 0, "same": 0, "better": 0}
    cells: dict[tuple[int, int, Kind], list[float]] = {}
    for before, after in zip(old, new, strict=True):
        kind = _kind(before, after)
        counts[kind] += 1
        x, y = _share(before, low, high), _share(after, low, high)
        cell = cells.setdefault((round(x * _STEPS), round(y * _STEPS), kind), [0, 0.0, 0.0, before, after])
        cell[0] += 1
        cell[1] += x
        cell[2] += y
    most = max(cell[0] for cell in cells.values())
    largest = _LARGEST if len(cells) <= _FEW_CIRCLES else _LARGEST_OF_MANY
    # The large ones first: they lie below the small ones.
    drawn = sorted(cells.items(), key=lambda item: (-item[1][0], item[0]))
    circles = [_circle(kind, cell, largest / math.sqrt(most)) for (_, _, kind), cell in drawn]
    return Chart(circles, _ticks(low, high), counts, _description(counts))


def _kind(old: float, new: float) -> Kind:
    if abs(new - old) <= REWARD_TOLERANCE:
        return "same"
    return "better" if new > old else "worse"


def _share(value: float, low: float, high: float) -> float:
    """How far along the range a value lies; in the middle of a range without length."""
    length = high / 2 - low / 2
    return (value / 2 - low / 2) / length if length else 0.5


def _circle(kind: Kind, cell: list[float], scale: float) -> Circle:
    number = int(cell[0])
    radius = max(_SMALLEST, scale * math.sqrt(number))
    text = f"{number:,}"
    about = "" if number == 1 else "about "
    title = f"{about}{reward_text(cell[3], 3)} → {reward_text(cell[4], 3)}: {counted(number, 'task')}"
    return Circle(
        _text(_across(cell[1] / number)),
        _text(_up(cell[2] / number)),
        _text(radius),
        kind,
        title,
        text if len(text) * _DIGIT <= 2 * radius - 2 else "",
    )


def _across(share: float) -> float:
    return _LEFT + _INSET + share * (_SIDE - 2 * _INSET)


def _up(share: float) -> float:
    return _TOP + _SIDE - _INSET - share * (_SIDE - 2 * _INSET)


def _ticks(low: float, high: float) -> list[Tick]:
    shares = (0.0, 0.5, 1.0) if high > low else (0.5,)
    # Halves again: the sum of two very large rewards would not be a number.
    values = {0.0: low, 0.5: low / 2 + high / 2, 1.0: high}
    return [Tick(_text(_across(share)), _text(_up(share)), reward_text(values[share], 3)) for share in shares]


def _description(counts: dict[Kind, int]) -> str:
    return (
        f"{counted(sum(counts.values()), 'task')} that both sides scored, old reward to the right, new reward upwards: "
        f"{counts['worse']:,} below the diagonal, where new is worse; {counts['better']:,} above it, where new is "
        f"better; {counts['same']:,} on it."
    )


def _text(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")


@dataclass(frozen=True, slots=True)
class Bar:
    """A difference as a bar from 0, and its interval, where there is one, as a line with two ends."""

    zero: str
    start: str
    length: str
    kind: Kind
    low: str
    high: str
    width: int = _BAR_WIDTH
    height: int = _BAR_HEIGHT


def difference_bars(differences: Sequence[tuple[float | None, Interval | None]]) -> list[Bar | None]:
    """The bars of several differences on one scale; None where there is no difference."""
    numbers = [number for difference, interval in differences for number in _numbers(difference, interval)]
    unit = max(map(abs, numbers), default=0.0) or 1.0
    low, high = min(0.0, *numbers) / unit if numbers else 0.0, max(0.0, *numbers) / unit if numbers else 0.0
    room = _BAR_WIDTH - 2 * _BAR_INSET

    def across(number: float) -> float:
        return _BAR_INSET + _share(number / unit, low, high) * room

    def bar(difference: float, interval: Interval | None) -> Bar:
        start, end = sorted((across(0.0), across(difference)))
        ends = ("", "") if interval is None else (_text(across(interval.low)), _text(across(interval.high)))
        return Bar(_text(across(0.0)), _text(start), _text(end - start), _kind(0.0, difference), *ends)

    return [None if difference is None else bar(difference, interval) for difference, interval in differences]


def _numbers(difference: float | None, interval: Interval | None) -> list[float]:
    if difference is None:
        return []
    return [difference] if interval is None else [difference, interval.low, interval.high]
