"""OVER and QUALIFY above GROUP BY: groups are a query of their own, whose rows the windows see."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from sqlglot import exp

from headrace.sql.binder.aggregation import Aggregation, aggregate_of
from headrace.sql.binder.context import BindingContext
from headrace.sql.binder.scope import Scope
from headrace.sql.parser import syntax as x
from headrace.sql.parser.from_ast import expression_node
from headrace.sql.plan import nodes as n

__all__ = ["GroupsFirst", "named_values"]


def rewritten(node: Any, change: Callable[[x.Node], x.Node | None]) -> Any:
    """A node with parts of it replaced, from the top down; None leaves one as it is."""
    if node is None:
        return None
    found = change(node)
    if found is not None:
        return found

    def each(nodes: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(rewritten(part, change) for part in nodes)

    if isinstance(node, x.Apply):
        condition, over = rewritten(node.condition, change), rewritten(node.over, change)
        return replace(node, args=each(node.args), condition=condition, over=over)
    if isinstance(node, x.Over):
        return replace(node, partition=each(node.partition), order=each(node.order))
    if isinstance(node, x.CastTo | x.Alias | x.Order):
        return replace(node, value=rewritten(node.value, change))
    if isinstance(node, x.CaseWhen):
        branches = tuple(each(branch) for branch in node.branches)
        return replace(node, branches=branches, otherwise=rewritten(node.otherwise, change))
    return node


def named_values(node: x.Node, items: list[x.Node]) -> x.Node:
    """A condition with the values that SELECT names in place of their names."""
    values = {i.name: i.value for i in items if isinstance(i, x.Alias)}

    def change(part: x.Node) -> x.Node | None:
        if isinstance(part, x.Name) and len(part.parts) == 1:
            return values.get(part.parts[0])
        return None

    return rewritten(node, change)  # type: ignore[no-any-return]


class GroupsFirst:
    """Takes groups and aggregates out of expressions: columns stand for them."""

    def __init__(self, context: BindingContext, group: Any) -> None:
        self._context = context
        self._group = group
        self._keys = [expression_node(e) for e in _keys(group)]
        self._inner: list[x.Node] = []

    def __call__(self, node: Any) -> Any:
        """The expression over the rows of groups."""
        return rewritten(node, self._column)

    def _column(self, node: x.Node) -> x.Node | None:
        if node not in self._keys and aggregate_of(self._context, node) is None:
            return None
        if node not in self._inner:
            self._inner.append(node)
        return x.Name((f"$g{self._inner.index(node)}",), span=node.span)

    def plan(self, plan: n.Node, scope: Scope, having: x.Node | None) -> tuple[n.Node, Scope]:
        """The query of the groups that the expressions need."""
        aggregation = Aggregation(self._context, plan, scope)
        plan, expressions, _ = aggregation.bind(self._group, self._inner, having, ())
        names = [f"$g{i}" for i in range(len(expressions))]
        above = Scope(self._context)
        grouped = n.Project.of(plan, expressions, names)
        above.add(None, grouped.schema)
        return grouped, above


def _keys(group: Any) -> Iterator[Any]:
    """The expressions of GROUP BY, also of grouping sets."""
    if group is None:
        return
    for part in ("expressions", "grouping_sets", "rollup", "cube"):
        for item in group.args.get(part) or ():
            if isinstance(item, exp.GroupingSets | exp.Rollup | exp.Cube | exp.Tuple):
                yield from _keys(item)
            else:
                yield item.this if isinstance(item, exp.Paren) else item
