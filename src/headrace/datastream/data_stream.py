"""Streams: what a program is written with.

A `DataStream` is a description. Each method adds a transformation to the environment and returns
the next stream; nothing runs before `execute()`.
"""

from __future__ import annotations

import enum
import shutil
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast, overload

from headrace.common.errors import FunctionTypeError, GraphError
from headrace.common.typeinfo import TupleTypeInfo, TypeInformation, Types
from headrace.common.types import Row
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream import rolling
from headrace.datastream.broadcast import BroadcastConnectedStream, BroadcastStream
from headrace.datastream.closeable_iterator import CloseableIterator
from headrace.datastream.connected_streams import ConnectedStreams
from headrace.datastream.functions import (
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    Partitioner,
    ProcessFunction,
    ReduceFunction,
    as_filter_function,
    as_flat_map_function,
    as_key_selector,
    as_map_function,
    as_partitioner,
    as_reduce_function,
    check_function,
)
from headrace.datastream.joins import CoGroupedStreams, IntervalJoin, JoinedStreams
from headrace.datastream.operator_settings import declared_type, resolved_type, transformation_of
from headrace.datastream.output_tag import OutputTag
from headrace.datastream.queryable_state import (
    KeepQueryable,
    QueryableStateStream,
    queryable_descriptor,
)
from headrace.datastream.state import StateDescriptor
from headrace.datastream.stream_base import DataStreamSink, StreamBase
from headrace.datastream.window import (
    CountSlidingWindowAssigner,
    CountTumblingWindowAssigner,
    WindowAssigner,
)
from headrace.datastream.windowed_stream import AllWindowedStream, WindowedStream
from headrace.graph import partitioning as p
from headrace.graph import specs
from headrace.graph.shipping import check_shippable
from headrace.graph.transformation import (
    CacheTransformation,
    OperatorTransformation,
    PartitionTransformation,
    SideOutputTransformation,
    Transformation,
    UnionTransformation,
)

if TYPE_CHECKING:
    from headrace.datastream.state import MapStateDescriptor
    from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment

__all__ = [
    "CachedDataStream",
    "CloseableIterator",
    "ConnectedStreams",
    "DataStream",
    "DataStreamSink",
    "KeyedStream",
]

T = TypeVar("T")
U = TypeVar("U")
V = TypeVar("V")
K = TypeVar("K")


class DataStream(StreamBase[T]):
    """A stream of records of one type."""

    # Transformations.

    def _apply(
        self,
        name: str,
        spec: specs.OperatorSpec,
        output_type: TypeInformation,
        converts: bool = False,
        inputs: list[Transformation] | None = None,
    ) -> DataStream[Any]:
        transformation = OperatorTransformation(
            self._environment.ids,
            name,
            inputs or [self._transformation],
            output_type,
            spec,
            converts,
        )
        self._environment.register(transformation)
        return DataStream(self._environment, transformation)

    def map(
        self, func: Callable[[T], U] | MapFunction[T, U], output_type: TypeInformation | None = None
    ) -> DataStream[U]:
        """Turns each record into one record.

        Args:
            func: A function, or a `MapFunction` with `open` and `close`.
            output_type: Type of the results; any Python objects without it.

        Example:
            >>> ds.map(lambda x: x * 2, output_type=Types.LONG())
        """
        function = as_map_function(func)
        check_shippable(function, "map")
        return self._apply("Map", specs.MapSpec(function), *resolved_type(output_type, "map"))

    def flat_map(
        self,
        func: Callable[[T], Any] | FlatMapFunction[T, U],
        output_type: TypeInformation | None = None,
    ) -> DataStream[U]:
        """Turns each record into any number: the function yields or returns an iterable."""
        function = as_flat_map_function(func)
        check_shippable(function, "flat_map")
        return self._apply(
            "FlatMap", specs.FlatMapSpec(function), *resolved_type(output_type, "flat_map")
        )

    def filter(self, func: Callable[[T], Any] | FilterFunction[T]) -> DataStream[T]:
        """Keeps the records for which the function is true."""
        function = as_filter_function(func)
        check_shippable(function, "filter")
        return self._apply("Filter", specs.FilterSpec(function), self._record_type())

    def process(
        self, func: ProcessFunction[T, U], output_type: TypeInformation | None = None
    ) -> DataStream[U]:
        """Processes each record with its context.

        The context has timestamps, side outputs and, after key_by, state and timers.
        """
        if isinstance(func, KeyedProcessFunction):
            raise FunctionTypeError(
                "a KeyedProcessFunction needs a keyed stream: call key_by() before process()"
            )
        function = check_function(func, ProcessFunction, "process")
        check_shippable(function, "process")
        return self._apply(
            "PROCESS", specs.ProcessSpec(function), *resolved_type(output_type, "process")
        )

    def project(self, *field_indexes: int) -> DataStream[tuple[Any, ...]]:
        """Keeps only some fields of a stream of tuples."""
        own_type = self._record_type()
        if not isinstance(own_type, TupleTypeInfo):
            raise GraphError(
                "Only Tuple DataStreams can be projected. Declare Types.TUPLE([...]): this one is "
                f"{own_type}"
            )
        if not field_indexes:
            raise GraphError("project() needs to select at least one (1) field.")
        types = own_type.get_field_types()
        for index in field_indexes:
            if not isinstance(index, int) or not 0 <= index < len(types):
                raise GraphError(f"project: there is no field {index!r} in {own_type}")
        projected = Types.TUPLE([types[i] for i in field_indexes])

        def project(value: Any) -> tuple[Any, ...]:
            return tuple(value[i] for i in field_indexes)

        return self.map(project, projected).name("Projection")

    def union(self, *streams: DataStream[T]) -> DataStream[T]:
        """Merges this stream and others of the same type into one."""
        for stream in streams:
            self._check_same_environment(stream, "union")
            if stream._record_type() != self._record_type():
                raise GraphError(
                    f"Cannot union streams of different types: {self._record_type()} and "
                    f"{stream._record_type()}"
                )
        inputs = [self._without_keys(), *(s._without_keys() for s in streams)]
        return DataStream(self._environment, UnionTransformation(self._environment.ids, inputs))

    def cache(self) -> CachedDataStream[T]:
        """Keeps the records of this stream, so that later jobs need not compute them again."""
        self._settable("Cache")
        if not self.is_bounded():
            raise GraphError("cache() needs a bounded stream, but this one never ends")
        cached = CacheTransformation(self._environment.ids, self._transformation)
        return CachedDataStream(self._environment, cached)

    @overload
    def connect(self, ds: DataStream[V]) -> ConnectedStreams[T, V]: ...

    @overload
    def connect(self, ds: BroadcastStream[V]) -> BroadcastConnectedStream[T, V]: ...

    def connect(
        self, ds: DataStream[V] | BroadcastStream[V]
    ) -> ConnectedStreams[T, V] | BroadcastConnectedStream[T, V]:
        """Connects this stream and another of any type as the two inputs of one function.

        The other one may be a stream with broadcast state: `items.connect(rules.broadcast(state))`.
        """
        if isinstance(ds, BroadcastStream):
            self._check_same_environment(ds.input_stream, "connect")
            return BroadcastConnectedStream(self, ds, ds.broadcast_state_descriptors)
        self._check_same_environment(ds, "connect")
        return ConnectedStreams(self, ds)

    def join(self, other: DataStream[V]) -> JoinedStreams[T, V]:
        """Joins this stream with another by key and window.

        Example:
            >>> (
            ...     orders.join(payments)
            ...     .where(lambda order: order.id)
            ...     .equal_to(lambda payment: payment.order_id)
            ...     .window(TumblingEventTimeWindows.of(Time.minutes(5)))
            ...     .apply(lambda order, payment: (order.id, payment.amount))
            ... )
        """
        self._check_same_environment(other, "join")
        return JoinedStreams(self, other)

    def co_group(self, other: DataStream[V]) -> CoGroupedStreams[T, V]:
        """Groups this stream with another by key and window; one side may be empty.

        It is written as `join` is; the function gets all records of both sides at once.
        """
        self._check_same_environment(other, "co_group")
        return CoGroupedStreams(self, other)

    # Partitioning.

    def key_by(
        self,
        key_selector: Callable[[T], K] | KeySelector[T, K],
        key_type: TypeInformation | None = None,
    ) -> KeyedStream[K, T]:
        """Sends all records of a key to one subtask, where state and timers belong to the key.

        Args:
            key_selector: Gives the key of a record: a str, number, tuple, anything that can be
                pickled.
            key_type: Type of the key.

        Example:
            >>> ds.key_by(lambda row: row[0])
        """
        selector = as_key_selector(key_selector)
        check_shippable(selector, "key_by")
        if key_type is not None and not isinstance(key_type, TypeInformation):
            raise FunctionTypeError(f"key_by: key_type must be a TypeInformation, not {key_type!r}")
        transformation = PartitionTransformation(
            self._environment.ids, self._values(), p.KeyBy(selector.get_key)
        )
        return KeyedStream(self._environment, transformation, key_type)

    def _partitioned(self, partitioning: p.Partitioning) -> DataStream[T]:
        transformation = PartitionTransformation(
            self._environment.ids, self._values(), partitioning
        )
        return DataStream(self._environment, transformation)

    def rebalance(self) -> DataStream[T]:
        """Sends records to all subtasks in turn."""
        return self._partitioned(p.Rebalance())

    def rescale(self) -> DataStream[T]:
        """Sends records to subtasks in turn, within groups of subtasks."""
        return self._partitioned(p.Rescale())

    def forward(self) -> DataStream[T]:
        """Keeps records in their subtask; both sides need the same parallelism."""
        return self._partitioned(p.Forward())

    def shuffle(self) -> DataStream[T]:
        """Sends each record to a random subtask."""
        return self._partitioned(p.Shuffle())

    def global_(self) -> DataStream[T]:
        """Sends all records to the first subtask."""
        return self._partitioned(p.Global())

    @overload
    def broadcast(self) -> DataStream[T]: ...

    @overload
    def broadcast(
        self,
        broadcast_state_descriptor: MapStateDescriptor,
        *other_broadcast_state_descriptors: MapStateDescriptor,
    ) -> BroadcastStream[T]: ...

    def broadcast(
        self,
        broadcast_state_descriptor: MapStateDescriptor | None = None,
        *other_broadcast_state_descriptors: MapStateDescriptor,
    ) -> DataStream[T] | BroadcastStream[T]:
        """Sends each record to every subtask.

        Args:
            broadcast_state_descriptor: The state that is made of the records; the result is then a
                `BroadcastStream`, to be connected with another stream.
            *other_broadcast_state_descriptors: More such states.

        Example:
            >>> rules = rule_stream.broadcast(MapStateDescriptor("rules", Types.STRING()))
            >>> items.key_by(lambda item: item.colour).connect(rules).process(MatchRules())
        """
        stream = self._partitioned(p.Broadcast())
        if broadcast_state_descriptor is None and not other_broadcast_state_descriptors:
            return stream
        descriptors = [broadcast_state_descriptor, *other_broadcast_state_descriptors]
        return BroadcastStream(stream, cast("list[MapStateDescriptor]", descriptors))

    def partition_custom(
        self,
        partitioner: Callable[[K, int], int] | Partitioner[K],
        key_selector: Callable[[T], K] | KeySelector[T, K],
    ) -> DataStream[T]:
        """Sends each record to the subtask that `partitioner(key, number_of_subtasks)` returns."""
        part = as_partitioner(partitioner)
        selector = as_key_selector(key_selector)
        check_shippable((part, selector), "partition_custom")
        return self._partitioned(p.Custom(part.partition, selector.get_key))

    # Windows.

    def window_all(self, window_assigner: WindowAssigner[Any, Any]) -> AllWindowedStream[T]:
        """Divides the whole stream into windows, which one subtask computes."""
        return AllWindowedStream(self, window_assigner)

    def count_window_all(self, size: int, slide: int = 0) -> AllWindowedStream[T]:
        """Divides the whole stream into windows of `size` records."""
        return self.window_all(_count_assigner(size, slide))

    # Time.

    def assign_timestamps_and_watermarks(
        self, watermark_strategy: WatermarkStrategy
    ) -> DataStream[T]:
        """Gives records timestamps, and derives watermarks from them."""
        if not isinstance(watermark_strategy, WatermarkStrategy):
            raise FunctionTypeError(
                "assign_timestamps_and_watermarks takes a WatermarkStrategy, such as "
                f"WatermarkStrategy.for_monotonous_timestamps(), not {watermark_strategy!r}"
            )
        check_shippable(watermark_strategy, "assign_timestamps_and_watermarks")
        interval_ms = self._environment.get_config().get_auto_watermark_interval()
        spec = specs.TimestampsSpec(watermark_strategy, interval_ms)
        return self._apply("Timestamps/Watermarks", spec, self._record_type())

    # Outputs.

    def on_error(self, output_tag: OutputTag) -> DataStream[T]:
        """Puts records that fail aside, with their error, instead of failing the job.

        For `map`, `flat_map`, `filter` and `process` a record whose function raises goes to the
        side output as a `DeadLetter`, and the function goes on with the next one; so do a timer
        that raises, and a result that does not fit its declared type. For a source it is what
        cannot be deserialized (files, Kafka and brokers like it). State that the function changed
        before it raised stays changed, and what a process function or a timer has emitted stays
        emitted.

        Example:
            >>> failed = OutputTag("failed")
            >>> parsed = lines.map(json.loads).on_error(failed)
            >>> parsed.get_side_output(failed).map(lambda letter: letter.message).print()
        """
        if not isinstance(output_tag, OutputTag):
            raise FunctionTypeError(f"on_error() takes an OutputTag, not {output_tag!r}")
        transformation = self._settable("on_error()")
        spec: Any = getattr(transformation, "spec", None)
        if not hasattr(spec, "error_tag"):
            raise GraphError(
                "on_error() works for sources, map, flat_map, filter and process, not for "
                f"{transformation.name!r}"
            )
        self._environment.check_side_output(transformation, output_tag)
        transformation.spec = replace(spec, error_tag=output_tag)  # type: ignore[attr-defined]
        return self

    def get_side_output(self, output_tag: OutputTag) -> DataStream[Any]:
        """Returns the side output of the operator under a tag."""
        if not isinstance(output_tag, OutputTag):
            raise FunctionTypeError(f"get_side_output() takes an OutputTag, not {output_tag!r}")
        transformation = self._settable("A side output")
        self._environment.check_side_output(transformation, output_tag)
        return DataStream(
            self._environment,
            SideOutputTransformation(self._environment.ids, transformation, output_tag),
        )


class CachedDataStream(DataStream[T]):
    """A stream whose records are kept when a job has computed them.

    The first job that comes to its end with this stream in it fills the cache; later jobs of the
    same environment read from there and leave out what is above. The stream must be bounded.
    The records lie in files on the driver's machine, which executors must reach.
    """

    _transformation: CacheTransformation

    def __init__(
        self, environment: StreamExecutionEnvironment, transformation: CacheTransformation
    ) -> None:
        super().__init__(environment, transformation)

    def invalidate(self) -> None:
        """Drops the kept records; the next job computes them again."""
        cached = self._transformation
        cached.inputs = [cached.computed]
        if cached.directory is not None:
            shutil.rmtree(cached.directory, ignore_errors=True)
            cached.directory = None

    def _settable(self, what: str) -> Transformation:
        return self._transformation.computed


class KeyedStream(DataStream[T], Generic[K, T]):
    """A stream whose records have a key, to which state and timers of the next operator belong."""

    class AccumulateType(enum.Enum):
        """The rolling aggregates."""

        MIN = 1
        MAX = 2
        MIN_BY = 3
        MAX_BY = 4
        SUM = 5

    def __init__(
        self,
        environment: StreamExecutionEnvironment,
        transformation: PartitionTransformation,
        key_type: TypeInformation | None = None,
    ) -> None:
        super().__init__(environment, transformation)
        self._key_type = key_type
        self._partitioning = transformation.partitioning

    def _partitioned(self, partitioning: p.Partitioning) -> DataStream[T]:
        raise GraphError(
            "Cannot override partitioning for KeyedStream. Its key says where a record goes; for "
            "another partitioning begin with the stream before key_by()"
        )

    def get_key_type(self) -> TypeInformation:
        """Returns the type of the keys."""
        return self._key_type or Types.PICKLED_BYTE_ARRAY()

    def get_type(self) -> TypeInformation:
        """The type of rows of key and record, as PyFlink has it: what `execute_and_collect` gives.

        What follows on the stream gets records alone.
        """
        return Types.ROW_NAMED(["f0", "f1"], [self.get_key_type(), self._record_type()])

    def _record_type(self) -> TypeInformation:
        output_type: TypeInformation = self._transformation.output_type
        return output_type

    def _values(self) -> Transformation:
        # Partitioning a keyed stream again goes on from the stream before.
        return self._transformation.inputs[0]

    def _without_keys(self) -> Transformation:
        # The records of a key stay together, and in order, on their way into a sink or a union.
        spec = specs.MapSpec(as_map_function(_same))
        values = self._apply("_keyed_stream_values_operator", spec, self._record_type())
        transformation = transformation_of(values)
        transformation.added = True
        return transformation

    def execute_and_collect(
        self, job_execution_name: str | None = None, limit: int | None = None
    ) -> Any:
        """Runs the program and gives rows of key and record, as PyFlink does; see `DataStream`."""
        assert isinstance(self._partitioning, p.Keyed)
        key_of = self._partitioning.key_selector
        values: DataStream[T] = DataStream(self._environment, self._values())
        rows = values.map(lambda record: Row(key_of(record), record), self.get_type())
        self._align_with_upstream(transformation_of(rows))
        return rows.execute_and_collect(job_execution_name, limit)

    def process(  # type: ignore[override]
        self,
        func: KeyedProcessFunction[K, T, U],
        output_type: TypeInformation | None = None,
    ) -> DataStream[U]:
        """Processes each record with its key, state and timers."""
        function = check_function(
            func, KeyedProcessFunction, "process", "{} is required for KeyedStream."
        )
        check_shippable(function, "process")
        return self._apply(
            "KEYED PROCESS", specs.ProcessSpec(function), *resolved_type(output_type, "process")
        )

    def reduce(self, func: Callable[[T, T], T] | ReduceFunction[T]) -> DataStream[T]:
        """Combines the records of a key, and emits the result so far for every record.

        In batch mode only the final result of each key is emitted.
        """
        function = as_reduce_function(func)
        check_shippable(function, "reduce")
        return self._reduce(function)

    def _reduce(self, function: ReduceFunction[Any]) -> DataStream[Any]:
        spec = specs.ReduceSpec(function, self._environment.is_batch())
        converts = declared_type(self) is not None
        return self._apply("Reduce", spec, self._record_type(), converts)

    def as_queryable_state(
        self, queryable_state_name: str, state_descriptor: StateDescriptor | None = None
    ) -> QueryableStateStream:
        """Keeps the last record of each key for a `QueryableStateClient` to read.

        Args:
            queryable_state_name: The name to ask for, unique in the job.
            state_descriptor: A `ReducingStateDescriptor` to keep the records reduced to one, or a
                `ValueStateDescriptor` to name and type the state.
        """
        descriptor = queryable_descriptor(queryable_state_name, state_descriptor)
        kept = self.process(KeepQueryable(descriptor))
        kept.name(f"Queryable state: {queryable_state_name}")
        return QueryableStateStream(descriptor)

    def _rolling(self, kind: type[Any], position: int | str) -> DataStream[T]:
        rolling.check_position(position)
        return self._reduce(kind(position))

    def sum(self, position_to_sum: int | str = 0) -> DataStream[T]:
        """Sums up a field for each key."""
        return self._rolling(rolling.SumOf, position_to_sum)

    def min(self, position_to_min: int | str = 0) -> DataStream[T]:
        """Emits the smallest value of a field so far; other fields come from the first record."""
        return self._rolling(rolling.MinOf, position_to_min)

    def max(self, position_to_max: int | str = 0) -> DataStream[T]:
        """Emits the largest value of a field so far; other fields come from the first record."""
        return self._rolling(rolling.MaxOf, position_to_max)

    def min_by(self, position_to_min_by: int | str = 0) -> DataStream[T]:
        """Emits the record with the smallest value of a field so far."""
        return self._rolling(rolling.MinBy, position_to_min_by)

    def max_by(self, position_to_max_by: int | str = 0) -> DataStream[T]:
        """Emits the record with the largest value of a field so far."""
        return self._rolling(rolling.MaxBy, position_to_max_by)

    def window(self, window_assigner: WindowAssigner[Any, Any]) -> WindowedStream[K, T]:
        """Divides the records of each key into windows.

        Example:
            >>> ds.key_by(lambda r: r.user).window(TumblingEventTimeWindows.of(Time.seconds(10)))
        """
        return WindowedStream(self, window_assigner)

    def interval_join(self, other: KeyedStream[K, V]) -> IntervalJoin[K, T, V]:
        """Joins records of this stream and another whose timestamps lie within given bounds.

        Example:
            >>> near = clicks.interval_join(views).between(Time.seconds(-5), Time.seconds(0))
            >>> near.process(MyJoin())
        """
        self._check_same_environment(other, "interval_join")
        if not isinstance(other, KeyedStream):
            raise FunctionTypeError(
                "interval_join() takes a KeyedStream: call key_by() on the other stream as well"
            )
        return IntervalJoin(self, other)

    def count_window(self, size: int, slide: int = 0) -> WindowedStream[K, T]:
        """Divides the records of each key into windows of `size` records, every `slide` records."""
        return self.window(_count_assigner(size, slide))

    def get_name(self) -> str:
        """Refused: a keyed stream is not an operator."""
        raise GraphError("Get name of KeyedStream is not supported.")


def _count_assigner(size: int, slide: int) -> WindowAssigner[Any, Any]:
    if slide == 0:
        return CountTumblingWindowAssigner.of(size)
    return CountSlidingWindowAssigner.of(size, slide)


def _same(record: T) -> T:
    return record
