"""Passwords in addresses, such as `https://name:password@host`, and tokens that stand in place of a name."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rollout_compare.report.untrusted.shapes import REDACTED

_AFTER_SCHEME = re.compile(r"://((?:(?!://)[^\s\"'<>])+)")
_PORT = re.compile(r"[0-9]{1,5}(?:[/?#]|\Z)")
_PATH = re.compile(r"[/?#]")
_SHORTEST_TOKEN = 16
_TOKEN = re.compile(r"[A-Za-z0-9_-]+")


def has_address(text: str) -> bool:
    """Whether there may be one: a quick look."""
    return "://" in text


def url_passwords(text: str) -> Iterator[tuple[int, int]]:
    """Where each password, or token in place of a name, starts and ends, in order."""
    for found in _AFTER_SCHEME.finditer(text):
        start, end = _hidden(found[1])
        if start < end and found[1][start:end] != REDACTED:
            yield found.start(1) + start, found.start(1) + end


def _hidden(address: str) -> tuple[int, int]:
    """What is to be hidden of an address without its scheme; from 0 to 0 when that is nothing."""
    if address.startswith("["):
        # The address of a host in numbers.
        return 0, 0
    authority = _PATH.split(address, maxsplit=1)[0]
    user, colon, _ = authority.partition(":")
    # A password may hold what would end the host; but a number there is a port.
    has_password = bool(colon) and "@" not in user and _PORT.match(address, len(user) + 1) is None
    end = address.rfind("@") if has_password else authority.rfind("@")
    if end < 0 or (has_password and end <= len(user)):
        return 0, 0
    name = address[:end].partition(":")[0]
    if len(name) >= _SHORTEST_TOKEN and _TOKEN.fullmatch(name) is not None:
        return 0, end
    return (len(name) + 1, end) if has_password else (0, 0)
