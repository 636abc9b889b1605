"""Windows of the Table API: groups of rows by time, and rows around a row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.common.errors import FunctionTypeError
from headrace.sql.parser import syntax as x
from headrace.sql.table_api.expression_nodes import node_of
from headrace.sql.table_api.windows import GroupWindow, OverWindow
from headrace.table.expression import Expression

__all__ = [
    "GroupWindow",
    "Over",
    "OverWindow",
    "OverWindowPartitioned",
    "OverWindowPartitionedOrdered",
    "OverWindowPartitionedOrderedPreceding",
    "Session",
    "SessionWithGap",
    "SessionWithGapOnTime",
    "Slide",
    "SlideWithSize",
    "SlideWithSizeAndSlide",
    "SlideWithSizeAndSlideOnTime",
    "Tumble",
    "TumbleWithSize",
    "TumbleWithSizeOnTime",
]


def _column(field: Any) -> x.Node:
    node = node_of(field) if isinstance(field, Expression) else None
    if not isinstance(node, x.Name):
        raise FunctionTypeError(f"a window needs a column, such as col('rowtime'), not {field!r}")
    return node


def _name(alias: Any) -> str:
    if isinstance(alias, str):
        return alias
    node = node_of(alias) if isinstance(alias, Expression) else None
    if isinstance(node, x.Name):
        return node.parts[0]
    raise FunctionTypeError(f"the name of a window must be a str, not {alias!r}")


@dataclass(frozen=True)
class _OnTime:
    kind: str
    lengths: tuple[x.Node, ...]
    time: x.Node

    def alias(self, alias: str) -> GroupWindow:
        """The name by which `group_by` and `select` know the window."""
        return GroupWindow(self.kind, self.lengths, self.time, _name(alias))


class TumbleWithSizeOnTime(_OnTime):
    """Tumbling windows of a time."""


class SlideWithSizeAndSlideOnTime(_OnTime):
    """Sliding windows of a time."""


class SessionWithGapOnTime(_OnTime):
    """Session windows of a time."""


@dataclass(frozen=True)
class TumbleWithSize:
    """Tumbling windows of a size."""

    size: x.Node

    def on(self, time_field: Expression[Any]) -> TumbleWithSizeOnTime:
        """The time attribute."""
        return TumbleWithSizeOnTime("TUMBLE", (self.size,), _column(time_field))


@dataclass(frozen=True)
class SlideWithSizeAndSlide:
    """Sliding windows of a size and a slide."""

    size: x.Node
    slide: x.Node

    def on(self, time_field: Expression[Any]) -> SlideWithSizeAndSlideOnTime:
        """The time attribute."""
        return SlideWithSizeAndSlideOnTime("HOP", (self.slide, self.size), _column(time_field))


@dataclass(frozen=True)
class SlideWithSize:
    """Sliding windows of a size."""

    size: x.Node

    def every(self, slide: Expression[Any]) -> SlideWithSizeAndSlide:
        """How far the next window begins after the last one."""
        return SlideWithSizeAndSlide(self.size, node_of(slide))


@dataclass(frozen=True)
class SessionWithGap:
    """Session windows of a gap."""

    gap: x.Node

    def on(self, time_field: Expression[Any]) -> SessionWithGapOnTime:
        """The time attribute."""
        return SessionWithGapOnTime("SESSION", (self.gap,), _column(time_field))


class Tumble:
    """Windows that follow one another.

    Example:
        >>> Tumble.over(lit(10).minutes).on(col("rowtime")).alias("w")
    """

    @classmethod
    def over(cls, size: Expression[Any]) -> TumbleWithSize:
        """Windows of a size."""
        return TumbleWithSize(node_of(size))


class Slide:
    """Windows that overlap.

    Example:
        >>> Slide.over(lit(10).minutes).every(lit(5).minutes).on(col("rowtime")).alias("w")
    """

    @classmethod
    def over(cls, size: Expression[Any]) -> SlideWithSize:
        """Windows of a size."""
        return SlideWithSize(node_of(size))


class Session:
    """Windows that end when nothing comes for a while.

    Example:
        >>> Session.with_gap(lit(10).minutes).on(col("rowtime")).alias("w")
    """

    @classmethod
    def with_gap(cls, gap: Expression[Any]) -> SessionWithGap:
        """Windows that end after a gap."""
        return SessionWithGap(node_of(gap))


def _bound(value: Any, preceding: bool) -> tuple[x.Bound, bool | None]:
    """An end of a frame, and whether it counts rows; None if it does not say."""
    node = node_of(value)
    if isinstance(node, x.Apply) and node.function in ("$unbounded", "$current"):
        by_rows = bool(getattr(node.args[0], "value", False))
        if node.function == "$current":
            return x.Bound(None, current=True), by_rows
        return x.Bound(None, preceding), by_rows
    if isinstance(node, x.Apply) and node.function == "$rows":
        return x.Bound(node.args[0], preceding), True
    return x.Bound(node, preceding), False


@dataclass(frozen=True)
class OverWindowPartitionedOrderedPreceding:
    """A window with its start."""

    window: x.Over

    def alias(self, alias: str) -> OverWindow:
        """The name by which `over` knows the window."""
        return OverWindow(_name(alias), self.window)

    def following(self, following: Expression[Any]) -> OverWindowPartitionedOrderedPreceding:
        """The end of the window."""
        bound, _ = _bound(following, preceding=False)
        w = self.window
        return OverWindowPartitionedOrderedPreceding(
            x.Over(w.partition, w.order, w.rows, w.start, bound)
        )


@dataclass(frozen=True)
class OverWindowPartitionedOrdered:
    """A window with its order."""

    partition: tuple[x.Node, ...]
    order: x.Order

    def alias(self, alias: str) -> OverWindow:
        """The name by which `over` knows the window, which begins with the first row."""
        return OverWindow(_name(alias), x.Over(self.partition, (self.order,), False))

    def preceding(self, preceding: Expression[Any]) -> OverWindowPartitionedOrderedPreceding:
        """The start of the window."""
        bound, rows = _bound(preceding, preceding=True)
        end = x.Bound(None, current=True)
        return OverWindowPartitionedOrderedPreceding(
            x.Over(self.partition, (self.order,), bool(rows), bound, end)
        )


@dataclass(frozen=True)
class OverWindowPartitioned:
    """A window of the rows of a key."""

    partition: tuple[x.Node, ...]

    def order_by(self, order_by: Expression[Any]) -> OverWindowPartitionedOrdered:
        """The time attribute that rows are ordered by."""
        node = node_of(order_by)
        order = node if isinstance(node, x.Order) else x.Order(node)
        return OverWindowPartitionedOrdered(self.partition, order)


class Over:
    """Rows around each row.

    Example:
        >>> Over.partition_by(col("a")).order_by(col("rowtime")).preceding(
        ...     lit(10).minutes
        ... ).alias("w")
    """

    @classmethod
    def order_by(cls, order_by: Expression[Any]) -> OverWindowPartitionedOrdered:
        """Over all rows, in an order."""
        return OverWindowPartitioned(()).order_by(order_by)

    @classmethod
    def partition_by(cls, *partition_by: Expression[Any]) -> OverWindowPartitioned:
        """Over the rows of a key."""
        return OverWindowPartitioned(tuple(node_of(p) for p in partition_by))
