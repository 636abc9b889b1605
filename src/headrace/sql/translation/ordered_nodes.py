"""Nodes that see rows in an order: OVER, patterns, rankings, sorting."""

from __future__ import annotations

from dataclasses import replace

from headrace.graph.transformation import (
    Transformation,
)
from headrace.sql.binder.aggregation import NUMBERING
from headrace.sql.codegen.aggregates import (
    SUPPORTED_OVER,
    aggregate_code,
)
from headrace.sql.codegen.calc import calc_code
from headrace.sql.codegen.code import GeneratedCode
from headrace.sql.operators import specs
from headrace.sql.plan import nodes as n
from headrace.sql.plan.expressions import (
    TimeAttribute,
)
from headrace.sql.plan.match import Match, MatchExpressions
from headrace.sql.rules.window_columns import window_column
from headrace.sql.translation.base import NodeTranslator, check_supported, sort_order
from headrace.sql.translation.segments import (
    segment_ranked,
)
from headrace.sql.types.type_rules import is_timestamp

__all__ = ["OrderedNodes"]


class OrderedNodes(NodeTranslator):
    """By a time attribute on streams, by anything in batch mode."""

    def _overaggregate(self, node: n.OverAggregate) -> Transformation:
        if self.settings.batch:
            return self._sorted_over(node)
        check_supported(node.calls, SUPPORTED_OVER)
        (key,) = node.order
        time = node.input.schema[key.index].time
        code = aggregate_code(node.calls, False, self.settings.zone)
        keyed = self.keyed(self.translate(node.input), node.partition)
        spec = specs.OverSpec(
            code,
            key.index,
            time is TimeAttribute.ROWTIME,
            node.rows,
            node.start,
            self.settings.state_ttl_ms,
        )
        return self.operator("OverAggregate", [keyed], spec, not node.partition)

    def _sorted_over(self, node: n.OverAggregate) -> Transformation:
        """Batch mode has all rows, and so any order and frame."""
        numbered = [c.function.name in NUMBERING for c in node.calls]
        aggregates = [c for c, place in zip(node.calls, numbered, strict=True) if not place]
        check_supported(aggregates)
        functions = tuple(
            (c.function.name, c.args[0] if c.args else None, c.constants) if place else None
            for c, place in zip(node.calls, numbered, strict=True)
        )
        unit = 1
        if node.order and is_timestamp(node.input.schema[node.order[0].index].type):
            unit = 1000
        start, end = (
            None if x is None else x if node.rows else x * unit for x in (node.start, node.end)
        )
        code = aggregate_code(aggregates, False, self.settings.zone)
        spec = specs.SortedOverSpec(code, sort_order(node.order), node.rows, start, end, functions)
        keyed = self.keyed(self.translate(node.input), node.partition)
        return self.operator("OverAggregate", [keyed], spec, not node.partition)

    def _match(self, node: Match) -> Transformation:
        time = node.input.schema[node.order[0].index].time
        spec = specs.MatchSpec(
            node.partition,
            sort_order(node.order),
            time is not TimeAttribute.PROCTIME,
            node.pattern,
            tuple(None if c is None else self._condition_code(c) for c in node.conditions),
            self._match_values(
                node.measures, calc_code((), node.measures.expressions, zone=self.settings.zone)
            ),
            node.skip,
            node.skip_to,
            node.within_ms,
        )
        keyed = self.keyed(self.translate(node.input), node.partition)
        return self.operator("Match", [keyed], spec, not node.partition)

    def _condition_code(self, condition: MatchExpressions) -> specs.MatchValues:
        code = calc_code(condition.expressions, None, zone=self.settings.zone)
        return self._match_values(condition, code)

    def _match_values(self, values: MatchExpressions, code: GeneratedCode) -> specs.MatchValues:
        check_supported([r.call for r in values.references if r.call is not None])
        aggregates = tuple(
            None if r.call is None else aggregate_code([r.call], False, self.settings.zone)
            for r in values.references
        )
        plain = tuple(replace(r, call=None) for r in values.references)
        return specs.MatchValues(plain, aggregates, code)

    def _rank(self, node: n.Rank) -> Transformation:
        order = sort_order(node.order)
        single = not node.partition
        keyed = self.keyed(self._best(node, order), node.partition)
        if node.window is not None:
            window = specs.WindowRankSpec(
                order, node.start, node.end, node.numbered, node.window[1], self._zone_of(node)
            )
            return self.operator("WindowRank", [keyed], window, single)
        spec = specs.RankSpec(
            order,
            node.start,
            node.end,
            node.numbered,
            self.changelog(node.input),
            node.function,
            self.settings.batch,
            self.settings.state_ttl_ms,
        )
        return self.operator("Rank", [keyed], spec, single)

    def _zone_of(self, node: n.Rank) -> str | None:
        """The zone whose clock shows the ends of the windows that rows are ranked in."""
        found = None if node.window is None else window_column(node.input, node.window[1])
        source = None if found is None else found[0]
        windows = isinstance(source, n.WindowTable | n.WindowAggregate) and source.window.zoned
        return self.settings.zone if windows else None

    def _best(self, node: n.Rank, order: tuple[tuple[int, bool, bool], ...]) -> Transformation:
        """Rows that may be among the first ones, as far as one sender knows."""
        end = None if node.window is None else node.window[1]
        local = specs.LocalRankSpec(node.partition, order, node.end, end, self._zone_of(node))
        segment = self._segments.get(id(node))
        if segment is not None:
            width = len(node.input.schema)
            return segment_ranked(self.env, segment, width, local)._transformation
        upstream = self.translate(node.input)
        grows = node.function == "ROW_NUMBER" and not self.changelog(node.input)
        if not grows or not self.settings.two_phase:
            return upstream
        return self.operator(local.kind, [upstream], local)

    def _deduplicate(self, node: n.Deduplicate) -> Transformation:
        keyed = self.keyed(self.translate(node.input), node.keys)
        if self.settings.batch:
            order = ((node.order, node.last, True),)
            rank = specs.RankSpec(order, 1, 1, False, False, "ROW_NUMBER", True)
            return self.operator("Deduplicate", [keyed], rank, not node.keys)
        spec = specs.DeduplicateSpec(
            node.order, node.last, node.event_time, self.settings.state_ttl_ms
        )
        return self.operator("Deduplicate", [keyed], spec, not node.keys)

    def _sort(self, node: n.Sort) -> Transformation:
        upstream = self._single(node.input)
        if self.settings.batch:
            spec = specs.SortSpec(sort_order(node.keys))
            return self.operator("Sort", [upstream], spec, True)
        first = node.input.schema[node.keys[0].index]
        time = node.keys[0].index if first.time is TimeAttribute.ROWTIME else None
        spec = specs.SortSpec(sort_order(node.keys), time)
        if first.time is TimeAttribute.PROCTIME:
            return upstream
        return self.operator("TemporalSort", [upstream], spec, True)

    def _limit(self, node: n.Limit) -> Transformation:
        upstream = self._single(node.input)
        changelog = self.changelog(node.input)
        if not node.keys:
            limit = specs.LimitSpec(node.offset, node.fetch, changelog)
            return self.operator("Limit", [upstream], limit, True)
        if self.settings.batch:
            spec = specs.SortSpec(sort_order(node.keys), None, node.offset, node.fetch)
            return self.operator("SortLimit", [upstream], spec, True)
        assert node.fetch is not None
        rank = specs.RankSpec(
            sort_order(node.keys),
            node.offset + 1,
            node.offset + node.fetch,
            False,
            changelog,
            ttl_ms=self.settings.state_ttl_ms,
        )
        return self.operator("SortLimit", [self.keyed(upstream, ())], rank, True)
