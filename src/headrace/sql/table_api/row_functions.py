"""Functions that take a whole row: `map`, `flat_map`, `aggregate` and `flat_aggregate`."""

from __future__ import annotations

from typing import Any

from headrace.sql.parser import syntax as x
from headrace.sql.plan import nodes as n
from headrace.sql.table_api.expression_nodes import node_of
from headrace.sql.types import RowField, RowType
from headrace.sql.udf.binding import FunctionBinding

__all__ = ["row_call"]


def row_call(func: Any, plan: n.Node) -> x.Node:
    """The call that was given, or one of a function with all columns as one row."""
    if not isinstance(func, FunctionBinding):
        return node_of(func)
    fields = [RowField(f.name, f.type) for f in plan.schema]
    columns = tuple(x.Name((f.name,)) for f in plan.schema)
    row = x.CastTo(x.Apply("ROW", columns), RowType(fields, False))
    call = x.Apply(func, (row,))
    if not func.alias_names:
        return call
    first, *further = func.alias_names
    return x.Alias(call, first, tuple(further))
