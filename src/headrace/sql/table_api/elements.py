"""Tables of Python objects: types that are not declared are found out."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from headrace.common.errors import FunctionTypeError, TypeMismatchError
from headrace.common.types import Row
from headrace.sql import types as t
from headrace.sql.plan import nodes as n
from headrace.sql.plan.expressions import Field, Schema
from headrace.sql.types import DataType
from headrace.sql.types.data_types import DataTypes
from headrace.sql.types.type_rules import common_type
from headrace.sql.types.values import to_internal

__all__ = ["infer_type", "values_plan"]


def values_plan(elements: Any, schema: Any, zone: Any, verify: bool = True) -> n.Node:
    """The plan of rows that a program has."""
    rows = list(elements)
    if isinstance(schema, DataType):
        single = not isinstance(schema, t.RowType)
        row_type = t.RowType([t.RowField("_1", schema)]) if single else schema
        if single:
            rows = [(r,) for r in rows]
    else:
        row_type = _inferred(rows, schema)
        rows = [r if _is_row(r) else (r,) for r in rows]
    assert isinstance(row_type, t.RowType)
    convert = to_internal(row_type.not_null(), zone)
    try:
        data = tuple(convert(r) for r in rows)
    except TypeMismatchError as error:
        raise TypeMismatchError(f"from_elements: {error}") from error
    fields = tuple(Field(f.name, f.data_type) for f in row_type.fields)
    return n.Values(Schema(fields), data)


def _is_row(value: Any) -> bool:
    return isinstance(value, tuple | list | dict | Row)


def _inferred(rows: Sequence[Any], names: Any) -> t.RowType:
    if not rows:
        raise ValueError("can not infer schema from empty dataset")
    width = len(rows[0]) if _is_row(rows[0]) else 1
    labels = list(names or ())
    first = rows[0]
    if not labels:
        if isinstance(first, dict):
            labels = sorted(first)
        elif isinstance(first, Row) and first.get_field_names():
            labels = list(first.get_field_names() or ())
    labels += [f"_{i + 1}" for i in range(len(labels), width)]
    columns: list[DataType | None] = [None] * width
    for row in rows:
        if isinstance(row, dict):
            cells = [row.get(label) for label in labels]
        else:
            cells = list(row) if _is_row(row) else [row]
        if len(cells) != width:
            raise FunctionTypeError(f"rows have different lengths: {first!r} and {row!r}")
        for index, cell in enumerate(cells):
            found, held = infer_type(cell), columns[index]
            merged = found if held is None else common_type([held, found])
            if merged is None:
                raise FunctionTypeError(f"column {labels[index]!r} has values of several types")
            columns[index] = merged
    fields = [t.RowField(label, _known(label, c)) for label, c in zip(labels, columns, strict=True)]
    return t.RowType(fields)


def _known(label: str, type_: DataType | None) -> DataType:
    if type_ is None or isinstance(type_, t.NullType):
        raise FunctionTypeError(f"column {label!r} is always None; declare its type")
    return type_.nullable()  # type: ignore[no-any-return]


def infer_type(value: Any) -> DataType:
    """The type of a Python object, as PyFlink finds it."""
    if value is None:
        return DataTypes.NULL()
    if isinstance(value, bool):
        return DataTypes.BOOLEAN()
    if isinstance(value, int):
        return DataTypes.BIGINT()
    if isinstance(value, float):
        return DataTypes.DOUBLE()
    if isinstance(value, str):
        return DataTypes.STRING()
    if isinstance(value, bytes | bytearray):
        return DataTypes.BYTES()
    if isinstance(value, Decimal):
        return DataTypes.DECIMAL(38, 18)
    if isinstance(value, datetime.datetime):
        return DataTypes.TIMESTAMP_LTZ() if value.tzinfo else DataTypes.TIMESTAMP()
    if isinstance(value, datetime.date):
        return DataTypes.DATE()
    if isinstance(value, datetime.time):
        return DataTypes.TIME()
    if isinstance(value, datetime.timedelta):
        return DataTypes.INTERVAL(DataTypes.DAY(), DataTypes.SECOND())
    if isinstance(value, dict):
        for k, v in value.items():
            if k is not None and v is not None:
                return DataTypes.MAP(infer_type(k), infer_type(v))
        return DataTypes.MAP(DataTypes.NULL(), DataTypes.NULL())
    if isinstance(value, Row | tuple):
        return _inferred([value], None)
    if isinstance(value, list):
        element = common_type([infer_type(v) for v in value]) or DataTypes.NULL()
        return DataTypes.ARRAY(element)
    raise FunctionTypeError(f"there is no SQL type for {value!r}; declare one")
