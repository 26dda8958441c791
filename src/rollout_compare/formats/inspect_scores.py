"""Which of a sample's scores counts, and the number that a score of Inspect stands for."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from rollout_compare.core.reading.json_line import field_of
from rollout_compare.core.sentences import Marked, field_name, named, quoted, told
from rollout_compare.formats.values import number, sequence, text

_LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
_SHOWN = 80


def float_of(value: Any) -> float | None:
    """A score's value as Inspect's own `value_to_float` takes it; what that cannot read is None, not 0."""
    if not isinstance(value, str):
        return number(value)
    if value in _LETTERS:
        return _LETTERS[value]
    if value.lower() in _WORDS:
        return _WORDS[value.lower()]
    try:
        found = float(value)
    except ValueError:
        return None
    return found if math.isfinite(found) else None


@dataclass(slots=True)
class Scorer:
    """The score that counts: asked for, or else the headline of a log, or its first one."""

    asked: str | None = None
    names: list[str] = field(default_factory=list)
    """The keys that it may have among a sample's scores; the last one names a value of an object too."""
    chosen: str | None = None
    """The key that it had in the last sample that has it."""
    offered: dict[str, None] = field(default_factory=dict)
    """The keys of all scores there are."""
    unscored: bool = False
    """Whether some sample has no score at all."""

    @classmethod
    def of_log(cls, head: dict[str, Any], asked: str | None) -> Scorer:
        """The scorer of a log."""
        scores = sequence(field_of(head, "results.scores"))
        scorers = sequence(field_of(head, "eval.scorers"))
        sources = (
            (field_of(head, "results.headline.scorer"), field_of(head, "results.headline.score")),
            (field_of(scores[0], "scorer"), field_of(scores[0], "name")) if scores else (),
            (field_of(scorers[0], "name"),) if scorers else (),
        )
        known = [[found for part in source if (found := text(part))] for source in sources]
        return cls(asked, next(filter(None, known), []))

    def value(self, scores: dict[str, Any]) -> Any:
        """The value of the score that counts; None when there is none."""
        key, inner = self._find(scores)
        value = None if key is None else field_of(scores[key], "value")
        if isinstance(value, dict):
            value = value.get(inner) if inner in value else next(iter(value.values())) if len(value) == 1 else value
        self.offered |= dict.fromkeys(scores)
        self.unscored |= not scores
        self.chosen = self.chosen if key is None else key
        return value

    def notes(self, log: str) -> Iterator[Marked]:
        """What is told of a log's scores once its samples have been read."""
        if self.unscored and not self.offered:
            yield told("{} was never scored: none of its samples has a score", quoted(log))
        if self.chosen is not None and len(self.offered) > 1:
            others = [key for key in self.offered if key != self.chosen]
            pieces = (quoted(self.chosen), field_name("--reward NAME"), named(others))
            yield told("the score that counts is {}; {} takes another: {}", *pieces)

    def score(self, scores: dict[str, Any]) -> Any:
        """The score that counts, with all that it says."""
        key, _ = self._find(scores)
        return None if key is None else scores[key]

    def why_not(self, scores: dict[str, Any]) -> str | None:
        """Why a sample with scores has none that counts."""
        wanted = self.asked or (self.names[0] if self.names else None)
        return f"no score is called {wanted}; there are: {', '.join(scores)}" if scores and wanted else None

    def told(self, value: Any) -> str:
        """What a value that is no number is."""
        if isinstance(value, dict):
            return f"the score {self.chosen} has several values: {', '.join(map(str, value))} (--reward SCORER.KEY)"
        return f"the score {self.chosen} is {str(value)[:_SHOWN] if isinstance(value, str) else 'a list'}"

    def _find(self, scores: dict[str, Any]) -> tuple[str | None, str | None]:
        """The key of the score that counts, and the key that a value of it has when there are several."""
        if self.asked is not None:
            # A scorer's name may hold dots itself.
            parts = self.asked.split(".")
            for length in range(len(parts), 0, -1):
                key = ".".join(parts[:length])
                if key in scores:
                    return key, ".".join(parts[length:]) or (self.names[-1] if self.names else None)
            return None, None
        for key in self.names:
            if key in scores:
                return key, self.names[-1]
        # A log names a scorer with its package, a sample without.
        alone = not self.names or len(scores) == 1
        return (next(iter(scores)), None) if scores and alone else (None, None)
