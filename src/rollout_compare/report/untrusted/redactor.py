"""Takes secrets out of text: those with a known shape, values that must not be told, and what a user's patterns match.

A runner masks secrets in its own log, but neither in comments nor in artifacts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping

from rollout_compare.core.logs.tail import SEQUENCES
from rollout_compare.report.untrusted.neutral import INVISIBLE
from rollout_compare.report.untrusted.private_keys import has_private_key, private_keys
from rollout_compare.report.untrusted.shapes import HEADERS, REDACTED, SHAPES, Shape
from rollout_compare.report.untrusted.url_passwords import has_address, url_passwords

_MOST_TOLD = 100_000
_SHORTEST_VALUE = 8
"""Values shorter than this are too often part of other words."""
_SECRET_NAME = re.compile(r"[_-](?:KEY|TOKEN|SECRET|PASSWORD)$", re.IGNORECASE)


class Redactor:
    """Replaces secrets by `[redacted]`, and counts how many different ones it met.

    `values` must not be told, whatever they look like; `patterns` are regular expressions of the user's.
    `stand_ins` are texts that are not secret, but mean nothing to a reader, and what is told in their place.
    """

    def __init__(
        self,
        values: Iterable[str] = (),
        patterns: Collection[re.Pattern[str]] = (),
        stand_ins: Mapping[str, str] | None = None,
    ) -> None:
        told = {part for value in values for part in _parts(value)}
        self._values = sorted(told, key=lambda value: (-len(value), value))
        self._any_value = re.compile("|".join(map(re.escape, self._values)))
        self._patterns = tuple(patterns)
        self._stand_ins = dict(stand_ins or {})
        self._seen: set[int] = set()

    @classmethod
    def from_environment(
        cls,
        environment: Mapping[str, str],
        values: Iterable[str] = (),
        patterns: Collection[re.Pattern[str]] = (),
    ) -> Redactor:
        """A redactor that also knows the values of variables whose names say that they are secret.

        Those are `*_KEY`, `*_TOKEN`, `*_SECRET` and `*_PASSWORD`, but not the inputs of an Action (`INPUT_*`), which
        whoever runs it names itself.
        """
        named = [
            value
            for name, value in environment.items()
            if _SECRET_NAME.search(name) and not name.upper().startswith("INPUT_")
        ]
        return cls([*values, *named], patterns)

    @property
    def count(self) -> str:
        """How many different secrets were redacted so far, in digits."""
        return f"{len(self._seen):,}" + ("+" if len(self._seen) >= _MOST_TOLD else "")

    @property
    def found_any(self) -> bool:
        """Whether anything was redacted."""
        return bool(self._seen)

    @property
    def number(self) -> int:
        """How many different secrets were redacted so far, 100,000 standing for more."""
        return len(self._seen)

    def branch(self, stand_ins: Mapping[str, str] | None = None) -> Redactor:
        """A redactor with the same rules, or more stand-ins, that starts from the same count and leaves this one's."""
        other = Redactor((), self._patterns, {**self._stand_ins, **(stand_ins or {})})
        other._values, other._any_value = self._values, self._any_value
        other._seen = set(self._seen)
        return other

    def __call__(self, text: str) -> str:
        """The text without its secrets."""
        redacted = self._redacted(text)
        if INVISIBLE.search(text) is None:
            return redacted
        # What a terminal or a browser does not show could stand in the middle of a secret.
        visible = INVISIBLE.sub("", SEQUENCES.sub("", text))
        if visible == text:
            return redacted
        shown = self._redacted(visible)
        return redacted if shown == visible else shown

    def _redacted(self, text: str) -> str:
        for private, told in self._stand_ins.items():
            if private in text:
                text = text.replace(private, told)
        if any(value in text for value in self._values):
            # In what was redacted already there is nothing more to look for.
            text = REDACTED.join([self._any_value.sub(self._replaced, piece) for piece in text.split(REDACTED)])
        if len(text) >= _SHORTEST_VALUE:
            text = self._without_shapes(text)
        for pattern in self._patterns:
            text = REDACTED.join([pattern.sub(self._replaced, piece) for piece in text.split(REDACTED)])
        return text

    def all(self, texts: list[str]) -> list[str]:
        """The same for many texts, cheaply when none of them holds a secret."""
        if not self._patterns:
            joined = "\n".join(texts)
            is_plain = INVISIBLE.search(joined) is None
            told = (*self._values, *self._stand_ins)
            if is_plain and not any(value in joined for value in told) and not _may_hold(joined):
                return texts
        return list(map(self, texts))

    def _without_shapes(self, text: str) -> str:
        if has_private_key(text):
            text = self._without(private_keys(text), text)
        for shape in SHAPES:
            if any(hint in text for hint in shape.hints):
                text = shape.pattern.sub(self._replacing(shape), text)
        if has_address(text):
            text = self._without(url_passwords(text), text)
        lower = text.lower()
        for shape in HEADERS:
            if shape.hints[0] in lower:
                text = shape.pattern.sub(self._replacing(shape), text)
        return text

    def _without(self, secrets: Iterable[tuple[int, int]], text: str) -> str:
        """The text without the secrets that start and end there."""
        pieces = []
        done = 0
        for start, end in secrets:
            self._saw(text[start:end])
            pieces += [text[done:start], REDACTED]
            done = end
        return "".join([*pieces, text[done:]])

    def _replacing(self, shape: Shape) -> Callable[[re.Match[str]], str]:
        def replaced(found: re.Match[str]) -> str:
            result = found.expand(shape.replacement)
            if result != found[0]:
                self._saw(found[0])
            return result

        return replaced

    def _replaced(self, found: re.Match[str]) -> str:
        if not found[0]:
            return ""
        self._saw(found[0])
        return REDACTED

    def _saw(self, secret: str) -> None:
        if len(self._seen) < _MOST_TOLD:
            self._seen.add(hash(secret))


def _parts(value: str) -> list[str]:
    """What of a secret value may appear by itself: the value, and its lines when it has several; as JSON has it too."""
    lines = [line.strip() for line in (value, *value.splitlines())]
    parts = [line for line in lines if len(line) >= _SHORTEST_VALUE]
    return [*parts, *(json.dumps(part, ensure_ascii=as_ascii)[1:-1] for part in parts for as_ascii in (True, False))]


def _may_hold(text: str) -> bool:
    lower = text.lower()
    return (
        has_private_key(text)
        or any(hint in text for shape in SHAPES for hint in shape.hints)
        or has_address(text)
        or any(shape.hints[0] in lower for shape in HEADERS)
    )
