"""What a comparison can resolve: how large a loss would have to be for its rule to find it mostly."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

from rollout_compare.statistics.paired import ADDED, NORMAL_975, Paired

POWER = 0.80
_STEPS = 40
_NEGLIGIBLE = 1e-12


def resolution(found: Paired) -> float | None:
    """The true loss that would be called lower in 80% of comparisons like this one, in reward units.

    The loss is one of whole tasks, as of an agent that breaks on a share f of them: of n tasks k are lost, with the
    binomial chance of f, and each loses the span R. Besides, the n differences vary around 0 as they did, by their
    standard deviation s. In units of R, their sum is then near -k with a variance of n s², their squares around the
    mean add up to about q = n s² + k - k²/n, and the interval of `compare_pairs` lies below 0 when the sum is below
    -1.959964 · √(q + 2). With Φ of the normal distribution,

        power(f) = Σ_k C(n,k) f^k (1-f)^(n-k) · Φ((k - 1.959964 · √(q + 2)) / √(n s²))

    and the resolution is R times the f of power(f) = 0.80. A hundred tasks without a difference: 1.96 · √(q + 2) is
    5.09 for k = 5 and 5.42 for k = 6, so that 6 lost tasks are found. 6 or more of 100 are lost in 80% when f = 0.0779.

    A loss that is spread evenly is found more often: it does not add to the spread.
    None where even the loss of all tasks would not be found in 80%, as of one or two, or of a few that vary much; and
    where the deviation or the span is None.

    Source: the power of a rule is the chance that it speaks; Bloom, Evaluation Review 19 (1995), 547-556.
    """
    if found.span is None or found.standard_deviation is None:
        return None
    n = found.n
    noise = n * (found.standard_deviation / found.span) ** 2

    @cache
    def is_told(lost: int) -> float:
        """The chance that so many lost tasks are called lower."""
        needed = NORMAL_975 * math.sqrt(noise + lost - lost * lost / n + ADDED)
        if noise == 0:
            return float(lost > needed)
        return math.erfc((needed - lost) / math.sqrt(2 * noise)) / 2

    if is_told(n) < POWER:
        return None
    low, high = 0.0, 2 / n
    while high < 1 and _power(high, n, is_told) < POWER:
        low, high = high, 2 * high
    high = min(1.0, high)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if _power(middle, n, is_told) < POWER:
            low = middle
        else:
            high = middle
    return high * found.span


def _power(share: float, n: int, is_told: Callable[[int], float]) -> float:
    """The mean of `is_told` over a binomial number of lost tasks, outwards from the likeliest number."""
    mode = int((n + 1) * share)
    odds = share / (1 - share)
    total, told, weight = 1.0, is_told(mode), 1.0
    for lost in range(mode, n):
        weight *= (n - lost) / (lost + 1) * odds
        if weight < _NEGLIGIBLE:
            break
        total += weight
        told += weight * is_told(lost + 1)
    weight = 1.0
    for lost in range(mode, 0, -1):
        weight *= lost / (n - lost + 1) / odds
        if weight < _NEGLIGIBLE:
            break
        total += weight
        told += weight * is_told(lost - 1)
    return told / total
