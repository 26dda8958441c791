"""Deterministic pairs of rollout files for the benchmarks, with the counts a comparison of them must report.

    python benchmarks/workload.py SHAPE FOLDER [--factor F]

Writes FOLDER/old.jsonl, FOLDER/new.jsonl and, last, FOLDER/plan.json. The counts in plan.json come from the
plan of the tasks, never from the files. Same shape and factor give the same bytes anywhere; rows stream to
disk, so memory stays flat whatever the size. A factor below 1 makes fewer tasks of the same kind of row.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

GENERATOR_VERSION = 1  # part of every cache key: raise it whenever the bytes or the plan change

COUNT_NAMES = (
    "tasks",
    "identical",
    "flipped",
    "flipped_old_win",
    "flipped_new_win",
    "flipped_agent_error",
    "masked",
    "masked_old",
    "masked_new",
    "missing",
    "missing_old_only",
    "missing_new_only",
)

_MASK64 = (1 << 64) - 1
_WRITE_BUFFER = 1 << 20
_TEXT_POOL_BYTES = 3 << 20
_TOKEN_POOL_BYTES = 2 << 20
_SIDES = (b"old", b"new")
_SMALLEST_ITEM = 300  # bytes: an output item has about half of it in frame
_WORDS = (
    "agent reads the failing module then edits a helper and reruns its tests because result value expected",
    "actual assert import return class branch commit patch layer cache index query column schema request",
    "response timeout retry worker queue container sandbox verifier reward policy rollout sample attempt",
)
_RARE_WORDS = (
    r"\n", r"done.\n", r"\"quoted\"", r"C:\\temp", r"\tindented", r"\u001b[31mred", "—", "déjà", "测试", "🙂",
)  # fmt: skip


@dataclass(frozen=True)
class Shape:
    """One kind of file. Shares are in thousandths of the tasks; sizes are bytes of one side's mean row."""

    name: str
    about: str
    tasks: int
    repeats: int
    row_bytes: int
    flipped: int
    agent_error: int
    masked: int
    missing: int
    log_lines: int = 30
    token_lists: bool = False
    thin: bool = False


SHAPES = {
    shape.name: shape
    for shape in (
        Shape("M", "agentic trajectories, 22 KB a row", 5_000, 4, 22_900, 50, 10, 10, 5),
        Shape("L1", "trajectories with long token-id lists, 604 KB a row", 250, 4, 604_000, 50, 10, 10, 5,
              token_lists=True),
        Shape("thin", "rows of 300 bytes, one a task", 1_000_000, 1, 300, 5, 1, 1, 1, log_lines=0, thin=True),
        Shape("small", "30 rows of 10 KB, a file of everyday size", 30, 1, 10_000, 100, 50, 50, 40),
        Shape("flips", "every task a flip with an embedded log of 60 lines", 10_000, 1, 6_000, 1_000, 0, 0, 0,
              log_lines=60),
    )
}  # fmt: skip


class Row(NamedTuple):  # a million of them are made: a frozen dataclass costs three times as much
    """What the plan says of one row of one side."""

    task: int
    repeat: int
    side: int  # 0 = old, 1 = new
    reward: bytes
    masked: bool
    agent_error: bool


@dataclass
class SideTotals:
    """What was written of one side; bytes and largest_row count the line end too."""

    bytes: int = 0
    rows: int = 0
    masked_rows: int = 0
    largest_row: int = 0


@dataclass
class Plan:
    """The rows of both sides task by task, and the counts that follow from handing them out."""

    shape: Shape
    tasks: int
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNT_NAMES, 0))

    def rows(self) -> Iterator[list[Row]]:
        """Yield the rows of one task, old side first. The counts are complete when this is exhausted."""
        shape, counts = self.shape, self.counts
        flip_below = shape.flipped
        error_below = flip_below + shape.agent_error
        masked_below = error_below + shape.masked
        missing_below = masked_below + shape.missing
        for task in range(self.tasks):
            # 389 has no factor in common with 1000: every thousand tasks get exactly the shape's shares.
            slot = task * 389 % 1000
            odds = _mix(task)
            counts["tasks"] += 1
            first = [odds >> repeat & 1 for repeat in range(shape.repeats)]
            chosen = (odds >> 32) % shape.repeats
            coin = odds >> 48 & 1
            if slot < error_below:
                winner = 1 - first[chosen]  # a reward of 0 that becomes 1 makes the new side win
                failing = 1 - winner if slot >= flip_below else None
                if failing is None:
                    counts["flipped"] += 1
                    counts["flipped_new_win" if winner else "flipped_old_win"] += 1
                else:
                    counts["flipped_agent_error"] += 1
                second = [1 - r if i == chosen else r for i, r in enumerate(first)]
                yield self._task(task, (first, second), error=(failing, chosen))
            elif slot < masked_below:
                counts["masked"] += 1
                counts["masked_new" if coin else "masked_old"] += 1
                yield self._task(task, (first, first), mask=(coin, chosen))
            elif slot < missing_below:
                counts["missing"] += 1
                counts["missing_new_only" if coin else "missing_old_only"] += 1
                yield self._task(task, ([], first) if coin else (first, []))
            else:
                counts["identical"] += 1
                yield self._task(task, (first, first))

    @staticmethod
    def _task(
        task: int,
        rewards: tuple[list[int], list[int]],
        *,
        mask: tuple[int | None, int] = (None, 0),
        error: tuple[int | None, int] = (None, 0),
    ) -> list[Row]:
        return [
            Row(task, i, side, b"1.0" if reward else b"0.0", (side, i) == mask, (side, i) == error)
            for side in (0, 1)
            for i, reward in enumerate(rewards[side])
        ]


class RowText:
    """Builds the bytes of rows by slicing two pools of ready-made JSON text."""

    def __init__(self, shape: Shape) -> None:
        """Make the pools: prose of escaped words, and (for token lists) comma-separated numbers."""
        rng = random.Random(20240229)
        self.shape = shape
        self.text = _word_pool(rng, 64_000 if shape.thin else _TEXT_POOL_BYTES)
        self.tokens = b""
        self.log_probs = b""
        if shape.token_lists:
            ids = rng.choices(range(151_643), k=_TOKEN_POOL_BYTES // 6)
            self.tokens = ",".join(map(str, ids)).encode()
            probs = rng.choices([f"-{n / 1e6:.6f}" for n in range(1, 4_000_000, 37)], k=_TOKEN_POOL_BYTES // 10)
            self.log_probs = ",".join(probs).encode()
        passed = (
            f"tests/test_{i:03d}.py::test_case_{i} PASSED [{(i + 1) * 100 // max(1, shape.log_lines):3d}%]\\n"
            for i in range(shape.log_lines - 3)
        )
        self.passing_lines = "".join(passed).encode()

    def thin(self, row: Row) -> bytes:
        """Give a row of about 300 bytes."""
        start = row.task * 61 % 60_000
        prompt = self.text[self.text.index(b" ", start) + 1 : self.text.index(b" ", start + 36)]
        metadata = b'"agent_error_type":"Timeout"' if row.agent_error else b""
        masked, kind = (b"true", b'"sandbox_lost"') if row.masked else (b"false", b"null")
        return (
            b'{"responses_create_params":{"input":[{"role":"user","content":"Task %d: %b"}]},'
            b'"response":{"id":"resp_%b_%d","output":[],"metadata":{%b}},"reward":%b,"mask_sample":%b,'
            b'"failure_kind":%b,"task_id":"thin-%07d","_ng_task_index":%d,"_ng_rollout_index":%d}\n'
        ) % (
            row.task,
            prompt,
            _SIDES[row.side],
            row.task,
            metadata,
            row.reward,
            masked,
            kind,
            row.task,
            row.task,
            row.repeat,
        )

    def whole(self, row: Row) -> bytes:
        """Give a row with a whole trajectory, of half to one and a half times the shape's mean size."""
        shape = self.shape
        odds = _mix(((row.task << 8 | row.repeat) << 1 | row.side) + (1 << 40))
        size = int(shape.row_bytes * (0.5 + (odds & 0xFFFF) / 0x10000))
        # The prompt is of the task alone: both sides and all repeats ask the same.
        prompt = self._prose(_mix(row.task + (1 << 41)), min(2_000, shape.row_bytes // 6))
        log = self._log(row)
        budget = size - len(prompt) - len(log) - 900
        metadata = b'"agent_error_type":"AgentTimeoutError"' if row.agent_error else b'"attempt":"1"'
        masked, kind = (b"true", b'"sandbox_lost"') if row.masked else (b"false", b"null")
        side, task = _SIDES[row.side], row.task
        return b"".join(
            (
                b'{"responses_create_params":{"input":[{"role":"user","content":"Task %d: ' % task,
                prompt,
                b'"}],"temperature":1.0,"max_output_tokens":16384,"tools":[{"type":"function","name":"shell",'
                b'"description":"Run a command","parameters":{"type":"object","properties":{"command":'
                b'{"type":"string"}},"required":["command"]},"strict":true}]},"response":{"id":"resp_%b_%d_%d",'
                % (side, task, row.repeat),
                b'"created_at":1780000000.0,"model":"policy-%b","object":"response","output":[' % side,
                b",".join(self._items(odds, budget)),
                b'],"parallel_tool_calls":true,"tool_choice":"auto","status":"completed","metadata":{%b},' % metadata,
                b'"usage":{"input_tokens":%d,"output_tokens":%d,"total_tokens":%d}},'
                % (size // 8, size // 5, size // 3),
                b'"reward":%b,"mask_sample":%b,"failure_kind":%b,"task_id":"suite-%d__task-%06d",'
                % (row.reward, masked, kind, task % 7, task),
                b'"test_output":"',
                log,
                b'","_ng_task_index":%d,"_ng_rollout_index":%d,' % (task, row.repeat),
                b'"agent_ref":{"type":"responses_api_agents","name":"agent"}}\n',
            )
        )

    def _items(self, odds: int, budget: int) -> Iterator[bytes]:
        step = 150_000 if self.shape.token_lists else 3_200
        turn = 0
        while budget > _SMALLEST_ITEM:
            size = min(step, budget)
            budget -= size
            at = _mix(odds + turn)
            yield (self._token_message(at, size - 250) if self.shape.token_lists else self._item(at, turn, size - 150))
            turn += 1

    def _item(self, at: int, turn: int, size: int) -> bytes:
        text = self._prose(at, size)
        match turn % 4:
            case 0:
                item = b'{"id":"rs_%d","type":"reasoning","summary":[{"type":"summary_text","text":"%b"}]}'
            case 1:
                item = b'{"type":"function_call","call_id":"call_%d","name":"shell","arguments":"%b"}'
            case 2:
                item = b'{"type":"function_call_output","call_id":"call_%d","output":"%b"}'
            case _:
                item = (
                    b'{"id":"msg_%d","type":"message","role":"assistant","status":"completed",'
                    b'"content":[{"type":"output_text","text":"%b","annotations":[]}]}'
                )
        return item % (turn, text)

    def _token_message(self, at: int, size: int) -> bytes:
        return (
            b'{"type":"message","role":"assistant","content":[{"type":"output_text","text":"%b","annotations":[]}],'
            b'"prompt_token_ids":[%b],"generation_token_ids":[%b],"generation_log_probs":[%b]}'
        ) % (
            self._prose(at, max(100, size // 20)),
            _between(self.tokens, b",", at, size * 14 // 20),
            _between(self.tokens, b",", at >> 7, size * 2 // 20),
            _between(self.log_probs, b",", at >> 3, size * 3 // 20),
        )

    def _log(self, row: Row) -> bytes:
        verdict = b"1 failed" if row.reward == b"0.0" else b"all passed"
        end = b"E   AssertionError: task %d differs" % row.task if row.reward == b"0.0" else b"ok"
        return self.passing_lines + b"%b\\n%b (%b)\\ndone\\n" % (end, verdict, _SIDES[row.side])

    def _prose(self, at: int, size: int) -> bytes:
        return _between(self.text, b" ", at, size)


def write_workload(shape: Shape, factor: float, folder: Path) -> dict[str, object]:
    """Write both sides and the plan into the folder (made when absent) and return what plan.json says.

    Raises OSError when the folder cannot be written.
    """
    plan = Plan(shape, max(1, round(shape.tasks * factor)))
    text = RowText(shape)
    build: Callable[[Row], bytes] = text.thin if shape.thin else text.whole
    folder.mkdir(parents=True, exist_ok=True)
    totals = (SideTotals(), SideTotals())
    with (
        (folder / "old.jsonl").open("wb", buffering=_WRITE_BUFFER) as old,
        (folder / "new.jsonl").open("wb", buffering=_WRITE_BUFFER) as new,
    ):
        files: tuple[BinaryIO, BinaryIO] = (old, new)
        for rows in plan.rows():
            for row in rows:
                line = build(row)
                files[row.side].write(line)
                total = totals[row.side]
                total.rows += 1
                total.bytes += len(line)
                total.masked_rows += row.masked
                total.largest_row = max(total.largest_row, len(line))
    summary: dict[str, object] = {
        "shape": shape.name,
        "factor": factor,
        "generator": GENERATOR_VERSION,
        "counts": plan.counts,
        "old": vars(totals[0]),
        "new": vars(totals[1]),
    }
    # Written last: a folder without a plan is one whose writing was cut short.
    (folder / "plan.json").write_text(json.dumps(summary, indent=1), encoding="ascii")
    return summary


def _mix(number: int) -> int:
    """Scramble a number into 64 bits, the same on every platform and in every order of calls."""
    number = number * 0x9E3779B97F4A7C15 & _MASK64
    number = (number ^ number >> 29) * 0xBF58476D1CE4E5B9 & _MASK64
    return number ^ number >> 32


def _between(pool: bytes, separator: bytes, at: int, size: int) -> bytes:
    """Slice about `size` bytes that begin and end at a separator, so that no escape or number is cut."""
    size = min(size, len(pool) // 2)
    start = pool.index(separator, at % (len(pool) - size - 64)) + 1
    end = pool.rfind(separator, start, start + size)
    return pool[start : max(start, end)]


def _word_pool(rng: random.Random, size: int) -> bytes:
    """Prose as it stands inside a JSON string: escapes hold no space, so slices cut at spaces stay valid."""
    vocabulary = " ".join(_WORDS).split() * 3 + list(_RARE_WORDS) + [f"{n:x}" for n in range(4_096, 65_536, 1_777)]
    return " ".join(rng.choices(vocabulary, k=size // 6)).encode()


def main(argv: list[str] | None = None) -> int:
    """Write one workload and print its plan."""
    parser = argparse.ArgumentParser(description="Write a pair of rollout files with known counts.")
    parser.add_argument("shape", choices=SHAPES)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--factor", type=float, default=1.0, help="share of the shape's tasks (default 1)")
    arguments = parser.parse_args(argv)
    print(json.dumps(write_workload(SHAPES[arguments.shape], arguments.factor, arguments.folder)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
