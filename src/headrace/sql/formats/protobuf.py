"""Protocol Buffers: one message of a generated class for each row."""

from __future__ import annotations

from typing import Any

from headrace.common.errors import HeadraceError, SqlError
from headrace.formats import protobuf
from headrace.formats.shapes import shape_of
from headrace.sql.formats.base import Decoder, Encoder, FormatOptions
from headrace.sql.formats.values import TABLE_VALUES
from headrace.sql.types import RowType

OPTIONS = (
    "message-class-name",
    "ignore-parse-errors",
    "read-default-values",
    "write-null-string-literal",
)


def _style(options: FormatOptions) -> protobuf.ProtobufStyle:
    return protobuf.ProtobufStyle(
        TABLE_VALUES,
        options.flag("read-default-values"),
        options.text("write-null-string-literal", ""),
    )


def _message_class(options: FormatOptions) -> Any:
    try:
        return protobuf.message_class(options.required("message-class-name"))
    except HeadraceError as error:
        raise SqlError(str(error)) from None


class ProtobufDecoder(Decoder):
    """Columns are fields by name."""

    def __init__(self, row_type: RowType, options: FormatOptions) -> None:
        super().__init__(row_type, options)
        self._ignore = options.flag("ignore-parse-errors")
        self._class = _message_class(options)
        self._row = protobuf.reader(self._class.DESCRIPTOR, shape_of(row_type), _style(options))

    def decode_each(self, messages: list[Any]) -> list[tuple[Any, ...]]:
        parse, row = self._class.FromString, self._row
        found = []
        for message in messages:
            try:
                found.append(row(parse(bytes(message))))
            except Exception as error:
                if not self._ignore:
                    raise HeadraceError(
                        f"Failed to deserialize a Protobuf message of {self._class.__name__}: "
                        f"{error}; 'protobuf.ignore-parse-errors' = 'true' skips such messages"
                    ) from error
        return found


class ProtobufEncoder(Encoder):
    """Fields of columns that are NULL are not set."""

    def __init__(self, row_type: RowType, options: FormatOptions) -> None:
        super().__init__(row_type, options)
        self._class = _message_class(options)
        self._fill = protobuf.writer(self._class.DESCRIPTOR, shape_of(row_type), _style(options))

    def encode(self, rows: list[tuple[Any, ...]]) -> list[bytes]:
        return list(map(self._message, rows))

    def _message(self, row: tuple[Any, ...]) -> bytes:
        message = self._class()
        try:
            self._fill(message, row)
        except (KeyError, ValueError, TypeError) as error:
            raise HeadraceError(
                f"{row!r} cannot be written as a Protobuf message of {self._class.__name__}: "
                f"{error}"
            ) from error
        found: bytes = message.SerializeToString(deterministic=True)
        return found


decoder, encoder = ProtobufDecoder, ProtobufEncoder
