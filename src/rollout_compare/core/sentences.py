"""Sentences about the inputs, in which it is known what came from the inputs; and numbers in words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, NewType

from rollout_compare.core.schema import NAMED_TASKS, MakerKind, SideName, WarningCode

_OPEN, _CLOSE = "\x02", "\x03"
_MARKED = re.compile(f"{_OPEN}([^{_CLOSE}]*){_CLOSE}")
_FIRST_CLAUSE = re.compile(f"(?:{_MARKED.pattern}|[^;{_OPEN}])*")
_IN_TICKS = re.compile(f"`{_MARKED.pattern}`|{_MARKED.pattern}")
_CLEAR = 0.05
"""The p-value below which a difference is called clear."""


Marked = NewType("Marked", str)
"""Words of ours in which all data is marked.

Only the functions of this module make it: an f-string or a sum of texts is a bare `str`, which mypy takes for no
`Marked`, as nobody knows what is in it.
"""
Piece = Marked | int | float | SideName | MakerKind
"""What may be put into words of ours."""
Separator = Literal["", " ", ", ", "; ", " and ", " or "]


def told(words: str, /, *pieces: Piece, **named_pieces: Piece) -> Marked:
    """Words of ours with the pieces in place of `{}` or `{name}`, as `str.format` does it.

    The words must be a literal, which a test and ruff look after: so data gets in as a piece only, and mypy sees that
    pieces are marked. Example: `told("{:,} of {} are in {file}", 3, counted(8, "task"), file=quoted("a.jsonl"))`.
    """
    return Marked(words.format(*pieces, **named_pieces))


def listed(separator: Separator, pieces: Iterable[Marked]) -> Marked:
    """The pieces with something of ours between them."""
    return Marked(separator.join(pieces))


class Sentence(str):
    """Words of ours about the inputs, in which it is known what came from the inputs. As text it is plain."""

    marked: Marked

    def __new__(cls, marked: Marked) -> Sentence:
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
    def first_clause(self) -> Marked:
        """The words up to the first semicolon that is ours."""
        found = _FIRST_CLAUSE.match(self.marked)
        return Marked(found[0] if found is not None else "")

    @property
    def without_names(self) -> Marked:
        """The first clause up to the names that it ends with, if it ends with any."""
        return Marked(self.first_clause.partition(f": {_OPEN}")[0])

    def with_data(self, change: Callable[[str], str]) -> Sentence:
        """The same sentence with each piece of data changed."""
        return Sentence(Marked(_MARKED.sub(lambda found: quoted(change(found[1])), self.marked)))

    def split_after(self, head: re.Pattern[str]) -> tuple[Sentence, Sentence]:
        """What `head`, a pattern that ends outside of data, matches at the beginning, and the rest."""
        found = head.match(self.marked)
        end = 0 if found is None else found.end()
        return Sentence(Marked(self.marked[:end])), Sentence(Marked(self.marked[end:]))


def capitalized(words: Marked) -> Marked:
    """The same with a capital letter at the beginning."""
    return Marked(words[:1].upper() + words[1:])


def quoted(data: str) -> Marked:
    """Text from an input, marked as such."""
    return Marked(f"{_OPEN}{data.replace(_OPEN, '�').replace(_CLOSE, '�')}{_CLOSE}")


def field_name(name: str) -> Marked:
    """The name of a field or an option, marked likewise and shown in ticks."""
    return told("`{}`", quoted(name))


def named(tasks: list[str]) -> Marked:
    """The first few task names as running text, marked, with the number of those left out."""
    names = listed(", ", map(quoted, tasks[:NAMED_TASKS]))
    return names if len(tasks) <= NAMED_TASKS else told("{} and {} more", names, len(tasks) - NAMED_TASKS)


@dataclass(frozen=True, slots=True)
class CheckWarning:
    """A typed doubt about the comparison: how many tasks (or rows) it touches and up to five of their names."""

    code: WarningCode
    sentence: Sentence
    count: int
    tasks: tuple[str, ...] = ()


def counted(number: int, noun: str, plural: str | None = None) -> Marked:
    """`1 task`, `2 tasks`. The noun is a word of ours."""
    return Marked(f"{number:,} {noun if number == 1 else plural or noun + 's'}")


def figure(number: float, form: str) -> Marked:
    """A number as `format` writes it, with a minus that looks like one."""
    return Marked(format(number, form).replace("-", "\N{MINUS SIGN}"))


def p_text(p: float) -> Marked:
    """A p-value to two significant digits and at most three decimals; `<0.001` below.

    With more of both where it takes them to be on the right side of 0.05: 0.0497, not 0.05.
    """
    if p < 0.001:
        return told("<0.001")
    if p >= 0.995:
        return told("1")
    two = told("{:.2g}", p)
    if (float(two) < _CLEAR) != (p < _CLEAR):
        return next(text for digits in range(3, 18) if float(text := figure(p, f".{digits}g")) < _CLEAR)
    return told("{:.3f}", p) if len(two) > len("0.000") else two if len(two) > len("0.0") else told("{:.2f}", p)
