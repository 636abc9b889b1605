"""Which values become another type without being asked for, as arguments of models do."""

from __future__ import annotations

from headrace.sql import types as t
from headrace.sql.types import DataType
from headrace.sql.types.type_rules import is_binary, is_character

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
"""Each becomes any type behind it."""


def casts_implicitly(source: DataType, target: DataType) -> bool:
    """Whether Flink casts a value by itself: to a wider type, and never to one without NULL."""
    if source.is_nullable and not target.is_nullable:
        return False
    if isinstance(source, t.NullType) or source.same_but_null(target):
        return True
    if type(source) in _NUMBERS and type(target) in _NUMBERS:
        return _NUMBERS.index(type(source)) <= _NUMBERS.index(type(target))
    if is_character(source) and is_character(target):
        return isinstance(target, t.VarCharType)
    if is_binary(source) and is_binary(target):
        return isinstance(target, t.VarBinaryType)
    if type(source) is not type(target):
        return False
    return _parts_cast(source, target)


def _parts_cast(source: DataType, target: DataType) -> bool:
    """Of two types of the same kind: those inside count, but not how precise times are."""
    if isinstance(source, t.RowType) and isinstance(target, t.RowType):
        pairs = zip(source.fields, target.fields, strict=False)
        return len(source) == len(target) and all(
            casts_implicitly(a.data_type, b.data_type) for a, b in pairs
        )
    if isinstance(source, t.ArrayType) and isinstance(target, t.ArrayType):
        return casts_implicitly(source.element_type, target.element_type)
    if isinstance(source, t.MapType) and isinstance(target, t.MapType):
        return casts_implicitly(source.key_type, target.key_type) and casts_implicitly(
            source.value_type, target.value_type
        )
    return hasattr(source, "precision")
