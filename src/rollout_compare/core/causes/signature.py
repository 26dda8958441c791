"""What stays of a cause line when everything is left out that differs from one run to the next.

Two lines with one signature are taken to tell of one cause. The patterns are a table of our own; on the labelled lines
in `tests/cases/cause-lines/` it groups better than a library that learns templates (see `docs/architecture.md`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

LONGEST = 300
"""Longest signature, in characters."""
GAP = "…"
"""Stands for what was left out."""

_SPACES = re.compile(r"\s+")
# What stands before a message and says where it comes from: `run.sh: line 2: `, `main.c:3:5: `, `Caused by: `.
_HEADS = (
    (re.compile(r"(?:Caused by|Exception in thread \"[^\"]{0,80}\"|Uncaught|Unhandled exception\.):? "), ""),
    (re.compile(r"(?:\S{1,200}: )?line \d{1,9}: (?:\d{1,9} )?"), ""),
    (re.compile(r"(?:\S{0,200}/)?(?:ba|da|z|k|a|fi)?sh: (?:\d{1,9}: )?(?=\S)"), ""),
    (re.compile(r"[^\s:()]{1,200}(?::\d{1,9}(?::\d{1,9})?|\(\d{1,9}(?:,\d{1,9})?\)):? "), ""),
    (re.compile(r"(\S{1,200}): (?:command )?not found\Z"), r"\1: command not found"),
    (re.compile(r"command not found: (\S{1,200})\Z"), r"\1: command not found"),
    (re.compile(r"(Segmentation fault|Aborted|Bus error|Killed) +(?:\(core dumped\))?.*"), r"\1"),
)
_START = r"(?<![A-Za-z0-9])"
"""Not in the middle of a word; a word may end with `_`."""
_IN_PATH = r"[^\s'\"`,;:()<>\[\]{}|]"
_KEPT_CODE = (
    r"(?P<kept>\b(?:exit (?:code|status)|(?:error|status|response) code|with (?:code|status)|status|signal|[Ee]rrno"
    r"|HTTP(?:/\d(?:\.\d)?)?|returned error|code)[:=]? {0,2}-?\d{1,5}\b(?!\.?\d))"
)
"""A code says what went wrong: `exit code 137`, `HTTP 503`, `[Errno 28]`."""
_QUERY = rf"(?P<query>(?<=\w)\?[\w.~%-]{{1,80}}={_IN_PATH}{{0,400}})"
_TEMPORARY_OR_HOME = (
    r"(?<![\w./-])(?:file://)?(?:/private)?(?:/tmp|/var/tmp|/var/folders|/dev/shm|/home|/Users|/root|~)/"
    rf"{_IN_PATH}{{0,400}}"
)
_ON_WINDOWS = rf"(?<![\w./-])[A-Za-z]:\\(?:Users|Temp|Windows\\Temp)\\{_IN_PATH}{{0,400}}"
_UUID = rf"{_START}[0-9a-fA-F]{{8}}-(?:[0-9a-fA-F]{{4}}-){{3}}[0-9a-fA-F]{{12}}(?![A-Za-z0-9])"
_TIME = rf"{_START}\d{{4}}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{{1,9}})?)?(?:Z|[+-]\d\d:?\d\d)?)?"
_DATE_IN_WORDS = (
    rf"{_START}(?:[A-Z][a-z]{{2}},? )?(?:\d{{1,2}}[ /-])?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
    r"(?:[ /-]{1,2}\d{1,4}){1,2}(?:[ :]\d\d:\d\d:\d\d)?"
)
_ADDRESS = rf"{_START}0x[0-9a-fA-F]{{1,64}}|@[0-9a-f]{{5,8}}\b"
_HEX = rf"{_START}(?=[a-fA-F]{{1,40}}\d)[0-9a-fA-F]{{6,128}}(?![A-Za-z0-9])"
"""With a digit, so that words such as `facade` stay."""
_RANDOM_END = r"(?<=[-_])(?=[a-f]{0,8}\d)[0-9a-f]{4,64}(?![A-Za-z0-9])|(?<=-)(?=[a-z]{0,4}\d)[a-z0-9]{5}(?![\w-])"
"""`web-b21c`, `bench_9a1c`; of pods `-x2kqp`."""
_ONE_OF_A_KIND = (
    r"(?<![A-Za-z0-9'\"`.])(?P<kind>(?!(?:u?int|b?float|complex|utf|sha|md|base|python|py|http|ipv|mp|h|x|win|iso"
    r"|cp|latin)\d)[a-z]{1,20})\d{1,9}(?![A-Za-z0-9'\"`.])"
)
"""`node3`, `local12`; neither `float64` nor a name in quotes."""
_NUMBER = (
    rf"{_START}[-+]?\d[\d,_]{{0,40}}(?:\.\d{{0,40}})?(?:[eE][-+]?\d{{1,4}})?(?![\w.])"
    r"(?: ?(?:[KMGTP]i?B|bytes|%|[mµun]?s|sec|seconds|min|minutes|hours)(?![\w]))?"
)
_FROM_A_DIGIT_ON = rf"{_START}\d[0-9A-Za-z]{{0,128}}"
# One pass over the text: at each place the first that fits.
_VARYING = re.compile(
    f"{_KEPT_CODE}|{_QUERY}|{_TEMPORARY_OR_HOME}|{_ON_WINDOWS}|{_UUID}|{_TIME}|{_DATE_IN_WORDS}|{_ADDRESS}|{_HEX}"
    f"|{_RANDOM_END}|{_ONE_OF_A_KIND}|{_NUMBER}|{_FROM_A_DIGIT_ON}"
)
_LONGEST_NAME = 200
_SHORTEST_TELLING = 3
_RUN = re.compile(rf"{GAP}(?:[ ,.:/x*-]{{0,3}}{GAP})+[,.]?")
_PLURAL = re.compile(
    rf"(?<={GAP} )((?:[a-z]{{2,20}} )?"
    r"(?:error|failure|warning|test|token|row|line|file|item|argument|value|attempt))s\b"
)
"""`1 validation error`, `3 validation errors`."""
_EMPTY_LIST = re.compile(r"(?<![\w)\]])\[\]")
_QUOTES = (("'", "'"), ('"', '"'), ("`", "`"), ("\u2018", "\u2019"), ("\u201c", "\u201d"))


def signature(line: str, names: Iterable[str] = ()) -> str:
    """The signature of a cause line. `names` are those of the task it belongs to, and are left out.

    `ConnectionError: try 3 of 40 at /tmp/x1` becomes `ConnectionError: try … of … at …`. A line of which no word would
    stay, such as `404`, is left as it is.
    """
    whole = text = _SPACES.sub(" ", line[: 4 * LONGEST]).strip()
    for name in names:
        text = _without_name(text, name)
    for head, instead in _HEADS:
        text = head.sub(instead, text, count=1) if head.match(text) is not None else text
    text = _VARYING.sub(_gap, text)
    text = _RUN.sub(GAP, _EMPTY_LIST.sub(f"[{GAP}]", text))
    text = _PLURAL.sub(r"\1", text)
    return (text if any(map(str.isalpha, text)) else whole)[:LONGEST]


def _gap(found: re.Match[str]) -> str:
    if found["kept"] is not None:
        return found[0]
    return "" if found["query"] is not None else (found["kind"] or "") + GAP


def _without_name(text: str, name: str) -> str:
    """The text without the name of its task: in quotes, and wherever the name is none that a message would hold."""
    if not name or len(name) > _LONGEST_NAME or name not in text:
        return text
    for opening, closing in _QUOTES:
        text = text.replace(f"{opening}{name}{closing}", f"{opening}{GAP}{closing}")
    if _is_telling(name):
        text = re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", GAP, text)
    return text


def _is_telling(name: str) -> bool:
    """Whether a name can hardly be a word of the message by chance: `fix-git`, `t07`, not `list`."""
    return len(name) >= _SHORTEST_TELLING and any(not character.isalpha() for character in name)
