"""Nodes that look at one row at a time, and where rows come from and go to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.datastream.connectors.collection import CollectionSource
from headrace.datastream.data_stream import DataStream
from headrace.graph.transformation import (
    Transformation,
    UnionTransformation,
)
from headrace.sql.codegen.calc import value_code
from headrace.sql.operators import specs
from headrace.sql.operators.row_watermarks import RowWatermarks
from headrace.sql.plan import nodes as n
from headrace.sql.plan.expressions import (
    Call,
    Column,
    Expression,
    Literal,
)
from headrace.sql.segments.planning import find_segments
from headrace.sql.translation.base import NodeTranslator
from headrace.sql.translation.segments import (
    segment_columns,
)

__all__ = ["RowNodes"]


class RowNodes(NodeTranslator):
    """Scans, projections, filters, watermarks, functions, sinks."""

    def _scan(self, node: n.Scan) -> Transformation:
        stream: DataStream[Any]
        if node.watermark is None:
            stream = node.source.build(self.env)
        else:
            marks = RowWatermarks(
                value_code(node.watermark, self.settings.zone),
                node.source.watermark_options.emit_every,
            )
            strategy = node.source.watermark_options.strategy(marks, self.settings.idle_timeout_ms)
            stream = node.source.build_with_watermarks(self.env, strategy)
        return stream._transformation

    def _values(self, node: n.Values) -> Transformation:
        source = CollectionSource.of(list(node.rows))
        stream = self.env._source(source, None, "Values", None).force_non_parallel()
        return stream._transformation

    def _project(self, node: n.Project) -> Transformation:
        below, conditions = self._conditions(node.input)
        upstream = self.translate(below)
        if not conditions and is_identity(node.expressions, len(below.schema)):
            return upstream
        return self._calc(below, upstream, conditions, node.expressions)

    def _filter(self, node: n.Filter) -> Transformation:
        below, conditions = self._conditions(node)
        return self._calc(below, self.translate(below), conditions, None)

    def _conditions(self, node: n.Node) -> tuple[n.Node, list[Expression]]:
        """Filters directly below, the first one first."""
        conditions: list[Expression] = []
        while isinstance(node, n.Filter) and id(node) not in self._segments:
            conditions = [*conjuncts(node.condition), *conditions]
            node = node.input
        return node, conditions

    def _watermarkassigner(self, node: n.WatermarkAssigner) -> Transformation:
        code = None
        if node.watermark is not None:
            code = value_code(node.watermark, self.settings.zone)
        follows = node.watermark is not None and follows_column(node.watermark, node.column)
        spec = specs.WatermarkSpec(node.column, code, self.settings.idle_timeout_ms, follows)
        return self.operator("WatermarkAssigner", [self.translate(node.input)], spec)

    def _union(self, node: n.Union) -> Transformation:
        changelog = self.changelog(node)
        inputs = [self._as_changelog(i, changelog) for i in node.relations]
        return UnionTransformation(self.env.ids, inputs)

    def _expand(self, node: n.Expand) -> Transformation:
        sets = []
        for chosen in node.sets:
            number = sum(
                1 << (len(node.group) - 1 - i) for i in range(len(node.group)) if i not in chosen
            )
            width = len(node.input.schema)
            kept = tuple(i not in node.group or i in chosen for i in range(width))
            sets.append((kept, number))
        spec = specs.ExpandSpec(tuple(sets), self.changelog(node.input))
        return self.operator("Expand", [self.translate(node.input)], spec)

    def _batchedcalls(self, node: n.BatchedCalls) -> Transformation:
        functions = []
        for call in node.calls:
            types = tuple(a.type for a in call.args)
            functions.append(call.function.batch_bound(types, call.type, self.settings))
        spec = specs.BatchedCallsSpec(
            tuple(self._packed(c.args) for c in node.calls),
            tuple(functions),
            self.changelog(node.input),
            self.settings.arrow_batch_size,
        )
        return self.operator("BatchedCalls", [self.translate(node.input)], spec)

    def _correlate(self, node: n.Correlate) -> Transformation:
        width = len(node.schema) - len(node.input.schema)
        function = node.function
        if hasattr(function, "bound"):
            function = function.bound(
                tuple(a.type for a in node.arguments), None, self.settings.zone
            )
        spec = specs.CorrelateSpec(
            self._packed(node.arguments),
            function,
            width,
            node.outer,
            self.changelog(node.input),
        )
        result = self.operator("Correlate", [self.translate(node.input)], spec)
        if node.condition is not None:
            result = self._calc(node, result, [node.condition], None)
        return result

    def _sink(self, node: n.Sink) -> Transformation:
        self._segments |= find_segments(node, self.settings.for_segments())
        segment = self._segments.get(id(node.input))
        schema, target = node.input.schema, node.target
        if segment is not None and segment.local is None and target.takes_columns:
            sink = target.attach_columns(segment_columns(self.env, segment), schema)
        else:
            upstream: DataStream[Any] = DataStream(self.env, self.translate(node.input))
            sink = target.attach(upstream, schema, self.changelog(node.input))
        if target.parallelism is not None:
            sink.set_parallelism(target.parallelism)
        found: Transformation = sink._transformation
        return found


def conjuncts(e: Expression) -> list[Expression]:
    """The conditions that AND joins."""
    if isinstance(e, Call) and getattr(e.function, "name", "") == "AND":
        return [c for a in e.args for c in conjuncts(a)]
    return [e]


def is_identity(expressions: Sequence[Expression], width: int) -> bool:
    """Whether a projection gives but new names to its columns."""
    columns = [e.index if isinstance(e, Column) else None for e in expressions]
    return columns == list(range(width))


def follows_column(e: Expression, column: int) -> bool:
    """Whether a watermark is its column, perhaps less an interval."""
    if isinstance(e, Column):
        return e.index == column
    if isinstance(e, Call) and getattr(e.function, "name", "") == "MINUS":
        return follows_column(e.args[0], column) and isinstance(e.args[1], Literal)
    return False
