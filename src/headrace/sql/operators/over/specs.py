"""Specs of the operators in this package; each names the class that does the work in a slot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from headrace.graph.specs import OperatorSpec
from headrace.sql.codegen.aggregates import AggregateCode
from headrace.sql.operators.emission import Emission

_PACKAGE = "headrace.sql.operators.over"


@dataclass(frozen=True)
class OverSpec(OperatorSpec):
    """Adds aggregates of the rows before each row."""

    code: AggregateCode
    time: int
    event_time: bool
    rows: bool
    start: int | None
    ttl_ms: int = 0

    kind: ClassVar[str] = "OverAggregate"
    operator: ClassVar[str] = f"{_PACKAGE}.by_time:OverOperator"


@dataclass(frozen=True)
class SortedOverSpec(OperatorSpec):
    """Adds functions of the rows around each row, once all rows are there (batch mode).

    Attributes:
        code: How the aggregates among the functions are computed.
        order: Column, descending, nulls first.
        rows: Whether the ends of the frame count rows, rather than values of the first column.
        start: Before the current row; None is the first one.
        end: Behind the current row; None is the last one.
        functions: One for each new column: None for the next aggregate of `code`, or name, column
            of the argument and constants of a function of the row's place.
    """

    code: AggregateCode
    order: tuple[tuple[int, bool, bool], ...]
    rows: bool
    start: int | None
    end: int | None
    functions: tuple[tuple[str, int | None, tuple[Any, ...]] | None, ...]

    kind: ClassVar[str] = "OverAggregate"
    operator: ClassVar[str] = f"{_PACKAGE}.sorted:SortedOverOperator"


@dataclass(frozen=True)
class AnyOrderOverSpec(SortedOverSpec):
    """The same on a stream, of the rows that are there: results change when rows come between.

    Attributes:
        changes: Whether rows end with their kind.
        emission: When results come out.
        ttl_ms: How long rows of a key are kept after the last change; 0 is for ever.
    """

    changes: bool = False
    emission: Emission = Emission.NET_CHANGE
    ttl_ms: int = 0

    kind: ClassVar[str] = "OverAggregate"
    operator: ClassVar[str] = f"{_PACKAGE}.sorted:AnyOrderOverOperator"
