"""Functions over a stream connected with a broadcast stream.

One side writes broadcast state, which every subtask holds in full; the other side reads it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from headrace.common.errors import HeadraceError
from headrace.datastream.functions.base import Function
from headrace.datastream.functions.process import SideOutputContext

if TYPE_CHECKING:
    from headrace.datastream.output_tag import OutputTag
    from headrace.datastream.state import (
        BroadcastState,
        MapStateDescriptor,
        ReadOnlyBroadcastState,
        State,
        StateDescriptor,
    )
    from headrace.datastream.time_domain import TimeDomain
    from headrace.datastream.timerservice import TimerService

__all__ = [
    "BaseBroadcastProcessFunction",
    "BroadcastProcessFunction",
    "KeyedBroadcastProcessFunction",
    "KeyedStateFunction",
]

IN1 = TypeVar("IN1")
IN2 = TypeVar("IN2")
OUT = TypeVar("OUT")
KEY = TypeVar("KEY")

#: Called for each key that has the state, with the key and its state.
KeyedStateFunction = Callable[[Any, "State"], None]


class BaseBroadcastProcessFunction(Function):
    """What the keyed and the non-keyed broadcast function share."""

    class BaseContext(SideOutputContext):
        """Time and side outputs; valid during one call only."""

        @abstractmethod
        def timestamp(self) -> int | None:
            """Returns the timestamp of the current record or firing timer, or None without one."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """Returns the processing time in milliseconds."""

        @abstractmethod
        def current_watermark(self) -> int:
            """Returns the operator's watermark in milliseconds."""

    class Context(BaseContext):
        """Passed to `process_broadcast_element`: may change broadcast state."""

        @abstractmethod
        def get_broadcast_state(
            self, state_descriptor: MapStateDescriptor
        ) -> BroadcastState[Any, Any]:
            """Returns the state for which `DataStream.broadcast` was given this descriptor.

            Every subtask must write the same content: it sees the same records, so decide by the
            record alone, not by time, randomness or the subtask.
            """

    class ReadOnlyContext(BaseContext):
        """Passed to `process_element`: may only read broadcast state."""

        @abstractmethod
        def get_broadcast_state(
            self, state_descriptor: MapStateDescriptor
        ) -> ReadOnlyBroadcastState[Any, Any]:
            """Returns a read-only view of the broadcast state; do not change the values in it."""


class BroadcastProcessFunction(BaseBroadcastProcessFunction, Generic[IN1, IN2, OUT]):
    """Connects a non-keyed stream with a broadcast stream."""

    class Context(BaseBroadcastProcessFunction.Context):
        """Passed to `process_broadcast_element`."""

    class ReadOnlyContext(BaseBroadcastProcessFunction.ReadOnlyContext):
        """Passed to `process_element`."""

    @abstractmethod
    def process_element(
        self, value: IN1, ctx: BroadcastProcessFunction.ReadOnlyContext
    ) -> Iterable[OUT | tuple[OutputTag, Any]] | None:
        """Called for each record of the non-broadcast stream; yields the records to emit."""

    @abstractmethod
    def process_broadcast_element(
        self, value: IN2, ctx: BroadcastProcessFunction.Context
    ) -> Iterable[OUT | tuple[OutputTag, Any]] | None:
        """Called in every subtask for each broadcast record; yields the records to emit."""


class KeyedBroadcastProcessFunction(BaseBroadcastProcessFunction, Generic[KEY, IN1, IN2, OUT]):
    """Connects a keyed stream with a broadcast stream.

    The keyed side has keyed state and timers. The broadcast side has no current key, so it cannot
    use keyed state directly; `Context.apply_to_keyed_state` visits the state of all keys.
    """

    class Context(BaseBroadcastProcessFunction.Context):
        """Passed to `process_broadcast_element`."""

        def apply_to_keyed_state(
            self, state_descriptor: StateDescriptor, function: KeyedStateFunction
        ) -> None:
            """Calls `function(key, state)` for each key of this subtask that has the state.

            Args:
                state_descriptor: The state to visit, as the keyed side declares it.
                function: May read and change the state of the key it is called with.
            """
            raise HeadraceError(f"{type(self).__name__} cannot visit keyed state")

    class ReadOnlyContext(BaseBroadcastProcessFunction.ReadOnlyContext):
        """Passed to `process_element`."""

        @abstractmethod
        def timer_service(self) -> TimerService:
            """Returns the clocks and timers of the current key."""

        @abstractmethod
        def get_current_key(self) -> Any:
            """Returns the key of the current record."""

    class OnTimerContext(ReadOnlyContext):
        """Passed to `on_timer`."""

        @abstractmethod
        def time_domain(self) -> TimeDomain:
            """Returns whether the firing timer follows event time or processing time."""

        @abstractmethod
        def get_current_key(self) -> Any:
            """Returns the key of the firing timer."""

    @abstractmethod
    def process_element(
        self, value: IN1, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext
    ) -> Iterable[OUT | tuple[OutputTag, Any]] | None:
        """Called for each record of the keyed stream; yields the records to emit."""

    @abstractmethod
    def process_broadcast_element(
        self, value: IN2, ctx: KeyedBroadcastProcessFunction.Context
    ) -> Iterable[OUT | tuple[OutputTag, Any]] | None:
        """Called in every subtask for each broadcast record; yields the records to emit."""

    def on_timer(
        self, timestamp: int, ctx: KeyedBroadcastProcessFunction.OnTimerContext
    ) -> Iterable[OUT | tuple[OutputTag, Any]] | None:
        """Called when a timer fires, with its key current; yields the records to emit."""
        return None
