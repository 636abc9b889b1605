"""Lateral joins with table functions, in the Table API."""

from __future__ import annotations

from typing import Any

from headrace.common.errors import SqlError
from headrace.sql.binder.context import BindingContext
from headrace.sql.binder.expressions import ExpressionBinder
from headrace.sql.binder.scope import Scope
from headrace.sql.functions.registry import FunctionKind
from headrace.sql.parser import syntax as x
from headrace.sql.plan import nodes as n
from headrace.sql.plan.expressions import Field, Schema
from headrace.sql.table_api.expression_nodes import node_of
from headrace.sql.table_api.temporal_functions import VersionedTable, join_versions

__all__ = ["lateral_join"]


def lateral_join(
    context: BindingContext,
    plan: n.Node,
    node: x.Node,
    predicate: Any,
    outer: bool,
    unique: bool = True,
) -> n.Node:
    """Each row with the rows that a call of a table function makes of it.

    Where `unique` is set, the new columns must have other names than those that are there.
    """
    names: tuple[str, ...] = ()
    if isinstance(node, x.Alias):
        names, node = (node.name, *node.further), node.value
    if not isinstance(node, x.Apply):
        raise SqlError("a lateral join takes the call of a table function")
    function = node.function
    if isinstance(function, str):
        function = context.find_function((function,))
    if isinstance(function, VersionedTable):
        return join_versions(context, plan, function, node.args, predicate, outer)
    if getattr(function, "kind", None) is not FunctionKind.TABLE:
        name = getattr(node.function, "name", node.function)
        raise SqlError(
            "A lateral join only accepts an expression which defines a table function call that "
            f"might be followed by some alias. {name} is not a table function"
        )
    names = names or tuple(function.alias_names)
    scope = Scope(context)
    scope.add(None, plan.schema)
    binder = ExpressionBinder(context, scope)
    arguments = [binder.bind(a) for a in node.args]
    types, result = function.bind([a.type for a in arguments])
    if types is not None:
        arguments = [binder.coerce(a, w) for a, w in zip(arguments, types, strict=True)]
    made = [(f.name, f.data_type) for f in result.fields]
    if names and len(names) != len(made):
        raise SqlError(f"{len(names)} names were given for {len(made)} columns")
    fields = []
    for index, (name, type_) in enumerate(made):
        label = names[index] if names else name
        if unique and label in plan.schema.names:
            raise SqlError(f"a column named {label!r} is there already; rename it with alias()")
        fields.append(Field(label, type_.nullable() if outer else type_))
    scope.add(None, Schema(tuple(fields)))
    condition = None if predicate is None else binder.bind(node_of(predicate))
    schema = Schema((*plan.schema, *fields))
    return n.Correlate(schema, plan, function, tuple(arguments), outer, condition)
