"""Markdown as GitHub shows it: rendered with its own renderer, and read as a tree of elements."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

import cmarkgfm
from cmarkgfm.cmark import Options

OPTIONS = Options.CMARK_OPT_UNSAFE | Options.CMARK_OPT_GITHUB_PRE_LANG | Options.CMARK_OPT_FOOTNOTES
CODE = ("code", "pre")
MARKER = "<!-- rollout-compare:default -->"
"""The first line of every Markdown report, by which the Action finds its comment."""
_VOID = ("br", "col", "hr", "img", "input")


@dataclass(frozen=True)
class Element:
    """An element with what stands in it, in order."""

    tag: str
    attributes: tuple[tuple[str, str | None], ...] = ()
    children: list[Element | str] = field(default_factory=list)

    def all(self, *tags: str) -> list[Element]:
        """The elements of these tags in here, at any depth; every element when none is named."""
        return [element for element in _below(self) if not tags or element.tag in tags]

    @property
    def elements(self) -> list[Element]:
        """The elements right in here."""
        return [child for child in self.children if isinstance(child, Element)]

    @property
    def text(self) -> str:
        """All text in here."""
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    @property
    def running_text(self) -> str:
        """The text in here that is no code, where mentions, references and bare addresses become links."""
        return "".join(
            child
            if isinstance(child, str)
            else "\N{OBJECT REPLACEMENT CHARACTER}" + ("" if child.tag in CODE else child.running_text)
            for child in self.children
        )

    @property
    def shape(self) -> str:
        """The tree without its text."""
        attributes = "".join(f" {name}={value}" for name, value in self.attributes)
        return f"{self.tag}{attributes}({' '.join(element.shape for element in self.elements)})"


def _below(element: Element) -> Iterator[Element]:
    for child in element.elements:
        yield child
        yield from _below(child)


class _Tree(HTMLParser):
    """Builds the tree, and takes no tag that does not close where it should."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Element("#document")
        self._open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, tuple(attrs))
        self._open[-1].children.append(element)
        if tag not in _VOID:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        if tag in _VOID:
            return
        closed = self._open.pop()
        assert closed.tag == tag, f"</{tag}> where <{closed.tag}> is open"

    def handle_data(self, data: str) -> None:
        self._open[-1].children.append(data)

    def handle_comment(self, data: str) -> None:
        self._open[-1].children.append(Element("#comment", (("data", data),)))

    def close(self) -> None:
        super().close()
        assert len(self._open) == 1, f"<{self._open[-1].tag}> is never closed"


@functools.lru_cache(maxsize=8)
def rendered(markdown: str) -> Element:
    """The document that GitHub makes of this Markdown, before it looks for mentions and references."""
    tree = _Tree()
    tree.feed(cmarkgfm.github_flavored_markdown_to_html(markdown, OPTIONS))
    tree.close()
    return tree.root


def table_rows(table: Element) -> list[list[str]]:
    """The texts of a table's cells, row by row, the header first."""
    return [[cell.text for cell in row.all("th", "td")] for row in table.all("tr")]
