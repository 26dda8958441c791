"""Reading a side: every row of its shards into columns, with the standing records of their failures sidecars."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

from rollout_compare.core.errors import CompareInputError
from rollout_compare.core.reading.choice import Choice, Condition, Fit
from rollout_compare.core.reading.ids import Names
from rollout_compare.core.reading.inputs import ShardFiles, find_shards, find_sources
from rollout_compare.core.reading.json_line import field_names
from rollout_compare.core.reading.lines import LineFile, Progress
from rollout_compare.core.reading.prompt import NO_PROMPT
from rollout_compare.core.reading.records import Record
from rollout_compare.core.reading.row_reader import RowBlock, RowReader, checked_for_depth
from rollout_compare.core.reading.rows import FailureRow, PipedRow, Row, some_name
from rollout_compare.core.reading.side import NO_INDEX, Shard, Side
from rollout_compare.core.reading.sidecar import SidecarReader
from rollout_compare.core.reading.signals import signals_of
from rollout_compare.core.reading.source import OpenSource, RowSource, SourceFile
from rollout_compare.core.redaction import KEEP, Redaction, shortened
from rollout_compare.core.schema import PROMPT, TASK_INDEX

_NAN = float("nan")
_KEPT_RUN_IDS = 1000
"""Rows of more runs than this are not told from those of another run."""

_NAMED_FIELDS = 12
_LONGEST_NAME = 40

StrPath = str | os.PathLike[str]


def load_side(  # noqa: PLR0913 - the public face: each is named
    paths: StrPath | Sequence[StrPath],
    *,
    key: str | None = None,
    reward: str | None = None,
    where: Iterable[tuple[str, str]] = (),
    count_as_zero: Collection[str] = (),
    names: Names | None = None,
    progress: Progress | None = None,
    redact: Redaction = KEEP,
    open_source: OpenSource | None = None,
) -> Side:
    """Read one side of a comparison.

    `paths` are files, directories and globs, read in path order as one side; each file may be packed with gzip
    or zstd and brings its `<stem>_failures.jsonl` along. `key` is a dotted field that every row must carry, `reward`
    the dotted field that holds the reward in place of `reward`. Of `where`, pairs of a dotted field and its value as
    text, all must hold, or a row is left out. Records of the failure classes in `count_as_zero` count as reward 0
    instead of being masked; `missing` among them stands for planned attempts that left nothing. Sides that share
    `names` are compared with less memory. `redact` takes secrets out of errors and failures before these are cut to
    what is kept of them; the digest is not changed by it. `open_source` opens those of the paths that are to be read
    otherwise than line by line; for these, `reward` is a matter of whoever reads them.

    Raises CompareInputError for an input that cannot be read; it names the file and the line.
    """
    given = [os.fspath(path) for path in ([paths] if isinstance(paths, str | os.PathLike) else paths)]
    choice = Choice([Condition(*pair) for pair in where], reward)
    side = Side(given, names if names is not None else Names(), key, choice, count_as_zero=frozenset(count_as_zero))
    loader = _Loader(side, progress, redact)
    sources, others = find_sources(given, open_source)
    shards: list[ShardFiles | RowSource] = [*sources, *(find_shards(others) if others else ())]
    for shard in sorted(shards, key=lambda shard: shard.rollouts if isinstance(shard, ShardFiles) else shard.path):
        if isinstance(shard, ShardFiles):
            loader.read_shard(shard)
        else:
            loader.read_source(shard)
    # A side that has no rows to choose from is an empty one.
    if choice.seen and not len(side):
        raise CompareInputError(given[0], redact(choice.why_nothing_is_left()))
    return side


class _Loader:
    def __init__(self, side: Side, progress: Progress | None, redact: Redaction) -> None:
        self._side = side
        self._progress = progress
        self._redact = redact
        self._rows = RowReader(Row, side.extra_key, side.choice)
        self._piped_rows = RowReader(PipedRow, side.extra_key, side.choice)
        self._source_rows = RowReader(Row, side.extra_key, replace(side.choice, reward=None))
        self._sidecars = SidecarReader(side, side.choice, progress, redact)

    def read_shard(self, files: ShardFiles) -> None:
        """Read one shard with its failures sidecar."""
        side = self._side
        start = len(side)
        run_ids: set[str] = set()
        own: list[Record] = []
        fits: list[Fit] = []
        with LineFile(files.rollouts, self._progress) as file:
            for block in (self._piped_rows if file.input.is_pipe else self._rows).read(file):
                with checked_for_depth(block, file.path):
                    rows, failures = _parted(block)
                    own += self._sidecars.records_of(failures, is_own=True)
                    self._append(rows, file.path, is_pipe=file.input.is_pipe)
                    fits += rows.fits
                    if len(run_ids) < _KEPT_RUN_IDS:
                        run_ids.update({str(row.run_id) for row in block.rows if row.run_id is not None})
            side.bytes += file.bytes_read
        end = len(side)
        shard = Shard(files, file.input, start, end, end, end, end)
        side.shards.append(shard)
        self._sidecars.read(shard, own, fits, run_ids if len(run_ids) < _KEPT_RUN_IDS else set())

    def read_source(self, source: RowSource) -> None:
        """Read all rows of a source."""
        side = self._side
        start = len(side)
        fits: list[Fit] = []
        file = SourceFile(source)
        try:
            for block in self._source_rows.read(file):
                # They are found again by their numbers.
                block.offsets = [number - 1 for number in block.numbers]
                with checked_for_depth(block, file.path):
                    self._append(block, file.path, is_pipe=False)
                    fits += block.fits
        except CompareInputError as fault:
            raise file.placed(fault) from None
        side.bytes += source.bytes_read
        end = len(side)
        shard = Shard(ShardFiles(source.path), file.input, start, end, end, end, end, source=source)
        if source.lost:
            shard.planned = end - start + source.lost
        side.shards.append(shard)
        self._sidecars.read(shard, [], fits, set())

    def _append(self, block: RowBlock, path: str, *, is_pipe: bool) -> None:
        side, rows = self._side, block.rows
        if not rows:
            return
        first = len(side)
        if is_pipe:
            _keep_logs_dirs(side, rows)
        rewards = [_NAN if row.reward is None else row.reward for row in rows]
        codes = self._codes(rows, rewards)
        side.append(block, rewards, codes, side.prompts_of(rows), self._redact)
        if side.key is not None:
            _require_key(side, side.key, first, block, path)

    def _codes(self, rows: Sequence[Row], rewards: list[float]) -> list[int]:
        """The codes of what rows say; a reward that is not finite becomes NaN."""
        code_of, codes = self._side.signal_table.code_of, [0] * len(rows)
        for place, row in enumerate(rows):
            response = row.response
            if (
                row.mask_sample
                or row.error
                or row.reward is None
                or row.failure_kind
                or (response is not None and response.metadata)
            ):
                codes[place] = code_of(signals_of(row, self._redact))
        if not all(map(math.isfinite, rewards)):
            for place, reward in enumerate(rewards):
                if not math.isfinite(reward):
                    rewards[place] = _NAN
                    codes[place] = code_of(signals_of(rows[place], self._redact))
        return codes


def _parted(block: RowBlock) -> tuple[RowBlock, RowBlock]:
    """The rows of a block, and the records of failed attempts among them."""
    if FailureRow not in set(map(type, block.rows)):
        return block, block.at([])
    failures = [place for place, row in enumerate(block.rows) if type(row) is FailureRow]
    among = set(failures)
    return block.at([place for place in range(len(block.rows)) if place not in among]), block.at(failures)


def _keep_logs_dirs(side: Side, rows: Sequence[Any]) -> None:
    for row, piped in enumerate(rows, start=len(side)):
        if isinstance(piped.verifier_logs_dir, str):
            side.logs_dirs[row] = piped.verifier_logs_dir


def _told(names: list[str]) -> str:
    """The fields that a row has instead of the one that is missing."""
    shown = ", ".join(f"`{shortened(name, _LONGEST_NAME)}`" for name in names[:_NAMED_FIELDS])
    more = f" and {len(names) - _NAMED_FIELDS} more" if len(names) > _NAMED_FIELDS else ""
    return f"; it has {shown}{more}" if names else ""


def _require_key(side: Side, key: str, first: int, block: RowBlock, path: str) -> None:
    """Raises CompareInputError for a row that lacks the key asked for; `first` is the first of the rows just added."""
    is_fingerprint = key == PROMPT and PROMPT not in side.columns
    if key == TASK_INDEX:
        lacking = [place for place, index in enumerate(side.task_index[first:]) if index == NO_INDEX]
    elif is_fingerprint:
        lacking = [place for place, prompt in enumerate(side.prompts[first:]) if prompt == NO_PROMPT]
    else:
        column = side.columns.get(key)
        ids = column.ids[first:] if column is not None else [0] * len(block.rows)
        lacking = [place for place, code in enumerate(ids) if not code]
    if lacking:
        what = f"the row has no key field `{key}`{_told(field_names(block.lines[lacking[0]]))}"
        if is_fingerprint:
            what = "the row has no field `prompt`, nor a prompt in `responses_create_params.input`"
        raise CompareInputError(path, what, line=block.numbers[lacking[0]], task=some_name(block.rows[lacking[0]]))
