"""Finds the largest parts of a plan that Spark can run as one query, where the input ends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from headrace.datastream.connectors.spark_query import Part, PythonStep, Relation, SourceSplits
from headrace.sql import types as t
from headrace.sql.physical.nodes import SparkRows
from headrace.sql.physical.settings import PlanSettings
from headrace.sql.plan import nodes as n
from headrace.sql.plan.expressions import Column, expression_text
from headrace.sql.plan.joins import Join, JoinKind
from headrace.sql.segments.expressions import UnsupportedBySparkError, storage
from headrace.sql.segments.relations import RelationWriter, joined_rows
from headrace.sql.segments.segment import Segment
from headrace.sql.segments.steps import STEPS, columns_needed, look_at

__all__ = ["spark_relations"]

_LARGEST = 200
_HIGHEST = 50
"""So many queries, and so many in one another, Spark analyses within seconds."""
_VARYING = n.Limit | n.Rank | n.OverAggregate | n.Deduplicate
_FLOATS = t.FloatType | t.DoubleType


def spark_relations(plans: Sequence[n.Node], settings: PlanSettings) -> list[n.Node]:
    """Plans of batch mode in which Spark computes whatever it can, and headrace what is above.

    Where it only reads a table, filters and projects, segments do the same.
    """
    if not settings.batch or not settings.spark_segments:
        return list(plans)
    rewriter = _Rewriter(plans, settings)
    return [rewriter.visit(p) for p in plans]


@dataclass(frozen=True)
class _Query:
    """A node with its query, or the table that it reads.

    Attributes:
        name: By which others refer to it.
        node: The node.
        text: The query.
        inputs: The queries that it refers to.
        pairs: What it reads, if it is an inner join: Spark puts joins of one query into an order.
    """

    name: str
    node: n.Node
    text: Part
    inputs: tuple[_Query, ...]
    pairs: str | None = None

    @cached_property
    def size(self) -> int:
        """How many queries there are once Spark has put each in the place of its name."""
        return 1 + sum(query.size for query in self.inputs)

    @cached_property
    def height(self) -> int:
        """How many of them are in one another."""
        return 1 + max((query.height for query in self.inputs), default=0)

    def parts(self, seen: set[str]) -> Iterator[tuple[str, Part]]:
        """All queries that it needs, before those that need them."""
        if self.name not in seen:
            seen.add(self.name)
            for query in self.inputs:
                yield from query.parts(seen)
            yield self.name, self.text

    @property
    def is_ordered(self) -> bool:
        if isinstance(self.node, n.Sort | n.Limit):
            return isinstance(self.node, n.Sort) or bool(self.node.keys)
        return isinstance(self.node, STEPS) and self.inputs[0].is_ordered


class _Rewriter:
    def __init__(self, plans: Sequence[n.Node], settings: PlanSettings) -> None:
        self._readers = n.count_readers(plans)
        self._varying: dict[n.Node, bool] = {}
        self._writer = RelationWriter(settings)
        self._needed = columns_needed(plans)
        self._queries: dict[n.Node, _Query | None] = {}
        self._in_python: dict[n.Node, tuple[str, ...]] = {}
        self._done: dict[n.Node, n.Node] = {}

    def visit(self, node: n.Node) -> n.Node:
        """The plan of a node, with relations at and below it."""
        found = self._done.get(node)
        if found is None:
            found = self._relation(node)
            if found is None:
                below = [self.visit(i) for i in node.inputs]
                same = all(a is b for a, b in zip(below, node.inputs, strict=True))
                found = node if same else node.with_inputs(below)
            self._done[node] = found
        return found

    def _relation(self, node: n.Node) -> n.Node | None:
        query = self._query(node)
        if query is None or not node.schema or _is_chain(node):
            return None
        if isinstance(query.text, PythonStep):
            # An operator does that as well, and its rows need not go through Spark again.
            return None
        try:
            for type_ in node.schema.types:
                storage(type_)
        except UnsupportedBySparkError:
            return None
        parts = tuple(query.parts(set()))
        relation = Relation(parts, query.is_ordered)
        if not relation.reads_much:
            return None
        columns = tuple(range(len(node.schema)))
        python = tuple(self._in_python.items())
        return SparkRows(node.schema, Segment(relation, (), columns, (node,), in_python=python))

    def _query(self, node: n.Node) -> _Query | None:
        if node not in self._queries:
            query = self._written(node)
            fits = query is None or (query.size <= _LARGEST and query.height <= _HIGHEST)
            self._queries[node] = query if fits else None
        return self._queries[node]

    def _runs_once(self, node: n.Node) -> bool:
        """Whether all who read a node have to see the same run of it: Spark has one for each."""
        return self._readers[node] > 1 and self._varies(node)

    def _varies(self, node: n.Node) -> bool:
        if node not in self._varying:
            self._varying[node] = _may_vary(node) or any(map(self._varies, node.inputs))
        return self._varying[node]

    def _written(self, node: n.Node) -> _Query | None:
        inputs = []
        for below in node.inputs:
            query = self._query(below)
            if query is None or self._runs_once(below):
                return None
            inputs.append(query)
        name = f"q{len(self._queries)}"
        try:
            if type(node) is Join and node.kind is JoinKind.INNER and not node.strategies:
                return self._inner_join(name, node, *inputs)
            columns = self._needed.get(node)
            needed = sorted(range(len(node.schema)) if columns is None else columns)
            text = self._writer.write(node, [query.name for query in inputs], needed)
        except UnsupportedBySparkError:
            return self._split(node)
        if isinstance(text, PythonStep | SourceSplits):
            self._in_python[node] = text.computed if isinstance(text, PythonStep) else ()
        return _Query(name, node, text, tuple(inputs))

    def _split(self, node: n.Node) -> _Query | None:
        """A filter by what a projection has computed, which may be done in Python."""
        made = _computed_first(node)
        if made is not None:
            look_at(made, self._needed.get(node), self._needed)
        query = None if made is None else self._query(made)
        if query is not None and isinstance(node, n.Filter | Join) and node.condition is not None:
            names = node.pair_names if isinstance(node, Join) else node.input.schema.names
            self._in_python[node] = (expression_text(node.condition, names),)
        return query

    def _inner_join(self, name: str, node: Join, left: _Query, right: _Query) -> _Query:
        pairs = self._writer.pairs(node, left.pairs or left.name, right.name)
        below = (left,) if left.pairs is None else left.inputs
        return _Query(name, node, joined_rows(node, pairs), (*below, right), pairs)


def _computed_first(node: n.Node) -> n.Node | None:
    """The same rows, with a condition that is computed before it is looked at."""
    if isinstance(node, Join):
        if node.kind is not JoinKind.INNER or node.condition is None:
            return None
        return n.Filter.of(replace(node, condition=None), node.condition)
    if not isinstance(node, n.Filter) or isinstance(node.condition, Column):
        return None
    below, names = node.input, node.schema.names
    columns = below.schema.columns()
    computed = n.Project.of(below, [*columns, node.condition], [*names, ""])
    kept = n.Filter.of(computed, computed.schema.column(len(columns)))
    return n.Project.of(kept, columns, names)


def _may_vary(node: n.Node) -> bool:
    """Whether its rows may be others the next time.

    Of rows that are equal in an order any may be the first, and a sum of fractions depends on
    where it begins.
    """
    calls = node.calls if isinstance(node, n.Aggregate | n.WindowAggregate) else ()
    return isinstance(node, _VARYING) or any(isinstance(call.type, _FLOATS) for call in calls)


def _is_chain(node: n.Node) -> bool:
    while isinstance(node, STEPS):
        node = node.input
    return isinstance(node, n.Scan | n.Values)
