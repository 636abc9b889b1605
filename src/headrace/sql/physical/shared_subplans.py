"""What a statement computes twice is computed once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from headrace.sql.physical.exchanges import required
from headrace.sql.physical.settings import PlanSettings
from headrace.sql.plan import nodes as n
from headrace.sql.plan.expressions import AggregateCall, Expression, is_deterministic
from headrace.sql.plan.match import MatchExpressions
from headrace.sql.plan.patterns import Reference
from headrace.sql.plan.process_table import ProcessTable

__all__ = ["shared_subplans"]


def shared_subplans(plans: Sequence[n.Node], settings: PlanSettings) -> list[n.Node]:
    """One node in place of several that do the same with the same.

    These are nodes that look at more than one row: to read a table twice, with other columns and
    filters each time, is cheaper than to have all that anybody needs of it.
    """
    if not settings.reuse_subplans:
        return list(plans)
    alike = _Alike()
    kept: dict[int, n.Node] = {}

    def one_of(node: n.Node) -> n.Node:
        number = alike.number(node)
        return kept.setdefault(number, node) if required(node, settings) else node

    done: dict[n.Node, n.Node] = {}
    return [n.rewrite_nodes(p, one_of, done) for p in plans]


class _Alike:
    """Numbers nodes; those that give the same rows have the same number."""

    def __init__(self) -> None:
        self._numbers: dict[n.Node, int] = {}
        # By what is quick to compare; then what is to be compared, with the number.
        self._seen: defaultdict[Any, list[tuple[list[Any], int]]] = defaultdict(list)

    def number(self, node: n.Node) -> int:
        """The number of a node whose inputs have theirs."""
        found = self._numbers.get(node)
        if found is None:
            found = self._numbers[node] = self._find(node)
        return found

    def _find(self, node: n.Node) -> int:
        names = [f.name for f in fields(node) if f.name != "origin"]
        values = [self._compared(getattr(node, name)) for name in names]
        inputs = tuple(self.number(i) for i in node.inputs)
        others = self._seen[type(node), inputs]
        new = len(self._numbers)
        # A process table function may do more than to give rows.
        if isinstance(node, ProcessTable) or not all(map(_is_certain, values)):
            return new
        for before, number in others:
            if before == values:
                return number
        others.append((values, new))
        return new

    def _compared(self, value: Any) -> Any:
        """Numbers in place of nodes: inputs, and others, such as a table that is looked up."""
        if isinstance(value, tuple):
            return tuple(map(self._compared, value))
        return self.number(value) if isinstance(value, n.Node) else value


def _is_certain(value: Any) -> bool:
    """Whether nothing in what a node is made of may give other rows the next time."""
    if isinstance(value, Expression):
        return is_deterministic(value)
    if isinstance(value, tuple):
        return all(map(_is_certain, value))
    if isinstance(value, AggregateCall | MatchExpressions | Reference):
        return all(_is_certain(getattr(value, f.name)) for f in fields(value))
    return getattr(value, "deterministic", True)
