"""Statements about catalogs, databases and partitions."""

from __future__ import annotations

from dataclasses import replace

from headrace.common.errors import SqlError
from headrace.common.settings.secrets import without_secrets
from headrace.sql import statements as s
from headrace.sql.catalog import DatabaseEntry
from headrace.sql.catalog.declarations import with_clause
from headrace.sql.catalog.definitions import CatalogDefinition
from headrace.sql.catalog.entries import PartitionEntry
from headrace.sql.catalog.manager import quoted, text_literal
from headrace.sql.catalog.partitions import TablePartitions
from headrace.sql.session.result import StatementResult
from headrace.sql.session.session import Session
from headrace.util.exceptions import CatalogException, TableException

__all__ = [
    "alter_catalog",
    "alter_database",
    "change_partitions",
    "create_database",
    "describe_catalog",
    "describe_database",
    "partition_names",
    "show_create_catalog",
]


def create_database(session: Session, statement: s.CreateDatabase) -> None:
    """CREATE DATABASE."""
    catalog, name = session.catalogs.database_path(statement.path)
    entry = DatabaseEntry(dict(statement.options), statement.comment)
    session.catalogs.catalog(catalog).create_database(name, entry, statement.if_not_exists)


def alter_database(session: Session, statement: s.Alter) -> None:
    """ALTER DATABASE ... SET."""
    catalog, name = session.catalogs.database_path(statement.path)
    store = session.catalogs.catalog(catalog)
    entry = store.database(name)
    if statement.change != "set":
        raise SqlError("a database can only be changed with SET ('key' = 'value')")
    changed = replace(entry, options={**entry.options, **statement.value})
    store.alter_database(name, changed, False)


def _definition(session: Session, name: str) -> CatalogDefinition:
    session.catalogs.catalog(name)
    return session.catalogs.registry.definition(name)


def alter_catalog(session: Session, statement: s.Alter) -> None:
    """ALTER CATALOG ... SET, RESET and COMMENT."""
    name = statement.path[0]
    registry = session.catalogs.registry
    if registry.find(name) is None:
        if statement.if_exists:
            return
        raise CatalogException(f"Catalog {name} does not exist in the catalog store.")
    before = _definition(session, name)
    if statement.change == "comment":
        changed = replace(before, comment=statement.value)
    elif statement.change == "set":
        if statement.value.get("type", before.options.get("type")) != before.options.get("type"):
            raise SqlError("ALTER CATALOG SET does not support changing 'type'")
        changed = replace(before, options={**before.options, **statement.value})
    else:
        if "type" in statement.value:
            raise SqlError("ALTER CATALOG RESET does not support changing 'type'")
        left = {k: v for k, v in before.options.items() if k not in statement.value}
        changed = replace(before, options=left)
    registry.alter(name, changed)


def describe_catalog(session: Session, statement: s.Describe) -> StatementResult:
    """DESCRIBE CATALOG [EXTENDED]."""
    name = statement.path[0]
    if session.catalogs.find_catalog(name) is None:
        raise SqlError(f"Cannot obtain metadata information from Catalog {name}.")
    found = _definition(session, name)
    rows = [("name", name), ("type", found.options.get("type", "generic_in_memory"))]
    rows.append(("comment", found.comment or ""))
    if statement.extended:
        shown = sorted(without_secrets(found.options).items())
        rows += [(f"option:{k}", v) for k, v in shown if k != "type"]
    return StatementResult.of_rows(["info name", "info value"], rows)


def describe_database(session: Session, statement: s.Describe) -> StatementResult:
    """DESCRIBE DATABASE [EXTENDED]."""
    catalog, name = session.catalogs.database_path(statement.path)
    entry = session.catalogs.catalog(catalog).database(name)
    rows = [("name", name), ("catalog", catalog), ("comment", entry.comment or "")]
    if statement.extended:
        shown = sorted(without_secrets(entry.options).items())
        rows += [(f"property:{k}", v) for k, v in shown]
    return StatementResult.of_rows(["info name", "info value"], rows)


def show_create_catalog(session: Session, statement: s.Show) -> StatementResult:
    """SHOW CREATE CATALOG."""
    name = statement.path[0]
    found = _definition(session, name)
    comment = f"COMMENT {text_literal(found.comment)}\n" if found.comment else ""
    options = with_clause(without_secrets(found.options))
    text = f"CREATE CATALOG {quoted([name])}\n{comment}{options}"
    return StatementResult.of_rows(["result"], [(text,)])


def _partitions(session: Session, path: tuple[str, ...]) -> TablePartitions:
    catalog, database, name = session.catalogs.full_path(path)
    return TablePartitions(session.catalogs.catalog(catalog), database, name)


def partition_names(session: Session, statement: s.Show) -> list[str]:
    """Names of partitions, such as `day=2024-01-01/hour=7`."""
    try:
        found = _partitions(session, statement.path).matching(statement.partition)
    except CatalogException as error:
        name = ".".join(session.catalogs.full_path(statement.path))
        raise TableException(f"Could not execute SHOW PARTITIONS {name}: {error}") from error
    return ["/".join(f"{k}={v}" for k, v in spec.items()) for spec in found]


def change_partitions(session: Session, statement: s.Alter) -> None:
    """ALTER TABLE ... ADD and DROP PARTITION."""
    partitions = _partitions(session, statement.path)
    changes, ignore = statement.value
    if statement.change == "add partitions":
        for values, options in changes:
            partitions.create(values, PartitionEntry(dict(options)), ignore)
    else:
        for values in changes:
            partitions.drop(values, ignore)
