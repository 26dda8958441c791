"""Prompts that are no plain text: what UTF-8 cannot hold, and numbers that only one decoder reads."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.conftest import Rollouts, Summary


def asked(text: bytes, reward: int = 1, more: bytes = b"") -> bytes:
    """A row that only its prompt names; `text` is what stands between the quotes."""
    return b'{"reward": %d%b, "responses_create_params": {"input": %b}}' % (reward, more, text)


ESCAPED_HALF = rb"\ud83d"
"""The escape of one half of a surrogate pair."""


@pytest.mark.parametrize("text", [ESCAPED_HALF, b"caf\xc3\xa9 " + ESCAPED_HALF, b"cut \xe2\x82", b"\xff"], ids=repr)
@pytest.mark.parametrize(
    "shape",
    [b'"%b"', b'[{"role": "user", "content": "%b"}]', b'[{"content": [{"type": "text", "text": "%b"}]}]'],
    ids=repr,
)
@pytest.mark.parametrize("more", [b"", b', "skipped": NaN'], ids=["fast decoder", "lenient decoder"])
def test_a_prompt_that_is_no_text_joins_itself_and_no_other(
    text: bytes, shape: bytes, more: bytes, rollouts: Rollouts, summary: Summary
) -> None:
    def side(name: str, *prompts: bytes) -> Any:
        return rollouts.write(name, [asked(shape % prompt, more=more) for prompt in prompts])

    found = summary(side("old.jsonl", b"Add " + text, b"Add."), side("new.jsonl", b"Add.", b"Add " + text, b"New"))
    assert found["join"]["old_key"] == "prompt"
    assert (found["counts"]["identical"], found["counts"]["missing_new_only"], found["counts"]["tasks"]) == (2, 1, 3)


def test_a_prompt_is_the_same_for_both_decoders(rollouts: Rollouts, summary: Summary) -> None:
    old = rollouts.write("old.jsonl", [asked(b'"Add."'), asked(b'[{"role": "user", "content": "Divide."}]')])
    odd = b', "skipped": NaN'
    new = rollouts.write("new.jsonl", [asked(b'"Divide."', more=odd), asked(b'"Add."', 0, odd)])
    counts = summary(old, new)["counts"]
    assert (counts["tasks"], counts["identical"], counts["flipped"]) == (2, 1, 1)


@pytest.mark.parametrize("reward", ["1", "NaN"])
def test_a_prompt_that_only_one_row_has_is_not_compared(reward: str, rollouts: Rollouts, summary: Summary) -> None:
    old = rollouts.write("old.jsonl", [{"task_id": "a", "reward": 1}])
    row = json.dumps({"task_id": "a", "responses_create_params": {"input": "Add."}})[:-1] + f', "reward": {reward}}}'
    codes = [warning["code"] for warning in summary(old, rollouts.write("new.jsonl", [row]))["warnings"]]
    assert "prompts_differ" not in codes
