"""Measures comparisons of results that other tools wrote, against the goals for them.

    python benchmarks/formats.py [--runs N] [--work DIR]

Writes at most 1 GB of made-up results into the work folder and keeps them there. Every answer is held against the plan
that its input was made from. Exit status 1 when a command fails or answers wrongly, whatever the figures say.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from backports.zstd import zipfile
from measure import BenchError, Command, alternate, say
from scoreboard import MB

TRIALS, SAMPLES, LM_EVAL_BYTES = 1_000, 20_000, 100 * MB
WORDS = "agent reads the failing module then edits a helper and reruns its tests as the result was expected"


def text(rng: random.Random, length: int) -> str:
    return " ".join(rng.choices(WORDS.split(), k=length // 6))[:length]


def rewards(rng: random.Random, number: int) -> tuple[list[float], list[float]]:
    """Rewards of both sides: a tenth of the tasks flips."""
    old = [float(rng.random() < 0.5) for _ in range(number)]
    return old, [1 - reward if rng.random() < 0.1 else reward for reward in old]


def harbor(folder: Path, side: str, scored: list[float], rng: random.Random) -> None:
    for number, reward in enumerate(scored):
        name = f"task-{number:05}__{side}0000"[:40]
        trial = folder / name
        (trial / "verifier").mkdir(parents=True)
        times = {"started_at": "2026-11-02T10:00:05Z", "finished_at": "2026-11-02T10:00:45Z"}
        config = {"trial_name": name, "task": {"name": f"bench/task-{number:05}", "source": "bench"}}
        result = {
            "id": f"{side}-{number}",
            "task_name": f"bench/task-{number:05}",
            "trial_name": name,
            "source": "bench",
            "config": config | {"notes": text(rng, 1_500)},
            "agent_info": {"name": "agent", "version": "1", "model_info": {"name": "up", "provider": "made"}},
            "agent_result": {"n_input_tokens": 1200, "n_cache_tokens": 100, "n_output_tokens": 300},
            "verifier_result": {"rewards": {"reward": reward}},
            "agent_execution": times,
            "reward_valid": True,
        }
        (trial / "result.json").write_text(json.dumps(result, indent=4), encoding="utf-8")
        (trial / "config.json").write_text(json.dumps(config), encoding="utf-8")
        (trial / "verifier" / "test-stdout.txt").write_text(text(rng, 2_000), encoding="utf-8")


def inspect(folder: Path, side: str, scored: list[float], rng: random.Random) -> None:
    evaluation: dict[str, Any] = {
        "task": "bench",
        "task_id": side,
        "created": "2026-11-02T10:00:00",
        "model": f"made/{side}",
    }
    header = {
        "version": 2,
        "status": "success",
        "eval": evaluation | {"scorers": [{"name": "verify"}]},
        "results": None,
    }
    with zipfile.ZipFile(folder / "log.eval", "w", zipfile.ZIP_ZSTANDARD) as archive:
        summaries = []
        for number, reward in enumerate(scored):
            sample = {
                "id": f"sample-{number:05}",
                "epoch": 1,
                "input": text(rng, 600),
                "target": "ok",
                "scores": {"verify": {"value": "CI"[not reward], "answer": "x", "explanation": text(rng, 300)}},
                "model_usage": {f"made/{side}": {"input_tokens": 700, "output_tokens": 120}},
                "total_time": 41.0,
                "working_time": 40.0,
                "uuid": f"{side}-{number}",
            }
            summaries.append(sample)
            archive.writestr(
                f"samples/sample-{number:05}_epoch_1.json", json.dumps(sample | {"messages": text(rng, 2_000)})
            )
        archive.writestr("summaries.json", json.dumps(summaries))
        archive.writestr("header.json", json.dumps(header))


def lm_eval_lines(scored: list[float], rng: random.Random) -> Iterator[str]:
    for number, reward in enumerate(scored):
        row = {"doc_id": number, "doc": {"question": text(rng, 600)}, "target": "4"}
        row |= {"arguments": {"gen_args_0": {"arg_0": text(rng, 2_600), "arg_1": {"until": ["\n"]}}}}
        row |= {"resps": [[text(rng, 400)]], "filtered_resps": ["4"], "filter": "strict", "metrics": ["exact_match"]}
        yield json.dumps(row | {"prompt_hash": f"{number:064x}", "exact_match": reward})


def lm_eval(folder: Path, side: str, scored: list[float], rng: random.Random) -> None:
    del side
    path = folder / "samples_bench_2026-11-02T10-00-00.000001.jsonl"
    path.write_text("".join(f"{line}\n" for line in lm_eval_lines(scored, rng)), encoding="utf-8")


def rollouts(folder: Path, side: str, scored: list[float], rng: random.Random) -> None:
    """The same rows, as rollouts."""
    del side
    with (folder / "rollouts.jsonl").open("w", encoding="utf-8") as file:
        for line in lm_eval_lines(scored, rng):
            row = json.loads(line)
            row["_ng_task_id"], row["reward"] = row.pop("doc_id"), row.pop("exact_match")
            file.write(json.dumps(row) + "\n")


Write = Callable[[Path, str, list[float], random.Random], None]
SHAPES: dict[str, tuple[Write, int]] = {
    "harbor": (harbor, TRIALS),
    "inspect": (inspect, SAMPLES // 2),
    "inspect, twice as many": (inspect, SAMPLES),
    "lm-eval": (lm_eval, LM_EVAL_BYTES // 4_000),
    "rollouts": (rollouts, LM_EVAL_BYTES // 4_000),
}


def made(work: Path, name: str) -> Path:
    """The inputs of a shape, with the number of flips in `plan.json`."""
    write, number = SHAPES[name]
    folder = work / name.replace(" ", "-")
    if not (folder / "plan.json").exists():
        say(f"writing {name}")
        scored = rewards(random.Random(name), number)
        for side, of_side in zip(("old", "new"), scored, strict=True):
            (folder / side).mkdir(parents=True)
            write(folder / side, side, of_side, random.Random(f"{name} {side}"))
        flips = sum(one != other for one, other in zip(*scored, strict=True))
        (folder / "plan.json").write_text(json.dumps({"tasks": number, "flipped": flips}), encoding="utf-8")
    return folder


def verify(folder: Path, command: list[str]) -> None:
    done = subprocess.run([*command, "--json", "-"], capture_output=True, check=True)
    counts: dict[str, Any] = json.loads(done.stdout)["counts"]
    plan = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
    if {name: counts[name] for name in plan} != plan:
        raise BenchError(f"{folder.name}: {counts} is not {plan}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "rollout-compare-formats")
    arguments = parser.parse_args()
    commands = {}
    try:
        for name in SHAPES:
            folder = made(arguments.work, name)
            command = [
                str(Path(sys.executable).with_name("rollout-compare")),
                *map(str, (folder / "old", folder / "new")),
            ]
            verify(folder, command)
            commands[name] = Command(command)
        medians = alternate(commands, arguments.runs)
    except BenchError as fault:
        say(str(fault))
        return 1
    for name, sample in medians.items():
        print(f"{name}: {2 * SHAPES[name][1]:,} rows in {sample.wall:.2f} s, {sample.rss / MB:.0f} MB")
    ratio = medians["rollouts"].wall / medians["lm-eval"].wall
    print(f"lm-eval at {ratio:.2f} of the speed of rollouts (goal: 0.5)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
