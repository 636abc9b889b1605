"""`ResolvedSchema`: the columns of a table with all types known."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headrace.common.errors import ConfigurationError
from headrace.sql.plan.expressions import Schema as PlanSchema
from headrace.sql.types import DataType, RowField, RowType
from headrace.table.catalog.columns import Column, MetadataColumn, PhysicalColumn
from headrace.table.catalog.constraints import UniqueConstraint, WatermarkSpec

__all__ = ["ResolvedSchema"]


class ResolvedSchema:
    """Columns, watermarks and the primary key of a table or view."""

    def __init__(
        self,
        columns: Sequence[Column] | None = None,
        watermark_specs: Sequence[WatermarkSpec] | None = None,
        primary_key: UniqueConstraint | None = None,
    ) -> None:
        self._columns = list(columns or [])
        self._watermarks = list(watermark_specs or [])
        self._key = primary_key

    @staticmethod
    def of(columns: list[Column]) -> ResolvedSchema:
        """A schema of columns alone."""
        return ResolvedSchema(columns)

    @staticmethod
    def physical(column_names: list[str], column_data_types: list[DataType]) -> ResolvedSchema:
        """A schema of stored columns alone."""
        if len(column_names) != len(column_data_types):
            raise ConfigurationError("Mismatch between number of columns names and data types.")
        return ResolvedSchema(list(map(Column.physical, column_names, column_data_types)))

    @classmethod
    def of_plan(cls, schema: PlanSchema) -> ResolvedSchema:
        """The columns of a query."""
        return cls([PhysicalColumn(f.name, f.type, None, f.time) for f in schema])

    def get_column_count(self) -> int:
        """How many there are."""
        return len(self._columns)

    def get_columns(self) -> list[Column]:
        """All columns."""
        return list(self._columns)

    def get_column_names(self) -> list[str]:
        """Names of all columns."""
        return [c.get_name() for c in self._columns]

    def get_column_data_types(self) -> list[DataType]:
        """Types of all columns."""
        return [c.get_data_type() for c in self._columns]

    def get_column(self, column_index_or_name: int | str) -> Column | None:
        """One column, by position or name; None if there is none."""
        if isinstance(column_index_or_name, int):
            inside = 0 <= column_index_or_name < len(self._columns)
            return self._columns[column_index_or_name] if inside else None
        return next((c for c in self._columns if c.get_name() == column_index_or_name), None)

    def get_watermark_specs(self) -> list[WatermarkSpec]:
        """At most one."""
        return list(self._watermarks)

    def get_primary_key(self) -> UniqueConstraint | None:
        """The key, if there is one."""
        return self._key

    def get_primary_key_indexes(self) -> list[int]:
        """Positions of the key's columns."""
        names = self.get_column_names()
        return [names.index(c) for c in self._key.get_columns()] if self._key else []

    def to_source_row_data_type(self) -> DataType:
        """A row of what a query reads: all columns."""
        return self._row(lambda c: True)

    def to_physical_row_data_type(self) -> DataType:
        """A row of what is stored."""
        return self._row(lambda c: c.is_physical())

    def to_sink_row_data_type(self) -> DataType:
        """A row of what INSERT writes."""
        return self._row(
            lambda c: c.is_physical() or (isinstance(c, MetadataColumn) and c.is_persisted())
        )

    def _row(self, wanted: Callable[[Column], bool]) -> DataType:
        kept = [c for c in self._columns if wanted(c)]
        return RowType([RowField(c.get_name(), c.get_data_type()) for c in kept], False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ResolvedSchema) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        lines = [str(c) for c in self._columns]
        lines += [str(w) for w in self._watermarks]
        if self._key is not None:
            lines.append(str(self._key))
        return "(\n" + ",\n".join(f"  {x}" for x in lines) + "\n)"
