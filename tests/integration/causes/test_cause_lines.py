"""The line in which a losing row ended: which line of a log, and what counts where the log has none."""

from __future__ import annotations

import gzip
import time
from pathlib import Path

import pytest

from tests.conftest import Compare, Json, Rollouts, Summary
from tests.integration.causes.conftest import Flip, Pair, ctrf

# Logs as runtimes and test runners print them, and the line of each that says how it ended.

PYTEST = """
    def test_bad():
>       assert len(x) == 3, "need three"
E       AssertionError: need three
E       assert two == three
E        +  where two = len([])

test_a.py:5: AssertionError
____________ test_other ____________
E   fixture 'client' not found
E
E   use 'pytest --fixtures' for help
======== short test summary info ========
FAILED test_a.py::test_bad - AssertionError: need th...
"""
CHAINED = """Traceback (most recent call last):
  File "/app/x.py", line 2, in <module>
    f()
KeyError: 'a'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/app/x.py", line 4, in <module>
    g()
    ~^^
pkg.errors.OddlyNamed: no such thing
cleaning up
"""
GROUP = """  + Exception Group Traceback (most recent call last):
  |   File "x.py", line one, in <module>
  | ExceptionGroup: several (two sub-exceptions)
  +-+---------------- one ----------------
    | ValueError: inside
    +------------------------------------
"""
JAVA = """Exception in thread "main" java.lang.IllegalStateException: not open
\tat shop.Cart.add(Cart.java:12)
Caused by: java.io.IOException: disk is gone
\tat shop.Disk.read(Disk.java:7)
\t... many more
"""
NODE = """node:internal/modules/cjs/loader:1228
  throw err;
  ^

Error: Cannot find module 'express'
Require stack:
- /srv/app.js
    at Module._load (node:internal/modules/cjs/loader:1023:27) {
  code: 'MODULE_NOT_FOUND'
}

Node.js v22.1.0
"""
GO = "panic: assignment to entry in nil map\n\ngoroutine 1 [running]:\nmain.main()\n\t/srv/main.go:4 +0x1d\n"
RUST = (
    "thread 'main' panicked at src/main.rs:5:10:\nno such account\nnote: run with `RUST_BACKTRACE=1`\nerror: failed\n"
)
OLD_RUST = "thread 'main' panicked at 'no such account', src/main.rs:5:10\n"
DEADLOCK = "fatal error: all goroutines are asleep - deadlock!"
ENV = "/usr/bin/env: 'python': No such file or directory"
COLLECTION = "ModuleNotFoundError: No module named 'numpy'"


@pytest.mark.parametrize(
    ("log", "cause"),
    [
        pytest.param(PYTEST, "fixture 'client' not found", id="the first E line of pytest's last failure"),
        pytest.param("FAILED test_a.py::x - ValueError: cut...\n", "ValueError: cut...", id="pytest's summary alone"),
        pytest.param(f"ERROR tests/test_a.py - {COLLECTION}\n", COLLECTION, id="a collection error"),
        pytest.param(CHAINED, "pkg.errors.OddlyNamed: no such thing", id="a chained traceback, an odd name"),
        pytest.param(GROUP, "ValueError: inside", id="a group of exceptions"),
        pytest.param(JAVA, "java.io.IOException: disk is gone", id="Java"),
        pytest.param("[ERROR] org.junit.ComparisonFailure: nope\n", "org.junit.ComparisonFailure: nope", id="Maven"),
        pytest.param(NODE, "Error: Cannot find module 'express'", id="Node"),
        pytest.param("     AssertionError [ERR_ASSERTION]: no\n", "AssertionError [ERR_ASSERTION]: no", id="Mocha"),
        pytest.param("Uncaught TypeError: x is not a function\n", "TypeError: x is not a function", id="a browser"),
        pytest.param(GO, "panic: assignment to entry in nil map", id="Go"),
        pytest.param(f"{DEADLOCK}\n", DEADLOCK, id="Go's own"),
        pytest.param(RUST, "panicked: no such account", id="Rust"),
        pytest.param(OLD_RUST, "panicked: no such account", id="older Rust"),
        pytest.param("/srv/run.sh: line 2: frob: command not found\nreward\n", "frob: command not found", id="bash"),
        pytest.param("/bin/sh: 1: frob: not found\n", "frob: command not found", id="dash"),
        pytest.param("zsh: command not found: frob\n", "frob: command not found", id="zsh"),
        pytest.param(f"{ENV}\n", ENV, id="env"),
        pytest.param("Unhandled exception. System.XException: no\n", "System.XException: no", id=".NET"),
        pytest.param(
            "subprocess.TimeoutExpired: too late\nbye\n", "subprocess.TimeoutExpired: too late", id="no traceback"
        ),
        pytest.param("KeyboardInterrupt\n", "KeyboardInterrupt", id="without a message"),
        pytest.param(
            "2026-01-01 10:00:00,123 ERROR ValueError: bad\n", "ValueError: bad", id="behind a time and a level"
        ),
        pytest.param("ERROR:shop.cart:ValueError: bad\n", "ValueError: bad", id="behind a logger's name"),
        pytest.param("app_1  | ValueError: bad\n", "ValueError: bad", id="behind a container's name"),
        pytest.param("\x1b[1m\x1b[31mE   ValueError: bad\x1b[0m\n", "ValueError: bad", id="in colours"),
        pytest.param("10%\r50%\rValueError: bad\n", "ValueError: bad", id="behind a return"),
        pytest.param("KeyError: 'a'\r\nValueError: bad\r\nbye\r\n", "ValueError: bad", id="Windows line ends"),
    ],
)
def test_the_last_line_of_a_log_that_names_an_exception(flip: Flip, log: str, cause: str) -> None:
    assert flip({}, {"test-stdout.txt": log, "failure_reason": "not this"})["cause"] == cause


@pytest.mark.parametrize(
    "log",
    [
        "0 errors\nbye",
        "Error: 0\nFailure: 3 in all\nno Error",
        "No Exception was raised",
        "Tests run: 3, Failures: 1, Errors: 0, Skipped: 0",
        "make: *** [test] Error 1",
        "12 passed, 1 failed in 3.2s",
        "test_a.py:5: AssertionError",
        "    raise ValueError('bad')\n    except KeyError: pass",
        "E is for energy",
        "INFO retrying after ValueError: bad",
        "the panic: is over",
        "/app/x.py:3: DeprecationWarning: old",
        '{"error": "ValueError: bad"}',
        "Errors:\n  none",
        "command not found is what a shell says",
        "",
    ],
)
def test_what_is_no_exception_line(flip: Flip, log: str) -> None:
    assert flip({}, {"test-stdout.txt": log})["cause"] is None


@pytest.mark.parametrize(
    ("log", "cause"),
    [
        ("Segmentation fault (core dumped)\nreward 0\n", "Segmentation fault"),
        ("Killed\n", "Killed"),
        ("Killed the old server first\n", None),
        (
            "main.cpp:12:10: fatal error: a/b.hpp: No such file\nmain.cpp:13:1: error: more\n",
            "fatal error: a/b.hpp: No such file",
        ),
        ("src/cart.ts(3,5): error TS2304: Cannot find name 'foo'.\n", "error TS2304: Cannot find name 'foo'."),
        ("error[E0308]: mismatched types\n  --> src/main.rs\n", "error[E0308]: mismatched types"),
        ("./main.go:5:2: undefined: foo\n", "undefined: foo"),
        ("curl: (22) The requested URL returned error: 404\n", "curl: (…) The requested URL returned error: 404"),
        ("step 3 timed out after 600 s\n", "step … timed out after …"),
        ("src/cart.ts: 3 errors: see above\n", None),
        ("error: none\n", None),
    ],
)
def test_a_crash_or_a_failed_build_counts_where_nothing_else_tells(flip: Flip, log: str, cause: str | None) -> None:
    assert flip({}, {"test-stdout.txt": log})["cause"] == cause
    assert flip({}, {"test-stdout.txt": log, "failure_kind": "verifier_failed"})["cause"] == "verifier_failed"


# What counts, in this order

LAST = {
    "ctrf.json": ctrf(x="failed: of the test"),
    "test_output": "ValueError: of the log",
    "failure_reason": "of the reason",
    "error": "of the error",
    "failure_kind": "of_the_kind",
    "response": {"metadata": {"agent_error_type": "of the agent"}},
}
SAID = (
    *("of the test", "ValueError: of the log", "of the reason", "of the error", "of_the_kind"),
    *("agent_error_type=of the agent", None),
)


@pytest.mark.parametrize("missing", range(len(SAID)))
def test_what_comes_first_counts(flip: Flip, missing: int) -> None:
    assert flip({"ctrf.json": ctrf(x="passed")}, dict(list(LAST.items())[missing:]))["cause"] == SAID[missing]


@pytest.mark.parametrize("field", ["test_output", "verifier_stdout", "build_output", "details"])
def test_a_field_of_the_row_is_searched_where_there_is_no_log(flip: Flip, field: str) -> None:
    assert flip({}, {field: "start\nValueError: bad\nend"})["cause"] == "ValueError: bad"


def test_texts_within_a_field_are_searched(flip: Flip) -> None:
    first = "Traceback (most recent call last):\n  File x\nAssertionError: one"
    details = {"test_a": first, "rest": [{"deep": "KeyError: 'b'\nbye"}]}
    assert flip({}, {"details": details})["cause"] == "KeyError: 'b'"


@pytest.mark.parametrize(
    ("fields", "cause"),
    [
        ({"failure_reason": "first line\nsecond line"}, "first line"),
        ({"failure_reason": "Traceback (most recent call last):\n  File x\nValueError: bad"}, "ValueError: bad"),
        ({"failure_reason": {"type": "Odd", "message": "too many requests"}}, "too many requests"),
        ({"failure_reason": ["a", "b"]}, '["a", "b"]'),
        ({"error": "stopped\nlast line"}, "last line"),
        ({"error": "MemoryError: heap is full\nbye"}, "MemoryError: heap is full"),
        ({"error": {"error": {"message": "nested"}}}, "nested"),
    ],
)
def test_the_line_of_a_reason_or_an_error(flip: Flip, fields: Json, cause: str) -> None:
    assert flip({}, fields)["cause"] == cause


@pytest.mark.parametrize("nothing", ["", " ", "none", "None", "NULL", "n/a", "-", None])
def test_a_reason_that_says_nothing_does_not_count(flip: Flip, nothing: str | None) -> None:
    task = flip({}, {"failure_reason": nothing, "error": "of the error", "failure_kind": "odd"})
    assert (task["cause"], task["new"]["failure_message"]) == ("of the error", None)
    assert task["verifier_output"]["source"] == "row field error"


def test_the_log_counts_when_the_first_broken_test_has_no_message(flip: Flip) -> None:
    new = {
        "ctrf.json": ctrf(a="failed: as before", b="failed", c="failed: later"),
        "test_output": "ValueError: of the log",
    }
    assert flip({"ctrf.json": ctrf(a="failed: same", b="passed", c="passed")}, new)["cause"] == "ValueError: of the log"


def test_an_improved_task_has_the_line_of_its_old_row(pair: Pair, summary: Summary) -> None:
    old = [{"task_id": "t", "reward": 0, "test_output": "KeyError: 'before'"}]
    (task,) = summary(*pair(old, [{"task_id": "t", "reward": 1, "test_output": "ValueError: after"}]))["tasks"]
    assert task["cause"] == "KeyError: 'before'"


def test_an_identical_task_has_no_cause(pair: Pair, summary: Summary) -> None:
    rows = [{"task_id": "t", "reward": 0, "test_output": "KeyError: 'a'"}]
    told = summary(*pair(rows, [{**rows[0], "test_output": "KeyError: 'b'"}]))
    assert (told["tasks"][0]["cause"], told["causes"]) == (None, [])


LOST = {"reward": 0, "mask_sample": True, "failure_kind": "sandbox_lost"}


@pytest.mark.parametrize(
    ("new", "failures", "cause"),
    [
        ({"reward": None, "failure_reason": "image could not be pulled\nlong story"}, [], "image could not be pulled"),
        (LOST | {"error": "stopped\nRateLimitError: full"}, [], "RateLimitError: full"),
        (LOST, [], "sandbox_lost"),
        ({"reward": None}, [], None),
        (None, [{"_ng_failure_class": "judge_failed", "_ng_failure_message": "no verdict"}], "no verdict"),
    ],
)
def test_a_masked_task_has_what_its_rows_say(
    rollouts: Rollouts, summary: Summary, new: Json | None, failures: list[Json], cause: str | None
) -> None:
    keys = {"task_id": "t", "_ng_task_index": 0, "_ng_rollout_index": 0}
    other = {"task_id": "u", "reward": 1, "_ng_task_index": 1, "_ng_rollout_index": 0}
    old = rollouts.write("old.jsonl", [keys | {"reward": 1}, other])
    rows = [other] if new is None else [keys | new, other]
    path = rollouts.write("new.jsonl", rows, [keys | record for record in failures])
    told = {task["task"]: task for task in summary(old, path)["tasks"]}
    assert told["t"]["category"] == "masked"
    assert told["t"]["cause"] == cause


# Long logs

FILLER = "2026-01-01T00:00:00Z INFO step finished, nothing to tell of here\n"


def test_an_exception_is_found_within_the_last_mib(flip: Flip) -> None:
    log = FILLER * 5_000 + "ValueError: deep down\n" + FILLER * 12_000
    assert len(log) - log.index("ValueError") < 1 << 20 < len(log)
    assert flip({}, {"test-stdout.txt": log})["cause"] == "ValueError: deep down"


def test_an_exception_further_up_is_not_found(flip: Flip) -> None:
    assert flip({}, {"test-stdout.txt": "ValueError: long ago\n" + FILLER * 17_000})["cause"] is None


def test_a_traceback_of_many_lines_is_read_to_its_end(flip: Flip) -> None:
    frames = '  File "x.py", line 3, in f\n    f()\n' * 25
    log = FILLER * 500 + f"Traceback (most recent call last):\n{frames}pkg.OddlyNamed: bad\n" + FILLER * 20
    assert flip({}, {"test-stdout.txt": log})["cause"] == "pkg.OddlyNamed: bad"


@pytest.mark.parametrize(
    "log",
    [
        pytest.param("Error" * 800_000, id="one line of 4 MB"),
        pytest.param(" " * 4_000_000 + "\n", id="blanks"),
        pytest.param("a." * 2_000_000 + "Error: x", id="dots"),
        pytest.param("\n" * 2_000_000, id="line ends"),
        pytest.param(("E" + " " * 500 + "\n") * 3_000, id="E and blanks"),
        pytest.param(("sh: " * 120 + "not found\n") * 2_000, id="shells"),
        pytest.param("Traceback (most recent call last):\n" * 30_000, id="tracebacks"),
        pytest.param("Errors: none, Exception: none, panic: none, Killed, error: \n" * 20_000, id="hints only"),
        pytest.param("\x1b[A\x1b[K" * 200_000, id="cursor moves"),
        pytest.param("\x00\xff\ufffe\u202e" * 200_000, id="odd characters"),
    ],
)
def test_odd_logs_are_read_in_little_time(flip: Flip, log: str) -> None:
    began = time.process_time()
    assert "cause" in flip({}, {"test-stdout.txt": log})
    # A pattern that tries again and again would take minutes.
    assert time.process_time() - began < 10


# Secrets

TOKEN = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7cF0iL3oR6"
BODY = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7"
KEY = f"-----BEGIN PRIVATE KEY-----\n{BODY}\n-----END PRIVATE KEY-----"


@pytest.mark.parametrize(
    "new",
    [
        {"test_output": f"ValueError: {TOKEN} is bad"},
        {"failure_reason": f"{TOKEN} is bad"},
        {"failure_reason": "x" * 290 + " " + TOKEN},
        {"error": {"message": f"{TOKEN} is bad"}},
        {"ctrf.json": ctrf(x=f"failed: {TOKEN} is bad")},
        {"ctrf.json": ctrf(x="failed: " + "x" * 290 + " " + TOKEN)},
        {"test_output": f"ValueError: {KEY}"},
        {"failure_reason": f"{KEY} is bad"},
        {"parser_results": {f"test_{TOKEN}": "failed"}},
    ],
)
def test_no_secret_and_no_part_of_one_is_told(flip: Flip, tmp_path: Path, run: Compare, new: Json) -> None:
    old = {
        "ctrf.json": ctrf(x="passed"),
        "reward_components": {TOKEN: 1},
        "parser_results": {f"test_{TOKEN}": "passed"},
    }
    flip(old, new | {"reward_components": {TOKEN: 0.5}})
    outputs = [tmp_path / form for form in ("json", "markdown", "html")]
    done = run(
        tmp_path / "old.jsonl", tmp_path / "new.jsonl", *(part for path in outputs for part in (f"--{path.name}", path))
    )
    for told in (done.out, *(path.read_text(encoding="utf-8") for path in outputs)):
        assert "[redacted]" in told
        assert "aB3dE6" not in told
        assert "MIIEvQ" not in told


def test_packed_inputs_tell_the_same(pair: Pair, summary: Summary) -> None:
    said: list[Json] = [
        {"test_output": "ValueError: bad"},
        {"failure_reason": "gave up"},
        {"error": {"message": "late"}},
        {},
    ]
    rows = [{"task_id": f"t{at}", "reward": 0, **fields} for at, fields in enumerate(said)]
    old, new = pair([{"task_id": f"t{at}", "reward": 1} for at in range(4)], rows)
    packed = new.with_suffix(".jsonl.gz")
    packed.write_bytes(gzip.compress(new.read_bytes()))
    told = [[task["cause"] for task in summary(old, path)["tasks"]] for path in (new, packed)]
    assert told == [["ValueError: bad", "gave up", "late", None]] * 2
