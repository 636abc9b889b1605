"""Files of CSV as the texts of their records."""

from __future__ import annotations

import os
from dataclasses import dataclass

from headrace.common.typeinfo import TypeInformation, Types
from headrace.datastream.connectors.file_system import SplitRecords, StreamFormat
from headrace.datastream.connectors.file_system.enumeration import SPLIT_SIZE, FileSplit
from headrace.datastream.connectors.file_system.file_bytes import splittable
from headrace.datastream.connectors.file_system.text_reader import CHUNK, QuotedChunks
from headrace.formats.csv import CsvDialect, RecordCutter

__all__ = ["csv_records"]


def csv_records(dialect: CsvDialect) -> StreamFormat:
    """Reads the text of each record."""
    return StreamFormat.text_line_format() if dialect.quote is None else _CsvRecords(dialect)


@dataclass(frozen=True)
class _CsvRecords(StreamFormat):
    """Lines, but for line ends within quotes."""

    dialect: CsvDialect

    @property
    def produced_type(self) -> TypeInformation:
        """Text."""
        return Types.STRING()

    def splittable(self, path: str) -> bool:
        """If nothing is quoted: in the middle of a file nobody knows whether quotes are open."""
        if not splittable(path) or os.path.getsize(path) <= SPLIT_SIZE:
            return False
        quote = (self.dialect.quote or "").encode()
        with open(path, "rb") as file:
            pieces = iter(lambda: file.read(CHUNK), b"")
            return len(quote) == 1 and not any(quote in piece for piece in pieces)

    def read(self, split: FileSplit) -> SplitRecords:
        """The records of a split."""
        return QuotedChunks(split, RecordCutter(self.dialect))
