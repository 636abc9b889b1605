"""Whether Python objects may be values of a type, in the words that PyFlink uses."""

from __future__ import annotations

import datetime
from array import array
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from headrace.common.types import Row
from headrace.sql import types as t
from headrace.sql.types.base import DataType

__all__ = ["type_verifier"]

Verifier = Callable[[Any], None]

_BYTES = (bytes, bytearray)
_ACCEPTED: dict[type[DataType], tuple[type, ...]] = {
    t.BooleanType: (bool,),
    t.TinyIntType: (int,),
    t.SmallIntType: (int,),
    t.IntType: (int,),
    t.BigIntType: (int,),
    # PyFlink refuses whole numbers, and bytes where it takes a bytearray.
    t.FloatType: (float, int),
    t.DoubleType: (float, int),
    t.DecimalType: (Decimal,),
    t.CharType: (str,),
    t.VarCharType: (str,),
    t.BinaryType: _BYTES,
    t.VarBinaryType: _BYTES,
    t.DateType: (datetime.date, datetime.datetime),
    t.TimeType: (datetime.time,),
    t.TimestampType: (datetime.datetime,),
    t.DayTimeIntervalType: (datetime.timedelta,),
    t.LocalZonedTimestampType: (datetime.datetime,),
    t.ZonedTimestampType: (datetime.datetime,),
    t.ArrayType: (list, tuple, array),
    t.MapType: (dict,),
}
"""Classes of the values; a class that is derived from one of them is not meant."""


def type_verifier(data_type: DataType, name: str | None = None) -> Verifier:
    """A function that raises if an object is not a value of a type.

    Args:
        data_type: The type.
        name: What the messages call the value.

    Raises:
        TypeError: The object is of another class.
        ValueError: It is beyond the range or the length of the type, or None.
    """
    prefix = "" if name is None else f"{name}: "
    verify = _verifier(data_type, name, prefix)

    def verified(obj: Any) -> None:
        if obj is not None:
            verify(obj)
        elif not data_type.is_nullable:
            raise ValueError(f"{prefix}This field is not nullable, but got None")

    return verified


def _verifier(data_type: DataType, name: str | None, prefix: str) -> Verifier:
    if isinstance(data_type, t.RowType):
        return _row(data_type, name, prefix)
    if isinstance(data_type, t.UserDefinedType):
        return _user_defined(data_type, name, prefix)
    known = _accepted(data_type, prefix)
    if isinstance(data_type, t.CharType | t.BinaryType | t.VarCharType | t.VarBinaryType):
        return _both(known, _length(data_type, prefix))
    if isinstance(data_type, t.IntegralType) and not isinstance(data_type, t.BigIntType):
        return _both(known, _range(data_type, prefix))
    if isinstance(data_type, t.ArrayType):
        element = type_verifier(data_type.element_type, f"element in array {name}")
        return _both(known, lambda obj: _each(element, obj))
    if isinstance(data_type, t.MapType):
        key = type_verifier(data_type.key_type, f"key of map {name}")
        value = type_verifier(data_type.value_type, f"value of map {name}")

        def entries(obj: Any) -> None:
            _each(key, obj)
            _each(value, obj.values())

        return _both(known, entries)
    return known


def _both(first: Verifier, second: Verifier) -> Verifier:
    def verify(obj: Any) -> None:
        first(obj)
        second(obj)

    return verify


def _each(verify: Verifier, values: Any) -> None:
    for value in values:
        verify(value)


def _accepted(data_type: DataType, prefix: str) -> Verifier:
    classes = _ACCEPTED.get(type(data_type))

    def verify(obj: Any) -> None:
        if classes is not None and type(obj) not in classes:
            raise TypeError(
                f"{prefix}{data_type} can not accept object {obj!r} in type {type(obj)}"
            )

    return verify


def _length(data_type: Any, prefix: str) -> Verifier:
    label, length = type(data_type).__name__, data_type.length
    exactly = isinstance(data_type, t.CharType | t.BinaryType)

    def verify(obj: Any) -> None:
        if exactly and len(obj) != length:
            raise ValueError(f"{prefix}length of object ({obj}) of {label} is not: {length}")
        if len(obj) > length:
            raise ValueError(f"{prefix}length of object ({obj}) of {label} exceeds: {length}")

    return verify


def _range(data_type: t.IntegralType, prefix: str) -> Verifier:
    highest = (1 << data_type.bits - 1) - 1

    def verify(obj: Any) -> None:
        if not -highest - 1 <= obj <= highest:
            label = type(data_type).__name__
            raise ValueError(f"{prefix}object of {label} out of range, got: {obj}")

    return verify


def _user_defined(data_type: t.UserDefinedType, name: str | None, prefix: str) -> Verifier:
    verify_value = type_verifier(data_type.sql_type(), name)

    def verify(obj: Any) -> None:
        if getattr(obj, "__UDT__", None) != data_type:
            raise ValueError(f"{prefix}{obj!r} is not an instance of type {data_type!r}")
        verify_value(data_type.serialize(obj))

    return verify


def _row(data_type: t.RowType, name: str | None, prefix: str) -> Verifier:
    within = "" if name is None else f" in {name}"
    names = data_type.names
    fields = [type_verifier(f.data_type, f"field {f.name}{within}") for f in data_type.fields]

    def verify(obj: Any) -> None:
        for field, value in zip(fields, _values(obj), strict=False):
            field(value)

    def _values(obj: Any) -> Any:
        if isinstance(obj, Row):
            return [obj[n] for n in names] if obj.get_field_names() else list(obj)
        if isinstance(obj, dict):
            return [obj.get(n) for n in names]
        if isinstance(obj, tuple | list):
            if len(obj) != len(fields):
                raise ValueError(
                    f"{prefix}Length of object ({len(obj)}) does not match with "
                    f"length of fields ({len(fields)})"
                )
            return obj
        if hasattr(obj, "__dict__"):
            return [vars(obj).get(n) for n in names]
        raise TypeError(f"{prefix}RowType can not accept object {obj!r} in type {type(obj)}")

    return verify
