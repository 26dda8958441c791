"""CPU seconds of the phases of one comparison, in this process: `python benchmarks/phases.py OLD NEW` prints JSON."""

from __future__ import annotations

import json
import sys
import time
from itertools import pairwise

from rollout_compare.core.joining.join import join
from rollout_compare.core.judging.assessment import assess
from rollout_compare.core.judging.classify import Tasks
from rollout_compare.core.reading.ids import Names
from rollout_compare.core.reading.load import load_side
from rollout_compare.core.schema import Both


def main(old_path: str, new_path: str) -> None:
    """Read both sides, join and classify them, and work out the statistics."""
    names = Names()
    marks = [time.process_time()]
    old, new = load_side(old_path, names=names), load_side(new_path, names=names)
    marks.append(time.process_time())
    joined = join(Both(old, new))
    tasks = Tasks(Both(old, new), joined.match, joined.match.labels, Both(None, None))
    marks.append(time.process_time())
    assess(joined, tasks)
    marks.append(time.process_time())
    read, joining, statistics = (after - before for before, after in pairwise(marks))
    print(json.dumps({"read": read, "join": joining, "statistics": statistics}))


if __name__ == "__main__":
    main(*sys.argv[1:])
