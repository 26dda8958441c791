"""The same tasks on two sides: the mean difference, how sure it is, and what it can resolve."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

from rollout_compare.statistics.magnitude import NOISE, exponent_of, mean, scaled, unscaled
from rollout_compare.statistics.student import quantile, two_sided_p

Method = Literal["t", "bonett-price"]

LEVEL = 0.95
POWER = 0.80
_NORMAL = 1.959963984540054  # the normal quantile of 0.975
_ROUNDING = 1e-12  # of a difference, relative to it


class Interval(NamedTuple):
    """A confidence interval in reward units; `level` is the share of such intervals that hold the true value."""

    low: float
    high: float
    level: float
    method: Method


class Paired(NamedTuple):
    """What `compare_pairs` found. Means, deviation, errors and resolution are in the units of the rewards.

    `lost` and `won`: how many differences are below and above 0. `constant`: the differences (two or more) are all the
    same, which is why there is no p-value and no resolution, and no t interval.
    """

    n: int
    mean_old: float | None = None
    mean_new: float | None = None
    mean_difference: float | None = None
    standard_error: float | None = None
    interval: Interval | None = None
    p_value: float | None = None
    resolution: float | None = None
    lost: int = 0
    won: int = 0
    constant: bool = False


def compare_pairs(old: Sequence[float], new: Sequence[float], *, method: Method = "t", bounded: bool = False) -> Paired:
    """Compare paired numbers, `old[i]` with `new[i]`: one number a task and side, each task weighing the same.

    d_i = new_i - old_i, 0 where |d_i| ≤ 1e-9; m = mean of d_i; SE = sd(d)/√n with the n-1 of an unbiased variance;
    interval m ± t(0.975, n-1) · SE; p two-sided from m/SE with n-1 degrees of freedom;
    resolution (t(0.975, n-1) + t(0.80, n-1)) · SE: the smallest true difference found in 80% of such comparisons.

    `method` "bonett-price" is for rewards that are all 0 or 1, one run a task and side: the interval is that of
    `bonett_price`, the rest stays. `bounded` says that all rewards lie between 0 and 1: the interval then stays
    between -1 and 1.

    n = 0: no figure. n = 1: the means only. All d_i equal (up to 1e-9, or 1e-12 of the difference): SE is 0, and there
    is no t interval, no p, no resolution: such data do not show how much they vary. A figure too large for a float is
    None.

    Source: Student, Biometrika 6 (1908), 1-25; Bloom, Evaluation Review 19 (1995), 547-556, for the resolution.
    Raises ValueError when the sides differ in length, a number is not finite, or "bonett-price" is asked for
    differences other than -1, 0 and 1.
    """
    if len(old) != len(new):
        raise ValueError("paired numbers come in pairs")
    if not old:
        return Paired(0)
    differences, exponent = _differences(old, new)
    n = len(differences)
    lost, won = sum(d < 0 for d in differences), sum(d > 0 for d in differences)
    middle = mean(differences)
    found = Paired(n, mean(old), mean(new), unscaled(middle, exponent), lost=lost, won=won)
    if n > 1:
        found = _with_spread(found, differences, middle, exponent)
    if method == "bonett-price":
        if exponent or not set(differences) <= {-1.0, 0.0, 1.0}:
            raise ValueError("Bonett and Price's interval is for rewards of 0 and 1")
        found = found._replace(interval=bonett_price(lost, won, n))
    elif bounded and found.interval is not None:
        found = found._replace(interval=_clipped(found.interval))
    return found


def _differences(old: Sequence[float], new: Sequence[float]) -> tuple[Sequence[float], int]:
    """new - old, 0 where that is noise, divided by 2^e so that their squares fit; and e, mostly 0."""
    differences = [0.0 if -NOISE <= (d := b - a) <= NOISE else d for a, b in zip(old, new, strict=True)]
    halved = math.inf in (max(differences), -min(differences))
    if halved:
        differences = [0.0 if -NOISE <= b - a <= NOISE else b / 2 - a / 2 for a, b in zip(old, new, strict=True)]
    exponent = exponent_of(differences)
    return scaled(differences, exponent), exponent + halved


def _with_spread(found: Paired, differences: Sequence[float], middle: float, exponent: int) -> Paired:
    """Add what takes two differences or more; `differences` and `middle`, their mean, are divided by 2^`exponent`."""
    low, high = min(differences), max(differences)
    if high - low <= max(math.ldexp(NOISE, -exponent), _ROUNDING * max(high, -low)):
        return found._replace(standard_error=0.0, constant=True)
    n = found.n
    deviation = math.sqrt(math.fsum([(x := d - middle) * x for d in differences]) / (n - 1))
    error = deviation / math.sqrt(n)
    reach = quantile((1 + LEVEL) / 2, n - 1)
    bounds = unscaled(middle - reach * error, exponent), unscaled(middle + reach * error, exponent)
    interval = None if bounds[0] is None or bounds[1] is None else Interval(bounds[0], bounds[1], LEVEL, "t")
    return found._replace(
        standard_error=unscaled(error, exponent),
        interval=interval,
        p_value=two_sided_p(middle / error, n - 1),
        resolution=unscaled((reach + quantile(POWER, n - 1)) * error, exponent),
    )


def bonett_price(lost: int, won: int, n: int) -> Interval | None:
    """95% interval for a difference of paired proportions, as a share between -1 and 1; None for n < 2.

    With p_b = (lost+1)/(n+2), p_c = (won+1)/(n+2) and D = p_c - p_b: D ± 1.959964 · √((p_b + p_c - D²)/(n+2)).
    The Laplace counts keep it from closing up when nothing is lost or won, and move its middle a little to 0.

    Source: Bonett and Price, Journal of Educational and Behavioral Statistics 37 (2012), 479-488.
    Raises ValueError for a negative count, or more flips than n.
    """
    if lost < 0 or won < 0 or lost + won > n:
        raise ValueError("lost and won are part of the n")
    if n < 2:
        return None
    p_lost, p_won = (lost + 1) / (n + 2), (won + 1) / (n + 2)
    middle = p_won - p_lost
    reach = _NORMAL * math.sqrt((p_lost + p_won - middle * middle) / (n + 2))
    return _clipped(Interval(middle - reach, middle + reach, LEVEL, "bonett-price"))


def _clipped(interval: Interval) -> Interval:
    return interval._replace(low=max(-1.0, interval.low), high=min(1.0, interval.high))
