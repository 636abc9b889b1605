"""Reads lines of text from pieces of files, in large chunks."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import BinaryIO

from headrace.common.errors import HeadraceError
from headrace.datastream.connectors.base import ReadBatch, SourceReader
from headrace.datastream.connectors.file_system.enumeration import FileSplit
from headrace.datastream.connectors.file_system.formats import TextLineFormat

__all__ = ["LineChunks", "TextFileReader"]

CHUNK = 1024 * 1024

_LINE_END = re.compile(rb"\r\n?|\n")


class LineChunks:
    """The lines of one split, some thousands at a time, and the position after those taken."""

    def __init__(self, split: FileSplit, text_format: TextLineFormat, chunk: int = CHUNK) -> None:
        self.split = split
        self._format = text_format
        self._chunk_size = chunk
        self._stream: BinaryIO | None = None
        self._rest = b""
        self._position = split.start
        self._chunk = b""
        self._chunk_at = split.start
        self._lines: list[str] = []
        self._taken = 0
        self._ended = False
        self._in_last_line = False

    def take(self, max_records: int) -> list[str]:
        """The next lines; none at the end."""
        while self._taken >= len(self._lines):
            if self._ended:
                return []
            self._fill()
        start = self._taken
        self._taken = min(start + max_records, len(self._lines))
        if start == 0 and self._taken == len(self._lines):
            return self._lines
        return self._lines[start : self._taken]

    def snapshot(self) -> FileSplit:
        """The split, with the position after the lines that were taken."""
        if self._stream is None:
            return self.split
        offset = len(self._chunk)
        if self._taken < len(self._lines):
            offset = _end_of_lines(self._chunk, self._taken)
        return replace(self.split, position=self._chunk_at + offset)

    @property
    def at_end(self) -> bool:
        """Whether all lines were taken."""
        return self._ended and self._taken >= len(self._lines)

    def close(self) -> None:
        """Close the file."""
        if self._stream is not None:
            self._stream.close()

    def _fill(self) -> None:
        """Take the next chunk that ends where a line does."""
        try:
            if self._stream is None:
                self._open()
            chunk = self._next_chunk()
        except UnicodeDecodeError as error:
            raise self._undecodable(error, self._position) from None
        except (OSError, EOFError) as error:
            raise HeadraceError(f"{self.split.path} cannot be read: {error}") from error
        self._chunk, self._chunk_at = chunk, self._position
        self._position += len(chunk)
        self._lines, self._taken = self._decoded(chunk), 0

    def _open(self) -> None:
        split = self.split
        self._stream = self._format.open(split.path)
        if split.position is not None:
            self._resume(split.position)
        elif split.start > 0:
            # A line belongs to the split in which it begins; the neighbour reads one cut in two.
            self._stream.seek(split.start - 1)
            self._position = split.start - 1 + len(self._read_to_line_end(b"", 0))

    def _resume(self, position: int) -> None:
        assert self._stream is not None
        end = self.split.end
        if end is not None and position >= end:
            # Behind the end, and yet not through with the last line: one with a lone \r in it.
            self._stream.seek(position - 1)
            self._in_last_line = self._stream.read(1) != b"\n"
        else:
            self._stream.seek(position)
        self._position = position

    def _next_chunk(self) -> bytes:
        end = self.split.end
        left = None if end is None else end - self._position
        if left is not None and left <= 0:
            data = self._read_to_line_end(self._rest, 0) if self._in_last_line else b""
            self._ended = True
            return data
        size = self._chunk_size if left is None else min(left, self._chunk_size)
        data = self._rest
        while len(data) < size and not self._ended:
            data += self._read_more(size - len(data))
        if left is not None and size == left:
            # The last line of this split may end behind it.
            data = self._read_to_line_end(data, left - 1)
            self._ended = True
            return data
        cut = data.rfind(b"\n") + 1
        if cut == 0 and not self._ended:
            return self._read_to_line_end(data, len(data))
        if self._ended:
            cut = len(data)
        self._rest = data[cut:]
        return data[:cut]

    def _read_to_line_end(self, data: bytes, search_from: int) -> bytes:
        """Bytes up to and including the first line end at or after a place; the rest is kept."""
        pieces, searched = [data], search_from
        while (found := pieces[-1].find(b"\n", searched)) < 0 and not self._ended:
            searched = max(searched - len(pieces[-1]), 0)
            pieces.append(self._read_more(self._chunk_size))
        last = pieces.pop()
        cut = len(last) if found < 0 else found + 1
        self._rest = last[cut:]
        return b"".join([*pieces, last[:cut]])

    def _read_more(self, size: int) -> bytes:
        assert self._stream is not None
        data = self._stream.read(size)
        self._ended = not data
        return data

    def _decoded(self, chunk: bytes) -> list[str]:
        if not chunk:
            return []
        try:
            text = chunk.decode(self._format.byte_charset)
        except UnicodeDecodeError as error:
            raise self._undecodable(error, self._chunk_at) from None
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        lines = text.split("\n")
        if not lines[-1]:
            lines.pop()
        return lines

    def _undecodable(self, error: UnicodeDecodeError, at: int) -> HeadraceError:
        bad = error.object[error.start : error.end]
        return HeadraceError(
            f"{self.split.path} is not text in {self._format.charset} at byte {at + error.start} "
            f"({bad[:8]!r}: {error.reason}); name its character set, for example "
            "StreamFormat.text_line_format('ISO-8859-1')"
        )


def _end_of_lines(chunk: bytes, count: int) -> int:
    """Where the line after the first `count` lines begins."""
    end = 0
    for _, match in zip(range(count), _LINE_END.finditer(chunk), strict=False):
        end = match.end()
    return end


class TextFileReader(SourceReader):
    """Reads splits one after the other."""

    def __init__(self, text_format: TextLineFormat) -> None:
        self._format = text_format
        self._waiting: deque[FileSplit] = deque()
        self._current: LineChunks | None = None
        self._finished: list[str] = []

    def add_splits(self, splits: Sequence[FileSplit]) -> None:
        self._waiting.extend(splits)

    def poll(self, max_records: int) -> ReadBatch | None:
        while self._current is not None or self._waiting:
            current = self._current
            if current is None:
                current = self._current = LineChunks(self._waiting.popleft(), self._format)
            lines = current.take(max_records)
            if current.at_end:
                self._finish(current)
            if lines:
                return ReadBatch(current.split.split_id, lines)
        return None

    def _finish(self, split: LineChunks) -> None:
        split.close()
        self._finished.append(split.split.split_id)
        self._current = None

    def finished_splits(self) -> list[str]:
        finished, self._finished = self._finished, []
        return finished

    def snapshot(self) -> list[FileSplit]:
        current = [] if self._current is None else [self._current.snapshot()]
        return [*current, *self._waiting]

    @property
    def exhausted(self) -> bool:
        return self._current is None and not self._waiting

    def close(self) -> None:
        if self._current is not None:
            self._current.close()
