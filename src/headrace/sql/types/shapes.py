"""Shapes and internal values of SQL types, for the converters of `headrace.formats`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Any

from headrace.common.errors import SqlError
from headrace.formats.shapes import Kind, Shape, Values, shape_of
from headrace.sql.functions.builtin.arithmetic import fit_decimal, float32
from headrace.sql.types import atomic, composite, temporal
from headrace.sql.types.base import DataType

__all__ = ["TABLE_VALUES"]

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
    )


def _inside(declared: DataType) -> list[DataType]:
    if isinstance(declared, composite.RowType):
        return declared.field_types()
    if isinstance(declared, composite.ArrayType):
        return [declared.element_type]
    if isinstance(declared, composite.MapType):
        return [declared.key_type, declared.value_type]
    return []


def _fitting(shape: Shape) -> Callable[[Decimal], Decimal]:
    def fit(value: Decimal) -> Decimal:
        found = fit_decimal(value, shape.precision or 0, shape.scale)
        if found is None:
            raise ValueError(f"{value} is not of type {shape}")
        return found

    return fit


def _same(value: Any) -> Any:
    return value


def _tuples(rows: Iterable[Sequence[Any]]) -> list[Any]:
    return list(map(tuple, rows))


# A row may end with the kind of its change; whoever takes fields by their shape passes over it.
TABLE_VALUES = Values(
    tuple,
    lambda names: tuple,
    lambda names: _tuples,
    lambda names: _same,
    float32,
    _fitting,
    SqlError,
)
