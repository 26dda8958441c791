"""Several questions asked at once: p-values that allow for it."""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's adjusted p-values, in the order given, probabilities.

    Of m p-values in rising order p_(1) ≤ … ≤ p_(m), the i-th becomes max_{j ≤ i} min(1, (m-j+1) · p_(j)). The chance
    that any true null hypothesis has an adjusted p-value below 0.05 is at most 5%. None, a question without a p-value,
    stays None and does not count.

    Source: Holm, Scandinavian Journal of Statistics 6 (1979), 65-70. Raises ValueError for a p outside 0 to 1.
    """
    known = [(p, place) for place, p in enumerate(p_values) if p is not None]
    if not all(0 <= p <= 1 for p, _ in known):
        raise ValueError("a p-value lies between 0 and 1")
    adjusted: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for rank, (p, place) in enumerate(sorted(known)):
        highest = max(highest, min(1.0, (len(known) - rank) * p))
        adjusted[place] = highest
    return adjusted
