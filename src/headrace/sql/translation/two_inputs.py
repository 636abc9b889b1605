"""Operators with several inputs: joins and set operations."""

from __future__ import annotations

from headrace.sql.codegen.calc import calc_code
from headrace.sql.codegen.code import GeneratedCode
from headrace.sql.operators.emission import Emission
from headrace.sql.operators.joins.specs import (
    EveryChangeJoinSpec,
    GrowingJoinSpec,
    IntervalJoinSpec,
    JoinSide,
    JoinSpec,
    LatestJoinSpec,
    MultiJoinSpec,
    TemporalJoinSpec,
    WindowJoinSpec,
)
from headrace.sql.operators.specs import SetOperationSpec
from headrace.sql.physical.nodes import Calc, Exchange, HashableRows
from headrace.sql.physical.settings import PlanSettings
from headrace.sql.plan import nodes as n
from headrace.sql.plan.conditions import conjuncts
from headrace.sql.plan.expressions import Expression
from headrace.sql.plan.joins import (
    IntervalJoin,
    Join,
    JoinKind,
    MultiJoin,
    TemporalJoin,
    WindowJoin,
)
from headrace.sql.rules.interval_joins import is_time_bound
from headrace.sql.translation.operators import Operator, Table, takes_changes

__all__ = ["OPERATORS"]


def _condition(condition: Expression | None, settings: PlanSettings) -> GeneratedCode | None:
    if condition is None:
        return None
    return calc_code(conjuncts(condition), None, zone=settings.zone)


def _join(node: Join, settings: PlanSettings) -> Operator:
    spec = JoinSpec(
        _side(node.left, node.kind.keeps_left, node.ttls_ms[0], settings),
        _side(node.right, node.kind.keeps_right, node.ttls_ms[1], settings),
        node.null_safe,
        _condition(node.condition, settings),
        takes_changes(node, settings),
        settings.emission,
        None if not node.kind.left_only else node.kind is JoinKind.SEMI,
    )
    grows = not any(side.changes or side.ttl_ms for side in (spec.left, spec.right))
    if grows and node.kind is JoinKind.INNER:
        spec = GrowingJoinSpec(**vars(spec))
    elif settings.emission is Emission.EVERY_CHANGE:
        spec = EveryChangeJoinSpec(**vars(spec))
    return Operator("Join", spec)


def _multi_join(node: MultiJoin, settings: PlanSettings) -> Operator:
    outer = (False, *(kind.keeps_left for kind in node.kinds))
    sides = zip(node.relations, outer, node.ttls_ms, strict=True)
    spec = MultiJoinSpec(
        tuple(_side(*side, settings) for side in sides),
        tuple(_condition(c, settings) for c in node.conditions),
        node.null_safe,
        takes_changes(node, settings),
        settings.emission,
    )
    return Operator(spec.kind, spec)


def _temporal_join(node: TemporalJoin, settings: PlanSettings) -> Operator:
    left = _side(node.left, node.kind.keeps_left, node.ttls_ms[0], settings)
    right = _side(node.right, False, node.ttls_ms[1], settings)
    condition = _condition(node.condition, settings)
    if not node.event_time:
        latest = LatestJoinSpec(left, right, node.null_safe, condition)
        return Operator(latest.kind, latest)
    assert node.version_time is not None
    times = node.as_of, node.version_time
    filtered = _is_filtered(node.right)
    spec = TemporalJoinSpec(left, right, times, filtered, node.null_safe, condition)
    return Operator(spec.kind, spec)


def _is_filtered(node: n.Node) -> bool:
    """Whether a filter may drop what an update makes of a row.

    Then the row before it is all there is to see of it. Otherwise it says nothing: the version
    that it was is valid until the time of the row behind the update.
    """
    if isinstance(node, Calc) and node.conditions:
        return True
    passing = isinstance(node, Calc | Exchange | HashableRows | n.WatermarkAssigner)
    return passing and _is_filtered(node.inputs[0])


def _interval_join(node: IntervalJoin, settings: PlanSettings) -> Operator:
    if settings.batch:
        return _join(node, settings)
    condition = None
    conditions = [] if node.condition is None else conjuncts(node.condition)
    further = [c for c in conditions if not is_time_bound(node, c)]
    if further:
        condition = calc_code(further, None, zone=settings.zone)
    bounds = node.bounds
    spec = IntervalJoinSpec(
        JoinSide(len(node.left.schema), False, node.kind.keeps_left),
        JoinSide(len(node.right.schema), False, node.kind.keeps_right),
        (bounds.left_time, bounds.right_time) if bounds.event_time else None,
        bounds.lower_ms,
        bounds.upper_ms,
        node.null_safe,
        condition,
    )
    return Operator("IntervalJoin", spec)


def _window_join(node: WindowJoin, settings: PlanSettings) -> Operator:
    if settings.batch:
        return _join(node, settings)
    left, right = node.windows
    pairs = not node.kind.left_only
    spec = WindowJoinSpec(
        JoinSide(len(node.left.schema), False, pairs and node.kind.keeps_left),
        JoinSide(len(node.right.schema), False, node.kind.keeps_right),
        (left.time, right.time),
        settings.zone if left.zoned else None,
        node.null_safe,
        _condition(node.condition, settings),
        None if pairs else node.kind is JoinKind.SEMI,
    )
    return Operator(spec.kind, spec)


def _side(node: n.Node, outer: bool, ttl_ms: int | None, settings: PlanSettings) -> JoinSide:
    return JoinSide(len(node.schema), takes_changes(node, settings), outer, ttl_ms or 0)


def _set_operation(node: n.SetOperation, settings: PlanSettings) -> Operator:
    spec = SetOperationSpec(node.kind, node.all, settings.emission, settings.state_ttl_ms)
    return Operator(node.kind.capitalize(), spec)


OPERATORS: Table = {
    Join: _join,
    IntervalJoin: _interval_join,
    TemporalJoin: _temporal_join,
    MultiJoin: _multi_join,
    WindowJoin: _window_join,
    n.SetOperation: _set_operation,
}
