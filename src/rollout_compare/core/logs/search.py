"""What is looked for in logs, where, and what is found."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rollout_compare.core.logs.ending import EndSearch
from rollout_compare.core.redaction import KEEP, Redaction
from rollout_compare.core.schema import SideName
from rollout_compare.core.sentences import Sentence


@dataclass(frozen=True, slots=True)
class VerifierOutput:
    """The end of what the verifier said, and where it was found; `lines` is None when it is unavailable."""

    side: SideName
    source: Sentence
    """A log's path, `row field <name>`, or `unavailable: <why>`."""
    lines: list[str] | None


@dataclass(frozen=True, slots=True)
class LogSearch:
    """Where verifier output is looked for."""

    tail: int
    """How many lines to show."""
    roots: Sequence[str] = ()
    """Folders for the log paths of both sides."""
    old_roots: Sequence[str] = ()
    new_roots: Sequence[str] = ()
    working_directory: str | None = None
    """A last folder to look in; None to look in none."""
    fields: Sequence[str] = ()
    """Fields of a row (dotted) that may hold verifier output, before the usual fallbacks."""
    longest: int = 0
    """How many lines may be asked for besides, by a report that has room for more."""
    allow_absolute: bool = False
    """Whether an absolute path may lie outside the roots."""
    redact: Redaction = KEEP
    """Takes secrets out of what is shown, before it is cut."""
    bring: Callable[[str], None] | None = None
    """Makes what is to be looked at at a path be there, if it can; raises OSError."""
    end: EndSearch | None = None
    """What is looked for to tell how a row ended; None for nothing."""


class WantedOutputs(NamedTuple):
    """Rows of one side that will be asked for, by their numbers."""

    outputs: Collection[int] = ()
    ends: Collection[int] = ()
    """Those that are asked how they ended."""
    lines: Collection[int] = ()
    """Those of them whose output is searched for a line that tells."""
