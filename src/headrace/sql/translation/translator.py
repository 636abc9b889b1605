"""Turns physical plans into transformations of a stream graph, one node at a time.

All choices were made by the physical rules. Translation looks each node up in a table and decides
nothing but parallelism: changes of the same row must stay in order, so a stream of changes keeps
the number of subtasks that it has, unless an exchange brings all changes of a key together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from headrace.common.errors import SqlError
from headrace.common.typeinfo import Types
from headrace.datastream.data_stream import DataStream
from headrace.datastream.operator_settings import transformation_of
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.graph import partitioning as p
from headrace.graph.transformation import (
    OperatorTransformation,
    PartitionTransformation,
    Transformation,
    UnionTransformation,
)
from headrace.sql.codegen.calc import value_code
from headrace.sql.connectors.memory import MemoryTable
from headrace.sql.connectors.streams import by_columns, with_operator
from headrace.sql.operators.changes.specs import ConstraintSpec
from headrace.sql.operators.row_watermarks import RowWatermarks
from headrace.sql.physical import nodes as ph
from headrace.sql.physical.passes import physical_plans
from headrace.sql.physical.settings import PlanSettings
from headrace.sql.plan import nodes as n
from headrace.sql.room import with_room
from headrace.sql.rules import optimize_all
from headrace.sql.segments.steps import columns_needed
from headrace.sql.translation import (
    aggregates,
    lookups,
    ordered,
    process_tables,
    rows,
    spark,
    two_inputs,
)
from headrace.sql.translation.operators import Table, takes_changes

__all__ = ["StreamTranslator"]

OPERATORS: Table = {
    **rows.OPERATORS,
    **aggregates.OPERATORS,
    **ordered.OPERATORS,
    **two_inputs.OPERATORS,
    **lookups.OPERATORS,
    **process_tables.OPERATORS,
}
"""How nodes become operators."""


class StreamTranslator:
    """Translates the plans of one job, in one environment."""

    def __init__(self, env: StreamExecutionEnvironment, settings: PlanSettings) -> None:
        self.env = env
        self.settings = settings
        self.needed: dict[n.Node, frozenset[int] | None] = {}
        """Which columns of nodes others look at; None is all of them."""
        self._done: dict[n.Node, Transformation] = {}

    def translate(self, *plans: n.Node) -> list[Transformation]:
        """The transformations of plans of one job; a part that several plans share exists once."""
        reuse, every_change = self.settings.reuse_subplans, self.settings.every_change
        return self._translated(optimize_all(plans, reuse=reuse, every_change=every_change))

    def _translated(self, plans: Sequence[n.Node]) -> list[Transformation]:
        physical = physical_plans(plans, self.settings)
        self.needed = columns_needed(physical)
        return [self._made(plan) for plan in physical]

    def stream(self, plan: n.Node) -> DataStream[Any]:
        """The rows of an optimized plan; NULL in a decimal column that is NOT NULL is an error."""
        (made,) = self._translated([plan])
        stream: DataStream[Any] = DataStream(self.env, made)
        spec = ConstraintSpec.of_decimals(plan.schema)
        return stream if spec is None else with_operator(stream, "ConstraintEnforcer", spec)

    @with_room
    def takes_changes(self, plan: n.Node) -> bool:
        """Whether each row of a plan ends with its kind."""
        return takes_changes(plan, self.settings)

    @with_room
    def _made(self, node: n.Node) -> Transformation:
        """The transformation of a physical node; a node with two readers is translated once."""
        found = self._done.get(node)
        if found is None:
            inputs = [self._made(i) for i in node.inputs]
            if type(node) in OPERATORS:
                found = self._operator(node, inputs)
            else:
                found = _GRAPH[type(node)](self, node, inputs)
            self._done[node] = found
        return found

    def _operator(self, node: n.Node, inputs: Sequence[Transformation]) -> Transformation:
        operator = OPERATORS[type(node)](node, self.settings)
        transformation = OperatorTransformation(
            self.env.ids, operator.name, inputs, Types.PICKLED_BYTE_ARRAY(), operator.spec
        )
        transformation.uid = operator.uid
        if any(isinstance(i, ph.Exchange) and i.gathers for i in node.inputs):
            # All rows meet in one subtask, whatever parallelism the job has.
            transformation.force_non_parallel = True
            transformation.parallelism = 1
        elif len(inputs) == 1 and not self._may_spread(node.inputs[0]):
            transformation.parallelism = inputs[0].parallelism
        self.env.register(transformation)
        return transformation

    def _may_spread(self, node: n.Node) -> bool:
        """Whether the next operator may have another parallelism, as Flink allows after a source.

        Spreading rows loses their order. That must not happen to the changes of a row, nor to rows
        that were sorted.
        """
        return isinstance(node, n.Scan) and not self.takes_changes(node)


Inputs = Sequence[Transformation]


def _exchange(t: StreamTranslator, node: ph.Exchange, inputs: Inputs) -> Transformation:
    partitioner: p.Partitioning
    if node.distribution is ph.Distribution.SINGLE:
        partitioner = p.Global()
    elif node.distribution is ph.Distribution.KEYED:
        partitioner = p.Keyed(itemgetter(0))
    elif isinstance(node.input, ph.SparkColumns | ph.SparkRank) and node.columns:
        partitioner = spark.by_key(node.input, node.columns)
    else:
        partitioner = p.Keyed(itemgetter(*node.columns) if node.columns else no_key)
    return PartitionTransformation(t.env.ids, inputs[0], partitioner)


def no_key(row: Any) -> tuple[()]:
    """The key of all rows where there is a single group."""
    return ()


def _scan(t: StreamTranslator, node: n.Scan, inputs: Inputs) -> Transformation:
    stream: DataStream[Any]
    if node.watermark is None:
        needed = t.needed.get(node)
        source = node.source if needed is None else node.source.narrowed(sorted(needed))
        stream = source.build(t.env)
    else:
        options = node.source.watermark_options
        marks = RowWatermarks(value_code(node.watermark, t.settings.zone), options.emit_every)
        strategy = options.strategy(marks, t.settings.idle_timeout_ms)
        stream = node.source.build_with_watermarks(t.env, strategy)
    return transformation_of(stream)


def _values(t: StreamTranslator, node: n.Values, inputs: Inputs) -> Transformation:
    return transformation_of(MemoryTable(node.rows).build(t.env))


def _union(t: StreamTranslator, node: n.Union, inputs: Inputs) -> Transformation:
    parallelisms = {i.parallelism for i in inputs}
    if len(parallelisms) > 1 and t.takes_changes(node):
        # An input of one subtask would be dealt out to the many of another in turn, and the changes
        # of a row would part. They go to the same one instead, where they stay in order.
        inputs = [_in_one_place(t, i) if i.parallelism == 1 else i for i in inputs]
    union = UnionTransformation(t.env.ids, inputs)
    union.parallelism = parallelisms.pop() if len(parallelisms) == 1 else None
    return union


def _in_one_place(t: StreamTranslator, transformation: Transformation) -> Transformation:
    return PartitionTransformation(t.env.ids, transformation, p.Global())


def _sink(t: StreamTranslator, node: n.Sink, inputs: Inputs) -> Transformation:
    target, upstream = node.target, DataStream[Any](t.env, inputs[0])
    if isinstance(node.input, ph.SparkColumns):
        sink = target.attach_columns(upstream, node.schema)
    else:
        changes = t.takes_changes(node.input)
        sink = target.attach(_in_order(t, node, upstream, changes), node.schema, changes)
    parallelism = target.parallelism or inputs[0].parallelism
    if parallelism is not None:
        sink.set_parallelism(parallelism)
    found: Transformation = transformation_of(sink)
    return found


def _in_order(
    t: StreamTranslator, node: n.Sink, stream: DataStream[Any], changes: bool
) -> DataStream[Any]:
    """Sends all changes of a row to the same subtask of a sink with its own parallelism."""
    wanted = node.target.parallelism
    given = transformation_of(stream).parallelism or t.env.get_parallelism()
    if not changes or wanted in (None, given):
        return stream
    # By any other columns, the row before an update and the row after it might go different ways.
    if not node.upsert_keys:
        raise SqlError(
            f"The sink for table '{'.'.join(node.table)}' has a configured parallelism of "
            f"{wanted}, while the input parallelism is {given}. Since the changelog mode contains "
            "more than inserts, a primary key is required but no primary key is found. Declare "
            "one, or leave 'sink.parallelism' away."
        )
    return by_columns(stream, node.upsert_keys)


def _spark_rows(t: StreamTranslator, node: ph.SparkRows, inputs: Inputs) -> Transformation:
    return transformation_of(spark.rows(t.env, node))


def _spark_columns(t: StreamTranslator, node: ph.SparkColumns, inputs: Inputs) -> Transformation:
    return transformation_of(spark.columns(t.env, node))


def _spark_aggregate(
    t: StreamTranslator, node: ph.SparkAggregate, inputs: Inputs
) -> Transformation:
    return transformation_of(spark.accumulators(t.env, node))


def _spark_rank(t: StreamTranslator, node: ph.SparkRank, inputs: Inputs) -> Transformation:
    local = ordered.local_rank_spec(node.rank, t.settings)
    return transformation_of(spark.ranked(t.env, node, local))


_GRAPH: dict[type[n.Node], Callable[[StreamTranslator, Any, Inputs], Transformation]] = {
    ph.Exchange: _exchange,
    n.Scan: _scan,
    n.Values: _values,
    n.Union: _union,
    n.Sink: _sink,
    ph.SparkRows: _spark_rows,
    ph.SparkColumns: _spark_columns,
    ph.SparkAggregate: _spark_aggregate,
    ph.SparkRank: _spark_rank,
}
"""How all other nodes are translated: sources, sinks, unions and exchanges."""
