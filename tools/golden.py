"""Write the reports in tests/cases/golden/ anew: each is what the command prints for a case."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

_CASES = Path(__file__).resolve().parent.parent / "tests" / "cases"
REAL = _CASES / "real"
GOLDEN = _CASES / "golden"
FORMS = {"markdown": "md", "text": "txt", "html": "html"}
"""The forms of a report, with the ending of their files."""
_FIXED = re.compile(r"(<style>|<script>|sha256-)(.*?)(</style>|</script>|')", re.DOTALL)
"""What is the same in every HTML report: it has files and tests of its own."""
INPUTS = ("old.jsonl", "new.jsonl")

Rows = list[dict[str, Any]]


def _rows(rewards: str, **fields: Any) -> Rows:
    """A row for each digit, a reward in tenths; `-` is no row."""
    return [
        {"task_id": f"task-{number:02d}", "reward": int(tenths) / 9} | fields
        for number, tenths in enumerate(rewards, start=1)
        if tenths != "-"
    ]


def _no_change() -> tuple[Rows, Rows]:
    return _rows("909990099909"), _rows("909990099909")


def _one_flip() -> tuple[Rows, Rows]:
    old, new = _rows("909990099909"), _rows("909090099909")
    new[3] |= {"test_output": "collected 2 items\ntest_one PASSED\ntest_two FAILED\n\n1 failed, 1 passed in 0.42s\n"}
    return old, new


def _forty_flips() -> tuple[Rows, Rows]:
    old, new = _rows("9" * 40 + "0" * 20), _rows("0" * 25 + "3" * 15 + "0" * 20)
    for row in new[:40]:
        row["test_output"] = f"FAILED {row['task_id']}\n1 failed"
    return old, new


def _agent_errors() -> tuple[Rows, Rows]:
    old, new = _rows("999990000099"), _rows("900990000999")
    new[1]["error"] = "Traceback (most recent call last):\n  ...\nTimeoutError: the agent took more than 600 s"
    new[2]["response"] = {"metadata": {"agent_error_type": "ContextLengthExceeded"}}
    new[9]["failure_kind"] = "tests_failed"
    old[9]["error"] = "ConnectionResetError"
    return old, new


def _masks() -> tuple[Rows, Rows]:
    old, new = _rows("9" * 12), _rows("9" * 12)
    new[0] |= {"mask_sample": True}
    for row in (*new[1:4], old[2], old[4]):
        row |= {"mask_sample": True, "failure_kind": "container_lost"}
    new[5]["reward"] = None
    new[6]["reward"] = float("nan")
    new.append(new[7] | {"reward": None})
    return old, new


def _missing() -> tuple[Rows, Rows]:
    return _rows("9" * 14 + "----"), _rows("--" + "9" * 16)


def _nothing_joined() -> tuple[Rows, Rows]:
    return _rows("990"), [row | {"task_id": f"other-{at}"} for at, row in enumerate(_rows("900"))]


def _not_comparable() -> tuple[Rows, Rows]:
    old, new = (
        [row | {"task_id": f"family-{at % 2}", "_ng_task_index": at} for at, row in enumerate(_rows(rewards))]
        for rewards in ("909909909909", "999999000000")
    )
    return old, new


def _repeats() -> tuple[Rows, Rows]:
    old: Rows = []
    new: Rows = []
    for number, (before, after) in enumerate(
        zip(("99999999", "90909090", "00000000"), ("00000000", "90999090", "00000009"), strict=True)
    ):
        for name, side, rewards in (("code", old, before), ("shell", new, after)):
            side += [
                {
                    "_ng_task_id": {"taskset": ("code", "shell")[number % 2], "task_id": f"task-{number}"},
                    "reward": int(tenths) / 9,
                }
                | {"response": {"model": f"model-{name}", "usage": {"output_tokens": 100 + at}}}
                for at, tenths in enumerate(rewards)
            ]
    return old, new


def _redactions() -> tuple[Rows, Rows]:
    old, new = _rows("999"), _rows("009")
    token = "ghp_" + "0123456789abcdef" * 2 + "0123"
    new[0]["test_output"] = f"cloning with {token}\nfatal: not found"
    new[1]["error"] = f"push to https://bot:{'pass' + 'word1234'}@example.com failed with {token}"
    return old, new


def _hostile() -> tuple[Rows, Rows]:
    names = (
        "a|b `c` ``",
        "</summary></details><script>",
        "@octocat #1 owner/repo#2",
        "# x\n- y\r\n> z",
        "\u202egnp.exe \x1b[31m",
    )
    log = "```\n</details>\n<!-- x -->\n````\r\n\x1b[31mred\x1b[0m\n{{ 7 * 7 }}\n::error::x"
    old = [{"task_id": name, "reward": 1} for name in names]
    return old, [{"task_id": name, "reward": 0, "test_output": log, "error": name} for name in names]


MADE: dict[str, Callable[[], tuple[Rows, Rows]]] = {
    "no-change": _no_change,
    "one-flip": _one_flip,
    "forty-flips": _forty_flips,
    "agent-errors": _agent_errors,
    "masks-by-reason": _masks,
    "missing": _missing,
    "nothing-joined": _nothing_joined,
    "not-comparable": _not_comparable,
    "repeats-and-tasksets": _repeats,
    "redactions": _redactions,
    "hostile-text": _hostile,
}


def cases() -> list[str]:
    """The names of all cases: the readable pairs of real rollouts, then those made here."""
    expected = json.loads((REAL / "expected.json").read_text(encoding="utf-8"))
    return [*(name for name, wanted in expected.items() if wanted["exit"] == 0), *MADE]


def prepare(case: str, folder: Path) -> tuple[Path, list[str]]:
    """Where the command is run for this case, and with which inputs; made ones are written into `folder`."""
    if case not in MADE:
        return REAL, [f"{case}/{name}" for name in INPUTS]
    for name, rows in zip(INPUTS, MADE[case](), strict=True):
        (folder / name).write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return folder, list(INPUTS)


def golden_file(case: str, form: str) -> Path:
    """Where the report of a case is kept."""
    return GOLDEN / f"{case}.{FORMS[form]}"


def arguments(form: str) -> list[str]:
    """How the command is asked to print a form."""
    return ["--html", "-"] if form == "html" else ["--format", form]


def kept(form: str, report: str) -> str:
    """What is kept of a report: all of it, but for the style and the script of a page."""
    return _FIXED.sub(r"\1…\3", report) if form == "html" else report


def _reports() -> Iterator[tuple[Path, bytes]]:
    # Nothing of the environment: values of it might be taken for secrets.
    environment = {"PATH": os.environ.get("PATH", "")}
    for case in cases():
        with tempfile.TemporaryDirectory() as folder:
            place, inputs = prepare(case, Path(folder))
            for form in FORMS:
                command = [sys.executable, "-m", "rollout_compare", *inputs, *arguments(form)]
                done = subprocess.run(command, cwd=place, env=environment, capture_output=True, check=True)
                yield golden_file(case, form), kept(form, done.stdout.decode("utf-8")).encode("utf-8")


def main() -> None:
    """Replace all files."""
    reports = dict(_reports())
    shutil.rmtree(GOLDEN, ignore_errors=True)
    GOLDEN.mkdir()
    for file, report in reports.items():
        file.write_bytes(report)


if __name__ == "__main__":
    main()
