"""Catalogs as objects: databases, tables, partitions, functions and models without SQL.

`TableEnvironment.get_catalog` gives one; `CatalogDescriptor` makes a new one.
"""

from __future__ import annotations

from headrace.sql.catalog.procedures import Procedure, ProcedureContext, procedure
from headrace.table.catalog.catalog import Catalog
from headrace.table.catalog.columns import Column, ComputedColumn, MetadataColumn, PhysicalColumn
from headrace.table.catalog.constraints import Constraint, UniqueConstraint, WatermarkSpec
from headrace.table.catalog.descriptor import CatalogDescriptor
from headrace.table.catalog.objects import (
    CatalogBaseTable,
    CatalogDatabase,
    CatalogFunction,
    CatalogModel,
    CatalogPartition,
)
from headrace.table.catalog.outside import HiveCatalog, JdbcCatalog
from headrace.table.catalog.paths import CatalogPartitionSpec, ObjectIdentifier, ObjectPath
from headrace.table.catalog.resolved_schema import ResolvedSchema
from headrace.table.catalog.statistics import CatalogColumnStatistics, CatalogTableStatistics

__all__ = [
    "Catalog",
    "CatalogBaseTable",
    "CatalogColumnStatistics",
    "CatalogDatabase",
    "CatalogDescriptor",
    "CatalogFunction",
    "CatalogModel",
    "CatalogPartition",
    "CatalogPartitionSpec",
    "CatalogTableStatistics",
    "Column",
    "ComputedColumn",
    "Constraint",
    "HiveCatalog",
    "JdbcCatalog",
    "MetadataColumn",
    "ObjectIdentifier",
    "ObjectPath",
    "PhysicalColumn",
    "Procedure",
    "ProcedureContext",
    "ResolvedSchema",
    "UniqueConstraint",
    "WatermarkSpec",
    "procedure",
]
