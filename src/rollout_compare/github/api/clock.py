"""Time as a step sees it: passed in, so that nothing waits where nobody can see it."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Time as it passes for a run."""

    def now(self) -> float:
        """Seconds since some moment, never going back."""

    def wall(self) -> float:
        """Seconds since 1970, for what a server says of its own clock."""

    def sleep(self, seconds: float) -> None:
        """Wait."""


class SystemClock:
    """The machine's own clock."""

    def now(self) -> float:
        """Seconds since some moment, never going back."""
        return time.monotonic()

    def wall(self) -> float:
        """Seconds since 1970."""
        return time.time()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)
