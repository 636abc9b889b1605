"""Functions over the content of a window, and over the pairs or groups of a window join."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from headrace.datastream.functions.base import Function, KeyedStateStore, RichFunction
from headrace.datastream.functions.process import SideOutputContext

if TYPE_CHECKING:
    from headrace.datastream.output_tag import OutputTag

__all__ = [
    "AllWindowFunction",
    "CoGroupFunction",
    "FlatJoinFunction",
    "JoinFunction",
    "PassThroughAllWindowFunction",
    "PassThroughWindowFunction",
    "ProcessAllWindowFunction",
    "ProcessWindowFunction",
    "RichAllWindowFunction",
    "RichCoGroupFunction",
    "RichFlatJoinFunction",
    "RichJoinFunction",
    "RichWindowFunction",
    "WindowFunction",
]

IN = TypeVar("IN")
IN1 = TypeVar("IN1")
IN2 = TypeVar("IN2")
OUT = TypeVar("OUT")
KEY = TypeVar("KEY")
W = TypeVar("W")
W2 = TypeVar("W2")


class WindowFunction(Function, Generic[IN, OUT, KEY, W]):
    """Evaluates a keyed window."""

    @abstractmethod
    def apply(self, key: KEY, window: W, inputs: Iterable[IN]) -> Iterable[OUT] | None:
        """Called each time the window fires; yields the records to emit.

        Args:
            key: The key of the window.
            window: The window.
            inputs: The window's records in order of arrival, or the one pre-aggregated value when a
                reduce or aggregate function comes first.
        """


class AllWindowFunction(Function, Generic[IN, OUT, W]):
    """Evaluates a window over a whole, non-keyed stream."""

    @abstractmethod
    def apply(self, window: W, inputs: Iterable[IN]) -> Iterable[OUT] | None:
        """Called each time the window fires; yields the records to emit."""


class _WindowContext(SideOutputContext, Generic[W2]):
    @abstractmethod
    def window(self) -> W2:
        """Returns the window that is evaluated."""

    @abstractmethod
    def window_state(self) -> KeyedStateStore:
        """Returns state of this key and this window only.

        Delete it in `clear`: the runtime calls that when the window is dropped.
        """

    @abstractmethod
    def global_state(self) -> KeyedStateStore:
        """Returns state of this key that all its windows share."""


class ProcessWindowFunction(Function, Generic[IN, OUT, KEY, W]):
    """Evaluates a keyed window with access to the clocks, to state and to side outputs."""

    class Context(_WindowContext[W2]):
        """Passed to `process` and `clear`; valid during the call only."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """Returns the processing time in milliseconds."""

        @abstractmethod
        def current_watermark(self) -> int:
            """Returns the operator's watermark in milliseconds."""

    @abstractmethod
    def process(
        self, key: KEY, context: ProcessWindowFunction.Context[W], elements: Iterable[IN]
    ) -> Iterable[OUT | tuple[OutputTag, Any]] | None:
        """Called each time the window fires; yields the records to emit.

        Args:
            key: The key of the window.
            context: Window, clocks, state and side outputs.
            elements: The window's records in order of arrival, or the one pre-aggregated value.
        """

    def clear(self, context: ProcessWindowFunction.Context[W]) -> None:
        """Called when the window is dropped; delete what was put into `context.window_state()`."""


class ProcessAllWindowFunction(Function, Generic[IN, OUT, W]):
    """Evaluates a non-keyed window with access to state and to side outputs."""

    class Context(_WindowContext[W2]):
        """Passed to `process` and `clear`; valid during the call only."""

    @abstractmethod
    def process(
        self, context: ProcessAllWindowFunction.Context[W], elements: Iterable[IN]
    ) -> Iterable[OUT | tuple[OutputTag, Any]] | None:
        """Called each time the window fires; yields the records to emit."""

    def clear(self, context: ProcessAllWindowFunction.Context[W]) -> None:
        """Called when the window is dropped; delete what was put into `context.window_state()`."""


class PassThroughWindowFunction(WindowFunction[IN, IN, KEY, W]):
    """Emits the content of the window as it is."""

    def apply(self, key: KEY, window: W, inputs: Iterable[IN]) -> Iterable[IN]:
        """Returns `inputs`."""
        return inputs


class PassThroughAllWindowFunction(AllWindowFunction[IN, IN, W]):
    """Emits the content of the window as it is."""

    def apply(self, window: W, inputs: Iterable[IN]) -> Iterable[IN]:
        """Returns `inputs`."""
        return inputs


class JoinFunction(Function, Generic[IN1, IN2, OUT]):
    """Makes one record of each pair that a window join finds."""

    @abstractmethod
    def join(self, first: IN1, second: IN2) -> OUT:
        """Called for each pair with one key in one window; returns the record to emit."""


class FlatJoinFunction(Function, Generic[IN1, IN2, OUT]):
    """Makes any number of records of each pair that a window join finds."""

    @abstractmethod
    def join(self, first: IN1, second: IN2) -> Iterable[OUT] | None:
        """Called for each pair with one key in one window; yields the records to emit."""


class CoGroupFunction(Function, Generic[IN1, IN2, OUT]):
    """Processes the records of two streams that share a key and a window."""

    @abstractmethod
    def co_group(self, first: Iterable[IN1], second: Iterable[IN2]) -> Iterable[OUT] | None:
        """Called for each key and window with a record on either side; yields the records to emit.

        Args:
            first: The records of the first stream, possibly none.
            second: The records of the second stream, possibly none.
        """


class RichWindowFunction(WindowFunction[IN, OUT, KEY, W], RichFunction):
    """A window function with `get_runtime_context()`."""


class RichAllWindowFunction(AllWindowFunction[IN, OUT, W], RichFunction):
    """A non-keyed window function with `get_runtime_context()`."""


class RichJoinFunction(JoinFunction[IN1, IN2, OUT], RichFunction):
    """A join function with `get_runtime_context()`."""


class RichFlatJoinFunction(FlatJoinFunction[IN1, IN2, OUT], RichFunction):
    """A flat join function with `get_runtime_context()`."""


class RichCoGroupFunction(CoGroupFunction[IN1, IN2, OUT], RichFunction):
    """A co-group function with `get_runtime_context()`."""
