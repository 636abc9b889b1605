"""Sums of decimals in Spark's SQL, as sums of whole numbers.

Spark keeps the sum of a decimal of more than eight digits as bytes, and makes a number of them and
bytes of the number for each row. Here each decimal is a whole number of its last digit, and its
upper and lower bits are added up apart, so that no sum of fewer than eight billion rows overflows.
Decimals of more than 18 digits are cut to so many where that loses nothing; the others, which are
rare, have a sum of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from headrace.datastream.connectors.spark_query import UNSCALED
from headrace.sql import types as t
from headrace.sql.plan.expressions import AggregateCall
from headrace.sql.segments.expressions import column_name

__all__ = ["decimal_sum", "with_unscaled"]

_SHORT = 8
_DIGITS = 18
_BITS = 30
_MOST_SCALE = 6
_SUM_DIGITS = 10
_MOST = 38


def with_unscaled(rows: str, calls: Sequence[AggregateCall]) -> str:
    """Rows with one more column for each decimal that is added up."""
    added = {call.args[0]: type_ for call in calls if (type_ := _decimal(call)) is not None}
    if not added:
        return rows
    texts = []
    for index, type_ in added.items():
        # Spark leaves the cast out where its own type for the column is the same.
        type_text = f"DECIMAL({min(type_.precision, _DIGITS)}, {type_.scale})"
        texts.append(f"{UNSCALED}(CAST({column_name(index)} AS {type_text})) AS {_unscaled(index)}")
    return f"(SELECT *, {', '.join(texts)} FROM {rows})"


def decimal_sum(call: AggregateCall) -> str | None:
    """The sum in a group of such rows; None for what Spark adds up by itself."""
    type_ = _decimal(call)
    if type_ is None:
        return None
    column, digits = column_name(call.args[0]), _unscaled(call.args[0])
    chosen = [] if call.filter is None else [column_name(call.filter)]
    upper = f"sum(shiftright({digits}, {_BITS})){_where(chosen)}"
    lower = f"sum({digits} & {(1 << _BITS) - 1}L){_where(chosen)}"
    unit = Decimal(1).scaleb(-type_.scale)
    total = f"({_times(upper, unit * (1 << _BITS))} + {_times(lower, unit)})"
    if type_.precision > _DIGITS:
        long = _where([*chosen, f"{column} IS NOT NULL", f"{digits} IS NULL"])
        others = f"sum({column}){long}"
        total = (
            f"CASE WHEN count(1){long} = 0 THEN {total} WHEN {upper} IS NULL THEN {others} "
            f"ELSE {total} + {others} END"
        )
    precision = min(type_.precision + _SUM_DIGITS, _MOST)
    return f"CAST({total} AS DECIMAL({precision}, {type_.scale}))"


def _decimal(call: AggregateCall) -> t.DecimalType | None:
    """The type of what is added up, if it is a decimal that Spark is slow with."""
    if call.function.name not in ("SUM", "SUM0", "$SUM0", "AVG") or call.distinct:
        return None
    type_ = call.arg_types[0] if len(call.args) == 1 else None
    if not isinstance(type_, t.DecimalType) or type_.precision <= _SHORT:
        return None
    # The sum of both sums has no room for more.
    return type_ if type_.scale <= _MOST_SCALE else None


def _unscaled(index: int) -> str:
    return f"u{index}"


def _where(conditions: Sequence[str]) -> str:
    return f" FILTER (WHERE {' AND '.join(conditions)})" if conditions else ""


def _times(total: str, factor: Decimal) -> str:
    digits = factor.as_tuple()
    scale = max(-int(digits.exponent), 0)
    kind = f"DECIMAL({max(len(digits.digits), scale)}, {scale})"
    return f"CAST({total} AS DECIMAL(20, 0)) * CAST('{factor:f}' AS {kind})"
