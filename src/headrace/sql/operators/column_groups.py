"""Groups of rows that are still columns, and their accumulators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headrace.formats.arrow import values_of
from headrace.sql.codegen.column_places import ColumnPlace
from headrace.sql.segments.columns import filled_values, key_values

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ColumnGroups"]

_MOST_ROWS = 100_000
# Sums of so many numbers below it stay within 64 bits.
_LARGEST = (1 << 63) // (2 * _MOST_ROWS)


class ColumnGroups:
    """Collects columns, so that a group is made of many rows at once."""

    def __init__(self, key: Sequence[int], places: Sequence[ColumnPlace]) -> None:
        self._key = key
        self._places = places
        used = {*key, *(p.column for p in places if p.column is not None)}
        # Rows that are only counted have a column, too.
        self._columns = sorted(used) or [0]
        self._summed = {p.column for p in places if p.function == "sum" and p.column is not None}
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
        wanted = [([] if p.column is None else str(p.column), p.function) for p in self._places]
        found = table.group_by([str(i) for i in self._key], use_threads=False).aggregate(wanted)
        columns = [c.combine_chunks() for c in found.columns]
        width = len(self._key)
        keys = key_values([values_of(c) for c in columns[:width]], found.num_rows)
        empty = [place.empty for place in self._places]
        places = zip(*map(filled_values, columns[width:], empty), strict=True)
        return list(zip(keys, map(list, places), strict=True))


def _is_small(column: pa.Array) -> bool:
    import pyarrow as pa
    from pyarrow import compute

    if not pa.types.is_int64(column.type):
        return True
    bounds = compute.min_max(column).as_py()
    return bounds["min"] is None or -_LARGEST < bounds["min"] <= bounds["max"] < _LARGEST
