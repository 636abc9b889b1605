"""Accumulators that are computed of columns: one aggregate of Arrow for each place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headrace.sql import types as t
from headrace.sql.plan.expressions import AggregateCall
from headrace.sql.types import DataType
from headrace.sql.types.type_rules import is_character, is_temporal

__all__ = ["ColumnPlace", "column_places"]


@dataclass(frozen=True)
class ColumnPlace:
    """One place of an accumulator.

    Attributes:
        function: The name of Arrow's aggregate.
        column: What it aggregates; None: rows.
        empty: What stands for the aggregate of no values.
    """

    function: str
    column: int | None = None
    empty: Any = None


def column_places(
    calls: Sequence[AggregateCall], keys: Sequence[DataType]
) -> tuple[ColumnPlace, ...] | None:
    """The places as `codegen.aggregates` lays them out, the count first; None if one has none."""
    if not all(_is_ordered(k) or isinstance(k, t.BooleanType) for k in keys):
        return None
    places = [ColumnPlace("count_all", None, 0)]
    for call in calls:
        found = _places(call)
        if found is None:
            return None
        places += found
    return tuple(places)


def _places(call: AggregateCall) -> list[ColumnPlace] | None:
    name = call.function.name
    if call.distinct or call.filter is not None or hasattr(call.function, "bound"):
        return None
    if name == "COUNT" and not call.args:
        return [ColumnPlace("count_all", None, 0)]
    if len(call.args) != 1:
        return None
    (column,), (type_,) = call.args, call.arg_types
    count = ColumnPlace("count", column, 0)
    if name == "COUNT":
        return [count]
    whole = isinstance(type_, t.IntegralType)
    if name in ("SUM", "SUM0", "$SUM0", "AVG") and (whole or isinstance(type_, t.DoubleType)):
        return [ColumnPlace("sum", column, 0 if whole else 0.0), count]
    if name in ("MIN", "MAX") and _is_ordered(type_):
        return [ColumnPlace(name.lower(), column)]
    return None


def _is_ordered(type_: DataType) -> bool:
    """Whether values are equal and ordered in columns as they are in rows."""
    return isinstance(type_, t.IntegralType) or is_character(type_) or is_temporal(type_)
