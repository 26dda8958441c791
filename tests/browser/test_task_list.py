"""The list of tasks in a real browser: filters, order, what an opened task shows, keys, links."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Open, Report
from tests.conftest import Json, Rollouts


def task(taskset: str, name: str, reward: float, **fields: object) -> Json:
    return {"_ng_task_id": {"taskset": taskset, "task_id": name}, "reward": reward, **fields}


OLD = [
    task("maths", "sum", 1.0),
    task("maths", "product", 0.9),
    task("maths", "root", 0.2),
    task("shell", "list", 1.0),
    task("shell", "copy", 0.5),
    task("shell", "move", 0.0),
    task("shell", "link", 1.0),
    task("shell", "gone", 1.0),
]
NEW = [
    task("maths", "sum", 1.0),
    task("maths", "product", 0.4, test_output="first\nsecond\nlast words"),
    task("maths", "root", 1.0),
    task("shell", "list", 0.0, failure_kind="verifier_timeout", test_output="gave up"),
    task("shell", "copy", 0.25, response={"metadata": {"agent_error_type": "Overflow"}}),
    task("shell", "move", 0.0),
    task("shell", "link", 1.0, mask_sample=True, failure_kind="sandbox_lost"),
]
BY_LOSS = [
    "shell/list",  # -1
    "maths/product",  # -0.5
    "shell/copy",  # -0.25
    "maths/root",  # +0.8
    "shell/link",  # masked
    "shell/gone",  # missing
    "maths/sum",  # identical, as is the next
    "shell/move",
]


@pytest.fixture
def file(rollouts: Rollouts, report: Report) -> Path:
    return report(rollouts.write("old.jsonl", OLD), rollouts.write("new.jsonl", NEW))


@pytest.fixture
def page(file: Path, opened: Open) -> Page:
    return opened(file)


def names(page: Page) -> list[str]:
    return page.locator("#list .task").all_inner_texts()


def chip(page: Page, name: str) -> Locator:
    return page.get_by_role("group", name="Classes").get_by_role("button", name=name)


def row(page: Page, name: str) -> Locator:
    return page.locator("#list > li").filter(has=page.locator(".task", has_text=name))


def open_row(page: Page, name: str) -> Locator:
    found = row(page, name)
    found.locator("summary").click()
    return found.locator(".body")


def focused(page: Page) -> str:
    """The task whose row has the focus, else the id of what has it."""
    text: str = page.evaluate(
        "(at => at.matches('summary') ? at.querySelector('.task').innerText : at.id)(document.activeElement)"
    )
    return text


def test_all_tasks_are_listed_flips_first_with_the_biggest_loss_on_top(page: Page) -> None:
    assert names(page) == BY_LOSS
    expect(page.get_by_role("status")).to_have_text("8 of 8 tasks")


def test_a_row_tells_the_class_and_both_rewards_in_words(page: Page) -> None:
    told = {name: row(page, name).locator("summary").inner_text().split("\n") for name in BY_LOSS}
    assert [told[name][0] for name in BY_LOSS] == [
        "Regressed",
        "Regressed",
        "Agent error",
        "Improved",
        "Masked",
        "Missing",
        "Identical",
        "Identical",
    ]
    assert "0.9 → 0.4" in told["maths/product"]
    assert "1 → masked" in told["shell/link"]
    assert "1 → absent" in told["shell/gone"]


def test_classes_are_chosen_by_buttons_that_say_how_many_tasks_they_have(page: Page) -> None:
    buttons = page.get_by_role("group", name="Classes").get_by_role("button")
    assert buttons.all_inner_texts() == [
        "Regressed2",
        "Improved1",
        "Agent error1",
        "Masked1",
        "Missing1",
        "Identical2",
    ]
    chip(page, "Regressed").click()
    assert names(page) == ["shell/list", "maths/product"]
    expect(chip(page, "Regressed")).to_have_attribute("aria-pressed", "true")
    chip(page, "Masked").click()
    assert names(page) == ["shell/list", "maths/product", "shell/link"]
    expect(page.get_by_role("status")).to_have_text("3 of 8 tasks")
    chip(page, "Regressed").click()
    chip(page, "Masked").click()
    assert names(page) == BY_LOSS


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("PRODUCT", ["maths/product"]),
        ("  root ", ["maths/root"]),
        ("overflow", ["shell/copy"]),  # an agent error
        ("timeout", ["shell/list"]),  # a failure kind
        ("sandbox_lost", ["shell/link"]),  # a mask reason
        ("last words", []),  # a log
        ("<b>", []),
    ],
)
def test_text_is_looked_for_in_names_errors_and_failures_not_in_logs(page: Page, text: str, found: list[str]) -> None:
    page.get_by_label("Search").fill(text)
    assert names(page) == found
    expect(page.get_by_role("status")).to_have_text(f"{len(found)} of 8 tasks")


def test_tasks_of_one_taskset_are_shown_alone_and_filters_work_together(page: Page) -> None:
    assert page.get_by_label("Taskset", exact=True).locator("option").all_inner_texts() == ["all", "maths", "shell"]
    page.get_by_label("Taskset", exact=True).select_option("maths")
    assert names(page) == ["maths/product", "maths/root", "maths/sum"]
    chip(page, "Improved").click()
    assert names(page) == ["maths/root"]


def test_without_tasksets_there_is_no_such_filter(rollouts: Rollouts, report: Report, opened: Open) -> None:
    rows = [{"task_id": "a", "reward": 1.0}]
    page = opened(report(rollouts.write("old.jsonl", rows), rollouts.write("new.jsonl", rows)))
    expect(page.get_by_label("Taskset", exact=True)).to_be_hidden()
    expect(page.get_by_label("Sort by")).to_be_visible()


def test_the_order_is_by_loss_by_gain_or_by_name(page: Page) -> None:
    order = page.get_by_label("Sort by")
    order.select_option("name")
    assert names(page) == sorted(BY_LOSS)
    order.select_option("gain")
    assert names(page)[:4] == BY_LOSS[:4][::-1]
    order.select_option("loss")
    assert names(page) == BY_LOSS


def test_by_evidence_the_smallest_p_comes_first_and_what_was_not_tested_last(
    rollouts: Rollouts, report: Report, opened: Open
) -> None:
    def repeats(name: str, rewards: str) -> list[Json]:
        return [{"task_id": name, "reward": float(reward)} for reward in rewards]

    # Fisher's exact test, two-sided: 5 of 5 v 0 of 5 is 0.008, 4 v 0 is 0.048, 3 v 1 is 0.524.
    old = repeats("weak", "11100") + repeats("strong", "11111") + repeats("single", "1") + repeats("some", "11110")
    new = repeats("weak", "10000") + repeats("strong", "00000") + repeats("single", "0") + repeats("some", "00000")
    page = opened(report(rollouts.write("old.jsonl", old), rollouts.write("new.jsonl", new)))
    page.get_by_label("Sort by").select_option("evidence")
    assert names(page) == ["strong", "some", "weak", "single"]
    body = open_row(page, "weak")
    expect(body).to_contain_text("old wins, 5 v 5 rows, within noise, p 0.52")
    expect(body).to_contain_text("rewards 1, 1, 1, 0, 0")
    expect(body).to_contain_text("rewards 1, 0, 0, 0, 0")


def test_an_opened_flip_shows_rewards_what_the_sides_report_and_the_end_of_its_log(page: Page) -> None:
    body = open_row(page, "maths/product")
    expect(body.locator("pre")).to_have_text("first\nsecond\nlast words")
    expect(body.locator(".source")).to_have_text("New verifier output, last 3 lines of row field test_output")
    assert body.locator("dt, dd").all_inner_texts() == [
        "Reward",
        "0.9 → 0.4",
        "Evidence",
        "old wins, single run",
        "Taskset",
        "maths",
    ]
    expect(open_row(page, "shell/copy")).to_contain_text("reports agent_error_type=Overflow")
    expect(open_row(page, "shell/list")).to_contain_text("measured failure verifier_timeout")


def test_a_flip_without_a_log_says_why(page: Page) -> None:
    body = open_row(page, "maths/root")
    expect(body.locator(".source")).to_have_text(
        "Old verifier output unavailable: row has no verifier_logs_dir and no embedded verifier output"
    )
    expect(body.locator("pre")).to_have_count(0)


def test_a_masked_task_tells_the_reason_and_the_message_of_its_failure(
    rollouts: Rollouts, report: Report, opened: Open
) -> None:
    key = {"task_id": "t", "_ng_task_index": 0, "_ng_rollout_index": 0}
    failure = key | {"_ng_failure_class": "sandbox", "_ng_failure_message": "the node went away"}
    old = rollouts.write("old.jsonl", [key | {"reward": 1.0}])
    new = rollouts.write("new.jsonl", [], failures=[failure])
    page = opened(report(old, new))
    body = open_row(page, "t")
    expect(body).to_contain_text("the node went away")
    page.get_by_label("Search").fill("node went")
    assert names(page) == ["t"]


def test_an_open_task_stays_open_when_the_list_is_ordered_anew(page: Page) -> None:
    open_row(page, "maths/product")
    page.get_by_label("Sort by").select_option("name")
    expect(row(page, "maths/product").locator("pre")).to_have_text("first\nsecond\nlast words")
    row(page, "maths/product").locator("summary").click()
    expect(row(page, "maths/product").locator("pre")).to_be_hidden()


def test_keys_alone_reach_everything(page: Page) -> None:
    keys = page.keyboard
    keys.press("/")
    assert focused(page) == "search"
    keys.type("shell/")
    assert names(page)[0] == "shell/list"
    keys.press("Escape")
    assert focused(page) == ""
    expect(page.get_by_label("Search")).to_have_value("shell/")
    keys.press("j")
    assert focused(page) == "shell/list"
    keys.press("j")
    assert focused(page) == "shell/copy"
    keys.press("ArrowDown")
    keys.press("ArrowUp")
    keys.press("k")
    assert focused(page) == "shell/list"
    keys.press("Enter")
    expect(row(page, "shell/list").locator("pre")).to_have_text("gave up")
    keys.press("Space")
    expect(row(page, "shell/list").locator("pre")).to_be_hidden()
    keys.press("Shift+Tab")
    assert focused(page) == "sort"


def test_keys_of_the_list_are_letters_in_the_search(page: Page) -> None:
    page.get_by_label("Search").focus()
    page.keyboard.type("j/k")
    expect(page.get_by_label("Search")).to_have_value("j/k")
    page.keyboard.press("Control+a")
    page.keyboard.press("Backspace")
    page.keyboard.press("Enter")
    assert focused(page) == BY_LOSS[0]


def test_a_link_opens_the_task_that_it_names(file: Path, opened: Open) -> None:
    page = opened(file, "#task=maths%2Fproduct")
    expect(row(page, "maths/product").locator("pre")).to_be_visible()
    assert focused(page) == "maths/product"
    open_row(page, "shell/list")
    assert page.evaluate("location.hash") == "#task=shell%2Flist"
    page.evaluate("location.hash = '#task=shell%2Fmove'")
    expect(row(page, "shell/move").locator(".body")).to_be_visible()


@pytest.mark.parametrize("nothing", ["#task=nobody", "#task=%E0%A4%A", "#data", "#task="])
def test_a_link_to_no_task_changes_nothing(page: Page, nothing: str) -> None:
    page.evaluate("to => { location.hash = to; }", nothing)
    expect(page.get_by_role("status")).to_have_text("8 of 8 tasks")
    expect(page.locator("#list details[open]")).to_have_count(0)


def test_a_link_shows_its_task_whatever_the_filters_hide(page: Page) -> None:
    chip(page, "Improved").click()
    page.get_by_label("Search").fill("root")
    page.evaluate("location.hash = '#task=shell%2Flist'")
    expect(row(page, "shell/list").locator("pre")).to_be_visible()
    expect(chip(page, "Improved")).to_have_attribute("aria-pressed", "false")
    assert names(page) == BY_LOSS


def test_ten_thousand_tasks_are_drawn_bit_by_bit_and_filtered_as_a_whole(
    rollouts: Rollouts, report: Report, opened: Open
) -> None:
    number = 10_000
    ids = [f"task-{at:05d}" for at in range(number)]
    old = [{"task_id": name, "reward": 1.0} for name in ids]
    new = [{"task_id": name, "reward": float(at % 5 > 0)} for at, name in enumerate(ids)]
    page = opened(report(rollouts.write("old.jsonl", old), rollouts.write("new.jsonl", new)))
    expect(page.get_by_role("status")).to_have_text("10,000 of 10,000 tasks")
    assert len(names(page)) == 100
    page.get_by_role("button", name="Show 100 more of 9,900").click()
    assert len(names(page)) == 200
    assert focused(page) == "task-00500"  # the 101st flip
    chip(page, "Identical").click()
    expect(page.get_by_role("status")).to_have_text("8,000 of 10,000 tasks")
    page.get_by_label("Search").fill("task-0999")
    assert names(page) == [f"task-0999{digit}" for digit in (1, 2, 3, 4, 6, 7, 8, 9)]
    chip(page, "Identical").click()
    page.get_by_label("Search").fill("")
    page.get_by_label("Sort by").select_option("name")
    while (more := page.locator("#more")).is_visible() and len(names(page)) < 500:
        more.click()
    assert names(page) == ids[:500]


def test_a_link_to_a_task_far_down_the_list_draws_up_to_it(rollouts: Rollouts, report: Report, opened: Open) -> None:
    rows = [{"task_id": f"task-{at:04d}", "reward": 1.0} for at in range(1_000)]
    page = opened(report(rollouts.write("old.jsonl", rows), rollouts.write("new.jsonl", rows)), "#task=task-0777")
    assert focused(page) == "task-0777"
    expect(row(page, "task-0777").locator(".body")).to_be_visible()
