"""From the paths a user gives to the files that make one side: directories, globs, shards and their sidecars."""

from __future__ import annotations

import glob
import os
import re
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rollout_compare.core.errors import CompareInputError
from rollout_compare.core.reading.source import OpenSource, RowSource

_NAME = re.compile(r"(?s)(?P<stem>.+?)(?P<extension>\.[^.]+)?(?P<packing>\.(?:gz|zst))?", re.IGNORECASE)
_PACKINGS = ("", ".gz", ".zst")
_ROLLOUTS_FILE = re.compile(r"(?s).+\.(?:jsonl|ndjson)(?:\.gz|\.zst)?", re.IGNORECASE)
_NOT_ROLLOUTS = re.compile(
    r"(?s)(?:.*(?:_failures|_materialized_inputs|_reward_profiling)|rollout_verdicts)"
    r"\.(?:jsonl|ndjson)(?:\.gz|\.zst)?",
    re.IGNORECASE,
)
_LISTED = 10


@dataclass(frozen=True, slots=True)
class ShardFiles:
    """The files of one shard, paths as given; those beside the rollouts only when they exist."""

    rollouts: str
    sidecar: str | None = None
    materialized: str | None = None
    coverage: str | None = None

    def all(self) -> list[str]:
        """Every file of the shard that may be read."""
        return [path for path in (self.rollouts, self.sidecar, self.materialized, self.coverage) if path is not None]


def find_shards(paths: Sequence[str]) -> list[ShardFiles]:
    """The shards that `paths` (files, directories, globs) name, in path order, each file once.

    Raises CompareInputError when a path names nothing, or a directory holds no or several rollouts files.
    """
    found: dict[tuple[int, int], str] = {}
    for path in sorted({file for given in paths for file in _expand(given)}):
        try:
            status = os.stat(path)
        except OSError as fault:
            raise CompareInputError(path, f"cannot be read: {fault.strerror}") from None
        found.setdefault((status.st_dev, status.st_ino), path)
    listings: dict[str, list[str]] = {}
    return [
        ShardFiles(
            path,
            _sibling(path, "_failures", listings),
            _sibling(path, "_materialized_inputs", listings),
            _sibling(path, "_coverage", listings, (".json",)),
        )
        for path in found.values()
    ]


def find_sources(paths: Sequence[str], open_source: OpenSource | None) -> tuple[list[RowSource], list[str]]:
    """Which of the paths, or of what a glob among them matches, are opened as sources; and the remaining ones.

    Raises CompareInputError for a path that cannot be opened.
    """
    if open_source is None:
        return [], list(paths)
    sources: dict[str, RowSource] = {}
    others: list[str] = []
    for path in paths:
        is_glob = not os.path.lexists(path) and glob.has_magic(path) and "\0" not in path
        matches = [match for match in glob.glob(path, recursive=True) if not _is_derived(match)] if is_glob else [path]
        opened = {match: source for match in matches if (source := open_source(match)) is not None}
        sources |= {os.path.realpath(match): source for match, source in opened.items()}
        if not opened:
            others.append(path)
        else:
            others += [match for match in matches if match not in opened and not os.path.isdir(match)]
    return list(sources.values()), others


def find_rollouts_below(directory: str) -> str:
    """The directory, when rollouts files lie in itself; else the only one below it.

    Raises CompareInputError when there is none, or when there are several.
    """
    found: list[str] = []
    for folder, folders, names in os.walk(directory):
        folders.sort()
        files = _rollouts_files(folder, names)
        if files and folder == directory:
            return directory
        found += [os.path.join(folder, name) for name in files]
    if not found:
        raise CompareInputError(directory, "there is no rollouts file (*.jsonl or *.ndjson) in it")
    if len(found) > 1:
        raise CompareInputError(directory, f"several rollouts files, name one of them: {listed(found)}")
    return found[0]


def has_rollouts(directory: str) -> bool:
    """Whether a directory has a rollouts file under the usual name."""
    try:
        return any(f"rollouts.jsonl{packing}" in os.listdir(directory) for packing in _PACKINGS)
    except OSError:
        return False


def _expand(given: str) -> list[str]:
    if not given:
        raise CompareInputError("''", "an empty path")
    try:
        mode = os.stat(given).st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError):
        if not glob.has_magic(given) or "\0" in given:
            raise CompareInputError(given, "no such file or directory", is_missing=True) from None
        return _glob(given)
    except OSError as fault:
        raise CompareInputError(given, f"cannot be read: {fault.strerror}") from None
    return [_only_rollouts_file(given)] if stat.S_ISDIR(mode) else [given]


def _glob(pattern: str) -> list[str]:
    matches = [
        path
        for path in glob.glob(pattern, recursive=True)
        if not os.path.isdir(path) and os.path.exists(path) and not _is_derived(path)
    ]
    if not matches:
        raise CompareInputError(pattern, "the pattern matches no rollouts file", is_missing=True)
    return matches


def _is_derived(path: str) -> bool:
    return _NOT_ROLLOUTS.fullmatch(os.path.basename(path)) is not None


def _only_rollouts_file(directory: str) -> str:
    try:
        names = os.listdir(directory)
    except OSError as fault:
        raise CompareInputError(directory, f"cannot be listed: {fault.strerror}") from None
    files = _rollouts_files(directory, names)
    if not files:
        raise CompareInputError(directory, "a directory without a rollouts file (*.jsonl or *.ndjson)")
    if len(files) > 1:
        what = f"a directory with several rollouts files, name one of them: {listed(files)}"
        raise CompareInputError(directory, what)
    return os.path.join(directory, files[0])


def _rollouts_files(directory: str, names: Iterable[str]) -> list[str]:
    """The rollouts files of a directory; only the one with the usual name, if there is one."""
    files = [
        name
        for name in sorted(names)
        if _ROLLOUTS_FILE.fullmatch(name) and not _is_derived(name) and not os.path.isdir(os.path.join(directory, name))
    ]
    usual = [name for packing in _PACKINGS for name in files if name == "rollouts.jsonl" + packing]
    return usual[:1] or files


def listed(files: list[str]) -> str:
    """The first few names of a list, with the number of the others."""
    return ", ".join(files[:_LISTED]) + (f" and {len(files) - _LISTED} more" if len(files) > _LISTED else "")


def _sibling(path: str, ending: str, listings: dict[str, list[str]], wanted_suffixes: Sequence[str] = ()) -> str | None:
    """The file beside `path` whose stem is longer by `ending`, in any case of its suffixes.

    By default these are those of `path`, packed or not.
    """
    directory, name = os.path.split(path)
    parts = _NAME.fullmatch(name)
    if parts is None:
        return None
    wanted = parts["stem"] + ending
    if directory not in listings:
        listings[directory] = _names_in(directory)
    beside = [other for other in listings[directory] if other.startswith(wanted) and other != name]
    for suffix in wanted_suffixes or _suffixes(parts["extension"]):
        exact = [other for other in beside if other == wanted + suffix]
        folded = [other for other in beside if other[len(wanted) :].lower() == suffix.lower()]
        for other in exact + sorted(folded):
            candidate = os.path.join(directory, other)
            if os.path.exists(candidate):
                return candidate
    return None


def _suffixes(extension: str | None) -> Iterable[str]:
    own = [] if extension is None else [extension]
    return [stem + packing for stem in [*own, ".jsonl"] for packing in _PACKINGS]


def _names_in(directory: str) -> list[str]:
    try:
        return os.listdir(directory or ".")
    except OSError:
        # A directory that may be entered but not listed: no sibling is looked up by name.
        return []
