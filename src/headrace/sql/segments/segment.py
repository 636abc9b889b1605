"""A part of a plan that Spark's JVM runs.

A segment begins at a table that Spark can read, and goes up through projections, filters and
watermarks as far as everything in them can be written in Spark's SQL. Where a whole input of an
aggregate can, the local phase of the aggregate belongs to the segment too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.sql.codegen.column_places import ColumnPlace
from headrace.sql.plan import nodes as n
from headrace.sql.plan.expressions import Field
from headrace.sql.segments.aggregates import LocalPlace
from headrace.sql.segments.column_reading import ColumnReading

__all__ = ["LocalPhase", "LocalRanking", "Segment", "Select", "Where"]


@dataclass(frozen=True)
class Where:
    """Keeps rows."""

    text: str


@dataclass(frozen=True)
class Select:
    """New columns: names and texts, without those that are not needed."""

    texts: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class LocalPhase:
    """An aggregation before the exchange.

    Attributes:
        keys: Columns of the group.
        key_fields: Their names and types.
        slice_end: The end of a row's slice in milliseconds, if there are windows.
        places: The places of the accumulator.
        watermark: The column of the watermark that a row stands for, in microseconds.
        gap: That of sessions in milliseconds; the last two places are the first and last time.
        window: The window that slices belong to.
        columns: The places as Arrow computes them, without those of sessions; None if it cannot.
    """

    keys: tuple[int, ...]
    key_fields: tuple[Field, ...]
    places: tuple[LocalPlace, ...]
    slice_end: str | None = None
    watermark: str | None = None
    gap: int | None = None
    window: n.Window | None = None
    columns: tuple[ColumnPlace, ...] | None = None


@dataclass(frozen=True)
class LocalRanking:
    """A ranking before the exchange, on the columns that come out.

    Attributes:
        watermark: The column of the watermark that a row stands for, in microseconds, if rows are
            ranked within windows.
    """

    watermark: str | None


@dataclass(frozen=True)
class Segment:
    """What Spark runs for a node of the plan, which it replaces with all below.

    Attributes:
        scan: What Spark reads, as the connector describes it.
        steps: What it does with the rows, in order.
        columns: Which columns of the node come out; the others are not needed.
        nodes: The nodes it stands for, the lowest first.
        local: The local phase of the aggregate or ranking above, if it belongs to the segment.
        in_python: The nodes among them in which Spark calls headrace's own code, each with the
            expressions that this code computes, as texts.
        reading: How Arrow does the same in the slots, if it can; Spark has nothing to do then.
    """

    scan: Any
    steps: tuple[Where | Select, ...]
    columns: tuple[int, ...]
    nodes: tuple[n.Node, ...]
    local: LocalPhase | LocalRanking | None = None
    in_python: tuple[tuple[n.Node, tuple[str, ...]], ...] = ()
    reading: ColumnReading | None = None
