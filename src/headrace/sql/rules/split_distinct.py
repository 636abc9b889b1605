"""DISTINCT aggregates in two levels: by bucket of the value first, then over the buckets.

One group with very many values is spread over several subtasks, each with the values of some
buckets. `table.optimizer.distinct-agg.split.enabled` turns it on.
"""

from __future__ import annotations

from dataclasses import replace

from headrace.sql import types as t
from headrace.sql.functions.catalogue import builtin_registry
from headrace.sql.plan import nodes as n
from headrace.sql.plan.expressions import AggregateCall, Call, Expression, Field, Literal, Schema
from headrace.sql.types.type_rules import is_character, is_timestamp

_OVER_BUCKETS = {"COUNT": "$SUM0", "SUM": "SUM", "MIN": "MIN", "MAX": "MAX"}
"""What makes the result of a group of the results of its buckets."""
_TYPES = (t.IntegralType, t.DecimalType, t.DateType, t.TimeType, t.BooleanType)


def split_distinct(node: n.Node) -> n.Node:
    """Aggregates with `distinct_buckets`, where all their functions can be split."""
    if not isinstance(node, n.Aggregate) or not node.distinct_buckets:
        return node
    value = _distinct_argument(node)
    if value is None:
        return node
    below = node.input
    columns = below.schema.columns()
    bucket = _bucket(columns[value], node.distinct_buckets)
    numbered = n.Project.of(below, [*columns, bucket], [*below.schema.names, "$bucket"])
    group = (*node.group, len(columns))
    keys = [Field(f.name, f.type, f.time) for f in (numbered.schema[i] for i in group)]
    partial = [Field(f"$p{i}", c.type) for i, c in enumerate(node.calls)]
    inner = replace(
        node,
        schema=Schema((*keys, *partial)),
        input=numbered,
        group=group,
        distinct_buckets=0,
    )
    outer = [_over_buckets(c, len(group) + i) for i, c in enumerate(node.calls)]
    return replace(
        node,
        input=inner,
        group=tuple(range(len(node.group))),
        calls=tuple(outer),
        distinct_buckets=0,
    )


def _distinct_argument(node: n.Aggregate) -> int | None:
    """The column that all DISTINCT functions are about, if the aggregate can be split."""
    if any(c.function.name not in _OVER_BUCKETS for c in node.calls):
        return None
    arguments = {c.args for c in node.calls if c.distinct}
    if len(arguments) != 1:
        return None
    (argument,) = arguments
    if len(argument) != 1:
        return None
    type_ = node.input.schema[argument[0]].type
    splits = isinstance(type_, _TYPES) or is_character(type_) or is_timestamp(type_)
    return argument[0] if splits else None


def _bucket(value: Expression, buckets: int) -> Expression:
    count = Literal(t.IntType(False), buckets)
    return Call(t.IntType(False), builtin_registry().find("$BUCKET"), (value, count))


def _over_buckets(call: AggregateCall, column: int) -> AggregateCall:
    function = builtin_registry().find(_OVER_BUCKETS[call.function.name])
    return replace(
        call,
        function=function,
        args=(column,),
        distinct=False,
        filter=None,
        arg_types=(call.type,),
    )
