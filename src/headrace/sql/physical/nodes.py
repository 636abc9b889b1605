"""Nodes that only physical rules make: where rows meet, in how many phases, and who runs them.

A physical plan has these among the logical nodes that need no choice. Each is one operator, one
exchange or one source; translation decides nothing any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

from headrace.sql.functions.registry import Function
from headrace.sql.plan import nodes as n
from headrace.sql.plan.expressions import (
    AggregateCall,
    Call,
    Expression,
    Schema,
    SortKey,
    all_parts,
    expression_text,
)
from headrace.sql.segments.segment import Segment

__all__ = [
    "Calc",
    "ConstraintEnforcer",
    "Distribution",
    "Exchange",
    "GlobalAggregate",
    "GlobalWindowAggregate",
    "LocalAggregate",
    "LocalRank",
    "LocalWindowAggregate",
    "MarkInserts",
    "PhysicalNode",
    "SparkAggregate",
    "SparkColumns",
    "SparkRank",
    "SparkRows",
    "SparkSegment",
    "UpsertMaterialize",
]


class PhysicalNode(n.Node):
    """Base: says by itself what EXPLAIN shows of it."""

    def title(self) -> str:
        """What is before the parentheses."""
        return type(self).__name__

    def texts(self) -> list[str]:
        """The parts between the parentheses."""
        return [f"fields=[{', '.join(self.schema.names)}]"]


class Distribution(Enum):
    """Which rows meet in one subtask."""

    HASH = "hash"
    """Those with equal columns; without columns, all."""

    KEYED = "keyed"
    """Those whose key is the same: a local phase has put it in front."""

    SINGLE = "single"
    """All, in the order in which they come."""


@dataclass(frozen=True, eq=False)
class Exchange(n.OneInput, PhysicalNode):
    """Rows go to the subtasks where they meet."""

    distribution: Distribution
    columns: tuple[int, ...] = ()

    @property
    def gathers(self) -> bool:
        """Whether all rows meet in one subtask."""
        return not self.columns

    def texts(self) -> list[str]:
        if self.gathers:
            return ["distribution=[single]"]
        return [f"distribution=[hash[{_names(self.input, self.columns)}]]"]


@dataclass(frozen=True, eq=False)
class Calc(n.OneInput, PhysicalNode):
    """Filters and a projection in one piece of generated code; None keeps all columns."""

    conditions: tuple[Expression, ...]
    projections: tuple[Expression, ...] | None

    def title(self) -> str:
        expressions = (*self.conditions, *(self.projections or ()))
        users = any(_calls_users_function(part) for e in expressions for part in all_parts(e))
        return "PythonCalc" if users else "Calc"

    def texts(self) -> list[str]:
        names = self.input.schema.names
        parts = []
        if self.projections is not None:
            shown = []
            for e, f in zip(self.projections, self.schema, strict=True):
                text = expression_text(e, names)
                shown.append(text if text == f.name else f"{text} AS {f.name}")
            parts.append(f"select=[{', '.join(shown)}]")
        if self.conditions:
            where = " AND ".join(expression_text(c, names) for c in self.conditions)
            parts.append(f"where=[{where}]")
        return parts


@dataclass(frozen=True, eq=False)
class MarkInserts(n.OneInput, PhysicalNode):
    """Rows of a stream that only grows get the kind of an insert, beside others that change."""

    makes_changes: ClassVar[bool] = True
    marks_inserts: ClassVar[bool] = True


@dataclass(frozen=True, eq=False)
class HashableRows(n.OneInput, PhysicalNode):
    """The same rows, with maps in some columns that have a hash."""

    columns: tuple[int, ...]

    def texts(self) -> list[str]:
        return [f"columns=[{_names(self, self.columns)}]"]


@dataclass(frozen=True, eq=False)
class ConstraintEnforcer(n.OneInput, PhysicalNode):
    """Rows for a table are what its columns are declared to be.

    Attributes:
        declared: The table's columns.
        not_null: Columns that may be NULL and must not.
        checked: Columns whose values are looked at: lengths, and constraints inside of them.
    """

    declared: Schema
    not_null: tuple[int, ...]
    checked: tuple[int, ...]

    def texts(self) -> list[str]:
        parts = {"notNull": self.not_null, "checked": self.checked}
        return [f"{k}=[{_names(self, columns)}]" for k, columns in parts.items() if columns]


@dataclass(frozen=True, eq=False)
class UpsertMaterialize(n.OneInput, PhysicalNode):
    """The newest row that is left of each key of a sink."""

    keys: tuple[int, ...]

    def texts(self) -> list[str]:
        return [f"key=[{_names(self, self.keys)}]"]


@dataclass(frozen=True, eq=False)
class ResolveConflicts(n.OneInput, PhysicalNode):
    """The first row of each key of a sink, or an error if there are several at a watermark.

    Rows of the query that have the same `row_key` are one row; without it all of their columns
    have to be the same.
    """

    makes_changes: ClassVar[bool] = True

    keys: tuple[int, ...]
    row_key: tuple[int, ...] | None
    action: str

    def texts(self) -> list[str]:
        return [f"key=[{_names(self, self.keys)}]", f"conflictStrategy=[{self.action}]"]


@dataclass(frozen=True, eq=False)
class LocalAggregate(n.OneInput, PhysicalNode):
    """Aggregates what one sender has; a key and its accumulator are sent, once an epoch.

    The schema is still that of the input, which the global phase speaks of.
    """

    group: tuple[int, ...]
    calls: tuple[AggregateCall, ...]

    def texts(self) -> list[str]:
        return _aggregate_texts(self.input, self.group, self.calls)


@dataclass(frozen=True, eq=False)
class LocalWindowAggregate(n.OneInput, PhysicalNode):
    """The same for slices of windows, for pieces of sessions, or for windows that are attached."""

    window: n.Window
    group: tuple[int, ...]
    calls: tuple[AggregateCall, ...]
    attached: bool = False

    def texts(self) -> list[str]:
        attached = ", attached" if self.attached else ""
        window = f"window=[{self.window.text(self.input.schema.names)}{attached}]"
        return [window, *_aggregate_texts(self.input, self.group, self.calls)]


@dataclass(frozen=True, eq=False)
class GlobalAggregate(n.Aggregate):
    """Merges the accumulators of a local phase."""


@dataclass(frozen=True, eq=False)
class GlobalWindowAggregate(n.WindowAggregate):
    """Merges the accumulators of a local phase."""


@dataclass(frozen=True, eq=False)
class LocalRank(n.OneInput, PhysicalNode):
    """Rows that may be among the first ones, as far as one sender knows.

    Attributes:
        window_end: The column of the end of a window, if rows are ranked within windows.
        zoned: Whether windows follow the session's clock.
        latest: Whether of rows that are equal in the order the latest ones come first.
    """

    partition: tuple[int, ...]
    order: tuple[SortKey, ...]
    end: int
    window_end: int | None = None
    zoned: bool = False
    latest: bool = False

    def texts(self) -> list[str]:
        order = (
            f"{self.schema.names[k.index]}{' DESC' if k.descending else ''}" for k in self.order
        )
        return [
            f"first=[{self.end}]",
            f"partitionBy=[{_names(self, self.partition)}]",
            f"orderBy=[{', '.join(order)}]",
        ]


@dataclass(frozen=True, eq=False)
class SparkSegment(PhysicalNode):
    """A source that Spark's JVM runs: what it stands for is in the segment."""

    segment: Segment

    def texts(self) -> list[str]:
        return [f"fields=[{_names(self.segment.nodes[-1], self.segment.columns)}]"]


@dataclass(frozen=True, eq=False)
class SparkRows(SparkSegment):
    """Rows as tuples."""


@dataclass(frozen=True, eq=False)
class SparkColumns(SparkSegment):
    """Batches of columns, for a sink that takes them as they are."""


@dataclass(frozen=True, eq=False)
class SparkAggregate(SparkSegment):
    """Keys and accumulators: the local phase of an aggregate."""

    group: tuple[int, ...]
    calls: tuple[AggregateCall, ...]

    def texts(self) -> list[str]:
        return _aggregate_texts(self, self.group, self.calls)


@dataclass(frozen=True, eq=False)
class SparkRank(SparkSegment):
    """Rows that may be among the first ones."""

    rank: LocalRank

    def texts(self) -> list[str]:
        return self.rank.texts()


def _calls_users_function(e: Expression) -> bool:
    return isinstance(e, Call) and not isinstance(e.function, Function)


def _names(node: n.Node, columns: Sequence[int]) -> str:
    return ", ".join(node.schema.names[i] for i in columns)


def _aggregate_texts(
    below: n.Node, group: Sequence[int], calls: Sequence[AggregateCall]
) -> list[str]:
    parts = [f"groupBy=[{_names(below, group)}]"] if group else []
    shown = ", ".join(f"{c.text(below.schema.names)} AS {c.name}" for c in calls)
    return [*parts, f"select=[{shown}]"]
