"""Operators that see rows in an order: OVER, patterns, rankings, sorting.

On streams that is the order of a time attribute; batch mode has all rows, and so any order.
"""

from __future__ import annotations

from dataclasses import replace

from headrace.sql.binder.aggregation import NUMBERING
from headrace.sql.codegen.aggregates import SUPPORTED_OVER, aggregate_code, check_supported
from headrace.sql.codegen.calc import calc_code
from headrace.sql.codegen.code import GeneratedCode
from headrace.sql.operators.changes.specs import ChangelogNormalizeSpec
from headrace.sql.operators.order.specs import LimitSpec, SortSpec
from headrace.sql.operators.over.specs import AnyOrderOverSpec, OverSpec, SortedOverSpec
from headrace.sql.operators.ranking.specs import (
    DeduplicateSpec,
    FirstRowSpec,
    LocalRankSpec,
    RankSpec,
    RisingRankSpec,
    WindowRankSpec,
)
from headrace.sql.operators.specs import MatchSpec, MatchValues
from headrace.sql.physical.local_phases import zoned_windows
from headrace.sql.physical.nodes import LocalRank
from headrace.sql.physical.settings import PlanSettings
from headrace.sql.plan import nodes as n
from headrace.sql.plan.expressions import TimeAttribute
from headrace.sql.plan.match import Match, MatchExpressions
from headrace.sql.translation.operators import (
    Operator,
    Table,
    emission_of,
    sort_order,
    takes_changes,
)
from headrace.sql.types.type_rules import is_timestamp

__all__ = ["OPERATORS", "local_rank_spec"]


def _over_aggregate(node: n.OverAggregate, settings: PlanSettings) -> Operator:
    if settings.batch:
        return Operator("OverAggregate", _sorted_over(node, settings))
    if node.any_order:
        known = vars(_sorted_over(node, settings))
        any_order = AnyOrderOverSpec(
            **known,
            changes=takes_changes(node.input, settings),
            emission=settings.emission,
            ttl_ms=settings.state_ttl_ms,
        )
        return Operator(any_order.kind, any_order)
    check_supported(node.calls, SUPPORTED_OVER)
    (key,) = node.order
    spec = OverSpec(
        aggregate_code(node.calls, False, settings.zone),
        key.index,
        node.input.schema[key.index].time is TimeAttribute.ROWTIME,
        node.rows,
        node.start,
        settings.state_ttl_ms,
    )
    return Operator("OverAggregate", spec)


def _sorted_over(node: n.OverAggregate, settings: PlanSettings) -> SortedOverSpec:
    numbered = [c.function.name in NUMBERING for c in node.calls]
    aggregates = [c for c, place in zip(node.calls, numbered, strict=True) if not place]
    check_supported(aggregates)
    functions = tuple(
        (c.function.name, c.args[0] if c.args else None, c.constants) if place else None
        for c, place in zip(node.calls, numbered, strict=True)
    )
    unit = 1
    if node.order and is_timestamp(node.input.schema[node.order[0].index].type):
        unit = 1000
    start, end = (
        None if x is None else x if node.rows else x * unit for x in (node.start, node.end)
    )
    code = aggregate_code(aggregates, False, settings.zone)
    return SortedOverSpec(code, sort_order(node.order), node.rows, start, end, functions)


def _match(node: Match, settings: PlanSettings) -> Operator:
    measures = calc_code((), node.measures.expressions, zone=settings.zone)
    spec = MatchSpec(
        node.partition,
        sort_order(node.order),
        node.input.schema[node.order[0].index].time is not TimeAttribute.PROCTIME,
        node.pattern,
        tuple(None if c is None else _condition(c, settings) for c in node.conditions),
        _match_values(node.measures, measures, settings),
        node.skip,
        node.skip_to,
        node.within_ms,
    )
    return Operator("Match", spec)


def _condition(condition: MatchExpressions, settings: PlanSettings) -> MatchValues:
    code = calc_code(condition.expressions, None, zone=settings.zone)
    return _match_values(condition, code, settings)


def _match_values(
    values: MatchExpressions, code: GeneratedCode, settings: PlanSettings
) -> MatchValues:
    check_supported([r.call for r in values.references if r.call is not None])
    aggregates = tuple(
        None if r.call is None else aggregate_code([r.call], False, settings.zone)
        for r in values.references
    )
    plain = tuple(replace(r, call=None) for r in values.references)
    return MatchValues(plain, aggregates, code)


def local_rank_spec(node: LocalRank, settings: PlanSettings) -> LocalRankSpec:
    """What keeps the rows that may be among the first ones."""
    zone = settings.zone if node.zoned else None
    order = sort_order(node.order)
    return LocalRankSpec(node.partition, order, node.end, node.window_end, zone, node.latest)


def _local_rank(node: LocalRank, settings: PlanSettings) -> Operator:
    spec = local_rank_spec(node, settings)
    return Operator(spec.kind, spec)


def _rank(node: n.Rank, settings: PlanSettings) -> Operator:
    order = sort_order(node.order)
    if node.window is not None:
        zone = settings.zone if zoned_windows(node) else None
        window = WindowRankSpec(
            order,
            node.start,
            node.end,
            node.numbered,
            node.window[1],
            zone,
            node.latest and not settings.batch,
        )
        return Operator("WindowRank", window)
    if node.rising is not None:
        ends = node.start, node.end
        rising = RisingRankSpec(order, *ends, node.numbered, node.rising, settings.state_ttl_ms)
        return Operator("Rank", rising)
    spec = RankSpec(
        order,
        node.start,
        node.end,
        node.numbered,
        takes_changes(node.input, settings),
        node.function,
        emission_of(node, settings),
        settings.state_ttl_ms,
    )
    return Operator("Rank", spec)


def _deduplicate(node: n.Deduplicate, settings: PlanSettings) -> Operator:
    if settings.batch:
        order = ((node.order, node.last, True),)
        rank = RankSpec(order, 1, 1, False, False, "ROW_NUMBER", settings.emission)
        return Operator("Deduplicate", rank)
    if node.event_time and not node.last:
        return Operator("Deduplicate", FirstRowSpec(node.order, settings.state_ttl_ms))
    spec = DeduplicateSpec(
        node.order, node.last, node.event_time, emission_of(node, settings), settings.state_ttl_ms
    )
    return Operator("Deduplicate", spec)


def _changelog_normalize(node: n.ChangelogNormalize, settings: PlanSettings) -> Operator:
    spec = ChangelogNormalizeSpec(emission_of(node, settings), settings.state_ttl_ms)
    return Operator(spec.kind, spec)


def _sort(node: n.Sort, settings: PlanSettings) -> Operator:
    order = sort_order(node.keys)
    if settings.batch:
        return Operator("Sort", SortSpec(order))
    return Operator("TemporalSort", SortSpec(order, node.keys[0].index))


def _limit(node: n.Limit, settings: PlanSettings) -> Operator:
    changelog = takes_changes(node.input, settings)
    if not node.keys:
        limit = LimitSpec(node.offset, node.fetch, changelog, settings.every_change)
        return Operator("Limit", limit)
    order = sort_order(node.keys)
    if settings.batch:
        return Operator("SortLimit", SortSpec(order, None, node.offset, node.fetch))
    assert node.fetch is not None
    ends = node.offset + 1, node.offset + node.fetch
    if node.rising is not None:
        rising = RisingRankSpec(order, *ends, False, node.rising, settings.state_ttl_ms)
        return Operator("SortLimit", rising)
    rank = RankSpec(
        order,
        *ends,
        False,
        changelog,
        emission=settings.emission,
        ttl_ms=settings.state_ttl_ms,
    )
    return Operator("SortLimit", rank)


OPERATORS: Table = {
    n.OverAggregate: _over_aggregate,
    Match: _match,
    LocalRank: _local_rank,
    n.Rank: _rank,
    n.Deduplicate: _deduplicate,
    n.ChangelogNormalize: _changelog_normalize,
    n.Sort: _sort,
    n.Limit: _limit,
}
