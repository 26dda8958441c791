"""An artifact's files in a temporary folder: the rollouts at once, logs when a report asks for them."""

from __future__ import annotations

import errno
import glob
import os
import posixpath
import shutil
from collections.abc import Callable, Iterator
from typing import BinaryIO

from rollout_compare.archive import Archive, ArchiveError, is_zip
from rollout_compare.core.errors import CompareInputError
from rollout_compare.core.logs.confined import LOG_ENDINGS, RESULT_FILES
from rollout_compare.core.reading.inputs import find_rollouts_below, find_shards, listed

_PIECE = 1 << 20
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS})


class UnpackedArtifact:
    """The content of an artifact, as far as it is needed, in `root`, a folder that is there and empty.

    `name` is the artifact's; messages show it in place of the folder.
    """

    def __init__(self, content: BinaryIO, root: str, name: str, warn: Callable[[str], None]) -> None:
        """Raises CompareInputError for a zip that is broken, or beyond the limits."""
        self.root = root
        self._name = name
        self._content = content
        self._members: set[str] = set()
        self._empty: set[str] = set()
        """Those that are still an empty file, to be looked through by their names."""
        self._folders: set[str] = set()
        try:
            self._archive = Archive(content) if is_zip(content) else None
        except ArchiveError as fault:
            raise CompareInputError(f"artifact {name}", f"cannot be read: {fault}") from None
        if self._archive is not None:
            self._members = set(self._made_names(self._archive))
            self._empty = set(self._members)
            self._folders = {folder for member in self._members for folder in _folders_above(member)}
            left_out = self._archive.left_out + len(self._archive.names) - len(self._members)
            if left_out:
                warn(
                    f"artifact `{name}`: {left_out:,} of its entries are ignored: links, or names that lead out of it "
                    "or cannot be file names"
                )

    @property
    def stand_ins(self) -> dict[str, str]:
        """What is told in place of the temporary folder, as it is and as part of a glob."""
        return {self.root: self._name, glob.escape(self.root): self._name}

    def inputs(self, path: str, is_of_format: Callable[[str], bool]) -> list[str]:
        """What `path` names in the artifact: results of another tool, or rollouts files with what belongs to them.

        Rollouts files are extracted; of results only what `is_of_format` looks at, as it calls `bring_document`. An
        empty path means all of the artifact, or its only rollouts file. Raises CompareInputError when there is none.
        """
        if self._archive is None:
            return [self._single_file(path)]
        place = os.path.join(self.root, path) if path else self.root
        try:
            if os.path.lexists(place) and is_of_format(place):
                return [place]
            shards = find_shards([self._place(path)])
        except CompareInputError as fault:
            where = f" in the artifact, which holds {self._listed()}" if fault.is_missing else ""
            raise CompareInputError(self._told(fault.path), self._told(fault.what) + where) from None
        for shard in shards:
            for file in shard.all():
                self._extract(self._member(file))
        for member in self._empty:
            os.unlink(os.path.join(self.root, member))
        self._empty.clear()
        return [shard.rollouts for shard in shards]

    def bring(self, path: str) -> None:
        """Extract the log or test results at a path of the folder, or make the folder, if it has it. Raises OSError."""
        member = self._member(path)
        is_told = member.endswith(LOG_ENDINGS) or posixpath.basename(member) in RESULT_FILES
        if is_told or member not in self._members:
            self.bring_document(path)

    def bring_document(self, path: str) -> None:
        """The same for any file."""
        member = self._member(path)
        target = os.path.join(self.root, member)
        if self._archive is None or (os.path.lexists(target) and member not in self._empty):
            return
        if member in self._members:
            try:
                self._write(self._archive, member)
            except ArchiveError as fault:
                raise OSError(errno.EIO, f"in the artifact, {fault}") from None
        elif member in self._folders:
            os.makedirs(target, exist_ok=True)

    def _member(self, path: str) -> str:
        return posixpath.normpath(os.path.relpath(path, self.root))

    def holds(self, folder: str) -> bool:
        """Whether the artifact has a folder."""
        return posixpath.normpath(folder) in self._folders

    def _place(self, path: str) -> str:
        place = os.path.join(self.root, path) if path else find_rollouts_below(self.root)
        # What is not there may be a glob; the name of the folder is not a part of it.
        return place if os.path.lexists(place) else os.path.join(glob.escape(self.root), path)

    def _listed(self) -> str:
        return listed(sorted(self._members)) if self._members else "no file"

    def _told(self, text: str) -> str:
        for path, name in self.stand_ins.items():
            text = text.replace(path, name)
        return text

    def _single_file(self, path: str) -> str:
        """The file that the artifact is, under the artifact's name."""
        if path:
            raise CompareInputError(f"artifact {self._name}", "is a single file, not a zip: leave out the path")
        place = os.path.join(self.root, os.path.basename(self._name))
        try:
            with open(place, "xb") as target:
                shutil.copyfileobj(self._content, target, _PIECE)
        except OSError as fault:
            raise CompareInputError(
                f"artifact {self._name}", f"could not be stored on disk: {fault.strerror}"
            ) from None
        return place

    def _made_names(self, archive: Archive) -> Iterator[str]:
        """Make an empty file for each name of the archive, to look for rollouts; the names that worked."""
        for name in archive.names:
            place = os.path.join(self.root, name)
            try:
                os.makedirs(os.path.dirname(place), exist_ok=True)
                with open(place, "xb"):
                    yield name
            except OSError as fault:
                if fault.errno in _NO_ROOM:
                    raise CompareInputError(
                        f"artifact {self._name}", f"could not be unpacked: {fault.strerror}"
                    ) from None

    def _extract(self, member: str) -> None:
        assert self._archive is not None
        try:
            if member in self._empty:
                self._write(self._archive, member)
        except ArchiveError as fault:
            raise CompareInputError(f"{self._name}/{member}", f"cannot be read from the artifact: {fault}") from None
        except OSError as fault:
            raise CompareInputError(f"{self._name}/{member}", f"could not be unpacked: {fault.strerror}") from None

    def _write(self, archive: Archive, member: str) -> None:
        target = os.path.join(self.root, member)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if member in self._empty:
            os.unlink(target)
            self._empty.discard(member)
        archive.extract(member, target)


def _folders_above(member: str) -> Iterator[str]:
    folder = posixpath.dirname(member)
    while folder:
        yield folder
        folder = posixpath.dirname(folder)
