"""Numbers in, numbers out: knows nothing of rollouts. Standard library only."""

from __future__ import annotations

import math


def sign_test(lost: int, won: int) -> float:
    """Two-sided p-value of the exact sign test (McNemar's exact test) for `lost` against `won`.

    p = min(1, 2 · Σ_{i ≤ min(lost, won)} C(N, i) / 2^N with N = lost + won; 1 when N = 0. Exact: integers only
    until the last division.

    Source: the binomial distribution with p = 1/2; Conover, Practical Nonparametric Statistics, section 3.4.
    """
    number = lost + won
    tail = sum(math.comb(number, i) for i in range(min(lost, won) + 1))
    return min(1.0, 2 * tail / (1 << number))
