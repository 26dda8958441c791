"""Sentences about the inputs, in which it is known what came from the inputs; and numbers in words."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from rollout_compare.core.schema import NAMED_TASKS, WarningCode

_OPEN, _CLOSE = "\x02", "\x03"
_MARKED = re.compile(f"{_OPEN}([^{_CLOSE}]*){_CLOSE}")
_FIRST_CLAUSE = re.compile(f"(?:{_MARKED.pattern}|[^;{_OPEN}])*")
_CLEAR = 0.05
"""The p-value below which a difference is called clear."""
_IN_TICKS = re.compile(f"`{_MARKED.pattern}`|{_MARKED.pattern}")


class Sentence(str):
    """Words of ours about the inputs, in which it is known what came from the inputs.

    As text it is the plain sentence. It is made of words in which `quoted` and `field_name` have marked the data.
    """

    marked: str

    def __new__(cls, marked: str) -> Sentence:
        """The sentence of words with marked data."""
        self = super().__new__(cls, _MARKED.sub(r"\1", marked))
        self.marked = marked
        return self

    @property
    def parts(self) -> list[str]:
        """Our words and data in turn, our words first; without the ticks round the names of fields."""
        parts: list[str] = []
        at = 0
        for found in _IN_TICKS.finditer(self.marked):
            parts += (self.marked[at : found.start()], found[1] if found[2] is None else found[2])
            at = found.end()
        return [*parts, self.marked[at:]]

    @property
    def first_clause(self) -> str:
        """The words up to the first semicolon that is ours, with their data marked."""
        found = _FIRST_CLAUSE.match(self.marked)
        return found[0] if found is not None else ""

    def with_data(self, change: Callable[[str], str]) -> Sentence:
        """The same sentence with each piece of data changed."""
        return Sentence(_MARKED.sub(lambda found: quoted(change(found[1])), self.marked))


def quoted(data: str) -> str:
    """Text from an input, marked as such for a `Sentence`."""
    return f"{_OPEN}{data.replace(_OPEN, '�').replace(_CLOSE, '�')}{_CLOSE}"


def field_name(name: str) -> str:
    """The name of a field or an option, marked likewise and shown in ticks."""
    return f"`{quoted(name)}`"


def named(tasks: list[str]) -> str:
    """The first few task names as running text, marked, with the number of those left out."""
    names = ", ".join(map(quoted, tasks[:NAMED_TASKS]))
    return names if len(tasks) <= NAMED_TASKS else f"{names} and {len(tasks) - NAMED_TASKS} more"


@dataclass(frozen=True, slots=True)
class CheckWarning:
    """A typed doubt about the comparison: how many tasks (or rows) it touches and up to five of their names."""

    code: WarningCode
    sentence: Sentence
    count: int
    tasks: tuple[str, ...] = ()


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """`1 task`, `2 tasks`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def p_text(p: float) -> str:
    """A p-value to two significant digits and at most three decimals; `<0.001` below.

    With more of both where it takes them to be on the right side of 0.05: 0.0497, not 0.05.
    """
    if p < 0.001:
        return "<0.001"
    if p >= 0.995:
        return "1"
    two = f"{p:.2g}"
    if (float(two) < _CLEAR) != (p < _CLEAR):
        return next(text for digits in range(3, 18) if float(text := f"{p:.{digits}g}") < _CLEAR)
    return f"{p:.3f}" if len(two) > len("0.000") else two if len(two) > len("0.0") else f"{p:.2f}"
