"""Operators of aggregates: of groups, and of windows of time and of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import gcd

from headrace.common.errors import SqlError
from headrace.graph.specs import OperatorSpec
from headrace.sql.codegen.aggregates import AggregateCode, aggregate_code, check_supported
from headrace.sql.codegen.column_places import column_places
from headrace.sql.operators.groups.specs import (
    ColumnsAggregateSpec,
    GroupAggregateSpec,
    LocalAggregateSpec,
)
from headrace.sql.operators.windows.specs import (
    LocalSessionAggregateSpec,
    LocalWindowAggregateSpec,
    RowWindowAggregateSpec,
    SessionAggregateSpec,
    SessionTableSpec,
    WindowAggregateSpec,
    WindowSlices,
    WindowTableSpec,
)
from headrace.sql.physical import nodes as ph
from headrace.sql.physical.settings import PlanSettings
from headrace.sql.plan import nodes as n
from headrace.sql.plan.expressions import AggregateCall
from headrace.sql.translation.operators import Operator, Table, takes_changes

__all__ = ["OPERATORS"]


def _code(below: n.Node, calls: Sequence[AggregateCall], settings: PlanSettings) -> AggregateCode:
    check_supported(calls)
    return aggregate_code(calls, takes_changes(below, settings), settings.zone)


def _aggregate(node: n.Aggregate, settings: PlanSettings) -> Operator:
    ttl = settings.state_ttl_ms if node.state_ttl_ms is None else node.state_ttl_ms
    spec = GroupAggregateSpec(
        _code(node.input, node.calls, settings),
        len(node.group),
        isinstance(node, ph.GlobalAggregate),
        takes_changes(node.input, settings),
        settings.emission,
        ttl,
        # Without groups there is a result even of no rows at all. In batch mode it comes at the
        # end; in a stream, as in Flink, none comes before the first row.
        settings.batch and not node.group,
        # As in PyFlink, many rows go through users' functions at once.
        settings.bundle_size if any(hasattr(c.function, "bound") for c in node.calls) else 1,
        # So are the rows of a table aggregate function in Flink, all of them, whatever changed.
        settings.every_change and any(getattr(c.function, "gives_rows", False) for c in node.calls),
    )
    return Operator("GroupAggregate", spec)


def _local_aggregate(node: ph.LocalAggregate, settings: PlanSettings) -> Operator:
    code, places = _code(node.input, node.calls, settings), None
    # Columns have no place for the kind of a row, so changes are aggregated row by row.
    if not takes_changes(node.input, settings):
        places = column_places(node.calls, [node.input.schema[i].type for i in node.group])
    spec = LocalAggregateSpec(code, node.group, places)
    if isinstance(node.input, ph.SparkColumns):
        width, positions = len(node.input.schema), node.input.segment.columns
        spec = ColumnsAggregateSpec(code, node.group, places, width, positions)
    return Operator(spec.kind, spec)


def _local_window_aggregate(node: ph.LocalWindowAggregate, settings: PlanSettings) -> Operator:
    code, window = _code(node.input, node.calls, settings), node.window
    # In processing time the clock of the global phase says which window a row is in, so the local
    # one knows no windows: it only makes fewer rows of those that come together.
    local: OperatorSpec = LocalAggregateSpec(code, node.group)
    if window.event_time and window.kind == "SESSION" and not node.attached:
        local = LocalSessionAggregateSpec(code, node.group, window.size, window.time)
    elif window.event_time:
        slices = _slices(window, settings)
        local = LocalWindowAggregateSpec(code, node.group, slices, window.time, node.attached)
    return Operator(local.kind, local)


def _slices(window: n.Window, settings: PlanSettings) -> WindowSlices:
    slide = window.slide or window.size
    # The largest step of which every window consists: a row is added to one slice, not to each of
    # the windows that overlap there.
    step = gcd(window.size, slide) if window.kind == "HOP" else slide
    zone = settings.zone if window.zoned else None
    return WindowSlices(window.kind, window.size, slide, window.offset, step, zone)


def _window_table(node: n.WindowTable, settings: PlanSettings) -> Operator:
    window = node.window
    if window.kind == "SESSION":
        zone = settings.zone if window.zoned else None
        session = SessionTableSpec(window.size, window.time, window.event_time, zone)
        return Operator(session.kind, session)
    slices = _slices(window, settings)
    spec = WindowTableSpec(slices, window.time, window.event_time)
    return Operator("WindowTableFunction", spec)


def _mergeable(call: AggregateCall) -> AggregateCall:
    """Sessions are merged: a function that cannot be keeps the rows of its session."""
    if getattr(call.function, "mergeable", True):
        return call
    return replace(call, function=call.function.keeping_rows())


def _window_aggregate(node: n.WindowAggregate, settings: PlanSettings) -> Operator:
    window = node.window
    if window.kind == "SESSION" and not node.attached:
        return _session_aggregate(node, settings)
    code = _code(node.input, node.calls, settings)
    spec = WindowAggregateSpec(
        code,
        len(node.group),
        _slices(window, settings),
        window.time,
        node.properties,
        isinstance(node, ph.GlobalWindowAggregate),
        window.event_time,
        node.attached,
    )
    return Operator("WindowAggregate", spec)


def _session_aggregate(node: n.WindowAggregate, settings: PlanSettings) -> Operator:
    window, code = node.window, _code(node.input, list(map(_mergeable, node.calls)), settings)
    if not code.combinable:
        names = ", ".join(c.function.name for c in node.calls)
        raise SqlError(
            f"session windows are merged, but one of {names} cannot be where rows are taken back; "
            "use windows of a fixed length, or rows that are only added"
        )
    spec = SessionAggregateSpec(
        code,
        len(node.group),
        window.size,
        window.time,
        node.properties,
        window.event_time,
        settings.zone if window.zoned else None,
        isinstance(node, ph.GlobalWindowAggregate),
    )
    return Operator("SessionAggregate", spec)


def _row_window_aggregate(node: n.RowWindowAggregate, settings: PlanSettings) -> Operator:
    check_supported(node.calls)
    code = aggregate_code(node.calls, False, settings.zone)
    spec = RowWindowAggregateSpec(code, len(node.group), node.size, node.slide)
    return Operator("RowWindowAggregate", spec)


OPERATORS: Table = {
    n.Aggregate: _aggregate,
    ph.LocalAggregate: _local_aggregate,
    ph.GlobalAggregate: _aggregate,
    n.WindowTable: _window_table,
    n.WindowAggregate: _window_aggregate,
    ph.LocalWindowAggregate: _local_window_aggregate,
    ph.GlobalWindowAggregate: _window_aggregate,
    n.RowWindowAggregate: _row_window_aggregate,
}
