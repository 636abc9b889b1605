"""Functions that take whole batches (pandas, Arrow, async) get a step of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from headrace.sql.plan import nodes as n
from headrace.sql.plan.expressions import (
    Call,
    Column,
    Expression,
    Field,
    Schema,
    all_parts,
    rewrite,
    shifted,
)


def split_batched(node: n.Node) -> n.Node:
    """Generated code works row by row; calls of batched functions are computed before it."""
    if isinstance(node, n.Project) and any(map(_contains, node.expressions)):
        below, expressions = _lifted(node.input, node.expressions)
        return n.Project(node.schema, below, tuple(expressions))
    if isinstance(node, n.Filter) and _contains(node.condition):
        below, (condition,) = _lifted(node.input, [node.condition])
        kept = below.schema.columns()[: len(node.schema)]
        return n.Project(node.schema, n.Filter.of(below, condition), kept)
    if isinstance(node, n.Correlate) and any(map(_contains, node.arguments)):
        return _split_correlate(node)
    return node


def _split_correlate(node: n.Correlate) -> n.Node:
    """The new columns come between those of the input and those of the table function."""
    width = len(node.input.schema)
    below, arguments = _lifted(node.input, node.arguments)
    more = len(below.schema) - width
    condition = node.condition
    if condition is not None:
        condition = shifted(condition, lambda i: i if i < width else i + more)
    schema = Schema((*below.schema, *node.schema.fields[width:]))
    joined = replace(
        node, schema=schema, input=below, arguments=tuple(arguments), condition=condition
    )
    columns = schema.columns()
    return n.Project(node.schema, joined, (*columns[:width], *columns[width + more :]))


def _is_batched(e: Expression) -> bool:
    return isinstance(e, Call) and bool(getattr(e.function, "batched", False))


def _contains(e: Expression) -> bool:
    return any(map(_is_batched, all_parts(e)))


def _innermost(e: Expression) -> list[Expression]:
    """Batched calls whose arguments have none."""
    inside = [found for c in e.children for found in _innermost(c)]
    return inside or ([e] if _is_batched(e) else [])


def _lifted(plan: n.Node, expressions: Sequence[Expression]) -> tuple[n.Node, list[Expression]]:
    """A plan that has the results of all batched calls as columns, and expressions over it."""
    rest = list(expressions)
    while True:
        calls = list(dict.fromkeys(found for e in rest for found in _innermost(e)))
        if not calls:
            return plan, rest
        width = len(plan.schema)
        fields = [Field(f"$b{width + i}", c.type) for i, c in enumerate(calls)]
        places: dict[Expression, Expression] = {
            c: Column(c.type, width + i) for i, c in enumerate(calls)
        }
        plan = n.BatchedCalls(Schema((*plan.schema, *fields)), plan, tuple(calls))  # type: ignore[arg-type]
        rest = [rewrite(e, places.get) for e in rest]
