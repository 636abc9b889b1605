"""Joins of two streams: by key and window, and by key and distance in time.

A window join and a co-group are one window operator with two keyed inputs. Its windows hold the
records of both streams, each as a `TaggedUnion` that knows its side; triggers, evictors and the
late output see them so too. An interval join is an operator of its own.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, NoReturn, TypeVar

from headrace.common.errors import FunctionTypeError, GraphError
from headrace.common.time import to_millis
from headrace.common.typeinfo import TypeInformation
from headrace.datastream.functions import (
    CoGroupFunction,
    FlatJoinFunction,
    Function,
    JoinFunction,
    KeySelector,
    ProcessJoinFunction,
    RichFunction,
    RuntimeContext,
    WindowFunction,
    as_co_group_function,
    as_join_function,
    check_function,
)
from headrace.datastream.operator_settings import applied
from headrace.datastream.output_tag import OutputTag
from headrace.datastream.window import WindowAssigner
from headrace.datastream.windowed_stream import WindowSettings
from headrace.graph import specs
from headrace.graph.shipping import check_shippable

if TYPE_CHECKING:
    from headrace.datastream.data_stream import DataStream, KeyedStream

__all__ = [
    "CoGroupedStreams",
    "IntervalJoin",
    "IntervalJoined",
    "JoinedStreams",
    "TaggedUnion",
]

T1 = TypeVar("T1")
T2 = TypeVar("T2")
K = TypeVar("K")


class TaggedUnion(NamedTuple):
    """A record of one of two streams, as triggers, evictors and the late output see it."""

    side: int
    value: Any

    def is_one(self) -> bool:
        """Whether the record is one of the first stream."""
        return self.side == 0

    def is_two(self) -> bool:
        """Whether the record is one of the second stream."""
        return self.side == 1

    def get_one(self) -> Any:
        """The record of the first stream; None if it is one of the second."""
        return self.value if self.side == 0 else None

    def get_two(self) -> Any:
        """The record of the second stream; None if it is one of the first."""
        return self.value if self.side == 1 else None


class _Step:
    """A join that is not complete yet; a step too far says which one is missing."""

    _STEPS = ("where", "equal_to", "window", "apply")
    _AFTER_WINDOW = ("trigger", "evictor", "allowed_lateness", "side_output_late_data")
    _operation: str
    _next: str

    def __getattr__(self, name: str) -> NoReturn:
        if name in self._STEPS or name in self._AFTER_WINDOW:
            raise GraphError(
                f"{name}() comes too early, {self._next}() is missing: write "
                f"stream.{self._operation}(other).where(key).equal_to(key).window(assigner).apply(function)"
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


class _PairedStreams(_Step, Generic[T1, T2]):
    """Two streams that are to meet in windows."""

    _next = "where"

    def __init__(self, first: DataStream[T1], second: DataStream[T2]) -> None:
        self._first = first
        self._second = second

    def where(
        self,
        key_selector: Callable[[T1], Any] | KeySelector[T1, Any],
        key_type: TypeInformation | None = None,
    ) -> Where:
        """The key of the records of the first stream."""
        return Where(self._operation, self._first.key_by(key_selector, key_type), self._second)


class JoinedStreams(_PairedStreams[T1, T2]):
    """Two streams to join: call `where`, `equal_to`, `window` and `apply`, in this order."""

    _operation = "join"


class CoGroupedStreams(_PairedStreams[T1, T2]):
    """Two streams to co-group: call `where`, `equal_to`, `window` and `apply`, in this order."""

    _operation = "co_group"


class Where(_Step):
    """The first stream has a key; call `equal_to` next."""

    _next = "equal_to"

    def __init__(
        self, operation: str, first: KeyedStream[Any, Any], second: DataStream[Any]
    ) -> None:
        self._operation = operation
        self._first = first
        self._second = second

    def equal_to(
        self,
        key_selector: Callable[[Any], Any] | KeySelector[Any, Any],
        key_type: TypeInformation | None = None,
    ) -> EqualTo:
        """Sets the key of the second stream's records; records with equal keys are joined."""
        second = self._second.key_by(key_selector, key_type)
        declared = (self._first._key_type, key_type)
        if None not in declared and declared[0] != declared[1]:
            raise GraphError(
                f"The keys for the two inputs are not equal: first key = {declared[0]}, second "
                f"key = {declared[1]}; declare the same key_type for both, or none"
            )
        return EqualTo(self._operation, self._first, second)


class EqualTo(_Step):
    """Both streams have keys; call `window` next."""

    _next = "window"

    def __init__(
        self, operation: str, first: KeyedStream[Any, Any], second: KeyedStream[Any, Any]
    ) -> None:
        self._operation = operation
        self._first = first
        self._second = second

    def window(self, window_assigner: WindowAssigner[Any, Any]) -> WithWindow:
        """Sets the windows in which records are joined."""
        kind = JoinWindow if self._operation == "join" else CoGroupWindow
        return kind(self._first, self._second, window_assigner)


class WithWindow(WindowSettings):
    """Two streams with keys and windows; call `apply` next."""

    _name: str

    def __init__(
        self,
        first: KeyedStream[Any, Any],
        second: KeyedStream[Any, Any],
        window_assigner: WindowAssigner[Any, Any],
    ) -> None:
        super().__init__(window_assigner)
        self._first = first
        self._second = second

    @abstractmethod
    def apply(self, function: Any, output_type: TypeInformation | None = None) -> DataStream[Any]:
        """Applies a function to the records that are joined."""

    def _apply(
        self, function: WindowFunction[Any, Any, Any, Any], output_type: TypeInformation | None
    ) -> DataStream[Any]:
        environment = self._first.get_execution_environment()
        spec = self._spec(environment, function=function, tag=TaggedUnion)
        name = f"{self._name}({type(self._assigner).__name__})"
        operation = f"{self._name}.apply"
        return applied(self._first, name, spec, output_type, operation, self._second)


class JoinWindow(WithWindow):
    """The windows of a join."""

    _name = "Join"

    def apply(
        self,
        function: JoinFunction[Any, Any, Any]
        | FlatJoinFunction[Any, Any, Any]
        | Callable[[Any, Any], Any],
        output_type: TypeInformation | None = None,
    ) -> DataStream[Any]:
        """Joins: the function sees each pair of records with one key in one window.

        Args:
            function: A `JoinFunction` or a callable gives one record for each pair, a
                `FlatJoinFunction` any number.
            output_type: Type of the results; any Python objects without it.
        """
        if isinstance(function, FlatJoinFunction):
            return self._apply(_FlatJoin(function), output_type)
        return self._apply(_Join(as_join_function(function)), output_type)


class CoGroupWindow(WithWindow):
    """The windows of a co-group."""

    _name = "CoGroup"

    def apply(
        self,
        function: CoGroupFunction[Any, Any, Any] | Callable[[Any, Any], Iterable[Any] | None],
        output_type: TypeInformation | None = None,
    ) -> DataStream[Any]:
        """Co-groups: the function sees all records of a key in a window, as one list for each side.

        Args:
            function: A `CoGroupFunction` or a callable; it gives any number of records. One of the
                two lists may be empty.
            output_type: Type of the results; any Python objects without it.
        """
        return self._apply(_CoGroup(as_co_group_function(function)), output_type)


class _TwoSided(WindowFunction[TaggedUnion, Any, Any, Any]):
    """Parts the records of a window by side, for the user's function."""

    def __init__(self, function: Function) -> None:
        self.function: Any = function

    def open(self, runtime_context: RuntimeContext) -> None:
        if isinstance(self.function, RichFunction):
            self.function.set_runtime_context(runtime_context)
        self.function.open(runtime_context)

    def close(self) -> None:
        self.function.close()

    def apply(self, key: Any, window: Any, inputs: Iterable[TaggedUnion]) -> Iterable[Any] | None:
        sides: tuple[list[Any], list[Any]] = ([], [])
        for side, value in inputs:
            sides[side].append(value)
        return self.both(*sides)

    @abstractmethod
    def both(self, first: list[Any], second: list[Any]) -> Iterable[Any] | None:
        """What the user's function makes of both sides."""


class _CoGroup(_TwoSided):
    def both(self, first: list[Any], second: list[Any]) -> Iterable[Any] | None:
        results: Iterable[Any] | None = self.function.co_group(first, second)
        return results


class _Join(_TwoSided):
    def both(self, first: list[Any], second: list[Any]) -> Iterable[Any]:
        join = self.function.join
        return [join(one, two) for one in first for two in second]


class _FlatJoin(_TwoSided):
    def both(self, first: list[Any], second: list[Any]) -> Iterable[Any]:
        join = self.function.join
        return [result for one in first for two in second for result in join(one, two) or ()]


class IntervalJoin(Generic[K, T1, T2]):
    """Two keyed streams to join by their distance in event time: call `between` next."""

    def __init__(self, left: KeyedStream[K, T1], right: KeyedStream[K, T2]) -> None:
        self._left = left
        self._right = right
        self._event_time = True

    def in_event_time(self) -> IntervalJoin[K, T1, T2]:
        """Joins by event time, which is the default."""
        self._event_time = True
        return self

    def in_processing_time(self) -> IntervalJoin[K, T1, T2]:
        """Accepted as in Flink; `between` then refuses, since an interval join needs event time."""
        self._event_time = False
        return self

    def between(self, lower_bound: Any, upper_bound: Any) -> IntervalJoined[K, T1, T2]:
        """Sets how much later than the left record the right one may be, bounds included.

        Args:
            lower_bound: The least difference; negative if the right record may be the earlier one.
            upper_bound: The greatest difference.
        """
        if not self._event_time:
            raise GraphError(
                "Time-bounded stream joins are only supported in event time: leave "
                "in_processing_time() out"
            )
        lower = to_millis(lower_bound, "the lower bound of between()")
        upper = to_millis(upper_bound, "the upper bound of between()")
        if lower > upper:
            raise GraphError(
                f"between(): the lower bound ({lower} ms) must not be above the upper bound "
                f"({upper} ms)"
            )
        return IntervalJoined(self._left, self._right, lower, upper)


class IntervalJoined(Generic[K, T1, T2]):
    """Two keyed streams and the interval of their join; call `process` next."""

    def __init__(
        self, left: KeyedStream[K, T1], right: KeyedStream[K, T2], lower_ms: int, upper_ms: int
    ) -> None:
        self._left = left
        self._right = right
        self._lower_ms = lower_ms
        self._upper_ms = upper_ms
        self._lower_inclusive = True
        self._upper_inclusive = True
        self._left_late_tag: OutputTag | None = None
        self._right_late_tag: OutputTag | None = None

    def lower_bound_exclusive(self) -> IntervalJoined[K, T1, T2]:
        """Excludes pairs that are exactly the lower bound apart."""
        self._lower_inclusive = False
        return self

    def upper_bound_exclusive(self) -> IntervalJoined[K, T1, T2]:
        """Excludes pairs that are exactly the upper bound apart."""
        self._upper_inclusive = False
        return self

    def side_output_left_late_data(self, output_tag: OutputTag) -> IntervalJoined[K, T1, T2]:
        """Send late records of the left stream to a side output, instead of dropping them."""
        self._left_late_tag = _checked_tag(output_tag, "side_output_left_late_data")
        return self

    def side_output_right_late_data(self, output_tag: OutputTag) -> IntervalJoined[K, T1, T2]:
        """Send late records of the right stream to a side output, instead of dropping them."""
        self._right_late_tag = _checked_tag(output_tag, "side_output_right_late_data")
        return self

    def process(
        self,
        process_join_function: ProcessJoinFunction[T1, T2, Any],
        output_type: TypeInformation | None = None,
    ) -> DataStream[Any]:
        """Joins: the function sees each pair once; what it yields has the later one's timestamp.

        Args:
            process_join_function: Gets the left and the right record and their timestamps.
            output_type: Type of the results; any Python objects without it.
        """
        function = check_function(process_join_function, ProcessJoinFunction, "process")
        check_shippable(function, "interval_join")
        spec = specs.IntervalJoinSpec(
            function,
            self._lower_ms if self._lower_inclusive else self._lower_ms + 1,
            self._upper_ms if self._upper_inclusive else self._upper_ms - 1,
            self._left_late_tag,
            self._right_late_tag,
        )
        name = "Interval Join"
        return applied(self._left, name, spec, output_type, "interval_join", self._right)


def _checked_tag(output_tag: Any, operation: str) -> OutputTag:
    if not isinstance(output_tag, OutputTag):
        raise FunctionTypeError(f"{operation}() takes an OutputTag, not {output_tag!r}")
    return output_tag
