"""verifiers: `results.jsonl` with its `metadata.json`, or the episodes of `traces.jsonl`.

Layout: as verifiers up to 0.4 writes it. A rollout that failed for its infrastructure has reward 0 and an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from rollout_compare.core.errors import CompareInputError
from rollout_compare.core.reading.inputs import listed
from rollout_compare.core.reading.json_line import field_of
from rollout_compare.core.sentences import field_name, named, quoted, told
from rollout_compare.formats.attempt import Attempt, Reading
from rollout_compare.formats.documents import Layout, lines_of, object_of
from rollout_compare.formats.given import Given
from rollout_compare.formats.marks import fields_of_first_line
from rollout_compare.formats.values import compact, mapping, name, number, sequence, text, whole

NAME = "verifiers"
TITLE = "verifiers results"
ROWS = "rollout"

_RESULTS = "results.jsonl"
_TRACES = "traces.jsonl"
_METADATA = "metadata.json"
_RESULT_MARKS = frozenset({"example_id", "prompt", "completion", "reward"})
_EPISODE_MARKS = frozenset({"env", "task"})


class _Result(msgspec.Struct):
    example_id: Any = None
    task: Any = None
    prompt: Any = None
    reward: Any = None
    error: Any = None
    total_ms: Any = None
    token_usage: Any = None
    prompt_tokens: Any = None
    completion_tokens: Any = None


class _Episode(msgspec.Struct):
    env: Any = None
    task: Any = None
    errors: Any = None
    traces: Any = None


def detect(given: Given) -> bool:
    """Whether this is a file of results or traces, or a folder with one under its usual name."""
    return bool(_members(given))


def rows(given: Given, reading: Reading) -> Iterator[dict[str, Any]]:
    """A row for each result, or for each trace of an episode. Raises CompareInputError for one that names no task."""
    members = _members(given)
    if not members:
        raise CompareInputError(given.path, f"not verifiers results: neither {_RESULTS} nor {_TRACES}")
    if len(members) > 1:
        raise CompareInputError(given.path, f"several results, name one of them: {listed(members)}")
    attempts = _of_results if _is_results(given, members[0]) else _of_traces
    for attempt in attempts(given, members[0], reading):
        yield attempt.row()


def _members(given: Given) -> list[str]:
    members = [_RESULTS, _TRACES] if given.is_folder else [given.name]
    return [member for member in members if _is_results(given, member) or _is_traces(given, member)]


def _is_results(given: Given, member: str) -> bool:
    # Rows of others have such fields too: only these lie under this name, or beside such metadata.
    if not fields_of_first_line(given, member) >= _RESULT_MARKS:
        return False
    return member == _RESULTS or "env_id" in _metadata(given)


def _is_traces(given: Given, member: str) -> bool:
    fields = fields_of_first_line(given, member)
    return fields >= _EPISODE_MARKS and ("traces" in fields or member == _TRACES)


def _metadata(given: Given) -> dict[str, Any]:
    return mapping(object_of(given.find(_METADATA)))


def _of_results(given: Given, member: str, reading: Reading) -> Iterator[Attempt]:
    model = text(_metadata(given).get("model"))
    for line_number, result, _ in lines_of(given, member, Layout.with_value(_Result, reading.reward)):
        task_id = name(result.example_id)
        if task_id is None:
            raise CompareInputError(given.shown(member), "the row has no `example_id`", line=line_number)
        attempt = Attempt(task_id, model=model, prompt=result.prompt)
        attempt.taskset = None if result.task == "default" else text(result.task)
        attempt.reward = number(result.reward if reading.reward in (None, "reward") else result.value)
        attempt.input_tokens = _first_count(field_of(result.token_usage, "input_tokens"), result.prompt_tokens)
        attempt.output_tokens = _first_count(field_of(result.token_usage, "output_tokens"), result.completion_tokens)
        milliseconds = number(result.total_ms)
        attempt.seconds = None if milliseconds is None else milliseconds / 1000
        if result.error:
            chain = mapping(result.error)
            reason = text(chain.get("error_chain_str")) or text(chain.get("error_chain_repr")) or text(result.error)
            attempt.mask(text(chain.get("error")) or "error", reason)
        elif attempt.reward is None:
            attempt.mask("no_reward", f"{reading.reward} is not a number" if reading.reward else None)
        yield attempt


def _first_count(*values: Any) -> int | None:
    return next((found for found in map(whole, values) if found is not None), None)


def _of_traces(given: Given, member: str, reading: Reading) -> Iterator[Attempt]:
    parts: dict[str, None] = {}
    for line_number, episode, _ in lines_of(given, member, Layout(_Episode)):
        traces = [mapping(trace) for trace in sequence(episode.traces)]
        for trace in traces or [{}]:
            task = mapping(trace.get("task")) or mapping(episode.task)
            task_id = name(task.get("key")) or text(task.get("hash"))
            task_id = task_id or (compact(task["data"]) if task.get("data") else None)
            if task_id is None:
                raise CompareInputError(given.shown(member), "the episode names no task", line=line_number)
            attempt = Attempt(task_id, taskset=text(field_of(episode.env, "id")))
            if traces:
                _tell(attempt, trace, reading.reward)
                parts |= dict.fromkeys(attempt.components or ())
            else:
                attempt.mask("no_trace", _last_error(episode.errors)[1])
            yield attempt
    if reading.reward is not None and parts:
        pieces = (quoted(reading.reward), named(list(parts)))
        reading.note(told("the reward that counts is {}; there are also: {}", *pieces))
    elif len(parts) > 1:
        pieces = (named(list(parts)), field_name("--reward NAME"))
        reading.note(told("the reward is the sum of {}; {} takes one of them", *pieces))


def _tell(attempt: Attempt, trace: dict[str, Any], wanted: str | None) -> None:
    rewards = {part: _weighted(reward) for part, reward in mapping(trace.get("rewards")).items()}
    known = {part: reward for part, reward in rewards.items() if reward is not None}
    if wanted is not None:
        attempt.reward = rewards.get(wanted)
    elif rewards and len(known) == len(rewards):
        attempt.reward = sum(known.values())
    attempt.components = {part: reward for part, reward in known.items() if part != wanted}
    attempt.identity = text(trace.get("id"))
    attempt.agent = text(field_of(trace, "agent.name"))
    attempt.model = next(filter(None, (text(field_of(call, "model")) for call in sequence(trace.get("calls")))), None)
    attempt.input_tokens = whole(trace.get("num_input_tokens"))
    attempt.output_tokens = whole(trace.get("num_output_tokens"))
    start, end = (number(field_of(trace, f"timing.agent.{moment}")) for moment in ("start", "end"))
    attempt.seconds = None if start is None or end is None else max(0.0, end - start)
    kind, message = _last_error(trace.get("errors"))
    if trace.get("ok") is False:
        attempt.mask(kind or "not_ok", message)
    elif attempt.reward is None:
        attempt.mask(kind or "no_reward", message)


def _weighted(reward: Any) -> float | None:
    score, weight = number(field_of(reward, "score")), number(field_of(reward, "weight"))
    return None if score is None else score * (1.0 if weight is None else weight)


def _last_error(errors: Any) -> tuple[str | None, str | None]:
    """Type and message of the last of some errors."""
    last = sequence(errors)[-1:]
    return (text(field_of(last[0], "type")), text(field_of(last[0], "message"))) if last else (None, None)
