"""Aggregates: of groups, and of windows of time and of rows."""

from __future__ import annotations

from math import gcd
from operator import itemgetter

from headrace.common.errors import SqlError
from headrace.graph import partitioning as p
from headrace.graph.specs import OperatorSpec
from headrace.graph.transformation import (
    PartitionTransformation,
    Transformation,
)
from headrace.sql.codegen.aggregates import (
    AggregateCode,
    aggregate_code,
)
from headrace.sql.operators import specs
from headrace.sql.plan import nodes as n
from headrace.sql.translation.base import NodeTranslator, check_supported
from headrace.sql.translation.segments import (
    segment_accumulators,
)

__all__ = ["AggregateNodes"]


class AggregateNodes(NodeTranslator):
    """A local phase before the exchange wherever accumulators can be merged."""

    def _aggregate(self, node: n.Aggregate) -> Transformation:
        check_supported(node.calls)
        changelog = self.changelog(node.input)
        settings = self.settings
        code = aggregate_code(node.calls, changelog, settings.zone)
        merges = code.mergeable and settings.two_phase and not settings.every_change
        if merges:
            keyed = self._merged(node, specs.LocalAggregateSpec(code, node.group))
        else:
            keyed = self.keyed(self.translate(node.input), node.group)
        single = not node.group
        spec = specs.GroupAggregateSpec(
            code,
            len(node.group),
            merges,
            changelog,
            settings.every_change,
            settings.state_ttl_ms if node.state_ttl_ms is None else node.state_ttl_ms,
            settings.batch,
            settings.batch and single,
        )
        return self.operator("GroupAggregate", [keyed], spec, single)

    def _merged(self, node: n.Aggregate | n.WindowAggregate, local: OperatorSpec) -> Transformation:
        """Accumulators of the local phase by key; Spark's JVM runs it, or an operator."""
        segment = self._segments.get(id(node))
        if segment is not None:
            upstream = segment_accumulators(self.env, segment)._transformation
        else:
            upstream = self.operator(local.kind, [self.translate(node.input)], local)
        return PartitionTransformation(self.env.ids, upstream, p.Keyed(itemgetter(0)))

    def _slices(self, window: n.Window) -> specs.WindowSlices:
        slide = window.slide or window.size
        step = slide
        if window.kind == "HOP":
            step = gcd(window.size, slide)
        zone = self.settings.zone if window.zoned else None
        return specs.WindowSlices(window.kind, window.size, slide, window.offset, step, zone)

    def _windowtable(self, node: n.WindowTable) -> Transformation:
        slices = self._slices(node.window)
        spec = specs.WindowTableSpec(slices, node.window.time, node.window.event_time)
        return self.operator("WindowTableFunction", [self.translate(node.input)], spec)

    def _windowaggregate(self, node: n.WindowAggregate) -> Transformation:
        check_supported(node.calls)
        code = aggregate_code(node.calls, self.changelog(node.input), self.settings.zone)
        window = node.window
        single = not node.group
        if window.kind == "SESSION" and not node.attached:
            if not code.combinable:
                names = ", ".join(c.function.name for c in node.calls)
                raise SqlError(
                    f"session windows are merged, but one of {names} cannot be; define merge() of "
                    "the aggregate function"
                )
            return self._session(node, code)
        slices = self._slices(window)
        merges = code.mergeable and self.settings.two_phase and not node.attached
        if merges:
            local: OperatorSpec = specs.LocalAggregateSpec(code, node.group)
            if window.event_time:
                local = specs.LocalWindowAggregateSpec(code, node.group, slices, window.time)
            keyed = self._merged(node, local)
        else:
            keyed = self.keyed(self.translate(node.input), node.group)
        spec = specs.WindowAggregateSpec(
            code,
            len(node.group),
            slices,
            window.time,
            node.properties,
            merges,
            window.event_time,
            node.attached,
        )
        return self.operator("WindowAggregate", [keyed], spec, single)

    def _session(self, node: n.WindowAggregate, code: AggregateCode) -> Transformation:
        window, group = node.window, node.group
        merges = code.mergeable and self.settings.two_phase
        if merges:
            local: OperatorSpec = specs.LocalAggregateSpec(code, group)
            if window.event_time:
                local = specs.LocalSessionAggregateSpec(code, group, window.size, window.time)
            keyed = self._merged(node, local)
        else:
            keyed = self.keyed(self.translate(node.input), group)
        spec = specs.SessionAggregateSpec(
            code,
            len(group),
            window.size,
            window.time,
            node.properties,
            window.event_time,
            self.settings.zone if window.zoned else None,
            merges,
        )
        return self.operator("SessionAggregate", [keyed], spec, not group)

    def _rowwindowaggregate(self, node: n.RowWindowAggregate) -> Transformation:
        check_supported(node.calls)
        code = aggregate_code(node.calls, False, self.settings.zone)
        keyed = self.keyed(self.translate(node.input), node.group)
        spec = specs.RowWindowAggregateSpec(code, len(node.group), node.size, node.slide)
        return self.operator("RowWindowAggregate", [keyed], spec, not node.group)
