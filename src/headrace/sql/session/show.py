"""SHOW and DESCRIBE."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from headrace.common.errors import SqlError
from headrace.common.settings.secrets import without_secrets
from headrace.sql import statements as s
from headrace.sql.binder.context import suggestion
from headrace.sql.catalog.declarations import (
    create_model_statement,
    create_statement,
    extras_text,
    watermark_text,
)
from headrace.sql.catalog.manager import quoted
from headrace.sql.functions.catalogue import builtin_registry
from headrace.sql.plan.expressions import Field, Schema, TimeAttribute
from headrace.sql.session.catalog_statements import (
    describe_catalog,
    describe_database,
    partition_names,
    show_create_catalog,
)
from headrace.sql.session.jobs import show_jobs
from headrace.sql.session.models import described_columns, shown_model
from headrace.sql.session.procedures import procedure_names
from headrace.sql.session.result import StatementResult
from headrace.sql.session.session import Session
from headrace.sql.session.table_plan import declared_schema
from headrace.sql.types import BooleanType
from headrace.sql.types.type_rules import string_type
from headrace.util.exceptions import TableException

__all__ = ["show_statement", "shown_schema"]


def show_statement(session: Session, statement: s.Show | s.Describe, text: str) -> StatementResult:
    """The rows of SHOW and DESCRIBE."""
    if isinstance(statement, s.Show):
        show = _SHOWS.get(statement.kind)
        if show is not None:
            return show(session, statement)
    if isinstance(statement, s.Describe):
        describe = _DESCRIPTIONS.get(statement.kind)
        if describe is not None:
            return describe(session, statement)
    raise SqlError(f"this statement is not supported yet: {text.strip()}")


def _filtered(names: Iterable[str], statement: s.Show) -> list[str]:
    """Names that LIKE lets through."""
    if statement.pattern is None:
        return list(names)
    flags = re.IGNORECASE if statement.case_insensitive else 0
    pattern = re.escape(statement.pattern).replace("%", ".*").replace("_", ".")
    matches = re.compile(pattern, flags).fullmatch
    return [n for n in names if bool(matches(n)) != statement.negated]


def _names(column: str, names: Callable[[Session, s.Show], Iterable[str]]) -> Any:
    def show(session: Session, statement: s.Show) -> StatementResult:
        found = _filtered(names(session, statement), statement)
        return StatementResult.of_rows([column], [(n,) for n in found])

    return show


def _functions(session: Session, statement: s.Show) -> list[str]:
    own = session.catalogs.user_functions(statement.path)
    if statement.kind == "USER FUNCTIONS":
        return own
    built_in = [f.name.lower() for f in builtin_registry().all() if not f.name.startswith("$")]
    return sorted({*own, *built_in, *session.modules.function_names()})


def _databases(session: Session, statement: s.Show) -> list[str]:
    name = statement.path[0] if statement.path else session.catalogs.current_catalog
    found = session.catalogs.find_catalog(name)
    if found is None:
        hint = suggestion(name, session.catalogs.registry.names())
        raise SqlError(f"Catalog {name} does not exist{hint}")
    return found.list_databases()


def _columns(session: Session, statement: s.Show) -> StatementResult:
    result = describe_rows(session, statement.path)
    kept = set(_filtered([r[0] for r in result], statement))
    return _described([r for r in result if r[0] in kept])


def _full_modules(session: Session, statement: s.Show) -> StatementResult:
    types = [string_type(), BooleanType()]
    return StatementResult.of_rows(["module name", "used"], session.modules.entries(), types=types)


def _create(session: Session, statement: s.Show) -> StatementResult:
    entry = session.catalogs.find_table(statement.path)
    wanted = statement.kind.removeprefix("CREATE ").removeprefix("OR ALTER ")
    full = session.catalogs.full_path(statement.path)
    if entry is None:
        name = quoted(full)
        raise SqlError(
            f"Could not execute SHOW {statement.kind}. "
            f"{wanted.capitalize()} with identifier {name} does not exist."
        )
    if entry.kind != wanted:
        raise TableException(
            f"SHOW CREATE {wanted} is only supported for {wanted.lower()}s, but {quoted(full)} is "
            f"a {entry.kind.lower()}. Please use SHOW CREATE {entry.kind} instead."
        )
    if wanted == "VIEW" and entry.view_text is None:
        raise TableException("SHOW CREATE VIEW is not supported for views registered by Table API.")
    temporary = session.catalogs.is_temporary(statement.path)
    shown = replace(entry, options=without_secrets(entry.options))
    begin = statement.kind.removesuffix(f" {wanted}")
    text = begin + create_statement(full, shown, temporary).removeprefix("CREATE")
    return StatementResult.of_rows(["result"], [(text,)])


def _show_create_model(session: Session, statement: s.Show) -> StatementResult:
    full, entry = shown_model(session.catalogs, statement.path)
    temporary = full in session.catalogs.temporary_models
    return StatementResult.of_rows(["result"], [(create_model_statement(full, entry, temporary),)])


_SHOWS: dict[str, Callable[[Session, s.Show], StatementResult]] = {
    "CATALOGS": _names("catalog name", lambda x, _: x.catalogs.registry.names()),
    "CURRENT CATALOG": _names("current catalog name", lambda x, _: [x.catalogs.current_catalog]),
    "DATABASES": _names("database name", _databases),
    "CURRENT DATABASE": _names("current database name", lambda x, _: [x.catalogs.current_database]),
    "TABLES": _names("table name", lambda x, y: x.catalogs.list_tables(y.path)),
    "VIEWS": _names("view name", lambda x, y: x.catalogs.list_kind("VIEW", y.path)),
    "MATERIALIZED TABLES": _names(
        "table name", lambda x, y: x.catalogs.list_kind("MATERIALIZED TABLE", y.path)
    ),
    "FUNCTIONS": _names("function name", _functions),
    "USER FUNCTIONS": _names("function name", _functions),
    "MODULES": _names("module name", lambda x, _: x.modules.used),
    "FULL MODULES": _full_modules,
    "JARS": _names("jars", lambda x, _: []),
    "COLUMNS": _columns,
    "CREATE TABLE": _create,
    "CREATE VIEW": _create,
    "CREATE MATERIALIZED TABLE": _create,
    "CREATE OR ALTER MATERIALIZED TABLE": _create,
    "CREATE CATALOG": show_create_catalog,
    "CREATE MODEL": _show_create_model,
    "JOBS": show_jobs,
    "PARTITIONS": _names("partition name", partition_names),
    "MODELS": _names("model name", lambda x, y: x.catalogs.list_models(y.path)),
    "PROCEDURES": _names("procedure name", procedure_names),
}


def _describe_table(session: Session, statement: s.Describe) -> StatementResult:
    return _described(describe_rows(session, statement.path))


def _describe_function(session: Session, statement: s.Describe) -> StatementResult:
    entry = session.catalogs.find_function_entry(statement.path)
    rows: list[tuple[str, str]] = []
    if entry is not None:
        rows = [("is system function", "false"), ("language", entry.language)]
        rows.append(("class name", entry.identifier))
    elif len(statement.path) == 1 and builtin_registry().find(statement.path[0]) is not None:
        rows = [("is system function", "true")]
    else:
        near = builtin_registry().nearest(statement.path[-1])
        hint = f", did you mean {near}?" if near else ""
        name = quoted(statement.path)
        raise SqlError(f"Function with the identifier '{name}' doesn't exist{hint or '.'}")
    return StatementResult.of_rows(["info name", "info value"], rows)


def _describe_model(session: Session, statement: s.Describe) -> StatementResult:
    rows = described_columns(session.catalogs, statement.path)
    names = ["name", "type", "null", "is input"]
    types = [string_type(), string_type(), BooleanType(), BooleanType()]
    if any(row[4] is not None for row in rows):
        return StatementResult.of_rows([*names, "comment"], rows, types=[*types, string_type()])
    return StatementResult.of_rows(names, [row[:4] for row in rows], types=types)


_DESCRIPTIONS: dict[str, Callable[[Session, s.Describe], StatementResult]] = {
    "TABLE": _describe_table,
    "CATALOG": describe_catalog,
    "DATABASE": describe_database,
    "FUNCTION": _describe_function,
    "MODEL": _describe_model,
}


def _described(rows: list[tuple[Any, ...]]) -> StatementResult:
    names = ["name", "type", "null", "key", "extras", "watermark"]
    types = [string_type(), string_type(), BooleanType(), *([string_type()] * 3)]
    if any(r[6] is not None for r in rows):
        return StatementResult.of_rows([*names, "comment"], rows, types=[*types, string_type()])
    return StatementResult.of_rows(names, [r[:6] for r in rows], types=types)


def describe_rows(session: Session, path: tuple[str, ...]) -> list[tuple[Any, ...]]:
    """Name, type, nullable, key, extras, watermark and comment of each column."""
    entry = session.catalogs.find_table(path)
    if entry is None:
        full = session.catalogs.full_path(path)
        hint = suggestion(full[2], session.catalogs.near(full))
        name = ".".join(full)
        raise SqlError(f"Tables or views with the identifier '{name}' doesn't exist{hint or '.'}")
    if entry.is_view:
        plan = session.find_table(path, {})
        assert plan is not None
        fields = shown_schema(session, plan.schema)
        return [(f.name, *_type_columns(f), None, None, None, None) for f in fields]
    schema = declared_schema(entry, session.binding())
    by_name = {c.name: c for c in entry.columns}
    rows = []
    for f in shown_schema(session, schema):
        column = by_name[f.name]
        key = f"PRI({', '.join(entry.primary_key)})" if f.name in entry.primary_key else None
        watermark = None
        if entry.watermark is not None and entry.watermark.column[-1] == f.name:
            watermark = watermark_text(entry.watermark)
        rows.append(
            (f.name, *_type_columns(f), key, extras_text(column), watermark, column.comment)
        )
    return rows


def shown_schema(session: Session, schema: Schema) -> Schema:
    """Columns as they are shown: in batch mode none has event time."""
    if not session.batch:
        return schema
    event_time = TimeAttribute.ROWTIME
    return Schema(tuple(replace(f, time=None) if f.time is event_time else f for f in schema))


def _type_columns(f: Field) -> tuple[str, bool]:
    text = f.type.nullable().sql_text()
    return (f"{text} *{f.time.value}*" if f.time is not None else text), f.type.is_nullable
