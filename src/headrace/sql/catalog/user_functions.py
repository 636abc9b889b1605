"""Loads users' functions that a catalog knows by their place, `module.name`."""

from __future__ import annotations

import importlib
from typing import Any

from headrace.common.errors import SqlError
from headrace.sql.catalog.entries import FunctionEntry
from headrace.sql.udf.process.binding import process_binding

__all__ = ["loaded_function"]


def loaded_function(entry: FunctionEntry) -> Any:
    """The function of an entry; a class is called to get one."""
    if entry.function is not None:
        return entry.function
    if entry.language.upper() != "PYTHON":
        raise SqlError(
            f"{entry.identifier!r} is a function in {entry.language}, which is not supported; "
            "write it in Python and LANGUAGE PYTHON"
        )
    module, _, name = entry.identifier.rpartition(".")
    try:
        function = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise SqlError(f"cannot find the function {entry.identifier!r}: {error}") from error
    made = function() if isinstance(function, type) else function
    return process_binding(made) or made
