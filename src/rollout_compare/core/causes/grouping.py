"""Tasks that end alike: how many of each kind have one signature, and which groups of them tell something."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Kind = Literal["regressed", "agent_error", "masked", "improved"]
KINDS: tuple[Kind, ...] = ("regressed", "agent_error", "masked", "improved")
NAMED = 20
"""How many tasks of a cause are named."""
_FEWEST = 3
_FEWEST_OF_FEW = 2
"""Enough for a group when they are a quarter of all."""


class Ending(NamedTuple):
    """How one task ended: its name, which kind of task it is, the line and its signature."""

    task: str
    kind: Kind
    line: str
    signature: str


@dataclass(slots=True)
class Cause:
    """The tasks that end with one signature, by kind."""

    signature: str
    example: str
    """The line of the first of them."""
    numbers: Counter[Kind] = field(default_factory=Counter)
    tasks: dict[Kind, list[str]] = field(default_factory=dict)
    """The first of them by name."""

    @property
    def named(self) -> list[str]:
        """The names of the first tasks of all kinds, regressed ones first."""
        return [task for kind in KINDS for task in self.tasks.get(kind, ())][:NAMED]


def group(endings: Iterable[Ending]) -> list[Cause]:
    """The causes of tasks, those of most regressed tasks first, then of most others, then in the order given."""
    causes: dict[str, Cause] = {}
    for ending in endings:
        cause = causes.setdefault(ending.signature, Cause(ending.signature, ending.line))
        cause.numbers[ending.kind] += 1
        tasks = cause.tasks.setdefault(ending.kind, [])
        if len(tasks) < NAMED:
            tasks.append(ending.task)
    return sorted(causes.values(), key=lambda cause: [-cause.numbers[kind] for kind in KINDS])


def is_group(number: int, of: int) -> bool:
    """Whether so many tasks of a kind that end alike are worth telling: 3, or 2 that are a quarter."""
    return number >= _FEWEST or (number >= _FEWEST_OF_FEW and 4 * number >= of)


def is_new(cause: Cause, regressed: int, improved: int) -> bool:
    """Whether a cause takes a larger share of the regressed tasks than of the improved ones before they improved.

    `regressed` and `improved` are how many there are of each. What ended as many tasks before says nothing new.
    """
    return cause.numbers["improved"] * regressed < cause.numbers["regressed"] * max(1, improved)
