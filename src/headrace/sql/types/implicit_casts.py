"""Which values become another type without being asked for: in sinks, and as models' arguments."""

from __future__ import annotations

from headrace.sql import types as t
from headrace.sql.types import DataType
from headrace.sql.types.type_rules import is_binary, is_character, is_interval

__all__ = ["casts_implicitly"]

_NUMBERS: tuple[type[DataType], ...] = (
    t.TinyIntType,
    t.SmallIntType,
    t.IntType,
    t.BigIntType,
    t.DecimalType,
    t.FloatType,
    t.DoubleType,
)
"""Each becomes any type behind it, and a decimal number."""

_TIMES: dict[type[DataType], tuple[type[DataType], ...]] = {
    t.DateType: (t.TimestampType,),
    t.TimeType: (t.TimestampType,),
    t.TimestampType: (t.LocalZonedTimestampType,),
    t.LocalZonedTimestampType: (t.TimestampType,),
}
"""For a type of times those others that become it."""


def casts_implicitly(source: DataType, target: DataType, nulls: bool = True) -> bool:
    """Whether Flink casts a value by itself: to a wider type, and never to one without NULL.

    Without `nulls`, whether a type has NULL does not count: sinks look at their rows.
    """
    if nulls and source.is_nullable and not target.is_nullable:
        return False
    if isinstance(source, t.NullType) or source.same_but_null(target):
        return True
    if type(source) in _NUMBERS and type(target) in _NUMBERS:
        wider = _NUMBERS.index(type(source)) <= _NUMBERS.index(type(target))
        return wider or isinstance(target, t.DecimalType)
    if type(source) in _TIMES.get(type(target), ()):
        return True
    if is_interval(source):
        return isinstance(target, type(source) | t.IntegralType)
    if is_character(source) and is_character(target):
        return isinstance(target, t.VarCharType) or isinstance(source, t.CharType)
    if is_binary(source) and is_binary(target):
        return isinstance(target, t.VarBinaryType) or isinstance(source, t.BinaryType)
    if type(source) is not type(target):
        return False
    return _parts_cast(source, target, nulls)


def _parts_cast(source: DataType, target: DataType, nulls: bool) -> bool:
    """Of two types of the same kind: those inside count, but not how precise times are."""
    if isinstance(source, t.RowType) and isinstance(target, t.RowType):
        pairs = zip(source.fields, target.fields, strict=False)
        return len(source) == len(target) and all(
            casts_implicitly(a.data_type, b.data_type, nulls) for a, b in pairs
        )
    if isinstance(source, t.ArrayType | t.MultisetType) and type(source) is type(target):
        return casts_implicitly(source.element_type, target.element_type, nulls)
    if isinstance(source, t.MapType) and isinstance(target, t.MapType):
        return casts_implicitly(source.key_type, target.key_type, nulls) and casts_implicitly(
            source.value_type, target.value_type, nulls
        )
    return hasattr(source, "precision")
