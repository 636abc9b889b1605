"""Specs of the operators in this package; each names the class that does the work in a slot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from headrace.graph.specs import OperatorSpec
from headrace.sql.codegen.aggregates import AggregateCode
from headrace.sql.codegen.column_places import ColumnPlace
from headrace.sql.operators.emission import Emission

_PACKAGE = "headrace.sql.operators.groups"


@dataclass(frozen=True)
class LocalAggregateSpec(OperatorSpec):
    """The part of a group aggregate before the exchange: `(key, accumulator)` comes out.

    `places` says how accumulators are computed of columns, if they can be.
    """

    code: AggregateCode
    key: tuple[int, ...]
    places: tuple[ColumnPlace, ...] | None = None

    kind: ClassVar[str] = "LocalGroupAggregate"
    operator: ClassVar[str] = f"{_PACKAGE}.aggregate:LocalAggregateOperator"


@dataclass(frozen=True)
class ColumnsAggregateSpec(LocalAggregateSpec):
    """The same for Arrow batches of Spark.

    Attributes:
        width: How many columns the rows have.
        positions: Which of them the batches have.
    """

    width: int = 0
    positions: tuple[int, ...] = ()

    imports: ClassVar[tuple[str, ...]] = ("pyarrow.acero",)
    operator: ClassVar[str] = f"{_PACKAGE}.aggregate:ColumnsAggregateOperator"


@dataclass(frozen=True)
class GroupAggregateSpec(OperatorSpec):
    """A group aggregate that emits what changed.

    Attributes:
        code: How aggregates are computed.
        keys: How many columns the key has.
        merges: Whether accumulators of a local phase come in, rather than rows.
        retracts: Whether rows may be taken back.
        emission: When results come out.
        ttl_ms: How long the state of a key is kept; 0 is for ever.
        always: Whether there is a result without input (no keys, batch mode).
        bundle: How many rows count as one change, where every change comes out.
        renews: Whether a result that changes goes and comes again, rather than being updated.
    """

    code: AggregateCode
    keys: int
    merges: bool = False
    retracts: bool = False
    emission: Emission = Emission.NET_CHANGE
    ttl_ms: int = 0
    always: bool = False
    bundle: int = 1
    renews: bool = False

    kind: ClassVar[str] = "GroupAggregate"
    operator: ClassVar[str] = f"{_PACKAGE}.aggregate:GroupAggregateOperator"


@dataclass(frozen=True)
class SegmentAggregateSpec(OperatorSpec):
    """What Spark's JVM has aggregated, as accumulators by key, or by key and slice.

    Attributes:
        keys: How many columns the key has.
        empty: What stands for NULL in each place of an accumulator.
        windows: Whether the column after the key is the end of a slice, and the last column
            the watermark of the rows.
        gap: That of sessions; then two more columns with the first and the last time of the rows
            are before the watermark, and parts of sessions come out.
    """

    keys: int
    empty: tuple[Any, ...]
    windows: bool = False
    gap: int | None = None

    kind: ClassVar[str] = "SegmentAggregate"
    operator: ClassVar[str] = f"{_PACKAGE}.segment_aggregate:SegmentAggregateOperator"


@dataclass(frozen=True)
class ExpandSpec(OperatorSpec):
    """Each row once for every grouping set."""

    sets: tuple[tuple[tuple[bool, ...], int], ...]
    changelog: bool

    kind: ClassVar[str] = "Expand"
    operator: ClassVar[str] = f"{_PACKAGE}.expand:ExpandOperator"
