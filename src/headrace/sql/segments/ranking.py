"""The first rows of groups in a batch of columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headrace.formats.arrow import numbers_of
from headrace.sql import types as t
from headrace.sql.segments.columns import column_of_numbers
from headrace.sql.segments.expressions import UnsupportedBySparkError
from headrace.sql.types import DataType
from headrace.sql.types.type_rules import is_character, is_timestamp

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["check_rankable", "first_of_groups"]

_ORDERED = t.IntegralType | t.BooleanType | t.DateType | t.TimeType | t.DecimalType


def check_rankable(types: Sequence[DataType]) -> None:
    """Whether columns are ordered and told apart as headrace's values are: NaN is not.

    Raises:
        UnsupportedBySparkError: One of them is not.
    """
    for type_ in types:
        if not (isinstance(type_, _ORDERED) or is_timestamp(type_) or is_character(type_)):
            raise UnsupportedBySparkError(f"a ranking by {type_.sql_text()}")


def first_of_groups(
    batch: pa.RecordBatch,
    groups: Sequence[int],
    order: Sequence[tuple[int, bool, bool]],
    count: int,
    latest: bool = False,
) -> pa.Array:
    """Numbers of the first rows of each group; of equal ones those that come first.

    Args:
        batch: Columns.
        groups: Columns whose values make a group.
        order: Column, descending, nulls first.
        count: How many rows of a group are wanted.
        latest: Of equal ones those that come last are wanted.
    """
    import numpy as np

    numbers = np.arange(batch.num_rows)
    numbers = _sorted(batch, numbers[::-1] if latest else numbers, order)
    codes = _codes(batch, groups)[numbers]
    by_group = np.argsort(codes, kind="stable")
    numbers, codes = numbers[by_group], codes[by_group]
    starts = np.flatnonzero(np.concatenate(([True], codes[1:] != codes[:-1])))
    sizes = np.diff(np.append(starts, len(codes)))
    places = np.arange(len(codes)) - np.repeat(starts, sizes)
    # In the order of their coming, as they would come without this.
    return column_of_numbers(np.sort(numbers[places < count]))


def _sorted(batch: pa.RecordBatch, numbers: Any, order: Sequence[tuple[int, bool, bool]]) -> Any:
    """Numbers of rows in an order; a pass for each column, the last one first."""
    import pyarrow.compute as pc

    for index, descending, nulls_first in reversed(order):
        column = batch.column(index).take(column_of_numbers(numbers))
        sorted_ = pc.array_sort_indices(
            column,
            order="descending" if descending else "ascending",
            null_placement="at_start" if nulls_first else "at_end",
        )
        numbers = numbers[numbers_of(sorted_)]
    return numbers


def _codes(batch: pa.RecordBatch, groups: Sequence[int]) -> Any:
    """A number for each row, the same one for rows of a group."""
    import numpy as np

    codes = np.zeros(batch.num_rows, np.int64)
    for index in groups:
        encoded = batch.column(index).dictionary_encode(null_encoding="encode")
        codes = codes * len(encoded.dictionary) + numbers_of(encoded.indices)
        _, codes = np.unique(codes, return_inverse=True)
    return codes
