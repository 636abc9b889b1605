"""What ALTER makes of the entry of a table or view."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from headrace.common.errors import SqlError
from headrace.sql import statements as s
from headrace.sql.binder.context import repeated
from headrace.sql.catalog import TableEntry
from headrace.sql.session.session import Session

__all__ = ["changed_table", "view_columns"]


def view_columns(
    session: Session, query: Any, text: str, names: Sequence[str] = ()
) -> tuple[s.ColumnDefinition, ...]:
    """The columns of a view, with the names of its query unless others are given."""
    schema = session.written_plan(query, text).schema
    names = names or schema.names
    if len(names) != len(schema):
        raise SqlError(
            "VIEW definition and input fields not match:\n"
            f"\tDef fields: [{', '.join(names)}].\n"
            f"\tInput fields: [{', '.join(schema.names)}]."
        )
    twice = repeated(names)
    if twice is not None:
        raise SqlError(
            f"A column with the same name `{twice}` has been defined: give one of them an alias"
        )
    return tuple(s.ColumnDefinition(x, f.type) for x, f in zip(names, schema, strict=True))


def changed_table(session: Session, entry: TableEntry, statement: s.Alter) -> TableEntry:
    """The entry after a change."""
    change, value = statement.change, statement.value
    if change == "set":
        return replace(entry, options={**entry.options, **value})
    if change == "reset":
        if "connector" in value:
            raise SqlError("ALTER TABLE RESET does not support changing 'connector'")
        return replace(entry, options={k: v for k, v in entry.options.items() if k not in value})
    if change == "as":
        query, text, _ = value
        columns = view_columns(session, query, text)
        here = session.catalogs.namespace
        kept = session.without_stars(text)
        return replace(entry, columns=columns, view_text=kept, namespace=here)
    if change == "rename column":
        return _rename_column(entry, *value)
    if change == "add":
        return _added(entry, value)
    if change == "modify":
        return _modified(entry, value)
    if change == "distribution":
        return _distributed(entry, *value)
    return _dropped(entry, *value)


def _position(entry: Sequence[s.ColumnDefinition], name: str) -> int:
    for index, column in enumerate(entry):
        if column.name == name:
            return index
    raise SqlError(f"the column `{name}` doesn't exist in the table")


def _rename_column(entry: TableEntry, old: str, new: str) -> TableEntry:
    columns = list(entry.columns)
    if any(c.name == new for c in columns):
        raise SqlError(f"the column `{new}` exists already in the table")
    index = _position(columns, old)
    columns[index] = replace(columns[index], name=new)

    def renamed(names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(new if n == old else n for n in names)

    distribution = entry.distribution
    return replace(
        entry,
        columns=tuple(columns),
        primary_key=renamed(entry.primary_key),
        partition_keys=renamed(entry.partition_keys),
        distribution=distribution and replace(distribution, keys=renamed(distribution.keys)),
    )


def _placed(
    columns: list[s.ColumnDefinition], column: s.ColumnDefinition, positions: dict[str, Any]
) -> None:
    if column.name not in positions:
        columns.append(column)
    elif positions[column.name] is None:
        columns.insert(0, column)
    else:
        columns.insert(_position(columns, positions[column.name]) + 1, column)


def _added(entry: TableEntry, body: dict[str, Any]) -> TableEntry:
    columns = list(entry.columns)
    for column in body["columns"]:
        if any(c.name == column.name for c in columns):
            raise SqlError(f"Try to add a column `{column.name}` which already exists in the table")
        _placed(columns, column, body["positions"])
    if body.get("watermark") and entry.watermark:
        raise SqlError("The base table has already defined the watermark strategy")
    if body.get("primary_key") and entry.primary_key:
        raise SqlError("The base table has already defined the primary key constraint")
    return replace(
        entry,
        columns=tuple(columns),
        watermark=body.get("watermark") or entry.watermark,
        primary_key=body.get("primary_key") or entry.primary_key,
    )


def _modified(entry: TableEntry, body: dict[str, Any]) -> TableEntry:
    columns = list(entry.columns)
    for column in body["columns"]:
        index = _position(columns, column.name)
        if column.name in body["positions"]:
            columns.pop(index)
            _placed(columns, column, body["positions"])
        else:
            columns[index] = column
    return replace(
        entry,
        columns=tuple(columns),
        watermark=body.get("watermark") or entry.watermark,
        primary_key=body.get("primary_key") or entry.primary_key,
    )


def _distributed(entry: TableEntry, word: str, given: s.TableDistribution) -> TableEntry:
    if word == "add" and entry.distribution is not None:
        raise SqlError(
            "The base table has already defined the distribution. Use ALTER TABLE ... MODIFY "
            "DISTRIBUTION to change it"
        )
    if word == "modify" and entry.distribution is None:
        raise SqlError(
            "The base table does not define a distribution. Use ALTER TABLE ... ADD DISTRIBUTION "
            "to define one"
        )
    return replace(entry, distribution=given)


def _dropped(entry: TableEntry, what: str, names: Any) -> TableEntry:
    if what == "watermark":
        return replace(entry, watermark=None)
    if what in ("primary key", "constraint"):
        return replace(entry, primary_key=(), primary_key_name=None)
    if what == "distribution":
        if entry.distribution is None:
            raise SqlError("The base table does not define any distribution")
        return replace(entry, distribution=None)
    for name in names:
        _position(entry.columns, name)
        if name in entry.key_columns:
            raise SqlError(f"the column `{name}` is part of a key and cannot be dropped")
    return replace(entry, columns=tuple(c for c in entry.columns if c.name not in names))
