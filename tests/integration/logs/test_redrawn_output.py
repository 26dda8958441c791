"""Output in which lines are erased, overwritten and redrawn: each is shown as a terminal would have left it."""

from __future__ import annotations

import gzip
from collections.abc import Callable

import pytest

from tests.conftest import Compare, Rollouts

UP = "\x1b[1A"
ERASE_BELOW, ERASE_SCREEN = "\x1b[J", "\x1b[2J"
ERASE_RIGHT, ERASE_LINE = "\x1b[K", "\x1b[2K"

Show = Callable[[str], list[str]]


@pytest.fixture
def show(flip: Compare) -> Show:
    """The words in angle brackets that the report of one flip shows of its verifier output."""

    def call(output: str) -> list[str]:
        told = flip(output, "--tail", 100).out
        assert len(told.split("verifier output")) <= 2
        return [word.partition(">")[0] for word in told.split("<")[1:]]

    return call


@pytest.mark.parametrize(
    ("output", "left"),
    [
        # Erased below the cursor: the line of the cursor stays, as nothing has overwritten it yet.
        (f"<a>\n<b>\n<c>\n{UP}{UP}{ERASE_BELOW}<d>\n", ["a", "d"]),
        (f"<a>\n<b>\n{UP}{UP}{ERASE_BELOW}", []),
        (f"<a>{ERASE_BELOW}<b>\n<c>\n", ["a", "b", "c"]),
        # Erased right of the cursor: behind text there is nothing to erase.
        (f"<a>{ERASE_RIGHT}<b>\n<c>\n", ["a", "b", "c"]),
        (f"<a>\n<b>\n{UP}{ERASE_RIGHT}\n<c>\n", ["a", "c"]),
        # The whole line, or the whole screen from here on.
        (f"<a>{ERASE_LINE}<b>\n<c>\n", ["b", "c"]),
        (f"<a>\n<b>{ERASE_LINE}\n<c>\n", ["a", "c"]),
        (f"<a>\n<b>{ERASE_SCREEN}<c>\n", ["a", "c"]),
        # Only up to the cursor, or a colour: no line is lost by these.
        (f"<a>\n<b>\n{UP}\x1b[31m<c>\x1b[0m\n<d>\n", ["a", "c", "d"]),
        (f"<first>\n<a>{UP}\n<b>\n", ["first", "b"]),
    ],
    ids=ascii,
)
def test_erased_lines_are_gone_and_others_stay(output: str, left: list[str], show: Show) -> None:
    assert show(output) == left


@pytest.mark.parametrize(
    ("output", "left"),
    [
        (f"<1%>\r<2%>\n<b>\n{UP}<c>\n", ["2%", "c"]),
        (f"<a>\n{UP}<1%>\r<99%>\n<b>\n", ["99%", "b"]),
        (f"<a>\r\n<b>\r\n{UP}<c>\r\n", ["a", "c"]),
        (f"<start> <rest>\n<b>\n{UP}<c>\n", ["start", "rest", "c"]),
    ],
    ids=ascii,
)
def test_returns_overwrite_beside_cursor_moves_too(output: str, left: list[str], show: Show) -> None:
    assert show(output) == left


@pytest.mark.parametrize("tail", [1, 2, 29, 30, 100])
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "packed"])
def test_a_report_with_more_lines_beside_it_leaves_the_tail_as_it_is(
    tail: int, packed: bool, rollouts: Rollouts, run: Compare
) -> None:
    lines = [f"<line {number:02}>" for number in range(30)]
    new = rollouts.write("new.jsonl", [{"task_id": "t", "reward": 0, "test_output": "\n".join(lines)}])
    if packed:
        content = new.read_bytes()
        new.unlink()
        new = rollouts.folder / "new.jsonl.gz"
        new.write_bytes(gzip.compress(content))
    old = rollouts.write("old.jsonl", [{"task_id": "t", "reward": 1}])
    done = run(old, new, "--tail", tail, "--html", rollouts.folder / "report.html")
    assert done.status == 0
    assert [line for line in lines if line in done.out] == lines[-tail:]


def test_a_log_of_a_relative_path_is_found_and_the_other_sides_is_not(
    rollouts: Rollouts, run: Compare, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder, words in ((".", "<old side's>"), ("new", "<new side's>")):
        log = rollouts.folder / folder / "logs" / "test-stdout.txt"
        log.parent.mkdir(parents=True)
        log.write_text(words)
    lost, won = ({"task_id": "t", "reward": reward, "verifier_logs_dir": "logs"} for reward in (0, 1))
    monkeypatch.chdir(rollouts.folder)
    rollouts.write("new/new.jsonl", [lost])
    rollouts.write("old.jsonl", [won])
    out = run("old.jsonl", "new/new.jsonl").out
    assert ("<new side's>" in out, "<old side's>" in out) == (True, False)
    rollouts.write("old.jsonl", [lost])
    rollouts.write("new/new.jsonl", [won])
    out = run("old.jsonl", "new/new.jsonl").out
    assert ("<new side's>" in out, "<old side's>" in out) == (False, True)
    # Without a log of its own, a side is not shown the one in the folder of the other.
    (rollouts.folder / "new" / "logs" / "test-stdout.txt").unlink()
    rollouts.write("new/new.jsonl", [lost])
    rollouts.write("old.jsonl", [won])
    out = run("old.jsonl", "new/new.jsonl").out
    assert "unavailable: not found" in out
    assert "<old side's>" not in out
