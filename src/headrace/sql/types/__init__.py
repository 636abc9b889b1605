"""SQL data types: what a column may hold, as PyFlink's `pyflink.table.types` names them.

Rows hold values in an *internal form* that is quick to compare, hash and calculate with; see
`headrace.sql.types.values`. The classes here only describe.
"""

from __future__ import annotations

from headrace.sql.types import shapes as _shapes  # noqa: F401 - formats learn of the types
from headrace.sql.types.atomic import (
    MAX_LENGTH,
    AtomicType,
    BigIntType,
    BinaryType,
    BitmapType,
    BooleanType,
    CharType,
    DecimalType,
    DoubleType,
    FloatType,
    FractionalType,
    IntegralType,
    IntType,
    NullType,
    NumericType,
    SmallIntType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
    VariantType,
)
from headrace.sql.types.base import DataType
from headrace.sql.types.composite import (
    ArrayType,
    ListViewType,
    MapType,
    MapViewType,
    MultisetType,
    RowField,
    RowType,
    StructuredType,
)
from headrace.sql.types.temporal import (
    DateType,
    DayTimeIntervalType,
    LocalZonedTimestampType,
    Resolution,
    TimestampType,
    TimeType,
    YearMonthIntervalType,
    ZonedTimestampType,
)
from headrace.sql.types.user_defined import RawType, UserDefinedType

__all__ = [
    "MAX_LENGTH",
    "ArrayType",
    "AtomicType",
    "BigIntType",
    "BinaryType",
    "BitmapType",
    "BooleanType",
    "CharType",
    "DataType",
    "DateType",
    "DayTimeIntervalType",
    "DecimalType",
    "DoubleType",
    "FloatType",
    "FractionalType",
    "IntType",
    "IntegralType",
    "ListViewType",
    "LocalZonedTimestampType",
    "MapType",
    "MapViewType",
    "MultisetType",
    "NullType",
    "NumericType",
    "RawType",
    "Resolution",
    "RowField",
    "RowType",
    "SmallIntType",
    "StructuredType",
    "TimeType",
    "TimestampType",
    "TinyIntType",
    "UserDefinedType",
    "VarBinaryType",
    "VarCharType",
    "VariantType",
    "YearMonthIntervalType",
    "ZonedTimestampType",
]
