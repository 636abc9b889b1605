"""How the values of tables look to the converters of `headrace.formats`: their internal form."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Any

from headrace.common.errors import SqlError
from headrace.formats.shapes import Shape, Values
from headrace.sql.functions.builtin.arithmetic import fit_decimal, float32

__all__ = ["TABLE_VALUES"]


def _fitting(shape: Shape) -> Callable[[Decimal], Decimal]:
    def fit(value: Decimal) -> Decimal:
        found = fit_decimal(value, shape.precision or 0, shape.scale)
        if found is None:
            raise ValueError(f"{value} is not of type {shape}")
        return found

    return fit


def _same(value: Any) -> Any:
    return value


def _tuples(rows: Iterable[Sequence[Any]]) -> list[Any]:
    return list(map(tuple, rows))


# A row may end with the kind of its change; whoever takes fields by their shape passes over it.
TABLE_VALUES = Values(
    tuple,
    lambda names: tuple,
    lambda names: _tuples,
    lambda names: _same,
    float32,
    _fitting,
    SqlError,
)
