"""Streams cut into windows: choose trigger, evictor and lateness, then what is made of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from headrace.common.errors import FunctionTypeError, GraphError
from headrace.common.time import to_millis
from headrace.common.typeinfo import TypeInformation, Types
from headrace.datastream import rolling
from headrace.datastream.aggregates import Average, Count
from headrace.datastream.functions import (
    AggregateFunction,
    AllWindowFunction,
    NullByteKeySelector,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    ReduceFunction,
    WindowFunction,
    as_reduce_function,
    check_function,
)
from headrace.datastream.operator_settings import applied, declared_type, record_type
from headrace.datastream.output_tag import OutputTag
from headrace.datastream.window import Evictor, MergingWindowAssigner, Trigger, WindowAssigner
from headrace.graph import specs
from headrace.graph.shipping import check_shippable

if TYPE_CHECKING:
    from headrace.datastream.data_stream import DataStream, KeyedStream

__all__ = ["AllWindowedStream", "WindowedStream"]

T = TypeVar("T")
K = TypeVar("K")
U = TypeVar("U")
S = TypeVar("S", bound="WindowSettings")


class WindowSettings:
    """How windows of any kind are cut, fired and dropped."""

    def __init__(self, window_assigner: WindowAssigner[Any, Any]) -> None:
        if not isinstance(window_assigner, WindowAssigner):
            raise FunctionTypeError(
                "a window needs a WindowAssigner, such as "
                f"TumblingEventTimeWindows.of(Time.seconds(10)), not {window_assigner!r}"
            )
        self._assigner = window_assigner
        self._trigger: Trigger[Any, Any] | None = None
        self._evictor: Evictor[Any, Any] | None = None
        self._lateness_ms = 0
        self._late_tag: OutputTag | None = None

    def trigger(self: S, trigger: Trigger[Any, Any]) -> S:
        """Fire windows when this trigger says so, instead of the assigner's usual one."""
        if not isinstance(trigger, Trigger):
            raise FunctionTypeError(f"trigger() takes a Trigger, not {trigger!r}")
        self._trigger = self._mergeable(trigger)
        return self

    def evictor(self: S, evictor: Evictor[Any, Any]) -> S:
        """Take records out of a window before or after it is evaluated.

        The window keeps all its records until then, also with a reduce or aggregate function.
        """
        if not isinstance(evictor, Evictor):
            raise FunctionTypeError(f"evictor() takes an Evictor, not {evictor!r}")
        self._evictor = evictor
        return self

    def allowed_lateness(self: S, time_ms: Any) -> S:
        """Keep windows this long after the watermark passed their end: late records fire again."""
        lateness = to_millis(time_ms, "allowed_lateness")
        if lateness < 0:
            raise GraphError(f"the allowed lateness cannot be negative: {lateness} ms")
        self._lateness_ms = lateness
        return self

    def side_output_late_data(self: S, output_tag: OutputTag) -> S:
        """Send records that are too late to a side output of the result; else they are dropped."""
        if not isinstance(output_tag, OutputTag):
            raise FunctionTypeError(
                f"side_output_late_data() takes an OutputTag, not {output_tag!r}"
            )
        self._late_tag = output_tag
        return self

    def _mergeable(self, trigger: Trigger[Any, Any]) -> Trigger[Any, Any]:
        if isinstance(self._assigner, MergingWindowAssigner) and not trigger.can_merge():
            raise FunctionTypeError(
                "A merging window assigner cannot be used with a trigger that does not support "
                f"merging: windows of {type(self._assigner).__name__} merge, so choose a trigger "
                f"whose can_merge() is true, or give {type(trigger).__name__} can_merge() and "
                "on_merge()"
            )
        return trigger

    def _own(self, trigger: Trigger[Any, Any]) -> Trigger[Any, Any]:
        """The assigner's trigger; as in PyFlink it need not say that it can merge if it does."""
        merges = type(trigger).on_merge is not Trigger.on_merge
        return trigger if merges else self._mergeable(trigger)

    def _spec(self, environment: Any, **parts: Any) -> specs.WindowSpec:
        check_shippable(tuple(parts.values()), "window")
        check_shippable((self._assigner, self._trigger, self._evictor), "window")
        return specs.WindowSpec(
            self._assigner,
            self._trigger or self._own(self._assigner.get_default_trigger(environment)),
            evictor=self._evictor,
            allowed_lateness_ms=self._lateness_ms,
            late_tag=self._late_tag,
            **parts,
        )


class _Windowed(WindowSettings):
    """What windows of keyed and of whole streams have in common."""

    _function_kinds: tuple[type[Any], ...]
    _process_kind: type[Any]

    def __init__(
        self, keyed: KeyedStream[Any, Any], window_assigner: WindowAssigner[Any, Any]
    ) -> None:
        super().__init__(window_assigner)
        self._keyed_stream = keyed

    def get_execution_environment(self) -> Any:
        """The environment that this stream belongs to."""
        return self._keyed_stream.get_execution_environment()

    def get_input_type(self) -> TypeInformation:
        """The type of the records in the windows."""
        return record_type(self._keyed_stream)

    def reduce(
        self,
        reduce_function: Callable[[Any, Any], Any] | ReduceFunction[Any],
        window_function: Any = None,
        output_type: TypeInformation | None = None,
    ) -> DataStream[Any]:
        """Combine the records of each window, two by two, as they come.

        Args:
            reduce_function: Makes one record of two. It is called for each window and in the order
                of arrival. With the attribute `associative = True` it is used on slices of sliding
                windows, which is quicker.
            window_function: Gets the combined record, with key and window.
            output_type: Type of the results; that of the records without a window function.
        """
        function = as_reduce_function(reduce_function)
        if output_type is None and window_function is None:
            output_type = declared_type(self._keyed_stream)
        return self._window(
            output_type, reduce=function, function=self._checked(window_function, optional=True)
        )

    def aggregate(
        self,
        aggregate_function: AggregateFunction[Any, Any, Any],
        window_function: Any = None,
        accumulator_type: TypeInformation | None = None,
        output_type: TypeInformation | None = None,
    ) -> DataStream[Any]:
        """Add the records of each window to an accumulator, as they come.

        Args:
            aggregate_function: Creates, fills and reads the accumulator.
            window_function: Gets the result of the aggregate, with key and window.
            accumulator_type: Accepted as in PyFlink; accumulators may be any Python objects.
            output_type: Type of the results.
        """
        function = check_function(aggregate_function, AggregateFunction, "aggregate")
        return self._window(
            output_type, aggregate=function, function=self._checked(window_function, optional=True)
        )

    def apply(
        self, window_function: Any, output_type: TypeInformation | None = None
    ) -> DataStream[Any]:
        """Evaluate each window with all its records."""
        return self._window(output_type, function=self._checked(window_function))

    def process(
        self, process_window_function: Any, output_type: TypeInformation | None = None
    ) -> DataStream[Any]:
        """Evaluate each window with all its records and a context: clocks, state, side outputs."""
        function = check_function(
            process_window_function, self._process_kind, "process of a window"
        )
        return self._window(output_type, function=function)

    def sum(self, position_to_sum: int | str = 0) -> DataStream[Any]:
        """The sum of a field; other fields are those of the first record of the window."""
        return self._rolling(rolling.SumOf, position_to_sum)

    def min(self, position_to_min: int | str = 0) -> DataStream[Any]:
        """The smallest value of a field; other fields are those of the window's first record."""
        return self._rolling(rolling.MinOf, position_to_min)

    def max(self, position_to_max: int | str = 0) -> DataStream[Any]:
        """The largest value of a field; other fields are those of the window's first record."""
        return self._rolling(rolling.MaxOf, position_to_max)

    def min_by(self, position_to_min_by: int | str = 0) -> DataStream[Any]:
        """The record with the smallest value of a field."""
        return self._rolling(rolling.MinBy, position_to_min_by)

    def max_by(self, position_to_max_by: int | str = 0) -> DataStream[Any]:
        """The record with the largest value of a field."""
        return self._rolling(rolling.MaxBy, position_to_max_by)

    def count(self) -> DataStream[int]:
        """How many records are in each window."""
        return self._window(Types.LONG(), aggregate=Count())

    def avg(self, position_to_average: int | str = 0) -> DataStream[float]:
        """The average of a field."""
        rolling.check_position(position_to_average)
        return self._window(Types.DOUBLE(), aggregate=Average(position_to_average))

    def _rolling(self, kind: type[Any], position: int | str) -> DataStream[Any]:
        rolling.check_position(position)
        return self._window(declared_type(self._keyed_stream), reduce=kind(position))

    def _checked(self, function: Any, optional: bool = False) -> Any:
        if function is None and optional:
            return None
        kinds = (*self._function_kinds, self._process_kind)
        return check_function(function, kinds, "it", "window_function should be a {}:")

    def _window(self, output_type: TypeInformation | None, **parts: Any) -> DataStream[Any]:
        spec = self._spec(self.get_execution_environment(), **parts)
        return applied(self._keyed_stream, self._name(), spec, output_type, "window")

    def _name(self) -> str:
        return type(self._assigner).__name__


class WindowedStream(_Windowed, Generic[K, T]):
    """A keyed stream cut into windows."""

    _function_kinds = (WindowFunction,)
    _process_kind = ProcessWindowFunction


class AllWindowedStream(_Windowed, Generic[T]):
    """A whole stream cut into windows, by one subtask."""

    _function_kinds = (AllWindowFunction,)
    _process_kind = ProcessAllWindowFunction

    def __init__(self, stream: DataStream[T], window_assigner: WindowAssigner[Any, Any]) -> None:
        super().__init__(stream.key_by(NullByteKeySelector()), window_assigner)

    def _window(self, output_type: TypeInformation | None, **parts: Any) -> DataStream[Any]:
        return super()._window(output_type, **parts).force_non_parallel()
