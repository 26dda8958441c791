"""Lines of a file of any size, packed or not, in blocks over one reused buffer; and single rows read again."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, cast

from rollout_compare.core.errors import BrokenPackingError, CompareInputError
from rollout_compare.core.schema import Packing

Line = bytes | bytearray | memoryview
Progress = Callable[[str, int, int], None]
"""Called with (path, bytes read so far, bytes in all or 0 when unknown); bytes as they lie on disk."""

BLOCK = 1 << 18
ROW_LIMIT = 512 << 20
"""Longest row that is read, in bytes."""

BOM = b"\xef\xbb\xbf"
_MAGIC: dict[Packing, bytes] = {"gzip": b"\x1f\x8b", "zstd": b"\x28\xb5\x2f\xfd"}
_SUFFIX: dict[str, Packing] = {".gz": "gzip", ".zst": "zstd"}
_COPY_BELOW = 16 << 10
_READ_LIMIT = 4 << 20
_KEPT_BUFFER = 4 << 20
_SKIPPABLE_FRAME = b"\x2a\x4d\x18"
"""What follows the first byte of a zstd frame that holds no data (RFC 8878, section 3.1.2)."""
_ZIP = b"PK"
_STARTS_OF_TEXT = b"{ \t\r\n[\xef\xff\xfe<v"


@dataclass(slots=True)
class Block:
    """Whole lines without their line ends. They point into a reused buffer: use them before the next block."""

    lines: list[Line]
    number: int
    """1-based line number of the first line."""
    offset: int
    """Byte offset of the first line in the (unpacked) input."""


@dataclass(frozen=True, slots=True)
class InputFile:
    """Which file rows came from, and how to know that it is still the same file."""

    path: str
    packing: Packing
    is_pipe: bool
    size: int
    modified_ns: int
    again: Callable[[list[int]], Iterator[bytes]] | None = None
    """How to have rows that are not lines again, by their numbers, which then are their offsets."""

    @property
    def is_streamed(self) -> bool:
        """Whether a row can be had again only by reading everything before it."""
        return self.packing != "plain" or self.again is not None


class LineFile:
    """An input opened for reading, line by line; use it as a context manager.

    Raises CompareInputError for a file that cannot be opened, read or unpacked.
    """

    def __init__(self, path: str, progress: Progress | None = None) -> None:
        self.path = path
        self._progress = progress
        self._pipe_bytes = 0
        self._disk, self.input = _open(path)
        if self.input.packing != "plain" and not self.input.is_pipe and not self.input.size:
            self._disk.close()
            raise CompareInputError(path, f"the {self.input.packing} data ends early (an empty file)")
        self._source = _unpacked(self._disk, self.input.packing)

    def __enter__(self) -> LineFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._source.close()
        self._disk.close()

    @property
    def bytes_read(self) -> int:
        """Size of the file as it lies on disk, packed or not; of a pipe, the bytes that came out of it unpacked."""
        return self.input.size if not self.input.is_pipe else self._pipe_bytes

    def blocks(self) -> Iterator[Block]:
        """All lines in order, in blocks of about BLOCK bytes, or of one longer line and what was read with it."""
        buffer = bytearray(BLOCK)
        filled = offset = 0
        number = 1
        while got := self._read_into(memoryview(buffer)[filled : filled + min(max(BLOCK, filled), _READ_LIMIT)]):
            end = buffer.rfind(b"\n", filled, filled + got) + 1
            filled += got
            if end:
                lines = _split(buffer, end)
                yield Block(lines, number, offset)
                number += len(lines)
                offset += end
                del lines
                filled -= end
                rest = buffer[end : end + filled]
                if len(buffer) > _KEPT_BUFFER and filled < BLOCK:
                    # The room that one very long line took is not left to many short ones.
                    buffer = bytearray(BLOCK)
                buffer[:filled] = rest
            elif filled == len(buffer):
                buffer = self._grown(buffer, number)
        if filled:
            yield Block([memoryview(buffer)[:filled]], number, offset)

    def _grown(self, buffer: bytearray, number: int) -> bytearray:
        if len(buffer) > ROW_LIMIT:
            raise CompareInputError(self.path, f"a row of more than {ROW_LIMIT >> 20} MiB", line=number)
        larger = bytearray(min(2 * len(buffer), ROW_LIMIT + BLOCK))
        larger[: len(buffer)] = buffer
        return larger

    def _read_into(self, space: memoryview) -> int:
        try:
            # The stubs know readinto of raw files only as possibly None, which needs a non-blocking file.
            got: int = self._source.readinto(space) or 0  # type: ignore[attr-defined]
        except BrokenPackingError as fault:
            raise CompareInputError(self.path, str(fault)) from None
        except OSError as fault:
            raise CompareInputError(self.path, f"cannot be read: {fault.strerror or fault}") from None
        if self.input.is_pipe:
            self._pipe_bytes += got
        if self._progress is not None:
            at = self._pipe_bytes if self.input.is_pipe else self._disk.tell()
            self._progress(self.path, at, self.input.size)
        return got


def _open(path: str) -> tuple[BinaryIO, InputFile]:
    try:
        disk: BinaryIO = cast("BinaryIO", open(path, "rb", buffering=0))  # noqa: SIM115
    except OSError as fault:
        raise CompareInputError(path, _why_not(fault)) from None
    try:
        status = os.fstat(disk.fileno())
        is_pipe = not stat.S_ISREG(status.st_mode)
        if is_pipe:
            disk = cast("BinaryIO", io.BufferedReader(cast("io.RawIOBase", disk), BLOCK))
            head = cast("io.BufferedReader", disk).peek(4)[:4]
        else:
            head = disk.read(4)
            disk.seek(0)
    except OSError as fault:
        disk.close()
        raise CompareInputError(path, _why_not(fault)) from None
    try:
        packing = _packing(path, head)
    except CompareInputError:
        disk.close()
        raise
    size = 0 if is_pipe else status.st_size
    return disk, InputFile(path, packing, is_pipe, size, status.st_mtime_ns)


def _why_not(fault: OSError) -> str:
    if isinstance(fault, FileNotFoundError):
        return "no such file"
    if isinstance(fault, IsADirectoryError):
        return "a directory, not a file"
    return f"cannot be read: {fault.strerror or fault}"


def _packing(path: str, head: bytes) -> Packing:
    for packing, magic in _MAGIC.items():
        if head.startswith(magic):
            return packing
    if head[1:] == _SKIPPABLE_FRAME:
        return "zstd"
    by_name = _SUFFIX.get(os.path.splitext(path)[1].lower(), "plain")
    if by_name == "plain" or head[:1] in {bytes([first]) for first in _STARTS_OF_TEXT}:
        return "plain"
    name = "gzip" if by_name == "gzip" else "zstd"
    what = (
        "a zip archive: unpack it first" if head.startswith(_ZIP) else "was the download cut off, or is it encrypted?"
    )
    raise CompareInputError(path, f"its name says {name}, but it is neither {name} data nor JSON Lines ({what})")


def _unpacked(disk: BinaryIO, packing: Packing) -> BinaryIO:
    if packing == "plain":
        return disk
    from rollout_compare.core.reading.packing import UnpackedFile

    return cast("BinaryIO", UnpackedFile(disk, packing))


def _split(buffer: bytearray, end: int) -> list[Line]:
    """The lines of `buffer[:end]`, which ends with a line end. Short lines are copied, long ones are views."""
    stop = buffer.find(b"\n")
    view = memoryview(buffer)
    lines: list[Line] = []
    if stop < _COPY_BELOW:
        lines += bytes(view[: end - 1]).split(b"\n")
        return lines
    start = 0
    while start < end:
        lines.append(view[start:stop])
        start = stop + 1
        stop = buffer.find(b"\n", start)
    return lines


class InputChangedError(Exception):
    """A file is no longer the one whose rows were compared."""


def read_rows(file: InputFile, spans: list[tuple[int, int]]) -> Iterator[bytes]:
    """The rows at `spans` (byte offset, length; offsets rising) of an input read before, one after another.

    A packed input is streamed once more. Raises InputChangedError when the file has changed, and
    CompareInputError when it can no longer be read.
    """
    if file.is_pipe:
        raise InputChangedError("the input is a pipe, which can be read only once")
    if file.again is not None:
        yield from file.again([offset for offset, _ in spans])
        return
    disk, now = _open(file.path)
    with disk:
        if now != file:
            raise InputChangedError("the input changed while it was compared")
        if file.packing == "plain":
            for offset, length in spans:
                yield _without_mark(os.pread(disk.fileno(), length, offset), offset)
            return
        source = _unpacked(disk, file.packing)
        at = 0
        try:
            for offset, length in spans:
                while at < offset:
                    at += len(source.read(min(BLOCK, offset - at))) or _ended()
                row = bytearray()
                while len(row) < length:
                    row += source.read(length - len(row)) or bytes(_ended())
                at += length
                yield _without_mark(bytes(row), offset)
        except BrokenPackingError:
            _ended()


def line_number(file: InputFile, offset: int) -> int | None:
    """The 1-based number of the line at a byte offset of an input; None when it can no longer be counted."""
    if file.is_pipe:
        return None
    number, position = 1, 0
    try:
        disk, _ = _open(file.path)
        with disk:
            source = _unpacked(disk, file.packing)
            while position < offset and (piece := source.read(min(BLOCK, offset - position))):
                number += piece.count(b"\n")
                position += len(piece)
    except (CompareInputError, BrokenPackingError, OSError):
        return None
    return number if position == offset else None


def _without_mark(row: bytes, offset: int) -> bytes:
    return row.removeprefix(BOM) if offset == 0 else row


def _ended() -> int:
    raise InputChangedError("the input changed while it was compared")
