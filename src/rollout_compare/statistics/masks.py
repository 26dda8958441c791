"""What was left out: how far it could move the mean difference."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple


class Bracket(NamedTuple):
    """The mean difference at its lowest and at its highest, in reward units."""

    low: float
    high: float


def bracket(
    n: int,
    mean_difference: float | None,
    *,
    new_where_old_masked: Sequence[float] = (),
    old_where_new_masked: Sequence[float] = (),
    both_masked: int = 0,
) -> Bracket | None:
    """The mean difference if every masked task had counted, at worst and at best, in reward units.

    An excluded side may have had any reward from 0 to 1. So a task of old reward a whose new side is masked has a
    difference from -a to 1-a; one of new reward b whose old side is masked, from b-1 to b; one masked on both sides,
    from -1 to 1. Each bound is the sum of the n paired differences and of these, over all tasks.

    None when there is no task at all, or when a number shows that rewards do not lie between 0 and 1.

    Source: worst-case bounds; Manski, Partial Identification of Probability Distributions, chapter 1.
    Raises ValueError for a negative count, or for `mean_difference` None although n > 0.
    """
    if n < 0 or both_masked < 0:
        raise ValueError("a count cannot be negative")
    if n and mean_difference is None:
        raise ValueError("paired tasks have a mean difference")
    known = [*new_where_old_masked, *old_where_new_masked]
    tasks = n + len(known) + both_masked
    paired_sum = n * (mean_difference or 0.0)
    if not tasks or abs(paired_sum) > n or not all(0 <= reward <= 1 for reward in known):
        return None
    middle = paired_sum + math.fsum(new_where_old_masked) - math.fsum(old_where_new_masked)
    low = middle - len(new_where_old_masked) - both_masked
    high = middle + len(old_where_new_masked) + both_masked
    return Bracket(max(-1.0, low / tasks), min(1.0, high / tasks))
