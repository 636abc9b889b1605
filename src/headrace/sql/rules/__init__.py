"""Rewrites of plans: one module, one function, one rule. `RULES` is the order they run in."""

from __future__ import annotations

from collections.abc import Callable

from headrace.sql.plan.nodes import Node
from headrace.sql.rules.merge_projections import merge_projections
from headrace.sql.rules.push_watermark import push_watermark
from headrace.sql.rules.rank_filter import rank_filter
from headrace.sql.rules.split_batched import split_batched
from headrace.sql.rules.split_distinct import split_distinct
from headrace.sql.rules.window_aggregate import window_aggregate

__all__ = ["RULES", "Rule", "optimize"]

Rule = Callable[[Node], Node]

RULES: tuple[tuple[str, Rule], ...] = (
    ("push_watermark", push_watermark),
    ("merge_projections", merge_projections),
    ("rank_filter", rank_filter),
    ("window_aggregate", window_aggregate),
    ("split_distinct", split_distinct),
    ("merge_projections", merge_projections),
    ("split_batched", split_batched),
)


def optimize(plan: Node) -> Node:
    """The plan after all rules."""
    for _, rule in RULES:
        plan = rule(plan)
    return plan
