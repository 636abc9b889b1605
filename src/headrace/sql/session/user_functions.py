"""Users' functions in catalogs: CREATE, ALTER and DROP FUNCTION."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from headrace.common.errors import SqlError
from headrace.sql import statements as s
from headrace.sql.binder.context import suggestion
from headrace.sql.catalog import FunctionEntry
from headrace.sql.catalog.manager import quoted
from headrace.sql.catalog.user_functions import loaded_function
from headrace.sql.session.session import Session
from headrace.sql.udf.binding import FunctionBinding
from headrace.util.exceptions import FunctionAlreadyExistException, FunctionNotExistException

__all__ = ["alter_function", "create_function", "drop_function", "register_function"]


def create_function(session: Session, statement: s.CreateFunction) -> None:
    """Loads a Python function by its path, `module.name`, and makes it known."""
    entry = FunctionEntry(statement.identifier, statement.language.upper())
    register_function(
        session,
        statement.path,
        replace(entry, function=loaded_function(entry)),
        temporary=statement.temporary,
        system=statement.system,
        if_not_exists=statement.if_not_exists,
    )


def alter_function(session: Session, statement: s.Alter) -> None:
    """ALTER FUNCTION name AS 'module.name'."""
    catalogs = session.catalogs
    catalog, database, name = catalogs.function_path(statement.path)
    store = catalogs.catalog(catalog)
    if store.find_function(database, name) is None:
        if statement.if_exists:
            return
        raise _missing((catalog, database, name), store.list_functions(database))
    identifier, language = statement.value
    entry = FunctionEntry(identifier, language.upper())
    store.put_function(database, name, replace(entry, function=loaded_function(entry)))


def register_function(
    session: Session,
    path: tuple[str, ...],
    function: Any,
    *,
    temporary: bool = True,
    system: bool = False,
    if_not_exists: bool = False,
) -> None:
    """Makes a function, or the entry of one, known under a name."""
    entry = function if isinstance(function, FunctionEntry) else _entry(function)
    entry = replace(entry, function=_named(entry.function, path[-1]))
    catalogs = session.catalogs
    if system:
        if path[-1].lower() in catalogs.system_functions and not if_not_exists:
            raise SqlError(
                "Could not register temporary system function. A function named "
                f"'{path[-1]}' does already exist."
            )
        catalogs.system_functions[path[-1].lower()] = entry
        return
    full = catalogs.function_path(path)
    if temporary:
        if full in catalogs.temporary_functions and not if_not_exists:
            raise SqlError(
                "Could not register temporary catalog function. A function "
                f"'{'.'.join(full)}' does already exist."
            )
        catalogs.temporary_functions[full] = entry
        return
    store = catalogs.catalog(full[0])
    store.database(full[1])
    if store.find_function(full[1], full[2]) is not None:
        if if_not_exists:
            return
        raise FunctionAlreadyExistException(
            f"Function {full[1]}.{full[2]} already exists in Catalog {full[0]}."
        )
    store.put_function(full[1], full[2], entry)


def _named(function: Any, name: str) -> Any:
    """The function as plans and errors show it: under the name by which it is called."""
    return function.named(name) if isinstance(function, FunctionBinding) else function


def _entry(function: Any) -> FunctionEntry:
    kind = type(function)
    return FunctionEntry(f"{kind.__module__}.{kind.__qualname__}", function=function)


def drop_function(session: Session, statement: s.Drop) -> bool:
    """Forgets a function; False if there was none, which IF EXISTS allows."""
    catalogs = session.catalogs
    full = catalogs.function_path(statement.path)
    store = catalogs.catalog(full[0])
    if statement.system:
        if catalogs.system_functions.pop(full[2], None) is not None:
            return True
        error = SqlError(
            "Could not drop temporary system function. A function named "
            f"'{full[2]}' doesn't exist.{suggestion(full[2], catalogs.system_functions)}"
        )
    elif statement.temporary:
        if catalogs.temporary_functions.pop(full, None) is not None:
            return True
        known = [name for _, _, name in catalogs.temporary_functions]
        error = SqlError(
            f"Temporary catalog function {quoted(full)} doesn't exist{suggestion(full[2], known)}"
        )
    else:
        if store.find_function(full[1], full[2]) is not None:
            store.drop_function(full[1], full[2])
            return True
        error = _missing(full, store.list_functions(full[1]))
    if statement.if_exists:
        return False
    raise error


def _missing(full: tuple[str, str, str], known: list[str]) -> SqlError:
    return FunctionNotExistException(
        f"Function {full[1]}.{full[2]} does not exist in Catalog {full[0]}."
        f"{suggestion(full[2], known)}"
    )
