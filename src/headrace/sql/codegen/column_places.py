"""Accumulators that are computed of columns: one aggregate of Arrow for a place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headrace.sql import types as t
from headrace.sql.plan.expressions import AggregateCall
from headrace.sql.types import DataType
from headrace.sql.types.type_rules import is_character, is_temporal

__all__ = ["DISTINCT", "SIZE", "ColumnPlace", "column_places"]


@dataclass(frozen=True)
class ColumnPlace:
    """One place of an accumulator.

    Attributes:
        function: The name of Arrow's aggregate, or `SIZE`.
        column: What it aggregates; None: rows.
        empty: What stands for the aggregate of no values.
        filter: The column that says which rows count.
    """

    function: str
    column: int | None = None
    empty: Any = None
    filter: int | None = None


DISTINCT = "distinct"
"""Gives the values of DISTINCT, which are kept in a dict."""
SIZE = "size"
"""How many values the place before has."""


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
    name, chosen = call.function.name, call.filter
    if hasattr(call.function, "bound") or len(call.args) > 1:
        return None
    if name == "COUNT" and not call.args:
        rows = ColumnPlace("count_all", None, 0)
        return [rows if chosen is None else ColumnPlace("count", chosen, 0, chosen)]
    if not call.args:
        return None
    (column,), (type_,) = call.args, call.arg_types
    if name in ("MIN", "MAX") and _is_ordered(type_):
        return [ColumnPlace(name.lower(), column, None, chosen)]
    if call.distinct:
        found = [ColumnPlace(DISTINCT, column, None, chosen), ColumnPlace(SIZE)]
        return found if name == "COUNT" and _is_ordered(type_) else None
    count = ColumnPlace("count", column, 0, chosen)
    if name == "COUNT":
        return [count]
    whole = isinstance(type_, t.IntegralType)
    if name in ("SUM", "SUM0", "$SUM0", "AVG") and (whole or isinstance(type_, t.DoubleType)):
        return [ColumnPlace("sum", column, 0 if whole else 0.0, chosen), count]
    return None


def _is_ordered(type_: DataType) -> bool:
    """Whether values are equal and ordered in columns as they are in rows."""
    return isinstance(type_, t.IntegralType) or is_character(type_) or is_temporal(type_)
