"""Users' functions in catalogs: CREATE FUNCTION and DROP FUNCTION."""

from __future__ import annotations

import importlib
from typing import Any

from headrace.common.errors import SqlError
from headrace.sql import statements as s
from headrace.table.session import Session

__all__ = ["create_function", "drop_function", "register_function"]


def create_function(session: Session, statement: s.CreateFunction) -> None:
    """Loads a Python function by its path, `module.name`."""
    if statement.language.upper() != "PYTHON":
        raise SqlError(
            f"functions in {statement.language} are not supported; write LANGUAGE PYTHON"
        )
    module, _, name = statement.identifier.rpartition(".")
    try:
        function = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise SqlError(f"cannot find the function {statement.identifier!r}: {error}") from error
    if isinstance(function, type):
        function = function()
    register_function(
        session,
        statement.path,
        function,
        temporary=statement.temporary,
        system=statement.system,
        if_not_exists=statement.if_not_exists,
    )


def register_function(
    session: Session,
    path: tuple[str, ...],
    function: Any,
    *,
    temporary: bool = True,
    system: bool = False,
    if_not_exists: bool = False,
) -> None:
    """Makes a function known under a name."""
    catalogs = session.catalogs
    if system:
        catalogs.system_functions[path[-1].lower()] = function
        return
    full = catalogs.full_path(path)
    key = (full[0], full[1], full[2].lower())
    if temporary:
        catalogs.temporary_functions[key] = function
        return
    functions = catalogs.catalog(full[0]).get_database(full[1]).functions
    if key[2] in functions:
        if if_not_exists:
            return
        raise SqlError(f"Function {'.'.join(full)} already exists")
    functions[key[2]] = function


def drop_function(session: Session, statement: s.Drop) -> bool:
    """Forgets a function; False if there was none, which IF EXISTS allows."""
    catalogs = session.catalogs
    full = catalogs.full_path(statement.path)
    key = (full[0], full[1], full[2].lower())
    if statement.system:
        found = catalogs.system_functions.pop(key[2], None)
    elif statement.temporary:
        found = catalogs.temporary_functions.pop(key, None)
    else:
        found = catalogs.catalog(full[0]).get_database(full[1]).functions.pop(key[2], None)
    if found is None and not statement.if_exists:
        raise SqlError(f"Function {'.'.join(full)} does not exist")
    return found is not None
