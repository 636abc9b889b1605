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
_PLAIN = (t.CharType, t.VarCharType, t.BinaryType, t.VarBinaryType)


def _check(row_type: RowType) -> None:
    if len(row_type) != 1:
        raise SqlError(
            "The 'raw' format only supports single physical column. However the defined schema "
            f"contains multiple physical columns: {row_type.names}"
        )
    kind = row_type.fields[0].data_type
    if type(kind) not in _NUMBERS and not isinstance(kind, _PLAIN):
        raise SqlError(
            f"The 'raw' format doesn't supports '{kind.sql_text()}' as column type; declare it as "
            "STRING or BYTES"
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
    """Text in a charset, bytes as they are, numbers in bytes; NULL of no message at all."""

    reads_nothing = True

    def __init__(self, row_type: RowType, options: FormatOptions) -> None:
        super().__init__(row_type, options)
        _check(row_type)
        self._type = row_type.fields[0].data_type
        self._charset = _charset(options)
        self._order = _order(options)

    def decode_each(self, messages: list[Any]) -> list[tuple[Any, ...]]:
        read = self._reader()
        return [(None if m is None else read(m),) for m in messages]

    def _reader(self) -> Callable[[Any], Any]:
        code = _NUMBERS.get(type(self._type))
        if code is not None:
            number = struct.Struct(self._order + code)

            def read(message: Any) -> Any:
                try:
                    return number.unpack(self._bytes(message))[0]
                except struct.error as error:
                    raise HeadraceError(
                        f"a message is not one {self._type.sql_text()} of the format 'raw', which "
                        f"has {number.size} bytes; declare the column as the messages are, such "
                        "as STRING"
                    ) from error

            return read
        if isinstance(self._type, t.BinaryType | t.VarBinaryType):
            return self._bytes
        charset = self._charset
        # As in Flink, what is no text in the charset has a sign in its place.
        return lambda m: m if isinstance(m, str) else bytes(m).decode(charset, "replace")

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
        charset = self._charset
        return lambda v: v.encode(charset)


decoder, encoder = RawDecoder, RawEncoder
