"""The same tasks on two sides: the mean difference, and how sure it is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

from rollout_compare.statistics.magnitude import NOISE, exponent_of, mean, scaled, unscaled
from rollout_compare.statistics.student import two_sided_p

Method = Literal["added-pair"]

LEVEL = 0.95
NORMAL_975 = 1.959963984540054
"""The normal quantile of 0.975, which a 95% interval reaches to on either side."""
ADDED = 2
"""How many differences of the largest size the spread of an interval has besides those that were seen."""
TINY = 1e-6
"""A difference of at most this share of what the rewards span is rounding."""
_ROUNDING = 1e-12  # of a difference, relative to it


class Interval(NamedTuple):
    """A confidence interval in reward units; `level` is the share of such intervals that hold the true value."""

    low: float
    high: float
    level: float
    method: Method


class Paired(NamedTuple):
    """What `compare_pairs` found. Means, deviation, error, interval and span are in the units of the rewards.

    `span`: how far the rewards and 0 lie apart, 1 when all rewards are 0. `lost` and `won`: how many differences are
    below and above 0. `constant`: the differences (two or more) are all the same, which is why there is no p-value.
    """

    n: int
    mean_old: float | None = None
    mean_new: float | None = None
    mean_difference: float | None = None
    standard_deviation: float | None = None
    standard_error: float | None = None
    interval: Interval | None = None
    p_value: float | None = None
    span: float | None = None
    lost: int = 0
    won: int = 0
    constant: bool = False


def compare_pairs(old: Sequence[float], new: Sequence[float], *, lowest: float = 0.0, highest: float = 0.0) -> Paired:
    """Compare paired numbers, `old[i]` with `new[i]`: one number a task and side, each task weighing the same.

    d_i = new_i - old_i, 0 where it is `tolerance` or less; m = mean of d_i; SE = sd(d)/√n with the n-1 of an unbiased
    variance; p two-sided from m/SE, Student's t with n-1 degrees of freedom. With R = the span of all rewards and 0
    (1 when all rewards are 0) the interval is

        m ± 1.959964 · √(Σ(d_i - m)² + 2 R²) / n

    as if one task more had lost all that there is to lose, and one had won as much. So it does not close up when
    little or nothing changed, and it stretches with the rewards. Ten tasks of 0 and 1, two of them lost: Σ(d_i - m)² =
    2 · 0.8² + 8 · 0.2² = 1.6, and -0.2 ± 1.96 · √3.6/10 is -0.572 to +0.172.

    Where the numbers are means, `lowest` and `highest` are the smallest and the largest single reward behind them.
    When all lie between 0 and 1, the interval stays between -1 and 1.

    n = 0: no figure. n = 1: the means and the span only. All d_i equal (up to the tolerance, or 1e-12 of the
    difference): SE is 0, and there is no p. A figure too large for a float is None.

    Source: Student, Biometrika 6 (1908), 1-25, for p. The added pair is in the spirit of Agresti and Min, Statistics
    in Medicine 24 (2005), 729-740, and of Bonett and Price, Journal of Educational and Behavioral Statistics 37
    (2012), 479-488: for rewards of 0 and 1 it is the latter's interval, but for n in place of their n + 2.
    `tools/interval_table.py` has measured it.
    Raises ValueError when the sides differ in length, or a number is not finite.
    """
    if len(old) != len(new):
        raise ValueError("paired numbers come in pairs")
    if not old:
        return Paired(0)
    means = mean(old), mean(new)
    lowest, highest = min(0.0, lowest, *map(min, (old, new))), max(0.0, highest, *map(max, (old, new)))
    differences, exponent = _differences(old, new, lowest, highest)
    middle = mean(differences)
    found = Paired(
        len(differences),
        *means,
        unscaled(middle, exponent),
        span=unscaled(_span(lowest, highest, exponent), exponent),
        lost=sum(d < 0 for d in differences),
        won=sum(d > 0 for d in differences),
    )
    return found if found.n == 1 else _with_spread(found, differences, middle, lowest, highest, exponent)


def tolerance(lowest: float, highest: float) -> float:
    """The difference up to which two rewards are the same, where rewards lie between these, in their units.

    A millionth of what the rewards and 0 span, and at least 1e-9: 32-bit floats round by up to 6e-8 of a number.
    Source: measured on scores that were written by other programs.
    """
    # Each for itself: the span of the largest rewards is no float.
    return max(NOISE, TINY * max(0.0, highest) - TINY * min(0.0, lowest))


def _span(lowest: float, highest: float, exponent: int) -> float:
    """How far the rewards and 0 lie apart, divided by 2^`exponent`; 1 when all rewards are 0."""
    span = math.ldexp(highest, -exponent) - math.ldexp(lowest, -exponent)
    return span if span > NOISE else 1.0


def _differences(
    old: Sequence[float], new: Sequence[float], lowest: float, highest: float
) -> tuple[Sequence[float], int]:
    """new - old, 0 where that is rounding, divided by 2^e so that their squares and the span's fit; and e, mostly 0."""
    exponent = exponent_of((lowest, highest))
    if exponent:
        # One more: a difference may be twice as large as a reward.
        exponent += 1
        old, new = scaled(old, exponent), scaled(new, exponent)
    tiny = math.ldexp(tolerance(lowest, highest), -exponent)
    return [0.0 if -tiny <= (d := b - a) <= tiny else d for a, b in zip(old, new, strict=True)], exponent


def _with_spread(
    found: Paired, differences: Sequence[float], middle: float, lowest: float, highest: float, exponent: int
) -> Paired:
    """Add what takes two differences or more; `differences` and `middle`, their mean, are divided by 2^`exponent`."""
    n, low, high = found.n, min(differences), max(differences)
    alike = max(math.ldexp(tolerance(lowest, highest), -exponent), _ROUNDING * max(high, -low))
    constant = high - low <= alike
    squares = 0.0 if constant else math.fsum([(x := d - middle) * x for d in differences])
    deviation = math.sqrt(squares / (n - 1))
    error = deviation / math.sqrt(n)
    span = _span(lowest, highest, exponent)
    reach = NORMAL_975 * math.sqrt(squares + ADDED * span * span) / n
    bounds = unscaled(middle - reach, exponent), unscaled(middle + reach, exponent)
    interval = None
    if bounds[0] is not None and bounds[1] is not None:
        within = (-1.0, 1.0) if lowest == 0 and highest <= 1 else (-math.inf, math.inf)
        interval = Interval(max(within[0], bounds[0]), min(within[1], bounds[1]), LEVEL, "added-pair")
    return found._replace(
        standard_deviation=unscaled(deviation, exponent),
        standard_error=unscaled(error, exponent),
        interval=interval,
        p_value=None if constant else two_sided_p(middle / error, n - 1),
        constant=constant,
    )
