"""SQL types of Arrow's."""

from __future__ import annotations

from typing import Any

from headrace.common.errors import FunctionTypeError
from headrace.sql import types as t
from headrace.sql.data_types import DataTypes
from headrace.sql.types import DataType

__all__ = ["data_type_of"]


def data_type_of(kind: Any) -> DataType:
    """The type of a column of Arrow."""
    import pyarrow as pa

    simple = {
        pa.bool_(): DataTypes.BOOLEAN(),
        pa.int8(): DataTypes.TINYINT(),
        pa.int16(): DataTypes.SMALLINT(),
        pa.int32(): DataTypes.INT(),
        pa.int64(): DataTypes.BIGINT(),
        pa.float32(): DataTypes.FLOAT(),
        pa.float64(): DataTypes.DOUBLE(),
        pa.date32(): DataTypes.DATE(),
    }
    if kind in simple:
        return simple[kind]
    types = pa.types
    if types.is_string(kind) or types.is_large_string(kind):
        return DataTypes.STRING()
    if types.is_binary(kind) or types.is_large_binary(kind):
        return DataTypes.BYTES()
    if types.is_decimal(kind):
        return DataTypes.DECIMAL(kind.precision, kind.scale)
    if types.is_timestamp(kind):
        precision = {"s": 0, "ms": 3}.get(kind.unit, 6)
        if kind.tz is not None:
            return DataTypes.TIMESTAMP_LTZ(precision)
        return DataTypes.TIMESTAMP(precision)
    if types.is_time(kind):
        return DataTypes.TIME(0 if kind.unit == "s" else 3)
    if types.is_list(kind) or types.is_large_list(kind):
        return DataTypes.ARRAY(data_type_of(kind.value_type))
    if types.is_map(kind):
        return DataTypes.MAP(data_type_of(kind.key_type), data_type_of(kind.item_type))
    if types.is_struct(kind):
        return DataTypes.ROW([t.RowField(f.name, data_type_of(f.type)) for f in kind])
    if types.is_null(kind):
        return DataTypes.NULL()
    raise FunctionTypeError(f"there is no SQL type for Arrow's {kind}")
