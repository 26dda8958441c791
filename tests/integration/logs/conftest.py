"""A flip whose losing row has verifier output, wherever that may be."""

from __future__ import annotations

import pytest

from tests.conftest import Compare, Json, Rollouts, Run


@pytest.fixture(params=["log file", "row field"])
def flip(request: pytest.FixtureRequest, rollouts: Rollouts, run: Compare) -> Compare:
    """Compare one flip whose losing row has this output, in a log file and embedded in the row."""

    def call(output: str, *options: object) -> Run:
        row: Json = {"task_id": "t", "reward": 0.0}
        if request.param == "log file":
            log = rollouts.folder / "logs/test-stdout.txt"
            log.parent.mkdir(exist_ok=True)
            log.write_bytes(output.encode())
            row["verifier_logs_dir"] = "logs"
        else:
            row["test_output"] = output
        old = rollouts.write("old.jsonl", [{"task_id": "t", "reward": 1.0}])
        done = run(old, rollouts.write("new.jsonl", [row]), *options)
        assert (done.status, done.err) == (0, "")
        return done

    return call
