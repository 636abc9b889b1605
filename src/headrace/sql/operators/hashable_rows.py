"""Maps get a hash, and numbers are equal as in Java, so that rows can be keys of a dict."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from headrace.runtime.batch import Batch
from headrace.sql import types as t
from headrace.sql.operators.base import RowOperator
from headrace.sql.operators.specs import HashableRowsSpec


class HashableMap(dict[Any, Any]):
    """An immutable map, which therefore has a hash."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> Any:
        return HashableMap, (dict(self),)


class JavaNumber(float):
    """NaN or -0.0, where they are found again: as objects of Java they equal themselves alone."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JavaNumber) and repr(self) == repr(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(repr(self))

    def __reduce__(self) -> Any:
        return JavaNumber, (float(self),)


_NAN, _MINUS_ZERO = JavaNumber(math.nan), JavaNumber(-0.0)


class HashableRowsOperator(RowOperator):
    """The same rows, with values in some columns that are found again."""

    def __init__(self, spec: HashableRowsSpec) -> None:
        super().__init__()
        self._columns = [(column, hashable(type_)) for column, type_ in spec.columns]

    def process_batch(self, batch: Batch) -> None:
        self.records_in += len(batch.values)
        rows = []
        for row in batch.values:
            values = list(row)
            for column, convert in self._columns:
                values[column] = convert(values[column])
            rows.append(tuple(values))
        self.emit_rows(rows)


def hashable(type_: t.DataType) -> Callable[[Any], Any]:
    """Makes a value that has a hash of one of a type."""
    if isinstance(type_, t.MapType | t.MultisetType):
        inside = type_.value_type if isinstance(type_, t.MapType) else None
        key = hashable(type_.key_type if isinstance(type_, t.MapType) else type_.element_type)
        value = _same if inside is None else hashable(inside)
        return lambda x: (
            None if x is None else HashableMap((key(k), value(v)) for k, v in x.items())
        )
    if isinstance(type_, t.ArrayType):
        element = hashable(type_.element_type)
        return lambda x: None if x is None else tuple(map(element, x))
    if isinstance(type_, t.RowType):
        fields = [hashable(f.data_type) for f in type_.fields]
        return lambda x: None if x is None else tuple(f(v) for f, v in zip(fields, x, strict=True))
    return _same if not isinstance(type_, t.FloatType | t.DoubleType) else _as_in_java


def _as_in_java(value: Any) -> Any:
    if value:
        return value if value == value else _NAN
    return _MINUS_ZERO if value is not None and math.copysign(1, value) < 0 else value


def _same(value: Any) -> Any:
    return value
