"""Student's t distribution for a whole number of degrees of freedom."""

from __future__ import annotations

import math

NORMAL_ABOVE = 2000
"""Beyond so many degrees of freedom the normal distribution stands in: the 95% quantiles differ by 0.0012."""

_TAIL = 1e-3
_NEGLIGIBLE = 1e-17


def two_sided_p(t: float, df: int) -> float:
    """P(|T| ≥ |t|) for Student's T with `df` degrees of freedom, a probability.

    With θ = arctan(t/√df) and A = P(|T| < t):
    even df: A = sin θ · {1 + 1/2 cos²θ + … + (1·3·…·(df-3))/(2·4·…·(df-2)) cos^(df-2) θ};
    odd df:  A = 2/π · (θ + sin θ · {cos θ + 2/3 cos³θ + … + (2·4·…·(df-3))/(3·5·…·(df-2)) cos^(df-2) θ}).
    p = 1 - A. Continued for ever, each series gives A = 1, so a small p is summed from the terms that are left out:
    a difference of nearly equal numbers would have no correct digit. Normal beyond 2000 degrees of freedom.

    Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4.
    Raises ValueError when `df` is less than 1 or `t` is NaN.
    """
    _check(df)
    if math.isnan(t):
        raise ValueError("t is not a number")
    size = abs(t)
    if df > NORMAL_ABOVE:
        return math.erfc(size / math.sqrt(2))
    if math.isinf(size):
        return 0.0
    root = math.sqrt(df)
    far = math.hypot(root, size)
    sine, cosine = size / far, root / far
    square = cosine * cosine
    odd = df % 2
    total, term = 0.0, cosine if odd else 1.0
    for power in range(odd, df - 1, 2):
        total += term
        term *= square * (power + 1) / (power + 2)
    inside = 2 / math.pi * (math.atan2(size, root) + sine * total) if odd else sine * total
    if 1 - inside >= _TAIL:
        return min(1.0, 1 - inside)
    tail = sine * _rest(term, df, square)
    return 2 / math.pi * tail if odd else tail


def _rest(term: float, power: int, square: float) -> float:
    """The sum of the series from `term`, that of cos^`power`, onwards."""
    total = 0.0
    while term > _NEGLIGIBLE * total:
        total += term
        term *= square * (power + 1) / (power + 2)
        power += 2
    return total


def _check(df: int) -> None:
    if df < 1:
        raise ValueError(f"no t distribution with {df} degrees of freedom")
