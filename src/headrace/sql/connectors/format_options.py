"""Options of a format among those of a table: `json.ignore-parse-errors` and the like."""

from __future__ import annotations

from headrace.sql.connectors.base import TableContext
from headrace.sql.formats.base import FormatOptions, option_keys

__all__ = ["format_options"]


def format_options(context: TableContext, name: str, prefix: str = "") -> FormatOptions:
    """The options of a format; `prefix` is `key.` or `value.` where a table has two formats."""
    found: dict[str, str] = {}
    for key in option_keys(name):
        value = context.option(f"{prefix}{name}.{key}")
        if value is None and prefix == "value.":
            value = context.option(f"{name}.{key}")
        if value is not None:
            found[key] = value
    return FormatOptions(found, context.zone, name=name)
