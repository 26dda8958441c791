"""The whole page in a real browser: it fetches nothing, shows hostile text as text, and is readable for everyone."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open, Report
from tests.conftest import Json, Rollouts

OLD: list[Json] = [
    {"task_id": "lost", "reward": 1.0, "agent_ref": {"name": "one"}, "response": {"model": "small"}},
    {"task_id": "won", "reward": 0.0, "agent_ref": {"name": "two"}},
    {"task_id": "masked", "reward": 1.0, "agent_ref": {"name": "one"}},
    {"task_id": "gone", "reward": 1.0, "agent_ref": {"name": "two"}},
    {"task_id": "same", "reward": 1.0, "agent_ref": {"name": "two"}},
]
NEW: list[Json] = [
    {"task_id": "lost", "reward": 0.0, "agent_ref": {"name": "one"}, "test_output": "long " * 200 + "\n1 failed"},
    {"task_id": "won", "reward": 1.0, "agent_ref": {"name": "two"}},
    {"task_id": "masked", "reward": None, "agent_ref": {"name": "one"}},
    {"task_id": "same", "reward": 1.0, "agent_ref": {"name": "two"}},
]
HOSTILE = (
    "<script>document.title = 'owned'</script>",
    "</script><script>document.title = 'owned'</script>",
    "</title></style></textarea><img src=x onerror=\"document.title='owned'\">",
    "<!--<script>",
    "--> ]]> <![CDATA[",
    "\"onload=\"document.title='owned'\" x='",
    "{{7*7}} {% raw %} ${7*7}",
    "&lt;b&gt; &amp;#x3c;",
    "javascript:alert(1)",
    "</pre></details><h1>not markup</h1>",
)
INVISIBLE = (
    ("line\u2028separator", "line\\u2028separator"),
    ("paragraph\u2029separator", "paragraph\\u2029separator"),
    ("nul\x00byte", "nul\\x00byte"),
    ("right\u202eto left", "right\\u202eto left"),
    ("zero\u200bwidth", "zero\\u200bwidth"),
    ("lone \ud800 surrogate", "lone \\ud800 surrogate"),
)
NAMES = [*((text, text) for text in HOSTILE), *INVISIBLE]


@pytest.fixture
def file(rollouts: Rollouts, report: Report) -> Path:
    return report(rollouts.write("old.jsonl", OLD), rollouts.write("new.jsonl", NEW))


def open_all(page: Page) -> None:
    for summary in page.locator("summary").all():
        summary.click()


def hostile_rows(loser: str) -> list[Json]:
    """Rows whose every text is hostile; those of the losing side also say why, and have a log."""
    rows = []
    for text, _ in NAMES:
        row: Json = {"task_id": text, "reward": float(loser == "no"), "agent_ref": {"name": text}}
        row["response"] = {"model": text}
        if loser == "yes":
            row["response"]["metadata"] = {"agent_error_type": text}
            row |= {"failure_kind": text, "test_output": f"{text}\n{text}"}
        rows.append(row)
    return rows


def test_hostile_text_is_shown_as_it_is_everywhere_and_does_nothing(
    rollouts: Rollouts, report: Report, opened: Open
) -> None:
    old = rollouts.write("old.jsonl", hostile_rows("no"))
    page = opened(report(old, rollouts.write("new.jsonl", hostile_rows("yes"))))
    title = page.title()
    open_all(page)
    rows = page.locator("#list > li")
    shown = {row.locator(".task").inner_text(): row.locator(".body") for row in rows.all()}
    assert shown.keys() == {expected for _, expected in NAMES}
    for expected, body in shown.items():
        assert body.locator("pre").inner_text() == f"{expected}\n{expected}"
        # What the losing side reports, then the cause, which is the failure kind with blanks for white space.
        cause = expected.replace("\\u2028", " ").replace("\\u2029", " ")
        assert body.locator("dd code").all_inner_texts() == [f"agent_error_type={expected}", expected, cause]
    for expected in shown:
        page.get_by_label("Search").fill(expected)
        assert set(page.locator("#list .task").all_inner_texts()) == {name for name in shown if expected in name}
    assert page.title() == title
    assert "rollout comparison" in title
    assert page.locator("script").count() == len(NAMES) + 2
    assert page.locator("img, h1 + h1, li h1").count() == 0


def test_hostile_masks_missing_tasks_and_file_names_are_shown_as_they_are(
    rollouts: Rollouts, report: Report, opened: Open
) -> None:
    name = "<img src=x onerror=alert(1)>&amp;{{7*7}}.jsonl"
    old = rollouts.write(name, [{"task_id": text, "reward": 1.0} for text in ("a", *HOSTILE)])
    new = rollouts.write("new.jsonl", [{"task_id": "a", "mask_sample": True, "failure_kind": HOSTILE[0]}])
    page = opened(report(old, new))
    open_all(page)
    text = page.inner_text("main")
    assert all(each in text for each in HOSTILE)
    assert name in page.inner_text("header")
    assert name in page.inner_text("footer")


def test_a_very_long_name_is_cut_and_breaks_no_layout(rollouts: Rollouts, report: Report, opened: Open) -> None:
    long = "x" * 10_000
    old = rollouts.write("old.jsonl", [{"task_id": long, "reward": 1.0, "agent_ref": {"name": long}}])
    new = rollouts.write("new.jsonl", [{"task_id": long, "reward": 0.0, "error": long, "response": {"model": long}}])
    page = opened(report(old, new), viewport={"width": 360, "height": 640})
    open_all(page)
    expect(page.locator("#list .body")).to_be_visible()
    assert page.locator("#list .task").inner_text() == "x" * 200 + "…"
    assert page.evaluate("document.documentElement.scrollWidth") == 360


@pytest.mark.parametrize("width", [320, 360, 768])
def test_a_narrow_screen_needs_no_scrolling_sideways(file: Path, opened: Open, width: int) -> None:
    page = opened(file, viewport={"width": width, "height": 640})
    open_all(page)
    expect(page.locator("#list pre").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == width


def rows_of(page: Page, table: str) -> list[list[str]]:
    """The first two cells of each row."""
    rows = page.get_by_role("table", name=table).locator("tbody tr").all()
    return [row.locator("th, td").all_inner_texts()[:2] for row in rows]


def test_without_javascript_the_verdict_the_tables_and_the_flips_are_there(file: Path, opened: Open) -> None:
    page = opened(file, java_script_enabled=False)
    expect(page.locator(".verdict")).to_contain_text("Too little to conclude: 3 paired tasks; 10 are needed.")
    assert rows_of(page, "Tasks by class") == [
        ["identical", "1"],
        ["flipped", "2"],
        ["flipped, agent error", "0"],
        ["masked", "1"],
        ["missing", "1"],
    ]
    assert rows_of(page, "Flipped tasks") == [["lost", "1 → 0"], ["won", "0 → 1"]]
    expect(page.get_by_role("searchbox")).to_be_hidden()
    page.locator("summary", has_text="Masked").click()
    expect(page.get_by_role("table", name="Masked tasks")).to_contain_text("masked")


def luminance(colour: list[float]) -> float:
    """Relative luminance as WCAG 2 defines it."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (part / 255 for part in colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


# The colour of each text, and of the nearest ground that is painted below it.
COLOURS = """() => {
  const numbers = (colour) => colour.match(/[0-9.]+/g).map(Number);
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  while (texts.nextNode()) {
    const at = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || !at.checkVisibility() || at.closest("svg, script, noscript")) continue;
    let ground = at;
    while (ground && numbers(getComputedStyle(ground).backgroundColor)[3] === 0) ground = ground.parentElement;
    found.push([
      texts.currentNode.data.trim(),
      numbers(getComputedStyle(at).color),
      numbers(getComputedStyle(ground ?? document.body).backgroundColor),
    ]);
  }
  return found;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_the_contrast_that_wcag_asks_for_on_light_and_dark_ground(
    file: Path, opened: Open, scheme: str
) -> None:
    page = opened(file, color_scheme=scheme)
    open_all(page)
    page.get_by_role("button", name="Regressed").click()
    expect(page.locator("#list pre")).to_be_visible()
    page.get_by_role("heading", name="Tasks", exact=True).hover()
    colours = page.evaluate(COLOURS)
    assert len(colours) > 50
    body = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert body == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(13, 17, 23)")
    for text, colour, ground in colours:
        lighter, darker = sorted((luminance(colour), luminance(ground)), reverse=True)
        assert (lighter + 0.05) / (darker + 0.05) >= 4.5, (text, colour, ground)


def test_headings_are_in_order_tables_have_captions_and_inputs_have_labels(file: Path, opened: Open) -> None:
    page = opened(file)
    open_all(page)
    assert page.evaluate("document.documentElement.lang") == "en"
    levels = [
        int(tag[1]) for tag in page.locator("h1, h2, h3, h4, h5, h6").evaluate_all("all => all.map(h => h.tagName)")
    ]
    assert levels.count(1) == 1
    assert all(level <= before + 1 for before, level in pairwise(levels))
    assert page.locator("main").count() == page.locator("header").count() == page.locator("footer").count() == 1
    tables = page.locator("table")
    assert tables.count() >= 6
    assert tables.evaluate_all("all => all.every(table => table.caption && table.caption.textContent.trim())")
    assert page.locator("th").evaluate_all("all => all.every(cell => cell.scope && cell.textContent.trim())")
    assert page.locator("input, select").evaluate_all("all => all.every(field => field.labels.length === 1)")
    assert page.locator("button").evaluate_all("all => all.every(button => button.textContent.trim() || button.hidden)")
    assert page.locator("[id]").evaluate_all("all => new Set(all.map(each => each.id)).size === all.length")
    # Whatever scrolls can be reached with keys.
    assert page.locator("pre, .scroll").evaluate_all("all => all.every(each => each.tabIndex === 0)")
    picture = page.get_by_role("img", name="Rewards, old against new")
    expect(picture).to_have_accessible_description(
        "3 tasks that both sides scored, old reward to the right, new reward upwards: 1 below the diagonal, where new "
        "is worse; 1 above it, where new is better; 1 on it."
    )


def test_a_worse_task_stands_below_the_diagonal_and_a_better_one_above(file: Path, opened: Open) -> None:
    page = opened(file)
    where = {kind: page.locator(f"figure g.{kind} circle").bounding_box() for kind in ("worse", "better", "same")}
    worse, better, same = (where[kind] for kind in ("worse", "better", "same"))
    assert worse is not None
    assert better is not None
    assert same is not None
    # Both sides at 1 is the upper right corner.
    assert worse["x"] == same["x"] > better["x"]
    assert worse["y"] > same["y"] == better["y"]


def test_no_other_script_runs(file: Path, opened: Open, faults: list[str]) -> None:
    page = opened(file)
    page.evaluate(
        """() => {
          const script = document.createElement("script");
          script.textContent = "document.title = 'owned'";
          document.body.append(script);
        }"""
    )
    assert page.title() != "owned"
    (blocked,) = faults
    assert "Content Security Policy" in blocked
    faults.clear()


def test_the_data_in_the_page_is_json(file: Path, opened: Open) -> None:
    page = opened(file)
    texts = page.locator("script[type='application/json']").evaluate_all("all => all.map(each => each.textContent)")
    assert len(texts) == 3
    assert [len(json.loads(text)) for text in texts] == [3, 3, 3]
