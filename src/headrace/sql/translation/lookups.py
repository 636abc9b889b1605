"""Lookup joins: what a slot asks, and what it does with the answers."""

from __future__ import annotations

from dataclasses import fields

from headrace.sql.codegen.calc import calc_code
from headrace.sql.lookups.tables import LookupLimits
from headrace.sql.operators.joins.specs import KeptLookupJoinSpec, LookupJoinSpec
from headrace.sql.physical.keep_lookups import lasting_columns
from headrace.sql.physical.settings import PlanSettings
from headrace.sql.plan.conditions import conjuncts
from headrace.sql.plan.lookup_hint import LookupHint
from headrace.sql.plan.lookups import LookupJoin
from headrace.sql.translation.operators import Operator, Table, packed, takes_changes

__all__ = ["OPERATORS"]


def _lookup_join(node: LookupJoin, settings: PlanSettings) -> Operator:
    """Code that filters has rows with a number at their end."""
    zone = settings.zone
    limits = _limits(node.hint, settings)
    calc = condition = None
    if node.conditions or node.projections is not None:
        calc = calc_code(node.conditions, node.projections, True, zone)
    if node.condition is not None:
        condition = calc_code(conjuncts(node.condition), None, True, zone)
    spec = LookupJoinSpec(
        node.table.source.lookup(node.columns, limits, settings.configuration),
        packed(node.keys, zone),
        calc,
        condition,
        node.width,
        node.kind.keeps_left,
        takes_changes(node.input, settings),
    )
    if node.kept_by is not None:
        parts = {f.name: getattr(spec, f.name) for f in fields(spec)}
        compared = lasting_columns(node.input.schema)
        spec = KeptLookupJoinSpec(**parts, compared=compared, ttl_ms=settings.state_ttl_ms)
    return Operator("LookupJoin", spec)


def _limits(hint: LookupHint, settings: PlanSettings) -> LookupLimits:
    return LookupLimits(
        1 if hint.asynchronous is False else hint.capacity or settings.concurrent_lookups,
        hint.timeout_ms or settings.lookup_timeout_ms,
        hint.attempts,
        hint.retry_delay_ms,
    )


OPERATORS: Table = {LookupJoin: _lookup_join}
