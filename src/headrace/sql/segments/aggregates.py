"""The local phase of aggregates in Spark's SQL: one aggregate for each place of an accumulator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from headrace.sql import types as t
from headrace.sql.plan.expressions import AggregateCall
from headrace.sql.segments.expressions import UnsupportedBySparkError, column_name, storage
from headrace.sql.types import DataType
from headrace.sql.types.type_rules import is_character, is_timestamp

__all__ = ["LocalPlace", "local_places"]


@dataclass(frozen=True)
class LocalPlace:
    """One place of an accumulator.

    Attributes:
        text: The aggregate in Spark's SQL.
        type: What comes out.
        empty: What stands for NULL, which is what Spark gives without values.
    """

    text: str
    type: DataType
    empty: Any = None


_BIG = t.BigIntType()
_COMPARED = t.IntegralType | t.DateType | t.DecimalType
# Spark makes a sum longer than what is added, so that no number of rows is too much for it.
_SUM_DIGITS = 10
_MOST_DIGITS = 38


def local_places(calls: Sequence[AggregateCall]) -> list[LocalPlace]:
    """The places of an accumulator as `codegen.aggregates` lays them out, the count first.

    Raises:
        UnsupportedBySparkError: Something is computed row by row.
    """
    places = [LocalPlace("count(1)", _BIG, 0)]
    for call in calls:
        places += _places(call)
    return places


def _places(call: AggregateCall) -> list[LocalPlace]:
    name = call.function.name
    if call.distinct:
        raise UnsupportedBySparkError(f"{name}(DISTINCT)")
    if hasattr(call.function, "bound"):
        raise UnsupportedBySparkError(f"the user's function {name}")
    chosen = "" if call.filter is None else f" FILTER (WHERE {column_name(call.filter)})"
    columns = ", ".join(map(column_name, call.args)) or "1"
    count = LocalPlace(f"count({columns}){chosen}", _BIG, 0)
    if name == "COUNT":
        return [count]
    (type_,) = call.arg_types
    if name in ("SUM", "SUM0", "$SUM0", "AVG"):
        return [_sum(columns, chosen, type_), count]
    if name in ("MIN", "MAX"):
        if not isinstance(type_, _COMPARED) and not is_timestamp(type_) and not is_character(type_):
            # NaN is the greatest number for Spark.
            raise UnsupportedBySparkError(f"{name} of {type_.sql_text()}")
        storage(type_)
        return [LocalPlace(f"{name.lower()}({columns}){chosen}", type_)]
    raise UnsupportedBySparkError(name)


def _sum(column: str, chosen: str, type_: DataType) -> LocalPlace:
    if isinstance(type_, t.IntegralType):
        return LocalPlace(f"sum({column}){chosen}", _BIG, 0)
    if isinstance(type_, t.DoubleType):
        return LocalPlace(f"sum({column}){chosen}", type_, 0.0)
    if isinstance(type_, t.DecimalType) and type_.precision + _SUM_DIGITS <= _MOST_DIGITS:
        kind = t.DecimalType(type_.precision + _SUM_DIGITS, type_.scale)
        return LocalPlace(f"sum({column}){chosen}", kind, Decimal(0))
    raise UnsupportedBySparkError(f"SUM of {type_.sql_text()}")
