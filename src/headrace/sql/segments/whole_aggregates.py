"""Results of aggregates in Spark's SQL, of groups and of frames around a row."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.sql import types as t
from headrace.sql.plan.expressions import AggregateCall, Literal
from headrace.sql.segments.decimal_sums import decimal_sum
from headrace.sql.segments.decimals import result_of
from headrace.sql.segments.expressions import (
    UnsupportedBySparkError,
    column_name,
    quoted,
    spark_text,
    storage,
)
from headrace.sql.types import DataType
from headrace.sql.types.type_rules import is_character, is_timestamp

__all__ = ["aggregate_text", "check_keys", "over_text"]

_MANY_ROWS = (
    "SubQuery returned more than one row. A subquery as a value must return one: use an aggregate, "
    "such as MAX"
)
_COMPARED = t.IntegralType | t.DecimalType | t.DateType | t.TimeType
_SUM_DIGITS = 10
_MOST_DIGITS = 38
# So many more digits than are wanted that a mean is rounded right, of up to a billion rows.
_MEAN_DIGITS = 9
_NUMBERING = ("ROW_NUMBER", "RANK", "DENSE_RANK")
_WITHOUT_NULL = ("COUNT", "SUM", "SUM0", "$SUM0", "AVG", "MIN", "MAX")
_SPREADS = {
    "STDDEV_POP": "stddev_pop",
    "STDDEV_SAMP": "stddev_samp",
    "STDDEV": "stddev_samp",
    "VAR_POP": "var_pop",
    "VAR_SAMP": "var_samp",
    "VARIANCE": "var_samp",
}
_BY_ORDER = (*_NUMBERING, "LAG", "LEAD")


def aggregate_text(call: AggregateCall) -> str:
    """The result for a group, of rows `with_unscaled` decimals.

    Raises:
        UnsupportedBySparkError: Spark has nothing that gives the same.
    """
    chosen = "" if call.filter is None else f" FILTER (WHERE {column_name(call.filter)})"
    return _text(call, "DISTINCT " if call.distinct else "", chosen, decimal_sum(call))


def over_text(call: AggregateCall, partition: str, order: str, frame: str) -> str:
    """The result for a row, of the rows around it."""
    if call.distinct or (call.filter is not None and call.function.name not in _WITHOUT_NULL):
        raise UnsupportedBySparkError("DISTINCT or FILTER with OVER")
    name = call.function.name
    columns = ", ".join(map(column_name, call.args))
    for x in call.arg_types:
        storage(x)
    if not order and name in _BY_ORDER:
        raise UnsupportedBySparkError(f"{name} without an order")
    if name in _NUMBERING:
        return f"CAST({name.lower()}() OVER ({partition} {order}) AS {storage(call.type)})"
    if name in ("LAG", "LEAD"):
        distance, *default = call.constants or (1,)
        other = [spark_text(Literal(call.type, value)) for value in default]
        inside = ", ".join([columns, str(distance), *other])
        return f"{name.lower()}({inside}) OVER ({partition} {order})"
    if name in ("FIRST_VALUE", "LAST_VALUE"):
        return f"{name.lower()}({columns}, TRUE) OVER ({partition} {order} {frame})"
    if name == "SINGLE_VALUE":
        raise UnsupportedBySparkError(name)
    around = f" OVER ({partition} {order} {frame})"
    if call.filter is None:
        return _text(call, "", around)
    # Spark has no FILTER there: NULL does not count.
    chosen = [f"CASE WHEN {column_name(call.filter)} THEN {x} END" for x in _columns(call)]
    return _text(call, "", around, columns=chosen)


def check_keys(*types: DataType) -> None:
    """Refuses types whose values Spark does not tell apart as headrace does."""
    for x in types:
        known = isinstance(x, _COMPARED | t.BooleanType) or is_timestamp(x) or is_character(x)
        if not known:
            raise UnsupportedBySparkError(f"a key of type {x.sql_text()}")


def _columns(call: AggregateCall) -> list[str]:
    """What an aggregate is of."""
    return [column_name(i) for i in call.args] or ["1"]


def _text(
    call: AggregateCall,
    distinct: str,
    where: str,
    total: str | None = None,
    columns: Sequence[str] | None = None,
) -> str:
    name = call.function.name
    if hasattr(call.function, "bound") or call.constants:
        raise UnsupportedBySparkError(name)
    for x in call.arg_types:
        storage(x)
        if distinct:
            check_keys(x)
    column = ", ".join(columns or _columns(call))
    count = f"count({distinct}{column}){where}"
    if name == "COUNT":
        return count
    if len(call.arg_types) != 1:
        raise UnsupportedBySparkError(name)
    (type_,) = call.arg_types
    if name == "SINGLE_VALUE":
        failed = f"raise_error({quoted(_MANY_ROWS)})"
        return f"CASE WHEN count(1){where} > 1 THEN {failed} ELSE first({column}){where} END"
    if name in ("MIN", "MAX"):
        # NaN is the greatest number for Spark.
        check_keys(type_)
        return f"{name.lower()}({column}){where}"
    if name in _SPREADS and isinstance(type_, t.DoubleType):
        # Of whole numbers and decimals the result is cut off, where the last digit matters.
        return f"{_SPREADS[name]}({distinct}{column}){where}"
    total = total or f"sum({distinct}{column}){where}"
    if name == "AVG":
        return _mean(total, count, type_, call.type)
    if name not in ("SUM", "SUM0", "$SUM0"):
        raise UnsupportedBySparkError(name)
    if not isinstance(type_, t.IntegralType | t.DecimalType | t.DoubleType):
        raise UnsupportedBySparkError(f"SUM of {type_.sql_text()}")
    value = f"CAST({total} AS {storage(call.type)})"
    return value if name == "SUM" else f"COALESCE({value}, CAST(0 AS {storage(call.type)}))"


def _mean(total: str, count: str, type_: DataType, result: DataType) -> str:
    if isinstance(type_, t.IntegralType):
        return f"CAST({total} div {count} AS {storage(result)})"
    if isinstance(type_, t.DoubleType):
        return f"({total} / {count})"
    if not isinstance(type_, t.DecimalType) or not isinstance(result, t.DecimalType):
        raise UnsupportedBySparkError(f"AVG of {type_.sql_text()}")
    digits = min(type_.precision + _SUM_DIGITS, _MOST_DIGITS)
    _, scale = result_of("DIVIDE", (digits, type_.scale), (20, 0))
    if scale < result.scale + _MEAN_DIGITS:
        raise UnsupportedBySparkError("a mean of many digits")
    return f"CAST({total} / CAST({count} AS DECIMAL(20, 0)) AS {storage(result)})"
