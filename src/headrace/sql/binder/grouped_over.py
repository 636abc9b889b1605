"""OVER, QUALIFY and subqueries above GROUP BY: groups are a query of their own, below them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from headrace.sql.binder.aggregation import Aggregation, aggregate_of
from headrace.sql.binder.context import BindingContext
from headrace.sql.binder.scope import Scope
from headrace.sql.binder.subqueries import replaced
from headrace.sql.parser import syntax as x
from headrace.sql.parser.from_ast import expression_node
from headrace.sql.plan import nodes as n
from headrace.sql.plan.expressions import Expression

__all__ = ["GroupsFirst", "group_keys", "named_values"]


def named_values(context: BindingContext, node: x.Node, items: list[x.Node]) -> x.Node:
    """An expression with the values that SELECT names in place of their names.

    Aggregates see the rows of the input, which do not have these names.
    """
    values = {i.name: i.value for i in items if isinstance(i, x.Alias)}

    def change(part: x.Node) -> x.Node | None:
        if isinstance(part, x.Name) and len(part.parts) == 1:
            return values.get(part.parts[0])
        return None if aggregate_of(context, part) is None else part

    return replaced(node, change)


@dataclass
class GroupedScope(Scope):
    """The names of a query with groups: columns by which it is grouped."""

    below: Scope = field(kw_only=True)
    places: dict[Expression, int] = field(kw_only=True)

    def knows(self, parts: tuple[str, ...]) -> bool:
        return super().knows(parts) or self.below.knows(parts)

    def _resolve(self, parts: tuple[str, ...], span: x.Span | None) -> Expression:
        if parts[0] in self.schema.names:
            return super()._resolve(parts, span)
        bound = self.below.resolve(parts, span)
        if bound not in self.places:
            raise self.context.error(f"Expression '{'.'.join(parts)}' is not being grouped", span)
        return self.schema.column(self.places[bound])


class GroupsFirst:
    """Takes groups and aggregates out of expressions: columns stand for them."""

    def __init__(
        self,
        context: BindingContext,
        group: Any,
        prepared: Callable[[x.Node], x.Node] | None = None,
    ) -> None:
        self._context = context
        self._group = group
        keys = map(prepared, group_keys(group)) if prepared is not None else group_keys(group)
        self._keys = [k for k in keys if not isinstance(k, x.Name) or not k.parts]
        self._inner: list[x.Node] = []

    def __call__(self, node: Any) -> Any:
        """The expression over the rows of groups."""
        return None if node is None else replaced(node, self._column)

    def _column(self, node: x.Node) -> x.Node | None:
        if node not in self._keys and aggregate_of(self._context, node) is None:
            return None
        if node not in self._inner:
            self._inner.append(node)
        return x.Name((f"$g{self._inner.index(node)}",), span=node.span)

    def plan(self, aggregation: Aggregation, having: x.Node | None) -> tuple[n.Node, Scope]:
        """The query of the groups that the expressions need."""
        plan, expressions, _ = aggregation.bind(self._group, self._inner, having, ())
        keys = plan.schema.columns()[: len(aggregation.group)]
        count = len(expressions)
        names = [f"$g{i}" for i in range(count + len(keys))]
        grouped = n.Project.of(plan, [*expressions, *keys], names)
        places = {e: count + i for e, i in aggregation.group.items()}
        above = GroupedScope(self._context, below=aggregation.scope, places=places)
        above.add(None, grouped.schema)
        return grouped, above


def group_keys(group: Any) -> list[x.Node]:
    """The expressions of GROUP BY, also of grouping sets."""
    return [expression_node(e) for e in _keys(group)]


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
