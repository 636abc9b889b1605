"""Shapes of SQL types, for the converters of `headrace.formats`."""

from __future__ import annotations

from headrace.formats.shapes import Kind, Shape, shape_of
from headrace.sql.types import atomic, composite, temporal
from headrace.sql.types.base import DataType

_KINDS: dict[type[DataType], Kind] = {
    atomic.BooleanType: Kind.BOOLEAN,
    atomic.TinyIntType: Kind.INTEGER,
    atomic.SmallIntType: Kind.INTEGER,
    atomic.IntType: Kind.INTEGER,
    atomic.BigIntType: Kind.INTEGER,
    atomic.FloatType: Kind.FLOAT,
    atomic.DoubleType: Kind.DOUBLE,
    atomic.DecimalType: Kind.DECIMAL,
    atomic.CharType: Kind.TEXT,
    atomic.VarCharType: Kind.TEXT,
    atomic.BinaryType: Kind.BYTES,
    atomic.VarBinaryType: Kind.BYTES,
    atomic.VariantType: Kind.VARIANT,
    temporal.DateType: Kind.DATE,
    temporal.TimeType: Kind.TIME,
    temporal.TimestampType: Kind.TIMESTAMP,
    temporal.LocalZonedTimestampType: Kind.INSTANT,
    temporal.DayTimeIntervalType: Kind.DURATION,
    temporal.YearMonthIntervalType: Kind.MONTHS,
    composite.ArrayType: Kind.ARRAY,
    composite.MapType: Kind.MAP,
    composite.MultisetType: Kind.MULTISET,
    composite.RowType: Kind.ROW,
    composite.StructuredType: Kind.ROW,
}


@shape_of.register
def _(declared: DataType) -> Shape:
    return Shape(
        _KINDS.get(type(declared), Kind.OPAQUE),
        declared,
        declared.is_nullable,
        getattr(declared, "bits", 0),
        getattr(declared, "precision", None),
        getattr(declared, "scale", 0),
        tuple(declared.names) if isinstance(declared, composite.RowType) else (),
        tuple(map(shape_of, _inside(declared))),
        declared.length if isinstance(declared, atomic.CharType) else None,
    )


def _inside(declared: DataType) -> list[DataType]:
    if isinstance(declared, composite.RowType):
        return declared.field_types()
    if isinstance(declared, composite.ArrayType):
        return [declared.element_type]
    if isinstance(declared, composite.MapType):
        return [declared.key_type, declared.value_type]
    return []
