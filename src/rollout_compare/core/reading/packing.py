"""Unpacking gzip and zstd, all members and frames of them. Imported only for an input that is packed."""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from typing import TYPE_CHECKING, BinaryIO

from rollout_compare.core.errors import BrokenPackingError
from rollout_compare.core.schema import Packing

if TYPE_CHECKING or sys.version_info < (3, 14):
    from backports import zstd
else:
    from compression import zstd


class UnpackedFile(io.RawIOBase):
    """The unpacked bytes of `disk`. Reading raises BrokenPackingError for data that is damaged or ends early."""

    def __init__(self, disk: BinaryIO, packing: Packing) -> None:
        self._packing = packing
        self._file = gzip.GzipFile(fileobj=disk, mode="rb") if packing == "gzip" else zstd.ZstdFile(disk, mode="r")

    def readable(self) -> bool:
        """True, as this is read."""
        return True

    def readinto(self, space: memoryview) -> int:  # type: ignore[override]
        """Fill `space` as far as the data goes; 0 at the end."""
        try:
            got = self._file.readinto(space)
        except EOFError:
            got = -1
        except (gzip.BadGzipFile, zlib.error, zstd.ZstdError) as fault:
            raise BrokenPackingError(f"broken {self._packing} data: {fault}") from None
        if got < 0:
            raise BrokenPackingError(f"the {self._packing} data ends early (a file cut short?)")
        return got
