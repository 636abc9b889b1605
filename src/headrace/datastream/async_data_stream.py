"""`AsyncDataStream`: asynchronous I/O on a stream."""

from __future__ import annotations

import inspect
from typing import Any

from headrace.common.errors import FunctionTypeError, GraphError
from headrace.common.time import Duration, Time, to_millis
from headrace.common.typeinfo import TypeInformation
from headrace.datastream.async_retry_strategies import NO_RETRY_STRATEGY
from headrace.datastream.data_stream import DataStream
from headrace.datastream.functions import AsyncFunction, AsyncRetryStrategy, check_function
from headrace.datastream.operator_settings import applied
from headrace.graph import specs
from headrace.graph.shipping import check_shippable

__all__ = ["AsyncDataStream"]


class AsyncDataStream:
    """Applies an `AsyncFunction` to a stream, with many calls in flight at once.

    Example:
        >>> AsyncDataStream.unordered_wait(ds, Lookup(), Time.seconds(10), 100, Types.STRING())
    """

    @staticmethod
    def unordered_wait(
        data_stream: DataStream[Any],
        async_function: AsyncFunction[Any, Any],
        timeout: Time | Duration | int,
        capacity: int = 100,
        output_type: TypeInformation | None = None,
    ) -> DataStream[Any]:
        """Results come as they are ready, but never across a watermark.

        Args:
            data_stream: The stream.
            async_function: Its `async_invoke` is awaited for each record.
            timeout: How long a call may take; then `timeout` of the function says what to emit.
                0 or less means any time.
            capacity: How many calls may be in flight.
            output_type: Type of the results.
        """
        return _apply(data_stream, async_function, timeout, capacity, output_type, False)

    @staticmethod
    def unordered_wait_with_retry(
        data_stream: DataStream[Any],
        async_function: AsyncFunction[Any, Any],
        timeout: Time | Duration | int,
        async_retry_strategy: AsyncRetryStrategy[Any],
        capacity: int = 100,
        output_type: TypeInformation | None = None,
    ) -> DataStream[Any]:
        """Like `unordered_wait`, with retries; the timeout is for all attempts together."""
        return _apply(
            data_stream, async_function, timeout, capacity, output_type, False, async_retry_strategy
        )

    @staticmethod
    def ordered_wait(
        data_stream: DataStream[Any],
        async_function: AsyncFunction[Any, Any],
        timeout: Time | Duration | int,
        capacity: int = 100,
        output_type: TypeInformation | None = None,
    ) -> DataStream[Any]:
        """Results come in the order of the records; see `unordered_wait`."""
        return _apply(data_stream, async_function, timeout, capacity, output_type, True)

    @staticmethod
    def ordered_wait_with_retry(
        data_stream: DataStream[Any],
        async_function: AsyncFunction[Any, Any],
        timeout: Time | Duration | int,
        async_retry_strategy: AsyncRetryStrategy[Any],
        capacity: int = 100,
        output_type: TypeInformation | None = None,
    ) -> DataStream[Any]:
        """Like `ordered_wait`, with retries; the timeout is for all attempts together."""
        return _apply(
            data_stream, async_function, timeout, capacity, output_type, True, async_retry_strategy
        )


def _apply(
    stream: DataStream[Any],
    async_function: AsyncFunction[Any, Any],
    timeout: Time | Duration | int,
    capacity: int,
    output_type: TypeInformation | None,
    ordered: bool,
    retry: AsyncRetryStrategy[Any] = NO_RETRY_STRATEGY,
) -> DataStream[Any]:
    if not isinstance(stream, DataStream):
        raise FunctionTypeError(f"AsyncDataStream works on a DataStream, not {stream!r}")
    function = check_function(async_function, AsyncFunction, "AsyncDataStream")
    if not inspect.iscoroutinefunction(function.async_invoke):
        raise FunctionTypeError(
            f"Method 'async_invoke' of class '{type(function)}' should be declared as 'async def'."
        )
    if not isinstance(retry, AsyncRetryStrategy):
        raise FunctionTypeError(
            f"Async retry strategy should not be {retry!r}: it is an AsyncRetryStrategy"
        )
    settings = stream.get_execution_environment().get_configuration()
    if settings.get_string("python.execution-mode", "process") == "thread":
        raise GraphError(
            "AsyncFunction is still not supported for 'thread' mode. Leave python.execution-mode "
            "out: functions always run in processes of their own"
        )
    timeout_ms = to_millis(timeout, "timeout")
    if retry is not NO_RETRY_STRATEGY and timeout_ms <= 0:
        raise GraphError("Timeout should be configured when do async with retry.")
    if isinstance(capacity, bool) or not isinstance(capacity, int) or capacity < 1:
        raise GraphError(f"the capacity must be at least 1, not {capacity!r}")
    check_shippable((function, retry), "AsyncDataStream")
    spec = specs.AsyncSpec(function, timeout_ms, capacity, ordered, retry)
    return applied(stream, "async wait operator", spec, output_type, "AsyncDataStream")
