"""The HTML report as a file: what it holds, how much of the logs, and that it is the same file each time."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from rollout_compare import compare, load_side
from rollout_compare.core.logs.search import LogSearch
from rollout_compare.core.logs.verifier_output import VerifierOutputs
from rollout_compare.report import html
from rollout_compare.report.facts import Facts
from rollout_compare.report.untrusted import Redactor
from tests.conftest import Compare, Json, Rollouts, Summary
from tests.places import ROOT

EXAMPLE = [ROOT / "examples" / "legacy-vs-harbor" / f"{side}.jsonl" for side in ("old", "new")]


@dataclass
class Element:
    """One element of a page: its attributes, and the text right inside it."""

    tag: str
    attributes: dict[str, str | None]
    text: str = ""


@dataclass
class Page(HTMLParser):
    """All elements of a page, in order."""

    source: str
    elements: list[Element] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self._open: list[Element] = []
        self.feed(self.source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(Element(tag, dict(attrs)))
        if tag not in ("meta", "br", "input"):
            self._open.append(self.elements[-1])

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(Element(tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop().tag == tag

    def handle_data(self, data: str) -> None:
        for element in self._open:
            element.text += data

    def all(self, tag: str, **attributes: str) -> list[Element]:
        """The elements of a tag with these attributes."""
        return [e for e in self.elements if e.tag == tag and attributes.items() <= e.attributes.items()]

    def data(self, name: str) -> Any:
        """The data that the script finds under a name."""
        (script,) = self.all("script", id=name)
        return json.loads(script.text)

    @property
    def logs(self) -> list[Json]:
        """The logs in the order of the file."""
        return [json.loads(e.text) for e in self.all("script") if (e.attributes.get("id") or "").startswith("log-")]


Report = Callable[..., Page]


@pytest.fixture
def report(run: Compare) -> Report:
    """The HTML report of a comparison that must succeed."""

    def call(*argv: object) -> Page:
        done = run(*argv, "--html", "-")
        assert done.status == 0, done.err
        return Page(done.out)

    return call


def pair(rollouts: Rollouts, old: list[Json], new: list[Json]) -> tuple[Path, Path]:
    return rollouts.write("old.jsonl", old), rollouts.write("new.jsonl", new)


def scored(rewards: list[float], **fields: Any) -> list[Json]:
    return [{"task_id": f"t{at:03d}", "reward": reward, **fields} for at, reward in enumerate(rewards)]


# The file


def test_the_policy_allows_the_style_and_the_script_of_the_file_and_nothing_else(report: Report) -> None:
    page = report(*EXAMPLE)
    (meta,) = page.all("meta", **{"http-equiv": "Content-Security-Policy"})
    (style,) = page.all("style")
    (script,) = [e for e in page.all("script") if "type" not in e.attributes]
    digests = [base64.b64encode(hashlib.sha256(e.text.encode()).digest()).decode() for e in (style, script)]
    assert meta.attributes["content"] == (
        f"default-src 'none'; style-src 'sha256-{digests[0]}'; script-src 'sha256-{digests[1]}'; "
        "base-uri 'none'; form-action 'none'"
    )


def test_the_file_refers_to_nothing_outside_and_has_no_handlers_in_its_markup(report: Report) -> None:
    page = report(*EXAMPLE)
    names = {name for element in page.elements for name in element.attributes}
    assert not names & {"src", "href", "srcset", "action", "data", "style", "xlink:href"}
    assert not [name for name in names if name.startswith("on")]
    assert not [e.tag for e in page.elements if e.tag in ("link", "img", "iframe", "object", "embed", "base", "image")]
    (style,) = page.all("style")
    assert "url(" not in style.text
    assert "@import" not in style.text


def test_the_same_inputs_give_the_same_file_whatever_the_surroundings(tmp_path: Path) -> None:
    files = []
    for number, (seed, zone, language) in enumerate((("1", "UTC", "C"), ("77", "Asia/Tokyo", "tr_TR.UTF-8"))):
        path = tmp_path / f"{number}.html"
        subprocess.run(
            [sys.executable, "-m", "rollout_compare", *map(str, EXAMPLE), "--html", str(path)],
            env=os.environ | {"PYTHONHASHSEED": seed, "TZ": zone, "LC_ALL": language},
            check=True,
            capture_output=True,
        )
        files.append(path.read_bytes())
    assert files[0] == files[1]


def test_the_fixed_part_holds_verdict_tables_and_inputs(report: Report, summary: Summary) -> None:
    page, told = report(*EXAMPLE), summary(*EXAMPLE)
    (body,) = page.all("main")
    assert told["verdict"]["sentence"] in body.text
    assert [caption.text for caption in page.all("caption")] == [
        "Old against new",
        "Tasks by class",
        "Flipped tasks, the most important first",
        "Masked tasks by reason",
        "Inputs",
    ]
    (footer,) = page.all("footer")
    for side in ("old", "new"):
        assert told["sides"][side]["digest"] in footer.text
        assert told["sides"][side]["paths"][0] in footer.text


def test_the_list_holds_every_task_of_the_summary(report: Report, summary: Summary) -> None:
    rows, told = report(*EXAMPLE).data("data")["rows"], summary(*EXAMPLE)
    assert [row[0] for row in rows] == [task["task"] for task in told["tasks"]]


def test_a_report_for_a_terminal_needs_no_template_engine() -> None:
    program = (
        "import sys; from rollout_compare.cli import main; main(sys.argv[1:]); "
        "sys.exit('jinja2' in sys.modules or 'rollout_compare.report.html' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program, *map(str, EXAMPLE)], check=True, capture_output=True)


# Logs


def log_of(page: Page) -> list[str]:
    (log,) = page.logs
    lines: list[str] = log["text"].split("\n")
    return lines


def flip(rollouts: Rollouts, output: str) -> tuple[Path, Path]:
    return pair(rollouts, scored([1.0]), scored([0.0], test_output=output))


def test_a_log_has_its_last_two_thousand_lines(rollouts: Rollouts, report: Report) -> None:
    page = report(*flip(rollouts, "\n".join(f"line {at}" for at in range(5_000))))
    assert log_of(page) == [f"line {at}" for at in range(3_000, 5_000)]
    assert page.logs[0]["head"] == "New verifier output, last 2,000 lines of"
    assert "".join(page.logs[0]["source"]) == "row field test_output"


def test_a_log_of_long_lines_has_sixty_four_kilobytes(rollouts: Rollouts, report: Report) -> None:
    lines = log_of(report(*flip(rollouts, "\n".join(f"{at:0999d}" for at in range(1_000)))))
    assert lines == [f"{at:0999d}" for at in range(1_000 - 65, 1_000)]


def test_no_log_is_held_when_none_is_asked_for(rollouts: Rollouts, report: Report) -> None:
    page = report(*flip(rollouts, "failed"), "--tail", 0)
    (log,) = page.logs
    assert log["text"] is None
    assert "".join(log["source"]) == "row field test_output"


def test_secrets_are_taken_out_of_logs_names_and_the_count_tells_of_them(rollouts: Rollouts, report: Report) -> None:
    secret = "ghp_" + "a1B2" * 9
    old = [{"task_id": "t", "reward": 1.0}, {"task_id": f"name {secret}", "reward": 1.0}]
    new = [{"task_id": "t", "reward": 0.0, "test_output": f"token {secret[:-1]}x\nend"}]
    page = report(*pair(rollouts, old, new))
    assert secret[:-1] not in page.source
    assert log_of(page) == ["token [redacted]", "end"]
    (footer,) = page.all("footer")
    assert "2 secrets redacted" in footer.text


def test_logs_are_whole_up_to_a_limit_then_short_then_left_out_the_biggest_loss_first(
    rollouts: Rollouts, report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = "\n".join(["x" * 99] * 100)  # 10,000 bytes in the file, or about 1,000 with 10 lines
    rewards = [0.5, 0.9, 0.6, 0.8, 0.7, 1.0]
    paths = pair(rollouts, scored(rewards), scored([0.0] * 6, test_output=output))
    monkeypatch.setattr(html, "LOG_BYTES", 25_000)
    monkeypatch.setattr(html, "ALL_LOG_BYTES", 22_500 + 1_000)
    page = report(*paths, "--tail", 10)
    rows = {row[-1]: row for row in page.data("data")["rows"]}
    names = [e.attributes.get("id") or "" for e in page.all("script")]
    order = [int(name.removeprefix("log-")) for name in names if name.startswith("log-")]
    assert [rows[at][3] for at in order] == ["1", "0.9", "0.8", "0.7", "0.6", "0.5"]
    assert [len((log["text"] or "").split("\n")) for log in page.logs] == [100, 100, 10, 10, 1, 1]
    assert [log["text"] for log in page.logs][4:] == [None, None]
    assert page.logs[5]["head"] == "New verifier output, omitted to fit the size limit, of"
    assert "".join(page.logs[5]["source"]) == "row field test_output"


def test_the_file_is_written_in_pieces_no_larger_than_a_log(rollouts: Rollouts) -> None:
    old, new = pair(rollouts, scored([1.0] * 100), scored([0.0] * 100, test_output="y" * 90 + "\n" * 2 + "x\n" * 1_500))
    comparison = compare(load_side(old), load_side(new))
    facts = Facts(comparison, VerifierOutputs.from_comparison(comparison, LogSearch(tail=15)), Redactor())
    sizes = [len(piece) for piece in html.html_report(facts)]
    assert sum(sizes) > 400_000
    assert max(sizes) < 20_000


# Many tasks


def test_of_very_many_tasks_those_that_changed_are_listed_and_the_page_says_so(
    rollouts: Rollouts, report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(html, "LISTED", 4)
    old, new = scored([1.0, 1.0, 0.5, 1.0, 0.0, 1.0]), scored([1.0, 0.0, 0.0, 1.0, 1.0, 1.0])
    new.pop()
    page = report(*pair(rollouts, old, new))
    assert [row[0] for row in page.data("data")["rows"]] == ["t001", "t002", "t004", "t005"]
    (body,) = page.all("main")
    assert "The list holds 4 of 6 tasks. Left out are the identical ones (2); the JSON summary has all." in body.text

    monkeypatch.setattr(html, "LISTED", 3)
    page = report(*pair(rollouts, old, new))
    assert [row[0] for row in page.data("data")["rows"]] == ["t001", "t002", "t004"]
    (body,) = page.all("main")
    assert "Left out are the identical ones (2) and the least important of the others (1);" in body.text
    assert len(page.logs) == 3


# The picture


def circles(page: Page) -> list[tuple[float, float, float]]:
    return [
        (float(e.attributes["cx"] or ""), float(e.attributes["cy"] or ""), float(e.attributes["r"] or ""))
        for e in page.all("circle")
    ]


def test_the_area_of_a_circle_is_the_number_of_its_tasks(rollouts: Rollouts, report: Report) -> None:
    # 16 tasks stay at 1, 4 fall from 1 to 0, 1 rises.
    page = report(*pair(rollouts, scored([1.0] * 20 + [0.0]), scored([1.0] * 16 + [0.0] * 4 + [1.0])))
    (same, worse, better) = circles(page)
    assert same[2] / worse[2] == pytest.approx(2, abs=0.01)
    assert worse[2] / better[2] == pytest.approx(2, abs=0.01)
    assert (worse[0], better[1]) == (same[0], same[1])
    assert worse[1] > same[1]
    assert better[0] < same[0]


def test_a_reward_of_one_half_stands_in_the_middle_of_zero_and_one(rollouts: Rollouts, report: Report) -> None:
    page = report(*pair(rollouts, scored([0.0, 0.5, 1.0]), scored([0.0, 0.5, 1.0])))
    low, middle, high = sorted(circles(page))
    assert middle[0] - low[0] == pytest.approx(high[0] - middle[0], abs=0.01)
    assert low[1] - middle[1] == pytest.approx(middle[1] - high[1], abs=0.01)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ([1.7e308, -1.7e308, 0.0], [-1.7e308, 1.7e308, 1.0]),
        ([1e308] * 3, [1e308] * 3),
        ([5e-324, 0.0], [0.0, 5e-324]),
        ([-3.0, 12.5], [250.0, -80.0]),
        ([0.0], [0.0]),
    ],
)
def test_whatever_the_rewards_the_picture_has_places_inside_its_frame(
    rollouts: Rollouts, report: Report, old: list[float], new: list[float]
) -> None:
    page = report(*pair(rollouts, scored(old), scored(new)))
    (frame,) = page.all("rect", **{"class": "frame"})
    x, y, width, height = (float(frame.attributes[name] or "") for name in ("x", "y", "width", "height"))
    assert circles(page)
    for across, down, radius in circles(page):
        assert x <= across - radius <= across + radius <= x + width
        assert y <= down - radius <= down + radius <= y + height
    (start, end) = (page.source.index("<svg"), page.source.index("</svg>"))
    assert not re.search(r"\b(?:nan|inf)\b", page.source[start:end])


def test_without_a_task_that_both_sides_scored_there_is_no_picture(rollouts: Rollouts, report: Report) -> None:
    page = report(*pair(rollouts, [{"task_id": "a", "reward": 1.0}], [{"task_id": "b", "reward": 1.0}]))
    assert not page.all("svg")


def test_each_taskset_has_a_bar_from_zero_with_its_interval_on_one_scale(rollouts: Rollouts, report: Report) -> None:
    def rows(falls: float, rises: float) -> list[Json]:
        return [
            {"_ng_task_id": {"taskset": taskset, "task_id": str(at)}, "reward": reward + at / 100}
            for taskset, reward in (("falls", falls), ("rises", rises))
            for at in range(6)
        ]

    new = rows(0.1, 0.6)
    new[0]["reward"] += 0.06
    new[-1]["reward"] += 0.06
    page = report(*pair(rollouts, rows(0.5, 0.4), new))
    bars = [e for e in page.all("rect") if e.attributes["class"] in ("worse", "better")]
    assert [bar.attributes["class"] for bar in bars] == ["worse", "better"]
    lengths = [float(bar.attributes["width"] or "") for bar in bars]
    # The differences are -0.4 + 0.01 and 0.2 + 0.01.
    assert lengths[0] / lengths[1] == pytest.approx(0.39 / 0.21, rel=0.01)
    starts = [float(bar.attributes["x"] or "") for bar in bars]
    assert starts[0] + lengths[0] == pytest.approx(starts[1], abs=0.02)
    intervals = [e.attributes["d"] or "" for e in page.all("path", **{"class": "interval"})]
    low, high = (float(number) for number in re.findall(r"[MH]([\d.]+)", intervals[0])[:2])
    assert low < starts[0] < high
    assert all(math.isfinite(number) for number in (low, high))


def test_groups_with_the_largest_of_numbers_have_bars_too(rollouts: Rollouts, report: Report) -> None:
    rows = [
        {"_ng_task_id": {"taskset": taskset, "task_id": str(at)}, "reward": 1e308 * (-1) ** at}
        for taskset in ("a", "b")
        for at in range(4)
    ]
    changed = [row | {"reward": -row["reward"]} for row in rows]
    page = report(*pair(rollouts, rows, changed))
    tables = page.source[page.source.index("By taskset") : page.source.index('id="tasks"')]
    numbers = re.findall(r'(?:x|width|d)="([^"]*)"', tables)
    assert numbers
    assert not any(re.search("nan|inf", number) for number in numbers)
