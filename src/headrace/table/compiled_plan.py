"""`CompiledPlan`: INSERT statements with all tables they use, to be run later as they are now.

A plan keeps the statements and the declarations of the tables, views and models they named, not the
operators. Loaded again, it is planned by the release that loads it, against these declarations and
not those of the session's catalogs. Users' functions come from the session.

The Table API has no text that could be kept. A plan of a `TablePipeline` contains its logical plan
instead, pickled, and only the release that made it can load it.
"""

from __future__ import annotations

import base64
import json
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cloudpickle

from headrace.common.errors import HeadraceError, SqlError
from headrace.sql import statements as s
from headrace.sql.catalog import CatalogManager, DatabaseEntry, InMemoryCatalog, TablePath
from headrace.sql.catalog.declarations import create_model_statement, create_statement
from headrace.sql.models.provider import ModelContext
from headrace.sql.parsing import parse_statement
from headrace.sql.plan import nodes as n
from headrace.sql.session.explain import explain_plans
from headrace.sql.session.session import Session
from headrace.sql.session.statement_executor import StatementExecutor
from headrace.table.environment_catalogs import session_of
from headrace.table.explain_detail import detail_names
from headrace.table.plan_reference import PlanReference
from headrace.table.table_result import TableResult
from headrace.util.exceptions import TableException
from headrace.version import __version__

if TYPE_CHECKING:
    from headrace.table.table_environment import TableEnvironment

__all__ = ["CompiledPlan"]


class CompiledPlan:
    """A plan that can be kept in a file.

    Example:
        >>> t_env.compile_plan_sql("INSERT INTO sink SELECT * FROM source").write_to_file("p.json")
        >>> t_env.execute_plan(PlanReference.from_file("p.json")).wait()
    """

    def __init__(self, environment: TableEnvironment, content: dict[str, Any]) -> None:
        self._environment = environment
        self._content = content

    @classmethod
    def of_statement(cls, environment: TableEnvironment, text: str) -> CompiledPlan:
        """The plan of INSERT statements."""
        session = session_of(environment)
        statement = parse_statement(text)
        inserts = _inserts(statement)
        recording = _Recording(session)
        for insert in inserts:
            recording.insert_plan(insert, text)
        tables = [_model(session, path) for path in recording.models]
        for path in recording.tables:
            entry = session.catalogs.find_table(path)
            assert entry is not None
            if entry.plan is not None:
                raise SqlError(
                    f"the view {'.'.join(path)} was created by the Table API and has no text; a "
                    "plan can only be compiled from views created with CREATE VIEW"
                )
            create = create_statement(path, entry.as_table(), False)
            names = list(entry.namespace or session.catalogs.namespace)
            tables.append({"path": list(path), "namespace": names, "create": create})
        catalogs = session.catalogs
        here = list(catalogs.namespace)
        content = {"version": __version__, "current": here, "tables": tables, "statement": text}
        return cls(environment, content)

    @classmethod
    def of_plans(cls, environment: TableEnvironment, plans: Sequence[n.Sink]) -> CompiledPlan:
        """The plan of tables of the Table API.

        Raises:
            HeadraceError: The plan begins with a stream, which cannot be kept.
        """
        try:
            pickled = cloudpickle.dumps(list(plans))
        except Exception as error:
            raise HeadraceError(
                f"this plan cannot be compiled, because a part of it cannot be kept: {error}; "
                "plans that begin with a DataStream are among these"
            ) from error
        text = base64.b64encode(pickled).decode("ascii")
        return cls(environment, {"version": __version__, "plans": text})

    @classmethod
    def of_reference(cls, environment: TableEnvironment, reference: PlanReference) -> CompiledPlan:
        """A plan that was kept."""
        try:
            content = json.loads(reference.json())
            parts = {"plans"} if "plans" in content else {"current", "tables", "statement"}
            missing = {"version", *parts} - content.keys()
        except (ValueError, AttributeError) as error:
            raise HeadraceError(f"this is not a compiled plan: {error}") from error
        if missing:
            raise HeadraceError(
                f"this is not a compiled plan: it lacks {', '.join(sorted(missing))}"
            )
        return cls(environment, content)

    def as_json_string(self) -> str:
        """The plan as text."""
        return json.dumps(self._content, indent=2)

    def as_smile_bytes(self) -> bytes:
        """The plan as bytes, for `PlanReference.from_smile_bytes()`; they are those of the JSON."""
        return self.as_json_string().encode("utf-8")

    def write_to_file(self, file: str, ignore_if_exists: bool = False) -> None:
        """Keep the plan in a file.

        Args:
            file: Its path.
            ignore_if_exists: Leave a file alone that is there; otherwise it is an error.
        """
        path = Path(file)
        if path.exists():
            if ignore_if_exists:
                return
            raise TableException(
                f"Cannot overwrite the plan file '{file}'. Remove it or choose another name"
            )
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.as_json_string(), encoding="utf-8")

    def get_flink_version(self) -> str:
        """The release that made the plan."""
        return str(self._content["version"])

    def print_json_string(self) -> None:
        """Show the plan's text."""
        print(self.as_json_string())

    def execute(self) -> TableResult:
        """Start the job."""
        session, plans = self._plans()
        return TableResult(session.run_inserts(plans))

    def explain(self, *extra_details: Any) -> str:
        """What runs, as the last section of EXPLAIN shows it."""
        session, plans = self._plans()
        text = explain_plans(session, plans, detail_names(extra_details))
        return text[text.index("== Optimized Execution Plan ==") :]

    def print_explain(self, *extra_details: Any) -> None:
        """Show the plan as EXPLAIN does."""
        print(self.explain(*extra_details))

    def __str__(self) -> str:
        return self.explain()

    def _plans(self) -> tuple[Session, list[n.Sink]]:
        if "plans" in self._content:
            return session_of(self._environment), self._unpickled()
        session = _with_tables(session_of(self._environment), self._content)
        text = self._content["statement"]
        inserts = _inserts(parse_statement(text))
        return session, [session.insert_plan(i, text) for i in inserts]

    def _unpickled(self) -> list[n.Sink]:
        if self.get_flink_version() != __version__:
            raise HeadraceError(
                f"this plan was compiled by release {self.get_flink_version()} from tables of the "
                f"Table API, and this is release {__version__}: compile it again, or compile "
                "plans from SQL, which other releases can load"
            )
        plans: list[n.Sink] = pickle.loads(base64.b64decode(self._content["plans"]))
        return plans


def _inserts(statement: s.Statement) -> Sequence[s.Insert]:
    if isinstance(statement, s.Insert):
        return [statement]
    if isinstance(statement, s.StatementSetBlock):
        return statement.inserts
    raise SqlError(
        "Unsupported SQL query! compile_plan_sql() only accepts a single SQL statement of type "
        "INSERT, or a statement set"
    )


def _model(session: Session, path: TablePath) -> dict[str, Any]:
    """The declaration of a model."""
    entry = session.catalogs.find_model(path)
    assert entry is not None
    if entry.object is not None:
        raise SqlError(
            f"the model {'.'.join(path)} is a Python object and has no text; a plan can only be "
            "compiled from models created with CREATE MODEL"
        )
    create = create_model_statement(path, entry, False)
    return {"path": list(path), "namespace": list(path[:2]), "create": create}


class _Recording(Session):
    """A session that remembers which tables and models were looked up."""

    def __init__(self, session: Session) -> None:
        super().__init__(session.env, session.config, session.catalogs, session.batch)
        self.tables: dict[TablePath, None] = {}
        self.models: dict[TablePath, None] = {}

    def find_table(
        self, path: tuple[str, ...], options: dict[str, str], *, unread: bool = False
    ) -> n.Node | None:
        found = super().find_table(path, options, unread=unread)
        if found is not None:
            # A view's own tables were seen before it, so that they can be made before it.
            self.tables[self.catalogs.full_path(path)] = None
        return found

    def find_model(self, path: TablePath) -> ModelContext | None:
        self.models[path] = None
        return super().find_model(path)

    def sink_plan(self, path: Sequence[str], query: n.Node, **settings: Any) -> n.Sink:
        found = super().sink_plan(path, query, **settings)
        self.tables[self.catalogs.full_path(path)] = None
        return found


def _with_tables(session: Session, content: dict[str, Any]) -> Session:
    """A session that sees the tables of a plan and the functions of another session."""
    catalog, database = content["current"]
    catalogs = CatalogManager(catalog, database)
    catalogs.system_functions = session.catalogs.system_functions
    catalogs.temporary_functions = session.catalogs.temporary_functions
    fresh = Session(session.env, session.config, catalogs, session.batch)
    for table in content["tables"]:
        catalog, database, _ = table["path"]
        if catalogs.find_catalog(catalog) is None:
            catalogs.registry.register(catalog, InMemoryCatalog(catalog, database))
        catalogs.catalog(catalog).create_database(database, DatabaseEntry(), True)
        catalogs.current_catalog, catalogs.current_database = table["namespace"]
        StatementExecutor(fresh).execute(table["create"])
    catalogs.current_catalog, catalogs.current_database = content["current"]
    return fresh
