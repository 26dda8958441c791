"""Prompt and agent of rows that name them in fields of their own, not where Gym writes them."""

from __future__ import annotations

import re

import msgspec

from rollout_compare.core.reading.json_line import loads
from rollout_compare.core.reading.lines import Line
from rollout_compare.core.reading.rows import AgentByServer, AgentRef, CreateParams, NamedAgent, Row, Stray

_PROMPTS = ("prompt", "messages", "input", "question", "instruction", "problem")
"""Fields that may hold a prompt, the best first."""
_TEXT_OR_MESSAGES = re.compile(rb'\s*(?:"(?!")|\[\s*\{)')
_decode = msgspec.json.Decoder(Stray).decode


class StrayParams(CreateParams, gc=False):
    """A prompt that stood beside the answer: text, or messages that may go on with what was answered."""


def fill_in(row: Row, line: Line) -> None:
    """Give a row the prompt and the agent that its line names elsewhere, if it does."""
    lacks_agent = row.agent_ref is None or row.agent_ref.name is None
    stray = _stray(line) if lacks_agent or row.responses_create_params is None else None
    if stray is None:
        return
    if row.responses_create_params is None:
        prompts = (getattr(stray, name) for name in _PROMPTS)
        prompt = next((raw for raw in prompts if _TEXT_OR_MESSAGES.match(raw)), None)
        if prompt is not None:
            row.responses_create_params = StrayParams(prompt)
    if lacks_agent:
        row.agent_ref = _agent(stray) or row.agent_ref


def _stray(line: Line) -> Stray | None:
    try:
        return _decode(line)
    except (msgspec.MsgspecError, RecursionError):
        pass
    try:
        whole = loads(line)
        return _decode(msgspec.json.encode({name: whole.get(name) for name in Stray.__struct_encode_fields__}))
    except (ValueError, RecursionError, UnicodeEncodeError, AttributeError):
        # What is neither text nor messages, or cannot be written as JSON again, is not a prompt.
        return None


def _agent(stray: Stray) -> AgentRef | None:
    if isinstance(stray.agent, str) and stray.agent:
        return NamedAgent(stray.agent)
    if isinstance(stray.server, str) and stray.server:
        return AgentByServer(stray.server)
    return None
