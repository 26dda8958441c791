"""Zip archives for artifacts: as they are uploaded, and byte by byte as nobody should upload them."""

from __future__ import annotations

import io
import json
import struct
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tests.conftest import Row

STORED, DEFLATED = 0, 8
UTF_8_NAME, ENCRYPTED = 0x800, 0x1
LINK, FOLDER = 0o120777 << 16, (0o040755 << 16) | 0x10
_UNIX = 3 << 8


def jsonl(rows: Iterable[Row]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def zipped(files: Mapping[str, bytes | str]) -> bytes:
    """An archive as clients make it."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()


@dataclass
class Entry:
    """One entry, which may lie about everything."""

    name: str | bytes
    content: bytes = b""
    method: int = DEFLATED
    flags: int = UTF_8_NAME
    attributes: int = 0
    packed: bytes | None = None
    size: int | None = None
    packed_size: int | None = None
    crc: int | None = None
    at: int | None = None
    """Where the local header is said to lie, instead of where it does."""

    def __post_init__(self) -> None:
        if self.packed is None:
            self.packed = deflated(self.content) if self.method == DEFLATED else self.content
        self.size = len(self.content) if self.size is None else self.size
        self.packed_size = len(self.packed) if self.packed_size is None else self.packed_size
        self.crc = zlib.crc32(self.content) if self.crc is None else self.crc

    @property
    def raw_name(self) -> bytes:
        return self.name if isinstance(self.name, bytes) else self.name.encode("utf-8", "surrogatepass")

    @property
    def facts(self) -> bytes:
        sizes = (self.crc, self.packed_size, self.size, len(self.raw_name), 0)
        return struct.pack("<HHHHHIIIHH", 20, self.flags, self.method, 0, 0x21, *sizes)


def deflated(content: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(content) + packer.flush()


def archive(entries: Sequence[Entry], *, count: int | None = None, padding: bytes = b"") -> bytes:
    """The entries as an archive. `count`: how many it says there are; `padding` lies before the directory."""
    body, directory = bytearray(), bytearray()
    for entry in entries:
        at = len(body) if entry.at is None else entry.at
        body += b"PK\x03\x04" + entry.facts + entry.raw_name + (entry.packed or b"")
        directory += b"PK\x01\x02" + struct.pack("<H", _UNIX | 20) + entry.facts
        directory += struct.pack("<HHHII", 0, 0, 0, entry.attributes, at) + entry.raw_name
    body += padding
    number = min(len(entries) if count is None else count, 0xFFFF)
    end = struct.pack("<HHHHIIH", 0, 0, number, number, len(directory), len(body), 0)
    return bytes(body + directory) + b"PK\x05\x06" + end
