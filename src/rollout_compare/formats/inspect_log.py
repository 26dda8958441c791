"""Inspect: evaluation logs, `.eval` (a zip) or `.json`, or a folder of them.

Layout: as inspect_ai up to 0.3.285 writes it. Of a zip the summaries of the samples are read; a sample as a whole only
when its score's explanation is shown. Logs with one `task_id` are retries of a run, others of one task are repeats.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec

from rollout_compare.core.errors import CompareInputError
from rollout_compare.core.reading.json_line import field_of
from rollout_compare.core.sentences import counted, quoted, told
from rollout_compare.formats.attempt import Attempt, Reading
from rollout_compare.formats.documents import Document, Layout, Place, S, object_of
from rollout_compare.formats.given import LARGEST_DOCUMENT, Given
from rollout_compare.formats.inspect_scores import Scorer, float_of
from rollout_compare.formats.marks import outline
from rollout_compare.formats.values import compact, mapping, name, number, sequence, text, total, whole

if TYPE_CHECKING:
    from rollout_compare.archive import Archive

NAME = "inspect"
TITLE = "Inspect log"
ROWS = "sample"

_ZIP = b"PK"
_HEADER = "header.json"
_START = "_journal/start.json"
_SUMMARIES = "summaries.json"
_BATCH = re.compile(r"_journal/summaries/(\d{1,9})\.json")
_SAMPLE = re.compile(r"(?s)samples/[^/].*_epoch_\d+\.json")
_MOST_ENTRIES = 200_000
"""A log has an entry for each of its samples."""
_PROMPT = 5_000
"""Texts of a summary are cut a little later than this, in characters."""
_INPUT = ("input_tokens", "input_tokens_cache_read", "input_tokens_cache_write")


class _Key(msgspec.Struct):
    id: Any = None
    epoch: Any = None


class _Sample(_Key):
    input: Any = None
    target: Any = None
    scores: Any = None
    error: Any = None
    limit: Any = None
    limit_reason: Any = None
    model_usage: Any = None
    working_time: Any = None
    total_time: Any = None
    uuid: Any = None
    invalidation: Any = None


_KEYS: Layout[_Key] = Layout(_Key)
_SAMPLES: Layout[_Sample] = Layout(_Sample)


def detect(given: Given) -> bool:
    """Whether this is a log, or a folder with one."""
    return next(_members(given), None) is not None


def rows(given: Given, reading: Reading) -> Iterator[dict[str, Any]]:
    """A row for each sample and epoch, the newest log first. Raises CompareInputError for a log that is broken."""
    with contextlib.ExitStack() as stack:
        members = list(_members(given))
        logs = [_Log.read(given, member, stack if len(members) == 1 else None) for member in members]
        if not logs:
            raise CompareInputError(given.path, "not an Inspect log, nor a folder with one")
        yield from _rows(given, sorted(logs, key=lambda log: (log.created, log.member)), reading)


def _rows(given: Given, logs: list[_Log], reading: Reading) -> Iterator[dict[str, Any]]:
    if len(logs) > 1:
        retried = len(logs) - len({log.run or log for log in logs})
        also = told(", {} among them", counted(retried, "retry", "retries")) if retried else told("")
        reading.note(told("{}: {} logs are read as one side{}", quoted(given.path), len(logs), also))
    models: dict[Any, set[str | None]] = {}
    for log in logs:
        models.setdefault(log.task, set()).add(log.model)
    seen: dict[Any, set[Any]] = {}
    row = 0
    for log in reversed(logs):
        log.agent = text(field_of(log.head, "eval.solver"))
        if len(models[log.task]) > 1 and log.model is not None:
            log.agent = f"{log.agent} ({log.model})" if log.agent else log.model
        # A log that does not name its run is not known to be a retry.
        for attempt in log.attempts(reading, seen.setdefault(log.run or log, set()), row):
            yield {} if attempt is None else attempt.row()
            row += 1
        for note in log.scorer.notes(given.shown(log.member)):
            reading.note(note)


def _members(given: Given) -> Iterator[str]:
    """The logs: the given file, or those of a folder. In a folder, a file named `.eval` that is no zip is one too."""
    if given.is_folder:
        members = given.files(ending=(".eval", ".json"))
        yield from (member for member in members if member.endswith(".eval") or _is_document(given, member))
    elif _is_zip(given, given.name) or _is_document(given, given.name):
        yield given.name


def _is_document(given: Given, member: str) -> bool:
    return {"version", "eval", "eval.task", "eval.created"} <= outline(given, member)


def _is_zip(given: Given, member: str) -> bool:
    head = given.head(member)
    if member.endswith(".eval") and not head.lstrip().startswith(b"{"):
        return True
    if not head.startswith(_ZIP):
        return False
    with given.open(member) as file:
        try:
            archive = _archive(file)
        except ValueError:
            return False
        return _HEADER in archive or _START in archive


def _archive(file: BinaryIO) -> Archive:
    """The members of a zip. Raises ValueError for one that is broken, or beyond the limits."""
    # Reading zips takes its time to be imported: only when there is one.
    from rollout_compare.archive import Archive, ArchiveError

    try:
        return Archive(file, _MOST_ENTRIES)
    except ArchiveError as fault:
        raise ValueError(str(fault)) from None


@dataclass(eq=False)
class _Log:
    """One log: what it says of the evaluation, and its samples when they are asked for."""

    given: Given
    member: str
    head: dict[str, Any]
    content: _Text | _Zip | None = None
    """What it holds, as long as it stays open."""
    agent: str | None = None
    scorer: Scorer = field(default_factory=Scorer)

    @classmethod
    def read(cls, given: Given, member: str, stack: contextlib.ExitStack | None) -> _Log:
        """A log without its samples; it stays open until the stack is closed, if there is one.

        Raises CompareInputError for one that is broken.
        """
        log = cls(given, member, {})
        if stack is not None:
            log.content = stack.enter_context(log._opened())
            log.head = log.content.head()
        else:
            with log._opened() as content:
                log.head = content.head()
        if not mapping(log.head.get("eval")):
            log._place().fail("not an Inspect log: it does not say what was evaluated (`eval`)")
        return log

    @property
    def task(self) -> str | None:
        """The name of the task that was evaluated."""
        return text(field_of(self.head, "eval.task"))

    @property
    def run(self) -> str | None:
        """What a log has in common with its retries."""
        return text(field_of(self.head, "eval.task_id"))

    @property
    def model(self) -> str | None:
        """The model that was evaluated."""
        return text(field_of(self.head, "eval.model"))

    @property
    def created(self) -> str:
        """When the run began, as an ISO time."""
        return text(field_of(self.head, "eval.created")) or ""

    def attempts(self, reading: Reading, standing: set[Any], first_row: int) -> Iterator[Attempt | None]:
        """The attempts that are not among the `standing` ones of newer logs, which they then are too.

        None in place of one that is skipped.
        """
        self.scorer = Scorer.of_log(self.head, reading.reward)
        row = first_row
        with self._opened() if self.content is None else contextlib.nullcontext(self.content) as content:
            lists = content.lists()
            keys = (key for part in lists for key in part.elements(_KEYS))
            last = {_identity(key): position for position, key in enumerate(keys)}
            samples = (sample for part in lists for sample in part.elements(_SAMPLES))
            for position, sample in enumerate(samples):
                identity = _identity(sample)
                if last.get(identity) == position and identity not in standing:
                    is_shown = row in reading.shown
                    yield None if reading.skips(row) else self._attempt(sample, content, is_shown=is_shown)
                    row += 1
            standing.update(last)

    @contextlib.contextmanager
    def _opened(self) -> Iterator[_Text | _Zip]:
        if not self.given.head(self.member).startswith(_ZIP) and not self.member.endswith(".eval"):
            yield _Text(Document(self.given.read(self.member), self._place(), "samples"))
            return
        with self.given.open(self.member) as file:
            try:
                archive = _archive(file)
            except ValueError as fault:
                self._place().fail(f"not a log that can be read: {fault}")
            self.given.count(os.fstat(file.fileno()).st_size, self.member)
            yield _Zip(archive, self.given, self.member)

    def _place(self) -> Place:
        return Place(self.given.shown(self.member))

    def _attempt(self, sample: _Sample, content: _Text | _Zip, *, is_shown: bool) -> Attempt:
        task_id, epoch = name(sample.id), whole(sample.epoch)
        if task_id is None:
            self._place().fail("a sample has no id")
        attempt = Attempt(task_id, taskset=self.task, model=self.model, agent=self.agent, identity=text(sample.uuid))
        attempt.number = epoch - 1 if epoch is not None and epoch > 0 else None
        usages = [mapping(usage) for usage in mapping(sample.model_usage).values()]
        attempt.input_tokens = total(usage.get(kind) for usage in usages for kind in _INPUT)
        attempt.output_tokens = total(usage.get("output_tokens") for usage in usages)
        working = number(sample.working_time)
        attempt.seconds = number(sample.total_time) if working is None else working
        attempt.prompt = _prompt(sample.input)
        self._judge(attempt, sample)
        # A summary does not tell: only the header does, of all samples together.
        is_hidden = self.head.get("invalidated") is True
        invalidated = (content.whole(sample) if is_hidden else sample).invalidation
        if invalidated:
            attempt.mask("invalidated", text(field_of(invalidated, "reason")) or text(field_of(invalidated, "author")))
        if is_shown:
            attempt.output = self._output(content.whole(sample)) or self._output(sample)
        return attempt

    def _judge(self, attempt: Attempt, sample: _Sample) -> None:
        """What the score, an error and a limit make of an attempt."""
        scores = mapping(sample.scores)
        value = self.scorer.value(scores)
        attempt.reward = float_of(value)
        error = text(sample.error) or text(field_of(sample.error, "message"))
        limit = text(sample.limit) or text(field_of(sample.limit, "type"))
        if attempt.reward is not None:
            attempt.error = error
            attempt.failure_kind = None if limit is None else f"limit: {limit}"
        elif error is not None:
            attempt.mask("error", error)
        elif value is None:
            attempt.mask("no_score", self.scorer.why_not(scores) or (limit and f"limit: {limit}"))
        else:
            attempt.mask("score_is_no_number", self.scorer.told(value))

    def _output(self, sample: _Sample) -> str | None:
        score = mapping(self.scorer.score(mapping(sample.scores)))
        if explanation := text(score.get("explanation")):
            return explanation
        said = [(key, value) for key, value in (("answer", score.get("answer")), ("target", sample.target)) if value]
        return "\n".join(f"{key}: {value if isinstance(value, str) else compact(value)}" for key, value in said) or None


@dataclass
class _Text:
    """A log that is one document: its samples are whole."""

    document: Document

    def head(self) -> dict[str, Any]:
        """What the log says of the evaluation."""
        return {name: self.document.field(name) for name in ("eval", "results", "invalidated")}

    def lists(self) -> list[Document]:
        """The lists of samples."""
        return [self.document]

    def whole(self, sample: _Sample) -> _Sample:
        """The sample as it is."""
        return sample


@dataclass
class _Zip:
    """The members of a log that is a zip."""

    archive: Archive
    given: Given
    member: str

    def head(self) -> dict[str, Any]:
        """What the log says of the evaluation; of one that still runs, or was killed, what it said as it began."""
        member = _HEADER if _HEADER in self.archive else _START
        if member not in self.archive:
            self._place("").fail(f"not an Inspect log: a zip without {_HEADER} or {_START}")
        found = object_of(self._read(member))
        if found is None:
            self._place(member).fail("not a JSON object (cut short?)")
        return found

    def lists(self) -> Sequence[Document | _Members]:
        """The lists of samples: the summaries, those of the journal, or the samples themselves."""
        batches = sorted((int(found[1]), found[0]) for member in self.archive if (found := _BATCH.fullmatch(member)))
        members = [_SUMMARIES] if _SUMMARIES in self.archive else [member for _, member in batches]
        if members:
            return [Document(self._read(member), self._place(member)) for member in members]
        return [_Members(self, list(filter(_SAMPLE.fullmatch, self.archive)))]

    def whole(self, sample: _Sample) -> _Sample:
        """A sample as a whole; as it is when the log does not hold it so."""
        member = f"samples/{sample.id}_epoch_{sample.epoch}.json"
        return self.one(member, _SAMPLES) if member in self.archive else sample

    def one(self, member: str, shape: Layout[S]) -> S:
        """A member that is a sample."""
        try:
            found = shape.of(self._read(member))
        except (ValueError, RecursionError):
            found = None
        if found is None:
            self._place(member).fail("not a JSON object (cut short?)")
        return found

    def _read(self, member: str) -> bytearray:
        from rollout_compare.archive import ArchiveError

        try:
            return self.archive.read(member, LARGEST_DOCUMENT)
        except ArchiveError as fault:
            self._place(member).fail(str(fault))

    def _place(self, member: str) -> Place:
        return Place(self.given.shown(self.member), member)


@dataclass
class _Members:
    """Samples of a zip, each a member."""

    log: _Zip
    members: list[str]

    def elements(self, shape: Layout[S]) -> Iterator[S]:
        """The samples."""
        return (self.log.one(member, shape) for member in self.members)


def _identity(sample: _Key) -> tuple[Any, ...]:
    """What tells a sample and its epoch from others: 17 and "17" are two."""
    task, epoch = (value if isinstance(value, str | int) else compact(value) for value in (sample.id, sample.epoch))
    return isinstance(sample.id, str), task, epoch


def _prompt(value: Any) -> Any:
    """The text of a sample's input, cut so that the sample and its summary have the same."""
    if isinstance(value, str):
        return value[:_PROMPT]
    messages = [mapping(message) for message in sequence(value)]
    return [{"role": message.get("role"), "content": _content(message.get("content"))} for message in messages] or None


def _content(value: Any) -> str:
    if isinstance(value, str):
        return value[:_PROMPT]
    parts = [mapping(part) for part in sequence(value)]
    return "\n".join(map(_part, parts))


def _part(part: dict[str, Any]) -> str:
    # A summary has a word in place of what is no text.
    said = text(part.get("text"))
    return f"({str(part.get('type')).capitalize()})" if said is None else said[:_PROMPT]
