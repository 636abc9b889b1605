"""Filters and projections that are done on columns: simple tests, and a choice of columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headrace.sql.codegen.column_calls import ColumnValue, column_value
from headrace.sql.plan.expressions import Column, Expression

__all__ = ["ColumnCalc", "column_calc"]


@dataclass(frozen=True)
class ColumnCalc:
    """Rows that pass all tests, with some of their columns; None: with all."""

    tests: tuple[ColumnValue, ...]
    picks: tuple[int, ...] | None


def column_calc(
    conditions: Sequence[Expression], projections: Sequence[Expression] | None
) -> ColumnCalc | None:
    """What to do with columns; None if rows have to be looked at."""
    tests = [column_value(c) for c in conditions]
    picks = None if projections is None else [p.index for p in projections if type(p) is Column]
    if projections is not None and not 0 < len(picks or ()) == len(projections):
        return None
    known = tuple(x for x in tests if x is not None)
    if len(known) < len(tests):
        return None
    return ColumnCalc(known, None if picks is None else tuple(picks))
