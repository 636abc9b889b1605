"""Operators with two inputs: set operations, and what subqueries become."""

from __future__ import annotations

from headrace.sql.operators import specs
from headrace.sql.physical.settings import PlanSettings
from headrace.sql.plan import nodes as n
from headrace.sql.plan.joins import ScalarJoin, SemiJoin
from headrace.sql.translation.operators import Operator, Table, takes_changes

__all__ = ["OPERATORS"]


def _set_operation(node: n.SetOperation, settings: PlanSettings) -> Operator:
    spec = specs.SetOperationSpec(node.kind, node.all, settings.emission, settings.state_ttl_ms)
    return Operator(node.kind.capitalize(), spec)


def _semi_join(node: SemiJoin, settings: PlanSettings) -> Operator:
    make = specs.NotInSpec if node.null_aware else specs.SemiJoinSpec
    spec = make(
        node.left_keys,
        node.anti,
        takes_changes(node, settings),
        settings.emission,
        settings.state_ttl_ms,
    )
    return Operator(spec.kind, spec)


def _scalar_join(node: ScalarJoin, settings: PlanSettings) -> Operator:
    spec = specs.ScalarJoinSpec(settings.emission, settings.state_ttl_ms)
    return Operator(spec.kind, spec)


OPERATORS: Table = {
    n.SetOperation: _set_operation,
    SemiJoin: _semi_join,
    ScalarJoin: _scalar_join,
}
