"""Text from rollouts and logs inside GitHub's Markdown: always in a code span or a fence, where nothing has a meaning.

In a code span nothing is a mention, a reference, a link or an image; what remains is the end of the span itself and,
in a table, the end of the cell. Source of the rules: the GitHub Flavored Markdown Spec, sections on code spans, fenced
code blocks, tables and HTML blocks.

Only the functions here make `Markup`, which is text that may stand in the report as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from markupsafe import Markup

from rollout_compare.core.sentences import Sentence
from rollout_compare.report.untrusted.neutral import is_web_address, label, log_line

_TICKS = re.compile("`+")
_ESCAPED_PIPE = re.compile(r"(\\*)\|")
_SPECIAL = re.compile(r"[\\`*_\[\]<>|~&]")
_OUR_COMMENT = re.compile(r"<!--(?=\s*rollout-compare)", re.IGNORECASE)
_SHORTEST_FENCE = 3
_EMPTY = '""'


def code(text: str, *, in_table: bool = False) -> Markup:
    """A code span that shows `text` on one line, whatever it is. An empty text is shown as two quotes."""
    content = _not_ours(label(text)) or _EMPTY
    if in_table:
        content = _ESCAPED_PIPE.sub(_escaped_pipe, content)
    ticks = "`" * (_longest_run(content) + 1)
    # A space at both ends is dropped, and keeps a tick of the text apart from those of the span.
    pad = " " if content[0] in " `" or content[-1] in " `" else ""
    return Markup(f"{ticks}{pad}{content}{pad}{ticks}")


def _not_ours(text: str) -> str:
    """Text that cannot be taken for a hidden line of ours, by which a comment is found again."""
    return _OUR_COMMENT.sub("<!- -", text)


def _escaped_pipe(found: re.Match[str]) -> str:
    # After an odd number of backslashes the pipe's own would be taken for an escaped backslash: one more is shown.
    return found[1] + ("\\" if len(found[1]) % 2 else "") + "\\|"


def _longest_run(text: str) -> int:
    return max(map(len, _TICKS.findall(text)), default=0)


def html_code(text: str) -> Markup:
    """The same inside HTML, where Markdown means nothing."""
    return Markup("<code>{}</code>").format(label(text) or _EMPTY)


def fence(lines: Iterable[str]) -> Markup:
    """A fenced block that shows these lines of a log; the fence is longer than any run of ticks in them.

    Whoever puts it inside HTML leaves a blank line before and after it.
    """
    shown = [_not_ours(log_line(line)) for line in lines]
    ticks = "`" * max(_SHORTEST_FENCE, 1 + max(map(_longest_run, shown), default=0))
    return Markup("\n".join([f"{ticks}text", *shown, ticks]))


def prose(sentence: Sentence, *, in_table: bool = False) -> Markup:
    """A sentence of ours with what came from the inputs in code spans."""
    parts = sentence.parts
    pieces = [
        # Two code spans side by side would be one.
        code(part, in_table=in_table) if at % 2 else ours(part if part or at in (0, len(parts) - 1) else " ")
        for at, part in enumerate(parts)
    ]
    return Markup("").join(pieces)


def ours(words: str) -> Markup:
    """Words of ours, without any data: what Markdown or HTML would take for its own is written as entities.

    So they mean the same in running text, in a table and inside HTML.
    """
    return Markup(_SPECIAL.sub(lambda found: f"&#{ord(found[0])};", label(words)))


def strong(words: Markup) -> Markup:
    """The same in bold type."""
    return Markup("**{}**").format(words) if words else words


def link(words: str, url: str) -> Markup:
    """A link with words of ours; the words alone when it is not an address of http that is safe as it is."""
    return Markup(f"[{ours(words)}]({url})") if is_web_address(url) else ours(words)


def hidden(text: str) -> Markup:
    """A line that is not shown. Raises ValueError when the text could end it."""
    if ">" in text or "\n" in text:
        raise ValueError("a hidden line must not hold `>`, nor a line end")
    return Markup(f"<!-- {text} -->")
