"""The margin, as it is given on the command line and to the Action. Imports nothing: both start fast."""

from __future__ import annotations


def margin_of(text: str) -> float | None:
    """The margin that `0.02` or `2%` mean, in reward units; None for what is not a difference above 0."""
    number = text.strip()
    if number.endswith("%"):
        # Not divided by 100: 2.8% is the number that 0.028 is.
        number = f"{number[:-1].strip()}e-2"
    try:
        margin = float(number)
    except ValueError:
        return None
    return margin if 0 < margin < float("inf") else None
