"""The checks of a comparison: each looks at one way in which a join or an input can mislead."""

from __future__ import annotations

import math
import os
import unicodedata
from collections import Counter
from collections.abc import Iterator

from rollout_compare.core.joining.groups import NOBODY
from rollout_compare.core.joining.join import Joined, contradiction_of_explicit_index
from rollout_compare.core.joining.keyed import Keyed
from rollout_compare.core.judging.classify import Tasks
from rollout_compare.core.judging.families import key_collapses_tasks
from rollout_compare.core.judging.offers import reward_offers, where_offers
from rollout_compare.core.judging.rewards import CountedRewards, scales_differ, tiny_differences
from rollout_compare.core.judging.runs import repeated_rows, rerun_until_passed, rollouts_lost, same_rows
from rollout_compare.core.reading.prompt import NO_PROMPT
from rollout_compare.core.reading.side import NO_INDEX, Side
from rollout_compare.core.schema import NAMED_TASKS, PROMPT, Both, SideName, WarningCode
from rollout_compare.core.sentences import (
    CheckWarning,
    Marked,
    Sentence,
    counted,
    field_name,
    listed,
    named,
    p_text,
    quoted,
    told,
)
from rollout_compare.statistics import sign_test

_EXAMPLES = 3
_SUGGESTED = 4
_SIGNIFICANT = 0.05
_RUN_ID = field_name("_ng_run_id")


def check(joined: Joined, tasks: Tasks, counts: dict[str, int], rewards: CountedRewards) -> list[CheckWarning]:
    """Every warning that applies, the gravest first."""
    explicit_index = contradiction_of_explicit_index(joined)
    found = [
        *_empty_side(joined),
        *_nothing_joined(joined, tasks),
        *_makers_mixed(joined),
        *key_collapses_tasks(joined),
        *joined.warnings,
        *([explicit_index] if explicit_index is not None else []),
        *scales_differ(rewards),
        *_prompts_differ(joined),
        *_tasksets_differ(joined),
        *_low_overlap(joined),
        *_ids_almost_equal(joined),
        *_low_coverage(joined, tasks, counts),
        *_masking_differs(tasks),
        *tiny_differences(rewards, tasks),
    ]
    for name, side in joined.sides.named():
        found += _no_rewards(side.side, name)
    found += same_rows(joined)
    for name, side in joined.sides.named():
        found += rerun_until_passed(joined, side.side, name)
        found += rollouts_lost(joined, side.side, name)
        found += repeated_rows(joined, name)
    found += _unequal_repeats(joined, tasks)
    for name, side in joined.sides.named():
        found += _duplicate_rollouts(side, name, joined)
        found += _mixed_id_types(side, name)
        found += _stale_sidecar(side.side, name)
    return found


def _warn(code: WarningCode, sentence: Marked, tasks: list[str]) -> CheckWarning:
    return CheckWarning(code, Sentence(sentence), len(tasks), tuple(tasks[:NAMED_TASKS]))


def _empty_side(joined: Joined) -> Iterator[CheckWarning]:
    for name, side in joined.sides.named():
        if not len(side.side) and side.side.paths:
            files = listed(", ", (quoted(os.path.basename(path)) for path in side.side.paths[:_EXAMPLES]))
            is_empty = not any(shard.file.size for shard in side.side.shards)
            held = told("is empty") if is_empty else told("holds no rows")
            sentence = told("the {} side has no rows: {} {}; see the run that wrote it", name, files, held)
            yield CheckWarning("empty_side", Sentence(sentence), joined.match.joined or len(joined.match.labels))


def _makers_mixed(joined: Joined) -> Iterator[CheckWarning]:
    """Several agents, or models, on one task, and none that both sides have."""
    mixed = joined.mixed
    if mixed is None:
        return
    names = mixed.names.map(lambda own: listed(", ", map(quoted, own[:_EXAMPLES])) or told("none"))
    sentence = told(
        "{tasks} with rows of several {kind}s, and no {kind} is on both sides (old: {old}; new: {new})",
        tasks=counted(len(mixed.tasks), "task"),
        kind=mixed.kind,
        old=names.old,
        new=names.new,
    )
    offers = list(where_offers(joined, mixed))
    if offers:
        sentence = told("{}; choose by {}: {}", sentence, field_name("--where"), listed(" and ", offers))
    yield _warn("agents_mixed" if mixed.kind == "agent" else "models_mixed", sentence, mixed.tasks)


def _ids_almost_equal(joined: Joined) -> Iterator[CheckWarning]:
    """Tasks that only one side has, whose ids differ in Unicode form, case or surrounding space alone."""
    match = joined.match
    if match.joined == len(match.labels):
        return
    alone: Both[dict[str, list[str]]] = Both({}, {})
    for label, old, new in zip(match.labels, *match.places, strict=True):
        if (old == NOBODY) != (new == NOBODY):
            side = alone.new if old == NOBODY else alone.old
            side.setdefault(_folded(label), []).append(label)
    pairs = [(alone.old[text][0], alone.new[text][0]) for text in alone.old if text in alone.new]
    if pairs:
        examples = [told("{} and {}", *map(quoted, map(_escaped, pair))) for pair in pairs[:_EXAMPLES]]
        sentence = told(
            "{} of each side with ids that are equal but for Unicode form, case or surrounding space, which do not "
            "join: {}",
            counted(len(pairs), "task"),
            listed(", ", examples),
        )
        yield _warn("ids_almost_equal", sentence, [old for old, _ in pairs])


def _folded(label: str) -> str:
    return unicodedata.normalize("NFC", label).casefold().strip()


def _escaped(label: str) -> str:
    """A label in which a reader sees what differs: all but ASCII written as escapes."""
    return label.encode("unicode_escape").decode("ascii") if not label.isascii() else label


def _nothing_joined(joined: Joined, tasks: Tasks) -> Iterator[CheckWarning]:
    if joined.match.joined:
        return
    known = [position for position in range(len(tasks)) if not joined.match.is_anonymous(position)]
    labels = joined.match.places.map(
        lambda places: [joined.match.labels[position] for position in known if places[position] != NOBODY]
    )
    if not labels.old or not labels.new:
        return
    keys = joined.keys.map(field_name)
    examples = labels.map(lambda names: listed(", ", map(quoted, names[:_EXAMPLES])))
    others = [
        told("{} would join {:,}", field_name(f"--key {key}"), number)
        for key, number in joined.other_keys()[:_SUGGESTED]
    ]
    sentence = told(
        "no task of the old side ({}: {}) is on the new side ({}: {}); {}",
        keys.old,
        examples.old,
        keys.new,
        examples.new,
        listed(", ", others) if others else told("no other key that both sides carry joins any"),
    )
    yield CheckWarning(
        "nothing_joined",
        Sentence(sentence),
        len(labels.old) + len(labels.new),
        tuple((labels.old[:_EXAMPLES] + labels.new[:_EXAMPLES])[:NAMED_TASKS]),
    )


def _prompts_differ(joined: Joined) -> Iterator[CheckWarning]:
    if PROMPT in joined.keys:
        return
    if joined.match.all_single:
        differing = list(_single_prompts_differ(joined))
    else:
        # A task whose repeats differ among themselves says nothing about the sides.
        differing = [
            joined.match.labels[position]
            for position, (old, new) in joined.prompts()
            if len(old) == len(new) == 1 and old != new
        ]
    if differing:
        number = counted(len(differing), "joined task")
        sentence = told("{} with a different prompt on the new side: {}", number, named(differing))
        yield _warn("prompts_differ", sentence, differing)


def _single_prompts_differ(joined: Joined) -> Iterator[str]:
    """The same for sides with one row a task, without a set for each."""
    prompts = joined.sides.map(lambda side: side.side.prompts)
    first = joined.match.groups.map(lambda groups: groups.first)
    for label, old_group, new_group in zip(joined.match.labels, *joined.match.places, strict=True):
        if old_group != NOBODY and new_group != NOBODY:
            old, new = prompts.old[first.old[old_group] - 1], prompts.new[first.new[new_group] - 1]
            if old != new and old != NO_PROMPT and new != NO_PROMPT:
                yield label


def _tasksets_differ(joined: Joined) -> Iterator[CheckWarning]:
    old, new = joined.sides.map(Keyed.taskset_codes)
    if len(old) == len(new) == 1 and old != new:
        texts = list(joined.sides.old.side.names)
        sentence = told(
            "the old side is taskset {}, the new side taskset {}: tasks of the same id may be different tasks",
            quoted(str(texts[old[0]])),
            quoted(str(texts[new[0]])),
        )
        yield CheckWarning("tasksets_differ", Sentence(sentence), joined.match.joined)


def _low_overlap(joined: Joined) -> Iterator[CheckWarning]:
    joined_now, stripping = joined.match.joined, joined.match.stripping
    if stripping.would_join:
        sentence = told(
            "{} joined as the ids stand, but {:,} would without the prefix {} that all ids of one side have",
            counted(joined_now, "task"),
            stripping.would_join,
            field_name(stripping.would_strip),
        )
        yield CheckWarning("low_overlap", Sentence(sentence), joined_now)


def _low_coverage(joined: Joined, tasks: Tasks, counts: dict[str, int]) -> Iterator[CheckWarning]:
    unscored = tasks.positions("masked", "missing")
    comparable = counts["tasks"] - joined.match.unshared
    scored = counts["tasks"] - len(unscored)
    if 2 * scored < comparable:
        sentence = told("scored on both sides: only {:,} of {}", scored, counted(comparable, "task"))
        yield CheckWarning(
            "low_coverage", Sentence(sentence), len(unscored), tuple(map(tasks.label, unscored[:NAMED_TASKS]))
        )


def _masking_differs(tasks: Tasks) -> Iterator[CheckWarning]:
    only: dict[SideName, list[str]] = {"old": [], "new": []}
    for task in tasks.of("masked"):
        if task.old is not None and task.new is not None and (task.old.masked is None) != (task.new.masked is None):
            only["old" if task.new.masked is None else "new"].append(task.task)
    p = sign_test(len(only["old"]), len(only["new"]))
    if p < _SIGNIFICANT:
        sentence = told(
            "{} masked only on the old side, {:,} only on the new (exact p {}): what is left out may not be alike",
            counted(len(only["old"]), "task"),
            len(only["new"]),
            p_text(p),
        )
        yield _warn("masking_differs", sentence, sorted(only["old"] + only["new"]))


def _no_rewards(side: Side, name: SideName) -> Iterator[CheckWarning]:
    ranges = side.main_ranges()
    rows = sum(map(len, ranges))
    if rows and all(math.isnan(side.rewards[row]) for own in ranges for row in own):
        asked = side.choice.reward
        where = told("") if asked is None else told(" in {}", field_name(asked))
        said = [told("no row of the {} side has a reward{}", name, where)]
        said += [
            told("{} would score {}", field_name(f"--reward {field}"), counted(number, "row"))
            for field, number in reward_offers(side)
        ]
        yield CheckWarning("no_rewards", Sentence(listed("; ", said)), rows)


def _unequal_repeats(joined: Joined, tasks: Tasks) -> Iterator[CheckWarning]:
    rows: Counter[tuple[int, int]] = Counter()
    unequal = []
    for position in joined.match.with_several_rows():
        pair = len(tasks.rows_of(position, "old")), len(tasks.rows_of(position, "new"))
        if pair[0] != pair[1] and all(pair):
            unequal.append(joined.match.labels[position])
            rows[pair] += 1
    if unequal:
        (old, new), _ = rows.most_common(1)[0]
        sentence = told(
            "{} with different numbers of rows on the two sides, most often {} old and {} new: {}",
            counted(len(unequal), "joined task"),
            old,
            new,
            named(unequal),
        )
        yield _warn("unequal_repeats", sentence, unequal)


def _duplicate_rollouts(side: Keyed, name: SideName, joined: Joined) -> Iterator[CheckWarning]:
    duplicated, surplus = [], 0
    for position in joined.match.with_several_rows():
        extra = _repeated_rows(side.side, joined.match.rows(position, name))
        if extra:
            surplus += extra
            duplicated.append(joined.match.labels[position])
    if duplicated:
        sentence = told(
            "{} of the {} side for a rollout (same task, same indices) that has one already: {}",
            counted(surplus, "row"),
            name,
            named(duplicated),
        )
        yield CheckWarning("duplicate_rollouts", Sentence(sentence), surplus, tuple(duplicated[:NAMED_TASKS]))


def _repeated_rows(side: Side, rows: list[int]) -> int:
    seen: set[tuple[object, ...]] = set()
    repeated = 0
    for row in rows:
        index, rollout = side.task_index[row], side.rollout_index[row]
        if index == NO_INDEX or rollout == NO_INDEX:
            continue
        within = (index, rollout, side.shard_number(row))
        # Across shards indices restart: the same rollout only when reward and length agree too.
        across = (index, rollout, repr(side.rewards[row]), side.lengths[row], "across")
        repeated += within in seen or across in seen
        seen |= {within, across}
    return repeated


def _mixed_id_types(side: Keyed, name: SideName) -> Iterator[CheckWarning]:
    if side.mixed:
        tasks = counted(len(side.mixed), "task")
        names = named(list(side.mixed))
        sentence = told("the {} side names {} both by a number and by text: {}", name, tasks, names)
        yield _warn("mixed_id_types", sentence, list(side.mixed))


def _stale_sidecar(side: Side, name: SideName) -> Iterator[CheckWarning]:
    for shard in side.shards:
        tally = shard.tally
        if tally.records and tally.scored == tally.records:
            what = told("has {}, each of a rollout that has a row", counted(tally.records, "record"))
            number = tally.records
        elif tally.of_another_run:
            records = counted(tally.of_another_run, "record")
            what = told("has {} of a different run ({}) than the rows", records, _RUN_ID)
            number = tally.of_another_run
        else:
            continue
        sidecar = quoted(shard.files.sidecar or "")
        sentence = told("{}: the failures sidecar {} {}: left over?", name, sidecar, what)
        yield CheckWarning("stale_sidecar", Sentence(sentence), number)
