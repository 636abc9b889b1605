"""Filters and a projection above them become one piece of generated code."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from headrace.sql.physical.nodes import Calc
from headrace.sql.physical.settings import PlanSettings
from headrace.sql.plan import nodes as n
from headrace.sql.plan.conditions import conjuncts
from headrace.sql.plan.expressions import Column, Expression
from headrace.sql.plan.readers import rewrite_around_random

__all__ = ["calcs"]


def calcs(plans: Sequence[n.Node], settings: PlanSettings) -> list[n.Node]:
    """A `Calc` for filters and projections; a projection that only gives names is left out."""
    return rewrite_around_random(plans, _calc)


def _calc(node: n.Node, once: Collection[n.Node]) -> n.Node:
    if isinstance(node, n.Filter):
        below, conditions = _below(node.input, once)
        return Calc(node.schema, below, (*conditions, *conjuncts(node.condition)), None)
    if isinstance(node, n.Project):
        below, conditions = _below(node.input, once)
        if not conditions and _keeps_all(node.expressions, below):
            return below
        return Calc(node.schema, below, conditions, node.expressions)
    if isinstance(node, n.Correlate) and node.condition is not None and not node.outer:
        joined = replace(node, condition=None)
        return Calc(node.schema, joined, (node.condition,), None)
    return node


def _below(node: n.Node, once: Collection[n.Node]) -> tuple[n.Node, tuple[Expression, ...]]:
    """What filters directly below read, and their conditions, the first one first."""
    if isinstance(node, Calc) and node.projections is None and node not in once:
        return node.input, node.conditions
    return node, ()


def _keeps_all(expressions: Sequence[Expression], below: n.Node) -> bool:
    """Whether a projection gives but new names to its columns."""
    columns = [(e.index, e.time) if isinstance(e, Column) else None for e in expressions]
    return columns == [(i, f.time) for i, f in enumerate(below.schema)]
