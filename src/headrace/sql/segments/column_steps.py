"""Nodes of a segment as what Arrow does with the columns of a file, as far as it can."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.datastream.connectors.spark_query import ParquetFiles
from headrace.sql.codegen.column_calls import ColumnAt, ColumnValue, column_value, replaced
from headrace.sql.codegen.column_places import ColumnPlace
from headrace.sql.plan import nodes as n
from headrace.sql.plan.expressions import Expression
from headrace.sql.segments.column_reading import ColumnReading, Groups, Keep, Require
from headrace.sql.segments.segment import LocalPhase, LocalRanking
from headrace.sql.segments.windows import millis_value, slice_end_value, window_column_values

__all__ = ["column_reading"]

_SLICE, _MILLIS, _WATERMARK = -1, -2, -3
"""Columns that come out, or are grouped, besides those of rows."""


def column_reading(
    scan: Any,
    chain: Sequence[n.Node],
    needed: Sequence[Sequence[int]],
    local: LocalPhase | LocalRanking | None,
) -> ColumnReading | None:
    """How Arrow does what a segment does; None if Spark has to.

    Args:
        scan: What Spark would read.
        chain: The nodes of the segment, the table first.
        needed: Which columns of each node are needed.
        local: What follows in the segment.
    """
    if not isinstance(scan, ParquetFiles):
        return None
    writer = _Writer(chain[0], needed[0])
    for node, columns in zip(chain[1:], needed[1:], strict=True):
        if not writer.add(node, columns):
            return None
    return writer.reading(needed[-1], local)


class _Writer:
    """Follows the nodes of a segment: their columns as values over those of the file."""

    def __init__(self, table: n.Node, columns: Sequence[int]) -> None:
        fields = [table.schema[i] for i in columns]
        self._names = tuple(f.name for f in fields)
        self._types = tuple(f.type for f in fields)
        self._values: dict[int, ColumnValue] = {c: ColumnAt(i) for i, c in enumerate(columns)}
        self._watermark: ColumnValue | None = None
        self._checks: list[Keep | Require] = []

    def add(self, node: n.Node, needed: Sequence[int]) -> bool:
        """Whether Arrow can do what a node does."""
        if isinstance(node, n.Filter):
            test = self._value(node.condition)
            self._checks += [] if test is None else [Keep(test)]
            return test is not None
        if isinstance(node, n.Project):
            values = {i: self._value(node.expressions[i]) for i in needed}
        elif isinstance(node, n.WindowTable):
            first = len(node.input.schema)
            added = dict(enumerate(window_column_values(node.window), first))
            values = {i: self._over(added.get(i, ColumnAt(i))) for i in needed}
        elif isinstance(node, n.WatermarkAssigner) and node.watermark is not None:
            self._watermark = self._value(node.watermark)
            self._checks.append(Require(self._values[node.column]))
            return self._watermark is not None
        else:
            return False
        self._values = {i: value for i, value in values.items() if value is not None}
        return len(self._values) == len(values)

    def _value(self, e: Expression) -> ColumnValue | None:
        value = column_value(e)
        return None if value is None else self._over(value)

    def _over(self, value: ColumnValue) -> Any:
        return replaced(value, self._values.get)

    def reading(
        self, columns: Sequence[int], local: LocalPhase | LocalRanking | None
    ) -> ColumnReading | None:
        """What comes out, of these columns of the last node."""
        groups = None
        values: dict[int, Any] = {i: self._values[i] for i in columns}
        if isinstance(local, LocalRanking) and local.watermark is not None:
            values[_WATERMARK] = self._watermark
        if isinstance(local, LocalPhase):
            if local.columns is None:
                return None
            keys, places = list(local.keys), list(local.columns)
            if local.window is not None:
                values[_SLICE] = self._over(slice_end_value(local.window))
                values[_MILLIS] = self._over(millis_value(local.window))
                values[_WATERMARK] = self._watermark
                keys.append(_SLICE)
            if local.gap is not None:
                places += [ColumnPlace(name, _MILLIS) for name in ("min", "max")]
            if local.window is not None:
                places.append(ColumnPlace("max", _WATERMARK))
            groups = Groups(tuple(map(str, keys)), tuple(places))
        if any(value is None for value in values.values()):
            return None
        outputs = tuple((str(i), value) for i, value in values.items())
        return ColumnReading(self._names, self._types, tuple(self._checks), outputs, groups)
