"""Process functions: they see each record with its timestamp, and keyed ones have state and timers.

What they yield goes downstream; a pair `(tag, value)` with an `OutputTag` goes to that side output,
and so does `ctx.output(tag, value)`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from headrace.common.errors import HeadraceError
from headrace.datastream.functions.base import Function

if TYPE_CHECKING:
    from headrace.datastream.output_tag import OutputTag
    from headrace.datastream.time_domain import TimeDomain
    from headrace.datastream.timerservice import TimerService

__all__ = [
    "CoProcessFunction",
    "KeyedCoProcessFunction",
    "KeyedProcessFunction",
    "ProcessFunction",
    "ProcessJoinFunction",
    "SideOutputContext",
]

IN = TypeVar("IN")
IN1 = TypeVar("IN1")
IN2 = TypeVar("IN2")
OUT = TypeVar("OUT")
KEY = TypeVar("KEY")


class SideOutputContext(ABC):  # noqa: B024 - subclasses add the abstract methods
    """A context through which a function reaches its side outputs.

    A context is valid only during the call it is passed to: do not keep it.
    """

    def output(self, output_tag: OutputTag, value: Any) -> None:
        """Emits `value` to a side output; the same as yielding `(output_tag, value)`.

        The record keeps the timestamp of the record being processed or of the firing timer.
        """
        raise HeadraceError(f"{type(self).__name__} has no side outputs")


class _TimedContext(SideOutputContext):
    @abstractmethod
    def timer_service(self) -> TimerService:
        """Returns the clocks and timers of the current key."""

    @abstractmethod
    def timestamp(self) -> int | None:
        """Returns the timestamp of the current record or firing timer in milliseconds.

        None if the stream has no timestamps.
        """


class _KeyedTimedContext(_TimedContext):
    @abstractmethod
    def get_current_key(self) -> Any:
        """Returns the key of the current record or firing timer."""


class _TimerDomain(ABC):
    @abstractmethod
    def time_domain(self) -> TimeDomain:
        """Returns whether the firing timer follows event time or processing time."""


class ProcessFunction(Function, Generic[IN, OUT]):
    """Processes the records of a stream, which may be keyed or not.

    On a stream that is not keyed the timer service tells the time but refuses to set timers.
    """

    class Context(_TimedContext):
        """Passed to `process_element`."""

    class OnTimerContext(Context, _TimerDomain):
        """Passed to `on_timer`."""

    @abstractmethod
    def process_element(
        self, value: IN, ctx: ProcessFunction.Context
    ) -> Iterable[OUT | tuple[OutputTag, Any]] | None:
        """Called for each record; yields the records to emit.

        Args:
            value: The record.
            ctx: Timestamp, clocks and side outputs; valid during this call only.
        """

    def on_timer(
        self, timestamp: int, ctx: ProcessFunction.OnTimerContext
    ) -> Iterable[OUT | tuple[OutputTag, Any]] | None:
        """Called when a timer fires (keyed streams only); yields the records to emit."""
        return None


class KeyedProcessFunction(Function, Generic[KEY, IN, OUT]):
    """Processes the records of a keyed stream, with state and timers for each key.

    Example:
        >>> class CountUp(KeyedProcessFunction[str, str, tuple[str, int]]):
        ...     def open(self, runtime_context):
        ...         self.count = runtime_context.get_state(ValueStateDescriptor("n", Types.LONG()))
        ...     def process_element(self, value, ctx):
        ...         n = (self.count.value() or 0) + 1
        ...         self.count.update(n)
        ...         yield ctx.get_current_key(), n
    """

    class Context(_KeyedTimedContext):
        """Passed to `process_element`."""

    class OnTimerContext(Context, _TimerDomain):
        """Passed to `on_timer`."""

    @abstractmethod
    def process_element(
        self, value: IN, ctx: KeyedProcessFunction.Context
    ) -> Iterable[OUT | tuple[OutputTag, Any]] | None:
        """Called for each record, with its key current; yields the records to emit.

        Args:
            value: The record.
            ctx: Key, timestamp, timers and side outputs; valid during this call only.
        """

    def on_timer(
        self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext
    ) -> Iterable[OUT | tuple[OutputTag, Any]] | None:
        """Called when a timer fires, with its key current; yields the records to emit.

        Args:
            timestamp: The timestamp that the timer was set for.
            ctx: Key, time domain, timers and side outputs; valid during this call only.
        """
        return None


class CoProcessFunction(Function, Generic[IN1, IN2, OUT]):
    """Processes the records of two connected streams; both methods share the object's fields.

    Timers work, and `on_timer` is called, only when both streams are keyed.
    """

    class Context(_TimedContext):
        """Passed to `process_element1` and `process_element2`."""

    class OnTimerContext(Context, _TimerDomain):
        """Passed to `on_timer`."""

    @abstractmethod
    def process_element1(
        self, value: IN1, ctx: CoProcessFunction.Context
    ) -> Iterable[OUT | tuple[OutputTag, Any]] | None:
        """Called for each record of the first stream; yields the records to emit."""

    @abstractmethod
    def process_element2(
        self, value: IN2, ctx: CoProcessFunction.Context
    ) -> Iterable[OUT | tuple[OutputTag, Any]] | None:
        """Called for each record of the second stream; yields the records to emit."""

    def on_timer(
        self, timestamp: int, ctx: CoProcessFunction.OnTimerContext
    ) -> Iterable[OUT | tuple[OutputTag, Any]] | None:
        """Called when a timer fires; yields the records to emit."""
        return None


class KeyedCoProcessFunction(Function, Generic[KEY, IN1, IN2, OUT]):
    """Processes two connected keyed streams, with state and timers for each key.

    Records of both streams with one key are handled in one subtask and see the same state.
    """

    class Context(_KeyedTimedContext):
        """Passed to `process_element1` and `process_element2`."""

    class OnTimerContext(Context, _TimerDomain):
        """Passed to `on_timer`."""

    @abstractmethod
    def process_element1(
        self, value: IN1, ctx: KeyedCoProcessFunction.Context
    ) -> Iterable[OUT | tuple[OutputTag, Any]] | None:
        """Called for each record of the first stream; yields the records to emit."""

    @abstractmethod
    def process_element2(
        self, value: IN2, ctx: KeyedCoProcessFunction.Context
    ) -> Iterable[OUT | tuple[OutputTag, Any]] | None:
        """Called for each record of the second stream; yields the records to emit."""

    def on_timer(
        self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext
    ) -> Iterable[OUT | tuple[OutputTag, Any]] | None:
        """Called when a timer fires, with its key current; yields the records to emit."""
        return None


class ProcessJoinFunction(Function, Generic[IN1, IN2, OUT]):
    """Processes the pairs that an interval join of two keyed streams finds."""

    class Context(SideOutputContext):
        """Passed to `process_element`."""

        @abstractmethod
        def get_left_timestamp(self) -> int:
            """Returns the timestamp of the left record."""

        @abstractmethod
        def get_right_timestamp(self) -> int:
            """Returns the timestamp of the right record."""

        @abstractmethod
        def get_timestamp(self) -> int:
            """Returns the larger of the two: the timestamp of what is emitted."""

    @abstractmethod
    def process_element(
        self, left: IN1, right: IN2, ctx: ProcessJoinFunction.Context
    ) -> Iterable[OUT | tuple[OutputTag, Any]] | None:
        """Called once for each pair whose timestamps lie within the interval; yields results."""
