"""A fingerprint of a task's prompt: the roles and texts of a request's input, whatever shape they are written in."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import xxhash

_FIELD = "\x1f"
_MESSAGE = "\x1e"
_OTHER_PART = "\x1d"
_DEFAULT_ROLE = "user"

NO_PROMPT = 0


class _Message(msgspec.Struct, gc=False):
    role: str
    content: str


_decode = msgspec.json.Decoder(list[_Message]).decode


def fingerprint(raw: bytes | memoryview | msgspec.Raw) -> int:
    """A 64-bit fingerprint of `responses_create_params.input`, given as JSON; NO_PROMPT (0) when it says nothing.

    A string input, a message with a string, one with a list of parts, and extra keys all give the same
    fingerprint; parts that are no text enter by their canonical JSON.
    """
    if not raw:
        return NO_PROMPT
    try:
        messages = [(message.role, message.content) for message in _decode(raw)]
    except (msgspec.MsgspecError, RecursionError):
        messages = _messages(_loads(bytes(raw)))
    if not any(text for _, text in messages):
        return NO_PROMPT
    # The canonical text holds the separators only where a text has none: a forged one can only hide a change
    # of the forger's own prompt.
    canonical = _MESSAGE.join([role + _FIELD + text for role, text in messages])
    return xxhash.xxh3_64_intdigest(canonical.encode("utf-8", "surrogatepass")) or 1


def _loads(raw: bytes) -> Any:
    try:
        return json.loads(raw.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        # Only numbers of thousands of digits and very deep nesting get here: no prompt to speak of.
        return None


def _messages(value: Any) -> list[tuple[str, str]]:
    if isinstance(value, str):
        return [(_DEFAULT_ROLE, value)]
    if isinstance(value, dict):
        value = [value]
    if not isinstance(value, list):
        return []
    messages: list[tuple[str, str]] = []
    bare: list[Any] = []
    for item in value:
        if isinstance(item, dict) and "content" in item:
            messages += _of_bare(bare)
            bare = []
            role = item.get("role")
            messages.append((role if isinstance(role, str) else _DEFAULT_ROLE, _text(item["content"])))
        else:
            bare.append(item)
    return messages + _of_bare(bare)


def _of_bare(parts: list[Any]) -> list[tuple[str, str]]:
    """Parts that stand in the input without a message round them are the user's."""
    return [(_DEFAULT_ROLE, _text(parts))] if parts else []


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    parts = content if isinstance(content, list) else [content]
    return "".join(map(_part, parts))


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
