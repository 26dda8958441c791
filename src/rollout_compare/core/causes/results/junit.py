"""`junit.xml`: the report that most test runners can write."""

from __future__ import annotations

from xml.parsers import expat

from rollout_compare.core.causes.results.outcome import SOURCE_LIMIT, Outcome, Outcomes, Status

_TEXT_LIMIT = 64 << 10
"""How much of what a failure says is kept, in characters."""
_FAILED = frozenset({"failure", "error"})


class _RefusedError(Exception):
    """A document that declares entities: unfolding them could take all memory there is."""


def read_junit(data: bytes) -> Outcomes | None:
    """The tests of a JUnit report; None for anything else, a document that declares entities among it."""
    if len(data) > SOURCE_LIMIT:
        return None
    document = _Document()
    try:
        document.parser.Parse(data, True)  # noqa: FBT003 - expat takes it by position only
    except (expat.ExpatError, _RefusedError, ValueError, LookupError):
        return None
    return document.outcomes if document.is_report else None


class _Document:
    """The handlers of the parser, and what they have seen."""

    def __init__(self) -> None:
        self.outcomes = Outcomes()
        self.is_report = False
        self._depth = 0
        self._suites: list[str] = []
        self._name = ""
        self._status: Status = "pass"
        self._message = ""
        self._texts: list[str] | None = None
        """The text of a failure that has no message, while it is read."""
        self._room = 0
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.EntityDeclHandler = self._refuse
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text

    def _refuse(self, *_: object) -> None:
        raise _RefusedError

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if not self._depth:
            self.is_report = tag in {"testsuites", "testsuite"}
        self._depth += 1
        if tag == "testsuite":
            self._suites.append(attributes.get("name", ""))
        elif tag == "testcase":
            self._name = self._full_name(attributes)
            self._status = "other" if attributes.get("status") == "notrun" else "pass"
            self._message = ""
        elif tag == "skipped" and self._status != "fail":
            self._status = "other"
        elif tag in _FAILED and self._status != "fail":
            self._status = "fail"
            self._message = attributes.get("message", "")
            if not self._message.strip():
                self._texts, self._room = [], _TEXT_LIMIT

    def _full_name(self, attributes: dict[str, str]) -> str:
        name = attributes.get("name", "")
        above = attributes.get("classname") or attributes.get("file") or (self._suites[-1] if self._suites else "")
        return f"{above}::{name}" if name and above else name

    def _text(self, text: str) -> None:
        if self._texts is not None and self._room > 0:
            self._texts.append(text[: self._room])
            self._room -= len(text)

    def _end(self, tag: str) -> None:
        self._depth -= 1
        if tag == "testsuite" and self._suites:
            self._suites.pop()
        elif tag in _FAILED and self._texts is not None:
            self._message, self._texts = "".join(self._texts), None
        elif tag == "testcase":
            self.outcomes.add(self._name, Outcome(self._status, self._message))
            self._name = ""
