"""Keys that name families of tasks: one value of the key stands for several tasks, which pair across the sides.

Rows under one value may as well be repeats of one task. So there must be evidence: several prompts that both sides
share, another id that tells the rows apart and that both sides share, or several task indices of different prompts.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterator
from functools import cached_property

from rollout_compare.core.joining.join import Joined
from rollout_compare.core.reading.ids import ABSENT, IdKey, text_of
from rollout_compare.core.reading.side import NO_INDEX
from rollout_compare.core.reading.survey import id_codes, survey_of_rows
from rollout_compare.core.schema import ID_FIELDS, NAMED_TASKS, PROMPT, TASK_INDEX, Both, SideName
from rollout_compare.core.sentences import CheckWarning, Marked, Sentence, field_name, listed, quoted, told

_SHARED = 0.5
"""The share of prompts or ids under a value that has to be on both sides."""
_FURTHER_ID = re.compile(r"(?:^|[_.])(?:id|idx|index|uid|uuid|key)$", re.IGNORECASE)
"""Names of fields that may hold an id, such as `example_id`, `doc_id`, `test_idx`."""
_LOOKED_AT = 20
"""How many rows of a task are looked at for such fields."""
_MOST_FURTHER = 3
_SIDES: tuple[SideName, SideName] = ("old", "new")


def key_collapses_tasks(joined: Joined) -> Iterator[CheckWarning]:
    """A warning when values of the key stand for several tasks each."""
    families = _Families(joined)
    collapsed = families.collapsed
    if not collapsed:
        return
    tasks = [joined.match.labels[position] for position in sorted(collapsed)]
    largest = max(sorted(collapsed), key=lambda position: collapsed[position])
    sentence = told(
        "{} holds {} different tasks under one name ({}); {}",
        listed(" or ", dict.fromkeys(joined.keys.map(field_name))),
        collapsed[largest],
        quoted(joined.match.labels[largest]),
        families.offer(),
    )
    yield CheckWarning("key_collapses_tasks", Sentence(sentence), len(tasks), tuple(tasks[:NAMED_TASKS]))


class _Families:
    """The evidence that values of the key stand for several tasks."""

    def __init__(self, joined: Joined) -> None:
        self._joined = joined
        self._sides = joined.sides.map(lambda side: side.side)

    @cached_property
    def collapsed(self) -> dict[int, int]:
        """The positions of the tasks that are families, each with how many tasks it holds at least."""
        if TASK_INDEX in self._joined.keys or PROMPT in self._joined.keys:
            return {}
        collapsed = {}
        for position in self._joined.match.with_several_rows():
            number = self._tasks_under(position)
            if number > 1:
                collapsed[position] = number
        return collapsed

    def _rows(self, position: int) -> Both[list[int]]:
        match = self._joined.match
        return Both(match.rows(position, "old"), match.rows(position, "new"))

    def _prompts(self, position: int) -> Both[set[int]]:
        rows = self._rows(position)
        return Both(
            {self._sides.old.prompts[row] for row in rows.old} - {0},
            {self._sides.new.prompts[row] for row in rows.new} - {0},
        )

    def _tasks_under(self, position: int) -> int:
        """How many tasks there are under one value of the key, as far as that is certain."""
        prompts = self._prompts(position)
        if len(prompts.old | prompts.new) == 1 and self._all_have_prompts(position):
            # One prompt: repeats, whatever else differs.
            return 1
        if min(map(len, prompts)) > 1 and _is_shared(prompts):
            return max(map(len, prompts))
        for codes in self._telling_fields.values():
            ids = self._ids(codes, position)
            if self._tells_rows_apart(position, ids) and _is_shared(ids):
                return max(map(len, ids))
        return max(self._indices_under(position, side) for side in _SIDES)

    def _all_have_prompts(self, position: int) -> bool:
        rows = self._rows(position)
        return all(side.prompts[row] for side, own in zip(self._sides, rows, strict=True) for row in own)

    @cached_property
    def _telling_fields(self) -> dict[str, Both[array[int]]]:
        """Id fields of both sides that may tell tasks under one value apart, each with its codes per row."""
        names = [name for name in ID_FIELDS if name not in self._joined.keys]
        known = {
            name: self._sides.map(lambda side, name=name: side.columns[name].ids)  # type: ignore[misc]
            for name in names
            if all(name in side.columns for side in self._sides)
        }
        return {
            name: codes for name, codes in (known | self._further_fields()).items() if not self._numbers_repeats(codes)
        }

    def _further_fields(self) -> dict[str, Both[array[int]]]:
        """Id fields that are not read by themselves, if the rows of some task differ in them."""
        joined, match = self._joined, self._joined.match
        position = next((place for place in match.with_several_rows() if len(match.rows(place, "new")) > 1), None)
        if position is None or any(side.file.is_pipe for sides in self._sides for side in sides.shards):
            return {}
        seen = [survey_of_rows(joined.sides.of(name).side, match.rows(position, name)[:_LOOKED_AT]) for name in _SIDES]
        wanted = [
            name
            for name, field in seen[1].fields.items()
            if _FURTHER_ID.search(name)
            and not name.startswith("_ng_")
            and name not in ID_FIELDS
            and len(field.texts) == seen[1].rows > 1
            and name in seen[0].fields
        ]
        columns = {}
        for name in wanted[:_MOST_FURTHER]:
            codes = Both(id_codes(self._sides.old, name), id_codes(self._sides.new, name))
            if codes.old is not None and codes.new is not None:
                columns[name] = Both(codes.old, codes.new)
        return columns

    def _numbers_repeats(self, codes: Both[array[int]]) -> bool:
        """Whether the ids under nearly every value of the key are the same: then they number repeats.

        Where there is one value only, whole numbers from 0 or 1 on do.
        """
        numberings: Both[Counter[frozenset[str]]] = Both(Counter(), Counter())
        for position in self._joined.match.with_several_rows():
            for side, ids in self._ids(codes, position).named():
                if len(ids) > 1:
                    numberings.of(side)[frozenset(map(self._text, ids))] += 1
        seen = [*numberings.old, *numberings.new]
        if not seen:
            return False
        largest = max(seen, key=len)
        countings = [{str(number) for number in range(start, start + len(largest))} for start in (0, 1)]
        is_usual = all(2 * numbering.most_common(1)[0][1] > numbering.total() for numbering in numberings if numbering)
        is_same = is_usual and all(numbering <= largest for numbering in seen)
        several_values = max(numbering.total() for numbering in numberings) > 1
        return is_same and (set(largest) in countings or several_values)

    def _text(self, code: int) -> str:
        value = self._values[code]
        return "" if value is None else text_of(value)

    @cached_property
    def _values(self) -> list[IdKey | None]:
        return list(self._sides.old.names)

    def _ids(self, codes: Both[array[int]], position: int) -> Both[set[int]]:
        rows = self._rows(position)
        return Both({codes.old[row] for row in rows.old} - {ABSENT}, {codes.new[row] for row in rows.new} - {ABSENT})

    def _tells_rows_apart(self, position: int, ids: Both[set[int]]) -> bool:
        """Whether each row of a task has an id of its own."""
        rows = self._rows(position)
        return len(ids.old) == len(rows.old) and len(ids.new) == len(rows.new) and max(map(len, rows)) > 1

    def _indices_under(self, position: int, name: SideName) -> int:
        """How many task indices of one shard stand under a value, if their prompts differ or are not known."""
        side = self._sides.of(name)
        per_shard: dict[int, dict[int, set[int]]] = {}
        for row in self._joined.match.rows(position, name):
            if side.task_index[row] != NO_INDEX:
                by_index = per_shard.setdefault(side.shard_number(row), {})
                by_index.setdefault(side.task_index[row], set()).add(side.prompts[row])
        most = 1
        for by_index in per_shard.values():
            prompts = set().union(*by_index.values())
            if prompts == {0}:
                most = max(most, len(by_index))
            elif 0 not in prompts:
                most = max(most, min(len(by_index), len(prompts)))
        return most

    def offer(self) -> Marked:
        """A key that has been tried: one that tells the tasks apart, and does not make tasks of repeats."""
        best, most = "", self._joined.match.joined - 1
        tried = self._joined.other_keys() + [
            (name, len(set(codes.old) & set(codes.new) - {ABSENT}))
            for name, codes in self._telling_fields.items()
            if name not in ID_FIELDS
        ]
        for name, joined in tried:
            if joined > most and self._is_finer(name) and self._keeps_repeats_together(name):
                best, most = name, joined
        if best:
            return told("{} would compare {:,} tasks", field_name(f"--key {best}"), most)
        return told("no other field that both sides have tells them apart; name one with {}", field_name("--key"))

    def _codes(self, name: str) -> Both[array[int]]:
        return self._telling_fields.get(name) or self._sides.map(lambda side: side.key_column(name).ids)

    def _is_finer(self, name: str) -> bool:
        """Whether the rows under some value of the key, on a side, have several values of this field."""
        return any(max(map(len, self._ids(self._codes(name), position))) > 1 for position in self.collapsed)

    def _keeps_repeats_together(self, name: str) -> bool:
        """Whether rows with one prompt, under one value of the key, have one value of this field too."""
        codes = self._codes(name)
        for position in self.collapsed:
            for side, rows, ids in zip(self._sides, self._rows(position), codes, strict=True):
                values: dict[int, set[int]] = {}
                for row in rows:
                    if side.prompts[row]:
                        values.setdefault(side.prompts[row], set()).add(ids[row])
                if any(len(of_prompt) > 1 for of_prompt in values.values()):
                    return False
        return True


def _is_shared(ids: Both[set[int]]) -> bool:
    return len(ids.old & ids.new) >= _SHARED * len(ids.old | ids.new)
