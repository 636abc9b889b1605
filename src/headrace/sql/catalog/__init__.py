"""Where names are kept: catalogs with databases with tables, views, functions and models."""

from __future__ import annotations

from headrace.sql.catalog.entries import (
    ColumnStatistics,
    DatabaseEntry,
    FunctionEntry,
    ModelEntry,
    PartitionEntry,
    PartitionSpec,
    TableEntry,
    TablePath,
    TableStatistics,
)
from headrace.sql.catalog.files import FileCatalog
from headrace.sql.catalog.manager import (
    DEFAULT_CATALOG,
    DEFAULT_DATABASE,
    CatalogManager,
)
from headrace.sql.catalog.memory import InMemoryCatalog
from headrace.sql.catalog.store import CatalogStore

__all__ = [
    "DEFAULT_CATALOG",
    "DEFAULT_DATABASE",
    "CatalogManager",
    "CatalogStore",
    "ColumnStatistics",
    "DatabaseEntry",
    "FileCatalog",
    "FunctionEntry",
    "InMemoryCatalog",
    "ModelEntry",
    "PartitionEntry",
    "PartitionSpec",
    "TableEntry",
    "TablePath",
    "TableStatistics",
]
