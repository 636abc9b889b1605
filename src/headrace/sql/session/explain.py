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
    """Bound plans, and what runs: plans after all rules, logical and physical ones."""
    changelog = "CHANGELOG_MODE" in details
    settings = session.settings()
    optimized = optimize_all(plans, reuse=settings.reuse_subplans)
    for plan in optimized:
        session.check(plan)
    parts = ["== Abstract Syntax Tree ==", plan_text(*plans)]
    advised = "PLAN_ADVICE" in details
    parts += ["", f"== Optimized Execution Plan{' With Advice' if advised else ''} =="]
    physical = physical_plans(optimized, settings)
    estimates = "ESTIMATED_COST" in details
    parts.append(plan_text(*physical, modes=changelog, batch=session.batch, estimates=estimates))
    parts += _spark_plans(physical, session.env.get_parallelism())
    if advised:
        found = []
        if not session.batch:
            warnings = plan_advice(optimized, settings.state_ttl_ms, settings.keep_lookups)
            found = [f"[WARNING] {text}" for text in warnings]
            if settings.every_change:
                found += [f"[ADVICE] {text}" for text in merging_advice(optimized)]
        numbered = [f"advice[{i}]: {text}" for i, text in enumerate(found, 1)]
        parts += ["", *(numbered or ["No available advice..."])]
    if "JSON_EXECUTION_PLAN" in details:
        job = session.env.plan_of(lambda: session.translator().translate(*plans))
        parts += ["", "== Physical Execution Plan ==", job]
    return "\n".join(parts) + "\n"


def _spark_plans(plans: Sequence[n.Node], parallelism: int) -> list[str]:
    """What Spark makes of the parts that it runs as whole queries."""
    parts = []
    for node in n.count_readers(plans):
        if isinstance(node, SparkSegment) and isinstance(node.segment.scan, Relation):
            parts += ["", "== Spark Physical Plan =="]
            parts.append(spark_plan(query_of(node.segment), parallelism))
    return parts
