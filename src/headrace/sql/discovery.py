"""Finds what an option names: connectors, catalogs, formats and providers of models."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from headrace.common.errors import SqlError
from headrace.sql.binder.context import suggestion

__all__ = ["find_by_name", "find_by_option"]


def find_by_option(known: Mapping[str, str], options: Mapping[str, str], key: str, of: str) -> Any:
    """What an option names.

    Args:
        known: Where things are, by name: `module:attribute`.
        options: Those of a table, a catalog, a model.
        key: The option that has the name.
        of: Whose options they are, for the message.
    """
    name = options.get(key)
    if name is None:
        what = "catalog" if key == "type" else key
        raise SqlError(f"{of} do not contain an option key '{key}' for discovering a {what}.")
    return find_by_name(known, name)


def find_by_name(known: Mapping[str, str], name: str) -> Any:
    """What a name stands for; its module is imported now."""
    path = known.get(name)
    if path is None:
        raise SqlError(
            f"Could not find any factory for identifier '{name}'{suggestion(name, known)} "
            f"Available factory identifiers are: {', '.join(sorted(known))}"
        )
    module, _, attribute = path.partition(":")
    found = importlib.import_module(module)
    return getattr(found, attribute) if attribute else found
