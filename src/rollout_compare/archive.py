"""A zip read as data: what a stranger put into it can neither fill disk or memory nor leave its folder.

Only the entries that are asked for are extracted. Entries that are links are ignored; those whose names lead out of the
folder can be read, but not extracted.
Source: the ZIP File Format Specification (APPNOTE.TXT), and what actions/upload-artifact writes.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import struct
import sys
import zlib
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING or sys.version_info < (3, 14):
    from backports.zstd import ZstdError, zipfile
else:
    import zipfile

    from compression.zstd import ZstdError

MOST_ENTRIES = 10_000
"""Entries of an artifact."""
LARGEST = 20 << 30
"""Bytes of all entries together, unpacked."""
LARGEST_RATIO = 200
"""How many times larger than its packed form anything may be."""
_TOO_DENSE = f"it unpacks to more than {LARGEST_RATIO} times its size; refusing it"
_HARMLESS = 1 << 20
"""Bytes up to which the ratio does not matter."""
_LISTED = 420
"""Bytes that an entry may take in the list of entries, which zipfile reads in one piece."""
_LONGEST_NAME = 1_000
_DEEPEST = 50
"""Folders above a file: no honest artifact has more."""
_PIECE = 1 << 20
_SIGNATURES = (b"PK\x03\x04", b"PK\x05\x06")
_NO_NAME = re.compile(r"[\x00-\x1f\x7f-\x9f\\]|^[A-Za-z]:")
_ENCRYPTED = 0x1
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_ZSTANDARD)
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    ZstdError,
    struct.error,
    EOFError,
    NotImplementedError,
    OverflowError,
    RuntimeError,
    ValueError,
)
"""What the reading of a broken zip may raise, besides OSError for a place that no file has."""


class ArchiveError(Exception):
    """A zip, or an entry of one, that is not read; the message says why."""


def is_zip(file: BinaryIO) -> bool:
    """Whether a file begins like a zip. An artifact may also be a single file as it is.

    Raises ArchiveError for a file without content.
    """
    file.seek(0)
    start = file.read(len(_SIGNATURES[0]))
    file.seek(0)
    _check(bool(start), "it is empty")
    return start in _SIGNATURES


class Archive:
    """The files of a zip by their names, with `/` between folders."""

    def __init__(self, file: BinaryIO, most_entries: int = MOST_ENTRIES) -> None:
        """Raises ArchiveError for a zip that is broken, or beyond the limits."""
        size = file.seek(0, os.SEEK_END)
        try:
            self._zip = zipfile.ZipFile(_InPieces(file, size, _LISTED * most_entries))
        except (*_BROKEN, OSError) as fault:
            raise _broken(fault) from None
        entries = self._zip.infolist()
        whole = sum(entry.file_size for entry in entries)
        _check(len(entries) <= most_entries, f"it has {len(entries):,} entries, more than {most_entries:,}")
        _check(whole <= LARGEST, f"it unpacks to {whole / (1 << 30):,.0f} GiB, more than {LARGEST >> 30} GiB")
        _check(
            whole <= max(_HARMLESS, LARGEST_RATIO * size),
            _TOO_DENSE,
        )
        files = [entry for entry in entries if not entry.is_dir() and not stat.S_ISDIR(entry.external_attr >> 16)]
        self._entries = {entry.filename: entry for entry in files if _is_file(entry)}
        self._others = len(files) - len([entry for entry in files if _is_file(entry)])

    @cached_property
    def names(self) -> list[str]:
        """The names of the files that can be extracted."""
        return [name for name, entry in self._entries.items() if _is_place(entry)]

    @property
    def left_out(self) -> int:
        """How many entries are ignored, as they are not plain files inside the archive."""
        return self._others + len(self._entries) - len(self.names)

    def __contains__(self, name: str) -> bool:
        """Whether there is a file of that name, whatever it says."""
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def read(self, name: str, limit: int) -> bytearray:
        """What one of the files holds. Raises ArchiveError, also when that is more than `limit` bytes."""
        entry = self._readable(name)
        _check(entry.file_size <= limit, f"it has more than {limit >> 20} MiB")
        content = bytearray()
        try:
            source = self._zip.open(entry)
            while piece := source.read(_PIECE):
                content += piece
        except (*_BROKEN, OSError) as fault:
            raise _broken(fault) from None
        _check(len(content) == entry.file_size, "it is a broken zip (a file is shorter than it says)")
        return content

    def extract(self, name: str, path: str) -> None:
        """Write one of the files to `path`, where nothing is yet. Raises ArchiveError, and OSError from writing."""
        entry = self._readable(name)
        try:
            self._write(entry, path)
        except BaseException:
            # A part of a file must not be taken for all of it.
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
            raise

    def _readable(self, name: str) -> zipfile.ZipInfo:
        entry = self._entries[name]
        _check(not entry.flag_bits & _ENCRYPTED, "it is encrypted")
        _check(entry.compress_type in _METHODS, "its compression method is not supported")
        _check(
            entry.file_size <= max(_HARMLESS, LARGEST_RATIO * entry.compress_size),
            _TOO_DENSE,
        )
        return entry

    def _write(self, entry: zipfile.ZipInfo, path: str) -> None:
        with open(path, "xb") as target:
            try:
                source = self._zip.open(entry)
                # Never more than the size that the list of entries told, whatever is packed there.
                while piece := source.read(_PIECE):
                    target.write(piece)
            except _BROKEN as fault:
                raise _broken(fault) from None
            _check(target.tell() == entry.file_size, "it is a broken zip (a file is shorter than it says)")


class _InPieces:
    """A file that refuses to be read in a large piece, which zipfile does for a long list of entries."""

    def __init__(self, file: BinaryIO, size: int, most: int) -> None:
        self._file = file
        self._size = size
        self._most = most
        self.seek, self.tell, self.close = file.seek, file.tell, file.close

    def read(self, size: int = -1) -> bytes:
        wanted = self._size - self._file.tell() if size < 0 else size
        _check(wanted <= self._most, f"its list of entries is longer than {self._most >> 20} MiB")
        return self._file.read(size)

    def seekable(self) -> bool:
        return True


def _check(is_fine: bool, why_not: str) -> None:  # noqa: FBT001 - what it is about
    if not is_fine:
        raise ArchiveError(why_not)


def _broken(fault: Exception) -> ArchiveError:
    return ArchiveError(f"it is a broken zip ({type(fault).__name__})")


def _is_file(entry: zipfile.ZipInfo) -> bool:
    """Whether an entry is a file, not a link or a device."""
    return stat.S_IFMT(entry.external_attr >> 16) in (0, stat.S_IFREG)


def _is_place(entry: zipfile.ZipInfo) -> bool:
    """Whether the name of an entry stays inside the folder that it is extracted to."""
    parts = entry.filename.split("/")
    return (
        _NO_NAME.search(entry.orig_filename) is None
        and len(entry.filename) <= _LONGEST_NAME
        and len(parts) <= _DEEPEST
        and all(part not in ("", ".", "..") for part in parts)
    )
