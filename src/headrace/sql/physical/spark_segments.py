"""Finds the parts of a plan that Spark's JVM runs, and puts a source in their place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from enum import IntEnum
from typing import Any

from headrace.sql import types as t
from headrace.sql.codegen.column_places import column_places
from headrace.sql.physical.nodes import (
    GlobalAggregate,
    LocalAggregate,
    LocalRank,
    LocalWindowAggregate,
    ResolveConflicts,
    SparkAggregate,
    SparkColumns,
    SparkRank,
    SparkRows,
)
from headrace.sql.physical.settings import PlanSettings
from headrace.sql.plan import nodes as n
from headrace.sql.plan.expressions import Call, Expression, columns_used
from headrace.sql.plan.joins import IntervalJoin, Join, TemporalJoin
from headrace.sql.plan.match import Match
from headrace.sql.plan.process_table import ProcessTable
from headrace.sql.segments.aggregates import local_places
from headrace.sql.segments.expressions import UnsupportedBySparkError
from headrace.sql.segments.ranking import check_rankable
from headrace.sql.segments.segment import LocalPhase, LocalRanking
from headrace.sql.segments.steps import STEPS, WATERMARK, Steps, chain_of, needed_below
from headrace.sql.segments.windows import is_utc, session_places, slice_end_text
from headrace.sql.types.type_rules import is_character, is_timestamp

__all__ = ["spark_segments"]

_ON_TIME = (
    n.WindowTable,
    n.WindowAggregate,
    n.RowWindowAggregate,
    n.OverAggregate,
    n.Sort,
    IntervalJoin,
    TemporalJoin,
    Match,
)


class _Marks(IntEnum):
    """Who above a node needs its watermarks; the higher, the further down they are kept."""

    NOBODY = 0
    #: What looks at a time attribute: behind a regular join there is none any more.
    TIMES = 1
    #: Whoever takes a stream out of SQL; behind an aggregate of groups they do without.
    OUTSIDE = 2
    #: What looks at watermarks whatever rows they come with.
    ALL = 3


def spark_segments(plans: Sequence[n.Node], settings: PlanSettings) -> list[n.Node]:
    """Plans in which Spark reads, filters, projects and pre-aggregates what it can."""
    if not settings.spark_segments:
        return list(plans)
    rewriter = _Rewriter(plans, settings)
    return [rewriter.visit(p, None) for p in plans]


class _Rewriter:
    def __init__(self, plans: Sequence[n.Node], settings: PlanSettings) -> None:
        self._settings = settings
        self._done: dict[n.Node, n.Node] = {}
        self._readers = n.count_readers(plans)
        self._marks: dict[n.Node, _Marks] = {}
        for plan in plans:
            self._mark(plan, _Marks.NOBODY if isinstance(plan, n.Sink) else _Marks.OUTSIDE)

    def _mark(self, node: n.Node, wanted: _Marks) -> None:
        """Notes what any reader of a node wants of its watermarks, and of those below it."""
        if wanted <= self._marks.get(node, -1):
            return
        self._marks[node] = wanted
        if type(node) is Join and wanted is _Marks.TIMES:
            wanted = _Marks.NOBODY
        for child in node.inputs:
            self._mark(child, max(wanted, _own_marks(node)))

    def visit(self, node: n.Node, needed: frozenset[int] | None) -> n.Node:
        """The plan of a node, with segments at and below it.

        Args:
            node: The node.
            needed: The columns that are needed above; None: all.
        """
        if self._readers[node] > 1:
            # It runs once for all who read it, and so as none of them alone would like it.
            needed = None
        found = self._done.get(node)
        if found is None:
            found = self._done[node] = self._segment(node, needed)
        return found

    def _segment(self, node: n.Node, needed: frozenset[int] | None) -> n.Node:
        made: n.Node | None = None
        if isinstance(node, LocalAggregate | LocalWindowAggregate):
            made = self._aggregated(node)
        elif type(node) is n.Aggregate:
            made = self._distinct(node)
        elif isinstance(node, LocalRank):
            made = self._ranked(node, needed)
        elif isinstance(node, (n.Scan, *STEPS)):
            made = self._rows(node, needed)
        if made is not None:
            return made
        below = [self.visit(i, needed_below(node, needed)) for i in node.inputs]
        if isinstance(node, n.Sink) and node.target.takes_columns:
            below = [_as_columns(i) for i in below]
        same = all(a is b for a, b in zip(below, node.inputs, strict=True))
        return node if same else node.with_inputs(below)

    def _aggregated(self, node: LocalAggregate | LocalWindowAggregate) -> n.Node | None:
        chain = self._input_chain(node.input)
        if chain is None or self._settings.every_change:
            return None
        if isinstance(node, LocalWindowAggregate) and (
            node.attached or not self._sliced(node.window)
        ):
            return None
        try:
            steps = Steps(chain, needed_below(node, None))
            if steps.compile() < len(chain):
                return None
            _check_keys(node)
            local = _local_phase(node)
        except UnsupportedBySparkError:
            return None
        if local.watermark is not None and not self._has_marks(steps):
            return None
        if local.watermark is None and steps.has_watermark and self._marks[node] is _Marks.ALL:
            return None
        segment = steps.segment(len(chain), local)
        return SparkAggregate(node.schema, segment, node.group, node.calls)

    def _distinct(self, node: n.Aggregate) -> n.Node | None:
        """Aggregates of DISTINCT values: columns are grouped in slots before they are exchanged.

        Spark's own way would be one pass over all rows for each column with DISTINCT.
        """
        settings = self._settings
        if settings.every_change or not settings.two_phase:
            return None
        keys = [node.input.schema[i].type for i in node.group]
        chain = self._input_chain(node.input)
        if chain is None or column_places(node.calls, keys) is None:
            return None
        steps = Steps(chain, needed_below(node, None))
        if steps.compile() < len(chain) or not node.input.schema:
            return None
        if steps.has_watermark and self._marks[node] is _Marks.ALL:
            return None
        columns = SparkColumns(node.input.schema, steps.segment(len(chain)))
        local = LocalAggregate(node.input.schema, columns, node.group, node.calls)
        return GlobalAggregate(
            node.schema, local, node.group, node.calls, node.state_ttl_ms, origin=node.origin
        )

    def _input_chain(
        self, node: n.Node, steps: tuple[type[n.Node], ...] = STEPS
    ) -> list[n.Node] | None:
        """The table and what is done with its rows, unless others read some of that as well."""
        return None if self._readers[node] > 1 else self._chain(node, steps)

    def _chain(self, node: n.Node, steps: tuple[type[n.Node], ...] = STEPS) -> list[n.Node] | None:
        chain = chain_of(node, steps)
        if chain is None or any(self._readers[x] > 1 for x in chain[1:-1]):
            return None
        return chain

    def _sliced(self, window: n.Window) -> bool:
        """Whether rows go into slices by a clock that Spark has, or that it need not have."""
        return window.kind == "SESSION" or self._on_spark_clock(window)

    def _on_spark_clock(self, window: n.Window) -> bool:
        return not window.event_time or not window.zoned or is_utc(self._settings.zone)

    def _has_marks(self, steps: Steps) -> bool:
        return steps.has_watermark and self._settings.idle_timeout_ms == 0

    def _ranked(self, node: LocalRank, needed: frozenset[int] | None) -> n.Node | None:
        """Columns that are ranked before there are any rows."""
        chain = self._input_chain(node.input, (*STEPS, n.WindowTable))
        in_windows = node.window_end is not None
        if chain is None or self._settings.every_change:
            return None
        windows = [x.window for x in chain if isinstance(x, n.WindowTable)]
        if not all(map(self._on_spark_clock, windows)):
            return None
        steps = Steps(chain, needed_below(node, needed))
        used = {*node.partition, *(k.index for k in node.order)}
        try:
            check_rankable([node.schema[i].type for i in sorted(used)])
        except UnsupportedBySparkError:
            return None
        if steps.compile() < len(chain):
            return None
        if not self._has_marks(steps) if in_windows else self._marks[node] and steps.has_watermark:
            return None
        segment = steps.segment(len(chain), LocalRanking(WATERMARK if in_windows else None))
        return SparkRank(node.schema, segment, node)

    def _rows(self, node: n.Node, needed: frozenset[int] | None) -> n.Node | None:
        """The lower part of a chain as a segment, and what is left of it above."""
        chain = self._chain(node)
        if chain is None:
            return None
        steps = Steps(chain, needed)
        # Watermarks of single rows are headrace's business.
        assigners = [i for i, x in enumerate(chain) if isinstance(x, n.WatermarkAssigner)]
        count = min([steps.compile(), *(i for i in assigners if self._marks[chain[i]])])
        while count and not chain[count - 1].schema:
            count -= 1
        if not count:
            return node
        made: n.Node = SparkRows(chain[count - 1].schema, steps.segment(count))
        for above in chain[count:]:
            made = above.with_inputs([made])
        return made


def _own_marks(node: n.Node) -> _Marks:
    """What a node itself wants of the watermarks below it."""
    everything = isinstance(node, ProcessTable | ResolveConflicts)
    if isinstance(node, n.Sink):
        everything = node.target.needs_watermarks
    if everything or any(_asks_for_watermark(getattr(node, f.name)) for f in fields(node)):
        return _Marks.ALL
    return _Marks.TIMES if _looks_at_time(node) else _Marks.NOBODY


def _asks_for_watermark(value: Any) -> bool:
    if isinstance(value, Call) and value.function.name == "CURRENT_WATERMARK":
        return True
    parts = value.children if isinstance(value, Expression) else value
    return isinstance(parts, tuple) and any(map(_asks_for_watermark, parts))


def _looks_at_time(node: n.Node) -> bool:
    """Whether a node looks at a time attribute."""
    if isinstance(node, n.Rank):
        return node.window is not None
    if isinstance(node, n.Deduplicate):
        return node.event_time and not node.last
    return isinstance(node, _ON_TIME)


def _as_columns(node: n.Node) -> n.Node:
    return SparkColumns(node.schema, node.segment) if isinstance(node, SparkRows) else node


def _local_phase(node: LocalAggregate | LocalWindowAggregate) -> LocalPhase:
    fields = tuple(node.input.schema[i] for i in node.group)
    places = tuple(local_places(node.calls))
    columns = column_places(node.calls, [f.type for f in fields])
    if isinstance(node, LocalAggregate) or not node.window.event_time:
        return LocalPhase(node.group, fields, places, columns=columns)
    window, gap = node.window, None
    if window.kind == "SESSION":
        places, gap = (*places, *session_places(window)), window.size
    end = slice_end_text(window)
    return LocalPhase(node.group, fields, places, end, WATERMARK, gap, window, columns)


_KEYS = t.IntegralType | t.BooleanType | t.DateType | t.TimeType


def _check_keys(node: LocalAggregate | LocalWindowAggregate) -> None:
    """Spark groups by values that are compared as headrace does; constants it would leave out."""
    below = node.input
    for key in node.group:
        type_ = below.schema[key].type
        if not (isinstance(type_, _KEYS) or is_timestamp(type_) or is_character(type_)):
            raise UnsupportedBySparkError(f"a key of type {type_.sql_text()}")
    if isinstance(below, n.Project):
        keys = [below.expressions[k] for k in node.group]
        if len(set(keys)) < len(keys) or any(not columns_used(k) for k in keys):
            raise UnsupportedBySparkError("a constant key, or one key twice")
