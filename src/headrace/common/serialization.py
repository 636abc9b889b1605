"""Schemas between records and bytes, for connectors: `SerializationSchema` and its relatives."""

from __future__ import annotations

import codecs
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, BinaryIO

from headrace.common.errors import FunctionTypeError, GraphError, TypeMismatchError
from headrace.common.typeinfo import PickledBytesTypeInfo, TypeInformation, Types

__all__ = [
    "BulkWriter",
    "BulkWriterFactory",
    "ByteArraySchema",
    "DeserializationSchema",
    "Encoder",
    "RowFieldExtractorSchema",
    "SerializationSchema",
    "SimpleStringSchema",
]


def _checked_charset(charset: str) -> str:
    try:
        return codecs.lookup(charset).name
    except (LookupError, TypeError) as error:
        raise GraphError(f"there is no character set {charset!r}; try 'UTF-8'") from error


def _newer(cls: type, one: str, many: str) -> bool:
    """Whether the method for one record is overridden where that for many knows nothing of it."""
    first = next(vars(base) for base in cls.__mro__ if one in vars(base) or many in vars(base))
    return many not in first


class SerializationSchema:
    """Turns records into bytes for a sink. Subclasses implement `serialize` and are picklable."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if _newer(cls, "serialize", "serialize_many"):
            cls.serialize_many = SerializationSchema.serialize_many  # type: ignore[method-assign]

    def open(self) -> None:
        """Called once in the process of the sink, before the first record."""

    def serialize(self, element: Any) -> bytes | None:
        """The bytes of one record."""
        raise NotImplementedError(f"{type(self).__name__} does not implement serialize()")

    def serialize_many(self, elements: Sequence[Any]) -> list[bytes | None]:
        """The bytes of each of many records."""
        return list(map(self.serialize, elements))


class DeserializationSchema:
    """Turns bytes into records. Subclasses implement `deserialize` and are picklable."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if _newer(cls, "deserialize", "deserialize_many"):
            cls.deserialize_many = DeserializationSchema.deserialize_many  # type: ignore[method-assign]

    def open(self) -> None:
        """Called once in the process of the source, before the first message."""

    def deserialize(self, message: bytes) -> Any:
        """The record in one message; None if the message is to be skipped."""
        raise NotImplementedError(f"{type(self).__name__} does not implement deserialize()")

    def deserialize_many(self, messages: Sequence[bytes]) -> list[Any]:
        """The records of many messages; those to be skipped are left out."""
        records = map(self.deserialize, messages)
        return [record for record in records if record is not None]

    def is_end_of_stream(self, next_element: Any) -> bool:
        """Whether this record marks the end of the stream; it is not passed on then."""
        return False

    @property
    def imports(self) -> tuple[str, ...]:
        """Packages that it imports only when it reads many messages; slots begin with that."""
        return ()

    def get_produced_type(self) -> TypeInformation:
        """The type of the records."""
        return PickledBytesTypeInfo()


class SimpleStringSchema(SerializationSchema, DeserializationSchema):
    """Text, in one character set."""

    def __init__(self, charset: str = "UTF-8") -> None:
        """Uses the given character set."""
        self._charset = _checked_charset(charset)

    def open(self) -> None:
        """Nothing to prepare."""

    def serialize(self, element: Any) -> bytes:
        """The text's bytes."""
        if not isinstance(element, str):
            raise TypeMismatchError(
                f"SimpleStringSchema writes str, not {element!r} ({type(element).__name__}); "
                "map the stream to str first"
            )
        return element.encode(self._charset)

    def serialize_many(self, elements: Sequence[Any]) -> list[bytes | None]:
        """The bytes of each text."""
        if set(map(type, elements)) != {str}:
            return super().serialize_many(elements)
        return list(map(str.encode, elements, repeat(self._charset)))

    def deserialize(self, message: bytes) -> str:
        """The text in the bytes; what cannot be decoded becomes a replacement character."""
        return bytes(message).decode(self._charset, "replace")

    def deserialize_many(self, messages: Sequence[bytes]) -> list[Any]:
        """The text in each message."""
        if set(map(type, messages)) != {bytes}:
            return super().deserialize_many(messages)
        return list(map(bytes.decode, messages, repeat(self._charset), repeat("replace")))

    def get_produced_type(self) -> TypeInformation:
        """Text."""
        return Types.STRING()


class ByteArraySchema(SerializationSchema, DeserializationSchema):
    """Bytes, as they are."""

    def open(self) -> None:
        """Nothing to prepare."""

    def serialize(self, element: Any) -> bytes:
        """The bytes."""
        return _require_bytes(element, "ByteArraySchema writes bytes")

    def deserialize(self, message: bytes) -> bytes:
        """The bytes."""
        return bytes(message)

    def get_produced_type(self) -> TypeInformation:
        """Bytes."""
        return Types.PRIMITIVE_ARRAY(Types.BYTE())


class RowFieldExtractorSchema(SerializationSchema):
    """Writes one field of a row, which must hold bytes; useful for the keys of messages."""

    def __init__(self, field_index: int) -> None:
        """Takes the field at this position, from 0."""
        if isinstance(field_index, bool) or not isinstance(field_index, int):
            raise FunctionTypeError(f"field_index is a whole number, not {field_index!r}")
        if field_index < 0:
            raise GraphError(f"Field index must be non-negative, got: {field_index}")
        self._field_index = field_index

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, RowFieldExtractorSchema) and other._field_index == self._field_index
        )

    def __hash__(self) -> int:
        return hash(self._field_index)

    def serialize(self, element: Any) -> bytes:
        """The bytes in the field; none for a row or field that is None."""
        if element is None:
            return b""
        try:
            value = element[self._field_index]
        except (IndexError, TypeError) as error:
            raise TypeMismatchError(
                f"RowFieldExtractorSchema found no field {self._field_index} in {element!r}"
            ) from error
        if value is None:
            return b""
        return _require_bytes(value, f"field {self._field_index} of the row must hold bytes")


def _require_bytes(value: Any, what: str) -> bytes:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    raise TypeMismatchError(f"{what}, not {value!r} ({type(value).__name__})")


class Encoder(ABC):
    """Writes records one by one into the files of a file sink."""

    @abstractmethod
    def encode(self, element: Any, stream: BinaryIO) -> None:
        """Writes one record, with whatever separates it from the next."""

    @staticmethod
    def simple_string_encoder(charset_name: str = "UTF-8") -> Encoder:
        """Writes each record as one line of text."""
        return SimpleStringEncoder(_checked_charset(charset_name))

    @staticmethod
    def schema_encoder(schema: SerializationSchema, delimiter: bytes = b"\n") -> Encoder:
        """Writes what a schema makes of each record, such as JSON, and a delimiter after it."""
        if not isinstance(schema, SerializationSchema):
            raise FunctionTypeError(f"schema_encoder takes a SerializationSchema, not {schema!r}")
        return SchemaEncoder(schema, delimiter)


class LinesEncoder(Encoder):
    """Makes the bytes of many records at once."""

    @abstractmethod
    def encode_all(self, elements: list[Any]) -> bytes:
        """Records with what separates them, also from what follows."""

    def encode(self, element: Any, stream: BinaryIO) -> None:
        """Writes one record."""
        stream.write(self.encode_all([element]))


@dataclass(frozen=True)
class SimpleStringEncoder(Encoder):
    """One line of text for each record.

    The runtime replaces `to_text` by the formatter of the stream's declared type, so that files
    read as Flink's do.
    """

    charset: str = "utf-8"
    to_text: Callable[[Any], str] = str

    def encode(self, element: Any, stream: BinaryIO) -> None:
        """Writes the text of the record and a line end."""
        stream.write((self.to_text(element) + "\n").encode(self.charset))


@dataclass(frozen=True)
class SchemaEncoder(Encoder):
    """What a schema makes of each record, and a delimiter after it."""

    schema: SerializationSchema
    delimiter: bytes = b"\n"

    def encode(self, element: Any, stream: BinaryIO) -> None:
        """Writes the record, unless the schema makes nothing of it."""
        data = self.schema.serialize(element)
        if data is not None:
            ended = data.endswith(self.delimiter)
            stream.write(data if ended else data + self.delimiter)


class BulkWriter(ABC):
    """Writes one file in a bulk format."""

    @abstractmethod
    def add_element(self, element: Any) -> None:
        """Takes one record."""

    def add_elements(self, elements: Sequence[Any]) -> None:
        """Takes many records."""
        for element in elements:
            self.add_element(element)

    def flush(self) -> None:  # noqa: B027
        """Hands over what is buffered, as far as the format allows it."""

    @abstractmethod
    def finish(self) -> None:
        """Writes what is still missing, such as a footer; does not close the stream."""


class BulkWriterFactory(ABC):
    """Makes the writers of a file sink in a bulk format. Picklable; used in the slots."""

    @property
    def concatenable(self) -> bool:
        """Whether two files, one after the other, are a file of the format."""
        return False

    @abstractmethod
    def create(self, stream: BinaryIO) -> BulkWriter:
        """Makes the writer of one file."""
