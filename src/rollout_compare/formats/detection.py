"""Which format a path is of: the table of all formats, and what is said when none or several claim it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol, cast

from rollout_compare.core.errors import CompareInputError, UsageError
from rollout_compare.core.reading.inputs import has_rollouts
from rollout_compare.formats.attempt import Reading
from rollout_compare.formats.given import Given
from rollout_compare.formats.marks import fields_of_first_line, has_more_lines, outline
from rollout_compare.formats.names import FORMAT_NAMES


class Format(Protocol):
    """What a module of a format offers."""

    NAME: str
    """The word by which one asks for it."""
    TITLE: str
    """What one of it is called in a report."""
    ROWS: str
    """What becomes a row, in the tool's own word."""

    @staticmethod
    def detect(given: Given) -> bool:
        """Whether a path looks like this format, by names and first bytes."""

    @staticmethod
    def rows(given: Given, reading: Reading) -> Iterator[dict[str, Any]]:
        """The rows at a path. Raises CompareInputError for what cannot be read."""


@dataclass(frozen=True, slots=True)
class _Known:
    """A format of the table. Its module is imported when a path may be of it."""

    module: str
    of_lines: tuple[str, ...] = ()
    """Fields of which each line of its JSON Lines has one; without any, JSON Lines are never of this format."""

    def format(self) -> Format:
        return cast("Format", import_module(f"rollout_compare.formats.{self.module}"))


_TABLE = {
    "harbor": _Known("harbor"),
    "inspect": _Known("inspect_log"),
    "swebench": _Known("swebench"),
    "lm-eval": _Known("lm_eval", of_lines=("doc_id",)),
    "promptfoo": _Known("promptfoo", of_lines=("testIdx",)),
    "verifiers": _Known("verifiers", of_lines=("example_id", "env")),
    "tau2": _Known("tau2"),
}


def format_of(given: Given, forced: str | None = None) -> Format | None:
    """The format of a path; None for rollouts. `forced` names the one that it is read as, whatever it looks like.

    Raises CompareInputError for a path that several formats claim, or a document that none does.
    """
    if forced is not None:
        if forced not in FORMAT_NAMES:
            raise UsageError(f"there is no format {forced!r}; there are {', '.join(FORMAT_NAMES)}")
        return _TABLE[forced].format() if forced in _TABLE else None
    if _is_rollouts(given):
        return None
    claiming = [known for known in _possible(given) if known.detect(given)]
    if len(claiming) > 1:
        raise CompareInputError(given.path, f"may be {_named(claiming, ' or ')}: say which with --format-in")
    if not claiming:
        _refuse_documents(given)
    return claiming[0] if claiming else None


def _is_rollouts(given: Given) -> bool:
    """Whether a path is not looked at any further: a folder with rollouts, rows that Gym marks, what is no file."""
    if given.is_folder:
        return has_rollouts(given.path)
    if not given.has_file(given.name):
        return True
    fields = fields_of_first_line(given, given.name)
    return "responses_create_params" in fields or any(field.startswith("_ng_") for field in fields)


def _possible(given: Given) -> Iterator[Format]:
    """The formats that a path may be of, by its kind alone."""
    fields: frozenset[str] = frozenset() if given.is_folder else fields_of_first_line(given, given.name)
    is_lines = bool(fields) and has_more_lines(given, given.name)
    return (known.format() for known in _TABLE.values() if not is_lines or fields.intersection(known.of_lines))


def _named(formats: Iterable[Format], between: str) -> str:
    return between.join(f"{known.TITLE} ({known.NAME})" for known in formats)


def _refuse_documents(given: Given) -> None:
    """Raises CompareInputError for a file that is certainly no JSON Lines."""
    if given.is_folder:
        return
    head = given.head(given.name)
    what = step = ""
    if head.startswith(b"PK\x03\x04"):
        what, step = "a zip", "unpack any other"
    elif has_more_lines(given, given.name) and outline(given, given.name):
        first_line = given.first_line(given.name).rstrip()
        # A first row that is faulty is another matter.
        if first_line.endswith((b"{", b"[", b",", b":")):
            what = "one JSON document"
            step = "of any other, jq -c . FILE writes each object on one line"
            if first_line.lstrip().startswith(b"["):
                step = "of any other, jq -c '.[]' FILE writes its members a line each"
    if what:
        known = _named((known.format() for known in _TABLE.values()), ", ")
        raise CompareInputError(given.path, f"{what}, not JSON Lines; known are: {known}; {step}")
