"""Sources and sinks written as a plain Python class.

For sources with splits and for exactly-once sinks see `headrace.datastream.connectors`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from headrace.common.errors import FunctionTypeError
from headrace.datastream.functions.base import Function, RichFunction

if TYPE_CHECKING:
    from headrace.common.watermark_strategy import Watermark

__all__ = [
    "ParallelSourceFunction",
    "RichParallelSourceFunction",
    "RichSinkFunction",
    "RichSourceFunction",
    "SinkFunction",
    "SourceFunction",
]

IN = TypeVar("IN")
OUT = TypeVar("OUT")
T = TypeVar("T")


def _refuse_java(cls: type, function: object, advice: str) -> FunctionTypeError:
    what = f"the Java class {function!r}" if isinstance(function, str) else repr(function)
    return FunctionTypeError(
        f"{cls.__name__} cannot wrap {what}: there is no Java runtime behind it; {advice}"
    )


class SourceFunction(Function, Generic[OUT]):
    """A source in one class: `run` emits records until it is done or `cancel` is called.

    The runtime calls `run` in a thread of its own, once, after `open`. Records emitted while the
    checkpoint lock is held reach a checkpoint together with the fields changed meanwhile:

    Example:
        >>> from headrace.datastream.functions import ListCheckpointed
        >>> class Numbers(SourceFunction[int], ListCheckpointed[int]):
        ...     def __init__(self) -> None:
        ...         self.next, self.running = 0, True
        ...     def run(self, ctx):
        ...         while self.running and self.next < 1000:
        ...             with ctx.get_checkpoint_lock():
        ...                 ctx.collect(self.next)
        ...                 self.next += 1
        ...     def cancel(self):
        ...         self.running = False
        ...     def snapshot_state(self, checkpoint_id, timestamp):
        ...         return [self.next]
        ...     def restore_state(self, state):
        ...         self.next = state[0]

    A plain `SourceFunction` runs with parallelism 1; subclass `ParallelSourceFunction` for more.
    """

    class SourceContext(ABC, Generic[T]):
        """Passed to `run`: where the source puts its records."""

        @abstractmethod
        def collect(self, element: T) -> None:
            """Emits a record without a timestamp; a watermark strategy may give it one."""

        @abstractmethod
        def collect_with_timestamp(self, element: T, timestamp: int) -> None:
            """Emits a record with its event time in milliseconds."""

        @abstractmethod
        def emit_watermark(self, mark: Watermark | int) -> None:
            """Promises that no record with an earlier or equal timestamp follows."""

        @abstractmethod
        def mark_as_temporarily_idle(self) -> None:
            """Tells downstream operators not to wait for this source until it emits again."""

        @abstractmethod
        def get_checkpoint_lock(self) -> AbstractContextManager[Any]:
            """Returns the lock that keeps checkpoints out; use it in a `with` statement."""

        def close(self) -> None:
            """Called by the runtime after `run` has returned."""

    def __new__(cls, *args: Any, **kwargs: Any) -> SourceFunction[OUT]:
        """Refuses the name of a Java class, as the first argument of `SourceFunction` itself."""
        if cls is SourceFunction and (args or kwargs):
            given = args[0] if args else next(iter(kwargs.values()))
            raise _refuse_java(
                cls, given, "subclass it in Python with run(ctx) and cancel(), or use a connector"
            )
        return super().__new__(cls)

    @abstractmethod
    def run(self, ctx: SourceFunction.SourceContext[OUT]) -> None:
        """Called once; emits records through `ctx` and returns at the end of the input."""

    @abstractmethod
    def cancel(self) -> None:
        """Called from another thread; makes `run` return soon."""


class ParallelSourceFunction(SourceFunction[OUT]):
    """A source that may run with any parallelism; each subtask calls `run` on its own object."""


class RichSourceFunction(SourceFunction[OUT], RichFunction):
    """A source with `get_runtime_context()`."""


class RichParallelSourceFunction(ParallelSourceFunction[OUT], RichFunction):
    """A parallel source with `get_runtime_context()`."""


class SinkFunction(Function, Generic[IN]):
    r"""A sink in one class: `invoke` writes one record.

    Example:
        >>> class Append(SinkFunction[str]):
        ...     def open(self, runtime_context):
        ...         self.file = open("out.txt", "a")
        ...     def invoke(self, value, context):
        ...         self.file.write(value + "\n")
        ...     def close(self):
        ...         self.file.close()

    After a failure, records since the last checkpoint are written again (at least once). To write
    exactly once use a two-phase sink from `headrace.datastream.connectors`.
    """

    class Context(ABC):
        """Passed to `invoke`; valid during the call only."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """Returns the processing time in milliseconds."""

        @abstractmethod
        def current_watermark(self) -> int:
            """Returns the sink's watermark in milliseconds."""

        @abstractmethod
        def timestamp(self) -> int | None:
            """Returns the record's timestamp, or None if the stream has none."""

    def __new__(cls, *args: Any, **kwargs: Any) -> SinkFunction[IN]:
        """Refuses the name of a Java class, as the first argument of `SinkFunction` itself."""
        if cls is SinkFunction and (args or kwargs):
            given = args[0] if args else next(iter(kwargs.values()))
            raise _refuse_java(
                cls, given, "subclass it in Python with invoke(value, context), or use a connector"
            )
        return super().__new__(cls)

    @abstractmethod
    def invoke(self, value: IN, context: SinkFunction.Context) -> None:
        """Called for each record. A subclass may leave the `context` parameter out."""

    def write_watermark(self, watermark: Watermark) -> None:
        """Called when the sink's watermark has advanced."""

    def finish(self) -> None:
        """Called once when the input has ended, before `close`: flush what is buffered."""


class RichSinkFunction(SinkFunction[IN], RichFunction):
    """A sink with `get_runtime_context()`."""
