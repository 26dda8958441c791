"""The verdict: one honest sentence about a comparison, the same in every output."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Compare, Json, Rollouts, Summary
from tests.places import REAL_CASES
from tests.rows import asking

Rows = list[dict[str, Any]]
Pair = tuple[Iterable[Json], Iterable[Json]]
Judge = Callable[..., dict[str, str]]

MINUS = "\N{MINUS SIGN}"
SINGLE_RUNS = "single runs: some of these flips would appear on a rerun"


def attempt(task: object, reward: float | None, **more: Any) -> dict[str, Any]:
    """One row; a reward of None is a masked attempt."""
    row = {"task_id": str(task), "reward": 0.0 if reward is None else reward, **more}
    return row | {"mask_sample": True} if reward is None else row


def tasks(rewards: Iterable[float | None], repeats: int = 1) -> Rows:
    return [attempt(f"t{number:04}", reward) for number, reward in enumerate(rewards) for _ in range(repeats)]


def lost_and_won(lost: int, won: int, count: int, repeats: int = 1) -> Pair:
    """Both sides of `count` tasks with reward 0 or 1; the tasks that do not flip pass."""
    rest = [1.0] * (count - lost - won)
    return (
        tasks([1.0] * lost + [0.0] * won + rest, repeats),
        tasks([0.0] * lost + [1.0] * won + rest, repeats),
    )


def prompt(text: object) -> dict[str, Any]:
    return asking([{"role": "user", "content": f"Question {text}"}])


def prompted(named: bool, count: int, other: int) -> Pair:
    """Both sides of `count` equal tasks with a task id or only an index; `other` have another prompt on new."""

    def row(number: int, text: object) -> dict[str, Any]:
        name = {"task_id": f"t{number}"} if named else {"_ng_task_index": number}
        return {**name, "reward": 1.0, **prompt(text)}

    return (
        [row(k, k) for k in range(count)],
        [row(k, f"{k}, asked anew" if k < other else k) for k in range(count)],
    )


@pytest.fixture
def judge(rollouts: Rollouts, summary: Summary) -> Judge:
    """The verdict on two sides' rows."""

    def call(pair: Pair, *argv: object) -> dict[str, str]:
        # No line is on both sides: that would be told before everything else.
        paths = [
            rollouts.write(f"{name}.jsonl", [row | {"side": name} for row in rows])
            for name, rows in zip(("old", "new"), pair, strict=True)
        ]
        verdict: dict[str, str] = summary(*paths, *argv)["verdict"]
        return verdict

    return call


# 1. Not comparable as joined


def collapsing(count: int) -> Rows:
    """One task name for `count` tasks, and tasks of their own names beside it."""
    names = ["knights"] * 5 + [f"riddle {k}" for k in range(count - 5)]
    return [{"task_name": name, "_ng_task_index": k, "reward": 1.0} for k, name in enumerate(names)]


def test_a_key_that_names_a_family_of_tasks_is_not_comparable(judge: Judge) -> None:
    verdict = judge((collapsing(5), collapsing(5)))
    assert verdict["kind"] == "not_comparable"
    assert verdict["sentence"].startswith(
        "Not comparable as joined: `task_name` holds 5 different tasks under one name"
    )


def test_a_key_that_collapses_one_task_of_many_is_told_and_the_verdict_stands(judge: Judge) -> None:
    verdict = judge((collapsing(40), collapsing(40)))
    assert verdict["kind"] == "no_clear_difference"
    assert " `task_name` holds 5 different tasks under one name (knights)." in verdict["sentence"]


def test_a_key_that_collapses_a_tenth_of_the_tasks_is_not_comparable(judge: Judge) -> None:
    rows = [
        {"task_name": f"family {k}" if k < 2 else f"riddle {k}", "_ng_task_index": 10 * k + n, "reward": 1.0}
        for k in range(20)
        for n in range(3 if k < 2 else 1)
    ]
    assert judge((rows, rows))["kind"] == "not_comparable"
    assert judge(([*rows, attempt("one more", 1.0, task_name="one more")], rows))["kind"] == "not_comparable"


def test_repeats_of_one_task_do_not_make_its_key_a_family(judge: Judge) -> None:
    rows = [attempt(k, 1.0, _ng_task_index=k, _ng_rollout_index=n) for k in range(12) for n in range(3)]
    assert judge((rows, rows))["kind"] == "no_clear_difference"


@pytest.mark.parametrize("count", [3, 40])
def test_sides_that_share_no_task_are_not_comparable(count: int, judge: Judge) -> None:
    verdict = judge(([attempt(f"a-{k}", 1.0) for k in range(count)], [attempt(f"b-{k}", 0.0) for k in range(count)]))
    assert verdict["kind"] == "not_comparable"
    assert verdict["sentence"].startswith("Not comparable as joined: ")


@pytest.mark.parametrize(
    ("named", "count", "other", "kind"),
    [
        (False, 12, 7, "not_comparable"),
        (False, 12, 6, "no_clear_difference"),
        (False, 5, 5, "not_comparable"),
        (False, 5, 2, "too_little"),
        (True, 12, 12, "no_clear_difference"),
        (True, 5, 5, "too_little"),
    ],
)
def test_a_position_proves_nothing_once_most_prompts_differ(
    named: bool, count: int, other: int, kind: str, judge: Judge
) -> None:
    verdict = judge(prompted(named, count, other))
    assert verdict["kind"] == kind
    assert verdict["sentence"].startswith("Not comparable as joined: ") is (kind == "not_comparable")


def test_what_is_not_comparable_is_said_before_any_loss(judge: Judge) -> None:
    old, new = prompted(named=False, count=40, other=30)
    for row in new:
        row["reward"] = 0.0
    assert judge((old, new), "--margin", "0.9")["kind"] == "not_comparable"


# 2. Too little to conclude


@pytest.mark.parametrize(
    ("scored", "masked", "missing", "start"),
    [
        (6, 14, 0, "6 paired tasks; 10 are needed. 6 of 20 tasks were scored on both sides; half is needed."),
        (6, 0, 14, "6 paired tasks; 10 are needed. 6 of 20 tasks were scored on both sides; half is needed."),
        (9, 0, 0, "9 paired tasks; 10 are needed. 9 lost,"),
        (12, 5, 8, "12 of 25 tasks were scored on both sides; half is needed."),
        (49, 0, 50, "49 of 99 tasks were scored on both sides; half is needed."),
        (0, 20, 0, "0 paired tasks; 10 are needed. 0 of 20 tasks were scored on both sides; half is needed."),
    ],
)
def test_few_tasks_or_a_small_share_of_them_are_too_little(
    scored: int, masked: int, missing: int, start: str, judge: Judge
) -> None:
    # All of them lost: no loss makes up for what was not scored.
    old = tasks([1.0] * (scored + masked + missing))
    verdict = judge((old, tasks([0.0] * scored + [None] * masked)), "--margin", "0.5")
    assert verdict["kind"] == "too_little"
    assert verdict["sentence"].startswith(f"Too little to conclude: {start}")


@pytest.mark.parametrize(("scored", "masked"), [(10, 0), (10, 10), (12, 12)])
def test_ten_tasks_and_half_of_all_are_enough(scored: int, masked: int, judge: Judge) -> None:
    verdict = judge((tasks([1.0] * (scored + masked)), tasks([0.0] * scored + [None] * masked)))
    assert verdict["kind"] == "lower"


# 3. Lower or higher


LOWER = "New is lower by 10.0 points (95% CI 2.9 to 17.1 lower; 100 paired tasks; 11 lost, 1 won, exact p 0.006)."
HIGHER = "New is higher by 10.0 points (95% CI 2.9 to 17.1 higher; 100 paired tasks; 1 lost, 11 won, exact p 0.006)."


@pytest.mark.parametrize(("lost", "won", "kind", "start"), [(11, 1, "lower", LOWER), (1, 11, "higher", HIGHER)])
@pytest.mark.parametrize("margin", [(), ("--margin", "0.17")], ids=["plain", "margin"])
def test_an_interval_without_zero_says_lower_or_higher(
    lost: int, won: int, kind: str, start: str, margin: tuple[str, ...], judge: Judge
) -> None:
    verdict = judge(lost_and_won(lost, won, 100), *margin)
    assert verdict["kind"] == kind
    assert verdict["sentence"].startswith(start)


@pytest.mark.parametrize(
    ("shift", "count", "kind", "start"),
    [
        # ± 2.7718/count, as rewards go up to 1.
        (0.1, 30, "higher", "New is higher by 10.0 points (95% CI 0.8 to 19.2 higher; 30 paired tasks; 0 lost, 30 won"),
        (-0.1, 30, "lower", "New is lower by 10.0 points (95% CI 0.8 to 19.2 lower; 30 paired tasks; 30 lost, 0 won"),
        (-0.1, 12, "no_clear_difference", f"No clear difference: {MINUS}10.0 points (95% CI {MINUS}33.1 to +13.1; 12"),
        (0.0, 12, "no_clear_difference", f"No clear difference: 0.0 points (95% CI {MINUS}23.1 to +23.1; 12 paired"),
    ],
)
def test_a_constant_shift_is_judged_by_the_interval(
    shift: float, count: int, kind: str, start: str, judge: Judge
) -> None:
    before, after = max(0.0, -shift), max(0.0, shift)
    old = [before + (1 - before - after) * k / (count - 1) for k in range(count)]
    verdict = judge((tasks(old), tasks([reward + shift for reward in old])), "--margin", "0.1")
    assert verdict["kind"] == kind
    assert verdict["sentence"].startswith(start)
    # Twelve of twelve: p = 2 / 4096.
    assert ("Borderline" in verdict["sentence"]) is (count == 12 and shift != 0)


# 4. Within the margin


def test_an_interval_inside_the_margin_says_so(judge: Judge) -> None:
    # Nothing flips among 200: the interval is -1.4 to +1.4 points, and 3 in 200 are 1.5.
    pair = lost_and_won(0, 0, 200)
    verdict = judge(pair, "--margin", "0.02")
    assert verdict["kind"] == "within_margin"
    assert verdict["sentence"].startswith("No difference larger than 2 points (")
    assert "200 paired tasks" in verdict["sentence"]
    assert judge(pair, "--margin", "0.015")["kind"] == "within_margin"
    assert judge(pair, "--margin", "0.0149")["kind"] == judge(pair)["kind"] == "no_clear_difference"


@pytest.mark.parametrize("sign", [1, -1])
def test_both_ends_of_the_interval_must_lie_inside_the_margin(sign: int, judge: Judge) -> None:
    # -0.132 to 0.012 when nine are lost and three won.
    lost, won = (9, 3)[::sign]
    pair = lost_and_won(lost, won, 100)
    assert judge(pair, "--margin", "0.1")["kind"] == "no_clear_difference"
    assert judge(pair, "--margin", "0.14")["kind"] == "within_margin"


def test_the_margin_is_in_the_unit_of_the_rewards(judge: Judge) -> None:
    # Half of the tasks gain and half lose 1 of 100: 0 ± 1.96 * √(400 + 2 * 101²) / 400 = 0.707, and 303/400 = 0.758.
    pair = tasks([100.0] * 400), tasks([101.0, 99.0] * 200)
    verdict = judge(pair, "--margin", "0.8")
    assert verdict["kind"] == "within_margin"
    assert verdict["sentence"].startswith("No difference larger than 0.8 (")
    for margin in ("0.75", "0.05", "5%"):
        assert judge(pair, "--margin", margin)["kind"] == "no_clear_difference"


def test_a_difference_inside_the_margin_comes_before_lower_and_higher(judge: Judge) -> None:
    # -0.171 to -0.029 when eleven are lost and one won.
    for lost, won, way in ((11, 1, "lower"), (1, 11, "higher")):
        verdict = judge(lost_and_won(lost, won, 100), "--margin", "0.18")
        assert verdict["kind"] == "within_margin"
        assert f" Within that, new is {way}." in verdict["sentence"]
        assert judge(lost_and_won(lost, won, 100), "--margin", "0.17")["kind"] == way


def test_what_is_within_the_margin_on_both_sides_of_zero_goes_no_way(judge: Judge) -> None:
    assert "Within that" not in judge(lost_and_won(9, 3, 100), "--margin", "0.14")["sentence"]


@pytest.mark.parametrize(("margin", "same"), [("2%", "0.02"), ("2.8 %", "0.028"), ("15%", "0.15"), (" 0.5% ", "0.005")])
def test_a_margin_in_percent_is_a_hundredth(margin: str, same: str, judge: Judge) -> None:
    pair = lost_and_won(0, 0, 200)
    assert judge(pair, "--margin", margin) == judge(pair, "--margin", same)


@pytest.mark.parametrize("margin", ["1", "2", "100%", "1e300"])
def test_a_margin_that_allows_any_difference_is_wrong_usage(
    margin: str, rollouts: Rollouts, run: Compare, tmp_path: Path
) -> None:
    old, new = lost_and_won(9, 3, 100)
    paths = rollouts.write("old.jsonl", old), rollouts.write("new.jsonl", new)
    summary = tmp_path / "summary.json"
    done = run(*paths, "--margin", margin, "--json", summary)
    assert (done.status, done.out) == (2, "")
    assert "0.02 is 2 points" in done.err
    assert not summary.exists()


def test_a_margin_of_one_is_small_among_large_rewards(judge: Judge) -> None:
    assert judge((tasks([50.0] * 200), tasks([50.0] * 200)), "--margin", "1")["kind"] == "within_margin"


def test_a_margin_of_one_is_no_fault_where_nothing_was_compared(judge: Judge) -> None:
    assert judge((tasks([1.0] * 12), tasks([None] * 12)), "--margin", "1")["kind"] == "too_little"


@pytest.mark.parametrize(
    ("old", "new", "margin"),
    [
        ([1.0] * 200, [1.0] * 200, 0.025),
        ([1.0] * 200, [1.0] * 200, 0.0333),
        ([1.0] * 200, [1.0] * 200, 0.01504),
        ([50.0] * 200, [51.0, 49.0] * 100, 12.3456),
        ([5e6] * 200, [5e6 + 1, 5e6 - 1] * 100, 1234567.0),
    ],
)
def test_no_smaller_margin_is_claimed_than_was_given(
    old: list[float], new: list[float], margin: float, judge: Judge
) -> None:
    verdict = judge((tasks(old), tasks(new)), "--margin", margin)
    assert verdict["kind"] == "within_margin"
    claim = re.match(r"No difference larger than ([\d.,e+]+)( points)? \(", verdict["sentence"])
    assert claim, verdict["sentence"]
    claimed = float(claim[1].replace(",", "")) / (100 if claim[2] else 1)
    assert claimed >= margin * (1 - 1e-12), verdict["sentence"]


@pytest.mark.parametrize("margin", ["0", "-0.02", "nan", "two", "", "0%", "-2%", "%", "nan%", "inf", "2%%", "2e1e1%"])
def test_a_margin_that_is_no_difference_is_wrong_usage(margin: str, rollouts: Rollouts, run: Compare) -> None:
    path = rollouts.write("old.jsonl", tasks([1.0]))
    done = run(path, path, f"--margin={margin}")
    assert (done.status, done.out) == (2, "")
    assert "--margin" in done.err


# 5. No clear difference


def test_an_interval_with_zero_says_what_could_have_been_seen(judge: Judge) -> None:
    verdict = judge(lost_and_won(9, 3, 100))
    assert verdict["kind"] == "no_clear_difference"
    assert verdict["sentence"].startswith(
        f"No clear difference: {MINUS}6.0 points "
        f"(95% CI {MINUS}13.2 to +1.2; 100 paired tasks; 9 lost, 3 won, exact p 0.15). "
        "Differences under about 13.7 points are below what this comparison can resolve."
    )


@pytest.mark.parametrize("repeats", [1, 3])
def test_the_same_rollouts_twice_show_no_clear_difference(repeats: int, judge: Judge) -> None:
    sentence = judge(lost_and_won(0, 0, 100, repeats))["sentence"]
    assert sentence.startswith("No clear difference")
    assert "100 paired tasks" in sentence
    assert f"95% CI {MINUS}2.8 to +2.8" in sentence
    assert "Differences under about 7.8 points are below what this comparison can resolve." in sentence


# Additions


def test_other_prompts_are_counted(judge: Judge) -> None:
    phrase = "7 of 89 tasks have a different prompt on the new side"
    assert phrase in judge(prompted(named=True, count=89, other=7))["sentence"]
    assert phrase in judge(prompted(named=False, count=89, other=7))["sentence"]
    assert "prompt" not in judge(prompted(named=True, count=89, other=0))["sentence"]


def test_tasks_masked_only_on_new_come_with_the_bracket(judge: Judge) -> None:
    old = tasks([1.0] * 94 + [1, 1, 1, 1, 0, 0])
    new = tasks([0.96] * 47 + [1.0] * 47 + [None] * 6)
    plain = judge((old, new))["sentence"]
    # Each of the six at 0: -5.88 points; each at 1: +0.12.
    assert re.search(rf"\b6 tasks\b.*\bmasked\b.*{MINUS}5\.9 .*\+0\.1 points", plain)
    assert "missing" not in plain
    more = [attempt(f"old {k}", 1.0) for k in range(2)], [attempt(f"new {k}", 1.0) for k in range(3)]
    missing = judge((old + more[0], new + more[1]))["sentence"]
    assert re.search(rf"\b6 tasks\b.*\bmasked\b.*{MINUS}5\.9 .*\+0\.1 points", missing)
    assert re.search(r"\b3\b[^.]*\bmissing\b[^.]*\bold side\b[^.]*\b2\b[^.]*\bnew\b", missing)


def test_nothing_is_said_of_masks_that_are_not_there(judge: Judge) -> None:
    assert "masked" not in judge(lost_and_won(9, 3, 100))["sentence"]


@pytest.mark.parametrize(
    ("lost", "won", "repeats", "said"), [(9, 3, 1, True), (11, 1, 1, True), (9, 3, 2, False), (0, 0, 1, False)]
)
def test_flips_of_single_runs_are_called_so(lost: int, won: int, repeats: int, said: bool, judge: Judge) -> None:
    sentence = judge(lost_and_won(lost, won, 100, repeats))["sentence"]
    assert (SINGLE_RUNS in sentence.lower()) is said


@pytest.mark.parametrize(
    ("pair", "kind", "said"),
    [
        # -0.485 to -0.015, exact p 0.0625.
        (lost_and_won(5, 0, 20), "lower", True),
        # Ten small losses and one large gain: exact p 0.012, an interval on both sides of 0.
        ((tasks([0.5] * 11), tasks([0.49] * 10 + [1.0])), "no_clear_difference", True),
        (lost_and_won(11, 1, 100), "lower", False),
        (lost_and_won(9, 3, 100), "no_clear_difference", False),
        # Twelve lose all, 38 gain a little: exact p 0.0003 for higher.
        ((tasks([1.0] * 12 + [0.5] * 38), tasks([0.0] * 12 + [0.51] * 38)), "lower", True),
        ((tasks([0.0] * 12 + [0.51] * 38), tasks([1.0] * 12 + [0.5] * 38)), "higher", True),
    ],
    ids=["only the interval", "only the exact test", "both", "neither", "either way", "either way, turned"],
)
def test_an_interval_and_an_exact_test_that_disagree_are_borderline(
    pair: Pair, kind: str, said: bool, judge: Judge
) -> None:
    verdict = judge(pair)
    assert verdict["kind"] == kind
    assert ("borderline" in verdict["sentence"].lower()) is said


# Wording


@pytest.mark.parametrize(
    ("lost", "won", "text"),
    [
        (7, 2, "0.18"),
        (9, 3, "0.15"),
        (10, 3, "0.092"),  # 0.09229
        (10, 2, "0.039"),  # 0.03857
        (6, 0, "0.031"),  # 0.03125
        (42, 25, "0.0498"),  # 0.04977
        (39, 24, "0.077"),  # 0.07676
        (11, 2, "0.022"),  # 0.02246
        (600, 520, "0.018"),  # 0.01821
        (11, 1, "0.006"),  # 0.00635
        (10, 0, "0.002"),  # 0.00195
        (11, 0, "<0.001"),  # 0.00098
        (12, 0, "<0.001"),
        (60, 0, "<0.001"),
    ],
)
def test_p_has_two_digits_and_at_most_three_places(lost: int, won: int, text: str, judge: Judge) -> None:
    sentence = judge(lost_and_won(lost, won, lost + won + 100))["sentence"]
    assert re.findall(r"exact p ([^ )]*)\)", sentence) == [text]
    assert f"{lost} lost, {won} won" in sentence
    assert f"{lost + won + 100} paired tasks" in sentence.replace(",", "")


@pytest.mark.parametrize(
    ("old", "new", "points"),
    [
        ([1.0] * 12, [0.0] * 6 + [0.5] * 6, True),
        ([0.0, 1.0] * 6, [0.5, 0.25] * 6, True),
        ([1.0] * 12, [0.0] * 11 + [-0.01], False),
        ([1.0] * 11 + [1.01], [0.0] * 12, False),
        ([10.0] * 12, [4.0, 5.0] * 6, False),
        ([10.0, 5.0] * 6, [4.0, 11.0] * 6, False),
    ],
)
def test_points_are_for_rewards_between_zero_and_one(
    old: list[float], new: list[float], points: bool, judge: Judge
) -> None:
    verdict = judge((tasks(old), tasks(new)))
    assert verdict["kind"] in {"lower", "no_clear_difference"}
    assert ("point" in verdict["sentence"]) is points


def test_a_difference_outside_zero_to_one_is_in_raw_units(judge: Judge) -> None:
    # A third of the tasks each falls by 4, by 5 and by 6.
    sentence = judge((tasks([10.0] * 30), tasks([6.0, 5.0, 4.0] * 10)))["sentence"]
    assert re.match(r"New is lower by 5(\.0+)? \(95% CI 4\.\d+ to 5\.\d+ lower; 30 paired tasks", sentence)


@pytest.mark.parametrize("scale", [1e-3, 1e-5, 1e-7, 1e-8])
@pytest.mark.parametrize("steps", [(1, -1), (-1, -2), (2, 3)], ids=["none", "lower", "higher"])
@pytest.mark.parametrize("base", [0.5, 5.0], ids=["points", "raw"])
def test_a_small_difference_is_never_printed_as_nothing(
    base: float, steps: tuple[int, int], scale: float, judge: Judge
) -> None:
    new = [base + scale * step for step in steps] * 6
    sentence = judge((tasks([base] * 12), tasks(new)))["sentence"].replace(MINUS, "-")
    shown = re.search(r"95% CI ([-+.\de]+) to ([-+.\de]+)", sentence)
    assert shown, sentence
    assert all(float(bound) for bound in shown.groups()), sentence
    for resolution in re.findall(r"under about ([.\de-]+)", sentence):
        assert float(resolution), sentence


SCENARIOS: dict[str, Pair] = {
    "nothing joined": ([attempt("a", 1.0)], [attempt("b", 1.0)]),
    "collapsing": (collapsing(12), collapsing(12)),
    "other prompts by index": prompted(named=False, count=12, other=12),
    "other prompts by name": prompted(named=True, count=12, other=12),
    "one task": lost_and_won(1, 0, 1),
    "lower": lost_and_won(11, 1, 100),
    "higher": lost_and_won(1, 11, 100, 4),
    "within the margin": lost_and_won(0, 0, 200),
    "not clear": lost_and_won(9, 3, 100),
    "not clear, repeats": lost_and_won(9, 3, 100, 4),
    "graded twins": (tasks([0.5] * 12), tasks([0.5] * 12)),
    "shift": (tasks([0.5] * 12), tasks([0.6] * 12)),
    "raw": (tasks([10.0] * 12), tasks([4.0, 11.0] * 6)),
    "masked": (tasks([1.0] * 20), tasks([1.0] * 14 + [None] * 6)),
    "all masked": (tasks([None] * 20), tasks([None] * 20)),
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_output_says_the_same_and_promises_nothing(name: str, rollouts: Rollouts, run: Compare) -> None:
    paths = [rollouts.write(f"{side}.jsonl", rows) for side, rows in zip(("old", "new"), SCENARIOS[name], strict=True)]
    as_text, as_json = run(*paths, "--margin", "0.02"), run(*paths, "--margin", "0.02", "--json", "-")
    assert (as_text.status, as_json.status) == (0, 0)
    sentence = as_json.json["verdict"]["sentence"]
    assert as_text.out.split("\n", 1)[0] == sentence
    assert sentence.isprintable()
    said = f"{as_text.out} {as_json.out}".lower()
    assert "significant" not in said
    assert "no regression" not in said
    assert "[0, 0]" not in said
    assert "%" not in sentence.replace("95% CI", "")


# Real rollouts. Nearly all have five tasks, far too few to conclude anything from, whatever flips among them.
TOO_FEW = "Too little to conclude: {}; 10 are needed."
VERDICTS = {
    # The fixed verifier wins one task, all five were scored.
    "01-compute-eval-verifier-fix": ("too_little", TOO_FEW.format("5 paired tasks")),
    "02-structeval-two-variants": ("too_little", TOO_FEW.format("5 paired tasks")),
    # The ids tell that four tasks were exchanged.
    "03-labbench-reindexed": ("too_little", TOO_FEW.format("3 paired tasks")),
    "04-bigcodebench-subset-change": ("too_little", TOO_FEW.format("4 paired tasks")),
    # Five repeats are still one task.
    "05-anyswe-hermes-vs-opencode": ("too_little", TOO_FEW.format("1 paired task")),
    "06-anyswe-opencode-vs-pi": ("too_little", TOO_FEW.format("1 paired task")),
    # Joined by position, and the prompts agree: comparable, if only there were more.
    "07-math-prime-vs-claude-code": ("too_little", TOO_FEW.format("5 paired tasks")),
    "08-math-simple-vs-prime-no-index": ("too_little", TOO_FEW.format("5 paired tasks")),
    # Joined by position, and not one prompt agrees: nothing says that these are the same tasks.
    "09-finance-sec-search-prompt-changed": ("not_comparable", "Not comparable as joined: "),
    "10-wmt-translation-graded": ("too_little", TOO_FEW.format("5 paired tasks")),
    # All prompts changed too, but each task has an id of its own.
    "11-text-to-sql-repeats-uuid": ("too_little", TOO_FEW.format("5 paired tasks")),
    # The name of a family of puzzles merges five of them.
    "12-reasoning-gym-collapsing-key": (
        "not_comparable",
        "Not comparable as joined: `task_name` holds 5 different tasks under one name",
    ),
    "13-ragtruth-grown": ("too_little", TOO_FEW.format("3 paired tasks")),
    # Five masked rows of three ids.
    "14-browsergym-all-masked": ("too_little", "Both sides hold the same rows. " + TOO_FEW.format("0 paired tasks")),
    # No id, no index, and other prompts throughout: nothing joins.
    "16-mcqa-no-key": ("not_comparable", "Not comparable as joined: "),
    # Two tasks failed on the new side, and one failure names no task: it counts as a sixth.
    "17-sidecar-retries-derived": ("too_little", TOO_FEW.format("3 paired tasks")),
    # One task's sandbox was lost.
    "18-legacy-vs-harbor-derived": ("too_little", TOO_FEW.format("4 paired tasks")),
}


@pytest.mark.parametrize("name", VERDICTS)
def test_the_verdict_on_real_rollouts_is_sensible(name: str, summary: Summary) -> None:
    kind, start = VERDICTS[name]
    verdict = summary(REAL_CASES / name / "old.jsonl", REAL_CASES / name / "new.jsonl")["verdict"]
    assert verdict["kind"] == kind
    assert verdict["sentence"].startswith(start)


@pytest.mark.parametrize(
    ("name", "phrase"),
    [
        ("07-math-prime-vs-claude-code", "4 lost, 0 won"),
        ("07-math-prime-vs-claude-code", SINGLE_RUNS),
        ("08-math-simple-vs-prime-no-index", "0 lost, 2 won"),
        ("11-text-to-sql-repeats-uuid", "5 of 5 tasks have a different prompt on the new side"),
        ("17-sidecar-retries-derived", "masked"),
        # Old 1 masked on new; the other four lose 1: -1 to -2 of 5 tasks.
        ("18-legacy-vs-harbor-derived", f"{MINUS}40.0 and {MINUS}20.0 points"),
    ],
)
def test_the_verdict_on_real_rollouts_adds_what_matters(name: str, phrase: str, summary: Summary) -> None:
    sentence = summary(REAL_CASES / name / "old.jsonl", REAL_CASES / name / "new.jsonl")["verdict"]["sentence"]
    assert phrase.lower() in sentence.lower()


def test_an_unreadable_real_file_has_no_verdict(run: Compare) -> None:
    folder = REAL_CASES / "15-placeholder-unreadable"
    done = run(folder / "old.jsonl", folder / "new.jsonl")
    assert (done.status, done.out) == (1, "")
    assert re.fullmatch(r"error: [^\n]*old\.jsonl:1: [^\n]*\n", done.err)


def test_all_real_cases_are_judged() -> None:
    folders = {folder.name for folder in REAL_CASES.iterdir() if folder.is_dir()}
    assert folders == {*VERDICTS, "15-placeholder-unreadable"}
