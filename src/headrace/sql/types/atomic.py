"""Types of single values: numbers, text, bytes, booleans and NULL."""

from __future__ import annotations

from typing import Any, ClassVar

from headrace.sql.types.base import DataType, check

MAX_LENGTH = 0x7FFFFFFF


class AtomicType(DataType):
    """A type that is not made of others."""


class NullType(AtomicType):
    """The type of NULL where nothing else is known of it."""

    root = "NULL"

    def __init__(self) -> None:
        super().__init__(True)


class BooleanType(AtomicType):
    """TRUE, FALSE and, unless excluded, NULL."""

    root = "BOOLEAN"


class NumericType(AtomicType):
    """Numbers."""


class IntegralType(NumericType):
    """Whole numbers."""

    bits: ClassVar[int]
    digits: ClassVar[int]


class TinyIntType(IntegralType):
    """One byte."""

    root, bits, digits = "TINYINT", 8, 3


class SmallIntType(IntegralType):
    """Two bytes."""

    root, bits, digits = "SMALLINT", 16, 5


class IntType(IntegralType):
    """Four bytes."""

    root, bits, digits = "INT", 32, 10


class BigIntType(IntegralType):
    """Eight bytes."""

    root, bits, digits = "BIGINT", 64, 19


class FractionalType(NumericType):
    """Numbers with a fraction."""


class FloatType(FractionalType):
    """Four bytes, about seven digits."""

    root = "FLOAT"


class DoubleType(FractionalType):
    """Eight bytes, about fifteen digits."""

    root = "DOUBLE"


class DecimalType(FractionalType):
    """Exact numbers of `precision` digits, `scale` of them behind the point."""

    root = "DECIMAL"

    def __init__(self, precision: int = 10, scale: int = 0, nullable: bool = True) -> None:
        super().__init__(nullable)
        check(1 <= precision <= 38, f"DECIMAL has 1 to 38 digits, not {precision}")
        check(0 <= scale <= precision, f"DECIMAL({precision}) has no {scale} digits of a fraction")
        self.precision = precision
        self.scale = scale

    def _same(self) -> tuple[Any, ...]:
        return (self.precision, self.scale)

    def _sql(self) -> str:
        return f"DECIMAL({self.precision}, {self.scale})"


class _SizedType(AtomicType):
    def __init__(self, length: int = 1, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.length = length

    def _same(self) -> tuple[Any, ...]:
        return (self.length,)

    def _sql(self) -> str:
        return f"{self.root}({self.length})"


class CharType(_SizedType):
    """Text of a fixed length."""

    root = "CHAR"


class VarCharType(_SizedType):
    """Text up to a length; STRING is the longest."""

    root = "VARCHAR"

    def _sql(self) -> str:
        return "STRING" if self.length == MAX_LENGTH else super()._sql()


class BinaryType(_SizedType):
    """Bytes of a fixed length."""

    root = "BINARY"


class VarBinaryType(_SizedType):
    """Bytes up to a length; BYTES is the longest."""

    root = "VARBINARY"

    def _sql(self) -> str:
        return "BYTES" if self.length == MAX_LENGTH else super()._sql()


class BitmapType(AtomicType):
    """A set of whole numbers of 32 bits without sign."""

    root = "BITMAP"


class VariantType(AtomicType):
    """A value of any type, as JSON has them; its internal form is JSON with ordered keys."""

    root = "VARIANT"
