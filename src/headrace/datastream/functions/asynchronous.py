"""Asynchronous functions: many requests in flight for one subtask, with timeout and retries.

The runtime runs the coroutines on one event loop for each subtask.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from headrace.datastream.async_retry_strategies import AsyncRetryPredicate, AsyncRetryStrategy
from headrace.datastream.functions.base import Function, RichFunction

if TYPE_CHECKING:
    from headrace.common.time import Duration, Time

__all__ = [
    "AsyncFunction",
    "AsyncFunctionDescriptor",
    "AsyncRetryPredicate",
    "AsyncRetryStrategy",
    "RichAsyncFunction",
]

IN = TypeVar("IN")
OUT = TypeVar("OUT")


class AsyncFunction(Function, Generic[IN, OUT]):
    """Handles each record with a coroutine; used with `AsyncDataStream`.

    Example:
        >>> class Lookup(AsyncFunction[str, str]):
        ...     async def async_invoke(self, value: str) -> list[str]:
        ...         return [await fetch(value)]
        ...     def timeout(self, value: str) -> list[str]:
        ...         return [f"{value}: no answer"]
    """

    @abstractmethod
    async def async_invoke(self, value: IN) -> Sequence[OUT]:
        """Started for each record, before earlier ones have finished; returns the records to emit.

        An exception fails the job unless the retry strategy takes it.
        """

    def timeout(self, value: IN) -> Sequence[OUT]:
        """Called when `async_invoke`, with all retries, took too long; returns records to emit.

        By default it raises `TimeoutError`, which fails the job.
        """
        raise TimeoutError(
            f"the asynchronous call for {value!r} timed out; override timeout() to emit "
            "something else, raise the timeout, or add a retry strategy"
        )


class RichAsyncFunction(AsyncFunction[IN, OUT], RichFunction):
    """An asynchronous function with `get_runtime_context()`."""


class AsyncFunctionDescriptor:
    """An asynchronous function with its settings, as the stream API records it."""

    class OutputMode(Enum):
        """In which order results are emitted."""

        #: In the order of the records that caused them.
        ORDERED = 0
        #: As they come, but never across a watermark.
        UNORDERED = 1

    def __init__(
        self,
        async_function: AsyncFunction[Any, Any],
        timeout: Time | Duration | int,
        capacity: int,
        async_retry_strategy: AsyncRetryStrategy[Any],
        output_mode: AsyncFunctionDescriptor.OutputMode,
    ) -> None:
        self.async_function = async_function
        self.timeout = timeout
        self.capacity = capacity
        self.async_retry_strategy = async_retry_strategy
        self.output_mode = output_mode
