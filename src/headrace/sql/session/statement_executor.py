"""Does what statements say: `_RUN` has a method for each kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from headrace.common.errors import SqlError
from headrace.common.settings import table_options
from headrace.common.settings.secrets import without_secrets
from headrace.sql import statements as s
from headrace.sql.catalog import ModelEntry, TableEntry
from headrace.sql.parser.excerpts import located
from headrace.sql.parsing import parse_statement
from headrace.sql.plan import nodes as n
from headrace.sql.session.alter import alter
from headrace.sql.session.analyze import analyze_table
from headrace.sql.session.catalog_statements import create_database
from headrace.sql.session.explain import explain_statement
from headrace.sql.session.jobs import stop_job
from headrace.sql.session.like import merged
from headrace.sql.session.materialized_tables import (
    alter_materialized_table,
    create_materialized_table,
    drop_materialized_table,
)
from headrace.sql.session.models import check_model, create_model, drop_model
from headrace.sql.session.procedures import call_procedure
from headrace.sql.session.result import StatementResult
from headrace.sql.session.row_statements import delete_rows, truncate_table, update_rows
from headrace.sql.session.session import Session
from headrace.sql.session.show import show_statement
from headrace.sql.session.table_changes import view_columns
from headrace.sql.session.table_plan import declared_schema
from headrace.sql.session.user_functions import create_function, drop_function

__all__ = ["StatementExecutor"]


class StatementExecutor:
    """Executes statements in a session."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.catalogs = session.catalogs
        self._kept: list[n.Sink] | None = None
        """INSERTs of a statement set that has begun."""

    def execute(self, text: str) -> StatementResult:
        """The result of a statement's text."""
        return self.run(parse_statement(text), text)

    def run(self, statement: s.Statement, text: str) -> StatementResult:
        """The result of a statement."""
        try:
            self._check_dialect(statement)
            if self._kept is not None:
                return self._in_statement_set(self._kept, statement, text)
            return self._RUN[type(statement)](self, statement, text)
        except SqlError as error:
            located(error, text, getattr(statement, "path", ())[-1:])
            raise

    def _check_dialect(self, statement: s.Statement) -> None:
        dialect = self.session.config.read(table_options.SQL_DIALECT)
        changes = isinstance(statement, s.SetOption | s.ResetOption)
        if dialect.lower() != "default" and not changes:
            raise SqlError(
                f"there is no parser for the SQL dialect {dialect!r}: statements are read in "
                f"Flink's own dialect, so set {table_options.SQL_DIALECT.key} to 'default'"
            )

    # Queries and inserts.

    def _query(self, statement: s.Query, text: str) -> StatementResult:
        return self.session.run_query(self.session.query_plan(statement.tree, text))

    def _insert(self, statement: s.Insert, text: str) -> StatementResult:
        return self.session.run_inserts([self.session.insert_plan(statement, text)])

    def _delete(self, statement: s.DeleteRows, text: str) -> StatementResult:
        return delete_rows(self.session, statement, text)

    def _update(self, statement: s.UpdateRows, text: str) -> StatementResult:
        return update_rows(self.session, statement, text)

    def _truncate(self, statement: s.TruncateTable, text: str) -> StatementResult:
        return truncate_table(self.session, statement, text)

    def _call(self, statement: s.Call, text: str) -> StatementResult:
        return call_procedure(self.session, statement, text)

    def _statement_set(self, statement: s.StatementSetBlock, text: str) -> StatementResult:
        plans = [self.session.insert_plan(i, text) for i in statement.inserts]
        return self.session.run_inserts(plans)

    def _begin_statement_set(self, statement: s.BeginStatementSet, text: str) -> StatementResult:
        first = statement.first
        self._kept = [] if first is None else [self.session.insert_plan(first, text)]
        return StatementResult.ok()

    def _in_statement_set(
        self, kept: list[n.Sink], statement: s.Statement, text: str
    ) -> StatementResult:
        if isinstance(statement, s.Insert):
            kept.append(self.session.insert_plan(statement, text))
            return StatementResult.ok()
        if not isinstance(statement, s.EndStatementSet):
            raise SqlError(
                "Only 'INSERT' statement is allowed in Statement Set or use 'END' statement to "
                "submit Statement Set."
            )
        self._kept = None
        return self.session.run_inserts(kept) if kept else StatementResult.ok()

    def _end_statement_set(self, statement: s.EndStatementSet, text: str) -> StatementResult:
        raise SqlError(
            "No Statement Set to submit. 'END' statement should be used after "
            "'BEGIN STATEMENT SET'."
        )

    def _explain(self, statement: s.Explain, text: str) -> StatementResult:
        plan = explain_statement(self.session, statement.statement, text, statement.details)
        return StatementResult.of_rows(["result"], [(plan,)], plain=plan)

    # Tables and views.

    def _create_table(self, statement: s.CreateTable, text: str) -> StatementResult:
        entry = TableEntry.declared(statement)
        if statement.like is not None:
            base = self.catalogs.find_table(statement.like.table)
            if base is None:
                name = ".".join(statement.like.table)
                raise SqlError(f"Source table '{name}' of the LIKE clause not found in the catalog")
            entry = merged(base.as_table(), entry, statement.like)
        query = None
        if statement.query is not None:
            query = self.session.query_plan(statement.query, text)
            if not entry.columns:
                columns = tuple(s.ColumnDefinition(f.name, f.type) for f in query.schema)
                entry = TableEntry(columns, options=entry.options, primary_key=entry.primary_key)
        self._check_table(entry, statement)
        created = self.catalogs.create_table(
            statement.path, entry, statement.temporary, statement.if_not_exists
        )
        if query is not None and created:
            return self.session.run_inserts([self.session.sink_plan(statement.path, query)])
        return StatementResult.ok()

    def _check_table(self, entry: TableEntry, statement: s.CreateTable) -> None:
        names = [c.name for c in entry.columns]
        for name in names:
            if names.count(name) > 1:
                raise SqlError(f"A column named '{name}' already exists in the table.")
        for name in entry.key_columns:
            if name not in names:
                raise SqlError(f"Column '{name}' of a key is not defined in the table")
        declared_schema(entry, self.session.binding())

    def _create_materialized_table(
        self, statement: s.CreateMaterializedTable, text: str
    ) -> StatementResult:
        return create_materialized_table(self.session, statement, text)

    def _create_view(self, statement: s.CreateView, text: str) -> StatementResult:
        columns = view_columns(self.session, statement.query, text, statement.columns)
        entry = TableEntry(
            columns,
            comment=statement.comment,
            view_text=self.session.without_stars(statement.query_text),
            namespace=self.catalogs.namespace,
        )
        self.catalogs.create_table(
            statement.path, entry, statement.temporary, statement.if_not_exists
        )
        return StatementResult.ok()

    def _drop(self, statement: s.Drop, text: str) -> StatementResult:
        kind, path = statement.kind, statement.path
        if kind in ("TABLE", "VIEW"):
            self.catalogs.drop_table(path, statement.temporary, statement.if_exists, kind)
        elif kind == "MATERIALIZED TABLE":
            drop_materialized_table(self.session, path, statement.if_exists)
        elif kind == "DATABASE":
            self.catalogs.drop_database(path, statement.if_exists, statement.cascade)
        elif kind == "CATALOG":
            self.catalogs.drop_catalog(path[0], statement.if_exists)
        elif kind == "FUNCTION":
            drop_function(self.session, statement)
        elif kind == "MODEL":
            drop_model(
                self.catalogs, path, temporary=statement.temporary, if_exists=statement.if_exists
            )
        else:
            raise SqlError(f"DROP {kind} is not supported")
        return StatementResult.ok()

    def _alter(self, statement: s.Alter, text: str) -> StatementResult:
        if statement.kind == "MATERIALIZED TABLE":
            return alter_materialized_table(self.session, statement)
        alter(self.session, statement)
        return StatementResult.ok()

    # Catalogs, databases, functions, models.

    def _create_database(self, statement: s.CreateDatabase, text: str) -> StatementResult:
        create_database(self.session, statement)
        return StatementResult.ok()

    def _create_catalog(self, statement: s.CreateCatalog, text: str) -> StatementResult:
        self.catalogs.registry.create(
            statement.name, statement.options, statement.comment, statement.if_not_exists
        )
        return StatementResult.ok()

    def _create_function(self, statement: s.CreateFunction, text: str) -> StatementResult:
        create_function(self.session, statement)
        return StatementResult.ok()

    def _create_model(self, statement: s.CreateModel, text: str) -> StatementResult:
        entry = ModelEntry(
            statement.inputs, statement.outputs, statement.options, statement.comment
        )
        check_model(entry)
        create_model(
            self.catalogs,
            statement.path,
            entry,
            temporary=statement.temporary,
            if_not_exists=statement.if_not_exists,
        )
        return StatementResult.ok()

    def _use(self, statement: s.Use, text: str) -> StatementResult:
        if statement.kind == "CATALOG":
            self.catalogs.use_catalog(statement.path[0])
        elif statement.kind == "MODULES":
            self.session.modules.use(statement.path)
        else:
            self.catalogs.use_database(statement.path)
        return StatementResult.ok()

    # Settings.

    def _set_option(self, statement: s.SetOption, text: str) -> StatementResult:
        if statement.key is None:
            settings = sorted(without_secrets(self.session.config.to_map()).items())
            return StatementResult.of_rows(["key", "value"], settings)
        self.session.set_option(statement.key, statement.value or "")
        return StatementResult.ok()

    def _reset_option(self, statement: s.ResetOption, text: str) -> StatementResult:
        self.session.reset_option(statement.key)
        return StatementResult.ok()

    def _stop_job(self, statement: s.JobStatement, text: str) -> StatementResult:
        return stop_job(self.session, statement)

    def _analyze_table(self, statement: s.AnalyzeTable, text: str) -> StatementResult:
        return analyze_table(self.session, statement)

    def _load_module(self, statement: s.LoadModule, text: str) -> StatementResult:
        if statement.unload:
            self.session.modules.unload(statement.name)
        else:
            self.session.modules.load(statement.name, options=statement.options)
        return StatementResult.ok()

    def _show(self, statement: s.Show | s.Describe, text: str) -> StatementResult:
        return show_statement(self.session, statement, text)

    _RUN: ClassVar[
        dict[type[s.Statement], Callable[[StatementExecutor, Any, str], StatementResult]]
    ] = {
        s.Query: _query,
        s.Insert: _insert,
        s.DeleteRows: _delete,
        s.UpdateRows: _update,
        s.TruncateTable: _truncate,
        s.Call: _call,
        s.StatementSetBlock: _statement_set,
        s.BeginStatementSet: _begin_statement_set,
        s.EndStatementSet: _end_statement_set,
        s.Explain: _explain,
        s.CreateTable: _create_table,
        s.CreateMaterializedTable: _create_materialized_table,
        s.CreateView: _create_view,
        s.Drop: _drop,
        s.Alter: _alter,
        s.CreateDatabase: _create_database,
        s.CreateCatalog: _create_catalog,
        s.CreateFunction: _create_function,
        s.CreateModel: _create_model,
        s.Use: _use,
        s.SetOption: _set_option,
        s.ResetOption: _reset_option,
        s.JobStatement: _stop_job,
        s.AnalyzeTable: _analyze_table,
        s.LoadModule: _load_module,
        s.Show: _show,
        s.Describe: _show,
    }
    """What each kind of statement does."""
