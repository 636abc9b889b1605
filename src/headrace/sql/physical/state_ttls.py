"""How long each side of a join keeps its rows."""

from __future__ import annotations

from dataclasses import replace

from headrace.sql.physical.settings import PlanSettings
from headrace.sql.plan import nodes as n
from headrace.sql.plan.joins import IntervalJoin, Join

__all__ = ["state_ttls"]


def state_ttls(node: n.Node, settings: PlanSettings) -> n.Node:
    """What the settings say, where no hint does; time alone bounds an interval join."""
    if settings.batch or not isinstance(node, Join) or isinstance(node, IntervalJoin):
        return node
    left, right = (settings.state_ttl_ms if ttl is None else ttl for ttl in node.ttls_ms)
    return replace(node, ttls_ms=(left, right))
