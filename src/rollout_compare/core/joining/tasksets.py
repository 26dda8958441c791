"""Where the ids of a side without tasksets belong on a side that spans several of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from rollout_compare.core.reading.ids import ABSENT

Pair = tuple[int, int]
"""(taskset, id) codes."""


class Placed(NamedTuple):
    """The plain side's ids on the wide side."""

    partners: dict[Pair, Pair]
    """The wide side's pair for each plain pair that has one."""
    shown: dict[Pair, int]
    """The plain id under which each of these tasks is shown, by the wide side's pair."""
    ambiguous: dict[int, list[Pair]]
    """Plain ids that could be any of several pairs."""
    by_id: dict[int, list[Pair]]
    """The wide side's pairs by their ids."""


def place_plain_ids(
    wide: Iterable[Pair], plain: Iterable[Pair], label: Callable[[Pair], str], texts: Sequence[str]
) -> Placed:
    """Place plain ids. A plain pair states a taskset only if the wide side has that one.

    Example: the wide side has math/1, math/2, code/2 and code/3, the plain one 1, 2, `math/2` and math/3 (which states
    its taskset). 1 is in one taskset only and joins math/1. `math/2` is the label of a pair and joins that. 2 could be
    math/2 or code/2 and stays by itself, which a note says. math/3 is joined in math and nowhere else, so it joins
    nothing, although code has a 3.
    """
    by_label: dict[str, list[Pair]] = {}
    by_id: dict[int, list[Pair]] = {}
    for pair in wide:
        if pair[1] != ABSENT:
            if pair[0] != ABSENT:
                by_label.setdefault(label(pair), []).append(pair)
            by_id.setdefault(pair[1], []).append(pair)
    stated = [pair for pair in plain if pair[0] != ABSENT and pair[1] != ABSENT]
    bare = [task_id for taskset, task_id in plain if taskset == ABSENT != task_id]
    partners = {pair: pair for pair in stated if pair in by_id.get(pair[1], ())}
    shown = {pair: pair[1] for pair in partners}
    labelled = {task_id: by_label.get(texts[task_id], []) for task_id in bare}
    ambiguous = {task_id: pairs for task_id, pairs in labelled.items() if len(pairs) > 1}
    for task_id, pairs in labelled.items():
        if len(pairs) == 1:
            partners[ABSENT, task_id] = pairs[0]
            shown.setdefault(pairs[0], task_id)
    for task_id in bare:
        having = by_id.get(task_id, [])
        if (ABSENT, task_id) in partners or task_id in ambiguous or not having:
            continue
        chosen = having if len(having) == 1 else [pair for pair in having if pair[0] == ABSENT]
        if len(chosen) != 1:
            ambiguous[task_id] = having
        elif shown.get(chosen[0], task_id) == task_id:
            # Another id does not take the place of one that names the pair by its label.
            partners[ABSENT, task_id] = chosen[0]
            shown[chosen[0]] = task_id
    return Placed(partners, shown, ambiguous, by_id)
