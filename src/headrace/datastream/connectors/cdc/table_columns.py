"""Which tables and columns are read, and by which column a table is cut into chunks."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from headrace.common.errors import HeadraceError
from headrace.datastream.connectors.cdc.source import CaptureSettings

__all__ = ["chosen_columns", "matching_tables"]

Path = tuple[str, str]


def matching_tables(settings: CaptureSettings, there: Iterable[Path]) -> list[Path]:
    """The tables that are read, of those that the database has; at least one."""
    pattern = re.compile(settings.tables)
    names = {path: ".".join(path) for path in there}
    found = [path for path, name in names.items() if pattern.fullmatch(name)]
    if not found:
        raise HeadraceError(
            f"{settings.url}: no table matches {settings.tables!r}; tables are: "
            f"{', '.join(names.values()) or 'none'}"
        )
    return found


def chosen_columns(
    settings: CaptureSettings,
    table: str,
    there: Mapping[str, str],
    primary_key: Sequence[str],
    ordered: Collection[str],
) -> tuple[list[str], int | None]:
    """The columns that are read, and which of them cuts the table into chunks, if one does.

    Args:
        settings: What the source was told.
        table: The name of the table, for messages.
        there: Its columns and their types.
        primary_key: The columns of its primary key.
        ordered: Types whose values Python orders as the database does.
    """
    columns = list(settings.columns) or list(there)
    key = settings.chunk_key
    if key is None and primary_key and there.get(primary_key[0]) in ordered:
        key = primary_key[0]
    if key is not None and key not in columns:
        columns.append(key)
    missing = [c for c in columns if c not in there]
    if missing:
        raise HeadraceError(
            f"{settings.url}: table {table} has no column {', '.join(missing)} in its log; it has "
            f"{', '.join(there)}"
        )
    if key is not None and key not in primary_key:
        # A row could go from one chunk to another and keep its key: what is left of the update,
        # if one of them was read before it, would be a row with this key that goes.
        raise HeadraceError(
            f"{settings.url}: chunks cannot be ranges of column {key!r} of {table}, which is not "
            f"in its primary key ({', '.join(primary_key) or 'it has none'})"
        )
    if key is not None and there[key] not in ordered:
        raise HeadraceError(
            f"{settings.url}: chunks cannot be ranges of column {key!r} of {table}, which is "
            f"{there[key]}; its type must be one of {', '.join(ordered)}"
        )
    return columns, None if key is None else columns.index(key)
