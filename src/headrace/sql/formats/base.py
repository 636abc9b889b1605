"""What a format is: it makes rows of messages, and messages of rows, many at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from headrace.common.errors import SqlError
from headrace.formats.text_columns import Column, lists_of
from headrace.sql.discovery import find_by_name
from headrace.sql.types import RowType

_FORMATS = {
    "json": "headrace.sql.formats.json",
    "csv": "headrace.sql.formats.csv",
    "raw": "headrace.sql.formats.raw",
    "avro": "headrace.sql.formats.avro",
}


@dataclass(frozen=True)
class FormatOptions:
    """Options of a format without its name before them."""

    values: dict[str, str]
    zone: str = "UTC"

    def text(self, key: str, default: str) -> str:
        return self.values.get(key, default)

    def flag(self, key: str) -> bool:
        return self.choice(key, "false", ("true", "false")) == "true"

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

    def __init__(self, row_type: RowType, options: FormatOptions) -> None:
        self._arguments = (row_type, options)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._arguments


class Decoder(_OfOptions, ABC):
    """Makes rows of messages."""

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
