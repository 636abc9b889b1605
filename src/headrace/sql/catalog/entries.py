"""What a catalog keeps: databases, tables, partitions, functions, models and statistics."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from headrace.sql.catalog.materialization import Materialization
from headrace.sql.statements import (
    ColumnDefinition,
    CreateTable,
    TableDistribution,
    WatermarkDefinition,
)

__all__ = [
    "ColumnStatistics",
    "DatabaseEntry",
    "FunctionEntry",
    "ModelEntry",
    "PartitionEntry",
    "PartitionSpec",
    "TableEntry",
    "TablePath",
    "TableStatistics",
]

PARTITION_FIELDS = "partition.fields."
DATE_FORMATTER = ".date-formatter"
"""An option of materialized tables, with the name of a partition key in between."""

TablePath = tuple[str, str, str]
"""Catalog, database, object."""

PartitionSpec = tuple[tuple[str, str], ...]
"""Keys and values of a partition, in the order of the table's partition keys."""


@dataclass(frozen=True)
class TableEntry:
    """A table or a view.

    Attributes:
        columns: In order.
        watermark: Of at most one column.
        primary_key: Names of its columns.
        partition_keys: Names of columns.
        distribution: Into which buckets rows go.
        options: Of WITH.
        comment: What the user wrote.
        view_text: The query of a view.
        namespace: The catalog and database that were current when a view was made; names in its
            query without these are found there.
        plan: The plan of a view that the Table API made.
        object: What a program registered as the table: a `LookupTableSource`.
        materialization: The query of a materialized table, and how it is refreshed.
    """

    columns: tuple[ColumnDefinition, ...] = ()
    watermark: WatermarkDefinition | None = None
    primary_key: tuple[str, ...] = ()
    primary_key_name: str | None = None
    partition_keys: tuple[str, ...] = ()
    options: dict[str, str] = field(default_factory=dict)
    comment: str | None = None
    view_text: str | None = None
    plan: Any = None
    namespace: tuple[str, str] | None = None
    object: Any = None
    materialization: Materialization | None = None
    distribution: TableDistribution | None = None

    def __post_init__(self) -> None:
        # Columns of a primary key are never NULL, even after the key is dropped.
        columns = tuple(
            replace(c, type=c.type.not_null())
            if c.type is not None and c.name in self.primary_key
            else c
            for c in self.columns
        )
        object.__setattr__(self, "columns", columns)

    @staticmethod
    def declared(statement: CreateTable) -> TableEntry:
        """What CREATE TABLE says."""
        return TableEntry(
            statement.columns,
            statement.watermark,
            statement.primary_key,
            statement.primary_key_name,
            statement.partitioned_by,
            statement.options,
            statement.comment,
            distribution=statement.distribution,
        )

    @property
    def is_view(self) -> bool:
        return self.view_text is not None or self.plan is not None

    @property
    def key_columns(self) -> tuple[str, ...]:
        """Names of the columns of the primary key, of partitions and of buckets."""
        buckets = self.distribution.keys if self.distribution is not None else ()
        return (*self.primary_key, *self.partition_keys, *buckets)

    @property
    def kind(self) -> str:
        """What statements call it: TABLE, VIEW or MATERIALIZED TABLE."""
        if self.is_view:
            return "VIEW"
        return "TABLE" if self.materialization is None else "MATERIALIZED TABLE"

    def as_table(self) -> TableEntry:
        """What the connector of a materialized table sees: a table without options about it."""
        if self.materialization is None:
            return self
        kept = {k: v for k, v in self.options.items() if not k.startswith(PARTITION_FIELDS)}
        return replace(self, materialization=None, options=kept)


@dataclass(frozen=True)
class DatabaseEntry:
    """Properties and comment of a database."""

    options: dict[str, str] = field(default_factory=dict)
    comment: str | None = None


@dataclass(frozen=True)
class PartitionEntry:
    """Properties and comment of a partition of a table."""

    options: dict[str, str] = field(default_factory=dict)
    comment: str | None = None


@dataclass(frozen=True)
class FunctionEntry:
    """A user's function: where it is, and the function itself once it was loaded."""

    identifier: str
    language: str = "PYTHON"
    options: dict[str, str] = field(default_factory=dict)
    function: Any = None


@dataclass(frozen=True)
class ModelEntry:
    """A model: its input and output columns, and the options that say who provides it.

    What a program registered as the model is its `object`.
    """

    inputs: tuple[ColumnDefinition, ...] = ()
    outputs: tuple[ColumnDefinition, ...] = ()
    options: dict[str, str] = field(default_factory=dict)
    comment: str | None = None
    object: Any = None


@dataclass(frozen=True)
class TableStatistics:
    """Sizes of a table or partition; -1 is not known."""

    row_count: int = -1
    file_count: int = -1
    total_size: int = -1
    raw_data_size: int = -1
    properties: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ColumnStatistics:
    """Statistics of columns, by name."""

    data: dict[str, Any] = field(default_factory=dict)
    properties: dict[str, str] = field(default_factory=dict)
