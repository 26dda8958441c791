"""Lines of a rollouts file as typed rows: only the fields the comparison needs, by a decoder that skips the rest.

What the fast decoder refuses is read again by the standard library, whose verdict stands: nothing valid is
refused, and whatever is not valid ends in a CompareInputError that says why.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from typing import Any

import msgspec

from rollout_compare.core.errors import CompareInputError
from rollout_compare.core.faults import explain
from rollout_compare.core.ids import Id, TaskId, id_of, text_of
from rollout_compare.core.json_line import field_of, is_blank, loads
from rollout_compare.core.lines import BOM, Block, Line, LineFile
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

    metadata: dict[str, Any] | None = None
    model: Any = None
    usage: Usage | None = None
    created_at: Any = None
    completed_at: Any = None


class AgentRef(msgspec.Struct, gc=False):
    """Which agent made the attempt."""

    name: Any = None


class Row(msgspec.Struct, gc=False):
    """The kept part of one row; `reward` is NaN or infinite only when the row says so."""

    reward: float | None = None
    mask_sample: Any = None
    failure_kind: Any = None
    error: Any = None
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


class PipedRow(Row, gc=False):
    """A row that cannot be read again: where its verifier's log lies is kept too."""

    verifier_logs_dir: Any = None


class SidecarRow(Row, gc=False):
    """A record of a failures sidecar: what the collector says about a failed attempt."""

    failure_kind: Any = msgspec.UNSET
    failure_class: Any = msgspec.field(name="_ng_failure_class", default=None)
    failure_message: Any = msgspec.field(name="_ng_failure_message", default=None)
    unrouted: Any = msgspec.field(name="_ng_unrouted_run_error", default=None)
    omitted: Any = msgspec.field(name="_ng_omitted_rollout", default=None)
    never_started: Any = msgspec.field(name="_ng_dispatch_drained", default=None)


@dataclass(slots=True)
class RowBlock:
    """Some rows in reading order, each with its place in the unpacked input."""

    rows: list[Any]
    keys: list[Any]
    """The value of the reader's extra key in each row; empty when it has none."""
    offsets: list[int]
    lengths: list[int]
    numbers: Sequence[int]
    """1-based line numbers."""


class RowReader:
    """Reads the lines of a file as rows of one kind, with the value of one more dotted key if asked."""

    def __init__(self, kind: type[Row], key: str | None = None) -> None:
        self._kind = kind
        self._key = key
        self._depth = 0
        self._probe: Callable[[Line], Any] | None = None
        decoded: type[msgspec.Struct] = kind
        if key is not None:
            top, *below = key.split(".")
            self._depth = len(below)
            # A key below a field that is decoded anyway has no place in that type: it gets a decoder of its own.
            apart = top in kind.__struct_encode_fields__
            try:
                field = ("key_top", _nested(below), msgspec.field(name=top, default=None))
                keyed = msgspec.defstruct("KeyedRow", [field], bases=None if apart else (kind,), gc=False)
            except ValueError:
                # A name that the fast decoder cannot take, such as one with a quote in it.
                self._probe = _refuse
            else:
                if apart:
                    self._probe = msgspec.json.Decoder(keyed).decode
                else:
                    decoded = keyed
        self._decode: Callable[[Line], Any] = msgspec.json.Decoder(decoded).decode

    def read(self, file: LineFile) -> Iterator[RowBlock]:
        """All rows of a file; blank lines are skipped. Raises CompareInputError at the first line that is none."""
        blocks = file.blocks()
        for block in blocks:
            try:
                rows = list(map(self._decode, block.lines))
                keys = (
                    [] if self._key is None else [self._key_of(*pair) for pair in zip(rows, block.lines, strict=True)]
                )
            except (msgspec.MsgspecError, RecursionError):
                yield self._read_singly(file.path, block, blocks)
                continue
            lengths = list(map(len, block.lines))
            numbers = range(block.number, block.number + len(rows))
            # Each line before a row adds its length and its line end to the row's offset.
            offsets = list(map(int.__add__, accumulate(lengths[:-1], initial=block.offset), range(len(rows))))
            yield RowBlock(rows, keys, offsets, lengths, numbers)

    def _key_of(self, row: Any, line: Line) -> Any:
        value = row.key_top if self._probe is None else self._probe(line).key_top
        for _ in range(self._depth):
            value = None if value is None else value.inner
        return value

    def _read_singly(self, path: str, block: Block, following: Iterator[Block]) -> RowBlock:
        numbers: list[int] = []
        read = RowBlock([], [], [], [], numbers)
        offset = block.offset
        for at, line in enumerate(block.lines):
            number = block.number + at
            try:
                row = self._decode(line)
                key = None if self._key is None else self._key_of(row, line)
            except (msgspec.MsgspecError, RecursionError):
                whole = _whole(line, path, number, islice(block.lines, at + 1, None), following)
                row = None if whole is None else _row_from(self._kind, whole, path, number)
                key = None if self._key is None else field_of(whole, self._key)
            if row is not None:
                read.rows.append(row)
                read.offsets.append(offset)
                read.lengths.append(len(line))
                numbers.append(number)
                if self._key is not None:
                    read.keys.append(key)
            offset += len(line) + 1
        return read


def _refuse(_: Line) -> Any:
    raise msgspec.DecodeError


def _nested(below: list[str]) -> Any:
    """The type of a value whose field at the path `below` is wanted."""
    if not below:
        return Any
    field = ("inner", _nested(below[1:]), msgspec.field(name=below[0], default=None))
    return msgspec.defstruct("Level", [field], gc=False) | None


def _whole(
    line: Line, path: str, number: int, rest: Iterable[Line], following: Iterator[Block]
) -> dict[str, Any] | None:
    """The object on a line that the fast decoder refused; None for a blank line."""
    # A byte order mark is one only at the start of the file.
    raw = bytes(line).removeprefix(BOM) if number == 1 else bytes(line)

    def rest_is_blank() -> bool:
        return all(map(is_blank, rest)) and all(is_blank(later) for block in following for later in block.lines)

    try:
        value = loads(raw)
    except (ValueError, RecursionError) as fault:
        if is_blank(raw):
            return None
        raise CompareInputError(path, explain(raw, number, fault, rest_is_blank), line=number) from None
    if not isinstance(value, dict):
        raise CompareInputError(path, f"{_kind_of(value)}, not a JSON object", line=number)
    return value


def _row_from(kind: type[Row], whole: dict[str, Any], path: str, number: int) -> Row:
    values: dict[str, Any] = {}
    for name, written in zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True):
        if written in whole:
            shape = _SHAPES.get(name)
            values[name] = whole[written] if shape is None else shape(whole[written])
    try:
        values["reward"] = _reward(whole.get("reward"))
    except TypeError as fault:
        raise CompareInputError(path, str(fault), line=number, task=task_label(whole)) from None
    return kind(**values)


def _reward(value: Any) -> float | None:
    if value is None or isinstance(value, float):
        return value
    if isinstance(value, bool) or not isinstance(value, int):
        message = f"reward is {_kind_of(value)}, not a number"
        raise TypeError(message)
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _kind_of(value: Any) -> str:
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
