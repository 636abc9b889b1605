"""What a catalog keeps: databases, tables, partitions, functions, models and statistics."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from headrace.sql.statements import ColumnDefinition, WatermarkDefinition

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
        options: Of WITH.
        comment: What the user wrote.
        view_text: The query of a view.
        namespace: The catalog and database that were current when a view was made; names in its
            query without these are found there.
        plan: The plan of a view that the Table API made.
        object: What a program registered as the table: a `LookupTableSource`.
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

    @property
    def is_view(self) -> bool:
        return self.view_text is not None or self.plan is not None


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
