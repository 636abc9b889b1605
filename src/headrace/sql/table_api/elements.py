"""Tables of Python objects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from headrace.common.errors import SqlError, TypeMismatchError
from headrace.sql import types as t
from headrace.sql.binder.context import BindingContext, repeated
from headrace.sql.binder.relations import union_of
from headrace.sql.parser import syntax as x
from headrace.sql.plan import nodes as n
from headrace.sql.plan.expressions import Field, Schema
from headrace.sql.table_api.expression_nodes import ExpressionBase, node_of
from headrace.sql.table_api.inference import infer_schema
from headrace.sql.table_api.table_binding import TableBinding
from headrace.sql.types import DataType
from headrace.sql.types.data_types import DataTypes
from headrace.sql.types.values import to_internal
from headrace.sql.types.verification import type_verifier

__all__ = ["expressions_plan", "values_plan"]


def values_plan(elements: Iterable[Any], schema: Any, zone: Any, verify: bool = False) -> n.Node:
    """The plan of rows that a program has.

    Args:
        elements: The rows; values of their own if the schema is a type other than a row.
        schema: A type, names of columns, or None.
        zone: The time zone of the session.
        verify: Whether to raise PyFlink's errors for values that do not fit the schema.
    """
    rows = list(elements)
    if isinstance(schema, DataType) and not isinstance(schema, t.RowType):
        if verify:
            _verified(rows, schema, "field value")
        schema = t.RowType([t.RowField("value", schema)])
        rows = [(r,) for r in rows]
    elif isinstance(schema, t.RowType):
        if verify:
            _verified(rows, schema)
    elif schema is None or isinstance(schema, list | tuple):
        schema = infer_schema(rows, schema)
    else:
        raise TypeError(f"schema should be RowType, list, tuple or None, but got: {schema}")
    twice = repeated(schema.names)
    if twice is not None:
        raise SqlError(f"Field names must be unique. Found duplicates: [{twice}]")
    convert = to_internal(schema.not_null(), zone)
    try:
        data = tuple(map(convert, rows))
    except TypeMismatchError as error:
        raise TypeMismatchError(f"from_elements: {error}") from error
    fields = tuple(Field(f.name, plain_type(f.data_type)) for f in schema.fields)
    return n.Values(Schema(fields), data)


def plain_type(type_: DataType) -> DataType:
    """A type as the engine has it: a user-defined one is that of its SQL values."""
    if isinstance(type_, t.UserDefinedType):
        plain: DataType = plain_type(type_.sql_type()).with_nullable(type_.is_nullable)
        return plain
    if isinstance(type_, t.MultisetType):
        return t.MultisetType(plain_type(type_.element_type), type_.is_nullable)
    if isinstance(type_, t.ArrayType):
        return t.ArrayType(plain_type(type_.element_type), type_.is_nullable)
    if isinstance(type_, t.MapType):
        inside = (plain_type(type_.key_type), plain_type(type_.value_type))
        return t.MapType(*inside, type_.is_nullable)
    if isinstance(type_, t.RowType):
        fields = [t.RowField(f.name, plain_type(f.data_type)) for f in type_.fields]
        return t.RowType(fields, type_.is_nullable)
    return type_


def expressions_plan(context: BindingContext, rows: Sequence[Any], type_: t.RowType) -> n.Node:
    """The plan of rows that are written as expressions, such as `row(1, 'a')`."""
    one = n.Values(Schema((Field("_", DataTypes.BOOLEAN()),)), ((True,),))
    binding = TableBinding(context, one)
    return union_of([binding.select(_cells(node_of(row), type_)) for row in rows])


def _cells(row: x.Node, type_: t.RowType) -> list[ExpressionBase]:
    cells = row.args if isinstance(row, x.Apply) and row.function == "$ROW" else (row,)
    if len(cells) != len(type_.fields):
        raise TypeMismatchError(
            f"from_elements: a row has {len(cells)} fields instead of {len(type_.fields)}"
        )
    return [
        ExpressionBase(x.Alias(x.CastTo(cell, f.data_type), f.name), f.name)
        for cell, f in zip(cells, type_.fields, strict=True)
    ]


def _verified(rows: list[Any], type_: DataType, name: str | None = None) -> None:
    verify = type_verifier(type_, name)
    for row in rows:
        verify(row)
