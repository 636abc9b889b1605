"""Rows of Iceberg's tables by key, also by one of several columns.

A filter that names each key takes longer than all else, so files are chosen by the values that each
column of the key has, and their rows by a join.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["may_have", "without"]

_ROW = "headrace_row"
# With more values than these, the library looks into every file.
_LISTED = 200


def may_have(keys: pa.Table) -> Any:
    """A filter for files that may have rows with some of the keys."""
    from pyiceberg.expressions import AlwaysTrue, And

    found: Any = AlwaysTrue()
    for name in keys.schema.names:
        found = And(found, _among(name, keys[name]))
    return found


def _among(name: str, values: pa.ChunkedArray) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyiceberg.expressions

    # Its classes take columns by name, which their types do not say.
    e: Any = pyiceberg.expressions
    if pa.types.is_floating(values.type):
        # The least and the greatest value of a file are not those of NaN.
        return e.AlwaysTrue()
    distinct = pc.unique(values)
    if len(distinct) <= _LISTED:
        return e.In(name, distinct.to_pylist())
    ends = pc.min_max(distinct)
    low, high = ends["min"].as_py(), ends["max"].as_py()
    return e.And(e.GreaterThanOrEqual(name, low), e.LessThanOrEqual(name, high))


def without(rows: pa.Table, keys: pa.Table) -> pa.Table:
    """Rows whose key is not among some keys; those with NULL in theirs stay."""
    import pyarrow as pa

    names = keys.schema.names
    # Lists and maps cannot be in a join, so it gets the keys alone.
    own = rows.select(names)
    numbered = own.append_column(_ROW, pa.array(range(len(rows)), pa.int64()))
    left = numbered.join(keys.cast(own.schema), names, join_type="left anti")[_ROW]
    return rows if len(left) == len(rows) else rows.take(left.combine_chunks().sort())
