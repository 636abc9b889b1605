"""Times in Parquet files, which may be instants without saying so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from headrace.formats.arrow import constant_of

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Times"]

_INT96 = "INT96"
# A day of Flink's before 1970 has negative nanoseconds, which Arrow takes for 2**64 more.
_LAST = 2**63 // 1000
_TURN = 2**64 // 1000


class Times:
    """Puts instants of a file that are declared as `TIMESTAMP` on a clock.

    Args:
        file: The `ParquetFile`, which gives an `INT96` in microseconds.
        declared: The Arrow type that a column is declared with, or None.
        clock: The name of a zone; with None, instants stay what they are.
    """

    def __init__(
        self, file: Any, declared: Callable[[str], pa.DataType | None], clock: str | None
    ) -> None:
        self._declared = declared
        self._clock = clock
        schema = file.schema
        physical = iter([schema.column(i).physical_type for i in range(len(schema))])
        leaves = {
            f.name: [next(physical) for _ in range(_width(f.type))] for f in file.schema_arrow
        }
        self._leaves = {
            field.name: leaves[field.name]
            for field in file.schema_arrow
            if _INT96 in leaves[field.name] or (clock is not None and _has_instants(field.type))
        }

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The batch with its times as they should be."""
        import pyarrow as pa

        if self._leaves.keys().isdisjoint(batch.schema.names):
            return batch
        columns = list(map(self._column, batch.schema.names, batch.columns))
        return pa.RecordBatch.from_arrays(columns, batch.schema.names)

    def _column(self, name: str, column: Any) -> Any:
        import pyarrow as pa

        leaves = self._leaves.get(name)
        if leaves is None:
            return column
        if column.type.num_fields:
            # Parts of a slice would be those of the whole.
            column = column.take(pa.array(range(len(column)), pa.int64()))
        return self._part(column, self._declared(name), iter(leaves))

    def _part(self, column: Any, declared: Any, leaves: Iterator[str]) -> Any:
        import pyarrow as pa
        import pyarrow.types as at

        kind, missing = column.type, column.is_null()
        if at.is_struct(kind):
            names = [kind.field(i).name for i in range(kind.num_fields)]
            parts = [
                self._part(column.field(i), _field(declared, name), leaves)
                for i, name in enumerate(names)
            ]
            return pa.StructArray.from_arrays(parts, names, mask=missing)
        if at.is_map(kind):
            of_key, of_item = (
                (declared.key_type, declared.item_type)
                if declared is not None and at.is_map(declared)
                else (None, None)
            )
            keys = self._part(column.keys, of_key, leaves)
            items = self._part(column.items, of_item, leaves)
            return pa.MapArray.from_arrays(column.offsets, keys, items, mask=missing)
        if at.is_list(kind):
            of_item = declared.value_type if declared is not None and at.is_list(declared) else None
            items = self._part(column.values, of_item, leaves)
            return pa.ListArray.from_arrays(column.offsets, items, mask=missing)
        physical = [next(leaves) for _ in range(_width(kind))]
        return self._leaf(column, declared, physical[0]) if at.is_timestamp(kind) else column

    def _leaf(self, column: Any, declared: Any, physical: str) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        if physical == _INT96:
            column = _turned_back(column)
        instants = physical == _INT96 or column.type.tz
        if self._clock is None or not instants or declared != pa.timestamp("us"):
            return column
        utc = column.cast(pa.timestamp("us", "UTC"), safe=False)
        return pc.local_timestamp(utc.cast(pa.timestamp("us", self._clock)))


def _turned_back(column: Any) -> Any:
    """Times of which 2**64 nanoseconds are too many without them."""
    import pyarrow.compute as pc

    numbers = column.view("int64")
    far = pc.and_(
        pc.greater(numbers, constant_of(_LAST)), pc.less_equal(numbers, constant_of(_TURN))
    )
    return pc.if_else(far, pc.subtract(numbers, constant_of(_TURN)), numbers).view(column.type)


def _field(declared: Any, name: str) -> Any:
    import pyarrow.types as at

    if declared is None or not at.is_struct(declared):
        return None
    at_index = declared.get_field_index(name)
    return None if at_index < 0 else declared.field(at_index).type


def _parts(kind: pa.DataType) -> list[pa.DataType]:
    import pyarrow.types as at

    if at.is_map(kind):
        return [kind.key_type, kind.item_type]
    return [kind.field(i).type for i in range(kind.num_fields)]


def _width(kind: pa.DataType) -> int:
    """How many columns of the file a column is made of."""
    return sum(map(_width, _parts(kind))) if kind.num_fields else 1


def _has_instants(kind: pa.DataType) -> bool:
    import pyarrow.types as at

    return bool(at.is_timestamp(kind) and kind.tz) or any(map(_has_instants, _parts(kind)))
