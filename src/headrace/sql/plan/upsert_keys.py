"""By which columns the changes of a plan belong together: an update of a row keeps them."""

from __future__ import annotations

from headrace.sql.plan import nodes as n
from headrace.sql.plan.expressions import Call, Column, Expression
from headrace.sql.plan.joins import Join, TemporalJoin
from headrace.sql.plan.lookups import LookupJoin
from headrace.sql.types import IntegralType

__all__ = ["kept_column", "upsert_keys"]

Keys = frozenset[frozenset[int]]

_NONE: Keys = frozenset()


def upsert_keys(node: n.Node) -> Keys:
    """Sets of columns each of which names a row; none if only the whole row does."""
    if isinstance(node, n.Scan):
        return frozenset({frozenset(node.primary_key)}) if node.primary_key else _NONE
    if isinstance(node, n.Aggregate):
        return frozenset({frozenset(range(len(node.group)))})
    if isinstance(node, n.Deduplicate | n.ChangelogNormalize):
        return frozenset({frozenset(node.keys)})
    if isinstance(node, n.SetOperation):
        return _NONE if node.all else frozenset({frozenset(range(len(node.schema)))})
    if isinstance(node, LookupJoin):
        key = node.table.primary_key
        return upsert_keys(node.input) if key and {*key} <= {*node.columns} else _NONE
    if isinstance(node, TemporalJoin):
        # A row has one version at most.
        return upsert_keys(node.left)
    if isinstance(node, Join):
        return _joined(node)
    if isinstance(node, n.Project):
        return _projected(node)
    if isinstance(node, n.Rank):
        return _ranked(node)
    if isinstance(node, n.Limit):
        first = node.keys and node.fetch == 1
        return frozenset({frozenset()}) if first else upsert_keys(node.input)
    if isinstance(node, n.Filter | n.Sort | n.BatchedCalls | n.WatermarkAssigner):
        return upsert_keys(node.input)
    return _NONE


def _joined(node: Join) -> Keys:
    """A key of one side stays one if a row of it has one partner at most; else both are needed."""
    width = len(node.left.schema)
    left = upsert_keys(node.left)
    if node.kind.left_only:
        return left
    right = frozenset(frozenset(i + width for i in key) for key in upsert_keys(node.right))
    found: set[frozenset[int]] = set()
    if not node.kind.keeps_right and _unique(upsert_keys(node.right), node.right_keys):
        found |= left
    if not node.kind.keeps_left and _unique(left, node.left_keys):
        found |= right
    return frozenset(found or {a | b for a in left for b in right})


def _unique(keys: Keys, columns: tuple[int, ...]) -> bool:
    return any(key <= set(columns) for key in keys)


def _ranked(node: n.Rank) -> Keys:
    partition = frozenset(node.partition)
    found = set(upsert_keys(node.input))
    if node.start == node.end:
        found.add(partition)
    elif node.numbered:
        found.add(partition | {len(node.schema) - 1})
    return frozenset(found)


def _projected(node: n.Project) -> Keys:
    """Keys whose columns are all still there."""
    places: dict[int, int] = {}
    for place, expression in enumerate(node.expressions):
        column = kept_column(expression)
        if column is not None:
            places.setdefault(column, place)
    return frozenset(
        frozenset(places[c] for c in key)
        for key in upsert_keys(node.input)
        if all(c in places for c in key)
    )


def kept_column(e: Expression) -> int | None:
    """The column whose values an expression has, each as one of its own."""
    if isinstance(e, Column):
        return e.index
    if isinstance(e, Call) and getattr(e.function, "name", "") == "CAST":
        wider = isinstance(e.type, IntegralType) and isinstance(e.args[0].type, IntegralType)
        if wider and e.type.bits >= e.args[0].type.bits:  # type: ignore[attr-defined]
            return kept_column(e.args[0])
    return None
