"""Calls of process table functions: each uid once, and how updates reach them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from headrace.common.errors import SqlError
from headrace.sql.physical.settings import PlanSettings
from headrace.sql.plan.changelog import is_append_only
from headrace.sql.plan.nodes import Node, Values, rewrite_nodes
from headrace.sql.plan.process_table import GivenTable, ProcessTable
from headrace.sql.plan.text import plan_text
from headrace.sql.plan.upsert_keys import upsert_keys
from headrace.sql.udf.process.hints import ArgumentTrait

__all__ = ["process_tables"]


def process_tables(plans: Sequence[Node], settings: PlanSettings) -> list[Node]:
    """Calls with the same uid are one if they are the same, and an error otherwise.

    Updates come without the row before them where the key of the table's rows is that by which it
    is partitioned, unless the function wants them.
    """
    known: dict[str, ProcessTable] = {}
    done: dict[Node, Node] = {}

    def rewritten(node: Node) -> Node:
        if not isinstance(node, ProcessTable):
            return node
        pairs = zip(node.tables, node.relations, strict=False)
        node = replace(node, tables=tuple(_with_updates(*pair) for pair in pairs))
        if node.uid is None:
            return node
        first = known.setdefault(node.uid, node)
        if first.function is not node.function or not _same(first, node):
            message = (
                f"Duplicate unique identifier '{node.uid}' detected among process table functions. "
                "Make sure that all PTF calls have an identifier defined that is globally unique."
            )
            raise SqlError(message) if node.origin is None else node.origin.error(message)
        return first

    return [rewrite_nodes(plan, rewritten, done) for plan in plans]


def _same(one: Node, other: Node) -> bool:
    """Whether two plans read the same tables and do the same with them."""
    if isinstance(one, Values) and isinstance(other, Values) and one.rows != other.rows:
        return False
    inputs = zip(one.inputs, other.inputs, strict=False)
    return plan_text(one) == plan_text(other) and all(_same(*pair) for pair in inputs)


def _with_updates(table: GivenTable, relation: Node) -> GivenTable:
    key = frozenset(table.partition)
    upserts = not is_append_only(relation) and key in upsert_keys(relation)
    wanted = ArgumentTrait.REQUIRE_UPDATE_BEFORE not in table.argument.traits
    return replace(table, upserts=upserts and wanted)
