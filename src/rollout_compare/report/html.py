"""The report as one file to open in a browser."""

from __future__ import annotations

from collections.abc import Iterator

from rollout_compare.report.facts import Facts


def html_report(facts: Facts) -> Iterator[str]:
    """The text of the file in pieces."""
    yield f"<!doctype html><title>{facts.verdict.kind}</title>"
