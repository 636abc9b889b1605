"""`PartitionedTable`: a table whose rows belong together, for process table functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from headrace.common.errors import FunctionTypeError
from headrace.sql.binder.context import BindingContext
from headrace.sql.binder.from_clause.process_tables import TableValue
from headrace.sql.parser import syntax as x
from headrace.sql.plan import nodes as n
from headrace.sql.table_api.expression_nodes import RelationBase, node_of, plan_of
from headrace.sql.table_api.process_calls import NamedTable, process_call
from headrace.table.environment_catalogs import session_of

if TYPE_CHECKING:
    from headrace.table.table import Table

__all__ = ["PartitionedTable", "process_plan"]


class PartitionedTable:
    """Rows of a table that belong together by some columns, perhaps in an order."""

    def __init__(self, table: Table, fields: Sequence[Any], order: Sequence[Any] = ()) -> None:
        self._table = table
        self._fields = fields
        self._order = order

    def order_by(self, *fields: Any) -> PartitionedTable:
        """Rows of each part in an order, of which a time attribute is the first column."""
        return PartitionedTable(self._table, self._fields, fields)

    def as_argument(self, name: str) -> NamedTable:
        """The table as the argument of that name, in a call of a process table function."""
        return NamedTable(name, self._value())

    def process(self, function: Any, *arguments: Any, **named: Any) -> Table:
        """The rows that a process table function makes of this table.

        Args:
            function: A `ProcessTableFunction`, its class, or the name of a registered one.
            arguments: Its further arguments by position, or by name with `as_argument(...)`:
                values, expressions, `descriptor(...)` and other tables.
            named: Its further arguments by name.

        Example:
            >>> orders.partition_by(col("user")).process(Cart, on_time=descriptor("ts"))
        """
        context = session_of(self._table._environment).binding()
        return self._table._with(process_plan(context, function, (self, *arguments), named))

    def _value(self) -> TableValue:
        return TableValue(
            plan_of(self._table),
            tuple(_column(f) for f in self._fields),
            tuple(o if isinstance(o, x.Order) else x.Order(o) for o in map(_column, self._order)),
        )


def _argument(value: Any) -> Any:
    """A table without a name among the arguments."""
    if isinstance(value, RelationBase):
        value = PartitionedTable(cast("Table", value), ())
    return NamedTable(None, value._value()) if isinstance(value, PartitionedTable) else value


def _column(field: Any) -> x.Node:
    if isinstance(field, str):
        return x.Name((field,))
    node = node_of(field)
    if not isinstance(node, x.Name | x.Order):
        raise FunctionTypeError(f"{field} is not a column")
    return node


def process_plan(
    context: BindingContext, function: Any, arguments: Sequence[Any], named: dict[str, Any]
) -> n.Node:
    """The rows of a call of a process table function, all of whose tables are arguments."""
    given = [_argument(a) for a in arguments]
    by_name = {key: _argument(value) for key, value in named.items()}
    return process_call(context, function, given, by_name)
