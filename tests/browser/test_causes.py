"""Causes, tests and components in a real browser: a filter by cause, and what an opened task shows of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open, Report
from tests.conftest import Json, Rollouts

NUMPY = "ModuleNotFoundError: No module named 'numpy'"
LOST: list[Json] = [
    {"task_id": "a", "test_output": NUMPY},
    {"task_id": "b", "test_output": NUMPY},
    {"task_id": "c", "test_output": NUMPY},
    {"task_id": "d", "test_output": "KeyError: 'x'", "parser_results": {"t::one": "failed", "t::two": "passed"}},
    {"task_id": "e", "reward_components": {"<b>lint": 0, "speed": 0.5}},
    {"task_id": "f", "failure_reason": "KeyError: 'x'", "reward": None},
]
WHOLE: Json = {"reward": 1, "parser_results": {"t::one": "passed", "t::two": "passed"}}


@pytest.fixture
def page(rollouts: Rollouts, report: Report, opened: Open) -> Page:
    old = [{"task_id": row["task_id"], **WHOLE, "reward_components": {"<b>lint": 1, "speed": 0.5}} for row in LOST]
    new = [{"reward": 0} | row for row in LOST]
    return opened(report(rollouts.write("old.jsonl", old), rollouts.write("new.jsonl", new)))


def names(page: Page) -> list[str]:
    return page.locator("#list .task").all_inner_texts()


def test_the_list_is_filtered_by_cause(page: Page) -> None:
    cause = page.get_by_label("Cause", exact=True)
    # Those that one task has alone cannot be chosen.
    assert cause.locator("option").all_inner_texts() == ["all", f"{NUMPY} (3)", "KeyError: 'x' (2)"]
    cause.select_option(label=f"{NUMPY} (3)")
    assert names(page) == ["a", "b", "c"]
    cause.select_option(label="KeyError: 'x' (2)")
    assert names(page) == ["d", "f"]
    cause.select_option(label="all")
    assert len(names(page)) == 6


def test_a_cause_is_found_by_its_words(page: Page) -> None:
    page.get_by_label("Search").fill("no module named")
    assert names(page) == ["a", "b", "c"]


def test_an_opened_task_shows_its_cause_and_its_tests(page: Page) -> None:
    row = page.locator("#list > li").filter(has=page.locator(".task", has_text="d"))
    row.locator("summary").click()
    body = row.locator(".body")
    expect(body).to_contain_text("Cause")
    expect(body).to_contain_text("KeyError: 'x'")
    expect(body).to_contain_text("2 of 2 → 1 of 2: 1 broke")
    expect(body.get_by_role("listitem")).to_have_text("broke: t::one")


def test_an_opened_task_shows_components_as_data(page: Page) -> None:
    row = page.locator("#list > li").filter(has=page.locator(".task", has_text="e"))
    row.locator("summary").click()
    expect(row.locator(".body").get_by_role("listitem")).to_have_text("<b>lint 1 → 0")


def test_causes_are_told_above_the_list(page: Page) -> None:
    causes = page.get_by_role("region", name="Causes")
    expect(causes.get_by_role("listitem")).to_have_count(1)
    expect(causes).to_contain_text(f"3 of 5 regressed: {NUMPY}")


def test_there_is_no_filter_where_nothing_is_shared(rollouts: Rollouts, report: Report, opened: Open) -> None:
    old = rollouts.write("old.jsonl", [{"task_id": "a", "reward": 1}])
    new = rollouts.write("new.jsonl", [{"task_id": "a", "reward": 0, "test_output": NUMPY}])
    file: Path = report(old, new)
    expect(opened(file).get_by_label("Cause", exact=True)).to_be_hidden()
