"""DELETE, UPDATE, TRUNCATE and compaction: what a table does itself with the rows that it has."""

from __future__ import annotations

from headrace.common.errors import SqlError
from headrace.sql import statements as s
from headrace.sql.binder.constants import fold
from headrace.sql.binder.context import suggestion
from headrace.sql.binder.expressions import ExpressionBinder
from headrace.sql.binder.scope import Scope
from headrace.sql.connectors.base import TableContext, TableSink, find_factory
from headrace.sql.parser.syntax import Node
from headrace.sql.plan.expressions import Expression, Field, Literal, Schema
from headrace.sql.session.result import StatementResult
from headrace.sql.session.session import Session
from headrace.sql.session.sink_types import check_types
from headrace.sql.session.table_plan import connector_context
from headrace.sql.types import BigIntType, BooleanType

__all__ = ["compact_table", "delete_rows", "truncate_table", "update_rows"]


def truncate_table(session: Session, statement: s.TruncateTable, text: str) -> StatementResult:
    """All rows of a table go."""
    if not session.batch:
        raise SqlError("TRUNCATE TABLE statement is not supported in streaming mode.")
    sink, context = _target(session, statement.path, "TRUNCATE TABLE")
    if not sink.truncates:
        raise _unsupported("TRUNCATE TABLE", context)
    sink.truncate()
    return StatementResult.ok()


def compact_table(session: Session, path: s.Path) -> None:
    """Small files of a table are put together."""
    sink, context = _target(session, path, "compact")
    if not sink.compacts:
        raise _unsupported("compact", context)
    sink.compact()


def delete_rows(session: Session, statement: s.DeleteRows, text: str) -> StatementResult:
    """Rows that satisfy a condition go."""
    sink, context = _changing(session, statement.path, "DELETE")
    bound = _Bound(session, context, text)
    return _affected(sink.delete_rows(bound.condition(statement.condition)))


def update_rows(session: Session, statement: s.UpdateRows, text: str) -> StatementResult:
    """Rows that satisfy a condition get other values."""
    sink, context = _changing(session, statement.path, "UPDATE")
    bound = _Bound(session, context, text)
    names = context.schema.names
    values: dict[int, Expression] = {}
    for name, node in statement.assignments:
        if name not in names:
            raise SqlError(f"Unknown target column '{name}'{suggestion(name, names)}")
        if name in context.primary_key:
            raise SqlError(f"column '{name}' of the primary key cannot be updated")
        if names.index(name) in values:
            raise SqlError(f"Target column '{name}' is assigned more than once")
        values[names.index(name)] = bound.expression(node)
    _check_values(values, context)
    return _affected(sink.update_rows(values, bound.condition(statement.condition)))


def _check_values(values: dict[int, Expression], context: TableContext) -> None:
    """As INSERT, but for NULL that is found only where the rows are: the database looks."""
    columns = Schema(tuple(context.schema[i] for i in values))
    given = Schema(
        tuple(Field(f.name, e.type) for f, e in zip(columns, values.values(), strict=True))
    )
    check_types(context.name, given, list(values.values()), columns, any_numbers=True)
    for field, value in zip(columns, values.values(), strict=True):
        folded = fold(value)
        if not field.type.is_nullable and isinstance(folded, Literal) and folded.value is None:
            raise SqlError(
                f"Column '{field.name}' is NOT NULL, however, a null value is being written into it"
            )


def _affected(rows: int) -> StatementResult:
    return StatementResult.of_rows(["rows affected"], [(rows,)], types=[BigIntType()])


def _changing(session: Session, path: s.Path, what: str) -> tuple[TableSink, TableContext]:
    if not session.batch:
        raise SqlError(f"{what} statement is not supported for streaming mode now.")
    sink, context = _target(session, path, what)
    if not sink.changes_rows:
        raise _unsupported(what, context)
    return sink, context


def _target(session: Session, path: s.Path, what: str) -> tuple[TableSink, TableContext]:
    entry = session.catalogs.find_table(path)
    full = session.catalogs.full_path(path)
    if entry is None:
        hint = suggestion(path[-1], session.catalogs.near(full))
        raise SqlError(f"Table '{'.'.join(full)}' doesn't exist{hint}")
    if entry.is_view:
        raise SqlError(f"{what} statement is not supported for view.")
    context = connector_context(full, entry, {}, session.binding(), sink=True)
    return find_factory(context.options, context.name).create_sink(context), context


def _unsupported(what: str, context: TableContext) -> SqlError:
    return SqlError(
        f"{what} statement is not supported for the table {context.name}: its connector "
        f"'{context.options.get('connector')}' cannot do that"
    )


class _Bound:
    """Expressions over the columns of a table."""

    def __init__(self, session: Session, context: TableContext, text: str) -> None:
        self._binding = session.binding(text)
        scope = Scope(self._binding)
        scope.add(context.path[-1], context.schema)
        self._binder = ExpressionBinder(self._binding, scope)

    def expression(self, node: Node) -> Expression:
        return self._binder.bind(node)

    def condition(self, node: Node | None) -> Expression | None:
        if node is None:
            return None
        found = self.expression(node)
        if not isinstance(found.type, BooleanType):
            raise SqlError(f"WHERE must be a condition, not of type {found.type.sql_text()}")
        return found
