"""Columns of users' objects as Arrow arrays and as what pandas makes of them."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from typing import Any
from zoneinfo import ZoneInfo

from headrace.common.types import Row
from headrace.sql import types as t
from headrace.sql.types import DataType
from headrace.sql.types.arrow import arrow_type_of

__all__ = [
    "arrow_array",
    "external_column",
    "has_columns",
    "internal_column",
    "objects_of_array",
    "pandas_column",
    "series_to_array",
]

_SAME = (
    t.IntegralType,
    t.FloatType,
    t.DoubleType,
    t.BooleanType,
    t.DecimalType,
    t.CharType,
    t.VarCharType,
    t.VarBinaryType,
)
"""Types whose internal values are users' objects."""


def has_columns(type_: DataType, zone: str) -> bool:
    """Whether a column of internal values becomes one of users' objects without a look at each."""
    if isinstance(type_, t.LocalZonedTimestampType) and zone != "UTC":
        return False
    return isinstance(type_, (*_SAME, t.DateType, t.TimestampType, t.LocalZonedTimestampType))


def external_column(column: Any, type_: DataType) -> Any:
    """Users' objects of a column of internal values, if the type has columns."""
    import pyarrow as pa

    kind = arrow_type_of(type_)
    if isinstance(column, list):
        column = pa.array(column, pa.int64() if pa.types.is_timestamp(kind) else None)
    if isinstance(type_, t.DateType):
        return column.cast(pa.int32()).view(kind)
    if pa.types.is_timestamp(kind):
        return column.view(pa.timestamp("us")).cast(kind, safe=False)
    return column.cast(kind)


def internal_column(array: Any, type_: DataType) -> Any:
    """Internal values of a column of users' objects: the other way round."""
    import pyarrow as pa

    if isinstance(type_, t.DateType):
        return array.view(pa.int32())
    if pa.types.is_timestamp(array.type):
        return array.cast(pa.timestamp("us"), safe=False).view(pa.int64())
    return array


def arrow_array(values: Sequence[Any], type_: DataType) -> Any:
    """Users' objects of a type as a `pyarrow.Array`."""
    import pyarrow as pa

    return pa.array(map(_plain, values), arrow_type_of(type_))


def _plain(value: Any) -> Any:
    """Rows as tuples and maps as pairs, which Arrow takes."""
    if isinstance(value, Row):
        return tuple(map(_plain, value))
    if isinstance(value, list):
        return [_plain(v) for v in value]
    if isinstance(value, dict):
        return [(_plain(k), _plain(v)) for k, v in value.items()]
    return value


def pandas_column(array: Any, type_: DataType, zone: ZoneInfo) -> Any:
    """An array as a `Series`, or as a `DataFrame` if it has rows; instants get their zone.

    Rows in rows become columns beside the others.
    """
    import pandas as pd

    if isinstance(type_, t.RowType):
        fields = zip(array.flatten(), type_.fields, strict=True)
        columns = [(f.name, pandas_column(column, f.data_type, zone)) for column, f in fields]
        return pd.concat(
            [c if isinstance(c, pd.DataFrame) else c.rename(name) for name, c in columns], axis=1
        )
    series = array.to_pandas()
    if isinstance(type_, t.LocalZonedTimestampType):
        return series.dt.tz_localize(zone)
    return series


def series_to_array(series: Any, type_: DataType, zone: ZoneInfo) -> Any:
    """A `Series` as an array of a type.

    Raises:
        RuntimeError: It has values that are not of the type.
    """
    import pandas as pd
    import pyarrow as pa

    if isinstance(type_, t.LocalZonedTimestampType) and isinstance(
        series.dtype, pd.DatetimeTZDtype
    ):
        series = series.dt.tz_convert(zone).dt.tz_localize(None)
    kind = arrow_type_of(type_)
    try:
        return pa.Array.from_pandas(series, mask=series.isnull(), type=kind)
    except pa.ArrowException as error:
        raise RuntimeError(
            f"Exception thrown when converting pandas.Series ({series.dtype}) to "
            f"pyarrow.Array ({kind}).",
            error,
        ) from error


def objects_of_array(array: Any, type_: DataType) -> list[Any]:
    """Users' objects in an array."""
    restore = _restoring(type_)
    values: list[Any] = array.to_pylist()
    return values if restore is None else [None if v is None else restore(v) for v in values]


def _restoring(type_: DataType) -> Callable[[Any], Any] | None:
    """What is left to do after `to_pylist`: maps are pairs there, and some times are pandas'."""
    if isinstance(type_, t.MapType):
        key, value = _optional(type_.key_type), _optional(type_.value_type)
        return lambda pairs: {key(k): value(v) for k, v in pairs}
    if isinstance(type_, t.RowType):
        fields = {f.name: _optional(f.data_type) for f in type_.fields}
        return lambda row: {name: field(row[name]) for name, field in fields.items()}
    if isinstance(type_, t.ArrayType):
        element = _optional(type_.element_type)
        return lambda values: [element(v) for v in values]
    if isinstance(type_, t.TimestampType | t.LocalZonedTimestampType):
        return _moment
    return None


def _optional(type_: DataType) -> Callable[[Any], Any]:
    restore = _restoring(type_)
    if restore is None:
        return lambda value: value
    return lambda value: None if value is None else restore(value)


def _moment(value: Any) -> datetime.datetime:
    plain: datetime.datetime = getattr(value, "to_pydatetime", lambda: value)()
    return plain
