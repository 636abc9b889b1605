"""In which direction the updates of a plan move the values of its columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum

from headrace.sql.plan import nodes as n
from headrace.sql.plan.changelog import is_append_only
from headrace.sql.plan.conditions import conjuncts
from headrace.sql.plan.expressions import (
    Call,
    Column,
    Expression,
    Literal,
    SortKey,
    columns_used,
)
from headrace.sql.plan.joins import Join, JoinKind, TemporalJoin
from headrace.sql.plan.upsert_keys import kept_column, upsert_keys

__all__ = ["rising_key"]


class Trend(Enum):
    """What an update may do to a column's value."""

    CONSTANT = "nothing"
    RISING = "make it greater"
    FALLING = "make it less"
    ANY = "anything"


Trends = Sequence[Trend] | None
"""Those of all columns; None if rows may go, or become rows of another key."""

_CALLS = {"COUNT": Trend.RISING, "MAX": Trend.RISING, "MIN": Trend.FALLING}
_STAYING = {
    Trend.RISING: ("GREATER_THAN", "GREATER_THAN_OR_EQUAL"),
    Trend.FALLING: ("LESS_THAN", "LESS_THAN_OR_EQUAL"),
}


def rising_key(
    node: n.Node, partition: Iterable[int], order: Sequence[SortKey]
) -> tuple[int, ...] | None:
    """By which columns rows replace each other, if updates only move them up in an order.

    The columns of the partition are among them, so that a row stays in its own. None if it may go,
    move down, or come without ever changing.
    """
    keys = [tuple(sorted(key)) for key in upsert_keys(node) if key >= set(partition)]
    trends = None if not keys or is_append_only(node) else _trends(node)
    if trends is None:
        return None
    for key in order:
        if trends[key.index] is Trend.CONSTANT:
            continue
        direction = Trend.RISING if key.descending else Trend.FALLING
        # What is NULL before it has a value goes down where NULL comes first.
        falls = key.nulls_first and node.schema[key.index].type.is_nullable
        if trends[key.index] is not direction or falls:
            return None
    return min(keys)


def _trends(node: n.Node) -> Trends:
    if is_append_only(node):
        return [Trend.CONSTANT] * len(node.schema)
    if isinstance(node, n.Project):
        below = _trends(node.input)
        return below and [_projected(e, below) for e in node.expressions]
    if isinstance(node, n.Filter):
        below = _trends(node.input)
        return below if below and all(_stays(c, below) for c in conjuncts(node.condition)) else None
    if isinstance(node, n.Aggregate):
        # Of rows that change an aggregate takes one back before it gets the next.
        if not is_append_only(node.input):
            return None
        calls = [_CALLS.get(c.function.name, Trend.ANY) for c in node.calls]
        return [Trend.CONSTANT] * len(node.group) + calls
    if isinstance(node, Join):
        return _joined(node)
    return None


def _projected(e: Expression, below: Sequence[Trend]) -> Trend:
    column = kept_column(e)
    if column is not None:
        return below[column]
    constant = all(below[i] is Trend.CONSTANT for i in columns_used(e))
    return Trend.CONSTANT if constant else Trend.ANY


def _stays(condition: Expression, below: Sequence[Trend]) -> bool:
    """Whether a row that fulfils a condition goes on to fulfil it."""
    used = columns_used(condition)
    if all(below[i] is Trend.CONSTANT for i in used):
        return True
    if not isinstance(condition, Call) or len(condition.args) != 2:
        return False
    left, right = condition.args
    names = _STAYING.get(below[left.index], ()) if isinstance(left, Column) else ()
    return isinstance(right, Literal) and condition.function.name in names


def _joined(node: Join) -> Trends:
    """Pairs come and change with the rows of both sides, if these keep their keys."""
    if isinstance(node, TemporalJoin) or node.kind is not JoinKind.INNER or node.condition:
        return None
    left, right = _trends(node.left), _trends(node.right)
    if left is None or right is None:
        return None
    keys = [left[i] for i in node.left_keys] + [right[i] for i in node.right_keys]
    return [*left, *right] if {*keys} <= {Trend.CONSTANT} else None
