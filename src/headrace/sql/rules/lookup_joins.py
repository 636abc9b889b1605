"""A table as of processing time is asked for the rows of keys, if it can be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from headrace.common.errors import SqlError
from headrace.sql.connectors.memory import MemoryTable
from headrace.sql.plan import nodes as n
from headrace.sql.plan.conditions import all_of, conjuncts
from headrace.sql.plan.expressions import (
    Call,
    Column,
    Expression,
    Schema,
    columns_used,
    is_deterministic,
    rewrite,
    shifted,
)
from headrace.sql.plan.joins import TemporalJoin
from headrace.sql.plan.lookups import LookupJoin
from headrace.sql.types import CharType, DataType, IntegralType, VarCharType

__all__ = ["is_lookup", "lookup_joins"]


def is_lookup(join: TemporalJoin) -> bool:
    """Whether a join becomes one that looks up rows."""
    return _looked_up(join) is not None


def lookup_joins(node: n.Node) -> n.Node:
    """Equalities between columns of the table and values of the other side become its keys."""
    table = _looked_up(node)
    if table is None or not isinstance(node, TemporalJoin):
        return node
    width = len(node.left.schema)
    keys: dict[int, Expression] = {}
    own: list[Expression] = list(table.conditions)
    pairs: list[Expression] = []
    for condition in [] if node.condition is None else conjuncts(node.condition):
        key = _key(condition, width, table)
        used = columns_used(condition)
        if key is not None and key[0] not in keys:
            keys[key[0]] = key[1]
        elif used and min(used) >= width and is_deterministic(condition):
            own.append(table.below(shifted(condition, lambda i: i - width)))
        else:
            pairs.append(condition)
    if not keys:
        raise _refused(
            node,
            "Temporal table join requires an equality condition on fields of table "
            f"[{'.'.join(table.scan.table)}].",
        )
    columns = tuple(sorted(keys))
    # A time of the table is just a value: its rows have no order, and no watermark.
    found = [replace(f, time=None) for f in node.schema.fields[width:]]
    return LookupJoin(
        Schema((*node.schema.fields[:width], *found)),
        node.left,
        node.kind,
        table.scan,
        columns,
        tuple(keys[c] for c in columns),
        tuple(own),
        None if table.is_whole else tuple(table.projections),
        all_of(pairs),
        node.lookup,
        origin=node.origin,
    )


@dataclass
class _Table:
    """A table that can be looked up, below filters and projections."""

    scan: n.Scan
    conditions: Sequence[Expression]
    projections: Sequence[Expression]

    def below(self, e: Expression) -> Expression:
        """An expression over the projections as one over the table itself."""
        return rewrite(e, lambda x: self.projections[x.index] if isinstance(x, Column) else None)

    @property
    def is_whole(self) -> bool:
        places = [p.index if isinstance(p, Column) else None for p in self.projections]
        return places == list(range(len(self.scan.schema)))


def _looked_up(node: n.Node) -> _Table | None:
    if not isinstance(node, TemporalJoin) or node.event_time or node.versions is not None:
        return None
    return _table(node.right)


def _table(node: n.Node) -> _Table | None:
    if isinstance(node, n.Values):
        node = n.Scan(node.schema, ("Values",), MemoryTable(node.rows))
    if isinstance(node, n.Scan):
        return _Table(node, (), node.schema.columns()) if node.source.looks_up else None
    if isinstance(node, n.WatermarkAssigner):
        return _table(node.input)
    if isinstance(node, n.Filter | n.Project):
        below = _table(node.input)
        if below is None:
            return None
        if isinstance(node, n.Filter):
            conditions = [below.below(c) for c in conjuncts(node.condition)]
            return replace(below, conditions=(*below.conditions, *conditions))
        return replace(below, projections=[below.below(e) for e in node.expressions])
    return None


def _key(condition: Expression, width: int, table: _Table) -> tuple[int, Expression] | None:
    """A column of the table, and the value of the other side, or the constant, that it equals."""
    if not isinstance(condition, Call) or getattr(condition.function, "name", "") != "EQUALS":
        return None
    a, b = condition.args
    for near, far in ((a, b), (b, a)):
        if all(i < width for i in columns_used(near)) and is_deterministic(near):
            column = _column(far, width, table)
            if column is not None:
                return column, near
    return None


def _column(e: Expression, width: int, table: _Table) -> int | None:
    """The column of the table whose values an expression has."""
    if isinstance(e, Column):
        source = table.projections[e.index - width] if e.index >= width else e
        return source.index if e.index >= width and isinstance(source, Column) else None
    if isinstance(e, Call) and getattr(e.function, "name", "") == "CAST":
        inner = e.args[0]
        return _column(inner, width, table) if _same_values(inner.type, e.type) else None
    return None


def _same_values(given: DataType, wanted: DataType) -> bool:
    """Whether a value is the same one in a wider type."""
    if isinstance(given, IntegralType) and isinstance(wanted, IntegralType):
        return wanted.bits >= given.bits
    return isinstance(given, CharType | VarCharType) and isinstance(wanted, VarCharType)


def _refused(node: n.Node, message: str) -> SqlError:
    return SqlError(message) if node.origin is None else node.origin.error(message)
