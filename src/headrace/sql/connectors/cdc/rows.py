"""Rows of a changelog, of changes that a database made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from zoneinfo import ZoneInfo

from headrace.common.errors import SqlError
from headrace.datastream.connectors.cdc.changes import Change
from headrace.sql.binder.context import suggestion
from headrace.sql.connectors.base import TableContext
from headrace.sql.connectors.jdbc.values import OfMySql
from headrace.sql.types import DataType, RowField, RowType
from headrace.sql.types.data_types import DataTypes
from headrace.sql.types.values import rows_to_internal, to_internal

__all__ = ["ChangeRows", "change_rows", "metadata_type"]

_INSERT, _UPDATE_BEFORE, _UPDATE_AFTER, _DELETE = range(4)
_KIND_TEXTS = ("+I", "-U", "+U", "-D")

_METADATA: dict[str, Callable[[Change, int], Any]] = {
    "table_name": lambda change, kind: change.table.name,
    "schema_name": lambda change, kind: change.table.schema,
    "database_name": lambda change, kind: change.table.database,
    "op_ts": lambda change, kind: change.timestamp_ms * 1000,
    "row_kind": lambda change, kind: _KIND_TEXTS[kind],
}
_TYPES = {"op_ts": DataTypes.TIMESTAMP_LTZ(3)}


def metadata_type(key: str) -> DataType:
    """The type of what a change says of itself."""
    return _TYPES.get(key, DataTypes.STRING())


@dataclass(frozen=True)
class ChangeRows:
    """Makes internal rows of a change; they end with their kind unless all are inserts.

    Attributes:
        row_type: The columns that the database has.
        columns: Their places in a row of the table.
        metadata: Places of the other columns, and what they have.
        zone: The session's time zone.
        as_inserts: Whether updates and deletes are rows that are added, too.
        of_mysql: Whether values are those of MySQL's driver.
    """

    row_type: RowType
    columns: tuple[int, ...]
    metadata: tuple[tuple[int, str], ...]
    zone: str
    as_inserts: bool = False
    of_mysql: bool = False

    def __call__(self, change: Change) -> list[tuple[Any, ...]]:
        if change.op == "u":
            parts = ((change.before, _UPDATE_BEFORE), (change.after, _UPDATE_AFTER))
            return [self._row(change, values, kind) for values, kind in parts]
        if change.op == "d":
            return [self._row(change, change.before, _DELETE)]
        return [self._row(change, change.after, _INSERT)]

    def of_many(self, changes: Sequence[Change]) -> list[tuple[Any, ...]]:
        """The rows of many changes."""
        if self.metadata:
            return [row for change in changes for row in self(change)]
        values: list[Any] = []
        kinds: list[int] = []
        for op, _, before, after, *_ in changes:
            if before is not None:
                values.append(before)
                kinds.append(_UPDATE_BEFORE if op == "u" else _DELETE)
            if after is not None:
                values.append(after)
                kinds.append(_UPDATE_AFTER if op == "u" else _INSERT)
        width = len(self.columns)
        rows = self._internal_rows([v[:width] for v in values])
        return rows if self.as_inserts else [(*r, k) for r, k in zip(rows, kinds, strict=True)]

    @cached_property
    def _internal_rows(self) -> Callable[[list[Any]], list[Any]]:
        internal = rows_to_internal(self.row_type, ZoneInfo(self.zone))
        if not self.of_mysql:
            return internal
        of_driver = OfMySql(tuple(f.data_type for f in self.row_type.fields))
        return lambda rows: internal(list(map(of_driver, rows)))

    @cached_property
    def _internal(self) -> Callable[[Any], Any]:
        internal = to_internal(self.row_type, ZoneInfo(self.zone))
        if not self.of_mysql:
            return internal
        of_driver = OfMySql(tuple(f.data_type for f in self.row_type.fields))
        return lambda values: internal(of_driver(values))

    def _row(self, change: Change, values: Any, kind: int) -> tuple[Any, ...]:
        row = self._internal(values[: len(self.columns)])
        if self.metadata:
            placed = [None] * (len(self.columns) + len(self.metadata))
            for place, value in zip(self.columns, row, strict=True):
                placed[place] = value
            for place, name in self.metadata:
                placed[place] = _METADATA[name](change, kind)
            row = tuple(placed)
        return row if self.as_inserts else (*row, kind)


def change_rows(context: TableContext, metadata: Sequence[str]) -> ChangeRows:
    """What makes the rows of a table, which may have these metadata columns."""
    for name in context.metadata.values():
        if name not in metadata:
            raise SqlError(
                f"Invalid metadata key '{name}' in table {context.name}"
                f"{suggestion(name, metadata)} Readable metadata: {', '.join(metadata)}"
            )
    columns = tuple(i for i in range(len(context.schema)) if i not in context.metadata)
    fields = [RowField(context.schema[i].name, context.schema[i].type) for i in columns]
    places = tuple(context.metadata.items())
    return ChangeRows(RowType(fields, False), columns, places, context.zone)
