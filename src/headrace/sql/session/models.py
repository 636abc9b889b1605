"""Models in catalogs: CREATE, ALTER, DROP, DESCRIBE and SHOW CREATE MODEL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from headrace.common.errors import SqlError
from headrace.common.settings.secrets import without_secrets
from headrace.sql import statements as s
from headrace.sql.binder.context import suggestion
from headrace.sql.catalog import CatalogManager, ModelEntry, TablePath
from headrace.sql.catalog.manager import quoted
from headrace.sql.models.provider import ModelContext
from headrace.sql.plan.expressions import Field, Schema
from headrace.util.exceptions import ModelAlreadyExistException, ModelNotExistException

__all__ = [
    "alter_model",
    "check_model",
    "create_model",
    "described_columns",
    "drop_model",
    "model_context",
    "shown_model",
]


def create_model(
    catalogs: CatalogManager,
    path: Sequence[str],
    entry: ModelEntry,
    *,
    temporary: bool = False,
    if_not_exists: bool = False,
) -> bool:
    """Makes a model known; False if there was one already, which `if_not_exists` allows."""
    full = catalogs.full_path(path)
    store = catalogs.catalog(full[0])
    known = full in catalogs.temporary_models
    if not temporary:
        store.database(full[1])
        known = store.find_model(full[1], full[2]) is not None
    if known and not if_not_exists:
        if temporary:
            raise SqlError(f"Temporary model '{quoted(full)}' already exists")
        raise ModelAlreadyExistException(
            f"Model {full[1]}.{full[2]} already exists in Catalog {full[0]}."
        )
    if known:
        return False
    if temporary:
        catalogs.temporary_models[full] = entry
    else:
        store.put_model(full[1], full[2], entry)
    return True


def check_model(entry: ModelEntry) -> None:
    """Refuses a declaration that cannot be a model's."""
    if not entry.options:
        raise SqlError("Model property list can not be empty.")
    for what, other, columns, others in (
        ("Output", "input", entry.outputs, entry.inputs),
        ("Input", "output", entry.inputs, entry.outputs),
    ):
        if others and not columns:
            raise SqlError(
                f"{what} column list can not be empty with non-empty {other} column list."
            )
        names = [c.name for c in columns]
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise SqlError(f"Duplicate {what.lower()} column name: '{twice[0]}'.")
        computed = [c.name for c in columns if c.type is None]
        if computed:
            raise SqlError(f"Column '{computed[0]}' of a model cannot be computed: give its type")


def alter_model(catalogs: CatalogManager, statement: s.Alter) -> None:
    """ALTER MODEL ... SET, RESET and RENAME TO."""
    change, value = statement.change, statement.value
    if change in ("set", "reset") and not value:
        what = "option" if change == "set" else "key"
        raise SqlError(f"ALTER MODEL {change.upper()} does not support empty {what}.")
    full = catalogs.full_path(statement.path)
    if full in catalogs.temporary_models:
        raise SqlError(f"Model {quoted(full)} is a temporary model.")
    entry = catalogs.find_model(full)
    if entry is None:
        if statement.if_exists:
            return
        raise SqlError(f"Model {quoted(full)} doesn't exist{_hint(catalogs, full)}")
    store = catalogs.catalog(full[0])
    if change == "rename":
        target = catalogs.full_path(value, full[:2])
        if target[0] != full[0]:
            raise SqlError(
                f"The catalog name of the new model name '{'.'.join(target)}' must be the same as "
                f"the old model name '{'.'.join(full)}'."
            )
        create_model(catalogs, target, entry)
        store.drop_model(full[1], full[2])
    elif change == "set":
        store.put_model(full[1], full[2], replace(entry, options={**entry.options, **value}))
    elif change == "reset":
        left = {k: v for k, v in entry.options.items() if k not in value}
        store.put_model(full[1], full[2], replace(entry, options=left))
    else:
        raise SqlError("a model is changed with SET, RESET or RENAME TO")


def drop_model(
    catalogs: CatalogManager,
    path: Sequence[str],
    *,
    temporary: bool = False,
    if_exists: bool = False,
) -> bool:
    """Forgets a model; False if there was none, which `if_exists` allows."""
    full = catalogs.full_path(path)
    if temporary:
        if catalogs.temporary_models.pop(full, None) is not None:
            return True
    else:
        store = catalogs.find_catalog(full[0])
        if store is not None and store.find_model(full[1], full[2]) is not None:
            store.drop_model(full[1], full[2])
            return True
    if if_exists:
        return False
    kind = "Temporary model" if temporary else "Model"
    raise ModelNotExistException(
        f"{kind} with identifier '{'.'.join(full)}' does not exist{_hint(catalogs, full)}"
    )


def described_columns(catalogs: CatalogManager, path: Sequence[str]) -> list[tuple[Any, ...]]:
    """Name, type, nullable, whether it goes in, and comment of each column."""
    entry = catalogs.find_model(path)
    if entry is None:
        full = catalogs.full_path(path)
        raise SqlError(
            f"Model with the identifier '{'.'.join(full)}' doesn't exist{_hint(catalogs, full)}"
        )
    rows = []
    for goes_in, columns in ((True, entry.inputs), (False, entry.outputs)):
        for c in columns:
            assert c.type is not None
            text = c.type.nullable().sql_text()
            rows.append((c.name, text, c.type.is_nullable, goes_in, c.comment))
    return rows


def shown_model(catalogs: CatalogManager, path: Sequence[str]) -> tuple[TablePath, ModelEntry]:
    """A model for SHOW CREATE MODEL, without its secrets."""
    full = catalogs.full_path(path)
    entry = catalogs.find_model(path)
    if entry is None:
        raise SqlError(
            f"Could not execute SHOW CREATE MODEL. Model with identifier {quoted(full)} does not "
            f"exist{_hint(catalogs, full)}"
        )
    return full, replace(entry, options=without_secrets(entry.options))


def model_context(path: tuple[str, ...], entry: ModelEntry, zone: str) -> ModelContext:
    """A model as its provider sees it."""
    metadata = {i: c.metadata_key or c.name for i, c in enumerate(entry.outputs) if c.metadata}
    inputs, outputs = _schema(entry.inputs), _schema(entry.outputs)
    return ModelContext(path, inputs, outputs, dict(entry.options), metadata, zone, entry.object)


def _schema(columns: Sequence[s.ColumnDefinition]) -> Schema:
    return Schema(tuple(Field(c.name, c.type) for c in columns if c.type is not None))


def _hint(catalogs: CatalogManager, full: TablePath) -> str:
    catalog = catalogs.find_catalog(full[0])
    if catalog is None or not catalog.database_exists(full[1]):
        return "."
    return suggestion(full[2], catalogs.list_models(full[:2])) or "."
