"""Conditions move to where they cost least: into a join, or below it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from headrace.sql.plan import nodes as n
from headrace.sql.plan.conditions import all_of, conjuncts
from headrace.sql.plan.expressions import Expression, columns_used, is_deterministic, shifted
from headrace.sql.plan.joins import Join, JoinKind, TemporalJoin

__all__ = ["join_filters"]


def join_filters(node: n.Node) -> n.Node:
    """Filters above a join, and its own condition, as far down as they mean the same.

    A condition on one side alone may be looked at before the join if rows of that side are not
    kept without a partner, or, above the join, if those of the other side are not. A join whose own
    condition is random stays as it is: others who read it should see the same pairs.
    """
    if isinstance(node, n.Filter) and isinstance(node.input, Join) and not _random(node.input):
        return _filtered(node.input, conjuncts(node.condition))
    if isinstance(node, Join) and node.condition is not None:
        return _pushed(node)
    return node


def _random(join: Join) -> bool:
    return join.condition is not None and not is_deterministic(join.condition)


def _filtered(join: Join, conditions: Sequence[Expression]) -> n.Node:
    """A join whose rows fulfil conditions."""
    width = len(join.left.schema)
    left: list[Expression] = []
    right: list[Expression] = []
    inside: list[Expression] = []
    above: list[Expression] = []
    for condition in conditions:
        used = columns_used(condition)
        if is_deterministic(condition):
            if used and max(used) < width and not join.kind.keeps_right:
                left.append(condition)
                continue
            if used and min(used) >= width and _takes_right(join) and not join.kind.keeps_left:
                right.append(shifted(condition, lambda i: i - width))
                continue
            if join.kind is JoinKind.INNER:
                inside.append(condition)
                continue
        above.append(condition)
    below = [_kept(join.left, left), _kept(join.right, right)]
    own = [] if join.condition is None else conjuncts(join.condition)
    joined = join_filters(
        replace(join, left=below[0], right=below[1], condition=all_of([*own, *inside]))
    )
    rest = all_of(above)
    return joined if rest is None else n.Filter.of(joined, rest)


def _pushed(join: Join) -> n.Node:
    """Parts of a join's own condition that are about one side alone."""
    assert join.condition is not None
    width = len(join.left.schema)
    left: list[Expression] = []
    right: list[Expression] = []
    stay: list[Expression] = []
    for condition in conjuncts(join.condition):
        used = columns_used(condition)
        if not used or not is_deterministic(condition):
            stay.append(condition)
        elif max(used) < width and not join.kind.keeps_left:
            left.append(condition)
        elif min(used) >= width and _takes_right(join) and not join.kind.keeps_right:
            right.append(shifted(condition, lambda i: i - width))
        else:
            stay.append(condition)
    if not left and not right:
        return join
    below = [_kept(join.left, left), _kept(join.right, right)]
    return replace(join, left=below[0], right=below[1], condition=all_of(stay))


def _takes_right(join: Join) -> bool:
    """Whether rows of the right side may be dropped before the join: not if they end others."""
    return not isinstance(join, TemporalJoin)


def _kept(node: n.Node, conditions: Sequence[Expression]) -> n.Node:
    """A relation without rows that do not fulfil all conditions."""
    condition = all_of(conditions)
    return node if condition is None else join_filters(n.Filter.of(node, condition))
