"""Avro's container files, block by block, from any place in them."""

from __future__ import annotations

from typing import Any, BinaryIO

from headrace.datastream.connectors.file_system.formats import SetAside
from headrace.formats.avro import fastavro

__all__ = ["AvroBlocks"]

_SYNC_SIZE = 16
_SEARCH = 1024 * 1024


class AvroBlocks:
    """Blocks that begin in a range of bytes of a file.

    A block belongs to the range in which the sync marker before it begins, so that each block is
    read once however the file is cut.
    """

    def __init__(self, path: str, start: int, end: int | None, schema: Any) -> None:
        self._file: BinaryIO = open(path, "rb")  # noqa: SIM115
        self._end = end
        self._schema = schema
        self._blocks: Any = fastavro().block_reader(self._file, reader_schema=schema)
        header_size = self._file.tell()
        self._base = 0
        # The header ends with a marker, too, and the first block belongs to whoever has that.
        self._marker_at = header_size - _SYNC_SIZE
        self._file.seek(0)
        self._head = self._file.read(header_size)
        if start > 0:
            self._move_to(max(start, self._marker_at))

    def _move_to(self, start: int) -> None:
        """Go on with the block behind the first sync marker at or after a place."""
        found = self._find(self._head[-_SYNC_SIZE:], start)
        if found is None:
            self._blocks = iter(())
            return
        after = found + _SYNC_SIZE
        self._file.seek(after)
        # The library reads a header first; here comes the file's own once more.
        stream = _Joined(self._head, self._file)
        self._blocks = fastavro().block_reader(stream, reader_schema=self._schema)
        self._base = after - len(self._head)
        self._marker_at = found

    def _find(self, marker: bytes, start: int) -> int | None:
        self._file.seek(start)
        at, rest = start, b""
        while data := self._file.read(_SEARCH):
            found = (rest + data).find(marker)
            if found >= 0:
                return at - len(rest) + found
            at += len(data)
            rest = (rest + data)[-(_SYNC_SIZE - 1) :]
        return None

    def next(self, set_aside: SetAside) -> list[Any] | None:
        """The records of the next block; None at the end of the range.

        Args:
            set_aside: Takes the bytes of a block that cannot be read; if it does, the block after
                the next sync marker is the next.
        """
        while self._end is None or self._marker_at < self._end:
            try:
                block = next(self._blocks, None)
                if block is None:
                    return None
                records = list(block)
                self._marker_at = self._base + block.offset + block.size - _SYNC_SIZE
                return records
            except Exception as error:
                damaged = self._marker_at
                self._move_to(damaged + 1)
                if not set_aside(self._bytes_of(damaged), error):
                    raise
        return None

    def _bytes_of(self, marker_at: int) -> bytes:
        """The block behind a marker, up to the one that reading goes on with."""
        here = self._file.tell()
        start = marker_at + _SYNC_SIZE
        size = self._marker_at - start if self._marker_at > marker_at else -1
        self._file.seek(start)
        data = self._file.read(size)
        self._file.seek(here)
        return data

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class _Joined:
    """Some bytes, and then a file from where it stands: what the library needs of a file."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head = head
        self._rest = rest
        self._at = 0

    def read(self, size: int) -> bytes:
        data = self._head[self._at : self._at + size]
        if len(data) < size:
            data += self._rest.read(size - len(data))
        self._at += len(data)
        return data

    def tell(self) -> int:
        return self._at
