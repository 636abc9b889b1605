"""A table of Spark's catalog that takes batches, each into a partition of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.common.errors import HeadraceError

__all__ = ["CatalogTable"]


@dataclass(frozen=True)
class CatalogTable:
    """Writes DataFrames into a table; a second time they replace what they wrote the first time."""

    name: str
    data_format: str
    epoch_column: str

    def __call__(self, data_frame: Any, batch: str) -> None:
        """Write the rows of a batch; in the driver."""
        spark = data_frame.sparkSession
        if not spark.catalog.tableExists(self.name):
            self._create(data_frame)
        columns = self._columns(data_frame)
        view = f"headrace_batch_{batch.replace('-', '_')}"
        data_frame.createOrReplaceTempView(view)
        try:
            spark.sql(
                f"INSERT OVERWRITE TABLE {self.name} "
                f"PARTITION ({_quoted(self.epoch_column)} = '{batch}') "
                f"SELECT {', '.join(map(_quoted, columns))} FROM {view}"
            )
        finally:
            spark.catalog.dropTempView(view)

    def _create(self, data_frame: Any) -> None:
        fields = [f"{_quoted(f.name)} {f.dataType.simpleString()}" for f in data_frame.schema]
        fields.append(f"{_quoted(self.epoch_column)} STRING")
        data_frame.sparkSession.sql(
            f"CREATE TABLE IF NOT EXISTS {self.name} ({', '.join(fields)}) "
            f"USING {self.data_format} PARTITIONED BY ({_quoted(self.epoch_column)})"
        )

    def _columns(self, data_frame: Any) -> list[str]:
        """The columns of the table in its order, but for that of the batch."""
        spark = data_frame.sparkSession
        # Another session may have made the table anew: each remembers what it has seen.
        spark.catalog.refreshTable(self.name)
        there = spark.table(self.name).columns
        given = data_frame.columns
        if self.epoch_column not in there:
            raise HeadraceError(
                f"the table {self.name} has no column {self.epoch_column!r} for the name of the "
                "batch; create it PARTITIONED BY such a column of type STRING, give the name "
                "of another one as epoch_column, or drop the table and have it created"
            )
        lacking = [column for column in given if column not in there]
        if lacking:
            added = ", ".join(
                f"{_quoted(f.name)} {f.dataType.simpleString()}"
                for f in data_frame.schema
                if f.name in lacking
            )
            raise HeadraceError(
                f"the table {self.name} lacks columns of the stream: {lacking}; add them with "
                f"ALTER TABLE {self.name} ADD COLUMNS ({added}), or leave them out of the stream"
            )
        unknown = [c for c in there if c not in given and c != self.epoch_column]
        if unknown:
            raise HeadraceError(
                f"the table {self.name} has columns that the stream does not have: {unknown}; add "
                "them to the rows of the stream, as None where there is no value"
            )
        return [column for column in there if column != self.epoch_column]


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
