"""What all streams have: their place in the graph, facts about it, and ways out of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from headrace.common.errors import FunctionTypeError, GraphError
from headrace.common.execution_config import ExecutionConfig
from headrace.common.typeinfo import RowTypeInfo, TypeInformation, Types
from headrace.datastream.caches import sources_above
from headrace.datastream.closeable_iterator import CloseableIterator
from headrace.datastream.connectors.base import Sink
from headrace.datastream.connectors.function_sink import FunctionSink
from headrace.datastream.connectors.print_sink import CollectSink, PrintSink
from headrace.datastream.connectors.two_phase_sink import TwoPhaseCommitSink
from headrace.datastream.functions import (
    SinkFunction,
    TwoPhaseCommitSinkFunction,
    as_sink_function,
)
from headrace.datastream.operator_settings import OperatorSettings, declared_type, transformation_of
from headrace.graph import specs
from headrace.graph.shipping import check_shippable
from headrace.graph.transformation import (
    OperatorTransformation,
    SideOutputTransformation,
    Transformation,
)

if TYPE_CHECKING:
    from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment

__all__ = ["DataStreamSink", "StreamBase"]

T = TypeVar("T")


class DataStreamSink(OperatorSettings):
    """The end of a stream; its operator can still be named and given a parallelism."""

    def __init__(
        self, environment: StreamExecutionEnvironment, transformation: OperatorTransformation
    ) -> None:
        self._environment = environment
        self._transformation = transformation


class StreamBase(OperatorSettings, Generic[T]):
    """A stream of records of one type, before anything is made of it."""

    def __init__(
        self, environment: StreamExecutionEnvironment, transformation: Transformation
    ) -> None:
        self._environment = environment
        self._transformation = transformation

    def __reduce__(self) -> Any:
        raise FunctionTypeError(
            f"a {type(self).__name__} is used inside a function; functions run on the workers, "
            "where there are records but no streams: use the records that the function receives"
        )

    def _repr_html_(self) -> str:
        return self._environment.picture(self)

    # Facts.

    def get_name(self) -> str:
        """The operator's name."""
        return self._transformation.name

    def get_type(self) -> TypeInformation:
        """The type of the records; pickled Python objects where none was declared."""
        return self._record_type()

    def _record_type(self) -> TypeInformation:
        output_type: TypeInformation = self._transformation.output_type
        if isinstance(output_type, RowTypeInfo):
            names, types = output_type.get_field_names(), output_type.get_field_types()
            return Types.ROW_NAMED(names, types)
        return output_type

    def is_bounded(self) -> bool:
        """Whether the stream comes to an end: all sources that it is computed from do."""
        return all(source.bounded for source in sources_above(self._transformation))

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """The environment that this stream belongs to."""
        return self._environment

    def get_execution_config(self) -> ExecutionConfig:
        """The environment's settings."""
        return self._environment.get_config()

    def _check_same_environment(self, other: Any, operation: str) -> None:
        if not isinstance(other, StreamBase):
            raise FunctionTypeError(f"{operation}() takes a DataStream, not {other!r}")
        if other._environment is not self._environment:
            raise GraphError(f"{operation}(): the streams belong to different environments")

    def _values(self) -> Transformation:
        """The transformation as an input that is partitioned anew."""
        return self._transformation

    def _without_keys(self) -> Transformation:
        """The transformation as an input that does not carry a key."""
        return self._transformation

    # Ways out.

    def add_sink(
        self, sink_func: SinkFunction[T] | TwoPhaseCommitSinkFunction[T, Any, Any]
    ) -> DataStreamSink:
        """Writes the records with a `SinkFunction` or a `TwoPhaseCommitSinkFunction`."""
        if isinstance(sink_func, Sink):
            return self._sink("Unnamed", self._configured(sink_func, "add_sink"))
        if isinstance(sink_func, TwoPhaseCommitSinkFunction):
            check_shippable(sink_func, "add_sink")
            return self._sink("Unnamed", TwoPhaseCommitSink(sink_func))
        function = as_sink_function(sink_func)
        check_shippable(function, "add_sink")
        return self._sink("Unnamed", FunctionSink(function))

    def sink_to(self, sink: Sink) -> DataStreamSink:
        """Writes the records to a sink."""
        if not isinstance(sink, Sink):
            raise FunctionTypeError(f"sink_to() takes a Sink, not {sink!r}")
        commits = type(sink).create_committer is not Sink.create_committer
        parts = ("Writer", "Committer") if commits else ("Writer",)
        return self._sink("Writer", self._configured(sink, "sink_to"), parts)

    def _configured(self, sink: Sink, operation: str) -> Sink:
        check_shippable(sink, operation)
        configured = sink.for_configuration(self._environment.get_configuration())
        return configured.for_type(declared_type(self))

    def print(self, sink_identifier: str | None = None) -> DataStreamSink:
        """Prints the records in the terminal, as `n> value` when there are several subtasks."""
        if not isinstance(sink_identifier, str | None):
            raise FunctionTypeError(
                f"print() takes a str before the values, not {sink_identifier!r}"
            )
        declared = declared_type(self)
        sink = PrintSink(sink_identifier or "", declared)
        return self._sink("Print to Std. Out", sink)

    def _sink(self, name: str, sink: Sink, parts: tuple[str, ...] = ()) -> DataStreamSink:
        inputs = [self._without_keys()]
        transformation = OperatorTransformation(
            self._environment.ids, name, inputs, self._record_type(), specs.SinkSpec(sink, parts)
        )
        self._environment.register(transformation)
        return DataStreamSink(self._environment, transformation)

    def execute_and_collect(
        self, job_execution_name: str | None = None, limit: int | None = None
    ) -> Any:
        """Runs the program and gives its records: an iterator, or a list when there is a limit.

        Example:
            >>> with ds.execute_and_collect() as results:
            ...     for record in results:
            ...         ...
        """
        collect_id = self._environment.new_collect_id()
        sink = self._sink("Data stream collect sink", CollectSink(collect_id, declared_type(self)))
        self._align_with_upstream(transformation_of(sink))
        iterator: CloseableIterator[T] = self._environment.execute_collecting(
            collect_id, job_execution_name
        )
        if limit is None:
            return iterator
        if isinstance(limit, bool) or not isinstance(limit, int) or limit <= 0:
            raise GraphError(f"limit must be a positive int, not {limit!r}")
        with iterator:
            return [record for record, _ in zip(iterator, range(limit), strict=False)]

    def _align_with_upstream(self, sink: Transformation) -> None:
        """Give a sink the parallelism of the operator before it, so that the order stays."""
        upstream = self._values()
        if isinstance(upstream, SideOutputTransformation):
            upstream = upstream.inputs[0]
        if not upstream.virtual:
            sink.parallelism = upstream.parallelism
            sink.max_parallelism = upstream.max_parallelism
