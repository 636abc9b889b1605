"""Calls of process table functions in the Table API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.common.errors import SqlError
from headrace.sql.binder.context import BindingContext
from headrace.sql.binder.from_clause.changelog_functions import CHANGELOG_FUNCTIONS
from headrace.sql.binder.from_clause.process_tables import DEFAULT, TableValue, bind_process_table
from headrace.sql.parser import syntax as x
from headrace.sql.plan import nodes as n
from headrace.sql.table_api.expression_nodes import node_of
from headrace.sql.udf.process.binding import process_binding

__all__ = ["NamedTable", "changelog_call", "process_call"]


class NamedTable:
    """A table as the argument of a name."""

    def __init__(self, name: str | None, value: TableValue) -> None:
        self.name = name
        self.value = value


def process_call(
    context: BindingContext, function: Any, arguments: Sequence[Any], named: dict[str, Any]
) -> n.Node:
    """The plan of a call; the function is one, the class of one, or the name of one."""
    found = context.find_function((function,)) if isinstance(function, str) else function
    binding = process_binding(found)
    if binding is None:
        raise SqlError(
            f"{function!r} is not a process table function: it is the name of one, a class that "
            "extends ProcessTableFunction, or an object of it"
        )
    name = function if isinstance(function, str) else binding.name
    given = [_argument(a) for a in arguments]
    given += [(key, _argument(value)[1]) for key, value in named.items()]
    return bind_process_table(context, binding, name, given, None)


def changelog_call(
    context: BindingContext, function: str, plan: n.Node, arguments: Sequence[Any]
) -> n.Node:
    """The plan of `TO_CHANGELOG` or `FROM_CHANGELOG` with arguments by name."""
    given = {str(name).upper(): value for name, value in map(_argument, arguments)}
    if len(given) < len(arguments) or not given.keys() <= {"OP", "OP_MAPPING"}:
        raise SqlError(
            f"{function} takes descriptor(...).as_argument('op') and "
            "map_(...).as_argument('op_mapping')"
        )
    return CHANGELOG_FUNCTIONS[function](context, plan, given)


def _argument(value: Any) -> tuple[str | None, Any]:
    if isinstance(value, NamedTable):
        return value.name, value.value
    if value is None:
        return None, DEFAULT
    node = node_of(value)
    return (node.name, node.value) if isinstance(node, x.Named) else (None, node)
