"""Who reads a node, and what stays one however many do."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from headrace.sql.plan import nodes as n
from headrace.sql.plan.expressions import Expression, TimeAttribute, is_deterministic

__all__ = ["is_random", "read_often", "readers", "rewrite_around_random"]


def readers(plans: Sequence[n.Node]) -> dict[n.Node, list[n.Node]]:
    """All nodes of plans with their readers, in an order in which readers come first."""
    above: dict[n.Node, list[n.Node]] = {plan: [] for plan in plans}
    order: list[n.Node] = []
    done: set[n.Node] = set()

    def visit(node: n.Node) -> None:
        done.add(node)
        for i in node.inputs:
            above.setdefault(i, []).append(node)
            if i not in done:
                visit(i)
        order.append(node)

    for plan in plans:
        if plan not in done:
            visit(plan)
    return {node: above[node] for node in reversed(order)}


def read_often(plans: Sequence[n.Node]) -> set[n.Node]:
    """Nodes that several read, themselves or by nodes between them."""
    found: set[n.Node] = set()
    for node, above in readers(plans).items():
        if len(above) > 1 or not found.isdisjoint(above):
            found.add(node)
    return found


def is_random(node: n.Node) -> bool:
    """Whether a node makes other rows of the same ones each time."""
    expressions: Sequence[Expression | None] = ()
    if isinstance(node, n.Project):
        expressions = node.expressions
    elif isinstance(node, n.Filter):
        expressions = (node.condition,)
    elif isinstance(node, n.Correlate):
        if not getattr(node.function, "deterministic", True):
            return True
        expressions = (*node.arguments, node.condition)
    # When a row is processed is nothing that readers would compare.
    return any(
        e is not None and e.time is not TimeAttribute.PROCTIME and not is_deterministic(e)
        for e in expressions
    )


def rewrite_around_random(
    plans: Sequence[n.Node], change: Callable[[n.Node, Collection[n.Node]], n.Node]
) -> list[n.Node]:
    """Plans with nodes replaced, from the leaves up.

    `change` also gets what has become of random nodes that several read: who moves something into
    one of those has values of its own, and all readers should see the same.
    """
    once = [node for node in read_often(plans) if is_random(node)]
    done: dict[n.Node, n.Node] = {}

    def changed(node: n.Node) -> n.Node:
        return change(node, {done[x] for x in once if x in done})

    return [n.rewrite_nodes(plan, changed, done) for plan in plans]
