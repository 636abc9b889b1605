"""How the contents of a file become records."""

from __future__ import annotations

import codecs
from abc import ABC, abstractmethod
from dataclasses import dataclass

from headrace.common.errors import FunctionTypeError, GraphError
from headrace.common.serialization import DeserializationSchema
from headrace.common.typeinfo import TypeInformation, Types
from headrace.datastream.connectors.file_system.enumeration import FileSplit
from headrace.datastream.connectors.file_system.file_bytes import (
    TextEncoding,
    open_uncompressed,
    splittable,
)
from headrace.datastream.connectors.file_system.split_records import SetAside, SplitRecords
from headrace.datastream.connectors.file_system.text_reader import (
    LineChunks,
    RecordLines,
    TextBlocks,
)

__all__ = [
    "BulkFormat",
    "FileFormat",
    "LineRecordFormat",
    "SetAside",
    "SplitRecords",
    "StreamFormat",
    "TextLineFormat",
    "open_uncompressed",
    "splittable",
]


class FileFormat(ABC):
    """How files are read. Picklable; a format of your own implements what is abstract here."""

    @property
    def produced_type(self) -> TypeInformation | None:
        """The type of the records, if the format knows it."""
        return None

    @property
    def imports(self) -> tuple[str, ...]:
        """See `Source.imports`."""
        return ()

    def splittable(self, path: str) -> bool:
        """Whether reading may begin in the middle of a file."""
        return False

    @abstractmethod
    def read(self, split: FileSplit) -> SplitRecords:
        """The records of a split, from its position on. Called in the subtask that reads it."""


class StreamFormat(FileFormat):
    """A format whose records are read one after the other."""

    @staticmethod
    def text_line_format(charset_name: str = "UTF-8") -> StreamFormat:
        r"""Lines of text, without their line ends (`\n`, `\r\n` or `\r`)."""
        if not isinstance(charset_name, str):
            raise FunctionTypeError(f"a character set must be a str, not {charset_name!r}")
        try:
            return TextLineFormat(codecs.lookup(charset_name).name)
        except LookupError:
            raise GraphError(f"there is no character set {charset_name!r}; try 'UTF-8'") from None

    @staticmethod
    def line_format(deserialization_schema: DeserializationSchema) -> StreamFormat:
        """A record in each line, such as JSON lines. Empty lines are skipped.

        Args:
            deserialization_schema: Reads a line, for example a `JsonRowDeserializationSchema`.
        """
        if not isinstance(deserialization_schema, DeserializationSchema):
            raise FunctionTypeError(
                f"line_format takes a DeserializationSchema, not {deserialization_schema!r}"
            )
        return LineRecordFormat(deserialization_schema)


class BulkFormat(FileFormat):
    """A format whose records are read many at a time, such as Parquet."""


@dataclass(frozen=True)
class LineRecordFormat(StreamFormat):
    """A record in each line."""

    schema: DeserializationSchema

    @property
    def produced_type(self) -> TypeInformation:
        """That of the schema."""
        return self.schema.get_produced_type()

    @property
    def imports(self) -> tuple[str, ...]:
        """Those of the schema."""
        return self.schema.imports

    def splittable(self, path: str) -> bool:
        """At line ends, unless the file is compressed."""
        return splittable(path)

    def read(self, split: FileSplit) -> SplitRecords:
        """The records of a split."""
        return RecordLines(split, self.schema)


class TextLineFormat(TextEncoding, StreamFormat):
    """Lines of text in a character set."""

    @property
    def produced_type(self) -> TypeInformation:
        """Text."""
        return Types.STRING()

    def splittable(self, path: str) -> bool:
        """At line ends, unless the file is compressed or its bytes must be decoded first."""
        return not self.wide and splittable(path)

    def read(self, split: FileSplit) -> SplitRecords:
        """The lines of a split."""
        return LineChunks(split, self)


@dataclass(frozen=True)
class TextBlockFormat(TextLineFormat):
    """Lines of text in UTF-8, for who reads many of them at once: they may be a `Lines`."""

    def read(self, split: FileSplit) -> SplitRecords:
        """The lines of a split."""
        return TextBlocks(split)
