"""Table aggregate functions: an aggregate that gives an array of rows, and UNNEST of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from headrace.common.errors import SqlError
from headrace.sql.binder.context import BindingContext
from headrace.sql.binder.from_clause.correlate import Unnest
from headrace.sql.functions.registry import FunctionKind
from headrace.sql.parser import syntax as x
from headrace.sql.plan import nodes as n
from headrace.sql.plan.expressions import Field, Schema
from headrace.sql.types import ArrayType, RowType

__all__ = ["called_table_aggregate", "flat_aggregate_plan"]


def called_table_aggregate(context: BindingContext, node: x.Node) -> tuple[tuple[str, ...], x.Node]:
    """Names for the columns, and the call as one of an aggregate."""
    names: tuple[str, ...] = ()
    if isinstance(node, x.Alias):
        names, node = (node.name, *node.further), node.value
    function = node.function if isinstance(node, x.Apply) else None
    if isinstance(function, str):
        function = context.find_function((function,))
    if getattr(function, "kind", None) is not FunctionKind.TABLE_AGGREGATE:
        raise SqlError("flat_aggregate() takes the call of a table aggregate function, see udtaf()")
    assert isinstance(node, x.Apply)
    assert function is not None
    call = replace(node, function=function.flattened())
    return names or function.alias_names, call


def flat_aggregate_plan(plan: n.Node, names: Sequence[str]) -> n.Node:
    """The last column, an array of rows, as rows."""
    *groups, array = plan.schema.columns()
    assert isinstance(array.type, ArrayType)
    row = array.type.element_type
    assert isinstance(row, RowType)
    if names and len(names) != len(row):
        raise SqlError(f"{len(names)} names were given for {len(row)} columns")
    fields = [
        Field(names[i] if names else f.name, f.data_type.nullable())
        for i, f in enumerate(row.fields)
    ]
    schema = Schema((*plan.schema, *fields))
    flat = n.Correlate(schema, plan, Unnest("rows", renews=True), (array,))
    columns = schema.columns()
    kept = (*columns[: len(groups)], *columns[len(groups) + 1 :])
    return n.Project.of(flat, kept, [getattr(c, "name", "") for c in kept])
