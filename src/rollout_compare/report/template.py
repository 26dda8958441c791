"""The Jinja2 environment of the reports, and templates of a user's own, which run in its sandbox."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment
from markupsafe import Markup

from rollout_compare.core.errors import UsageError
from rollout_compare.report.untrusted import label
from rollout_compare.report.untrusted.markdown import code, fence, html_code, ours

REPORT = "report.md.j2"
_OWN = "own template"
_LARGEST = 1 << 20
_FENCE = re.compile("(`{3,})[a-z]*")


class TemplateError(UsageError):
    """A template that cannot be used: which, where in it, and why."""


@lru_cache
def built_in_template(name: str) -> Template:
    """A Markdown template of the package."""
    return Template(_environment({}), name, None)


def own_template(path: str) -> Template:
    """The template at `path`, which may extend `report.md.j2`.

    Raises TemplateError when it cannot be read or is not a template.
    """
    return Template(_environment({_OWN: _read(path)}), _OWN, path)


class Template:
    """A template whose failures name its file."""

    def __init__(self, environment: jinja2.Environment, name: str, path: str | None) -> None:
        self._own = path is not None
        self.name = f"template {path}" if self._own else "the built-in template"
        try:
            self._template = environment.get_template(name)
        except jinja2.TemplateError as fault:
            raise self._error(fault) from None

    def render(self, context: dict[str, Any]) -> str:
        """The text of the report. Raises TemplateError when the template fails."""
        if not self._own:
            return _tidy(self._template.render(context))
        try:
            return _tidy(self._template.render(context))
        except MemoryError:
            raise
        except Exception as fault:  # noqa: BLE001 - a user's template may raise anything
            raise self._error(fault) from None

    def _error(self, fault: Exception) -> TemplateError:
        line = getattr(fault, "lineno", None) or _line_of(fault)
        where = f"{self.name}:{line}" if line else self.name
        return TemplateError(f"{where}: {type(fault).__name__}: {label(str(fault))}")


def _line_of(fault: Exception) -> int | None:
    """The line of the user's template in which a failure happened."""
    line = None
    trace = fault.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "<template>":
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def _tidy(text: str) -> str:
    """The text without runs of blank lines outside fences, which blocks without content leave behind."""
    lines: list[str] = []
    ticks = ""
    for line in text.split("\n"):
        if ticks:
            ticks = "" if line == ticks else ticks
        elif (opening := _FENCE.fullmatch(line)) is not None:
            ticks = opening[1]
        elif not line and (not lines or not lines[-1]):
            continue
        lines.append(line)
    return "\n".join(lines).rstrip("\n") + "\n"


def _environment(own: dict[str, str]) -> jinja2.Environment:
    package = jinja2.PackageLoader("rollout_compare.report", "templates")
    environment = ImmutableSandboxedEnvironment(
        loader=jinja2.ChoiceLoader([jinja2.DictLoader(own), package]),
        # Whatever is not marked as ours becomes a code span: nothing is printed as it is by accident.
        autoescape=True,
        finalize=_finalized,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "cell": lambda text: code(str(text), in_table=True),
        "cells": _cells,
        "html": lambda text: html_code(str(text)),
        "fence": fence,
        "ours": ours,
    }
    return environment


def _finalized(value: Any) -> Any:
    if isinstance(value, Markup | int | float | jinja2.Undefined) or value == "":
        return value
    return code(str(value))


def _cells(names: Sequence[str]) -> Markup:
    return ours(", ").join(code(name, in_table=True) for name in names) or ours("-")


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(_LARGEST + 1)
    except UnicodeDecodeError:
        raise TemplateError(f"template {path}: not UTF-8 text") from None
    except (OSError, ValueError) as fault:
        raise TemplateError(f"template {path}: cannot be read: {getattr(fault, 'strerror', None) or fault}") from None
    if len(text) > _LARGEST:
        raise TemplateError(f"template {path}: larger than 1 MiB")
    return text
