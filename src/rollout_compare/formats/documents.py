"""JSON documents and lines, decoded as little as a reader needs; what the fast decoder refuses is read leniently.

Either way a long list in a document is taken apart first: its elements are never there as objects all at once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, Generic, NamedTuple, NoReturn, TypeVar

import msgspec

from rollout_compare.core.errors import CompareInputError
from rollout_compare.core.reading.json_line import integer, loads
from rollout_compare.core.reading.lines import BOM, Line, LineFile
from rollout_compare.core.reading.row_reader import whole_object
from rollout_compare.formats.given import Given

S = TypeVar("S", bound=msgspec.Struct)
Content = Line | msgspec.Raw

_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_elements = msgspec.json.Decoder(list[msgspec.Raw]).decode
_anything = msgspec.json.Decoder().decode
_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder(parse_int=integer)
_TOO_DEEP = "JSON nested too deeply"


class Place(NamedTuple):
    """Where a document is: its path, and the member when it is one of a zip."""

    path: str
    member: str = ""

    def fail(self, what: str) -> NoReturn:
        """Raises CompareInputError that says what is wrong here."""
        raise CompareInputError(self.path, f"member {self.member}: {what}" if self.member else what)


def value_of(content: Content) -> Any:
    """Any JSON value, read leniently. Raises ValueError and RecursionError."""
    try:
        return _anything(content)
    except (msgspec.MsgspecError, RecursionError):
        return loads(bytes(content).removeprefix(BOM))


def object_of(content: Content | None) -> dict[str, Any] | None:
    """The JSON object that a document holds; None when it holds anything else, or is broken."""
    try:
        value = None if content is None else value_of(content)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


class Layout(Generic[S]):
    """Objects of which only some fields are wanted, those of a struct; all may be absent, and of any type."""

    def __init__(self, kind: type[S]) -> None:
        self._kind = kind
        self.decode = msgspec.json.Decoder(kind).decode
        """The object in JSON. Raises what msgspec raises, also for what is read leniently."""
        self._names = [(field.name, field.encode_name) for field in msgspec.structs.fields(kind)]

    @classmethod
    def with_value(cls, kind: type[S], name: str | None) -> Layout[Any]:
        """The same with the field `name` as well, as `value`; no field has a name that cannot be that of a field."""
        if name is None or not name.isprintable() or set('"\\') & set(name) or name in kind.__struct_encode_fields__:
            name = "value"
        valued: Any = msgspec.defstruct(
            "Valued", [("value", Any, msgspec.field(name=name, default=None))], bases=(kind,)
        )
        return cls(valued)

    def of(self, value: Any) -> S | None:
        """The object that JSON, or a value out of it, stands for; None for anything else.

        Raises ValueError and RecursionError for what is not JSON.
        """
        if isinstance(value, bytes | bytearray | memoryview | msgspec.Raw):
            try:
                return self.decode(value)
            except (msgspec.MsgspecError, RecursionError):
                value = loads(bytes(value))
        return self.taken_from(value) if isinstance(value, dict) else None

    def taken_from(self, whole: dict[str, Any]) -> S:
        """The same out of an object that was decoded as a whole."""
        return self._kind(**{name: whole[written] for name, written in self._names if written in whole})


class Document:
    """A JSON object, of which one list may be long: the one at `path`, named from the top; [] is a list itself."""

    def __init__(self, content: Content, place: Place, *path: str) -> None:
        """Raises CompareInputError for what is not JSON, or of another kind."""
        self._place = place
        self._path = path
        self._fields: dict[str, Any] = {}
        self._list: list[msgspec.Raw] | _Slices | None = None
        try:
            self._take_apart(content)
        except (msgspec.MsgspecError, RecursionError):
            try:
                self._read_leniently(bytes(content).removeprefix(BOM).decode("utf-8", "replace"))
            except RecursionError:
                place.fail(_TOO_DEEP)
            except ValueError as fault:
                place.fail(_why(fault))

    def _take_apart(self, content: Content) -> None:
        value: Any = content
        for depth, name in enumerate(self._path):
            fields = _fields(value)
            if not depth:
                self._fields = fields
            value = fields.get(name, b"null")
        if not self._path or bytes(memoryview(value)[:1]) == b"[":
            self._list = _elements(value)

    def _read_leniently(self, text: str) -> None:
        self._fields = {}
        spans = _Cursor(text).whole(self._path, self._fields)
        self._list = None if spans is None else _Slices(text, spans)

    @property
    def has_list(self) -> bool:
        """Whether there is a list at the path."""
        return self._list is not None

    def field(self, name: str) -> Any:
        """A field of the object at the top."""
        found = self._fields.get(name)
        if not isinstance(found, msgspec.Raw):
            return found
        try:
            return value_of(found)
        except (ValueError, RecursionError):
            self._place.fail(f"the field {name} cannot be read")

    def elements(self, shape: Layout[S]) -> Iterator[S]:
        """The elements of the list, each an object. Raises CompareInputError for one that is not."""
        for number, element in enumerate(self._list or (), start=1):
            try:
                found = shape.of(element)
            except RecursionError:
                self._place.fail(f"element {number} of the list: {_TOO_DEEP}")
            except ValueError as fault:
                self._place.fail(f"element {number} of the list: {_why(fault)}")
            if found is None:
                self._place.fail(f"element {number} of the list is not a JSON object")
            yield found


class _Slices:
    """The elements of a list in a text, which is cut up each time they are gone through."""

    def __init__(self, text: str, spans: list[tuple[int, int]]) -> None:
        self._text = text
        self._spans = spans

    def __iter__(self) -> Iterator[bytes]:
        return (self._text[start:end].encode("utf-8") for start, end in self._spans)


class _Cursor:
    """A place in a JSON text, from which it is read value by value. Raises ValueError where it is not JSON."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def whole(self, path: tuple[str, ...], others: dict[str, Any]) -> list[tuple[int, int]] | None:
        """Read the whole text. Where the elements of the list at a path begin and end; None when there is no list.

        `others` is given the fields beside the first name of the path.
        """
        spans = self._find(path, others)
        self._skip()
        if self._at < len(self._text):
            raise json.JSONDecodeError("Extra data", self._text, self._at)
        return spans

    def _find(self, path: tuple[str, ...], others: dict[str, Any]) -> list[tuple[int, int]] | None:
        if not self._is_at("{" if path else "["):
            self._value()
            return None
        if not path:
            return list(self._elements())
        spans = None
        for name in self._names():
            if name == path[0]:
                spans = self._find(path[1:], {})
            else:
                others[name] = self._value()
        return spans

    def _elements(self) -> Iterator[tuple[int, int]]:
        self._expect("[")
        if self._takes("]"):
            return
        while True:
            self._skip()
            start = self._at
            self._value()
            yield start, self._at
            if not self._takes(","):
                break
        self._expect("]")

    def _names(self) -> Iterator[str]:
        """The names of the object that begins here; whoever asks reads the value behind each."""
        self._expect("{")
        if self._takes("}"):
            return
        while True:
            name = self._value()
            self._expect(":")
            yield name if isinstance(name, str) else ""
            if not self._takes(","):
                break
        self._expect("}")

    def _value(self) -> Any:
        self._skip()
        value, self._at = _DECODER.raw_decode(self._text, self._at)
        return value

    def _is_at(self, mark: str) -> bool:
        self._skip()
        return self._text.startswith(mark, self._at)

    def _takes(self, mark: str) -> bool:
        if not self._is_at(mark):
            return False
        self._at += 1
        return True

    def _expect(self, mark: str) -> None:
        if not self._takes(mark):
            raise json.JSONDecodeError(f"Expecting '{mark}'", self._text, self._at)

    def _skip(self) -> None:
        space = _SPACE.match(self._text, self._at)
        assert space is not None
        self._at = space.end()


def _why(fault: ValueError) -> str:
    if not isinstance(fault, json.JSONDecodeError):
        return f"not JSON: {fault}"
    if fault.pos >= len(fault.doc.rstrip()) or fault.msg.startswith("Unterminated"):
        return "not JSON: it ends early (empty, or cut short?)"
    return f"not JSON: {fault.msg} (line {fault.lineno}, column {fault.colno})"


def lines_of(given: Given, member: str, shape: Layout[S]) -> Iterator[tuple[int, S, Line]]:
    """The objects on the lines of a file, each with its line's number and what is written there until the next one.

    Raises CompareInputError for a line that is not a JSON object.
    """
    given.open(member).close()
    path = given.shown(member)
    with LineFile(path) as file:
        blocks = file.blocks()
        for block in blocks:
            for position, line in enumerate(block.lines):
                number = block.number + position
                try:
                    found = shape.decode(line)
                except (msgspec.MsgspecError, RecursionError):
                    whole = whole_object(line, path, number, islice(block.lines, position + 1, None), blocks)
                    if whole is None:
                        continue
                    found = shape.taken_from(whole)
                yield number, found, line
        given.count(file.bytes_read, member)
