"""The single rewards that enter the statistics: what they span, and whether the two sides are on one scale."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from rollout_compare.core.judging.classify import Pairs, Tasks
from rollout_compare.core.schema import FLIPS, NAMED_TASKS, Both
from rollout_compare.core.sentences import CheckWarning, Sentence, counted, figure, named, told
from rollout_compare.statistics.paired import tolerance

_FAR_BELOW, _FAR_ABOVE = -1.0, 1.5
"""Rewards outside of this are on a different scale than 0 to 1, allowing for penalties and bonuses."""
_FEWEST_FAR = 5
_FAR_SHARE = 10
"""A tenth of a side's rewards, if they are far outside, makes it a scale of its own."""


class Scale(NamedTuple):
    """The rewards of one side that count, over the paired tasks: how many, and where they lie."""

    number: int
    lowest: float
    highest: float
    far: int
    """How many lie far outside of 0 to 1."""

    @property
    def is_of_shares(self) -> bool:
        """Whether all rewards lie between 0 and 1."""
        return self.lowest >= 0 and self.highest <= 1

    @property
    def is_wide(self) -> bool:
        """Whether so many lie far outside of 0 to 1 that the scale is a different one."""
        return self.far >= _FEWEST_FAR and _FAR_SHARE * self.far >= self.number


@dataclass(frozen=True, slots=True)
class CountedRewards:
    """The rewards of all rows that count, over the paired tasks."""

    scales: Both[Scale]
    tiny: frozenset[int] = frozenset()
    """Where the flipped tasks stand whose rewards differ by rounding only."""

    @property
    def lowest(self) -> float:
        """The lowest reward, or 0."""
        return min(scale.lowest for scale in self.scales)

    @property
    def highest(self) -> float:
        """The highest reward, or 0."""
        return max(scale.highest for scale in self.scales)

    @property
    def are_shares(self) -> bool:
        """Whether all rewards lie between 0 and 1."""
        return all(scale.is_of_shares for scale in self.scales)


def counted_rewards(tasks: Tasks, pairs: Pairs) -> CountedRewards:
    """The rewards of the paired tasks."""
    if pairs.single:
        scales = pairs.means.map(_scale)
    else:
        scales = Both(
            *(
                _scale(array("d", chain.from_iterable(tasks.counted_rewards(at, side) for at in pairs.positions)))
                for side, _ in pairs.means.named()
            )
        )
    found = CountedRewards(scales)
    tiny = tolerance(found.lowest, found.highest)
    paired = zip(pairs.positions, *pairs.means, strict=True)
    apart = [position for position, old, new in paired if old != new and -tiny <= new - old <= tiny]
    return CountedRewards(scales, frozenset(apart).intersection(tasks.positions(*FLIPS)) if apart else frozenset())


def _scale(rewards: Sequence[float]) -> Scale:
    lowest, highest = min(rewards, default=0.0), max(rewards, default=0.0)
    is_near = lowest >= _FAR_BELOW and highest <= _FAR_ABOVE
    far = 0 if is_near else sum(not _FAR_BELOW <= reward <= _FAR_ABOVE for reward in rewards)
    return Scale(len(rewards), min(0.0, lowest), max(0.0, highest), far)


def scales_differ(rewards: CountedRewards) -> Iterator[CheckWarning]:
    """One side is scored from 0 to 1, the other one on a wider scale; rewards that are all 0 have no scale."""
    scales = rewards.scales.named()
    for (narrow_name, narrow), (wide_name, wide) in (scales, scales[::-1]):
        if narrow.is_of_shares and narrow.highest > 0 and wide.is_wide:
            sentence = told(
                "the rewards of the {} side lie between 0 and 1, those of the {} side between {} and {}; bring both to "
                "one scale first",
                narrow_name,
                wide_name,
                figure(wide.lowest, ".6g"),
                figure(wide.highest, ".6g"),
            )
            yield CheckWarning("scales_differ", Sentence(sentence), wide.far)


def tiny_differences(rewards: CountedRewards, tasks: Tasks) -> Iterator[CheckWarning]:
    """Tasks that flipped by rounding only."""
    if rewards.tiny:
        labels = [tasks.label(position) for position in sorted(rewards.tiny)]
        most = tolerance(rewards.lowest, rewards.highest)
        sentence = told(
            "{} with rewards at most {} apart, as from rounding, which {} as equal in the figures and in the "
            "verdict: {}",
            counted(len(labels), "flipped task"),
            figure(most, ".2g"),
            told("counts") if len(labels) == 1 else told("count"),
            named(labels),
        )
        yield CheckWarning("tiny_differences", Sentence(sentence), len(labels), tuple(labels[:NAMED_TASKS]))
