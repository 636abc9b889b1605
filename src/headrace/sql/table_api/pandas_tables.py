"""Tables to and from `pandas.DataFrame`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from zoneinfo import ZoneInfo

from headrace.common.errors import FunctionTypeError
from headrace.common.types import Row, RowKind
from headrace.sql import types as t
from headrace.sql.plan import nodes as n
from headrace.sql.plan.expressions import Schema
from headrace.sql.table_api.elements import values_plan
from headrace.sql.types import DataType
from headrace.sql.types.arrow import data_type_of
from headrace.sql.types.arrow_columns import (
    arrow_array,
    objects_of_array,
    pandas_column,
    series_to_array,
)

__all__ = ["from_pandas_plan", "to_pandas"]


def to_pandas(rows: Iterable[Row], schema: Schema, zone: ZoneInfo) -> Any:
    """All rows that are left after all changes."""
    import pandas as pd

    left: list[Any] = []
    for row in rows:
        values = list(row)
        if row.get_row_kind() in (RowKind.UPDATE_BEFORE, RowKind.DELETE):
            left.remove(values)
        else:
            left.append(values)
    if not left:
        return pd.DataFrame(columns=schema.names)
    columns = zip(*left, strict=True)
    return pd.concat(
        [_series(c, f.type, zone).rename(f.name) for c, f in zip(columns, schema, strict=True)],
        axis=1,
    )


def _series(values: Sequence[Any], type_: DataType, zone: ZoneInfo) -> Any:
    import pandas as pd

    try:
        array = arrow_array(values, type_)
    except FunctionTypeError:
        # Arrow has no such type: the objects themselves, where PyFlink refuses the table.
        return pd.Series(list(values), dtype=object)
    if isinstance(type_, t.RowType):
        return array.to_pandas()
    return pandas_column(array, type_, zone)


def from_pandas_plan(frame: Any, schema: Any, zone: ZoneInfo) -> n.Node:
    """The plan of a frame's rows."""
    import pandas as pd
    import pyarrow as pa

    if not isinstance(frame, pd.DataFrame):
        raise TypeError(f"Unsupported type, expected pandas.DataFrame, got {type(frame)}")
    arrow = pa.Schema.from_pandas(frame, preserve_index=False)
    names = [str(x) for x in arrow.names]
    types = [data_type_of(f.type) for f in arrow]
    if isinstance(schema, t.RowType):
        names, types = schema.names, schema.field_types()
    elif isinstance(schema, list | tuple) and all(isinstance(x, str) for x in schema):
        names = list(schema)
    elif isinstance(schema, list | tuple) and all(isinstance(x, DataType) for x in schema):
        types = list(schema)
    elif schema is not None:
        raise TypeError(
            "Unsupported schema type, it could only be of RowType, a list of str or a list of "
            f"DataType, got {schema}"
        )
    # As in PyFlink, columns without a name are left out.
    fields = [t.RowField(a, b) for a, b in zip(names, types, strict=False)]
    row_type = t.RowType(fields)
    columns = [
        objects_of_array(series_to_array(frame.iloc[:, i], f.data_type, zone), f.data_type)
        for i, f in enumerate(fields)
    ]
    return values_plan(zip(*columns, strict=True), row_type, zone)
