"""Where so much of a text is redacted that its cut comes near: the secret that the cut went through stays hidden."""

from __future__ import annotations

from tests.conftest import Compare, Rollouts

CODE = "launch-code-314159265358979323846264"
PATTERN = r"launch-code-\d{24}"
FRAGMENT = 8
MARGIN = 32 * 1024
"""So far beyond a cut text is redacted."""
ERROR_LIMIT = 120
LINE_LIMIT = 2_000


def token(length: int) -> str:
    """A secret of this length, of which 10 characters, `[redacted]`, are left."""
    return "ghp_" + "a1" * (length // 2 - 2) + "b" * (length % 2)


def fragments(told: str) -> list[str]:
    """The pieces of the code that are told."""
    pieces = [CODE[at : at + FRAGMENT] for at in range(len(CODE) - FRAGMENT + 1)]
    return [piece for piece in pieces if piece in told]


def test_the_start_of_a_secret_behind_a_long_one_is_not_told(rollouts: Rollouts, run: Compare) -> None:
    # What is looked at of the error ends after 20 characters of the code.
    error = f"{token(ERROR_LIMIT + MARGIN - 21)} {CODE} {'x' * 50_000}"
    old = rollouts.write("old.jsonl", [{"task_id": "a", "reward": 1}])
    new = rollouts.write("new.jsonl", [{"task_id": "a", "reward": 0, "error": error}])
    for output in ("text", "json"):
        done = run(old, new, "--redact", PATTERN, "--format", output)
        assert done.status == 0
        assert fragments(done.out) == []
        assert "error" in done.out


def test_the_end_of_a_secret_before_a_long_one_is_not_told(rollouts: Rollouts, run: Compare) -> None:
    # A line of more than a mebibyte: what is looked at of its end begins with the last 15 characters of the code.
    line = f"{'x' * 1_100_000} {CODE} {token(LINE_LIMIT - 1 + MARGIN - 16)}"
    (rollouts.folder / "run.log").write_text(line)
    old = rollouts.write("old.jsonl", [{"task_id": "a", "reward": 1}])
    logged = {"task_id": "a", "reward": 0, "verifier_logs_dir": "run.log"}
    embedded = {"task_id": "a", "reward": 0, "test_output": line}
    for row in (logged, embedded):
        done = run(old, rollouts.write("new.jsonl", [row]), "--redact", PATTERN)
        assert done.status == 0
        assert fragments(done.out) == []
