"""ALTER TABLE and VIEW; what else there is to ALTER is handed on."""

from __future__ import annotations

from collections.abc import Callable

from headrace.common.errors import SqlError
from headrace.sql import statements as s
from headrace.sql.catalog import TableEntry
from headrace.sql.catalog.manager import quoted
from headrace.sql.session.catalog_statements import alter_catalog, alter_database, change_partitions
from headrace.sql.session.models import alter_model
from headrace.sql.session.session import Session
from headrace.sql.session.table_changes import changed_table
from headrace.sql.session.table_plan import declared_schema
from headrace.sql.session.user_functions import alter_function

__all__ = ["alter"]

_OTHERS: dict[str, Callable[[Session, s.Alter], None]] = {
    "CATALOG": alter_catalog,
    "DATABASE": alter_database,
    "FUNCTION": alter_function,
    "MODEL": lambda session, statement: alter_model(session.catalogs, statement),
}


def alter(session: Session, statement: s.Alter) -> None:
    """Changes an entry of a catalog."""
    other = _OTHERS.get(statement.kind)
    if other is not None:
        other(session, statement)
        return
    entry = session.catalogs.find_table(statement.path)
    if entry is None:
        if statement.if_exists:
            return
        full = quoted(session.catalogs.full_path(statement.path))
        raise SqlError(f"Table {full} doesn't exist or is a temporary table.")
    if entry.materialization is not None:
        full = quoted(session.catalogs.full_path(statement.path))
        raise SqlError(
            f"{full} is a materialized table, so ALTER {statement.kind} is not for it; use ALTER "
            "MATERIALIZED TABLE"
        )
    if statement.change in ("add partitions", "drop partitions"):
        change_partitions(session, statement)
        return
    if statement.change == "rename":
        _rename(session, statement, entry)
        return
    changed = changed_table(session, entry, statement)
    if not changed.is_view:
        declared_schema(changed, session.binding())
    session.catalogs.replace_table(statement.path, changed)


def _rename(session: Session, statement: s.Alter, entry: TableEntry) -> None:
    target = statement.value
    prefix = statement.path[:-1]
    session.catalogs.create_table(target if len(target) > 1 else (*prefix, *target), entry)
    session.catalogs.drop_table(statement.path, kind=entry.kind)
