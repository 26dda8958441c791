"""Draw the pictures in docs/images: the HTML report in a browser, and the Markdown report as GitHub shows a comment."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import cmarkgfm
from cmarkgfm.cmark import Options
from playwright.sync_api import Browser, Page, sync_playwright

from tools.browser import ARGUMENTS, find_browser

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
EXAMPLE = "examples/legacy-vs-harbor"
_OPTIONS = Options.CMARK_OPT_UNSAFE | Options.CMARK_OPT_GITHUB_PRE_LANG | Options.CMARK_OPT_FOOTNOTES
_ALERT = re.compile(r"<blockquote>\s*<p>\[!(NOTE|TIP|WARNING|CAUTION)\]\s*(.*?)</blockquote>", re.DOTALL)
_FRAME = 16
"""Pixels round a comment."""

# What GitHub's own style makes of the elements that a report has.
_STYLE = """
body { margin: 16px; background: #fff; color: #1f2328;
  font: 14px/1.5 -apple-system, "Segoe UI", "Noto Sans", Helvetica, "DejaVu Sans", Arial, sans-serif; }
.comment { border: 1px solid #d1d9e0; border-radius: 6px; overflow: hidden; }
.author { background: #f6f8fa; border-bottom: 1px solid #d1d9e0; padding: 8px 16px; color: #59636e; }
.author b { color: #1f2328; }
.author span { border: 1px solid #d1d9e0; border-radius: 2em; padding: 0 6px; font-size: 12px; }
.body { padding: 16px; }
.body > :first-child { margin-top: 0; }
.body > :last-child { margin-bottom: 0; }
p, blockquote, ul, table, pre, details, .alert { margin: 0 0 16px; }
h3 { font-size: 1.25em; margin: 24px 0 16px; line-height: 1.25; }
h4 { font-size: 1em; margin: 24px 0 16px; line-height: 1.25; }
code, pre { font: 85% ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
code { background: #818b981f; border-radius: 6px; padding: .2em .4em; }
pre { background: #f6f8fa; border-radius: 6px; padding: 16px; overflow: auto; line-height: 1.45; }
pre code { background: none; padding: 0; font-size: 100%; }
table { border-collapse: collapse; display: block; width: max-content; max-width: 100%; }
th, td { border: 1px solid #d1d9e0; padding: 6px 13px; }
tr:nth-child(2n) td { background: #f6f8fa; }
details > :not(summary):first-of-type { margin-top: 8px; }
.alert { border-left: .25em solid; padding: 8px 16px; }
.alert p { color: #1f2328; margin: 0; }
.alert .title { color: inherit; font-weight: 500; margin-bottom: 16px; }
.note { color: #0969da; } .tip { color: #1a7f37; } .warning { color: #9a6700; } .caution { color: #d1242f; }
"""
_SIGNS = {"NOTE": "ⓘ", "TIP": "✓", "WARNING": "⚠", "CAUTION": "⊘"}


def main() -> int:
    """Draw both pictures; 1 without a browser."""
    path = find_browser()
    if path is None:
        print("no Chromium on PATH to draw with", file=sys.stderr)
        return 1
    IMAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        html, markdown = (Path(folder) / name for name in ("report.html", "report.md"))
        sides = [f"{EXAMPLE}/{side}.jsonl" for side in ("old", "new")]
        command = [sys.executable, "-m", "rollout_compare", *sides, "--html", str(html), "--markdown", str(markdown)]
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
        browser = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        _draw_report(browser, html)
        _draw_comment(browser, markdown.read_text(encoding="utf-8"))
        browser.close()
    return 0


def _draw_report(browser: Browser, report: Path) -> None:
    page = _page(browser, width=1200)
    page.goto(report.as_uri())
    first = page.locator("#list details").first
    first.locator("summary").click()
    first.locator("pre").wait_for()
    # The row that was clicked keeps neither the focus nor the pointer.
    page.evaluate("document.activeElement.blur()")
    page.mouse.move(0, 0)
    _save(page, "report.html.png", "#list", below=12)


def _draw_comment(browser: Browser, text: str) -> None:
    page = _page(browser, width=900)
    page.set_content(
        f"<!doctype html><meta charset='utf-8'><style>{_STYLE}</style><div class='comment'><div class='author'>"
        f"<b>github-actions</b> <span>bot</span> commented</div><div class='body'>{_as_github_shows(text)}</div></div>"
    )
    page.locator("details").first.evaluate("details => { details.open = true; }")
    _save(page, "comment.png", ".comment", below=_FRAME)


def _as_github_shows(text: str) -> str:
    """The HTML of a comment, alerts included, which are an addition of GitHub's to its own renderer."""

    def alert(found: re.Match[str]) -> str:
        kind = found[1]
        title = f"{_SIGNS[kind]} {kind.capitalize()}"
        return f"<div class='alert {kind.lower()}'><p class='title'>{title}</p><p>{found[2]}</div>"

    return _ALERT.sub(alert, cmarkgfm.github_flavored_markdown_to_html(text, options=_OPTIONS))


def _page(browser: Browser, width: int) -> Page:
    return browser.new_context(viewport={"width": width, "height": 800}, color_scheme="light", locale="en").new_page()


def _save(page: Page, name: str, last: str, below: int) -> None:
    """The picture of a page down to the end of one of its elements."""
    bottom = page.locator(last).evaluate("element => element.getBoundingClientRect().bottom + scrollY")
    size = page.viewport_size
    assert size is not None
    page.screenshot(
        path=IMAGES / name,
        full_page=True,
        clip={"x": 0, "y": 0, "width": size["width"], "height": round(bottom) + below},
    )
    print(f"wrote {IMAGES.relative_to(ROOT) / name}")


if __name__ == "__main__":
    sys.exit(main())
