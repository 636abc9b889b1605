"""Specs of the operators in this package; each names the class that does the work in a slot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from headrace.graph.specs import OperatorSpec
from headrace.sql.operators.emission import Emission

_PACKAGE = "headrace.sql.operators.ranking"


@dataclass(frozen=True)
class RankSpec(OperatorSpec):
    """The first rows of each key in an order: column, descending, nulls first."""

    order: tuple[tuple[int, bool, bool], ...]
    start: int
    end: int
    numbered: bool
    changelog: bool
    function: str = "ROW_NUMBER"
    emission: Emission = Emission.NET_CHANGE
    ttl_ms: int = 0

    kind: ClassVar[str] = "Rank"
    operator: ClassVar[str] = f"{_PACKAGE}.rank:RankOperator"


@dataclass(frozen=True)
class RisingRankSpec(OperatorSpec):
    """The same for rows that replace each other by some columns, `rising`, and only move up."""

    order: tuple[tuple[int, bool, bool], ...]
    start: int
    end: int
    numbered: bool
    rising: tuple[int, ...]
    ttl_ms: int = 0

    kind: ClassVar[str] = "Rank"
    operator: ClassVar[str] = f"{_PACKAGE}.rising:RisingRankOperator"


@dataclass(frozen=True)
class WindowRankSpec(OperatorSpec):
    """The first rows of each key in every window, when it is over.

    With `latest` the latest ones of rows that are equal in the order come first.
    """

    order: tuple[tuple[int, bool, bool], ...]
    start: int
    end: int
    numbered: bool
    window_end: int
    zone: str | None = None
    latest: bool = False

    kind: ClassVar[str] = "WindowRank"
    operator: ClassVar[str] = f"{_PACKAGE}.rank:WindowRankOperator"


@dataclass(frozen=True)
class LocalRankSpec(OperatorSpec):
    """The part of Top-N before the exchange, over rows that are only added.

    Attributes:
        key: Columns that rows are ranked within.
        order: Column, descending, nulls first.
        end: How many rows of a key are wanted.
        window_end: The column with the end of a row's window, if the ranking is within windows.
        zone: That of the clock that windows follow.
        latest: Whether of rows that are equal in the order the latest ones come first.
    """

    key: tuple[int, ...]
    order: tuple[tuple[int, bool, bool], ...]
    end: int
    window_end: int | None = None
    zone: str | None = None
    latest: bool = False

    kind: ClassVar[str] = "LocalRank"
    operator: ClassVar[str] = f"{_PACKAGE}.local_rank:LocalRankOperator"


@dataclass(frozen=True)
class SegmentRankSpec(OperatorSpec):
    """The same for columns of Spark's JVM, behind which there may be one with the watermark.

    Attributes:
        rank: What is done with rows.
        width: How many columns a row has.
        positions: Where the columns of a batch belong.
        groups: Columns of a batch that rows are ranked within.
        order: Columns of a batch, descending, nulls first.
        watermark: Whether the last column of a batch is the watermark of a row.
    """

    rank: LocalRankSpec
    width: int
    positions: tuple[int, ...]
    groups: tuple[int, ...]
    order: tuple[tuple[int, bool, bool], ...]
    watermark: bool

    kind: ClassVar[str] = "SegmentRank"
    operator: ClassVar[str] = f"{_PACKAGE}.local_rank:SegmentRankOperator"


@dataclass(frozen=True)
class FirstRowSpec(OperatorSpec):
    """The first row of each key by event time."""

    order: int
    ttl_ms: int = 0

    kind: ClassVar[str] = "Deduplicate"
    operator: ClassVar[str] = f"{_PACKAGE}.first_row:FirstRowOperator"


@dataclass(frozen=True)
class DeduplicateSpec(OperatorSpec):
    """The first row of each key that comes, or the last one, perhaps by event time."""

    order: int
    last: bool
    event_time: bool
    emission: Emission = Emission.NET_CHANGE
    ttl_ms: int = 0

    kind: ClassVar[str] = "Deduplicate"
    operator: ClassVar[str] = f"{_PACKAGE}.deduplicate:DeduplicateOperator"
