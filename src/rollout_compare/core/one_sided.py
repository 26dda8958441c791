"""The new side by itself, when there is no old one to compare it with."""

from __future__ import annotations

from dataclasses import replace

from rollout_compare.core.baseline import NoBaseline, OneSided
from rollout_compare.core.classify import Tasks, mean
from rollout_compare.core.compare import NAME_LENGTH, Comparison, compare
from rollout_compare.core.cut import KEEP, Redaction, shortened
from rollout_compare.core.schema import REWARD_TOLERANCE, Sentence, counted
from rollout_compare.core.side import Side
from rollout_compare.core.verdict import Verdict

_OF_ONE_SIDE = frozenset({"key_collapses_tasks", "no_rewards", "duplicate_rollouts", "mixed_id_types", "stale_sidecar"})
"""The warnings that say something about a side by itself."""
_MINUS = "\N{MINUS SIGN}"


def describe(new: Side, absent: NoBaseline, *, redact: Redaction = KEEP) -> Comparison:
    """The new side as a comparison with nothing: all its tasks are new only, and the verdict is `no_baseline`.

    Raises CompareInputError when the side has no row, or when its rows name no task.
    """
    comparison = compare(Side([], new.names), new, redact=redact)
    found = _one_sided(comparison.tasks)
    scored = f"{counted(found.scored, 'scored task')} of {found.tasks:,}"
    alone = scored if found.mean_reward is None else f"mean reward {found.mean_reward:.3g} over {scored}"
    sentence = Sentence(f"No baseline: {absent.reason.marked}. The new side alone: {alone.replace('-', _MINUS)}.")
    return replace(
        comparison,
        warnings=[warning for warning in comparison.warnings if warning.code in _OF_ONE_SIDE],
        verdict=Verdict("no_baseline", sentence.with_data(lambda data: shortened(data, NAME_LENGTH, redact))),
        one_sided=found,
        no_baseline=absent,
    )


def _one_sided(tasks: Tasks) -> OneSided:
    rewards, shares = [], True
    for at in range(len(tasks)):
        task = tasks.side_of(at, "new")
        if task is not None and task.masked is None and task.counted_reward is not None:
            rewards.append(task.counted_reward)
            shares = shares and all(reward is None or 0 <= reward <= 1 for reward in task.rewards)
    return OneSided(
        tasks=len(tasks),
        scored=len(rewards),
        mean_reward=mean(rewards),
        solved=sum(reward >= 1 - REWARD_TOLERANCE for reward in rewards) if shares and rewards else None,
        masked=len(tasks) - len(rewards),
    )
