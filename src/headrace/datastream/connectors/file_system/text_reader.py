"""Reads lines from pieces of files, in large chunks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, BinaryIO

from headrace.common.errors import HeadraceError
from headrace.common.serialization import DeserializationSchema
from headrace.datastream.connectors.file_system.enumeration import FileSplit
from headrace.datastream.connectors.file_system.file_bytes import TextEncoding
from headrace.datastream.connectors.file_system.split_records import SplitRecords
from headrace.formats.csv import RecordCutter
from headrace.formats.lines import Lines

__all__ = ["LineChunks", "QuotedChunks", "RecordLines", "TextBlocks"]

CHUNK = 1024 * 1024

_LINE_END = re.compile(rb"\r\n?|\n")
_LINE = re.compile(rb"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")


@dataclass(frozen=True)
class _NoText:
    """Stands in the place of a line that cannot be decoded."""

    data: bytes
    error: HeadraceError


class LineChunks(SplitRecords):
    """The lines of one split as text."""

    def __init__(self, split: FileSplit, text_format: TextEncoding, chunk: int = CHUNK) -> None:
        self.split = split
        self._format = text_format
        self._chunk_size = chunk
        self._stream: BinaryIO | None = None
        self._rest = b""
        self._position = split.start
        self._chunk = b""
        self._chunk_at = split.start
        self._lines: list[Any] = []
        self._taken = 0
        self._ended = False
        self._in_last_line = False
        self._damaged = False

    def take(self, max_records: int) -> list[Any]:
        """The next lines; none at the end."""
        while self._taken >= len(self._lines):
            if self._ended:
                return []
            self._fill()
        start = self._taken
        self._taken = min(start + max_records, len(self._lines))
        taken = self._lines
        if start > 0 or self._taken < len(self._lines):
            taken = self._lines[start : self._taken]
        return [line for line in taken if self._is_text(line)] if self._damaged else taken

    def _is_text(self, line: Any) -> bool:
        if not isinstance(line, _NoText):
            return True
        if not self.set_aside(line.data, line.error):
            raise line.error
        return False

    def snapshot(self) -> FileSplit:
        """The split, with the position after the lines that were taken."""
        if self._stream is None:
            return self.split
        offset = len(self._chunk)
        if self._taken < len(self._lines):
            offset = self._end_of(self._taken)
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

    def _decoded(self, chunk: bytes) -> list[Any]:
        if not chunk:
            return []
        try:
            text = chunk.decode(self._format.byte_charset)
        except UnicodeDecodeError:
            return self._one_by_one(_LINE.findall(chunk))
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        lines = text.split("\n")
        if not lines[-1]:
            lines.pop()
        return lines

    def _one_by_one(self, lines: list[bytes]) -> list[Any]:
        """Lines some of which may not be text; those have their error with them."""
        found: list[Any] = []
        start = 0
        for line in lines:
            data = line.removesuffix(b"\n").removesuffix(b"\r")
            try:
                found.append(data.decode(self._format.byte_charset))
            except UnicodeDecodeError as error:
                self._damaged = True
                found.append(_NoText(data, self._undecodable(error, self._chunk_at + start)))
            start += len(line)
        return found

    def _end_of(self, count: int) -> int:
        """Where what comes after the first `count` lines of the chunk begins."""
        return _end_of_lines(self._chunk, count)

    def _undecodable(self, error: UnicodeDecodeError, at: int) -> HeadraceError:
        bad = error.object[error.start : error.end]
        return HeadraceError(
            f"{self.split.path} is not text in {self._format.charset} at byte {at + error.start} "
            f"({bad[:8]!r}: {error.reason}); specify its character set, for example "
            "StreamFormat.text_line_format('ISO-8859-1')"
        )


def _end_of_lines(chunk: bytes, count: int) -> int:
    """Where the line after the first `count` lines begins."""
    end = 0
    for _, match in zip(range(count), _LINE_END.finditer(chunk), strict=False):
        end = match.end()
    return end


class QuotedChunks(LineChunks):
    """The records of one file of CSV as text, perhaps with line ends within quotes."""

    def __init__(self, split: FileSplit, cutter: RecordCutter, chunk: int = CHUNK) -> None:
        super().__init__(split, TextEncoding("utf-8"), chunk)
        self._cutter = cutter
        self._records: list[bytes] | None = None

    def _next_chunk(self) -> bytes:
        chunk = super()._next_chunk()
        cut = self._cutter.cut(chunk)
        while cut is not None and cut[1] and not self._ended:
            # Twice as much, so that a quote that is never closed does not take for ever.
            wanted = 2 * len(chunk)
            while len(chunk) < wanted and not self._ended:
                chunk += super()._next_chunk()
            cut = self._cutter.cut(chunk)
        self._records = None if cut is None else cut[0]
        return chunk

    def _decoded(self, chunk: bytes) -> list[Any]:
        if self._records is None:
            return super()._decoded(chunk)
        return self._one_by_one(self._records)

    def _end_of(self, count: int) -> int:
        if self._records is None:
            return super()._end_of(count)
        return sum(map(len, self._records[:count]))


class TextBlocks(LineChunks):
    """The lines of one split, of which whole chunks stay one text."""

    def __init__(self, split: FileSplit) -> None:
        super().__init__(split, TextEncoding("utf-8"), CHUNK // 2)

    def _decoded(self, chunk: bytes) -> Any:
        if not chunk or b"\r" in chunk:
            return super()._decoded(chunk)
        try:
            chunk.decode()
        except UnicodeDecodeError:
            return super()._decoded(chunk)
        return Lines(chunk.removesuffix(b"\n"))


class ByteLines(LineChunks):
    """The lines of one split as bytes, without their line ends; there may be empty ones."""

    def _decoded(self, chunk: bytes) -> list[Any]:
        if b"\r" in chunk:
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        lines = chunk.split(b"\n")
        if not lines[-1]:
            lines.pop()
        return lines


class RecordLines(SplitRecords):
    """The records in the lines of one split."""

    def __init__(self, split: FileSplit, schema: DeserializationSchema) -> None:
        self._lines = ByteLines(split, TextEncoding("utf-8"))
        self._schema = schema
        schema.open()

    def take(self, max_records: int) -> list[Any]:
        lines = [line for line in self._lines.take(max_records) if line]
        try:
            return self._schema.deserialize_many(lines)
        except Exception:  # noqa: BLE001 - one by one it is known which line
            return list(self._one_by_one(lines))

    def _one_by_one(self, lines: list[bytes]) -> Iterator[Any]:
        for line in lines:
            try:
                record = self._schema.deserialize(line)
            except Exception as error:
                split = self._lines.snapshot()
                named = HeadraceError(f"{split.path}, before byte {split.position}: {error}")
                if not self.set_aside(line, named):
                    raise named from error
            else:
                if record is not None:
                    yield record

    def snapshot(self) -> FileSplit:
        return self._lines.snapshot()

    @property
    def at_end(self) -> bool:
        return self._lines.at_end

    def close(self) -> None:
        self._lines.close()
