"""How much detail fits a limit: which flips are told at length, which logs are shown, and how much of each.

Details are given up in a fixed order, so each state of a report is one number, from 0 (least) up. The number that fits
is looked for with estimated sizes first, then with real ones.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Literal, NamedTuple

from rollout_compare.core.sentences import Sentence
from rollout_compare.report.facts import Facts, Flip
from rollout_compare.report.untrusted.markdown import fence


class Limit(NamedTuple):
    """The largest text that fits."""

    size: int
    unit: Literal["code points", "bytes"]

    def of(self, text: str) -> int:
        """The size of a text in the unit of the limit."""
        return len(text) if self.unit == "code points" else len(text.encode("utf-8", "replace"))


class Level(NamedTuple):
    """A length of log tails: of the lines asked for at most this share and number, each cut to this width."""

    share: float
    lines: int
    width: int


LEVELS = (
    Level(1.0, 1_000_000, 2_000),
    Level(1.0, 60, 400),
    Level(0.67, 30, 300),
    Level(0.34, 15, 200),
    Level(0.2, 6, 160),
    Level(0.0, 1, 120),
)
"""The longest tails first. The last ones keep a line even of one asked for."""

KEPT_LOGS = 5
"""How many of the most important flips keep their log, at its shortest, whatever has to go."""
_NAMES = (200, 50, 10, 0)
"""How many masked and missing tasks are named: fewer when they alone take up half of the room."""
_MOST_RENDERS = 6
_CLOSE_ENOUGH = 0.97
_CERTAIN = 0.9
"""The share of an estimated size that is surely taken."""
_FLIP_FRAME = 110
_ROW_FRAME = 20
"""About what a flip takes besides what it says, as details and as a row."""
_TEST_FRAME = 12
"""About what a test or a component takes besides."""


class Shown(NamedTuple):
    """The verifier output of one flip, cut to a level."""

    source: Sentence
    lines: list[str] | None
    asked: int = 0
    """How many lines there were before."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The detail of a report. Flips are counted from the most important one."""

    rows: int
    """Flips told at all."""
    details: int
    """Flips told at length; the others are rows of a table."""
    logs: int
    """Flips whose log is shown."""
    names: int
    """Masked and missing tasks named, in each list."""
    log: Callable[[int], Shown | None]
    """The verifier output of a flip by its place; None when it is not shown."""


@dataclass(slots=True)
class _Sizes:
    """Estimated sizes per flip, in order of importance; `logs` per level, of those that were read."""

    rows: list[int] = field(default_factory=list)
    details: list[int] = field(default_factory=list)
    logs: list[list[int]] = field(default_factory=list)


class Budget:
    """Finds the most detailed report that fits a limit."""

    def __init__(self, facts: Facts, limit: Limit) -> None:
        self._facts = facts
        self._limit = limit
        self._flips = [at for section in facts.sections for at in section.positions]
        self._kept: list[Shown] = []
        self._sizes = _Sizes()

    def fit(self, render: Callable[[Plan], str]) -> str:
        """The text of the most detailed plan that fits. Raises OverflowError when none does."""
        names, kept, frame = self._frame(render)
        flips = len(self._flips)
        if not flips:
            return frame
        self._estimate(self._limit.size - self._limit.of(frame))
        totals = self._totals(kept)
        room = self._limit.size - self._limit.of(frame)
        best, best_text = -1, ""
        too_much = len(totals)
        for _ in range(_MOST_RENDERS):
            step = min(max(0, bisect_right(totals, room) - 1), too_much - 1)
            if step <= best:
                break
            text = render(self._plan(step, kept, names))
            size = self._limit.of(text)
            if size > self._limit.size:
                too_much = step
                room -= size - self._limit.size
                continue
            best, best_text = step, text
            if step + 1 == too_much or size > _CLOSE_ENOUGH * self._limit.size:
                break
            room += self._limit.size - size
        if best < 0:
            best_text = self._least(render, kept, names, too_much)
        return best_text

    def _least(self, render: Callable[[Plan], str], kept: int, names: int, too_much: int) -> str:
        """The text of some plan that fits: far less than was estimated, down to no flip at all."""
        step = too_much // 2
        while step:
            text = render(self._plan(step, kept, names))
            if self._limit.of(text) <= self._limit.size:
                return text
            step //= 2
        text = render(self._plan(0, 0, names))
        if self._limit.of(text) > self._limit.size:
            raise OverflowError
        return text

    def _frame(self, render: Callable[[Plan], str]) -> tuple[int, int, str]:
        """How many names, how many logs to keep, and the report without any flip."""
        text = ""
        for names in _NAMES:
            text = render(Plan(0, 0, 0, names, lambda _: None))
            if self._limit.of(text) <= self._limit.size * (0.5 if self._flips else 1):
                return names, min(KEPT_LOGS, len(self._flips)), text
        if self._limit.of(text) > self._limit.size:
            raise OverflowError
        return 0, 0, text

    def _estimate(self, room: int) -> None:
        """Read logs, the most important first, as long as there may be room for them at some level."""
        sizes, of = self._sizes, self._limit.of
        for flip in map(self._facts.flip, self._flips):
            words = of(flip.task) + sum(of(signal.what) + of(signal.data) for signal in flip.signals)
            words += of(flip.old) + of(flip.new) + of(flip.evidence) + of(flip.repeats)
            sizes.rows.append(words + _ROW_FRAME)
            sizes.details.append(words + _FLIP_FRAME + self._size_of_tests(flip))
        # More than a few logs are shown only if every flip is told at length.
        room -= int(_CERTAIN * sum(sizes.details))
        taken = [0] * len(LEVELS)
        alive = list(range(len(LEVELS))) if room > 0 else []
        for at in self._flips:
            if not alive and len(self._kept) >= KEPT_LOGS:
                break
            output = self._facts.output(at)
            whole = Shown(output.source, output.lines, len(output.lines or ()))
            wanted = alive or [len(LEVELS) - 1]
            # Kept no longer than it can be shown: what is kept stays within a few times the limit.
            self._kept.append(_cut(whole, LEVELS[wanted[0]]))
            logs = [self._limit.size] * len(LEVELS)
            for level in list(wanted):
                cut = _cut(self._kept[-1], LEVELS[level])
                logs[level] = of(cut.source) + (of(fence(cut.lines)) if cut.lines else 0)
                taken[level] += logs[level]
                if taken[level] > room and alive:
                    alive.remove(level)
            sizes.logs.append(logs)

    def _size_of_tests(self, flip: Flip) -> int:
        """What the tests and the components of a flip take at length."""
        of = self._limit.of
        size = sum(of(each.name) + of(each.change) + _TEST_FRAME for each in flip.components)
        if flip.tests is not None:
            size += of(flip.tests.summary) + _TEST_FRAME
            size += sum(
                of(test.name) + of(test.message) + of(test.rates) + of(test.what) + _TEST_FRAME
                for test in flip.tests.tests
            )
        return size

    def _totals(self, kept: int) -> list[int]:
        """The estimated size of each step; steps that would need logs that were not read are left out."""
        sizes = self._sizes
        last = len(LEVELS) - 1
        rows, details = (list(accumulate(each, initial=0)) for each in (sizes.rows, sizes.details))
        logs = [list(accumulate((log[level] for log in sizes.logs), initial=0)) for level in range(len(LEVELS))]
        flips, read = len(self._flips), len(sizes.logs)
        least = details[kept] + logs[last][kept] - rows[kept]
        totals = [least + rows[told] for told in range(kept, flips + 1)]
        totals += [logs[last][kept] + details[told] + rows[flips] - rows[told] for told in range(kept + 1, flips + 1)]
        totals += [logs[last][shown] + details[flips] for shown in range(kept + 1, read + 1)]
        if read == flips:
            totals += [logs[level][flips] + details[flips] for level in range(last - 1, -1, -1)]
        return list(accumulate(totals, max))

    def _plan(self, step: int, kept: int, names: int) -> Plan:
        flips = len(self._flips)
        rest = flips - kept
        rows = kept + min(step, rest)
        details = kept + min(max(0, step - rest), rest)
        logs = kept + min(max(0, step - 2 * rest), rest)
        level = len(LEVELS) - 1 - max(0, step - 3 * rest)

        def log(place: int) -> Shown | None:
            if place >= logs:
                return None
            return _cut(self._kept[place], LEVELS[level])

        return Plan(rows, details, logs, names, log)


def _cut(shown: Shown, level: Level) -> Shown:
    """The same with its log at a level; a log can be cut again to a lower one."""
    if not shown.lines:
        return shown
    number = min(level.lines, max(1, round(shown.asked * level.share)))
    lines = [line if len(line) <= level.width + 1 else line[: level.width] + "…" for line in shown.lines[-number:]]
    return shown._replace(lines=lines)
