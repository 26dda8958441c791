"""The two errors that end a comparison, an input that cannot be read and wrong usage; and one on the way to them.

Imports nothing, so that the command line starts at once.
"""

from __future__ import annotations


class CompareInputError(Exception):
    """An input that cannot be read: where, what is wrong, and the task when it is known.

    `str()` of it is the message without the leading `error: `, unescaped and uncut.
    """

    def __init__(
        self, path: str, what: str, *, line: int | None = None, task: str | None = None, is_missing: bool = False
    ) -> None:
        super().__init__(path, what, line, task)
        self.path = path
        self.what = what
        self.line = line
        self.task = task
        self.is_missing = is_missing
        """Whether there is nothing at that path, so that it helps to say what there is elsewhere."""

    def __str__(self) -> str:
        where = self.path if self.line is None else f"{self.path}:{self.line}"
        task = "" if self.task is None else f" (task {self.task})"
        return ": ".join(part for part in (where, self.what) if part) + task


class BrokenPackingError(Exception):
    """Packed data that cannot be unpacked; the message says why."""


class UsageError(Exception):
    """A command or a call that asks for something impossible; the message says what to do instead."""
