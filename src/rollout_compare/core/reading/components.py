"""The parts that rewards are made of, as rows name them: into columns that exist from the first value on."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from rollout_compare.core.reading.provenance import finite_number
from rollout_compare.core.reading.rows import Row
from rollout_compare.core.redaction import Redaction, start_of

_NAN = float("nan")
_MOST_NAMES = 64
"""How many components of a side are kept: names come from the inputs."""
_LONGEST_NAME = 200


@dataclass(slots=True)
class Components:
    """`reward_components`, else `verifier_rewards`, of each row of a side: objects of names and numbers."""

    columns: dict[str, array[float]] = field(default_factory=dict)
    """The values of each component by its redacted name, one entry per row: NaN where a row has none."""

    def append(self, rows: Sequence[Row], before: int, redact: Redaction) -> None:
        """Keep what `rows` say; `before` is the number of rows so far."""
        # Most blocks of rows have no such field at all.
        said = [row.reward_components for row in rows], [row.verifier_rewards for row in rows]
        if not self.columns and said[0].count(None) + said[1].count(None) == 2 * len(rows):
            return
        told = [_numbers(first, redact) or _numbers(second, redact) for first, second in zip(*said, strict=True)]
        for name in dict.fromkeys(name for numbers in told for name in numbers):
            if name not in self.columns and len(self.columns) < _MOST_NAMES:
                self.columns[name] = array("d", [_NAN]) * before
        for name, column in self.columns.items():
            column.extend([numbers.get(name, _NAN) for numbers in told])

    def of(self, rows: Sequence[int]) -> dict[str, list[float]]:
        """The values of each component that some of the rows have, in the order of their names."""
        values = {name: [column[row] for row in rows] for name, column in sorted(self.columns.items())}
        finite = {name: [value for value in found if not math.isnan(value)] for name, found in values.items()}
        return {name: found for name, found in finite.items() if found}


def _numbers(value: Any, redact: Redaction) -> dict[str, float]:
    """The finite numbers of an object."""
    if not isinstance(value, dict):
        return {}
    numbers = {name: finite_number(each) for name, each in list(value.items())[:_MOST_NAMES]}
    return {
        start_of(name, _LONGEST_NAME, redact): number
        for name, number in numbers.items()
        if isinstance(name, str) and number is not None
    }
