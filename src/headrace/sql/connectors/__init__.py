"""Connectors of tables: `'connector' = 'name'` in WITH finds a factory here."""

from __future__ import annotations

from headrace.sql.connectors.base import (
    TableContext,
    TableFactory,
    TableSink,
    TableSource,
    find_factory,
)

__all__ = ["TableContext", "TableFactory", "TableSink", "TableSource", "find_factory"]
