"""Avro's container files, block by block, from any place in them."""

from __future__ import annotations

from typing import Any, BinaryIO

from headrace.common.errors import HeadraceError

__all__ = ["AvroBlocks", "fastavro"]

_SYNC_SIZE = 16
_SEARCH = 1024 * 1024


def fastavro() -> Any:
    """The library, or an error that says how to get it."""
    try:
        import fastavro
    except ImportError:
        raise HeadraceError(
            "Avro needs the package fastavro: pip install 'headrace[avro]'"
        ) from None
    return fastavro


class AvroBlocks:
    """Blocks that begin in a range of bytes of a file.

    A block belongs to the range in which the sync marker before it begins, so that each block is
    read once however the file is cut.
    """

    def __init__(self, path: str, start: int, end: int | None, schema: Any) -> None:
        self._file: BinaryIO = open(path, "rb")  # noqa: SIM115
        self._end = end
        self._schema = schema
        header = fastavro().block_reader(self._file, reader_schema=schema)
        self._header_size = self._file.tell()
        self._blocks: Any = header
        self._base = 0
        if start > 0:
            self._file.seek(0)
            head = self._file.read(self._header_size)
            self._move_to(head, start)

    def _move_to(self, head: bytes, start: int) -> None:
        """Go on with the block behind the first sync marker at or after a place."""
        sync = head[-_SYNC_SIZE:]
        # The header ends with a marker, too, and the first block belongs to whoever has that.
        found = self._find(sync, max(start, self._header_size - _SYNC_SIZE))
        if found is None:
            self._blocks = iter(())
            return
        after = found + _SYNC_SIZE
        self._file.seek(after)
        # The library reads a header first; here comes the file's own once more.
        stream = _Joined(head, self._file)
        self._blocks = fastavro().block_reader(stream, reader_schema=self._schema)
        self._base = after - len(head)

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

    def next(self) -> list[Any] | None:
        """The records of the next block; None at the end of the range."""
        block = next(self._blocks, None)
        if block is None:
            return None
        marker_at = self._base + block.offset - _SYNC_SIZE
        if self._end is not None and marker_at >= self._end:
            self._blocks = iter(())
            return None
        return list(block)

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
