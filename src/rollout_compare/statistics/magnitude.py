"""Numbers near the limits of a float: worked on at a smaller scale, and brought back if the result fits."""

from __future__ import annotations

import math
from collections.abc import Sequence

NOISE = 1e-9
"""Numbers at most this far apart are the same number, written with different rounding."""

_SAFE_BITS = 400  # up to 2^400, the sum of 2^200 squares still fits


def exponent_of(numbers: Sequence[float]) -> int:
    """The power of two to divide by, so that squares and sums of these numbers fit a float; mostly 0.

    Dividing by a power of two rounds nothing. Raises ValueError for infinities; NaN is for `mean` to find.
    """
    highest, lowest = max(numbers), min(numbers)
    largest = max(highest, -lowest)
    if not math.isfinite(largest):
        raise ValueError("the numbers must be finite")
    bits = math.frexp(largest)[1]
    return bits if bits > _SAFE_BITS else 0


def scaled(numbers: Sequence[float], exponent: int) -> Sequence[float]:
    """The numbers divided by 2^`exponent`."""
    return [math.ldexp(number, -exponent) for number in numbers] if exponent else numbers


def mean(numbers: Sequence[float]) -> float:
    """The mean, of an exact sum, however large. Raises ValueError when a number is not finite."""
    try:
        total = math.fsum(numbers)
    except OverflowError:
        exponent = exponent_of(numbers)
        return math.ldexp(mean(scaled(numbers, exponent)), exponent)
    if not math.isfinite(total):
        raise ValueError("the numbers must be finite")
    return total / len(numbers)


def unscaled(number: float, exponent: int) -> float | None:
    """The number times 2^`exponent`, or None when that is too large for a float."""
    try:
        return math.ldexp(number, exponent)
    except OverflowError:
        return None
