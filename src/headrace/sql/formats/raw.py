"""A single column that is the whole message."""

from __future__ import annotations

import codecs
import struct
from collections.abc import Callable
from typing import Any

from headrace.common.errors import HeadraceError, SqlError
from headrace.sql import types as t
from headrace.sql.formats.base import Decoder, Encoder, FormatOptions
from headrace.sql.types import RowType
from headrace.sql.types.text import sql_text

OPTIONS = ("charset", "endianness")

_NUMBERS: dict[type[t.DataType], str] = {
    t.TinyIntType: "b",
    t.SmallIntType: "h",
    t.IntType: "i",
    t.BigIntType: "q",
    t.FloatType: "f",
    t.DoubleType: "d",
    t.BooleanType: "?",
}


def _check(row_type: RowType) -> None:
    if len(row_type) != 1:
        raise SqlError(
            "The 'raw' format only supports single physical column. However the defined schema "
            f"contains multiple physical columns: {row_type.names}"
        )


def _charset(options: FormatOptions) -> str:
    name = options.text("charset", "UTF-8")
    try:
        codecs.lookup(name)
    except LookupError:
        raise SqlError(f"Unsupported 'raw.charset' name: {name}.") from None
    return name


def _order(options: FormatOptions) -> str:
    """The sign of `struct` for an order of bytes."""
    orders = ("big-endian", "little-endian")
    return ">" if options.choice("endianness", "big-endian", orders) == "big-endian" else "<"


class RawDecoder(Decoder):
    """Text in a charset, bytes as they are, numbers in bytes."""

    def __init__(self, row_type: RowType, options: FormatOptions) -> None:
        super().__init__(row_type, options)
        _check(row_type)
        self._type = row_type.fields[0].data_type
        self._charset = _charset(options)
        self._order = _order(options)

    def decode_each(self, messages: list[Any]) -> list[tuple[Any, ...]]:
        code = _NUMBERS.get(type(self._type))
        if code is not None:
            number = struct.Struct(self._order + code)
            try:
                return [(number.unpack(self._bytes(m))[0],) for m in messages]
            except struct.error as error:
                raise HeadraceError(
                    f"a message is not one {self._type.sql_text()} of the format 'raw', which has "
                    f"{number.size} bytes; declare the column as the messages are, such as STRING"
                ) from error
        if isinstance(self._type, t.BinaryType | t.VarBinaryType):
            return [(self._bytes(m),) for m in messages]
        return [(m if isinstance(m, str) else bytes(m).decode(self._charset),) for m in messages]

    def _bytes(self, message: Any) -> bytes:
        return message.encode() if isinstance(message, str) else bytes(message)


class RawEncoder(Encoder):
    """The bytes of the only column; no message at all of NULL."""

    def __init__(self, row_type: RowType, options: FormatOptions) -> None:
        super().__init__(row_type, options)
        _check(row_type)
        self._type = row_type.fields[0].data_type
        self._charset = _charset(options)
        self._order = _order(options)

    def encode(self, rows: list[tuple[Any, ...]]) -> list[Any]:
        write = self._writer()
        return [None if r[0] is None else write(r[0]) for r in rows]

    def _writer(self) -> Callable[[Any], bytes]:
        code = _NUMBERS.get(type(self._type))
        if code is not None:
            return struct.Struct(self._order + code).pack
        if isinstance(self._type, t.BinaryType | t.VarBinaryType):
            return bytes
        text, charset = sql_text(self._type), self._charset
        return lambda v: text(v).encode(charset)


decoder, encoder = RawDecoder, RawEncoder
