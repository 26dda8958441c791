"""A path that a user gave, as the readers of formats see it: nothing outside of it, nothing hidden, within limits.

What lies there was written by others. A link is followed only when it leads to something below the given folder; of a
file, that folder is the one it lies in. Names that begin with a dot, pipes and devices are not there.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import BinaryIO

from rollout_compare.core.errors import CompareInputError
from rollout_compare.core.reading.lines import BOM, Progress

LARGEST_DOCUMENT = 512 << 20
"""Longest document that is read whole, in bytes."""
HEAD = 64 << 10
"""How much of a document tells what it is, in bytes."""
LONGEST_LINE = 16 << 20
"""How long the first line of a JSONL may be to tell that, in bytes."""
_NOT_THERE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.EINVAL, errno.ENXIO)


class Given:
    """A file, or a folder with members. A member is named by its path in the folder, with `/`; the folder by ''.

    `bring` makes a path be there before it is looked at, if it can; `progress` is told of what is read.
    """

    def __init__(
        self, path: str, *, bring: Callable[[str], None] | None = None, progress: Progress | None = None
    ) -> None:
        self.path = path
        self.is_folder = os.path.isdir(path)
        self._sizes: dict[str, int] = {}
        self._bring = bring
        self._progress = progress
        self._heads: dict[str, bytes] = {}
        self.marks: dict[tuple[str, str], frozenset[str]] = {}
        """What `marks` has found out of members."""
        self._folders: dict[str, str | None] = {}

    @property
    def exists(self) -> bool:
        """Whether there is something at the path."""
        return os.path.lexists(self.path)

    @property
    def name(self) -> str:
        """The member that was given: the file's name, or '' for the folder."""
        return "" if self.is_folder else os.path.basename(self.path)

    @property
    def root(self) -> str:
        """The folder that was given, or that the given file lies in."""
        return self.path if self.is_folder else os.path.dirname(self.path) or os.curdir

    @cached_property
    def real_root(self) -> str:
        """The same, wherever links lead."""
        return os.path.realpath(self.root)

    def shown(self, member: str) -> str:
        """A member's path, as it is told of."""
        if member == self.name:
            return self.path
        return os.path.join(os.path.dirname(self.path) if not self.is_folder else self.path, member)

    def folders(self, folder: str = "") -> list[str]:
        """The folders in a folder, as members, sorted by name."""
        return sorted(self._listed(folder, stat.S_IFDIR))

    def files(self, folder: str = "", *, ending: str | tuple[str, ...] = "") -> list[str]:
        """The files in a folder whose names have an ending, as members, sorted by name."""
        return sorted(name for name in self._listed(folder, stat.S_IFREG) if name.endswith(ending))

    def has_folder(self, member: str) -> bool:
        """Whether there is a folder of that name."""
        real = self._real_folder(member)
        return real is not None and os.path.isdir(real)

    def has_file(self, member: str) -> bool:
        """Whether there is a file of that name."""
        real = self._real(member)
        try:
            return real is not None and stat.S_ISREG(os.stat(real).st_mode)
        except (OSError, ValueError):
            return False

    def head(self, member: str) -> bytes:
        """The first bytes of a file, without a byte order mark; empty when it cannot be read."""
        if member not in self._heads:
            try:
                with self.open(member) as file:
                    self._heads[member] = file.read(HEAD).removeprefix(BOM)
            except CompareInputError:
                self._heads[member] = b""
        return self._heads[member]

    def first_line(self, member: str) -> bytes:
        """The first line of a file that is not blank, without a byte order mark; empty when it is too long."""
        line, end, _ = self.head(member).lstrip().partition(b"\n")
        if end or len(self.head(member)) < HEAD - len(BOM):
            return line
        with self.open(member) as file:
            line = file.readline(LONGEST_LINE).removeprefix(BOM)
            while line.isspace():
                line = file.readline(LONGEST_LINE)
        return line if len(line) < LONGEST_LINE - len(BOM) else b""

    def read(self, member: str) -> bytes:
        """What a file holds. Raises CompareInputError when it is not there, cannot be read, or is too large."""
        with self.open(member) as file:
            try:
                size = os.fstat(file.fileno()).st_size
                content = file.read(LARGEST_DOCUMENT + 1) if size <= LARGEST_DOCUMENT else None
            except OSError as fault:
                raise self._unreadable(member, fault) from None
        if content is None or len(content) > LARGEST_DOCUMENT:
            what = f"a document of more than {LARGEST_DOCUMENT >> 20} MiB, which is not read"
            raise CompareInputError(self.shown(member), what)
        self.count(len(content), member)
        return content

    def find(self, member: str) -> bytes | None:
        """The same; None when no file of that name is there."""
        try:
            return self.read(member)
        except CompareInputError as fault:
            if fault.is_missing:
                return None
            raise

    def open(self, member: str) -> BinaryIO:
        """A file, opened for reading. Raises CompareInputError when it is not there, or may not be read."""
        real = self._real(member)
        if real is None:
            what = "a link that leads out of what was given, or a hidden file: it is not read"
            raise CompareInputError(self.shown(member), what, is_missing=True)
        try:
            if self._bring is not None:
                self._bring(os.path.join(self.root, member))
            # What is no file is neither waited for nor followed.
            number = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except (OSError, ValueError) as fault:
            raise self._unreadable(member, fault) from None
        if not stat.S_ISREG(os.fstat(number).st_mode):
            os.close(number)
            raise CompareInputError(self.shown(member), "not a regular file", is_missing=True)
        return open(number, "rb")

    @property
    def read_files(self) -> list[str]:
        """The paths of the files that were read."""
        return [self.shown(member) for member in self._sizes]

    @property
    def bytes_read(self) -> int:
        """Size of the files that were read, as they lie on disk."""
        return sum(self._sizes.values())

    def count(self, size: int, member: str) -> None:
        """Tell that a file of some size was read."""
        self._sizes[member] = size
        if self._progress is not None:
            self._progress(self.shown(member), size, size)

    def _unreadable(self, member: str, fault: OSError | ValueError) -> CompareInputError:
        code = fault.errno if isinstance(fault, OSError) else errno.ENOENT
        if code in _NOT_THERE:
            return CompareInputError(self.shown(member), "no such file", is_missing=True)
        return CompareInputError(self.shown(member), f"cannot be read: {os.strerror(code or errno.EIO)}")

    def _listed(self, folder: str, kind: int) -> Iterator[str]:
        real = self._real_folder(folder)
        if real is None:
            return
        try:
            entries = [entry for entry in os.scandir(real) if not entry.name.startswith(".")]
        except OSError as fault:
            if fault.errno in _NOT_THERE:
                return
            raise CompareInputError(self.shown(folder), f"cannot be listed: {fault.strerror}") from None
        for entry in entries:
            if _is(entry, kind) and not (entry.is_symlink() and self._is_left_out(entry, real)):
                yield f"{folder}/{entry.name}" if folder else entry.name

    def _is_left_out(self, entry: os.DirEntry[str], folder: str) -> bool:
        """Whether a link leads out of what was given, or to something that stands beside it under its own name."""
        real = os.path.realpath(entry.path)
        return not self._allows(real) or os.path.dirname(real) == folder

    def _real(self, member: str) -> str | None:
        """Where a file really lies; None when that is not within what was given."""
        if member == self.name and not self.is_folder:
            # What the user named is read, wherever a link leads.
            return os.path.realpath(self.path)
        folder, _, name = member.rpartition("/")
        real = self._real_folder(folder)
        if real is None or name in ("", ".", "..") or name.startswith(".") or "\0" in name:
            return None
        path = os.path.join(real, name)
        if os.path.islink(path):
            path = os.path.realpath(path)
            return path if self._allows(path) else None
        return path

    def _real_folder(self, folder: str) -> str | None:
        if not folder:
            return self.real_root
        if folder not in self._folders:
            real = None if "\0" in folder else os.path.realpath(os.path.join(self.real_root, folder))
            self._folders[folder] = real if real is not None and self._allows(real) else None
        return self._folders[folder]

    def _allows(self, real: str) -> bool:
        root = self.real_root.rstrip("/") + "/"
        return real.startswith(root) and not any(part.startswith(".") for part in real[len(root) :].split("/"))


def _is(entry: os.DirEntry[str], kind: int) -> bool:
    try:
        return entry.is_dir() if kind == stat.S_IFDIR else entry.is_file()
    except OSError:
        return False
