"""Which lines are taken to tell of one cause: lines labelled by hand, and what is left out of a line or stays."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

import pytest

from tests.conftest import Json, Rollouts, Summary
from tests.places import CASES

Signatures = Callable[..., list[str]]
Label = tuple[str, str]


@pytest.fixture
def signatures(rollouts: Rollouts, summary: Summary) -> Signatures:
    """The cause of a task for each of these lines, which its row gives as the reason of its failure."""

    def call(*lines: str, names: list[str] | None = None) -> list[str]:
        tasks = names or [f"case-{chr(97 + at // 26)}{chr(97 + at % 26)}" for at in range(len(lines))]
        old = rollouts.write("old.jsonl", [{"task_id": name, "reward": 1} for name in tasks])
        rows: list[Json] = [
            {"task_id": name, "reward": 0, "failure_reason": line} for name, line in zip(tasks, lines, strict=True)
        ]
        causes = {task["task"]: task["cause"] for task in summary(old, rollouts.write("new.jsonl", rows))["tasks"]}
        return [causes[name] for name in tasks]

    return call


def labelled(file: str) -> list[tuple[Label, str]]:
    """Lines with their labels: the kind, and what they tell of."""
    rows = [row.split("\t") for row in (CASES / "cause-lines" / file).read_text(encoding="utf-8").splitlines()]
    return [((kind, cause), line) for kind, cause, line in rows]


def test_there_are_enough_lines_of_enough_kinds() -> None:
    lines = labelled("lines.tsv")
    assert len(lines) >= 100
    assert len({kind for (kind, _), _ in lines}) >= 20


@pytest.mark.parametrize(("file", "exactly", "merged"), [("lines.tsv", 0.98, 0.02), ("unseen.tsv", 0.98, 0.02)])
def test_labelled_lines_are_grouped_as_their_labels_say(
    signatures: Signatures, file: str, exactly: float, merged: float
) -> None:
    lines = labelled(file)
    found = signatures(*(line for _, line in lines))
    by_label: dict[Label, set[int]] = defaultdict(set)
    by_signature: dict[str, set[int]] = defaultdict(set)
    for at, ((label, _), signature) in enumerate(zip(lines, found, strict=True)):
        by_label[label].add(at)
        by_signature[signature].add(at)
    places = range(len(lines))
    is_right = [by_signature[found[at]] == by_label[lines[at][0]] for at in places]
    is_merged = [not by_signature[found[at]] <= by_label[lines[at][0]] for at in places]
    assert sum(is_right) >= exactly * len(lines)
    assert sum(is_merged) <= merged * len(lines)


@pytest.mark.parametrize(
    ("one", "other", "signature"),
    [
        ("try 3 of 40 took 0.33 s", "try 17 of 40 took 12.5 s", "try … of … took …"),
        ("read -1.5e-07 of 1,024", "read 2 of 64", "read … of …"),
        ("used 2.00 GiB of it", "used 512.00 MiB of it", "used … of it"),
        (
            "job 3f2b7c1e-9a4d-4c8b-8f10-2d7e5a6b9c01 died",
            "job b81f0c22-0d3e-4e5f-9a7b-6c5d4e3f2a10 died",
            "job … died",
        ),
        ("commit f3b2a1c4d5e6 is gone", "commit 00aa41de99bb is gone", "commit … is gone"),
        ("late at 2026-11-30T22:14:05Z again", "late at 2026-12-01 03:00:59,120 again", "late at … again"),
        ("late on Mon, 30 Nov 2026 22:14:05 again", "late on Tue, 1 Dec 2026 03:00:59 again", "late on … again"),
        ("no file '/tmp/w0/9f3e.bin' here", "no file '/var/tmp/x/y.bin' here", "no file '…' here"),
        ("no file /home/ada/a.txt here", "no file /Users/kim/b.txt here", "no file … here"),
        ("no file '/root/a.txt' here", "no file '~/b.txt' here", "no file '…' here"),
        (r"no file 'C:\Users\ada\a.txt' here", r"no file 'D:\Users\kim\b.txt' here", "no file '…' here"),
        ("<lock at 0x7f3a1c0b2d40> is held", "<lock at 0x10a3b5e40> is held", "<lock at …> is held"),
        ("Session@1b6d3586 is closed", "Session@4554617c is closed", "Session… is closed"),
        ("host node3 is gone", "host node12 is gone", "host node… is gone"),
        ("pod env-7d9f8b6c5-x2kqp is gone", "pod env-5c6b7d8e9-zz81a is gone", "pod env-… is gone"),
        ("get https://a.example/v1/grade?run=77 failed", "get https://a.example/v1/grade?run=4 failed", None),
        ("[1, 2] is not [1, 2, 3]", "[4] is not []", "[…] is not […]"),
        ("1 validation error for Order", "3 validation errors for Order", "… validation error for Order"),
        ("run.sh: line 2: frob: command not found", "/bin/sh: 1: frob: not found", "frob: command not found"),
        ("main.c:3:5: error: bad", "src/other.c:118:9: error: bad", "error: bad"),
        ("Caused by: java.io.IOException: gone", "java.io.IOException: gone", "java.io.IOException: gone"),
        ("two  blanks\tand one", "two blanks and one", "two blanks and one"),
    ],
)
def test_what_differs_from_run_to_run_is_left_out(
    signatures: Signatures, one: str, other: str, signature: str | None
) -> None:
    found = signatures(one, other)
    assert found[0] == found[1]
    assert signature is None or found[0] == signature


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("No module named 'attrs'", "No module named 'click'"),
        ("KeyError: 'price'", "KeyError: 'amount'"),
        ("exited with code 137", "exited with code 1"),
        ("HTTP 503 from the judge", "HTTP 404 from the judge"),
        ("OSError: [Errno 28] odd", "OSError: [Errno 12] odd"),
        ("error TS2304: odd", "error TS2322: odd"),
        ("error[E0308]: odd", "error[E0382]: odd"),
        ("no file '/app/a.json' here", "no file '/app/b.json' here"),
        ("no file 'tmp/a.json' here", "no file 'tmp/b.json' here"),
        ("column float64 is odd", "column float32 is odd"),
        ("the facade is broken", "the decade is broken"),
        ("name 'boto3' is odd", "name 'boto4' is odd"),
        ("404", "500"),
    ],
)
def test_what_tells_causes_apart_stays(signatures: Signatures, one: str, other: str) -> None:
    assert len(set(signatures(one, other))) == 2


def test_the_name_of_its_own_task_is_left_out(signatures: Signatures) -> None:
    names = ["copper", "silver-x", "set/golden"]
    lines = ["nothing to do for 'copper'", 'nothing to do for "silver-x"', "nothing to do for `golden`"]
    assert [line.replace('"', "'").replace("`", "'") for line in signatures(*lines, names=names)] == [
        "nothing to do for '…'"
    ] * 3
    assert signatures("t-one failed: odd", "t-two failed: odd", names=["t-one", "t-two"]) == ["… failed: odd"] * 2


def test_names_of_other_tasks_and_words_that_are_names_stay(signatures: Signatures) -> None:
    lines = ["nothing to do for 'silver'", "that is no list", "TypeError: list is odd", "fix-git-more failed"]
    assert signatures(*lines, names=["copper", "list", "TypeError", "fix-git"]) == lines


def test_a_signature_has_300_characters_at_most(signatures: Signatures) -> None:
    (found,) = signatures("word " * 500)
    assert len(found) <= 300
