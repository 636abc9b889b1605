"""How the contents of a file become records."""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias, cast

from headrace.common.errors import FunctionTypeError, GraphError, HeadraceError
from headrace.common.serialization import DeserializationSchema
from headrace.common.typeinfo import TypeInformation, Types

if TYPE_CHECKING:
    from headrace.datastream.connectors.file_system.enumeration import FileSplit

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

_COMPRESSED: dict[str, Callable[..., Any]] = {
    ".gz": gzip.open,
    ".gzip": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
}
_BUFFER = 256 * 1024
_NOT_READ = (".zst", ".deflate", ".snappy", ".lz4")


SetAside: TypeAlias = Callable[[Any, BaseException], bool]
"""Takes what cannot be read and its error; False if the program does not want that: fail then."""


def _keep_nothing(record: Any, error: BaseException) -> bool:
    return False


class SplitRecords(ABC):
    """The records of one split, some thousands at a time, and the position after those taken.

    Attributes:
        set_aside: For `on_error`: called in `take` with what cannot be read. The source puts it
            there before the first `take`.
    """

    set_aside: SetAside = staticmethod(_keep_nothing)

    @abstractmethod
    def take(self, max_records: int) -> list[Any]:
        """The next records. None may be there although it is not the end."""

    @abstractmethod
    def snapshot(self) -> FileSplit:
        """The split, with the position after the records that were taken."""

    @property
    @abstractmethod
    def at_end(self) -> bool:
        """Whether all records were taken."""

    @abstractmethod
    def close(self) -> None:
        """Close the file."""


class FileFormat(ABC):
    """How files are read. Picklable; a format of your own implements what is abstract here."""

    @property
    def produced_type(self) -> TypeInformation | None:
        """The type of the records, if the format knows it."""
        return None

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

    def splittable(self, path: str) -> bool:
        """At line ends, unless the file is compressed."""
        return splittable(path)

    def read(self, split: FileSplit) -> SplitRecords:
        """The records of a split."""
        from headrace.datastream.connectors.file_system.text_reader import RecordLines

        return RecordLines(split, self.schema)


@dataclass(frozen=True)
class TextLineFormat(StreamFormat):
    """Lines of text in a character set."""

    charset: str

    @property
    def wide(self) -> bool:
        """Whether bytes must be decoded before lines can be found."""
        return "\n".encode(self.charset) != b"\n"

    @property
    def produced_type(self) -> TypeInformation:
        """Text."""
        return Types.STRING()

    def splittable(self, path: str) -> bool:
        """At line ends, unless the file is compressed or its bytes must be decoded first."""
        return not self.wide and splittable(path)

    def read(self, split: FileSplit) -> SplitRecords:
        """The lines of a split."""
        from headrace.datastream.connectors.file_system.text_reader import LineChunks

        return LineChunks(split, self)

    def open(self, path: str) -> BinaryIO:
        """The file as bytes in which 0x0A is a line end, and decodable with `byte_charset`."""
        stream = open_uncompressed(path)
        return cast("BinaryIO", _Utf8View(stream, self.charset)) if self.wide else stream

    @property
    def byte_charset(self) -> str:
        """The character set of what `open` gives."""
        return "utf-8" if self.wide else self.charset


class _Utf8View:
    """A file in another character set, seen as UTF-8. Positions are those of the UTF-8."""

    def __init__(self, stream: BinaryIO, charset: str) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder(charset)()

    def read(self, size: int) -> bytes:
        while True:
            data = self._stream.read(size)
            text = self._decoder.decode(data, final=not data)
            if text or not data:
                return text.encode()

    def seek(self, position: int) -> None:
        """Only forward, from the start: resuming reads what was read before once more."""
        while position > 0:
            # Never more than what is missing: a character is at least as long here as there.
            data = self.read(max(position // 4, 1))
            if not data:
                return
            position -= len(data)

    def close(self) -> None:
        self._stream.close()


def open_uncompressed(path: str, buffered: bool = False) -> BinaryIO:
    """Open a file, through the decompressor that its name asks for.

    Args:
        path: The file.
        buffered: Whether small pieces will be read; a decompressor has a buffer in any case.
    """
    suffix = _suffix(path)
    if suffix in _NOT_READ:
        raise HeadraceError(
            f"{path} is compressed as {suffix}, which headrace cannot read; unpack it, or use "
            ".gz, .bz2 or .xz"
        )
    opener = _COMPRESSED.get(suffix)
    if opener is None:
        return open(path, "rb", buffering=_BUFFER if buffered else 0)
    return cast("BinaryIO", opener(path, "rb"))


def splittable(path: str) -> bool:
    """Whether reading may begin in the middle of the file."""
    return _suffix(path) not in _COMPRESSED and _suffix(path) not in _NOT_READ


def _suffix(path: str) -> str:
    dot = path.rfind(".")
    return path[dot:].lower() if dot >= 0 else ""
