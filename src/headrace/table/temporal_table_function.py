"""Functions of a time that give the rows of a table which were valid then."""

from __future__ import annotations

from typing import Any

from headrace.sql.parser import syntax as x
from headrace.sql.table_api.expression_nodes import node_of
from headrace.sql.table_api.temporal_functions import VersionedTable
from headrace.table.expression import Expression

__all__ = ["TemporalTableFunction"]


class TemporalTableFunction:
    """Gives the rows of a table that were valid at a time, one for each key.

    `Table.create_temporal_table_function` makes it, and `Table.join_lateral` takes a call of it.
    """

    def __init__(self, table: VersionedTable) -> None:
        self._table = table

    def __call__(self, time_attribute: Any) -> Expression[Any]:
        """A call, with a time attribute of the table that is joined with this one."""
        node = x.Apply(self._table, (node_of(time_attribute),))
        return Expression(node, f"temporalTable({time_attribute})")
