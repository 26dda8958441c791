"""Megabytes that are nearly a secret, or nearly nothing: reports of them end, and tell what is there.

No time is measured. Whoever goes through such a text once for each of its beginnings does not end here.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rollout_compare.core.logs.tail import tail_of
from rollout_compare.report.untrusted import REDACTED, Redactor
from tests.conftest import Compare

MEGABYTE = 1_000_000
TOKEN = "ghp_" + "aaaaBBBBccccDDDDeeeeFFFFgggg1111"
BAR = "    | "
"""What stands before a line of a log in the text report."""

BEGINNINGS = (
    "-eyJ",
    "eyJabcdefgh.",
    "://",
    "://a:",
    "://a:b@",
    "authorization: ",
    "authorization:",
    "bearer ",
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\n",
    "-----END PRIVATE KEY-----",
    "-----END PRIVATE KEY-----\n",
    "-----BEGIN PRIVATE KEY-----\n" + "A" * 64 + "\n",
    "A" * 64 + "\n-----END PRIVATE KEY-----\n",
    "ghp_",
    "sk-",
    "aws_secret_access_key=",
    "\u200b",
    "\x1b[",
    "\x1b]",
    REDACTED,
)
UNTOUCHED = ("-eyJ", "://", "://a:", "bearer ", "aws_secret_access_key=", REDACTED)
"""Those that are no secrets, however many there are."""


def flood(piece: str) -> str:
    return piece * (MEGABYTE // len(piece))


@pytest.mark.parametrize("beginning", BEGINNINGS, ids=ascii)
def test_a_secret_behind_a_megabyte_of_beginnings_is_redacted(beginning: str) -> None:
    told = Redactor()(f"{flood(beginning)}\n{TOKEN}\n")
    assert TOKEN not in told
    assert TOKEN[4:] not in told
    assert REDACTED in told


@pytest.mark.parametrize("beginning", UNTOUCHED)
def test_a_megabyte_of_beginnings_is_told_as_it_is(beginning: str) -> None:
    text = flood(beginning)
    redact = Redactor()
    assert redact(text) == text
    assert redact.number == 0


@pytest.fixture
def shown(flip: Compare) -> Callable[..., list[str]]:
    """The lines that the text report shows of this output of a losing row."""

    def call(output: str, *options: object) -> list[str]:
        done = flip(output, *options)
        assert "- t: 1 -> 0" in done.out
        return [line.removeprefix(BAR) for line in done.out.splitlines() if line.startswith(BAR.rstrip())]

    return call


RED, PLAIN = "\x1b[31m", "\x1b[0m"


@pytest.mark.parametrize(
    ("output", "tail"),
    [
        pytest.param("progress 1\r" * 90_000 + "\nFAILED", ["progress 1", "FAILED"], id="a progress bar"),
        pytest.param("progress 1\r" * 90_000, ["progress 1"], id="a progress bar alone"),
        pytest.param("progress 1\r" * 90_000 + "FAILED", ["FAILED"], id="overwritten"),
        pytest.param("before\n" + "\r" * MEGABYTE, ["before"], id="returns"),
        pytest.param("\r" * MEGABYTE, [], id="returns alone"),
        pytest.param(RED * 200_000, [], id="colours alone"),
        pytest.param(f"{RED}{PLAIN}\n" * 90_000, [], id="lines of colours alone"),
        pytest.param("FAILED\n" + f"{RED}{PLAIN}\n" * 90_000, ["FAILED"], id="lines of colours at the end"),
        pytest.param("before\n" + f"{RED}{PLAIN}" * 110_000, ["before"], id="colours at the end"),
        pytest.param(f"{RED}red{PLAIN}\n" * 60_000 + "FAILED\n", ["red", "red", "FAILED"], id="lines in colour"),
        pytest.param("step\r\n" * 170_000 + "FAILED\r\n", ["step", "step", "FAILED"], id="line ends of two characters"),
        pytest.param("step\n\x1b[1A" * 120_000 + "FAILED", ["FAILED"], id="redrawn"),
        pytest.param("step\n" + "\x1b[1A\x1b[J" * 140_000 + "FAILED", ["FAILED"], id="erased"),
    ],
)
def test_the_tail_of_a_megabyte_that_moves_is_what_a_terminal_shows_last(
    shown: Callable[..., list[str]], output: str, tail: list[str]
) -> None:
    assert shown(output, "--tail", 3) == tail


class Counting:
    """A redaction that changes nothing, and knows how much it was given."""

    def __init__(self) -> None:
        self.characters = 0

    def __call__(self, text: str) -> str:
        self.characters += len(text)
        return text

    def all(self, texts: list[str]) -> list[str]:
        return list(map(self, texts))


@pytest.mark.parametrize(
    "output",
    [
        pytest.param("progress 1\r" * 90_000 + "\nFAILED", id="a progress bar"),
        pytest.param("\r" * MEGABYTE, id="returns"),
        pytest.param(f"{RED}red{PLAIN}\n" * 60_000, id="lines in colour"),
        pytest.param("a line that does not move\n" * 40_000, id="plain lines"),
    ],
)
def test_far_less_than_all_of_a_long_output_is_looked_through_for_secrets(output: str) -> None:
    redact = Counting()
    tail_of(output, 15, whole=True, redact=redact)
    assert redact.characters < len(output) / 4
