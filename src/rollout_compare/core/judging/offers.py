"""What to try next: options that were tried before they are offered."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from rollout_compare.core.joining.join import Joined
from rollout_compare.core.joining.makers import Mixed
from rollout_compare.core.reading.side import Side
from rollout_compare.core.reading.survey import survey
from rollout_compare.core.schema import SideName
from rollout_compare.core.sentences import Marked, field_name, told

_OFFERED = 3
_REWARD_WORDS = (
    *("score", "reward", "accuracy", "correct", "success", "passed", "resolved", "solved", "grade", "match"),
    *("acc", "pass", "f1", "bleu", "rouge"),
)
_SIDES: tuple[SideName, SideName] = ("old", "new")


def reward_offers(side: Side) -> list[tuple[str, int]]:
    """Dotted fields that sound like a reward, each with how many rows have a number or a truth value there."""
    seen = survey(side)
    alike = [
        (name, field.scoreable)
        for name, field in seen.fields.items()
        if name != "reward" and field.scoreable == field.rows and _sounds_like_a_reward(name)
    ]
    # The sort is stable: of equals, the one that rows name first comes first.
    return sorted(alike, key=lambda offer: -offer[1])[:_OFFERED]


def _sounds_like_a_reward(name: str) -> bool:
    return any(word in part for part in name.lower().split(".") for word in _REWARD_WORDS)


def where_offers(joined: Joined, mixed: Mixed) -> Iterator[Marked]:
    """For each side with several agents or models, the choice of one that has rows of most joined tasks."""
    for side in _SIDES:
        own = joined.sides.of(side).side
        column = own.provenance.agents if mixed.kind == "agent" else own.provenance.models
        field = own.provenance.agent_field if mixed.kind == "agent" else "response.model"
        tasks: dict[int, int] = {}
        for position in joined.match.shared():
            for code in {column[row] for row in joined.match.rows(position, side)} - {0}:
                tasks[code] = tasks.get(code, 0) + 1
        if len(tasks) > 1:
            code, number = max(tasks.items(), key=lambda item: item[1])
            name = str(list(own.names)[code])
            option = f"--{side}-where {shlex.quote(f'{field}={name}')}"
            yield told("{} would compare {:,} tasks", field_name(option), number)
