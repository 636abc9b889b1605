"""EXPLAIN: plans as text."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.common.errors import SqlError
from headrace.datastream.connectors.spark_query import Relation
from headrace.datastream.connectors.spark_query_source import spark_plan
from headrace.sql import statements as s
from headrace.sql.physical.nodes import SparkSegment
from headrace.sql.physical.passes import physical_plans
from headrace.sql.plan import nodes as n
from headrace.sql.plan.checks.advice import merging_advice, plan_advice
from headrace.sql.plan.text import plan_text
from headrace.sql.room import with_room
from headrace.sql.rules import optimize_all
from headrace.sql.session.session import Session
from headrace.sql.translation.spark import query_of

__all__ = ["explain_plans", "explain_statement"]


def explain_statement(
    session: Session, statement: s.Statement, text: str, details: Sequence[str] = ()
) -> str:
    """The plan of a query, an INSERT or a statement set."""
    if isinstance(statement, s.Query):
        plans = [session.query_plan(statement.tree, text)]
    elif isinstance(statement, s.Insert):
        plans = [session.insert_plan(statement, text)]
    elif isinstance(statement, s.StatementSetBlock):
        plans = [session.insert_plan(i, text) for i in statement.inserts]
    else:
        raise SqlError(f"EXPLAIN takes a query or INSERT, not {type(statement).__name__}")
    return explain_plans(session, plans, details)


@with_room
def explain_plans(session: Session, plans: Sequence[n.Node], details: Sequence[str] = ()) -> str:
    """Bound plans, and what runs: plans after all rules, logical and physical ones.

    As in Flink, details are in the section of the physical plan, and the plan follows without them.
    """
    settings = session.settings()
    reuse, every_change = settings.reuse_subplans, settings.every_change
    optimized = optimize_all(plans, reuse=reuse, every_change=every_change)
    for plan in optimized:
        session.check(plan)
    physical = physical_plans(optimized, settings)
    advised = "PLAN_ADVICE" in details
    detailed = plan_text(
        *physical,
        modes="CHANGELOG_MODE" in details,
        batch=session.batch,
        estimates="ESTIMATED_COST" in details,
    )
    parts = ["== Abstract Syntax Tree ==", plan_text(*plans)]
    parts += ["", f"== Optimized Physical Plan{' With Advice' if advised else ''} ==", detailed]
    if advised:
        parts += ["", *_advice(session, optimized)]
    parts += ["", "== Optimized Execution Plan ==", plan_text(*physical, batch=session.batch)]
    parts += _spark_plans(physical, session.env.get_parallelism())
    if "JSON_EXECUTION_PLAN" in details:
        job = session.env.plan_of(lambda: session.translator().translate(*plans))
        parts += ["", "== Physical Execution Plan ==", job]
    return "\n".join(parts) + "\n"


def _advice(session: Session, plans: Sequence[n.Node]) -> list[str]:
    """Numbered lines on what may go wrong with optimized plans."""
    found: list[str] = []
    if not session.batch:
        settings = session.settings()
        warnings = plan_advice(plans, settings.state_ttl_ms, settings.keep_lookups)
        found = [f"[WARNING] {text}" for text in warnings]
        if settings.every_change:
            found += [f"[ADVICE] {text}" for text in merging_advice(plans)]
    numbered = [f"advice[{i}]: {text}" for i, text in enumerate(found, 1)]
    return numbered or ["No available advice..."]


def _spark_plans(plans: Sequence[n.Node], parallelism: int) -> list[str]:
    """What Spark makes of the parts that it runs as whole queries."""
    parts = []
    for node in n.count_readers(plans):
        if isinstance(node, SparkSegment) and isinstance(node.segment.scan, Relation):
            parts += ["", "== Spark Physical Plan =="]
            parts.append(spark_plan(query_of(node.segment), parallelism))
    return parts
