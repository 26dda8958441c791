"""Two sides in, a comparison out; or one side, when there is nothing to compare it with."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from rollout_compare.core.errors import CompareInputError, UsageError
from rollout_compare.core.joining.join import Joined, join
from rollout_compare.core.joining.keyed import Keyed
from rollout_compare.core.judging.assessment import Assessment, Statistics, assess
from rollout_compare.core.judging.baseline import Baseline, NoBaseline, OneSided
from rollout_compare.core.judging.checks import check
from rollout_compare.core.judging.classify import Tasks, Tasksets, mean
from rollout_compare.core.judging.verdict import Verdict, judge
from rollout_compare.core.reading.side import Side
from rollout_compare.core.redaction import KEEP, Redaction, shortened
from rollout_compare.core.schema import LOST_CLASS, REWARD_TOLERANCE, Both, Join
from rollout_compare.core.sentences import CheckWarning, Marked, Sentence, counted, figure, listed, named, quoted, told

NAME_LENGTH = 100
"""Longest name shown in a sentence, in characters."""
_OF_ONE_SIDE = frozenset({"key_collapses_tasks", "no_rewards", "duplicate_rollouts", "mixed_id_types", "stale_sidecar"})
"""The warnings that say something about a side by itself."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything two sides say of each other, task by task."""

    sides: Both[Side]
    join: Join
    notes: list[Sentence]
    warnings: list[CheckWarning]
    counts: dict[str, int]
    tasks: Tasks
    assessment: Assessment
    verdict: Verdict
    baseline: Baseline | None = None
    """The recorded run that the old side comes from, if it does."""
    one_sided: OneSided | None = None
    """The new side by itself, when there is nothing to compare it with: then `no_baseline` says why."""
    no_baseline: NoBaseline | None = None

    @property
    def old(self) -> Side:
        """The reference."""
        return self.sides.old

    @property
    def new(self) -> Side:
        """The candidate."""
        return self.sides.new


def compare(old: Side, new: Side, *, margin: float | None = None, redact: Redaction = KEEP) -> Comparison:
    """Compare two sides, `old` being the reference and `new` the candidate.

    `margin`, in reward units and above 0, is the largest difference that does not matter: the verdict can then say
    that there is none larger. `redact` takes secrets out of the names of tasks and out of every sentence; tasks are
    joined and ordered by what their names were before.

    Raises CompareInputError when neither side has a row, or when the rows name no task; UsageError for a margin of 1 or
    more, where all rewards lie between 0 and 1.
    """
    if not len(old) and not len(new):
        where = " and ".join(dict.fromkeys(old.paths + new.paths))
        raise CompareInputError("", f"no rows in either input ({where})")
    joined = join(Both(old, new.renamed(old.names)))
    sides = joined.sides.map(lambda side: side.side)
    tasks = Tasks(sides, joined.match, redact.all(joined.match.labels), _tasksets(joined, redact))
    counts = tasks.counts()
    assessment = assess(joined, tasks)
    if margin is not None:
        _check_margin(margin, assessment.statistics)
    warnings = check(joined, tasks, counts, assessment.rewards)
    verdict = judge(joined, warnings, counts, assessment, margin)
    notes = [*_notes(joined, tasks), *_untested(assessment)]

    def shown(sentence: Sentence) -> Sentence:
        return sentence.with_data(lambda data: shortened(data, NAME_LENGTH, redact))

    return Comparison(
        sides,
        _shown_join(joined, redact),
        [shown(Sentence(note)) for note in notes],
        [
            replace(warning, sentence=shown(warning.sentence), tasks=tuple(redact.all(list(warning.tasks))))
            for warning in warnings
        ],
        counts,
        tasks,
        assessment,
        verdict._replace(sentences=tuple(map(shown, verdict.sentences))),
    )


def _check_margin(margin: float, found: Statistics) -> None:
    """See that a margin is not meant in points, which would allow any difference."""
    if margin >= 1 and found.rewards_are_shares and found.n:
        message = (
            f"a margin of {margin:g} allows any difference: all rewards lie between 0 and 1, where 0.02 is 2 points"
        )
        raise UsageError(message)


def describe(new: Side, absent: NoBaseline, *, redact: Redaction = KEEP) -> Comparison:
    """The new side as a comparison with nothing: all its tasks are new only, and the verdict is `no_baseline`.

    Raises CompareInputError when the side has no row, or when its rows name no task.
    """
    comparison = compare(Side([], new.names), new, redact=redact)
    found = _one_sided(comparison.tasks)
    alone = told("{} of {:,}", counted(found.scored, "scored task"), found.tasks)
    if found.mean_reward is not None:
        alone = told("mean reward {} over {}", figure(found.mean_reward, ".3g"), alone)
    said = told("No baseline: {}.", absent.reason.marked), told("The new side alone: {}.", alone)
    sentences = (Sentence(each).with_data(lambda data: shortened(data, NAME_LENGTH, redact)) for each in said)
    return replace(
        comparison,
        warnings=[warning for warning in comparison.warnings if warning.code in _OF_ONE_SIDE],
        verdict=Verdict("no_baseline", tuple(sentences)),
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


def _shown_join(joined: Joined, redact: Redaction) -> Join:
    prefixes = joined.match.stripping.prefixes.map(lambda prefix: None if prefix is None else redact(prefix))
    match = joined.match
    return Join(
        *joined.keys.map(redact),
        *prefixes,
        match.keyed_by_taskset,
        keyed_by_agent=match.keyed_by == "agent",
        keyed_by_model=match.keyed_by == "model",
    )


def _tasksets(joined: Joined, redact: Redaction) -> Both[Tasksets | None]:
    """The tasksets of the sides that span several of them."""

    def of_side(side: Keyed) -> Tasksets | None:
        codes = side.taskset_codes()
        if len(codes) < 2 or side.tasksets is None:
            return None
        texts = list(side.side.names)
        return Tasksets(side.tasksets, {code: redact(str(texts[code])) for code in codes})

    return joined.sides.map(of_side)


def _untested(assessment: Assessment) -> list[Marked]:
    number = sum(evidence.tag == "not_tested" for evidence in assessment.evidence.values())
    return [told("{} with too many graded repeats to test each one", counted(number, "flip"))] if number else []


def _notes(joined: Joined, tasks: Tasks) -> list[Marked]:
    unplaced = [note for name, side in joined.sides.named() for note in side.unplaced_notes(name)]
    notes = [*joined.match.notes, *joined.notes, *unplaced, *_notes_of_reading(joined)]
    labels = joined.match.labels
    several = [labels[position] for position in joined.match.with_several_rows()]
    if several:
        notes.append(told("compared on the mean reward of several rows: {}", named(several)))
    erring = [labels[position] for position in tasks.identical_despite_error()]
    if erring:
        notes.append(told("identical although an agent error is reported: {}", named(erring)))
    found: set[str] = set()
    asked: set[str] = set()
    for name, keyed in joined.sides.named():
        side = keyed.side
        classes = Counter(record.failure_class for record in side.zeroed.values())
        for failure_class, number in sorted(classes.items()):
            records = counted(number, "failures sidecar record")
            notes.append(told("{}: {} of class {} counted as reward 0", name, records, quoted(failure_class)))
        found |= classes.keys()
        asked |= side.count_as_zero - {LOST_CLASS}
        left_out = sum(shard.left_out for shard in side.shards)
        if side.choice.conditions:
            conditions = listed(" and ", (quoted(str(condition)) for condition in side.choice.conditions))
            do = told("does") if left_out == 1 else told("do")
            notes.append(told("{}: {} left out, which {} not have {}", name, counted(left_out, "row"), do, conditions))
        lost = sum(shard.stop - shard.lost_start for shard in side.shards)
        if lost:
            rollouts = counted(lost, "planned rollout")
            notes.append(told("{}: {} that left no row counted as reward 0", name, rollouts))
        if any(shard.file.is_pipe for shard in side.shards):
            notes.append(told("{}: read from a pipe, once: verifier output inside its rows cannot be shown", name))
    unused = sorted(asked - found)
    return [
        *notes,
        *(
            told("no failures sidecar record of class {} was there to count as reward 0", quoted(name))
            for name in unused
        ),
    ]


def _notes_of_reading(joined: Joined) -> list[Marked]:
    """Choices made as the sides were read; one that was made for both is told once."""
    notes = joined.sides.map(lambda keyed: [note.marked for note in keyed.side.notes])
    both = [note for note in notes.old if note in notes.new]
    own = [told("{}: {}", name, note) for name, found in notes.named() for note in found if note not in both]
    return both + own
