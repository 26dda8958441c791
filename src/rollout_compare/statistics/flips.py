"""Losses against wins: is one of them more frequent than chance makes it?"""

from __future__ import annotations

import math

EXACT_UP_TO = 1000
"""So many flips are counted in whole numbers; more are summed in floats."""

_NEGLIGIBLE = 1e-17


def sign_test(lost: int, won: int) -> float:
    """Two-sided p-value of the exact sign test (McNemar's exact test) for `lost` against `won`, a probability.

    p = min(1, 2 · Σ_{i ≤ min(lost, won)} C(N, i) / 2^N with N = lost + won; 1 when N = 0.
    Up to N = 1000 in whole numbers until the last division. Beyond, the largest term comes from the logarithm of the
    gamma function and the others from the ratio of neighbours, with a relative error below 1e-15 · N · ln N.

    Source: the binomial distribution with p = 1/2; Conover, Practical Nonparametric Statistics, section 3.4.
    Raises ValueError for a negative count.
    """
    if lost < 0 or won < 0:
        raise ValueError("a count cannot be negative")
    number, fewer = lost + won, min(lost, won)
    if number > EXACT_UP_TO:
        return min(1.0, 2 * _tail(number, fewer))
    total = term = 1
    for i in range(fewer):
        term = term * (number - i) // (i + 1)
        total += term
    return min(1.0, 2 * total / (1 << number))


def _tail(number: int, fewer: int) -> float:
    """Σ_{i ≤ fewer} C(number, i) / 2^number, in floats, from the largest term downwards."""
    largest = math.lgamma(number + 1) - math.lgamma(fewer + 1) - math.lgamma(number - fewer + 1)
    total, term = 0.0, 1.0
    for i in range(fewer, -1, -1):
        total += term
        term *= i / (number - i + 1)
        if term < _NEGLIGIBLE * total:
            break
    return total * math.exp(largest - number * math.log(2))
