"""Figures in words, the same in every report. The minus of figures is U+2212, as in the verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rollout_compare.core.redaction import shortened
from rollout_compare.core.schema import TaskSide
from rollout_compare.core.sentences import p_text
from rollout_compare.statistics.evidence import Evidence
from rollout_compare.statistics.paired import Interval

NAME_LIMIT = 200
"""Longest name of a task, a file or a model that a report for people shows, in characters."""
_MINUS = "\N{MINUS SIGN}"
_WIDE = 1e6
"""Rewards from here on are told by their power of ten."""
_DECIMALS, _MOST_DECIMALS = 3, 15
_MOST_REWARDS = 20
"""How many repeats of a task are told one by one."""


def evidence_text(evidence: Evidence) -> str:
    """The tag of a flip and its p-value, in words."""
    p = "" if evidence.p is None else f", p {p_text(evidence.p)}"
    return evidence.tag.replace("_", " ") + p


def repeats_text(old: TaskSide, new: TaskSide) -> str:
    """How many rows a task has on the sides; empty when it has one on each."""
    return "" if old.rows == new.rows == 1 else f"{old.rows} v {new.rows} rows"


def rewards_text(rewards: Sequence[float | None]) -> str:
    """The rewards of a task's rows on one side, in reading order."""
    shown = ", ".join(map(reward_text, rewards[:_MOST_REWARDS]))
    return shown + (f" and {len(rewards) - _MOST_REWARDS:,} more" if len(rewards) > _MOST_REWARDS else "")


def reward_text(reward: float | None, digits: int = 6) -> str:
    """One reward, or that it does not count."""
    return "masked" if reward is None else f"{reward:.{digits}g}".replace("-", _MINUS)


def told_apart(old: float | None, new: float | None) -> tuple[str, str]:
    """Both rewards with as many digits as it takes to see that they differ."""
    for digits in (6, 9, 12):
        texts = reward_text(old, digits), reward_text(new, digits)
        if texts[0] != texts[1]:
            return texts
    return reward_text(old, 17), reward_text(new, 17)


def mean_text(number: float) -> str:
    """A mean reward to three decimals."""
    return (f"{number:.3f}" if abs(number) < _WIDE else f"{number:.3g}").replace("-", _MINUS)


def signed(number: float, interval: Interval | None = None) -> str:
    """A difference of mean rewards, with its sign, and as many decimals as its interval is told with."""
    return without_zero(f"{number:+.{_decimals(interval)}f}" if abs(number) < _WIDE else f"{number:+.3g}")


def _decimals(interval: Interval | None) -> int:
    """As many decimals as it takes to tell an interval from nothing, and a bound that is not 0 from 0; 3 at least."""
    if interval is None or interval.low == interval.high:
        return _DECIMALS
    smallest = interval.high / 2 - interval.low / 2
    if interval.low > 0 or interval.high < 0:
        smallest = min(smallest, abs(interval.low), abs(interval.high))
    return min(_MOST_DECIMALS, max(_DECIMALS, math.ceil(-math.log10(smallest))))


def whole(number: int) -> str:
    """A difference of two counts, with its sign unless it is 0."""
    return f"{number:+,}".replace("-", _MINUS) if number else "0"


def spread(interval: Interval | None) -> str:
    """A confidence interval in words; empty when there is none."""
    return "" if interval is None else f"95% CI {signed(interval.low, interval)} to {signed(interval.high, interval)}"


def without_zero(text: str) -> str:
    """A signed number as it is shown; 0 has no sign and no decimals."""
    return text.replace("-", _MINUS) if text.strip("+-0.") else "0"


def joined_by(join_key: str, prefix: str | None) -> tuple[str, str | None]:
    """A key and the prefix stripped from its ids: both from the inputs."""
    return shortened(join_key, NAME_LIMIT), None if prefix is None else shortened(prefix, NAME_LIMIT)
