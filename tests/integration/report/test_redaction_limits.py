"""What redaction takes for a secret and what not, where it is hard to tell: keys in pieces, addresses, headers."""

from __future__ import annotations

import json
import random
import re
import string

import pytest

from rollout_compare.report.untrusted import REDACTED, Redactor
from tests.conftest import Compare, Rollouts

BASE64 = string.ascii_letters + string.digits + "+/"
FRAGMENT = 10
"""So many characters of a secret in a row are a fragment of it."""
TOKEN = "ghp_" + "aaaaBBBBccccDDDDeeeeFFFFgggg1111"
_random = random.Random(9)


def redacted(text: str) -> str:
    return Redactor()(text)


def leaks(secret: str, told: str) -> bool:
    """Whether a fragment of the secret is told."""
    return any(secret[at : at + FRAGMENT] in told for at in range(len(secret) - FRAGMENT + 1))


# Private keys

BODY = ["".join(_random.choices(BASE64, k=64)) for _ in range(6)]
LAST = "".join(_random.choices(BASE64, k=44))
ARMOUR = {
    "RSA": ("-----BEGIN RSA PRIVATE KEY-----", [], "-----END RSA PRIVATE KEY-----"),
    "OpenSSH": ("-----BEGIN OPENSSH PRIVATE KEY-----", [], "-----END OPENSSH PRIVATE KEY-----"),
    "encrypted RSA": (
        "-----BEGIN RSA PRIVATE KEY-----",
        ["Proc-Type: 4,ENCRYPTED", "DEK-Info: AES-128-CBC,0123456789ABCDEF0123456789ABCDEF", ""],
        "-----END RSA PRIVATE KEY-----",
    ),
    "PGP": ("-----BEGIN PGP PRIVATE KEY BLOCK-----", [""], "-----END PGP PRIVATE KEY BLOCK-----"),
    "PGP with a version": (
        "-----BEGIN PGP PRIVATE KEY BLOCK-----",
        ["Version: GnuPG v1.4.12 (GNU/Linux)", "Comment: of the nightly run", ""],
        "-----END PGP PRIVATE KEY BLOCK-----",
    ),
}
BEFORE = ["collected 3 items", "tests/test_keys.py writes a key"]
AFTER = ["expected 200 but got 500", "1 failed in 2.31s"]
PREFIXES = ["", "2026-01-05T00:00:00Z ", "[12:00:01] ", "    | ", "> "]


@pytest.mark.parametrize("kind", ARMOUR)
@pytest.mark.parametrize("part", ["whole", "without its end", "without its begin"])
@pytest.mark.parametrize("prefix", PREFIXES, ids=ascii)
def test_of_a_key_no_line_stays_and_all_others_do(kind: str, part: str, prefix: str) -> None:
    begin, headers, end = ARMOUR[kind]
    lines = {
        "whole": [begin, *headers, *BODY, LAST, end],
        "without its end": [begin, *headers, *BODY, LAST],
        "without its begin": [*headers, *BODY, LAST, end],
    }[part]
    told = redacted("\n".join(prefix + line for line in [*BEFORE, *lines, *AFTER]))
    assert [line for line in [*BODY, LAST] if leaks(line, told)] == []
    assert [line for line in [*BEFORE, *AFTER] if f"{prefix}{line}" not in told] == []
    assert REDACTED in told


EVIDENCE = ["AssertionError: expected 200, got 500", "Error: the server said no", "INFO: done"]


@pytest.mark.parametrize("line", EVIDENCE)
def test_what_a_verifier_says_after_the_begin_of_a_key_stays(line: str) -> None:
    begin = ARMOUR["RSA"][0]
    assert redacted(f"{begin}\n{BODY[0]}\n{line}\n{line}").count(line) == 2
    assert redacted(f"no key begins with {begin} here\n{line}\n{line}").count(line) == 2


@pytest.mark.parametrize("line", EVIDENCE)
def test_what_a_verifier_says_before_the_end_of_a_key_stays(line: str) -> None:
    end = ARMOUR["RSA"][2]
    assert redacted(f"{line}\n{line}\n{BODY[0]}\n{end}").count(line) == 2


# Values that are known


@pytest.mark.parametrize("value", [REDACTED, REDACTED.strip("[]"), REDACTED[:-1], "d] redac"])
@pytest.mark.parametrize("text", ["redacted", "a redacted line", REDACTED, f"{REDACTED}{REDACTED}", "x d] redac y"])
def test_redacting_twice_is_redacting_once(value: str, text: str) -> None:
    redact = Redactor.from_environment({"X_TOKEN": value})
    once = redact(text)
    assert redact(once) == once
    assert len(once) <= len(text) + len(REDACTED)


@pytest.mark.parametrize("name", ["X_TOKEN", "X_KEY", "X_SECRET", "X_PASSWORD", "x_password"])
def test_values_are_known_from_eight_characters_on(name: str) -> None:
    text = "seven77 and eight888 in a line"
    told = Redactor.from_environment({name: "seven77"})(text)
    assert told == text
    assert Redactor.from_environment({name: "eight888"})(text) == f"seven77 and {REDACTED} in a line"


def test_a_value_that_is_given_has_to_be_as_long() -> None:
    text = "seven77 and eight888 in a line"
    assert Redactor(["seven77"])(text) == text
    assert Redactor(["eight888"])(text) == f"seven77 and {REDACTED} in a line"


# What is not seen inside a token

INVISIBLE = {
    "variation selector 1": "\ufe00",
    "variation selector 16": "\ufe0f",
    "variation selector 17": "\U000e0100",
    "variation selector 256": "\U000e01ef",
    "braille blank": "\u2800",
    "zero width space": "\u200b",
    "word joiner": "\u2060",
    "soft hyphen": "\xad",
    "combining grapheme joiner": "\u034f",
    "hangul filler": "\u3164",
    "half width hangul filler": "\uffa0",
    "mongolian variation selector": "\u180b",
    "khmer inherent vowel": "\u17b4",
    "tag": "\U000e0041",
    "escape sequence": "\x1b[0m",
    "null": "\0",
}


@pytest.mark.parametrize("place", [1, 3, 6, 20])
@pytest.mark.parametrize("character", INVISIBLE.values(), ids=INVISIBLE.keys())
def test_a_token_with_something_invisible_inside_is_redacted(character: str, place: int) -> None:
    text = f"using {TOKEN[:place]}{character}{TOKEN[place:]} now"
    for told in (redacted(text), *Redactor().all([text])):
        assert not leaks(TOKEN, told)
        assert REDACTED in told


@pytest.mark.parametrize("character", INVISIBLE.values(), ids=INVISIBLE.keys())
def test_a_known_value_with_something_invisible_inside_is_redacted(character: str) -> None:
    text = f"using correct-{character}horse now"
    redact = Redactor(["correct-horse"])
    for told in (redact(text), *redact.all([text])):
        assert "horse" not in told


@pytest.mark.parametrize(
    "text", ["a heart \u2764\ufe0f", "\u2800\u2801\u2803", "\u845b\U000e0100 is a name", "\u1820\u180b"]
)
def test_words_with_such_characters_stay_as_they_are(text: str) -> None:
    redact = Redactor()
    assert redact(text) == text
    assert redact.all([text]) == [text]


# Addresses


@pytest.mark.parametrize(
    ("address", "secret"),
    [
        ("https://user:pa/ssword#1@example.com/x", "pa/ssword#1"),
        ("https://user:pass#word/2@example.com/x", "pass#word/2"),
        ("https://user:pass?word@example.com", "pass?word"),
        ("https://user:pass@word@example.com/x", "pass@word"),
        ("redis://:pass/word#1@example.com:6379/0", "pass/word#1"),
        ("postgres://user:pa:ss/word@example.com:5432/db", "pa:ss/word"),
        ("https://user:12345678@example.com/", "12345678"),
        ("https://0123456789abcdef0123@example.com/x", "0123456789abcdef0123"),
        (f"https://{TOKEN}@github.com/a/b.git", TOKEN),
        (f"https://{TOKEN}:x-oauth-basic@github.com/a/b.git", TOKEN),
    ],
)
def test_passwords_and_tokens_of_addresses_are_redacted(address: str, secret: str) -> None:
    told = redacted(f"cannot open {address}, will try again")
    assert secret not in told
    assert not leaks(secret, told)
    assert told.startswith("cannot open ")
    assert told.endswith(", will try again")
    assert REDACTED in told


@pytest.mark.parametrize(
    "address",
    [
        "https://host:8080/path/@scope/x",
        "https://host/@scope/y",
        "https://host:8080/@scope/x",
        "http://localhost:3000?mail=a@example.com",
        "http://localhost:3000#a@example.com",
        "https://host:443/a:b@c",
        "https://registry.example.com/@types/node:1@2",
        "https://[::1]:8080/@scope/x",
        "https://[::1]/a@b",
        "https://user@host/x",
        "https://host:8080",
        "ssh://git@host:22/a.git",
        "https://host:8080,http://other:8081/@x",
    ],
)
def test_addresses_without_a_password_stay(address: str) -> None:
    text = f"see {address} and on"
    assert redacted(text) == text


# Headers

VALUE = "0a1b2c3d4e5f6071"


@pytest.mark.parametrize(
    "header",
    [
        "Authorization: {}",
        'Authorization: "{}"',
        "Authorization: '{}'",
        '"Authorization": "{}"',
        "'authorization': 'Bearer {}'",
        '\\"Authorization\\": \\"{}\\"',
        '\\"Authorization\\": \\"Token {}\\"',
        'Authorization: Bearer "{}"',
        'authorization="{}"',
        "AUTHORIZATION={}",
        "Authorization:\t{}",
        "Proxy-Authorization: Basic {}",
        "curl -H 'Authorization: {}' https://example.com",
        "curl -H 'Authorization: token {}' https://example.com",
    ],
)
def test_an_authorization_is_redacted_in_whatever_quotes_and_without_a_scheme(header: str) -> None:
    assert redacted(header.format(VALUE)) == header.format(REDACTED)


@pytest.mark.parametrize("header", ["Authorization: {}", 'Authorization: "{}"', "'authorization': 'Bearer {}'"])
def test_an_authorization_is_redacted_inside_json(header: str) -> None:
    assert redacted(json.dumps({"log": header.format(VALUE)})) == json.dumps({"log": header.format(REDACTED)})


# Patterns that are none


@pytest.mark.parametrize(
    "pattern",
    [
        "(?P<hunter2-sesame>x)",
        "(?P<hunter2sesame>x)(?P<hunter2sesame>y)",
        "(?P=hunter2sesame)",
        "(?(hunter2sesame)a|b)",
        "(?P<hunter2sesame",
        "[hunter2sesame",
        "hunter2sesame(?<=a+)",
    ],
)
def test_a_pattern_that_is_none_is_not_told(pattern: str, rollouts: Rollouts, run: Compare) -> None:
    with pytest.raises(re.error):
        re.compile(pattern)
    good = rollouts.write("good.jsonl", [{"task_id": "t", "reward": 1}])
    done = run(good, good, f"--redact={pattern}")
    assert (done.status, done.out) == (2, "")
    assert "--redact" in done.err
    assert "hunter2" not in done.err
    assert "sesame" not in done.err
