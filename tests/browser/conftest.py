"""A real Chromium, and HTML reports opened in it from a file, as whoever downloaded one opens it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.conftest import Compare
from tools.browser import ARGUMENTS, NAMES, find_browser

PATIENCE = 15_000
"""Milliseconds after which something that does not happen fails the test."""

Open = Callable[..., Page]
Report = Callable[..., Path]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One browser for all tests."""
    path = find_browser()
    if path is None:
        pytest.skip(f"no browser on PATH ({', '.join(NAMES)}): `make browser` says why")
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield running
        running.close()


@pytest.fixture
def report(run: Compare, tmp_path: Path) -> Report:
    """Write the HTML report of a comparison that must succeed: `report(old, new, "--tail", 3)`."""

    def write(*argv: object) -> Path:
        path = tmp_path / "report.html"
        done = run(*argv, "--html", path)
        assert done.status == 0, done.err
        return path

    return write


@pytest.fixture
def faults() -> list[str]:
    """What went wrong in the pages of a test; anything that it leaves there fails it."""
    return []


@pytest.fixture(scope="session")
def tabs(browser: Browser) -> Callable[..., Page]:
    """The page for some options; it is used again, since starting one takes longer than most tests."""
    pages: dict[str, Page] = {}

    def tab(**options: Any) -> Page:
        key = repr(sorted(options.items()))
        if key not in pages:
            pages[key] = browser.new_context(**({"viewport": {"width": 1200, "height": 900}} | options)).new_page()
            pages[key].set_default_timeout(PATIENCE)
        return pages[key]

    return tab


@pytest.fixture
def opened(tabs: Callable[..., Page], faults: list[str]) -> Iterator[Open]:
    """Open a file in a browser; the test fails for any error, any request and any blocked content there."""
    with ExitStack() as ending:

        def open_page(path: Path, fragment: str = "", **options: Any) -> Page:
            page = tabs(**options)
            url = path.as_uri()
            listeners: dict[str, Callable[[Any], object]] = {
                "console": lambda message: faults.append(f"console: {message.text}"),
                "pageerror": lambda error: faults.append(f"error: {error}"),
                "dialog": lambda dialog: faults.append(f"dialog: {dialog.message}"),
                "request": lambda request: faults.extend(
                    asked for asked in [request.url] if asked.split("#")[0] != url
                ),
            }
            for event, listener in listeners.items():
                page.on(event, listener)  # type: ignore[call-overload]
                ending.callback(page.remove_listener, event, listener)
            page.goto(url + fragment)
            return page

        yield open_page
        assert faults == []
