"""Physical choices, each made by one rule, after the logical rules.

A rule is one module and one function of a node and the settings. What comes out is what runs, and
what EXPLAIN prints: translation maps each node to one operator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headrace.sql.physical.batch_watermarks import batch_watermarks
from headrace.sql.physical.calcs import calcs
from headrace.sql.physical.column_exchanges import column_exchanges
from headrace.sql.physical.deletes_by_key import deletes_by_key
from headrace.sql.physical.exchanges import exchanges
from headrace.sql.physical.hashable_rows import hashable_rows
from headrace.sql.physical.keep_lookups import keep_lookups
from headrace.sql.physical.local_phases import local_phases
from headrace.sql.physical.mark_inserts import mark_inserts
from headrace.sql.physical.multi_joins import multi_joins
from headrace.sql.physical.process_tables import process_tables
from headrace.sql.physical.settings import PlanSettings
from headrace.sql.physical.shared_subplans import shared_subplans
from headrace.sql.physical.sink_constraints import sink_constraints
from headrace.sql.physical.source_pushdown import source_pushdown
from headrace.sql.physical.spark_relations import spark_relations
from headrace.sql.physical.spark_segments import spark_segments
from headrace.sql.physical.state_ttls import state_ttls
from headrace.sql.physical.upsert_materialize import upsert_materialize
from headrace.sql.plan.nodes import Node, rewrite_nodes
from headrace.sql.room import with_room

__all__ = ["PHYSICAL_PASSES", "physical_plans"]

Pass = Callable[[Sequence[Node], PlanSettings], list[Node]]


def _of_nodes(rule: Callable[[Node, PlanSettings], Node]) -> Pass:
    def run(plans: Sequence[Node], settings: PlanSettings) -> list[Node]:
        done: dict[Node, Node] = {}
        return [rewrite_nodes(p, lambda node: rule(node, settings), done) for p in plans]

    run.__name__ = rule.__name__
    return run


PHYSICAL_PASSES: tuple[Pass, ...] = (
    _of_nodes(batch_watermarks),
    process_tables,
    shared_subplans,
    _of_nodes(sink_constraints),
    _of_nodes(upsert_materialize),
    _of_nodes(deletes_by_key),
    _of_nodes(keep_lookups),
    source_pushdown,
    spark_relations,
    _of_nodes(local_phases),
    spark_segments,
    calcs,
    _of_nodes(state_ttls),
    _of_nodes(multi_joins),
    _of_nodes(mark_inserts),
    _of_nodes(hashable_rows),
    _of_nodes(exchanges),
    column_exchanges,
)
"""What sinks need is seen from logical nodes. Spark takes what it can before the rest becomes
operators; exchanges come last, between these, and then it is known what crosses them.
"""


@with_room
def physical_plans(plans: Sequence[Node], settings: PlanSettings) -> list[Node]:
    """What runs for optimized plans of one job; a node that two of them share runs once."""
    current = list(plans)
    for run in PHYSICAL_PASSES:
        current = run(current, settings)
    return current
