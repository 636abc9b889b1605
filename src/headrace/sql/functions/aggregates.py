"""Aggregate functions; how they are computed is in `headrace.sql.codegen.aggregates`."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.sql import types as t
from headrace.sql.functions.registry import aggregate
from headrace.sql.types import DataType


def _sum(types: Sequence[DataType]) -> DataType | None:
    (first,) = types
    if isinstance(first, t.DecimalType):
        return t.DecimalType(38, first.scale)
    return first.nullable()  # type: ignore[no-any-return]


def _sum0(types: Sequence[DataType]) -> DataType | None:
    found = _sum(types)
    return None if found is None else found.not_null()


def _average(types: Sequence[DataType]) -> DataType | None:
    (first,) = types
    if isinstance(first, t.DecimalType):
        return t.DecimalType(38, max(6, first.scale))
    return first.nullable()  # type: ignore[no-any-return]


def _nullable(types: Sequence[DataType]) -> DataType | None:
    return types[0].nullable()  # type: ignore[no-any-return]


def _collected(types: Sequence[DataType]) -> DataType | None:
    return t.MultisetType(types[0], False)


def _array(types: Sequence[DataType]) -> DataType | None:
    return t.ArrayType(types[0])


def _deviation(types: Sequence[DataType]) -> DataType | None:
    return _average(types)


def _percentile(types: Sequence[DataType]) -> DataType | None:
    if isinstance(types[1], t.ArrayType):
        return t.ArrayType(t.DoubleType())
    return t.DoubleType() if isinstance(types[1], t.NumericType) else None


CONSTANT_ARGUMENTS = {
    "LISTAGG": (1,),
    "PERCENTILE": (1,),
    "JSON_OBJECTAGG": (0,),
    "JSON_ARRAYAGG": (0,),
    "LAG": (1, 2),
    "LEAD": (1, 2),
    "NTILE": (0,),
}
"""Which arguments of an aggregate are constants, by position."""

FUNCTIONS = [
    aggregate("COUNT", "any*", "bigint!"),
    aggregate("SUM", "number", _sum),
    aggregate("SUM0", "number", _sum0, "sum0"),
    aggregate("$SUM0", "number", _sum0, "sum0", hidden=True),
    aggregate("AVG", "number", _average),
    aggregate("MIN", "any", _nullable),
    aggregate("MAX", "any", _nullable),
    aggregate("FIRST_VALUE", "any", _nullable),
    aggregate("LAST_VALUE", "any", _nullable),
    aggregate("SINGLE_VALUE", "any", _nullable),
    aggregate("LISTAGG", "string, string?", "string?"),
    aggregate("COLLECT", "any", _collected),
    aggregate("ARRAY_AGG", "any", _array),
    aggregate("STDDEV_POP", "number", _deviation),
    aggregate("STDDEV_SAMP", "number", _deviation),
    aggregate("STDDEV", "number", _deviation),
    aggregate("VAR_POP", "number", _deviation),
    aggregate("VAR_SAMP", "number", _deviation),
    aggregate("VARIANCE", "number", _deviation),
    aggregate("PERCENTILE", "number, any, int?", _percentile),
    aggregate("JSON_OBJECTAGG", "string, string, string", "string?"),
    aggregate("JSON_ARRAYAGG", "string, string", "string?"),
    aggregate("APPROX_COUNT_DISTINCT", "any", "bigint!"),
    aggregate("ROW_NUMBER", "", "bigint!"),
    aggregate("RANK", "", "bigint!"),
    aggregate("DENSE_RANK", "", "bigint!"),
    aggregate("PERCENT_RANK", "", "double!"),
    aggregate("CUME_DIST", "", "double!"),
    aggregate("NTILE", "int", "bigint!"),
    aggregate("LAG", "any, int?, any?", _nullable),
    aggregate("LEAD", "any, int?, any?", _nullable),
    aggregate("GROUPING", "any", "bigint!"),
    aggregate("GROUPING_ID", "any*", "bigint!"),
    aggregate("GROUP_ID", "", "bigint!"),
]
