"""From relational nodes to operators on streams of rows.

A stream carries plain tuples. Rows of a changelog end with their kind; a plan knows beforehand
which streams are changelogs, so a stream of inserts costs nothing extra.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import gcd
from operator import itemgetter
from typing import Any

from headrace.common.errors import SqlError
from headrace.common.typeinfo import Types
from headrace.datastream.connectors.collection import CollectionSource
from headrace.datastream.data_stream import DataStream
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.graph import partitioning as p
from headrace.graph.specs import OperatorSpec
from headrace.graph.transformation import (
    OperatorTransformation,
    PartitionTransformation,
    Transformation,
    UnionTransformation,
)
from headrace.sql import specs
from headrace.sql.binder.aggregation import NUMBERING
from headrace.sql.codegen.aggregates import (
    SUPPORTED,
    SUPPORTED_OVER,
    AggregateCode,
    aggregate_code,
)
from headrace.sql.codegen.calc import calc_code, value_code
from headrace.sql.codegen.code import GeneratedCode
from headrace.sql.expressions import (
    AggregateCall,
    Call,
    Column,
    Expression,
    Literal,
    SortKey,
    TimeAttribute,
)
from headrace.sql.functions import builtin_registry
from headrace.sql.operators.row_watermarks import RowWatermarks
from headrace.sql.plan import nodes as n
from headrace.sql.plan.changelog import is_append_only
from headrace.sql.plan.joins import ScalarJoin, SemiJoin
from headrace.sql.plan.match import Match, MatchExpressions
from headrace.sql.rules.window_columns import window_column
from headrace.sql.segments.planning import Segment, SegmentSettings, find_segments
from headrace.sql.type_rules import is_timestamp
from headrace.sql.types import IntType, RowField, RowType
from headrace.table.segments import (
    segment_accumulators,
    segment_columns,
    segment_ranked,
    segment_rows,
)

__all__ = ["StreamTranslator", "TranslationSettings"]


@dataclass(frozen=True)
class TranslationSettings:
    """What of the session's settings changes how plans are run."""

    zone: str = "UTC"
    batch: bool = False
    state_ttl_ms: int = 0
    every_change: bool = False
    two_phase: bool = True
    idle_timeout_ms: int = 0
    arrow_batch_size: int = 1000
    concurrent_calls: int = 10
    call_timeout_ms: int = 180_000
    call_attempts: int = 3
    call_retry_delay_ms: int = 100
    spark_segments: bool = False

    def for_segments(self) -> SegmentSettings:
        """What decides which parts Spark's JVM runs."""
        return SegmentSettings(
            self.spark_segments,
            self.two_phase and not self.every_change,
            self.zone,
            self.idle_timeout_ms > 0,
        )


def no_key(row: Any) -> tuple[()]:
    """The key of rows that all belong together."""
    return ()


class StreamTranslator:
    """Makes transformations of nodes, in one environment."""

    def __init__(self, env: StreamExecutionEnvironment, settings: TranslationSettings) -> None:
        self.env = env
        self.settings = settings
        self._done: dict[int, Transformation] = {}
        self._kept: list[n.Node] = []
        self._segments: dict[int, Segment] = {}

    def stream(self, node: n.Node) -> DataStream[Any]:
        """The stream of a plan's rows."""
        self._segments |= find_segments(node, self.settings.for_segments())
        self._kept.append(node)
        return DataStream(self.env, self.translate(node))

    def translate(self, node: n.Node) -> Transformation:
        """The transformation of a plan; a node that two plans share is translated once."""
        found = self._done.get(id(node))
        if found is None:
            found = self._translated(node)
            self._done[id(node)] = found
            self._kept.append(node)
        return found

    def _translated(self, node: n.Node) -> Transformation:
        segment = self._segments.get(id(node))
        if segment is not None and segment.local is None:
            return segment_rows(self.env, segment, len(node.schema))._transformation
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            raise SqlError(f"{type(node).__name__} is not supported yet")
        found: Transformation = method(node)
        return found

    def changelog(self, node: n.Node) -> bool:
        """Whether rows of a plan end with their kind."""
        return not self.settings.batch and not is_append_only(node)

    # Building blocks.

    def operator(
        self, name: str, inputs: Sequence[Transformation], spec: OperatorSpec, single: bool = False
    ) -> Transformation:
        transformation = OperatorTransformation(
            self.env.ids, name, inputs, Types.PICKLED_BYTE_ARRAY(), spec
        )
        if single:
            transformation.force_non_parallel = True
            transformation.parallelism = 1
        self.env.register(transformation)
        return transformation

    def keyed(self, upstream: Transformation, columns: Sequence[int]) -> Transformation:
        """Rows with equal columns go to one subtask."""
        selector = itemgetter(*columns) if columns else no_key
        return PartitionTransformation(self.env.ids, upstream, p.Keyed(selector))

    def _calc(
        self,
        input_: n.Node,
        upstream: Transformation,
        conditions: Sequence[Expression],
        projections: Sequence[Expression] | None,
    ) -> Transformation:
        changelog = self.changelog(input_)
        code = calc_code(conditions, projections, changelog, self.settings.zone)
        return self.operator("Calc", [upstream], specs.CalcSpec(code))

    # Nodes.

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

    def _as_changelog(self, node: n.Node, changelog: bool) -> Transformation:
        """Rows with their kind, where the others of a union have one."""
        upstream = self.translate(node)
        if not changelog or self.changelog(node):
            return upstream
        columns = [*node.schema.columns(), Literal(IntType(False), 0)]
        code = calc_code((), columns, False, self.settings.zone)
        return self.operator("Calc", [upstream], specs.CalcSpec(code))

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

    # Windows.

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
        if window.kind == "SESSION" and node.attached is None:
            if not code.combinable:
                names = ", ".join(c.function.name for c in node.calls)
                raise SqlError(
                    f"session windows are merged, but one of {names} cannot be; define merge() of "
                    "the aggregate function"
                )
            return self._session(node, code)
        slices = self._slices(window)
        merges = code.mergeable and self.settings.two_phase and node.attached is None
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

    # Rows in order.

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

    def _single(self, node: n.Node) -> Transformation:
        """All rows in one subtask."""
        return PartitionTransformation(self.env.ids, self.translate(node), p.Global())

    def _setoperation(self, node: n.SetOperation) -> Transformation:
        width = range(len(node.schema))
        changelog = not self.settings.batch
        inputs = [
            self.keyed(self._as_changelog(i, changelog), list(width))
            for i in (node.left, node.right)
        ]
        settings = self.settings
        spec = specs.SetOperationSpec(node.kind, node.all, settings.batch, settings.state_ttl_ms)
        return self.operator(node.kind.capitalize(), inputs, spec)

    def _semijoin(self, node: SemiJoin) -> Transformation:
        keys = ((), ()) if node.null_aware else (node.left_keys, node.right_keys)
        make = specs.NotInSpec if node.null_aware else specs.SemiJoinSpec
        spec = make(
            node.left_keys,
            node.anti,
            self.changelog(node),
            self.settings.batch,
            self.settings.state_ttl_ms,
        )
        return self._joined(node, keys, spec)

    def _scalarjoin(self, node: ScalarJoin) -> Transformation:
        spec = specs.ScalarJoinSpec(self.settings.batch, self.settings.state_ttl_ms)
        return self._joined(node, ((), ()), spec)

    def _joined(
        self,
        node: SemiJoin | ScalarJoin,
        keys: tuple[tuple[int, ...], tuple[int, ...]],
        spec: OperatorSpec,
    ) -> Transformation:
        """Both sides by their keys, with the kinds of their rows; in one subtask without keys."""
        inputs = [
            self.keyed(self._as_changelog(side, not self.settings.batch), columns)
            for side, columns in zip((node.left, node.right), keys, strict=True)
        ]
        return self.operator(spec.kind, inputs, spec, not keys[0])

    def _packed(self, arguments: Sequence[Expression]) -> GeneratedCode:
        """Code that makes a row of some arguments."""
        row = RowType([RowField(f"f{i}", a.type) for i, a in enumerate(arguments)], False)
        packed = Call(row, builtin_registry().find("ROW"), tuple(arguments))
        return value_code(packed, self.settings.zone)

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


def sort_order(keys: Sequence[SortKey]) -> tuple[tuple[int, bool, bool], ...]:
    """Column, descending, nulls first."""
    return tuple((k.index, k.descending, k.nulls_first) for k in keys)


def check_supported(calls: Sequence[AggregateCall], supported: frozenset[str] = SUPPORTED) -> None:
    """Refuses aggregates that nobody computes here."""
    for call in calls:
        name = call.function.name
        if not hasattr(call.function, "bound") and name not in supported:
            raise SqlError(f"aggregate function {name} is not supported here yet")
