"""Causes that several tasks share: which are told, where, and with which numbers."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

import pytest

from tests.conftest import Compare, Json, Rollouts, Summary
from tests.github import rendered

Sides = tuple[Path, Path]


def sides(rollouts: Rollouts, *, lost: list[str], won: list[str] | None = None, same: int = 5) -> Sides:
    """Tasks that lost with these words, tasks that won and had these before, and some that did not change."""
    old: list[Json] = [{"task_id": f"lost-{at:04d}", "reward": 1} for at in range(len(lost))]
    new: list[Json] = [
        {"task_id": f"lost-{at:04d}", "reward": 0, "test_output": words} for at, words in enumerate(lost)
    ]
    old += [{"task_id": f"won-{at:04d}", "reward": 0, "test_output": words} for at, words in enumerate(won or [])]
    new += [{"task_id": f"won-{at:04d}", "reward": 1} for at in range(len(won or []))]
    for rows in (old, new):
        rows += [{"task_id": f"same-{at}", "reward": 1} for at in range(same)]
    return rollouts.write("old.jsonl", old), rollouts.write("new.jsonl", new)


def markdown(run: Compare, paths: Sides) -> tuple[str, str]:
    """The causes in the Markdown that are seen at once, and those in a fold."""
    done = run(*paths, "--format", "markdown")
    assert done.status == 0, done.err
    document = rendered(done.out)
    folded = [item.text for fold in document.all("details") for item in fold.all("li")]
    items = [item.text for item in document.all("li") if item.text not in folded]
    return "\n".join(items), "\n".join(folded)


ODD = [f"Odd{'ABCDEFGHIJKLMNOPQRSTUVWXYZ'[at]}Error: of its own" for at in range(26)]


def test_40_flips_of_three_causes_and_noise(rollouts: Rollouts, run: Compare, summary: Summary) -> None:
    causes = {
        "ModuleNotFoundError: No module named 'numpy'": 9,
        "OSError: [Errno 28] No space left on device: '/tmp/w{}/{}.bin'": 7,
        "ConnectionError: try {} of 40 took {} s": 4,
    }
    lost = [line.format(at, at * 7) for line, number in causes.items() for at in range(number)] + ODD[:20]
    random.Random(7).shuffle(lost)
    paths = sides(rollouts, lost=lost, won=["KeyError: 'x'"] * 3)
    told = summary(*paths)["causes"]
    assert [cause["regressed"] for cause in told[:4]] == [9, 7, 4, 1]
    assert sum(cause["regressed"] for cause in told) == 40
    seen, folded = markdown(run, paths)
    for words in (
        "9 of 40 regressed: ModuleNotFoundError: No module named 'numpy'",
        "7 of 40 regressed: OSError: [Errno 28] No space left on device: '…'",
        "4 of 40 regressed: ConnectionError: try … of … took …",
        "0 of 3 improved did so before",
    ):
        assert words in seen
    assert "of its own" not in seen + folded


@pytest.mark.parametrize(
    ("alike", "others", "is_told"), [(3, 20, True), (2, 6, True), (2, 7, False), (1, 0, False), (1, 3, False)]
)
def test_a_group_has_3_or_2_that_are_a_quarter(
    rollouts: Rollouts, run: Compare, alike: int, others: int, is_told: bool
) -> None:
    paths = sides(rollouts, lost=["KeyError: 'a'"] * alike + ODD[:others])
    seen, _ = markdown(run, paths)
    assert (f"{alike} of {alike + others} regressed: KeyError: 'a'" in seen) == is_told
    assert (f"{alike} of {alike + others} regressed: KeyError: 'a'" in run(*paths).out) == is_told


@pytest.mark.parametrize(
    ("lost", "others", "won", "others_won", "is_new"),
    [
        (6, 6, 0, 0, True),
        (6, 6, 2, 6, True),
        (6, 6, 4, 4, False),
        (6, 6, 5, 3, False),
        (6, 0, 3, 1, True),
        (6, 0, 4, 0, False),
    ],
)
def test_what_ended_as_many_tasks_before_goes_into_a_fold(
    rollouts: Rollouts, run: Compare, lost: int, others: int, won: int, others_won: int, is_new: bool
) -> None:
    paths = sides(
        rollouts, lost=["KeyError: 'a'"] * lost + ODD[:others], won=["KeyError: 'a'"] * won + ODD[13 : 13 + others_won]
    )
    told = f"{lost} of {lost + others} regressed: KeyError: 'a'"
    before = f"{won} of {won + others_won} improved did so before"
    seen, folded = markdown(run, paths)
    assert (told in seen, told in folded) == (is_new, not is_new)
    assert before in (seen if is_new else folded)


def test_agent_errors_and_masked_tasks_are_numbers_of_their_own(
    rollouts: Rollouts, run: Compare, summary: Summary
) -> None:
    rows: list[Json] = [
        {"task_id": f"a{at}", "reward": 0, "error": f"RateLimitError: retry in {at} s"} for at in range(4)
    ]
    rows += [{"task_id": f"m{at}", "reward": None, "failure_reason": f"mirror {at} is gone"} for at in range(3)]
    rows += [{"task_id": f"r{at}", "reward": 0, "test_output": "RateLimitError: retry in 9 s"} for at in range(3)]
    old = rollouts.write("old.jsonl", [{"task_id": row["task_id"], "reward": 1} for row in rows])
    new = rollouts.write("new.jsonl", rows)
    causes = {cause["signature"]: cause for cause in summary(old, new)["causes"]}
    limit, mirror = causes["RateLimitError: retry in …"], causes["mirror … is gone"]
    assert [limit[kind] for kind in ("regressed", "agent_error", "masked", "improved")] == [3, 4, 0, 0]
    assert [mirror[kind] for kind in ("regressed", "agent_error", "masked", "improved")] == [0, 0, 3, 0]
    # Regressed ones first.
    assert limit["tasks"] == ["r0", "r1", "r2", "a0", "a1", "a2", "a3"]
    seen, _ = markdown(run, (old, new))
    for words in ("3 of 3 regressed: Rate", "4 of 4 with an agent error: Rate", "3 of 3 masked: mirror"):
        assert words in seen
    document = rendered(run(old, new, "--format", "markdown").out)
    masked = [row.text for row in document.all("tr") if "is gone" in row.text]
    assert len(masked) == 1
    assert "no reward: mirror 0 is gone" in masked[0]


def test_up_to_5_names_are_told_and_20_in_the_summary(rollouts: Rollouts, run: Compare, summary: Summary) -> None:
    paths = sides(rollouts, lost=["KeyError: 'a'"] * 25)
    (cause,) = summary(*paths)["causes"]
    assert cause["tasks"] == [f"lost-{at:04d}" for at in range(20)]
    assert "lost-0000, lost-0001, lost-0002, lost-0003, lost-0004 and 20 more" in markdown(run, paths)[0]


def test_500_of_each_kind_are_looked_at_and_more_is_told(rollouts: Rollouts, run: Compare, tmp_path: Path) -> None:
    paths = sides(rollouts, lost=["KeyError: 'a'"] * 501, won=["KeyError: 'b'"] * 502)
    done = run(*paths, "--json", tmp_path / "summary.json", "--tail", 0)
    told = json.loads((tmp_path / "summary.json").read_text())
    assert [(cause["regressed"], cause["improved"]) for cause in told["causes"]] == [(500, 0), (0, 500)]
    assert sum(task["cause"] is not None for task in told["tasks"]) == 1_000
    text = " ".join(done.out.split())
    assert "Causes were looked for in 500 of 501 regressed, those that changed most." in text
    assert "Causes were looked for in 500 of 502 improved, those that changed most." in text


def test_the_biggest_losses_are_looked_at(rollouts: Rollouts, summary: Summary) -> None:
    number = 510
    old = rollouts.write("old.jsonl", [{"task_id": f"t{at:03d}", "reward": 1} for at in range(number)])
    new = rollouts.write(
        "new.jsonl",
        [{"task_id": f"t{at:03d}", "reward": 0.9 if at < 20 else 0, "failure_reason": "gone"} for at in range(number)],
    )
    told = [task["task"] for task in summary(old, new)["tasks"] if task["cause"] is None]
    assert told == [f"t{at:03d}" for at in range(10, 20)]


def test_every_cause_of_a_task_is_among_the_causes(rollouts: Rollouts, summary: Summary) -> None:
    told = summary(*sides(rollouts, lost=ODD[:5] + ["KeyError: 'a'"] * 3, won=ODD[4:8]))
    of_tasks = [task["cause"] for task in told["tasks"] if task["cause"] is not None]
    assert set(of_tasks) == {cause["signature"] for cause in told["causes"]}
    assert len(of_tasks) == sum(cause["regressed"] + cause["improved"] for cause in told["causes"]) == 12


def test_where_nothing_is_shared_nothing_is_told(rollouts: Rollouts, run: Compare) -> None:
    paths = sides(rollouts, lost=ODD[:9])
    for options in (("--format", "text"), ("--format", "markdown"), ("--html", "-")):
        assert "Causes" not in run(*paths, *options).out


def test_what_was_not_looked_at_is_told_though_nothing_is_shared(rollouts: Rollouts, run: Compare) -> None:
    paths = sides(rollouts, lost=[f"Odd{chr(65 + at // 26)}{chr(65 + at % 26)}Error: x" for at in range(501)])
    for options in (("--format", "text"), ("--format", "markdown"), ("--html", "-")):
        said = run(*paths, *options).out
        assert "looked for in 500 of 501 regressed" in " ".join(said.split())
    silent = sides(rollouts, lost=["nothing to tell"] * 501)
    assert "looked for" not in run(*silent, "--format", "markdown").out


def test_broken_unicode_in_names_and_messages_is_told(rollouts: Rollouts, run: Compare, tmp_path: Path) -> None:
    results = [{"\ud800x": status} for status in ("passed", "failed")]
    old = rollouts.write("old.jsonl", [{"task_id": "t", "reward": 1, "test_results": results[0]}])
    new = rollouts.write(
        "new.jsonl", [{"task_id": "t", "reward": 0, "test_results": results[1], "error": "\udfff lost"}]
    )
    packed = new.with_suffix(".jsonl.gz")
    packed.write_bytes(gzip.compress(new.read_bytes()))
    for side in (new, packed):
        done = run(old, side, "--json", tmp_path / "j", "--markdown", tmp_path / "m", "--html", tmp_path / "h")
        assert done.status == 0, done.err
        (task,) = json.loads((tmp_path / "j").read_text())["tasks"]
        assert (task["tests"]["broke"][0]["name"], task["cause"]) == ("\ud800x", "\udfff lost")


def test_hostile_causes_stay_data(rollouts: Rollouts, run: Compare) -> None:
    words = "Error: </details><h1>x</h1> @octocat `a|b` ![x](y) <!-- rollout-compare:default -->"
    done = run(*sides(rollouts, lost=[words] * 3), "--format", "markdown")
    document = rendered(done.out)
    assert not document.all("h1", "img")
    assert "3 of 3 regressed: Error: </details><h1>x</h1> @octocat `a|b` ![x](y)" in document.text
    assert "@octocat" not in document.running_text
    assert done.out.count("<!-- rollout-compare:default -->") == 1
