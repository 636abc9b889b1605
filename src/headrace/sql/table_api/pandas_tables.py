"""Tables to and from `pandas.DataFrame`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace.common.errors import FunctionTypeError
from headrace.common.types import Row, RowKind
from headrace.sql import types as t
from headrace.sql.plan import nodes as n
from headrace.sql.plan.expressions import Schema
from headrace.sql.table_api.elements import values_plan
from headrace.sql.types import DataType

__all__ = ["from_pandas_plan", "to_pandas"]


def to_pandas(rows: Iterable[Row], schema: Schema) -> Any:
    """All rows that are left after all changes."""
    import pandas as pd

    left: list[Any] = []
    for row in rows:
        values = list(row)
        if row.get_row_kind() in (RowKind.UPDATE_BEFORE, RowKind.DELETE):
            left.remove(values)
        else:
            left.append(values)
    frame = pd.DataFrame(left, columns=schema.names)
    for f in schema:
        dtype = _dtype(f.type)
        if dtype is not None and not frame[f.name].isna().any():
            frame[f.name] = frame[f.name].astype(dtype)
    return frame


def _dtype(type_: DataType) -> str | None:
    if isinstance(type_, t.IntegralType):
        return f"int{type_.bits}"
    if isinstance(type_, t.FloatType):
        return "float32"
    if isinstance(type_, t.DoubleType):
        return "float64"
    return "bool" if isinstance(type_, t.BooleanType) else None


def from_pandas_plan(frame: Any, schema: Any, zone: Any) -> n.Node:
    """The plan of a frame's rows."""
    import pandas as pd

    if not isinstance(frame, pd.DataFrame):
        raise FunctionTypeError(f"from_pandas takes a pandas.DataFrame, not {frame!r}")
    import pyarrow as pa

    from headrace.sql.connectors.arrow_types import data_type_of

    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    names = [str(x) for x in frame.columns]
    types = [data_type_of(x) for x in arrow.schema.types]
    if isinstance(schema, t.RowType):
        names, types = schema.names, schema.field_types()
    elif isinstance(schema, list | tuple):
        if all(isinstance(x, str) for x in schema):
            names = list(schema)
        else:
            types = list(schema)
    elif schema is not None:
        raise FunctionTypeError(f"schema is names or types of columns, not {schema!r}")
    row_type = t.RowType([t.RowField(a, b) for a, b in zip(names, types, strict=True)])
    columns = [c.to_pylist() for c in arrow.columns]
    rows = list(zip(*columns, strict=True)) if columns else []
    return values_plan(rows, row_type, zone)
