"""The tail of verifier output: how many lines, where they end, what overwriting leaves, how much is shown."""

from __future__ import annotations

import json

import pytest

from tests.conftest import Compare, Rollouts, Run


def shown(done: Run, words: list[str]) -> list[str]:
    """Those of `words` that the report shows."""
    return [word for word in words if word in done.out]


NUMBERED = [f"<line {number:02}>" for number in range(1, 21)]


@pytest.mark.parametrize(
    ("options", "count"),
    [
        ((), 15),
        (("--tail", 1), 1),
        (("--tail", 3), 3),
        (("--tail=19",), 19),
        (("--tail", 20), 20),
        (("--tail", 1000), 20),
        (("--tail", 0), 0),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("closed", [True, False], ids=["line end at the end", "no line end at the end"])
def test_the_last_lines_are_shown(
    flip: Compare, options: tuple[object, ...], count: int, end: str, closed: bool
) -> None:
    done = flip(end.join(NUMBERED) + (end if closed else ""), *options)
    assert shown(done, NUMBERED) == NUMBERED[20 - count :]
    assert "\r" not in done.out


def test_each_line_stays_a_line_of_its_own(flip: Compare) -> None:
    lines = flip("\r\n".join(NUMBERED)).out.splitlines()
    places = [number for number, line in enumerate(lines) for word in NUMBERED[5:] if word in line]
    assert places == list(range(places[0], places[0] + 15))


def test_without_a_tail_the_source_is_still_known(rollouts: Rollouts, run: Compare) -> None:
    old = rollouts.write("old.jsonl", [{"task_id": "t", "reward": 1.0}])
    new = rollouts.write("new.jsonl", [{"task_id": "t", "reward": 0.0, "test_output": "one\ntwo"}])
    summaries = [run(old, new, "--json", "-", "--tail", tail).out for tail in (0, 1, 15)]
    assert json.loads(summaries[0])["tasks"][0]["verifier_output"]["source"] == "row field test_output"
    assert summaries == [summaries[0]] * 3


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\v", "\f", "\x1c", "\x1e"], ids=ascii)
def test_only_a_line_feed_ends_a_line(flip: Compare, separator: str) -> None:
    done = flip(f"<earlier>\n<head>{separator}<rest>\n", "--tail", 1)
    assert shown(done, ["<earlier>", "<head>", "<rest>"]) == ["<head>", "<rest>"]


@pytest.mark.parametrize(
    ("line", "last_state"),
    [
        pytest.param("<10%>\r<50%>\r<99%>", ["<99%>"], id="progress"),
        pytest.param("<10%>\r<50%>\r", ["<50%>"], id="returned and not yet overwritten"),
        pytest.param("<10%>\r<50%>\r\r\r", ["<50%>"], id="several returns at the end"),
        pytest.param("\r\r<10%>", ["<10%>"], id="returns at the start"),
        pytest.param("<10%>\r\r<99%>", ["<99%>"], id="doubled return"),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n", ""], ids=["LF", "CRLF", "no line end"])
def test_an_overwritten_line_shows_its_last_state(flip: Compare, line: str, last_state: list[str], end: str) -> None:
    done = flip(f"<before>\n{line}{end}", "--tail", 2)
    assert shown(done, ["<before>", "<10%>", "<50%>", "<99%>"]) == ["<before>", *last_state]
    assert "\r" not in done.out


def test_a_thousand_states_of_progress_fill_one_line_of_the_tail(flip: Compare) -> None:
    progress = "\r".join(f"<step {number:04}>" for number in range(1001))
    done = flip(f"<before>\n{progress}\n<after>\n", "--tail", 3)
    assert shown(done, ["<before>", "<step 1000>", "<after>"]) == ["<before>", "<step 1000>", "<after>"]
    assert done.out.count("<step ") == 1


def test_progress_of_a_megabyte_shows_its_last_state(flip: Compare) -> None:
    progress = "\r".join(f"<step {number:06}>" for number in range(80_000))
    done = flip(f"<before>\n{progress}\n<after>\n", "--tail", 2)
    assert shown(done, ["<step 079999>", "<after>"]) == ["<step 079999>", "<after>"]
    assert done.out.count("<step ") == 1


UP, UP_TWO, CLEAR = "\x1b[1A", "\x1b[2A", "\x1b[2K"


@pytest.mark.parametrize(
    ("output", "last_states"),
    [
        pytest.param(f"<a run>\n{UP}{CLEAR}<a end>\n<after>\n", ["<a end>", "<after>"], id="cleared"),
        pytest.param("<a run>\n\x1b[A<a end>\n<after>\n", ["<a end>", "<after>"], id="without a number"),
        pytest.param(
            f"<a run>\n<b run>\n{UP_TWO}<a mid>\n<b mid>\n{UP_TWO}<a end>\n<b end>\n<after>\n",
            ["<a end>", "<b end>", "<after>"],
            id="two lines",
        ),
        pytest.param(
            f"<a run>\n<b run>\n{UP}{UP}{CLEAR}<a end>\n{CLEAR}<b end>\n<after>\n",
            ["<a end>", "<b end>", "<after>"],
            id="twice one line",
        ),
    ],
)
def test_a_line_redrawn_by_moving_up_shows_its_last_state(flip: Compare, output: str, last_states: list[str]) -> None:
    states = [f"<{name} {state}>" for state in ("run", "mid", "end") for name in "ab"]
    done = flip(f"<before>\n{output}")
    assert shown(done, ["<before>", *states, "<after>"]) == ["<before>", *last_states]
    assert "\x1b" not in done.out


def test_redrawn_lines_do_not_fill_the_tail(flip: Compare) -> None:
    frames = UP_TWO.join(f"<a {number:03}>\n<b {number:03}>\n" for number in range(200))
    done = flip(f"<before>\n{frames}<after>\n", "--tail", 4)
    wanted = ["<before>", "<a 199>", "<b 199>", "<after>"]
    assert shown(done, wanted) == wanted
    assert done.out.count("<a ") == done.out.count("<b ") == 1


def test_moving_up_past_the_first_line_does_no_harm(flip: Compare) -> None:
    done = flip("<first>\n\x1b[99A\x1b[99999999999A<again>\n<after>\n")
    assert shown(done, ["<after>"]) == ["<after>"]


@pytest.mark.parametrize("code", ["\x1b[31m", "\x1b]8;;x\x07", "\x00", "\x07", "\x7f", "\x84"], ids=ascii)
def test_control_characters_do_not_reach_the_terminal(flip: Compare, code: str) -> None:
    done = flip(f"<before>{code}<after>\n")
    assert shown(done, ["<before>", "<after>"]) == ["<before>", "<after>"]
    assert [c for c in done.out if not (c.isprintable() or c == "\n")] == []


@pytest.mark.parametrize("length", [1_999, 2_000])
def test_a_line_of_2000_characters_is_shown_whole(flip: Compare, length: int) -> None:
    assert flip("#" * length + "\n<after>\n").out.count("#") == length


@pytest.mark.parametrize("length", [2_001, 50_000, 5_000_000])
def test_a_longer_line_is_cut(flip: Compare, length: int) -> None:
    done = flip("#" * length + "\n<after>\n")
    assert 1_900 <= done.out.count("#") <= 2_000
    assert "<after>" in done.out


def test_a_long_last_line_is_cut(flip: Compare) -> None:
    done = flip("<before>\n" + "#" * 5_000_000)
    assert 1_900 <= done.out.count("#") <= 2_000


def test_a_tail_is_at_most_64_kilobytes(flip: Compare) -> None:
    done = flip(("#" * 999 + "\n") * 1_000 + "<after>\n", "--tail", 1_000)
    assert 60_000 <= done.out.count("#") <= 65_536
    assert "<after>" in done.out


def test_many_short_lines_are_cut_to_64_kilobytes_too(flip: Compare) -> None:
    done = flip("#\n" * 100_000 + "<after>\n", "--tail", 200_000)
    assert 30_000 <= done.out.count("#") <= 32_768
    assert "<after>" in done.out


@pytest.mark.parametrize(
    ("content", "text"),
    [
        pytest.param(b"caf\xe9 <after>", "caf\ufffd <after>", id="Latin-1"),
        pytest.param(b"\xff\xfe\xc3 <after>", " <after>", id="no UTF-8 at all"),
        pytest.param(b"\xc3", "\ufffd", id="cut in a character"),
        pytest.param("\u65e5\u672c\u8a9e <after>".encode(), "\u65e5\u672c\u8a9e <after>", id="UTF-8"),
    ],
)
def test_a_log_that_is_no_utf8_is_shown_with_replacements(
    rollouts: Rollouts, run: Compare, content: bytes, text: str
) -> None:
    (rollouts.folder / "run.log").write_bytes(b"<before>\n" + content + b"\n")
    old = rollouts.write("old.jsonl", [{"task_id": "t", "reward": 1.0}])
    new = rollouts.write("new.jsonl", [{"task_id": "t", "reward": 0.0, "verifier_logs_dir": "run.log"}])
    done = run(old, new)
    assert (done.status, done.err) == (0, "")
    assert text in done.out
    assert "<before>" in done.out


@pytest.mark.parametrize("shift", range(3))
def test_a_tail_that_starts_within_a_character_shows_whole_lines(flip: Compare, shift: int) -> None:
    done = flip("\u65e5" * 200_000 + "." * shift + "\n" + "\u672c" * 500 + "\n")
    assert "\u672c" * 500 in done.out


def test_an_empty_log_file_makes_an_empty_tail(rollouts: Rollouts, run: Compare) -> None:
    (rollouts.folder / "run.log").touch()
    old = rollouts.write("old.jsonl", [{"task_id": "t", "reward": 1.0}])
    new = rollouts.write("new.jsonl", [{"task_id": "t", "reward": 0.0, "verifier_logs_dir": "run.log"}])
    done = run(old, new)
    assert (done.status, done.err) == (0, "")
