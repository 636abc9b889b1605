"""CALL: procedures that catalogs bring."""

from __future__ import annotations

from typing import Any
from zoneinfo import ZoneInfo

from headrace.common.errors import SqlError
from headrace.sql import statements as s
from headrace.sql.binder.constants import fold
from headrace.sql.binder.context import suggestion
from headrace.sql.binder.expressions import ExpressionBinder
from headrace.sql.binder.scope import Scope
from headrace.sql.catalog.manager import path_of, quoted
from headrace.sql.catalog.procedures import Procedure, ProcedureContext
from headrace.sql.plan.expressions import Literal
from headrace.sql.session.result import StatementResult
from headrace.sql.session.row_statements import compact_table
from headrace.sql.session.session import Session
from headrace.sql.types import DataType, RowType
from headrace.sql.types.implicit_casts import casts_implicitly
from headrace.sql.types.values import to_external, to_internal

__all__ = ["call_procedure", "procedure_names"]


class _Context(ProcedureContext):
    def __init__(self, session: Session) -> None:
        self._session = session

    def get_execution_environment(self) -> Any:
        return self._session.env

    def compact(self, table: str) -> None:
        compact_table(self._session, path_of(table))


def procedure_names(session: Session, statement: s.Show) -> list[str]:
    """SHOW PROCEDURES."""
    catalogs = session.catalogs
    catalog, database = (
        catalogs.database_path(statement.path) if statement.path else catalogs.namespace
    )
    store = catalogs.catalog(catalog)
    found = store.list_procedures(database)
    if not found and not store.database_exists(database):
        raise SqlError(
            f"Fail to show procedures because the Database `{database}` to show from/in does not "
            f"exist in Catalog `{catalog}`."
        )
    return sorted(found)


def call_procedure(session: Session, statement: s.Call, text: str) -> StatementResult:
    """CALL."""
    catalog, database, name = session.catalogs.full_path(statement.path)
    store = session.catalogs.catalog(catalog)
    procedure = store.find_procedure(database, name)
    if procedure is None:
        known = store.list_procedures(database)
        full = quoted((catalog, database, name))
        raise SqlError(f"Procedure {full} does not exist{suggestion(name, known) or '.'}")
    arguments = _arguments(session, procedure, statement, text)
    rows = procedure.call(_Context(session), arguments)
    return _result(session, procedure.result, rows)


def _arguments(
    session: Session, procedure: Procedure, statement: s.Call, text: str
) -> dict[str, Any]:
    called, types = statement.path[-1], procedure.arguments
    if len(statement.arguments) > len(types):
        raise SqlError(
            f"{called} takes {len(types)} arguments ({', '.join(types)}), not "
            f"{len(statement.arguments)}"
        )
    context = session.binding(text)
    binder = ExpressionBinder(context, Scope(context))
    values: dict[str, Any] = {}
    for position, (given, node) in enumerate(statement.arguments):
        name = given or list(types)[position]
        if name not in types:
            raise SqlError(f"{called} has no argument '{name}'{suggestion(name, types)}")
        if name in values:
            raise SqlError(f"argument '{name}' of {called} is there twice")
        bound = binder.bind(node)
        if not casts_implicitly(bound.type, types[name]):
            raise SqlError(
                f"argument '{name}' of {called} is of type {types[name].sql_text()}, not "
                f"{bound.type.sql_text()}"
            )
        value = fold(binder.coerce(bound, types[name]), session.zone)
        if not isinstance(value, Literal):
            raise SqlError(f"argument '{name}' of {called} must be a constant")
        values[name] = _external(types[name], value.value, session)
    missing = [name for name in procedure.required if name not in values]
    if missing:
        raise SqlError(f"{called} needs the argument '{missing[0]}'")
    return values


def _external(type_: DataType, value: Any, session: Session) -> Any:
    convert = to_external(type_, ZoneInfo(session.zone))
    return value if convert is None else convert(value)


def _result(session: Session, type_: DataType, rows: list[Any]) -> StatementResult:
    convert = to_internal(type_, ZoneInfo(session.zone))
    made = [convert(row) for row in rows]
    if isinstance(type_, RowType):
        names, types = type_.names, [f.data_type for f in type_.fields]
        return StatementResult.of_rows(names, made, types=types)
    return StatementResult.of_rows(["result"], [(value,) for value in made], types=[type_])
