"""Statistics of tables, partitions and columns. Row counts help plans in batch mode."""

from __future__ import annotations

from typing import Any

from headrace.sql.catalog import ColumnStatistics, TableStatistics

__all__ = ["CatalogColumnStatistics", "CatalogTableStatistics"]


class CatalogTableStatistics:
    """Sizes of a table without partitions, or of a partition; -1 is not known."""

    def __init__(
        self,
        row_count: int | None = None,
        field_count: int | None = None,
        total_size: int | None = None,
        raw_data_size: int | None = None,
        properties: dict[str, str] | None = None,
    ) -> None:
        def known(number: int | None) -> int:
            return -1 if number is None else number

        self._entry = TableStatistics(
            known(row_count),
            known(field_count),
            known(total_size),
            known(raw_data_size),
            dict(properties or {}),
        )

    def get_row_count(self) -> int:
        """The number of rows."""
        return self._entry.row_count

    def get_field_count(self) -> int:
        """The number of files."""
        return self._entry.file_count

    def get_total_size(self) -> int:
        """Bytes on disk."""
        return self._entry.total_size

    def get_raw_data_size(self) -> int:
        """Bytes in memory."""
        return self._entry.raw_data_size

    def get_properties(self) -> dict[str, str]:
        """What else is known."""
        return dict(self._entry.properties)

    def copy(self) -> CatalogTableStatistics:
        """The same again."""
        return statistics_of_table(self._entry)


class CatalogColumnStatistics:
    """Statistics of columns by their names."""

    def __init__(
        self,
        column_statistics_data: dict[str, Any] | None = None,
        properties: dict[str, str] | None = None,
    ) -> None:
        self._entry = ColumnStatistics(dict(column_statistics_data or {}), dict(properties or {}))

    def get_column_statistics_data(self) -> dict[str, Any]:
        """Statistics by column."""
        return dict(self._entry.data)

    def get_properties(self) -> dict[str, str]:
        """What else is known."""
        return dict(self._entry.properties)

    def copy(self) -> CatalogColumnStatistics:
        """The same again."""
        return statistics_of_columns(self._entry)


def statistics_of_table(entry: TableStatistics) -> CatalogTableStatistics:
    """Statistics that a catalog keeps."""
    sizes = (entry.row_count, entry.file_count, entry.total_size, entry.raw_data_size)
    return CatalogTableStatistics(*sizes, entry.properties)


def statistics_of_columns(entry: ColumnStatistics) -> CatalogColumnStatistics:
    """Statistics of columns that a catalog keeps."""
    return CatalogColumnStatistics(entry.data, entry.properties)
