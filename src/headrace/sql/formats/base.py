"""What a format is: it makes rows of messages, and messages of rows, many at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from headrace.common.errors import SqlError
from headrace.formats.text_columns import Column, lists_of
from headrace.sql.discovery import find_by_name
from headrace.sql.types import RowType

_FORMATS = {
    "json": "headrace.sql.formats.json",
    "csv": "headrace.sql.formats.csv",
    "raw": "headrace.sql.formats.raw",
    "avro": "headrace.sql.formats.avro",
    "debezium-json": "headrace.sql.formats.debezium_json",
    "canal-json": "headrace.sql.formats.canal_json",
    "maxwell-json": "headrace.sql.formats.maxwell_json",
    "ogg-json": "headrace.sql.formats.ogg_json",
    "avro-confluent": "headrace.sql.formats.avro_confluent",
    "debezium-avro-confluent": "headrace.sql.formats.debezium_avro",
    "protobuf": "headrace.sql.formats.protobuf",
}


@dataclass(frozen=True)
class FormatOptions:
    """Options of a format without its name before them.

    Attributes:
        values: Those that are given.
        zone: The session's time zone.
        metadata: Keys of what a decoder reads of a message after the columns of its row.
        name: The format's.
    """

    values: dict[str, str]
    zone: str = "UTC"
    metadata: tuple[str, ...] = ()
    name: str = ""

    def text(self, key: str, default: str) -> str:
        return self.values.get(key, default)

    def required(self, key: str) -> str:
        """An option that must be there."""
        if key not in self.values:
            raise SqlError(
                "One or more required options are missing. Missing required options are:\n\n"
                f"{self.name}.{key}"
            )
        return self.values[key]

    def flag(self, key: str, default: str = "false") -> bool:
        return self.choice(key, default, ("true", "false")) == "true"

    def choice(self, key: str, default: str, values: tuple[str, ...]) -> str:
        """An option that has one of some values, in capitals or not."""
        given = self.values.get(key, default)
        for value in values:
            if value.lower() == given.lower():
                return value
        known = ", ".join(values)
        raise SqlError(f"Unsupported value '{given}' for {key}. Supported values are [{known}].")


def rows_of_columns(columns: list[Column]) -> list[tuple[Any, ...]]:
    """Rows as tuples."""
    return list(zip(*lists_of(columns), strict=True))


class _OfOptions:
    """A reader or writer for a row type and options; slots build it again from these."""

    #: Whether messages are changes: rows end with their kind.
    changes: ClassVar[bool] = False

    def __init__(self, row_type: RowType, options: FormatOptions) -> None:
        self.arguments = (row_type, options)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self.arguments


class Decoder(_OfOptions, ABC):
    """Makes rows of messages."""

    #: Whether a message without a value is a row.
    reads_nothing: ClassVar[bool] = False

    #: Whether there may have been several rows in a message.
    several: bool = False

    #: What a message says besides its row, by its key.
    metadata: ClassVar[Mapping[str, Any]] = {}

    def decode(self, messages: list[Any]) -> list[tuple[Any, ...]]:
        """Rows of text or bytes; messages that are skipped leave no row."""
        columns = self.columns(messages)
        if columns is None:
            return self.decode_each(messages)
        return rows_of_columns(columns)

    def columns(self, messages: list[Any]) -> list[Column] | None:
        """The columns of the rows in internal form; None if they are to be read one by one."""
        return None

    @abstractmethod
    def decode_each(self, messages: list[Any]) -> list[tuple[Any, ...]]:
        """Rows of text or bytes, read one by one."""


class Encoder(_OfOptions, ABC):
    """Makes messages of rows."""

    @abstractmethod
    def encode(self, rows: list[tuple[Any, ...]]) -> list[Any]:
        """One message for each row: text without a line end, or bytes."""


def decoder_for(name: str, row_type: RowType, options: FormatOptions) -> Decoder:
    """The decoder of a format."""
    found: Decoder = find_by_name(_FORMATS, name).decoder(row_type, options)
    return found


def encoder_for(name: str, row_type: RowType, options: FormatOptions) -> Encoder:
    """The encoder of a format."""
    found: Encoder = find_by_name(_FORMATS, name).encoder(row_type, options)
    return found


def option_keys(name: str) -> tuple[str, ...]:
    """Options that a format knows."""
    return tuple(find_by_name(_FORMATS, name).OPTIONS)


def makes_changes(name: str) -> bool:
    """Whether messages of a format are changes, and not rows that only come."""
    return bool(find_by_name(_FORMATS, name).decoder.changes)


def metadata_keys(name: str) -> tuple[str, ...]:
    """What messages of a format say besides their rows."""
    return tuple(find_by_name(_FORMATS, name).decoder.metadata)
