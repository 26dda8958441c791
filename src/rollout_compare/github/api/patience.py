"""Waiting for others: one budget for all that a step asks of GitHub's API, of the artifact service and of its storage.

A server that is down, or that asks for pauses, costs a step no more than that budget, however many of its requests
fail. What succeeds costs nothing of it, however long it takes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TypeVar

from rollout_compare.github.api.clock import Clock
from rollout_compare.github.api.faults import RequestError

BUDGET = 120.0
"""Seconds that a step waits in all: between tries, and for requests that fail in the end."""
LONGEST_WAIT = 60.0
"""Seconds of one wait; a server that asks for more is not waited for."""

T = TypeVar("T")


class Patience:
    """What is left of a step's budget. There is one for each step, shared by everything that sends requests."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self._left = BUDGET

    def attempts(self, most: int) -> Attempts:
        """The attempts of one request, `most` of them at most."""
        return Attempts(self, most)

    def tried(self, send: Callable[[], T], most: int) -> T:
        """What `send` returns, called again after a failure that may pass. Raises the RequestError of the last call."""
        attempts = self.attempts(most)
        while True:
            try:
                return send()
            except RequestError as fault:
                attempts.wait_after(fault)

    @contextlib.contextmanager
    def charged_if_it_fails(self) -> Iterator[None]:
        """Take the time of a request from the budget if it fails: that, too, was waiting in vain."""
        begun = self.clock.now()
        try:
            yield
        except RequestError:
            self._left -= self.clock.now() - begun
            raise

    def pause(self, seconds: float) -> str:
        """Wait, and take it from the budget. If that would be too long, do not wait, and return why."""
        if seconds > LONGEST_WAIT:
            return f"gave up: the server asks to wait {seconds:,.0f} s"
        if seconds > self._left:
            return f"gave up: a step waits {BUDGET:.0f} s in all"
        self._left -= seconds
        self.clock.sleep(seconds)
        return ""


class Attempts:
    """The attempts of one request, with a pause before each further one that is twice as long as the one before."""

    def __init__(self, patience: Patience, most: int) -> None:
        self._patience = patience
        self._most = most
        self._made = 1

    def wait(self, at_least: float = 0.0) -> str:
        """Wait before the next attempt. If there must be none, do not wait, and return why."""
        if self._made >= self._most:
            return f"gave up after {self._most} tries"
        why_not = self._patience.pause(max(at_least, 2.0 ** (self._made - 1)))
        self._made += 1
        return why_not

    def wait_after(self, fault: RequestError) -> None:
        """Wait before a request that failed is made again. Raises `fault` when that would not help."""
        if fault.wait is None:
            raise fault
        why_not = self.wait(at_least=fault.wait)
        if why_not:
            fault.message += f" ({why_not})"
            raise fault
