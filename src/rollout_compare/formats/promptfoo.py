"""promptfoo: the results that it writes as `output.json` or, one a line, as `output.jsonl`.

Layout: as promptfoo up to 0.121 writes it. A test is named by its description, else by its variables: its index moves
with every test that is added, and with repeats.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from rollout_compare.core.errors import CompareInputError
from rollout_compare.core.reading.json_line import field_of
from rollout_compare.core.sentences import field_name, named, quoted, told
from rollout_compare.formats.attempt import Attempt, Reading
from rollout_compare.formats.documents import Document, Layout, Place, lines_of
from rollout_compare.formats.given import Given
from rollout_compare.formats.marks import fields_of_first_line, outline
from rollout_compare.formats.values import compact, mapping, number, numbers, sequence, text, whole

NAME = "promptfoo"
TITLE = "promptfoo results"
ROWS = "result"

_NAMES = ("output.json", "output.jsonl")
_PROVIDER_FAILED = 2
_MARKS = frozenset({"testIdx", "promptIdx", "testCase", "success"})


class _Labels(msgspec.Struct):
    prompt: Any = None


class _Item(_Labels):
    id: Any = None
    test_index: Any = msgspec.field(name="testIdx", default=None)
    success: Any = None
    score: Any = None
    failure_reason: Any = msgspec.field(name="failureReason", default=None)
    error: Any = None
    grading: Any = msgspec.field(name="gradingResult", default=None)
    named_scores: Any = msgspec.field(name="namedScores", default=None)
    test: Any = msgspec.field(name="testCase", default=None)
    vars: Any = None
    provider: Any = None
    response: Any = None
    latency: Any = msgspec.field(name="latencyMs", default=None)


def detect(given: Given) -> bool:
    """Whether this is a document of results, or a file with a result a line; or a folder with either."""
    return _member(given) is not None


def rows(given: Given, reading: Reading) -> Iterator[dict[str, Any]]:
    """A row for each result. Raises CompareInputError for a result that names no test."""
    member = _member(given)
    if member is None:
        raise CompareInputError(
            given.path, "not promptfoo results: neither `evalId` with `results`, nor a result a line"
        )
    place = Place(given.shown(member))
    content = None if _is_lines(given, member) else Document(given.read(member), place, "results", "results")
    if content is not None and not content.has_list:
        place.fail("not promptfoo results: there is no list `results.results`")
    # Which tasksets there are is known only once all prompts have been seen.
    several = len({_prompt(item) for item in _items(given, member, content, Layout(_Labels))}) > 1
    scores: dict[str, None] = {}
    for row, item in enumerate(_items(given, member, content, Layout(_Item))):
        attempt = _attempt(item, reading.reward)
        if attempt is None:
            place.fail(f"result {row + 1} names no test: no description, no variables and no index")
        if several:
            attempt.taskset = _prompt(item)
        if row in reading.shown:
            attempt.output = _output(item)
        scores |= dict.fromkeys(attempt.components or ())
        yield attempt.row()
    if scores:
        pieces = (quoted(reading.reward or "success"), field_name("--reward NAME"), named(["score", *scores]))
        reading.note(told("the reward is {}; {} takes another: {}", *pieces))


def _member(given: Given) -> str | None:
    """The file of results: the given one, or the one that a folder has under the usual name."""
    members = list(_NAMES) if given.is_folder else [given.name]
    return next((member for member in members if _is_lines(given, member) or _is_document(given, member)), None)


def _is_lines(given: Given, member: str) -> bool:
    return fields_of_first_line(given, member) >= _MARKS


def _is_document(given: Given, member: str) -> bool:
    return {"evalId", "results"} <= outline(given, member)


def _items(given: Given, member: str, content: Document | None, shape: Layout[Any]) -> Iterator[Any]:
    if content is not None:
        yield from content.elements(shape)
    else:
        for _, item, _ in lines_of(given, member, shape):
            yield item


def _prompt(item: _Labels) -> str | None:
    return text(field_of(item.prompt, "label")) or text(field_of(item.prompt, "raw"))


def _attempt(item: _Item, reward: str | None) -> Attempt | None:
    variables = mapping(item.vars) or mapping(field_of(item.test, "vars"))
    found = text(field_of(item.test, "description")) or (compact(variables) if variables else None)
    if found is None and whole(item.test_index) is None:
        return None
    attempt = Attempt(found or f"#{whole(item.test_index)}", identity=text(item.id))
    attempt.prompt = compact(variables) if variables else text(field_of(item.prompt, "raw"))
    provider = mapping(item.provider)
    attempt.agent = attempt.model = text(provider.get("label")) or text(provider.get("id")) or text(item.provider)
    attempt.input_tokens = whole(field_of(item.response, "tokenUsage.prompt"))
    attempt.output_tokens = whole(field_of(item.response, "tokenUsage.completion"))
    latency = number(item.latency)
    attempt.seconds = None if latency is None else latency / 1000
    scores = numbers(item.named_scores)
    attempt.components = {name: score for name, score in scores.items() if name != reward}
    if item.failure_reason == _PROVIDER_FAILED:
        attempt.mask("provider_error", text(item.error))
    elif not isinstance(item.success, bool):
        attempt.mask("no_success", "`success` is neither true nor false")
    elif reward is None or reward == "success":
        attempt.reward = float(item.success)
    else:
        attempt.reward = number(item.score) if reward == "score" else scores.get(reward)
        if attempt.reward is None:
            attempt.mask("no_number", f"no score is called {reward}; there are: {', '.join(['score', *scores])}")
    return attempt


def _output(item: _Item) -> str | None:
    """What the assertions said, a line each; in the results it stands in `error` too, which is no agent error."""
    lines = []
    for part in sequence(field_of(item.grading, "componentResults")):
        verdict = "pass" if field_of(part, "pass") is True else "FAIL"
        kind = text(field_of(part, "assertion.type")) or "assertion"
        lines.append(f"{verdict} {kind}: {text(field_of(part, 'reason')) or ''}")
    return "\n".join(lines) or text(field_of(item.grading, "reason"))
