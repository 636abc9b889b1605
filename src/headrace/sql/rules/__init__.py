"""Rewrites of plans: one module, one function, one rule. `PASSES` is their order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from headrace.sql.plan.expressions import Schema
from headrace.sql.plan.nodes import Node, Union, rewrite_nodes
from headrace.sql.room import with_room
from headrace.sql.rules.any_order_over import any_order_over
from headrace.sql.rules.interval_joins import interval_joins
from headrace.sql.rules.join_filters import join_filters
from headrace.sql.rules.join_inputs import join_inputs
from headrace.sql.rules.join_keys import join_keys
from headrace.sql.rules.lookup_joins import lookup_joins
from headrace.sql.rules.merge_projections import merge_projections
from headrace.sql.rules.outer_joins import outer_joins
from headrace.sql.rules.prune_columns import prune_columns
from headrace.sql.rules.push_watermark import push_watermark
from headrace.sql.rules.rank_filter import rank_filter
from headrace.sql.rules.rank_number import rank_number
from headrace.sql.rules.rising_rows import rising_rows
from headrace.sql.rules.shared_relations import shared_relations
from headrace.sql.rules.split_batched import split_batched
from headrace.sql.rules.split_distinct import split_distinct
from headrace.sql.rules.versions import versions
from headrace.sql.rules.window_aggregate import window_aggregate
from headrace.sql.rules.window_joins import window_joins

__all__ = ["PASSES", "Rule", "optimize", "optimize_all"]

Rule = Callable[[Node], Node]

PASSES: tuple[tuple[Rule, ...] | Rule, ...] = (
    shared_relations,
    (push_watermark,),
    merge_projections,
    (outer_joins, join_filters),
    (lookup_joins,),
    (join_keys,),
    merge_projections,
    # An aggregate may be of the best rows of windows, these of a join, and that of aggregates: each
    # node gets all before those above it.
    (window_aggregate, rank_filter, window_joins, interval_joins),
    (any_order_over,),
    (split_distinct,),
    rising_rows,
    prune_columns,
    merge_projections,
    (rank_number,),
    (split_batched,),
    (versions,),
    (join_inputs,),
)
"""Each goes through the plan once, from the leaves up, with all its rules at each node.

One that is a single function gets the whole plan.
"""


def optimize_all(
    plans: Sequence[Node], *, reuse: bool = True, every_change: bool = False
) -> list[Node]:
    """Plans of one job after all passes; what they share is rewritten once, and stays shared."""
    together = Union(Schema(()), tuple(plans))
    return list(optimize(together, reuse=reuse, every_change=every_change).inputs)


@with_room
def optimize(plan: Node, *, reuse: bool = True, every_change: bool = False) -> Node:
    """The plan after all passes.

    Without `reuse`, what it has twice stays twice; with `every_change`, each row that comes changes
    the results at once.
    """
    wanted: dict[Rule, bool] = {shared_relations: reuse, rising_rows: every_change}
    for rules in PASSES:
        if callable(rules) and not wanted.get(rules, True):
            continue
        plan = rules(plan) if callable(rules) else rewrite_nodes(plan, partial(_applied, rules))
    return plan


def _applied(rules: tuple[Rule, ...], node: Node) -> Node:
    for rule in rules:
        node = rule(node)
    return node
