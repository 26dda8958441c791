"""Starts the Action as a process of its own, with a clock that does not wait; tests run it.

`--watch MODULE …` tells on standard error whether these were imported. `--log` switches detailed logging on, `--print`
prints it too.
"""

from __future__ import annotations

import logging
import sys
import time
from unittest import mock

from rollout_compare.github import action
from rollout_compare.github.api import clock


class Impatient(clock.SystemClock):
    """A clock on which waiting takes no time."""

    def __init__(self) -> None:
        self._skipped = 0.0

    def now(self) -> float:
        return time.monotonic() + self._skipped

    def sleep(self, seconds: float) -> None:
        self._skipped += seconds


if __name__ == "__main__":
    mock.patch.object(action, "SystemClock", Impatient).start()
    option, *watched = sys.argv[1:] or [""]
    if option in ("--log", "--print"):
        for name in ("github", "github.Requester", "urllib3", "urllib3.connectionpool"):
            logging.getLogger(name).setLevel(logging.DEBUG)
    if option == "--print":
        logging.basicConfig(stream=sys.stderr, level=logging.DEBUG)
        logging.getLogger("starting").debug("logs are printed")
    try:
        action.entry()
    finally:
        for name in watched:
            sys.stderr.write(f"{name} {name in sys.modules}\n")
