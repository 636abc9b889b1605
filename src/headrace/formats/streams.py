"""Shapes and values of streams: `TypeInformation`, `Row`, and Python's dates and times."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Any

from headrace.common.errors import GraphError, TypeMismatchError
from headrace.common.typeinfo import (
    BasicArrayTypeInfo,
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    ExternalTypeInfo,
    ListTypeInfo,
    LocalTimeTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PickledBytesTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
)
from headrace.common.types import Row, make_rows, row_of
from headrace.formats.shapes import Kind, Shape, Values, fitted_decimal, shape_of

__all__ = ["STREAM_VALUES"]

_BITS = {BasicType.BYTE: 8, BasicType.SHORT: 16, BasicType.INT: 32, BasicType.LONG: 64}
_BASIC = {
    BasicType.STRING: Kind.TEXT,
    BasicType.CHAR: Kind.TEXT,
    BasicType.BOOLEAN: Kind.BOOLEAN,
    BasicType.FLOAT: Kind.FLOAT,
    BasicType.DOUBLE: Kind.DOUBLE,
    BasicType.BIG_INT: Kind.BIG_INTEGER,
    BasicType.BIG_DEC: Kind.DECIMAL,
    BasicType.INSTANT: Kind.INSTANT,
    **dict.fromkeys(_BITS, Kind.INTEGER),
}
_TIMES: dict[Any, Kind] = {
    DateTypeInfo: Kind.DATE,
    TimeTypeInfo: Kind.TIME,
    TimestampTypeInfo: Kind.TIMESTAMP,
    LocalTimeTypeInfo.TimeType.LOCAL_DATE: Kind.DATE,
    LocalTimeTypeInfo.TimeType.LOCAL_TIME: Kind.TIME,
    LocalTimeTypeInfo.TimeType.LOCAL_DATE_TIME: Kind.TIMESTAMP,
}


@shape_of.register
def _(declared: TypeInformation) -> Shape:
    if isinstance(declared, ExternalTypeInfo):
        return shape_of(declared.type_info)
    if isinstance(declared, BasicTypeInfo):
        basic = declared.basic_type
        return Shape(_BASIC[basic], declared, bits=_BITS.get(basic, 0))
    if isinstance(declared, PrimitiveArrayTypeInfo) and declared.element_type == Types.BYTE():
        return Shape(Kind.BYTES, declared)
    if isinstance(
        declared, PrimitiveArrayTypeInfo | BasicArrayTypeInfo | ObjectArrayTypeInfo | ListTypeInfo
    ):
        return Shape(Kind.ARRAY, declared, parts=(shape_of(declared.element_type),))
    if isinstance(declared, MapTypeInfo):
        parts = (shape_of(declared.key_type), shape_of(declared.value_type))
        return Shape(Kind.MAP, declared, parts=parts)
    if isinstance(declared, RowTypeInfo | TupleTypeInfo):
        fields = tuple(map(shape_of, declared.get_field_types()))
        if isinstance(declared, TupleTypeInfo):
            return Shape(Kind.TUPLE, declared, parts=fields)
        return Shape(Kind.ROW, declared, names=tuple(declared.get_field_names()), parts=fields)
    if isinstance(declared, PickledBytesTypeInfo):
        return Shape(Kind.ANY, declared)
    time = declared.time_type if isinstance(declared, LocalTimeTypeInfo) else type(declared)
    if time not in _TIMES:
        raise GraphError(f"formats do not know the type {declared}")
    return Shape(_TIMES[time], declared)


def _row(names: tuple[str, ...]) -> Callable[[list[Any]], Row]:
    # All rows share one list of names.
    shared = list(names)
    return lambda values: row_of(values, shared)


def _rows(names: tuple[str, ...]) -> Callable[[Iterable[Sequence[Any]]], list[Row]]:
    shared = list(names)
    return lambda rows: make_rows(map(list, rows), shared)


def _fields(names: tuple[str, ...]) -> Callable[[Any], Sequence[Any]]:
    wanted, width = list(names), len(names)

    def fields(row: Any) -> Sequence[Any]:
        values: Sequence[Any] = row.get_fields_by_names(wanted) if isinstance(row, Row) else row
        if len(values) != width:
            raise TypeMismatchError(
                f"a row of {width} fields {wanted} is needed, but {row!r} has {len(values)}"
            )
        return values

    return fields


def _decimal(shape: Shape) -> Callable[[Decimal], Decimal | None]:
    if shape.precision is None:
        return lambda value: value
    return fitted_decimal(shape.precision, shape.scale)


def _single(value: float) -> float:
    """A FLOAT with its exact value, as functions see it."""
    return array("f", (value,))[0]


STREAM_VALUES = Values(list, _row, _rows, _fields, _single, _decimal, GraphError)
