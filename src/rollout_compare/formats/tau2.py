"""tau2-bench: a results document, or `results.json` with its simulations in a folder beside it.

Layout: as tau2-bench wrote it in 2026.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from rollout_compare.core.errors import CompareInputError
from rollout_compare.core.reading.json_line import field_of
from rollout_compare.core.sentences import field_name, named, told
from rollout_compare.formats.attempt import Attempt, Reading
from rollout_compare.formats.documents import Document, Layout, Place
from rollout_compare.formats.given import Given
from rollout_compare.formats.marks import outline
from rollout_compare.formats.values import compact, mapping, name, number, numbers, sequence, text, total, whole

NAME = "tau2"
TITLE = "tau2 results"
ROWS = "simulation"

_RESULTS = "results.json"
_SIMULATIONS = "simulations"
_MARKS = frozenset(
    f"info.{field}" for field in ("num_trials", "max_steps", "user_info", "agent_info", "environment_info")
)
_FEW_MARKS = 3
_UNFAIR = ("infrastructure_error", "unexpected_error", "user_error")
_MEASURED = ("max_steps", "timeout", "too_many_errors", "context_window_exceeded")


class _Simulation(msgspec.Struct):
    id: Any = None
    task_id: Any = None
    trial: Any = None
    duration: Any = None
    termination_reason: Any = None
    reward_info: Any = None
    messages: Any = None


_SHAPE: Layout[_Simulation] = Layout(_Simulation)


def detect(given: Given) -> bool:
    """Whether this is a results document, or a folder with one."""
    return len(outline(given, _member(given)) & _MARKS) >= _FEW_MARKS


def rows(given: Given, reading: Reading) -> Iterator[dict[str, Any]]:
    """A row for each simulation. Raises CompareInputError for one that names no task."""
    member = _member(given)
    place = Place(given.shown(member))
    document = Document(given.read(member), place, _SIMULATIONS)
    info = mapping(document.field("info"))
    tasks = {str(field_of(task, "id")): field_of(task, "user_scenario") for task in sequence(document.field("tasks"))}
    parts: dict[str, None] = {}
    row = -1
    for row, simulation in enumerate(_simulations(given, document)):
        task_id = name(simulation.task_id)
        if task_id is None:
            place.fail(f"simulation {row + 1} names no task")
        attempt = Attempt(task_id, taskset=text(field_of(info, "environment_info.domain_name")))
        attempt.model = text(field_of(info, "agent_info.llm"))
        attempt.agent = text(field_of(info, "agent_info.implementation"))
        scenario = tasks.get(str(task_id))
        attempt.prompt = compact(scenario) if scenario else None
        _tell(attempt, simulation, reading.reward)
        if row in reading.shown:
            attempt.output = _output(mapping(simulation.reward_info))
        parts |= dict.fromkeys(attempt.components or ())
        yield attempt.row()
    if row < 0 and not document.has_list:
        place.fail(f"not tau2 results: neither a list `{_SIMULATIONS}` in it, nor a folder of that name beside it")
    if parts:
        chosen = field_name(reading.reward or "reward")
        option = field_name("--reward KEY")
        reading.note(told("the reward is {}; {} takes a part of it: {}", chosen, option, named(list(parts))))


def _member(given: Given) -> str:
    return _RESULTS if given.is_folder else given.name


def _simulations(given: Given, document: Document) -> Iterator[_Simulation]:
    found = False
    for simulation in document.elements(_SHAPE):
        found = True
        yield simulation
    if found:
        return
    for member in given.files(_SIMULATIONS, ending=".json"):
        try:
            read = _SHAPE.of(given.read(member))
        except (ValueError, RecursionError):
            read = None
        if read is None:
            raise CompareInputError(given.shown(member), "not a JSON object (cut short?)")
        yield read


def _tell(attempt: Attempt, simulation: _Simulation, wanted: str | None) -> None:
    attempt.number, attempt.identity = whole(simulation.trial), text(simulation.id)
    attempt.seconds = number(simulation.duration)
    said = [message for message in map(mapping, sequence(simulation.messages)) if message.get("role") == "assistant"]
    attempt.input_tokens = total(field_of(message, "usage.prompt_tokens") for message in said)
    attempt.output_tokens = total(field_of(message, "usage.completion_tokens") for message in said)
    graded = mapping(simulation.reward_info)
    breakdown = numbers(graded.get("reward_breakdown"))
    attempt.reward = number(graded.get("reward")) if wanted in (None, "reward") else breakdown.get(wanted)
    attempt.components = {part: reward for part, reward in breakdown.items() if part != wanted}
    ended = text(simulation.termination_reason)
    if ended in _UNFAIR:
        attempt.mask(ended)
    elif attempt.reward is None:
        offered = f"no part of the reward is called {wanted}; there are: {', '.join(breakdown)}"
        attempt.mask("no_reward", offered if wanted and breakdown else ended)
    elif ended == "agent_error":
        attempt.error = ended
    elif ended in _MEASURED:
        attempt.failure_kind = ended


def _output(graded: dict[str, Any]) -> str | None:
    """The checks that made the reward, a line for each of a list."""
    lines = []
    for check, said in graded.items():
        if check.startswith("reward") or not said:
            continue
        lines += [f"{check}: {compact(part)}" for part in (said if isinstance(said, list) else [said])]
    return "\n".join(lines) or None
