"""The plain way to compare two rollout files, as a measure: read all, parse all, keep all, print the counts.

python benchmarks/reference_way.py OLD NEW
"""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from pathlib import Path
from statistics import fmean
from typing import Any

SAME_REWARD = 1e-9
Rows = list[dict[str, Any]]


def load(path: str) -> dict[str, Rows]:
    """Group every row of a file by its task."""
    tasks: defaultdict[str, Rows] = defaultdict(list)
    for line in Path(path).read_text(encoding="utf-8").split("\n"):
        if line.strip():
            row = json.loads(line)
            tasks[row["task_id"]].append(row)
    return tasks


def classify(old: Rows | None, new: Rows | None) -> list[str]:
    """Name the counts that one task adds to."""
    if not old or not new:
        return ["missing", "missing_old_only" if old else "missing_new_only"]
    masked = [name for name, rows in (("old", old), ("new", new)) if any(row["mask_sample"] for row in rows)]
    if masked:
        return ["masked", *(f"masked_{name}" for name in masked)]
    before, after = (fmean(row["reward"] for row in rows) for rows in (old, new))
    if abs(before - after) <= SAME_REWARD:
        return ["identical"]
    if any(key.endswith("error_type") for row in old + new for key in row["response"]["metadata"]):
        return ["flipped_agent_error"]
    return ["flipped", "flipped_new_win" if after > before else "flipped_old_win"]


def main(old_path: str, new_path: str) -> None:
    """Compare two files and print the counts as JSON."""
    old, new = load(old_path), load(new_path)
    labels = sorted(old.keys() | new.keys())
    counts = Counter(name for label in labels for name in ("tasks", *classify(old.get(label), new.get(label))))
    print(json.dumps(counts))


if __name__ == "__main__":
    main(*sys.argv[1:3])
