"""The id that a row gives the rollout it tells of, by which one that was written twice is known again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeGuard

import xxhash

from rollout_compare.core.reading.rows import Row

_SHORTEST = 4
"""Shorter ids number things."""
_hash = xxhash.xxh3_64_intdigest


def rollout_ids_of(rows: Sequence[Row]) -> list[int]:
    """Per row a hash of its `_ng_rollout_id` or `rollout_id` (even), else of its `response.id` (odd); 0 for none.

    The id of a response proves less: some servers make it of the task's name.
    """
    texts = [None if row.response is None else row.response.id for row in rows]
    try:
        # Written out: a function called for each row would take twice as long.
        ids = [_hash(text.encode()) | 1 if type(text) is str and len(text) >= _SHORTEST else 0 for text in texts]
    except UnicodeEncodeError:
        ids = [_odd(text) if _is_id(text) else 0 for text in texts]
    named = [row.ng_rollout_id or row.rollout_id for row in rows]
    if named.count(None) != len(named):
        for place, row in enumerate(rows):
            for value in (row.ng_rollout_id, row.rollout_id):
                if _is_id(value):
                    ids[place] = _odd(value) ^ 1 or 2
                    break
    return ids


def _is_id(value: Any) -> TypeGuard[str]:
    return type(value) is str and len(value) >= _SHORTEST


def _odd(value: str) -> int:
    return _hash(value.encode("utf-8", "backslashreplace")) | 1
