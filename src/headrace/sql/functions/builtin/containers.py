"""Functions of arrays (tuples) and maps (dicts)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.common.errors import HeadraceError

Array = tuple[Any, ...]


def make_map(*parts: Any) -> dict[Any, Any]:
    return dict(zip(parts[0::2], parts[1::2], strict=True))


def item_of_array(array: Array, index: int) -> Any:
    """From 1; NULL beyond the end."""
    if index < 1:
        raise HeadraceError(f"Array element access needs an index starting at 1 but was {index}.")
    return array[index - 1] if index <= len(array) else None


def element(array: Array) -> Any:
    if len(array) > 1:
        raise HeadraceError(f"ELEMENT takes an array with one element, not {len(array)}")
    return array[0] if array else None


def contains(array: Array | None, value: Any) -> bool | None:
    """NULL is an element like others."""
    return None if array is None else value in array


def distinct(array: Array) -> Array:
    return tuple(dict.fromkeys(array))


def position(array: Array, value: Any) -> int:
    return array.index(value) + 1 if value in array else 0


def remove(array: Array | None, value: Any) -> Array | None:
    return None if array is None else tuple(x for x in array if x != value)


def concat(*arrays: Array) -> Array:
    return tuple(x for array in arrays for x in array)


def union(left: Array, right: Array) -> Array:
    return distinct(left + right)


def intersect(left: Array, right: Array) -> Array:
    return distinct(tuple(x for x in left if x in right))


def minus(left: Array, right: Array) -> Array:
    return distinct(tuple(x for x in left if x not in right))


def largest(array: Array) -> Any:
    return max((x for x in array if x is not None), default=None)


def smallest(array: Array) -> Any:
    return min((x for x in array if x is not None), default=None)


def join(array: Array, delimiter: str, null: str | None = None) -> str:
    parts = (null if x is None else x for x in array)
    return delimiter.join(p for p in parts if p is not None)


def array_slice(array: Array, start: int, end: int | None = None) -> Array:
    length = len(array)
    first = start - 1 if start > 0 else max(length + start, 0) if start < 0 else 0
    last = length if end is None else end if end >= 0 else length + end + 1
    return array[first:last] if first < last else ()


def array_sort(array: Array, ascending: bool = True, nulls_first: bool | None = None) -> Array:
    present = sorted((x for x in array if x is not None), reverse=not ascending)
    nulls = [None] * (len(array) - len(present))
    first = ascending if nulls_first is None else nulls_first
    return tuple(nulls + present if first else present + nulls)


def map_from_arrays(keys: Array, values: Array) -> dict[Any, Any]:
    if len(keys) != len(values):
        raise HeadraceError(
            f"MAP_FROM_ARRAYS takes as many keys as values, not {len(keys)} and {len(values)}"
        )
    return dict(zip(keys, values, strict=True))


def map_union(*maps: dict[Any, Any]) -> dict[Any, Any]:
    """All entries; the last map with a key counts."""
    return {k: v for m in maps for k, v in m.items()}


def update_fields(row: tuple[Any, ...] | None, *changes: Any) -> tuple[Any, ...] | None:
    """A row with other values: positions and values in turn."""
    if row is None:
        return None
    fields = list(row)
    for position, value in zip(changes[0::2], changes[1::2], strict=True):
        fields[position] = value
    return tuple(fields)


def only_value(counts: Mapping[Any, int]) -> Any:
    """The value of which there is one and no other; None if there is none."""
    if sum(counts.values()) > 1:
        raise ValueError(
            "SubQuery returned more than one row. A subquery as a value must return one: use an "
            "aggregate, such as MAX"
        )
    return next(iter(counts), None)
