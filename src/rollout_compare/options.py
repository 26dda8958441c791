"""The options that the command and the Action share: what their values may be, and what they are when nobody says.

A rule takes the text that was given and makes a value of it, or raises ValueError with what it must be: words that fit
behind "must be" and do not repeat the text, which may be a secret. Imports next to nothing: the command starts at once.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as type checkers know it: importing typing takes as long as starting Python
if TYPE_CHECKING:
    import re

TAIL = 15
"""Lines of verifier output for each flip."""
BASELINE_MAX_AGE = 7
"""Days from which on a baseline is called stale."""
_DEEPEST = 50
_MOST_DIGITS = 9


def field_name(text: str) -> str:
    """The dotted name of a field, such as `verifier_metadata.case`: any text on one line between the dots."""
    names = text.split(".")
    if not all(names) or len(names) > _DEEPEST or "\n" in text or "\r" in text:
        raise ValueError("a dotted field name")
    return text


def condition(text: str) -> tuple[str, str]:
    """What a row has to say in one of its fields, `FIELD=VALUE`: the name of the field, and the value."""
    name, equals, value = text.partition("=")
    try:
        named = field_name(name)
    except ValueError:
        named = ""
    if not equals or not named:
        raise ValueError("FIELD=VALUE with a dotted field name")
    return named, value


def margin(text: str) -> float:
    """The largest difference of mean rewards that does not matter, in units of rewards: `0.02` or `2%`."""
    digits = text.strip()
    if digits.endswith("%"):
        # Not divided by 100: 2.8% is the number that 0.028 is.
        digits = f"{digits[:-1].strip()}e-2"
    try:
        number = float(digits)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise ValueError("a difference above 0, such as 0.02 or 2%")
    return number


def number(text: str) -> int:
    """A number of things, of at most nine digits."""
    if not text.isascii() or not text.isdigit() or len(text) > _MOST_DIGITS:
        raise ValueError("a whole number")
    return int(text)


def path(text: str) -> str:
    """A path that can be opened, as far as its text tells."""
    if not text or "\0" in text:
        raise ValueError("a path")
    return text


def pattern(text: str) -> re.Pattern[str]:
    """A regular expression of Python's. The words of its ValueError say where it is invalid."""
    import re

    try:
        return re.compile(text)
    except (re.error, RecursionError, OverflowError) as fault:
        where = f" (position {fault.pos})" if isinstance(fault, re.error) and fault.pos is not None else ""
        raise ValueError(f"invalid regular expression{where}") from None
