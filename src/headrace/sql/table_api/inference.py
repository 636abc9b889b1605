"""Types of Python objects that nobody declared, found as PyFlink finds them."""

from __future__ import annotations

import ctypes
import datetime
from array import array
from collections.abc import Iterable, Sequence
from decimal import Decimal
from functools import reduce
from typing import Any

from headrace.common.types import Row
from headrace.sql import types as t
from headrace.sql.types import DataType
from headrace.sql.types.data_types import DataTypes

__all__ = ["infer_row_type", "infer_schema", "infer_type", "merge_types"]

_TYPES: dict[type, DataType] = {
    bool: DataTypes.BOOLEAN(),
    int: DataTypes.BIGINT(),
    float: DataTypes.DOUBLE(),
    str: DataTypes.STRING(),
    bytes: DataTypes.BYTES(),
    bytearray: DataTypes.BYTES(),
    Decimal: DataTypes.DECIMAL(38, 18),
    datetime.date: DataTypes.DATE(),
    datetime.datetime: DataTypes.TIMESTAMP_LTZ(),
    datetime.time: DataTypes.TIME(),
    datetime.timedelta: DataTypes.INTERVAL(DataTypes.DAY(), DataTypes.SECOND(3)),
}

_SIGNED = {"b": ctypes.c_byte, "h": ctypes.c_short, "i": ctypes.c_int, "l": ctypes.c_long}
_UNSIGNED = {"B": ctypes.c_ubyte, "H": ctypes.c_ushort, "I": ctypes.c_uint, "L": ctypes.c_ulong}


def _array_elements() -> dict[str, DataType]:
    """Elements of `array.array` by its type code; unsigned ones need one bit more."""
    bits = {code: ctypes.sizeof(c) * 8 for code, c in _SIGNED.items()}
    bits |= {code: ctypes.sizeof(c) * 8 + 1 for code, c in _UNSIGNED.items()}
    whole = [DataTypes.TINYINT(), DataTypes.SMALLINT(), DataTypes.INT(), DataTypes.BIGINT()]
    found: dict[str, DataType] = {"f": DataTypes.FLOAT(), "d": DataTypes.DOUBLE()}
    for code, size in bits.items():
        fitting = [w for w in whole if size <= w.bits]
        if fitting:
            found[code] = fitting[0]
    found["u"] = DataTypes.CHAR(ctypes.sizeof(ctypes.c_wchar))
    return found


ARRAY_ELEMENTS = _array_elements()


def infer_type(value: Any) -> DataType:
    """The type of a Python object.

    Raises:
        TypeError: There is none.
    """
    if value is None:
        return DataTypes.NULL()
    if hasattr(value, "__UDT__"):
        return value.__UDT__  # type: ignore[no-any-return]
    known = _TYPES.get(type(value))
    if known is not None:
        return known
    if isinstance(value, dict):
        for k, v in value.items():
            if k is not None and v is not None:
                return DataTypes.MAP(infer_type(k).not_null(), infer_type(v))
        return DataTypes.MAP(DataTypes.NULL(), DataTypes.NULL())
    if isinstance(value, list):
        elements: list[DataType] = [DataTypes.NULL(), *map(infer_type, value)]
        return DataTypes.ARRAY(reduce(merge_types, elements))
    if isinstance(value, array):
        if value.typecode not in ARRAY_ELEMENTS:
            raise TypeError(f"not supported type: array({value.typecode})")
        return DataTypes.ARRAY(ARRAY_ELEMENTS[value.typecode].not_null())
    try:
        return infer_row_type(value)
    except TypeError:
        raise TypeError(f"not supported type: {type(value)}") from None


def infer_row_type(row: Any, names: Sequence[str] | None = None) -> t.RowType:
    """The type of a row: a dict, a tuple, a list, a `Row` or an object with attributes.

    Args:
        row: The row.
        names: Names of its fields, as far as they are known.

    Raises:
        TypeError: It is nothing of these, or has a value without a type.
    """
    items: Iterable[tuple[str, Any]]
    if isinstance(row, dict):
        items = sorted(row.items())
    elif isinstance(row, Row | tuple | list):
        own = row.get_field_names() if isinstance(row, Row) else getattr(row, "_fields", None)
        labels = list(own or names or ())
        labels += [f"_{i + 1}" for i in range(len(labels), len(row))]
        items = zip(labels, row, strict=False)
    elif hasattr(row, "__dict__") and not isinstance(row, type):
        items = sorted(vars(row).items())
    else:
        raise TypeError(f"Can not infer schema for type: {type(row)}")
    return t.RowType([t.RowField(name, infer_type(value)) for name, value in items])


def infer_schema(rows: Iterable[Any], names: Sequence[str] | None = None) -> t.RowType:
    """The type of all rows.

    Raises:
        ValueError: There are none, or only None in a column.
        TypeError: A column has values of several types.
    """
    found: list[DataType] = [infer_row_type(row, names) for row in rows]
    if not found:
        raise ValueError("can not infer schema from empty data set")
    merged = reduce(merge_types, found)
    if _has_null(merged):
        raise ValueError("Some column types cannot be determined after inferring")
    assert isinstance(merged, t.RowType)
    return merged


def _has_null(type_: DataType) -> bool:
    if isinstance(type_, t.RowType):
        return any(_has_null(f.data_type) for f in type_.fields)
    if isinstance(type_, t.ArrayType):
        return _has_null(type_.element_type)
    if isinstance(type_, t.MapType):
        return _has_null(type_.key_type) or _has_null(type_.value_type)
    return isinstance(type_, t.NullType)


def merge_types(a: DataType, b: DataType, name: str | None = None) -> DataType:
    """The type of values of both types.

    Raises:
        TypeError: They have none in common.
    """
    if isinstance(a, t.NullType):
        return b
    if isinstance(b, t.NullType):
        return a
    if type(a) is not type(b):
        prefix = "" if name is None else f"{name}: "
        raise TypeError(f"{prefix}Can not merge type {type(a)} and {type(b)}")
    if isinstance(a, t.RowType):
        assert isinstance(b, t.RowType)
        return _merged_rows(a, b, name)
    if isinstance(a, t.ArrayType):
        assert isinstance(b, t.ArrayType)
        label = "multiset" if isinstance(a, t.MultisetType) else "array"
        element = merge_types(a.element_type, b.element_type, f"element in {label} {name}")
        return type(a)(element)
    if isinstance(a, t.MapType):
        assert isinstance(b, t.MapType)
        return t.MapType(
            merge_types(a.key_type, b.key_type, f"key of map {name}"),
            merge_types(a.value_type, b.value_type, f"value of map {name}"),
        )
    return a


def _merged_rows(a: t.RowType, b: t.RowType, name: str | None) -> t.RowType:
    within = "" if name is None else f" in {name}"
    others = {f.name: f.data_type for f in b.fields}
    fields = []
    for f in a.fields:
        other = others.pop(f.name, DataTypes.NULL())
        fields.append(
            t.RowField(f.name, merge_types(f.data_type, other, f"field {f.name}{within}"))
        )
    return t.RowType([*fields, *(t.RowField(n, x) for n, x in others.items())])
