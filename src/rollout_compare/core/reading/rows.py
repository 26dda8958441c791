"""The kept part of a row, by kind of row: only the fields that the comparison needs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import msgspec

from rollout_compare.core.errors import CompareInputError
from rollout_compare.core.reading.ids import Id, TaskId, id_of, text_of
from rollout_compare.core.reading.json_line import field_of
from rollout_compare.core.schema import TASK_KEY_CANDIDATES


class VerifierMetadata(msgspec.Struct, gc=False):
    """The ids that a row's `verifier_metadata` may hold."""

    task_id: Id = None
    task_name: Id = None
    instance_id: Id = None
    id: Id = None


class HasInstanceId(msgspec.Struct, gc=False):
    """An object that may name an instance."""

    instance_id: Id = None


class CreateParams(msgspec.Struct, gc=False):
    """The request. Its input stays raw JSON, for the prompt fingerprint."""

    input: msgspec.Raw = msgspec.Raw(b"")
    metadata: HasInstanceId | None = None


class Usage(msgspec.Struct, gc=False):
    """The tokens that a response took."""

    input_tokens: Any = None
    output_tokens: Any = None


class Response(msgspec.Struct, gc=False):
    """The response: its metadata, where agents leave their `…error_type`, who gave it and what it took."""

    id: Any = None
    metadata: dict[str, Any] | None = None
    model: Any = None
    usage: Usage | None = None
    created_at: Any = None
    completed_at: Any = None


class AgentRef(msgspec.Struct, gc=False):
    """Which agent made the attempt."""

    field: ClassVar[str] = "agent_ref.name"
    """Where the name stood."""
    name: Any = None


class NamedAgent(AgentRef, gc=False):
    """An agent that the row names by itself."""

    field: ClassVar[str] = "agent"


class AgentByServer(AgentRef, gc=False):
    """An agent of which only the environment's server is known."""

    field: ClassVar[str] = "_ng_environment_server"


class Row(msgspec.Struct, gc=False):
    """The kept part of one row; `reward` is NaN or infinite only when the row says so."""

    reward: float | None = None
    mask_sample: Any = None
    failure_kind: Any = None
    failure_reason: Any = None
    error: Any = None
    reward_components: Any = None
    verifier_rewards: Any = None
    ng_task_id: TaskId | Id = msgspec.field(name="_ng_task_id", default=None)
    task_name: Id = None
    task_id: Id = None
    instance_id: Id = None
    uuid: Id = None
    problem_id: Id = None
    question_id: Id = None
    uid: Id = None
    id: Id = None
    verifier_metadata: VerifierMetadata | None = None
    responses_create_params: CreateParams | None = None
    response: Response | None = None
    instance_config: HasInstanceId | None = None
    task_index: Any = msgspec.field(name="_ng_task_index", default=None)
    rollout_index: Any = msgspec.field(name="_ng_rollout_index", default=None)
    run_id: Any = msgspec.field(name="_ng_run_id", default=None)
    agent_ref: AgentRef | None = None
    agent_run_time: Any = None
    started_at: Any = None
    finished_at: Any = None
    attempt_index: Any = msgspec.field(name="_ng_attempt_index", default=None)
    ng_rollout_id: Any = msgspec.field(name="_ng_rollout_id", default=None)
    rollout_id: Any = None
    failure_class: Any = msgspec.field(name="_ng_failure_class", default=None)


class Stray(msgspec.Struct, gc=False):
    """What rows of other makers say of prompt and agent, in fields of their own."""

    prompt: msgspec.Raw = msgspec.Raw(b"")
    messages: msgspec.Raw = msgspec.Raw(b"")
    input: msgspec.Raw = msgspec.Raw(b"")
    question: msgspec.Raw = msgspec.Raw(b"")
    instruction: msgspec.Raw = msgspec.Raw(b"")
    problem: msgspec.Raw = msgspec.Raw(b"")
    agent: Any = None
    server: Any = msgspec.field(name="_ng_environment_server", default=None)


class PipedRow(Row, gc=False):
    """A row that cannot be read again: where its verifier's log lies is kept too."""

    verifier_logs_dir: Any = None


class FailureRow(Row, gc=False):
    """A record of a failed attempt, in a failures sidecar or among the rows: what the collector says about it."""

    failure_kind: Any = msgspec.UNSET
    failure_message: Any = msgspec.field(name="_ng_failure_message", default=None)
    unrouted: Any = msgspec.field(name="_ng_unrouted_run_error", default=None)
    omitted: Any = msgspec.field(name="_ng_omitted_rollout", default=None)
    is_omitted: Any = msgspec.field(name="_ng_omitted", default=None)
    never_started: Any = msgspec.field(name="_ng_dispatch_drained", default=None)
    counts_as_zero: Any = msgspec.field(name="_ng_failure_counts_as_zero", default=None)


def row_from(kind: type[Row], whole: dict[str, Any], path: str, number: int, reward: str | None = None) -> Row:
    """A row of the object on a line, its reward in the dotted field `reward` unless that is None.

    Raises CompareInputError when the reward is not a number.
    """
    values: dict[str, Any] = {}
    for name, written in zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True):
        if written in whole:
            shape = _SHAPES.get(name)
            values[name] = whole[written] if shape is None else shape(whole[written])
    try:
        values["reward"] = _reward(whole.get("reward")) if reward is None else chosen_reward(field_of(whole, reward))
    except TypeError as fault:
        raise CompareInputError(path, str(fault), line=number, task=task_label(whole)) from None
    return kind(**values)


def _reward(value: Any) -> float | None:
    if value is None or isinstance(value, float):
        return value
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"reward is {kind_of(value)}, not a number")
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def chosen_reward(value: Any) -> float | None:
    """The reward in a field that was chosen for it, where true and false are 1 and 0. Raises TypeError for others."""
    return float(value) if isinstance(value, bool) else _reward(value)


def kind_of(value: Any) -> str:
    """What kind of JSON value this is, with its article."""
    names = {str: "a string", bool: "a boolean", list: "an array", dict: "an object", type(None): "null"}
    return names.get(type(value), "a number")


def task_label(whole: dict[str, Any]) -> str | None:
    """The best name for the task of a row that is at fault, before any key is known."""
    for path in TASK_KEY_CANDIDATES:
        _, task_id = id_of(field_of(whole, path))
        if task_id is not None:
            return text_of(task_id)
    return None


def _raw(value: Any) -> msgspec.Raw:
    return msgspec.Raw(json.dumps(value).encode()) if value else msgspec.Raw(b"")


def _instance(value: Any) -> HasInstanceId | None:
    return HasInstanceId(value.get("instance_id")) if isinstance(value, dict) else None


def _verifier_metadata(value: Any) -> VerifierMetadata | None:
    if not isinstance(value, dict):
        return None
    return VerifierMetadata(**{name: value.get(name) for name in VerifierMetadata.__struct_fields__})


def _create_params(value: Any) -> CreateParams | None:
    if not isinstance(value, dict):
        return None
    return CreateParams(_raw(value.get("input")), _instance(value.get("metadata")))


def _response(value: Any) -> Response | None:
    if not isinstance(value, dict):
        return None
    metadata, usage = value.get("metadata"), value.get("usage")
    return Response(
        value.get("id"),
        metadata if isinstance(metadata, dict) else None,
        value.get("model"),
        Usage(usage.get("input_tokens"), usage.get("output_tokens")) if isinstance(usage, dict) else None,
        value.get("created_at"),
        value.get("completed_at"),
    )


def _agent_ref(value: Any) -> AgentRef | None:
    return AgentRef(value.get("name")) if isinstance(value, dict) else None


_SHAPES: dict[str, Callable[[Any], Any]] = {
    "verifier_metadata": _verifier_metadata,
    "responses_create_params": _create_params,
    "response": _response,
    "instance_config": _instance,
    "agent_ref": _agent_ref,
}


def id_values(rows: Sequence[Row]) -> Iterator[tuple[str, list[Any]]]:
    """The values of each id field that at least one of the rows carries, as (field, one value per row)."""
    # One comprehension a field: with the attribute written out it is three times as fast as by name.
    yield from _carried("_ng_task_id", [row.ng_task_id for row in rows])
    yield from _carried("task_name", [row.task_name for row in rows])
    yield from _carried("task_id", [row.task_id for row in rows])
    has_rare = [
        row.instance_id is not None
        or row.uuid is not None
        or row.problem_id is not None
        or row.question_id is not None
        or row.uid is not None
        or row.id is not None
        for row in rows
    ]
    if any(has_rare):
        for name in ("instance_id", "uuid", "problem_id", "question_id", "uid", "id"):
            yield from _carried(name, [getattr(row, name) for row in rows])
    for _, metadata in _carried("verifier_metadata", [row.verifier_metadata for row in rows]):
        for leaf in VerifierMetadata.__struct_fields__:
            values = [None if owner is None else getattr(owner, leaf) for owner in metadata]
            yield from _carried(f"verifier_metadata.{leaf}", values)
    for _, configs in _carried("instance_config", [row.instance_config for row in rows]):
        yield from _carried("instance_config.instance_id", [config and config.instance_id for config in configs])
    for _, params in _carried("responses_create_params", [row.responses_create_params for row in rows]):
        metadata = [param and param.metadata for param in params]
        values = [owner and owner.instance_id for owner in metadata]
        yield from _carried("responses_create_params.metadata.instance_id", values)


def _carried(field_name: str, values: list[Any]) -> Iterator[tuple[str, list[Any]]]:
    if values.count(None) != len(values):
        yield field_name, values


def some_name(row: Row) -> str | None:
    """The best name for the task of a row that lacks the key asked for."""
    for _, values in id_values([row]):
        _, task_id = id_of(values[0])
        return None if task_id is None else text_of(task_id)
    return None
