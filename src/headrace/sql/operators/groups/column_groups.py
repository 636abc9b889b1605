"""Groups of rows that are still columns, and their accumulators."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from headrace.formats.arrow import values_of
from headrace.sql.codegen.column_places import DISTINCT, SIZE, ColumnPlace
from headrace.sql.segments.columns import column_of_numbers, filled_values, key_values

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ColumnGroups", "aggregated"]

_MOST_ROWS = 100_000
# Sums of so many numbers below it stay within 64 bits.
_LARGEST = (1 << 63) // (2 * _MOST_ROWS)


class ColumnGroups:
    """Collects columns, so that a group is made of many rows at once."""

    def __init__(self, key: Sequence[int], places: Sequence[ColumnPlace]) -> None:
        self._key = key
        self._places = places
        inputs = (c for p in places for c in (p.column, p.filter))
        used = {*key, *(c for c in inputs if c is not None)}
        # Rows that are only counted have a column, too.
        self._columns = sorted(used) or [0]
        self._summed = {p.column for p in places if p.function == "sum" and p.column is not None}
        self._aggregates = sum(p.function != SIZE for p in places)
        self._batches: list[pa.RecordBatch] = []
        self._rows = 0

    def add(self, columns: Sequence[Any], count: int) -> bool:
        """Take the columns of some rows; False if some of them have to be looked at row by row."""
        import pyarrow as pa

        chosen = [columns[i] for i in self._columns]
        if count > _MOST_ROWS or any(isinstance(c, list) for c in chosen):
            return False
        if not all(_is_small(columns[i]) for i in self._summed):
            return False
        names = [str(i) for i in self._columns]
        self._batches.append(pa.RecordBatch.from_arrays(chosen, names))
        self._rows += count
        return True

    @property
    def full(self) -> bool:
        """Whether it is time to take the accumulators."""
        return self._rows >= _MOST_ROWS

    def take(self) -> list[tuple[Any, list[Any]]]:
        """Keys and accumulators of all that was collected."""
        import pyarrow as pa

        if not self._batches:
            return []
        table = pa.Table.from_batches(self._batches)
        self._batches, self._rows = [], 0
        found = aggregated(table, [str(i) for i in self._key], self._places)
        columns = [c.combine_chunks() for c in found.columns]
        width = len(self._key)
        keys = key_values([values_of(c) for c in columns[:width]], found.num_rows)
        places = zip(*self._values(columns[-self._aggregates :]), strict=True)
        return list(zip(keys, map(list, places), strict=True))

    def _values(self, columns: Sequence[pa.Array]) -> list[list[Any]]:
        """What each place has for the groups."""
        found: list[list[Any]] = []
        left = iter(columns)
        for place in self._places:
            if place.function == SIZE:
                found.append(list(map(len, found[-1])))
            elif place.function == DISTINCT:
                found.append(_dicts(next(left)))
            else:
                found.append(filled_values(next(left), place.empty))
        return found


def aggregated(table: pa.Table, keys: list[str], places: Sequence[ColumnPlace]) -> pa.Table:
    """Groups with their aggregates; columns have their numbers as names."""
    import numpy as np
    from pyarrow import compute

    if not keys:
        # All rows are one group, and Arrow has no DISTINCT without any.
        keys = ["all"]
        table = table.append_column("all", column_of_numbers(np.zeros(table.num_rows)))
    wanted: list[Any] = []
    for place in places:
        name: Any = [] if place.column is None else str(place.column)
        if place.filter is not None:
            name = f"{place.column} if {place.filter}"
            if name not in table.column_names:
                table = table.append_column(name, _chosen(table, place))
        if place.function == DISTINCT:
            wanted.append((name, DISTINCT, compute.CountOptions("only_valid")))
        elif place.function != SIZE:
            wanted.append((name, place.function))
    return table.group_by(keys, use_threads=False).aggregate(wanted)


def _chosen(table: pa.Table, place: ColumnPlace) -> pa.ChunkedArray:
    """The values of a column that a filter leaves; the others are NULL."""
    import pyarrow as pa
    from pyarrow import compute

    column = table.column(str(place.column))
    return compute.if_else(table.column(str(place.filter)), column, pa.nulls(1, column.type)[0])


def _dicts(column: pa.ListArray) -> list[dict[Any, int]]:
    """The values of each list, each there once."""
    values = values_of(column.flatten())
    return [dict.fromkeys(values[a:b], 1) for a, b in pairwise(values_of(column.offsets))]


def _is_small(column: pa.Array) -> bool:
    import pyarrow as pa
    from pyarrow import compute

    if not pa.types.is_int64(column.type):
        return True
    bounds = compute.min_max(column).as_py()
    return bounds["min"] is None or -_LARGEST < bounds["min"] <= bounds["max"] < _LARGEST
