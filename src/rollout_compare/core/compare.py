"""Two sides in, a comparison out; or one side, when there is nothing to compare it with."""

from __future__ import annotations

from array import array
from collections import Counter
from dataclasses import dataclass, replace

from rollout_compare.core.errors import CompareInputError
from rollout_compare.core.joining.join import Joined, join
from rollout_compare.core.joining.keyed import Keyed
from rollout_compare.core.judging.assessment import Assessment, assess
from rollout_compare.core.judging.baseline import Baseline, NoBaseline, OneSided
from rollout_compare.core.judging.checks import check
from rollout_compare.core.judging.classify import Tasks, Tasksets, mean
from rollout_compare.core.judging.verdict import Verdict, judge
from rollout_compare.core.reading.ids import IdColumn, Names
from rollout_compare.core.reading.side import NO_INDEX, Side
from rollout_compare.core.redaction import KEEP, Redaction, shortened
from rollout_compare.core.schema import REWARD_TOLERANCE, Join, SideName
from rollout_compare.core.sentences import CheckWarning, Sentence, counted, named, quoted

NAME_LENGTH = 100
"""Longest name shown in a sentence, in characters."""
_OF_ONE_SIDE = frozenset({"key_collapses_tasks", "no_rewards", "duplicate_rollouts", "mixed_id_types", "stale_sidecar"})
"""The warnings that say something about a side by itself."""
_MINUS = "\N{MINUS SIGN}"


@dataclass(slots=True)
class Comparison:
    """Everything two sides say of each other, task by task."""

    old: Side
    new: Side
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


def compare(old: Side, new: Side, *, margin: float | None = None, redact: Redaction = KEEP) -> Comparison:
    """Compare two sides, `old` being the reference and `new` the candidate.

    `margin`, in reward units and above 0, is the largest difference that does not matter: the verdict can then say
    that there is none larger. `redact` takes secrets out of the names of tasks and out of every sentence; tasks are
    joined and ordered by what their names were before.

    Raises CompareInputError when neither side has a row, or when the rows name no task.
    """
    if not len(old) and not len(new):
        where = " and ".join(dict.fromkeys(old.paths + new.paths))
        raise CompareInputError("", f"no rows in either input ({where})")
    if new.names is not old.names:
        new = _renamed(new, old.names)
    joined = join(old, new)
    for side in (joined.old, joined.new):
        unplaced = [row for row in side.anonymous_rows() if row in side.side.zeroed]
        if unplaced:
            # A record that belongs to no task can lose no reward of one.
            side.side = side.side.without_zeroed(unplaced)
    old, new = joined.old.side, joined.new.side
    tasks = Tasks(old, new, joined.match, _tasksets(joined, redact))
    counts = tasks.counts()
    assessment = assess(joined, tasks)
    warnings = check(joined, tasks, counts)
    verdict = judge(joined, warnings, counts, assessment, margin)
    notes = [*_notes(joined, tasks), *_untested(assessment)]
    # From here on nothing is compared any more: names and sentences are what reports may show.
    joined.match.labels = redact.all(joined.match.labels)

    def shown(sentence: Sentence) -> Sentence:
        return sentence.with_data(lambda data: shortened(data, NAME_LENGTH, redact))

    return Comparison(
        old,
        new,
        Join(
            redact(joined.old.key),
            redact(joined.new.key),
            _redacted(joined.match.old_prefix, redact),
            _redacted(joined.match.new_prefix, redact),
            joined.match.keyed_by_taskset,
        ),
        [shown(Sentence(note)) for note in notes],
        [
            replace(warning, sentence=shown(warning.sentence), tasks=tuple(redact.all(list(warning.tasks))))
            for warning in warnings
        ],
        counts,
        tasks,
        assessment,
        verdict._replace(sentence=shown(verdict.sentence)),
    )


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


def _tasksets(joined: Joined, redact: Redaction) -> dict[SideName, Tasksets]:
    """The tasksets of the sides that span several of them."""
    found: dict[SideName, Tasksets] = {}
    sides: tuple[tuple[SideName, Keyed], ...] = (("new", joined.new), ("old", joined.old))
    for name, side in sides:
        codes = side.taskset_codes()
        if len(codes) > 1 and side.tasksets is not None:
            texts = list(side.side.names)
            found[name] = Tasksets(side.tasksets, {code: redact(str(texts[code])) for code in codes})
    return found


def _redacted(text: str | None, redact: Redaction) -> str | None:
    return None if text is None else redact(text)


def _untested(assessment: Assessment) -> list[str]:
    number = sum(evidence.tag == "not_tested" for evidence in assessment.evidence.values())
    return [f"{counted(number, 'flip')} with too many graded repeats to test each one"] if number else []


def _notes(joined: Joined, tasks: Tasks) -> list[str]:
    notes = [*joined.match.notes, *joined.notes]
    several = [tasks.label(at) for at in joined.match.with_several_rows()]
    if several:
        notes.append(f"compared on the mean reward of several rows: {named(several)}")
    erring = [tasks.label(at) for at in tasks.identical_despite_error()]
    if erring:
        notes.append(f"identical although an agent error is reported: {named(erring)}")
    found: set[str] = set()
    for side, name in ((joined.old.side, "old"), (joined.new.side, "new")):
        classes = Counter(record.failure_class for record in side.zeroed.values())
        notes += [
            f"{name}: {counted(number, 'failures sidecar record')} of class {quoted(failure_class)} counted as reward 0"
            for failure_class, number in sorted(classes.items())
        ]
        found |= classes.keys()
        if any(shard.origin.is_pipe for shard in side.shards):
            notes.append(f"{name}: read from a pipe, once: verifier output inside its rows cannot be shown")
    unused = sorted((joined.old.side.count_as_zero | joined.new.side.count_as_zero) - found)
    notes += [f"no failures sidecar record of class {quoted(name)} was there to count as reward 0" for name in unused]
    return notes


def _renamed(side: Side, names: Names) -> Side:
    """The same side with its ids in the names of another one."""
    table = array("I", [names[value] for value in side.names])

    def indices(codes: array[int]) -> array[int]:
        return array("q", [code if code >= NO_INDEX else -2 - table[-2 - code] for code in codes])

    def column(of: IdColumn) -> IdColumn:
        tasksets = None if of.tasksets is None else array("I", map(table.__getitem__, of.tasksets))
        return IdColumn(array("I", map(table.__getitem__, of.ids)), tasksets)

    return replace(
        side,
        names=names,
        task_index=indices(side.task_index),
        rollout_index=indices(side.rollout_index),
        agents=None if side.agents is None else array("I", map(table.__getitem__, side.agents)),
        columns={name: column(of) for name, of in side.columns.items()},
        shards=[
            replace(
                shard,
                indexed={
                    index if index >= NO_INDEX else -2 - table[-2 - index]: {
                        name: {(table[taskset], table[task_id]) for taskset, task_id in pairs}
                        for name, pairs in said.items()
                    }
                    for index, said in shard.indexed.items()
                },
            )
            for shard in side.shards
        ],
    )
