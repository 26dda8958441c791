"""A fingerprint of a task's prompt: the roles and texts of a request's input, whatever shape they are written in."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

import msgspec
import xxhash

_OTHER_PART = "\x1d"
_DEFAULT_ROLE = "user"
_ANSWERING = frozenset({"assistant", "model", "tool", "function"})
"""Roles of messages that are no longer what was asked."""
_CALLS = frozenset({"function_call", "function_call_output", "reasoning"})
"""Types of the items that are not either; these have no role."""

NO_PROMPT = 0

_LONG = 1000
_KNOWN_LIMIT = 50_000


class Message(msgspec.Struct, gc=False):
    """One message of a prompt: who says what."""

    role: str
    content: str


_decode = msgspec.json.Decoder(list[Message]).decode
_decode_all = msgspec.json.Decoder(list[list[Message] | None]).decode
_encode = msgspec.msgpack.Encoder().encode
_hash = xxhash.xxh3_64_intdigest


class Fingerprints:
    """Fingerprints of prompts. The same long prompt comes once per repeat and once per side; it is read only once."""

    def __init__(self) -> None:
        self._known: dict[int, int] = {}
        """Fingerprints of long prompts by the hash of their JSON."""

    def of_all(self, inputs: Sequence[msgspec.Raw | None]) -> list[int]:
        """The fingerprint of each of these inputs; None has none."""
        raws = [raw or b"null" for raw in inputs]
        if sum(map(len, raws)) < _LONG * len(raws):
            try:
                # Short prompts of the usual shape are read in one go.
                prompts = _decode_all(b"[%b]" % b",".join(raws))
            except (msgspec.MsgspecError, RecursionError):
                pass
            else:
                return [_of_messages(messages) if messages else NO_PROMPT for messages in prompts]
        return [self.of(raw) if raw else NO_PROMPT for raw in inputs]

    def of(self, raw: bytes | memoryview | msgspec.Raw) -> int:
        """A 64-bit fingerprint of `responses_create_params.input`, given as JSON; NO_PROMPT (0) when it says nothing.

        A string input, a message with a string, one with a list of parts, and extra keys all give the same
        fingerprint; parts that are no text enter by their canonical JSON.
        """
        written = 0
        if len(raw) >= _LONG:
            written = _hash(raw)
            known = self._known.get(written)
            if known is not None:
                return known
        try:
            messages = _decode(raw)
        except (msgspec.MsgspecError, RecursionError):
            messages = _messages(_loads(bytes(raw)))
        found = _of_messages(messages)
        if written:
            if len(self._known) >= _KNOWN_LIMIT:
                self._known.clear()
            self._known[written] = found
        return found

    def of_beginning(self, raw: bytes | memoryview | msgspec.Raw) -> int:
        """The same of a text, or of the messages up to the first answer: a conversation may be kept as a whole.

        The fingerprint of [user: "2+2?", assistant: "4", user: "sure?"] is that of [user: "2+2?"].
        """
        try:
            messages = _decode(raw)
        except (msgspec.MsgspecError, RecursionError):
            messages = _messages(_before_calls(_loads(bytes(raw))))
        asked = list(takewhile(lambda message: message.role not in _ANSWERING, messages))
        return _of_messages(asked)


def _of_messages(messages: list[Message]) -> int:
    for message in messages:
        if message.content:
            return _hash(_encode(messages)) or 1
    return NO_PROMPT


def _loads(raw: bytes) -> Any:
    try:
        return json.loads(raw.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        # Only numbers of thousands of digits and very deep nesting get here: no prompt to speak of.
        return None


def _before_calls(value: Any) -> Any:
    """The items of a conversation up to the first that tells of an answer without being a message."""
    if not isinstance(value, list):
        return value
    return list(takewhile(lambda item: not (isinstance(item, dict) and str(item.get("type")) in _CALLS), value))


def _messages(value: Any) -> list[Message]:
    if isinstance(value, str):
        return [Message(_DEFAULT_ROLE, _encodable(value))]
    if isinstance(value, dict):
        value = [value]
    if not isinstance(value, list):
        return []
    messages: list[Message] = []
    bare: list[Any] = []
    for item in value:
        if isinstance(item, dict) and "content" in item:
            messages += _of_bare(bare)
            bare = []
            role = item.get("role")
            messages.append(
                Message(_encodable(role) if isinstance(role, str) else _DEFAULT_ROLE, _text(item["content"]))
            )
        else:
            bare.append(item)
    return messages + _of_bare(bare)


def _of_bare(parts: list[Any]) -> list[Message]:
    """Parts that stand in the input without a message round them are the user's."""
    return [Message(_DEFAULT_ROLE, _text(parts))] if parts else []


def _text(content: Any) -> str:
    if isinstance(content, str):
        return _encodable(content)
    if content is None:
        return ""
    parts = content if isinstance(content, list) else [content]
    return _encodable("".join(map(_part, parts)))


def _encodable(text: str) -> str:
    """The text with lone surrogates, which have no UTF-8, written as escapes."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


def _part(part: Any) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, dict) and isinstance(part.get("text"), str):
        return str(part["text"])
    try:
        canonical = json.dumps(part, sort_keys=True)
    except RecursionError:
        canonical = "nested too deeply"
    return _OTHER_PART + xxhash.xxh3_64_hexdigest(canonical.encode())
