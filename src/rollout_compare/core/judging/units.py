"""How differences of rewards are told: in points when all rewards are shares, else as rewards."""

from __future__ import annotations

import math
from typing import NamedTuple

from rollout_compare.core.sentences import Marked, figure, told
from rollout_compare.statistics.masks import Bracket
from rollout_compare.statistics.paired import Interval

_MOST_DECIMALS = 15


class Units(NamedTuple):
    """A unit, and with how many decimals numbers are told in it."""

    are_points: bool
    decimals: int = 1

    @classmethod
    def fit_for(cls, spread: Interval | Bracket | None, *, are_points: bool) -> Units:
        """Units with as many decimals as it takes to tell `spread`, and a bound that is not 0, from 0."""
        if not are_points or spread is None or spread.low == spread.high:
            return cls(are_points)
        smallest = 50 * (spread.high - spread.low)
        if spread.low * spread.high > 0:
            smallest = min(smallest, 200 * min(abs(spread.low), abs(spread.high)))
        return cls(are_points, min(_MOST_DECIMALS, max(1, math.ceil(-math.log10(smallest)))))

    def number(self, value: float) -> Marked:
        """A number without its unit."""
        return figure(100 * value, f".{self.decimals}f") if self.are_points else figure(value, ".3g")

    def amount(self, value: float) -> Marked:
        """A number with its unit, if that has a name."""
        return told("{} points", self.number(value)) if self.are_points else self.number(value)

    def exact(self, margin: float) -> Marked:
        """A margin as it was given: rounded down it would claim more than was shown."""
        if not self.are_points:
            return figure(margin, ".12g")
        points = figure(100 * margin, ".12g")
        return told("1 point") if points == "1" else told("{} points", points)

    def signed(self, value: float, *, unit: bool = True) -> Marked:
        """A difference with its sign, unless it is shown as 0."""
        shown = self.number(abs(value))
        text = self.amount(abs(value)) if unit else shown
        if not shown.strip("0."):
            return text
        return told("\N{MINUS SIGN}{}", text) if value < 0 else told("+{}", text)

    def range(self, low: float, high: float) -> Marked:
        """Two numbers and all between."""
        return told("{} to {}", self.number(low), self.number(high))
