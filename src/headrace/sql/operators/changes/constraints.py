"""Sees to it that rows are what the columns of a table are declared to be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.common.errors import HeadraceError
from headrace.common.settings.table_options import NOT_NULL_ENFORCER, TYPE_LENGTH_ENFORCER
from headrace.runtime.batch import Batch
from headrace.sql import types as t
from headrace.sql.operators.base import RowOperator
from headrace.sql.operators.changes.specs import ConstraintSpec
from headrace.sql.types.type_rules import declared_length, is_binary

Check = Callable[[Any], Any]
"""The value that is written for one; it may raise `_Broken`."""


class ConstraintOperator(RowOperator):
    """Fails at a row that breaks a constraint, leaves it out, or makes it fit."""

    def __init__(self, spec: ConstraintSpec) -> None:
        super().__init__()
        self._drop = spec.drop
        self._not_null = spec.not_null
        self._names = spec.names
        checks = _Checks(spec)
        self._checks = [(i, checks.of(type_)) for i, type_ in spec.checked]

    def process_batch(self, batch: Batch) -> None:
        self.records_in += len(batch.values)
        columns = self._not_null
        if not self._checks and not any(r[c] is None for r in batch.values for c in columns):
            self.output.emit(batch)
            return
        kept = []
        for row in batch.values:
            try:
                kept.append(self._enforced(row))
            except _Broken as broken:
                if not (self._drop and broken.is_null):
                    raise self.failed(HeadraceError(broken.text()), where="sink") from None
        self.emit_rows(kept)

    def _enforced(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        for i in self._not_null:
            if row[i] is None:
                raise _null().below(self._names[i])
        if not self._checks:
            return row
        values = list(row)
        for i, check in self._checks:
            try:
                values[i] = check(row[i])
            except _Broken as broken:
                raise broken.below(self._names[i]) from None
        return tuple(values)


class _Broken(Exception):
    """A constraint that a value breaks; its path grows on the way up to the column."""

    def __init__(self, is_null: bool, what: str, advice: str) -> None:
        super().__init__(what)
        self.is_null = is_null
        self.path = ""
        self._what = what
        self._advice = advice

    def below(self, step: str) -> _Broken:
        self.path = step + self.path
        return self

    def text(self) -> str:
        return (
            f"Column '{self.path}' is {self._what} is being written into it. You can set job "
            f"configuration {self._advice}"
        )


def _null() -> _Broken:
    return _Broken(
        True,
        "NOT NULL, however, a null value",
        f"'{NOT_NULL_ENFORCER.key}'='DROP' to suppress this exception and drop such records "
        "silently.",
    )


class _Checks:
    """Makes the check of a type, and of the types inside of it."""

    def __init__(self, spec: ConstraintSpec) -> None:
        self._lengths = spec.lengths
        self._collections = spec.collections

    def of(self, type_: t.DataType) -> Check:
        """NULL passes: whether it may be there is asked before."""
        if isinstance(type_, t.RowType):
            return self._row(type_)
        if isinstance(type_, t.MultisetType | t.ArrayType | t.MapType):
            return self._collection(type_)
        length = declared_length(type_)
        if length is None or self._lengths == "IGNORE":
            return lambda value: value
        fixed = isinstance(type_, t.CharType | t.BinaryType)
        if self._lengths == "ERROR":
            return _measured(type_, length, fixed)
        return _cut(length, (b"\0" if is_binary(type_) else " ") if fixed else None)

    def _inner(self, type_: t.DataType) -> Check:
        check, nullable = self.of(type_), type_.is_nullable

        def run(value: Any) -> Any:
            if value is None and not nullable:
                raise _null()
            return check(value)

        return run

    def _row(self, type_: t.RowType) -> Check:
        checks = [(f".{f.name}", self._inner(f.data_type)) for f in type_.fields]

        def run(row: Any) -> Any:
            if row is None:
                return None
            pairs = zip(row, checks, strict=True)
            return tuple([_at(step, check, value) for value, (step, check) in pairs])

        return run

    def _collection(self, type_: t.DataType) -> Check:
        if self._collections and isinstance(type_, t.MapType):
            return self._map(type_)
        if self._collections and type(type_) is t.ArrayType:
            return self._array(type_)
        return lambda value: value

    def _array(self, type_: t.ArrayType) -> Check:
        check = self._inner(type_.element_type)

        def run(items: Any) -> Any:
            if items is None:
                return None
            return tuple([_at(f"[{i}]", check, value) for i, value in enumerate(items)])

        return run

    def _map(self, type_: t.MapType) -> Check:
        of_key, of_value = self._inner(type_.key_type), self._inner(type_.value_type)

        def run(pairs: Any) -> Any:
            if pairs is None:
                return None
            return {_at("[key]", of_key, k): _at("[value]", of_value, v) for k, v in pairs.items()}

        return run


def _at(step: str, check: Check, value: Any) -> Any:
    try:
        return check(value)
    except _Broken as broken:
        raise broken.below(step) from None


def _measured(type_: t.DataType, length: int, fixed: bool) -> Check:
    name = type_.nullable().sql_text()

    def run(value: Any) -> Any:
        if value is not None and (len(value) > length or (fixed and len(value) < length)):
            raise _Broken(
                False,
                f"{name}, however, a string of length {len(value)}",
                f"'{TYPE_LENGTH_ENFORCER.key}' to control this behaviour.",
            )
        return value

    return run


def _cut(length: int, padding: Any) -> Check:
    def run(value: Any) -> Any:
        if value is None:
            return None
        return value[:length] if padding is None else value[:length].ljust(length, padding)

    return run
