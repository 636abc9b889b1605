"""Aggregates and rankings of what one sender has, before rows meet."""

from __future__ import annotations

from headrace.sql.codegen.aggregates import aggregates_early, check_supported
from headrace.sql.physical import nodes as ph
from headrace.sql.physical.settings import PlanSettings
from headrace.sql.plan import nodes as n
from headrace.sql.plan.changelog import is_append_only
from headrace.sql.plan.expressions import SortKey
from headrace.sql.rules.window_columns import window_column

__all__ = ["local_phases"]


def local_phases(node: n.Node, settings: PlanSettings) -> n.Node:
    """Two phases instead of one, where accumulators can be merged.

    With every single change wanted there is nothing to gather: an aggregate of groups and a ranking
    then have one phase. A window has one result anyway, and keeps its two.
    """
    if not settings.two_phase:
        return node
    if isinstance(node, n.Aggregate) and not settings.every_change and _merges(node, settings):
        local = ph.LocalAggregate(node.input.schema, node.input, node.group, node.calls)
        return ph.GlobalAggregate(
            node.schema, local, node.group, node.calls, node.state_ttl_ms, origin=node.origin
        )
    if isinstance(node, n.WindowAggregate) and _knows_windows(node) and _merges(node, settings):
        early = ph.LocalWindowAggregate(
            node.input.schema, node.input, node.window, node.group, node.calls, node.attached
        )
        return ph.GlobalWindowAggregate(
            node.schema,
            early,
            node.window,
            node.group,
            node.calls,
            node.properties,
            node.attached,
            origin=node.origin,
        )
    if isinstance(node, n.Rank) and node.function == "ROW_NUMBER" and _grows(node, settings):
        end = None if node.window is None else node.window[1]
        best = ph.LocalRank(
            node.input.schema,
            node.input,
            node.partition,
            node.order,
            node.end,
            end,
            zoned_windows(node),
            node.latest and not settings.batch,
        )
        return node.with_inputs([best])
    if isinstance(node, n.Deduplicate) and _keeps_newest(node, settings):
        newest = (SortKey(node.order, descending=True),)
        last = ph.LocalRank(node.schema, node.input, node.keys, newest, 1, latest=True)
        return node.with_inputs([last])
    return node


def _knows_windows(node: n.WindowAggregate) -> bool:
    """Whether the first phase can tell windows apart, or need not.

    In processing time it leaves that to the clock of the second, which knows the current one alone.
    """
    return node.window.event_time or not node.attached


def _merges(node: n.Aggregate | n.WindowAggregate, settings: PlanSettings) -> bool:
    check_supported(node.calls)
    changelog = not settings.batch and not is_append_only(node.input)
    return aggregates_early(node.calls, changelog)


def _grows(node: n.Rank | n.Deduplicate, settings: PlanSettings) -> bool:
    in_windows = isinstance(node, n.Rank) and node.window is not None
    if (settings.every_change or node.every_change) and not in_windows:
        return False
    return settings.batch or is_append_only(node.input)


def _keeps_newest(node: n.Deduplicate, settings: PlanSettings) -> bool:
    return node.last and node.event_time and not settings.batch and _grows(node, settings)


def zoned_windows(node: n.Rank) -> bool:
    """Whether the ends of the windows that rows are ranked in follow the session's clock."""
    found = None if node.window is None else window_column(node.input, node.window[1])
    return found is not None and found[0].window.zoned
