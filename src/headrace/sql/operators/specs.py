"""Specs of the operators in this package; each names the class that does the work in a slot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from headrace.graph.specs import OperatorSpec
from headrace.sql.codegen.aggregates import AggregateCode
from headrace.sql.codegen.code import GeneratedCode
from headrace.sql.codegen.column_calc import ColumnCalc
from headrace.sql.operators.emission import Emission
from headrace.sql.plan.patterns import PatternVariable, Reference
from headrace.sql.types import DataType

_PACKAGE = "headrace.sql.operators"


@dataclass(frozen=True)
class CalcSpec(OperatorSpec):
    """Filter and projection; `columns` says how columns are filtered, if they can be."""

    code: GeneratedCode
    columns: ColumnCalc | None = None

    kind: ClassVar[str] = "Calc"
    operator: ClassVar[str] = f"{_PACKAGE}.calc:CalcOperator"


@dataclass(frozen=True)
class WatermarkSpec(OperatorSpec):
    """Watermarks of a column; without code those of the source stay.

    `follows` says that a later time never gives an earlier watermark, as `ts - INTERVAL '5' SECOND`
    does: then only the latest row is looked at. With `rise_ms` a watermark comes after each row by
    which it has risen by more than that, rather than after each batch.
    """

    column: int
    code: GeneratedCode | None
    idle_timeout_ms: int = 0
    follows: bool = False
    rise_ms: int | None = None

    kind: ClassVar[str] = "WatermarkAssigner"
    operator: ClassVar[str] = f"{_PACKAGE}.watermark:WatermarkOperator"


@dataclass(frozen=True)
class MatchValues:
    """Code over values of the rows of a match; `aggregates` stand where references have calls."""

    references: tuple[Reference, ...]
    aggregates: tuple[AggregateCode | None, ...]
    code: GeneratedCode


@dataclass(frozen=True)
class MatchSpec(OperatorSpec):
    """MATCH_RECOGNIZE; see `plan.match.Match`. Conditions keep rows, `measures` makes new ones."""

    partition: tuple[int, ...]
    order: tuple[tuple[int, bool, bool], ...]
    event_time: bool
    pattern: tuple[PatternVariable, ...]
    conditions: tuple[MatchValues | None, ...]
    measures: MatchValues
    skip: str
    skip_to: int | None
    within_ms: int | None

    kind: ClassVar[str] = "Match"
    operator: ClassVar[str] = f"{_PACKAGE}.match:MatchOperator"

    @property
    def time(self) -> int:
        """The column that orders rows."""
        return self.order[0][0]


@dataclass(frozen=True)
class SetOperationSpec(OperatorSpec):
    """INTERSECT and EXCEPT, over how often a row is on each side."""

    operation: str
    all: bool
    emission: Emission = Emission.NET_CHANGE
    ttl_ms: int = 0

    kind: ClassVar[str] = "SetOperation"
    operator: ClassVar[str] = f"{_PACKAGE}.set_operation:SetOperationOperator"


@dataclass(frozen=True)
class HashableRowsSpec(OperatorSpec):
    """Gives maps a hash, in columns of these types."""

    columns: tuple[tuple[int, DataType], ...]

    kind: ClassVar[str] = "HashableRows"
    operator: ClassVar[str] = f"{_PACKAGE}.hashable_rows:HashableRowsOperator"


@dataclass(frozen=True)
class CorrelateSpec(OperatorSpec):
    """Rows with the rows that a function makes of them.

    Pairs have to fulfil the condition, with a number at their end, before rows have no partner.
    """

    arguments: GeneratedCode
    function: Any
    width: int
    outer: bool
    changelog: bool
    condition: GeneratedCode | None = None

    kind: ClassVar[str] = "Correlate"
    operator: ClassVar[str] = f"{_PACKAGE}.correlate:CorrelateOperator"


@dataclass(frozen=True)
class BatchedCallsSpec(OperatorSpec):
    """Adds the results of functions that take many rows at once.

    Attributes:
        arguments: For each function the code that makes a row of its arguments.
        functions: Functions of a list of such rows.
        changelog: Whether rows end with their kind.
        size: The most rows that a function gets at once.
        places: For each function the columns that are its arguments, if all functions take columns
            and no argument has to be computed.
    """

    arguments: tuple[GeneratedCode, ...]
    functions: tuple[Any, ...]
    changelog: bool
    size: int
    places: tuple[tuple[int, ...], ...] | None = None

    kind: ClassVar[str] = "BatchedCalls"
    operator: ClassVar[str] = f"{_PACKAGE}.batched_calls:BatchedCallsOperator"


@dataclass(frozen=True)
class DecodeSpec(OperatorSpec):
    """Messages to rows."""

    decoder: Any

    imports: ClassVar[tuple[str, ...]] = ("pyarrow.csv", "pyarrow.json", "pyarrow.acero")
    kind: ClassVar[str] = "Decode"
    operator: ClassVar[str] = f"{_PACKAGE}.coding:DecodeOperator"


@dataclass(frozen=True)
class EncodeSpec(OperatorSpec):
    """Rows to messages."""

    encoder: Any

    kind: ClassVar[str] = "Encode"
    operator: ClassVar[str] = f"{_PACKAGE}.coding:EncodeOperator"


@dataclass(frozen=True)
class ExternalRowsSpec(OperatorSpec):
    """Internal rows to `Row` objects, with a timestamp of the column `rowtime`.

    With an `upsert_key` rows replace each other, and no row before an update comes out.
    """

    names: tuple[str, ...]
    types: tuple[Any, ...]
    changelog: bool
    zone: str
    rowtime: int | None = None
    upsert_key: tuple[int, ...] | None = None

    kind: ClassVar[str] = "TableToDataStream"
    operator: ClassVar[str] = f"{_PACKAGE}.boundary:ExternalRowsOperator"


@dataclass(frozen=True)
class InternalRowsSpec(OperatorSpec):
    """`Row` objects, tuples and the like to internal rows.

    `rowtimes` are columns at the end that have the record's timestamp: True where they show it on
    the session's clock.
    """

    names: tuple[str, ...]
    types: tuple[Any, ...]
    changelog: bool
    zone: str
    whole: bool = False
    rowtimes: tuple[bool, ...] = ()

    kind: ClassVar[str] = "DataStreamToTable"
    operator: ClassVar[str] = f"{_PACKAGE}.boundary:InternalRowsOperator"
