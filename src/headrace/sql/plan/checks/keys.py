"""Values that cannot be keys are refused when a statement is planned."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.common.errors import SqlError
from headrace.sql import types as t
from headrace.sql.plan import nodes as n
from headrace.sql.plan.process_table import ProcessTable

__all__ = ["check_keys", "has_no_hash"]


def check_keys(plan: n.Node) -> None:
    """Refuses groups, partitions and DISTINCT of values that have no hash."""
    for child in plan.inputs:
        check_keys(child)
    for index in _keys(plan):
        column = plan.inputs[0].schema[index]
        if has_no_hash(column.type):
            message = (
                f"values of type {column.type.sql_text()} cannot be compared, so they cannot be "
                "in GROUP BY, PARTITION BY, DISTINCT, COLLECT or a set operation; take single "
                "entries of the map, or CAST(... AS STRING)"
            )
            raise SqlError(message) if plan.origin is None else plan.origin.error(message)


def _keys(plan: n.Node) -> Iterable[int]:
    """Columns of the input by whose values rows are found again."""
    if isinstance(plan, n.Aggregate | n.WindowAggregate | n.RowWindowAggregate):
        yield from plan.group
        for call in plan.calls:
            if call.distinct or call.function.name == "COLLECT":
                yield from call.args
    elif isinstance(plan, n.OverAggregate | n.Rank):
        yield from plan.partition
    elif isinstance(plan, n.Deduplicate):
        yield from plan.keys
    elif isinstance(plan, ProcessTable) and plan.tables:
        yield from plan.tables[0].partition
    elif isinstance(plan, n.SetOperation):
        yield from range(len(plan.schema))


def has_no_hash(type_: t.DataType) -> bool:
    """Whether values of a type are maps, or have some in them."""
    if isinstance(type_, t.MapType | t.MultisetType):
        return True
    if isinstance(type_, t.ArrayType):
        return has_no_hash(type_.element_type)
    return isinstance(type_, t.RowType) and any(has_no_hash(f.data_type) for f in type_.fields)
