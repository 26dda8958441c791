"""The shapes of secrets: what well-known tokens look like. To teach a new one is to add a line here.

Shapes are documented ones: a prefix that nothing else has, then enough characters to be random. Doubtful cases are
secrets: a report can do without.
"""

from __future__ import annotations

import re
from typing import NamedTuple

REDACTED = "[redacted]"


class Shape(NamedTuple):
    """A pattern, and texts one of which is in everything that it matches: looking for those is much faster."""

    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    replacement: str = REDACTED


def _token(pattern: str, *hints: str) -> Shape:
    """A token whose prefix nothing else has."""
    return Shape(hints, re.compile(pattern))


def _word(pattern: str, *hints: str) -> Shape:
    """A token whose prefix may end a different word, but may follow an escape such as \\n."""
    return Shape(hints, re.compile(rf"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])){pattern}"))


SHAPES = (
    # GitHub; installation tokens of 2026 have dots and about 500 characters.
    _token(r"gh[oprsu]_[A-Za-z0-9][A-Za-z0-9._-]{14,}", "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
    _token(r"github_pat_\w{20,}", "github_pat_"),
    # AWS: ids of keys, and the keys where they are named.
    _word(r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16,}", "AKIA", "ASIA", "ABIA", "ACCA"),
    Shape(
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
    Shape(
        ("eyJ",),
        re.compile(
            r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){0,3}"
        ),
    ),
    # base64 of `x-access-token:…`, as actions/checkout writes it into .git/config.
    Shape(("eC1hY2Nlc3MtdG9rZW46",), re.compile(r"eC1hY2Nlc3MtdG9rZW46[A-Za-z0-9+/=_-]*")),
)
HEADERS = (
    Shape(
        ("authorization",),
        re.compile(
            r"(authorization\\?[\"']?\s{0,4}[:=]\s{0,4}\\?[\"']?(?:[A-Za-z][A-Za-z0-9-]{1,20}[ \t]{1,4})?"
            r"\\?[\"']?)[^\s\"',;\\\[]{8,}",
            re.IGNORECASE,
        ),
        rf"\g<1>{REDACTED}",
    ),
    # A word of letters alone is more often English than a token.
    Shape(
        ("bearer",),
        re.compile(
            r"\b(bearer[ \t]{1,4}\\?[\"']?)(?:(?=[A-Za-z]*[0-9._~+/=-])[A-Za-z0-9._~+/=-]{8,}|[A-Za-z]{20,})",
            re.IGNORECASE,
        ),
        rf"\g<1>{REDACTED}",
    ),
)
"""What is secret because of the words before it. Their hints are looked for in lower case."""
