"""Where the test results of a row are found: files beside its log, and fields of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from rollout_compare.core.causes.results.ctrf import read_ctrf
from rollout_compare.core.causes.results.junit import read_junit
from rollout_compare.core.causes.results.named import read_named
from rollout_compare.core.causes.results.outcome import SOURCE_LIMIT, Outcomes, json_of
from rollout_compare.core.causes.results.swebench import graded_tests, read_report, tests_below_instances
from rollout_compare.core.logs.ending import RowEnd
from rollout_compare.core.logs.finder import ResultsFolder
from rollout_compare.core.logs.verifier_output import VerifierOutputs
from rollout_compare.core.reading.json_line import field_of
from rollout_compare.core.schema import SideName

_METADATA = "metadata"
_IN_METADATA = b'"eval_report"'
_FILES: dict[str, Callable[[bytes], Outcomes | None]] = {
    "ctrf.json": read_ctrf,
    "report.json": read_report,
    "junit.xml": read_junit,
}
_FIELDS: dict[str, Callable[[Any], Outcomes | None]] = {
    "tests_status": graded_tests,
    _METADATA: lambda value: tests_below_instances(field_of(value, "eval_report")),
    "parser_results": read_named,
    "test_results": read_named,
}
SOURCES = ("ctrf.json", "report.json", *_FIELDS, "junit.xml")
"""In their order: the first that a losing row has is compared."""
RESULT_FIELDS = tuple(_FIELDS)


@dataclass(slots=True)
class Room:
    """How much may still be read of test results, in bytes, for one comparison."""

    left: int = 50 << 20

    def take(self, size: int) -> None:
        """Take room for so many bytes. Raises NoRoomError when there is none left, or not enough."""
        self.left -= size
        if self.left <= 0:
            raise NoRoomError


class NoRoomError(Exception):
    """As many test results as may be were read."""


@dataclass(slots=True)
class RowResults:
    """The test results of one row, by their source, read when they are asked for."""

    outputs: VerifierOutputs
    side: SideName
    row: int
    end: RowEnd
    room: Room
    _folder: list[ResultsFolder | None] = field(default_factory=list)

    def of(self, source: str) -> Outcomes | None:
        """The tests that a source tells of; None when the row has no such source.

        Raises NoRoomError when no more may be read.
        """
        data = self._field(source) if source in _FIELDS else self._file(source)
        if not data:
            return None
        self.room.take(len(data))
        return _FIELDS[source](json_of(data)) if source in _FIELDS else _FILES[source](data)

    def _field(self, source: str) -> bytes | None:
        text = self.end.fields.get(source)
        return None if source == _METADATA and text is not None and _IN_METADATA not in text else text

    def _file(self, source: str) -> bytes | None:
        if not self._folder:
            self._folder.append(self.outputs.results_folder(self.side, self.row, self.end))
        folder = self._folder[0]
        if folder is None or not folder.holds(source):
            return None
        # Nothing is read for which there is no room.
        self.room.take(0)
        return folder.read(source, SOURCE_LIMIT)
