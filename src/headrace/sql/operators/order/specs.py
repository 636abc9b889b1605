"""Specs of the operators in this package; each names the class that does the work in a slot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from headrace.graph.specs import OperatorSpec

_PACKAGE = "headrace.sql.operators.order"


@dataclass(frozen=True)
class SortSpec(OperatorSpec):
    """Rows in an order: at the end, or by event time as the watermark passes."""

    order: tuple[tuple[int, bool, bool], ...]
    time: int | None = None
    offset: int = 0
    fetch: int | None = None

    kind: ClassVar[str] = "Sort"
    operator: ClassVar[str] = f"{_PACKAGE}.sort:SortOperator"


@dataclass(frozen=True)
class LimitSpec(OperatorSpec):
    """The first rows that come."""

    offset: int
    fetch: int | None
    changelog: bool = False
    every_change: bool = False

    kind: ClassVar[str] = "Limit"
    operator: ClassVar[str] = f"{_PACKAGE}.sort:LimitOperator"
