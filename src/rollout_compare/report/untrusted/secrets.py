"""Secrets in text: the shapes of well-known tokens, values that must not be told, and patterns of the user's own.

A runner masks secrets in its own log, but neither in comments nor in artifacts. Shapes are documented ones: a prefix
that nothing else has, then enough characters to be random. Doubtful cases are redacted: a report can do without.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

from rollout_compare.core.logs.tail import SEQUENCES
from rollout_compare.report.untrusted.neutral import INVISIBLE

REDACTED = "[redacted]"
_MOST_TOLD = 100_000
_SHORTEST_VALUE = 8
"""Values shorter than this are too often part of other words."""
_SECRET_NAME = re.compile(r"[_-](?:KEY|TOKEN|SECRET|PASSWORD)$", re.IGNORECASE)


class _Shape(NamedTuple):
    """A pattern, and texts one of which is in everything that it matches: looking for those is much faster."""

    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    replacement: str = REDACTED


def _token(pattern: str, *hints: str) -> _Shape:
    """A token whose prefix nothing else has."""
    return _Shape(hints, re.compile(pattern))


def _word(pattern: str, *hints: str) -> _Shape:
    """A token whose prefix may end another word; an escape such as \\n before it is none."""
    return _Shape(hints, re.compile(rf"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])){pattern}"))


_SHAPES = (
    # GitHub; installation tokens of 2026 have dots and about 500 characters.
    _token(r"gh[oprsu]_[A-Za-z0-9][A-Za-z0-9._-]{14,}", "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
    _token(r"github_pat_\w{20,}", "github_pat_"),
    # AWS: ids of keys, and the keys where they are named.
    _word(r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16,}", "AKIA", "ASIA", "ABIA", "ACCA"),
    _Shape(
        ("secret", "Secret", "SECRET", "session", "Session", "SESSION"),
        re.compile(
            r"(aws_?(?:secret_?access_?key|session_?token)\\?[\"']?\s{0,4}[=:]\s{0,4}\\?[\"']?)[A-Za-z0-9/+=]{40,}",
            re.IGNORECASE,
        ),
        rf"\g<1>{REDACTED}",
    ),
    # Google: API keys, access tokens, client secrets.
    _token(r"AIza[A-Za-z0-9_-]{35,}", "AIza"),
    _word(r"ya29\.[A-Za-z0-9._-]{20,}", "ya29."),
    _token(r"GOCSPX-[A-Za-z0-9_-]{20,}", "GOCSPX-"),
    # Slack: tokens and web hooks.
    _token(r"xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{10,}", "xox"),
    _token(r"xapp-[A-Za-z0-9-]{10,}", "xapp-"),
    _token(r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/_-]{20,}", "hooks.slack.com/"),
    # Hugging Face, NVIDIA; sk- is OpenAI, Anthropic, OpenRouter and others.
    _word(r"(?:hf|api_org)_[A-Za-z0-9]{20,}", "hf_", "api_org_"),
    _token(r"nvapi-[A-Za-z0-9_-]{20,}", "nvapi-"),
    _word(r"sk-[A-Za-z0-9_-]{20,}", "sk-"),
    _word(r"[rs]k_(?:live|test)_[A-Za-z0-9]{16,}", "k_live_", "k_test_"),
    _word(r"gl[a-z]{2,5}-[A-Za-z0-9_.-]{20,}", "glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glagent-"),
    _word(r"(?:npm|dckr_pat|gsk|tvly-dev|hvs)[_.-][A-Za-z0-9_-]{24,}", "npm_", "dckr_pat_", "gsk_", "tvly", "hvs."),
    _token(r"pypi-[A-Za-z0-9_-]{40,}", "pypi-"),
    # JSON web tokens: a header, a payload, and a signature unless the text ends before it.
    # It begins no second time within what could be one: else a long run of beginnings would take for ever.
    _Shape(
        ("eyJ",),
        re.compile(
            r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){0,3}"
        ),
    ),
    # base64 of `x-access-token:…`, as actions/checkout writes it into .git/config.
    _Shape(("eC1hY2Nlc3MtdG9rZW46",), re.compile(r"eC1hY2Nlc3MtdG9rZW46[A-Za-z0-9+/=_-]*")),
)
_HEADERS = (
    _Shape(
        ("authorization",),
        re.compile(
            r"(authorization\\?[\"']?\s{0,4}[:=]\s{0,4}\\?[\"']?(?:[A-Za-z][A-Za-z0-9-]{1,20}[ \t]{1,4})?"
            r"\\?[\"']?)[^\s\"',;\\\[]{8,}",
            re.IGNORECASE,
        ),
        rf"\g<1>{REDACTED}",
    ),
    # A word of letters alone is more often English than a token.
    _Shape(
        ("bearer",),
        re.compile(
            r"\b(bearer[ \t]{1,4}\\?[\"']?)(?:(?=[A-Za-z]*[0-9._~+/=-])[A-Za-z0-9._~+/=-]{8,}|[A-Za-z]{20,})",
            re.IGNORECASE,
        ),
        rf"\g<1>{REDACTED}",
    ),
)
"""Their hints are looked for in lower case."""
_AFTER_SCHEME = re.compile(r"(://)((?:(?!://)[^\s\"'<>])+)")
_PORT = re.compile(r"[0-9]{1,5}(?:[/?#]|\Z)")
_PATH = re.compile(r"[/?#]")
_SHORTEST_USER_TOKEN = 16
_USER_TOKEN = re.compile(r"[A-Za-z0-9_-]+")
_KEY_EDGE = re.compile(r"-----(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----")
_LINE_END = re.compile(r"\\[nrt]")
"""As JSON and Python write one."""
_KEY_BODY = re.compile(r"(?:[\s\\|>]{0,16}[A-Za-z0-9+/=]{16,})*(?:[\s\\|>]{1,16}[A-Za-z0-9+/]{1,15}={1,2})?")
_LINE = re.compile(r"[^\n]+")
_KEY_LINE = re.compile(r"[A-Za-z0-9+/=]{40,}")
_KEY_HEADER = re.compile(r".{0,60}?\b(?:Proc-Type|DEK-Info|Version|Comment|Charset|Hash|MessageID): .{0,200}")
_NO_WORDS = re.compile(r"[\s\d|>.,:+\[\]()TZ-]*")
"""A line that is empty but for the time before it."""
_SHORT_END = re.compile(r"[A-Za-z0-9+/]{4,}={0,2}\s*\Z")
_KEY_PIECE = re.compile(r"[A-Za-z0-9+/=]+")
_BETWEEN_PIECES = re.compile(r"[\s\\|>]{0,16}")
_SHORTEST_PIECE = 16
_LONGEST_KEY = 16 << 10


class Redactor:
    """Replaces secrets by `[redacted]`, and counts how many different ones it met.

    `values` must not be told, whatever they look like; `patterns` are regular expressions of the user's.
    `stand_ins` are texts that are no secrets, but mean nothing to a reader, and what is told in their place.
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
            # What was redacted already is no text in which to look for more.
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
        if "PRIVATE KEY" in text:
            text = self._without_keys(text)
        for shape in _SHAPES:
            if any(hint in text for hint in shape.hints):
                text = shape.pattern.sub(self._replacing(shape), text)
        if "://" in text:
            text = _AFTER_SCHEME.sub(self._without_password, text)
        lower = text.lower()
        for shape in _HEADERS:
            if shape.hints[0] in lower:
                text = shape.pattern.sub(self._replacing(shape), text)
        return text

    def _replacing(self, shape: _Shape) -> Callable[[re.Match[str]], str]:
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

    def _without_password(self, found: re.Match[str]) -> str:
        """What follows `://`, without the password of a URL, or the token that stands in place of a name."""
        address = found[2]
        if address.startswith("["):
            # The address of a host in numbers.
            return found[0]
        authority = _PATH.split(address, maxsplit=1)[0]
        user, colon, _ = authority.partition(":")
        # A password may hold what would end the host; but a number there is a port.
        has_password = bool(colon) and "@" not in user and _PORT.match(address, len(user) + 1) is None
        where = address.rfind("@") if has_password else authority.rfind("@")
        if where < 0 or (has_password and where <= len(user)):
            return found[0]
        name = address[:where].partition(":")[0]
        is_token = len(name) >= _SHORTEST_USER_TOKEN and _USER_TOKEN.fullmatch(name) is not None
        if not has_password and not is_token:
            return found[0]
        hidden = address[:where] if is_token else address[len(name) + 1 : where]
        if hidden == REDACTED:
            return found[0]
        self._saw(hidden)
        return found[1] + ("" if is_token else f"{name}:") + REDACTED + address[where:]

    def _without_keys(self, text: str) -> str:
        """The text without private keys, those too whose first or last lines are not there."""
        pieces = []
        done = 0
        for edge in _KEY_EDGE.finditer(text):
            if edge.start() < done:
                continue
            if edge[1] == "BEGIN":
                start, end = edge.start(), _key_end(text, edge.end())
            else:
                first = max(done, edge.start() - _LONGEST_KEY)
                start, end = first + _key_start(text[first : edge.start()]), edge.end()
            self._saw(text[start:end])
            pieces += [text[done:start], REDACTED]
            done = end
        return "".join([*pieces, text[done:]])

    def _saw(self, secret: str) -> None:
        if len(self._seen) < _MOST_TOLD:
            self._seen.add(hash(secret))


def _key_end(text: str, start: int) -> int:
    """Where a private key ends that began before `start`: at its end, or with the last line that looks like its own."""
    edge = _KEY_EDGE.search(text, start, start + _LONGEST_KEY)
    if edge is not None and edge[1] == "END":
        return edge.end()
    limit = edge.start() if edge is not None else min(len(text), start + _LONGEST_KEY)
    # On one line, line ends may be written as in JSON; a letter of them is no part of the key.
    body = _KEY_BODY.match(_LINE_END.sub("  ", text[start:limit]))
    end = start + (body.end() if body is not None else 0)
    for line in _LINE.finditer(text, text.find("\n", start, limit) + 1 or limit, limit):
        if _KEY_LINE.search(line[0]) is not None or _KEY_HEADER.fullmatch(line[0]) is not None:
            end = max(end, line.end())
        elif _NO_WORDS.fullmatch(line[0]) is None:
            break
    return end


def _key_start(text: str) -> int:
    """Where, at the end of a text, the lines of a private key begin, whose end follows; the last one may be short."""
    # A line end as it is written in JSON is no part of a piece: the letter of it could be one.
    text = _LINE_END.sub("  ", text)
    start = len(text)
    for number, piece in enumerate(reversed(list(_KEY_PIECE.finditer(text)))):
        is_next = _BETWEEN_PIECES.fullmatch(text, piece.end(), start) is not None
        if not is_next or (number and len(piece[0]) < _SHORTEST_PIECE):
            break
        start = piece.start()
    # Lines with something before it, a time perhaps, are taken as a whole.
    lines = [line for line in _LINE.finditer(text) if line.end() < len(text)]
    for at, line in enumerate(reversed(lines)):
        is_short_end = at == 0 and _SHORT_END.search(line[0]) is not None
        if _KEY_LINE.search(line[0]) is None and _KEY_HEADER.fullmatch(line[0]) is None and not is_short_end:
            if _NO_WORDS.fullmatch(line[0]) is None:
                break
            continue
        start = min(start, line.start())
    return start


def _parts(value: str) -> list[str]:
    """What of a secret value may appear by itself: the value, and its lines when it has several; as JSON has it too."""
    lines = [line.strip() for line in (value, *value.splitlines())]
    parts = [line for line in lines if len(line) >= _SHORTEST_VALUE]
    return [*parts, *(json.dumps(part, ensure_ascii=as_ascii)[1:-1] for part in parts for as_ascii in (True, False))]


def _may_hold(text: str) -> bool:
    lower = text.lower()
    return (
        "PRIVATE KEY" in text
        or any(hint in text for shape in _SHAPES for hint in shape.hints)
        or "://" in text
        or any(shape.hints[0] in lower for shape in _HEADERS)
    )
