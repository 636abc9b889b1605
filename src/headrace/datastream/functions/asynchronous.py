"""Asynchronous functions: many requests in flight for one subtask, with timeout and retries.

The runtime runs the coroutines on one event loop for each subtask.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, Generic, TypeVar

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


class AsyncRetryPredicate(ABC, Generic[OUT]):
    """Decides which outcomes of an asynchronous call are tried again."""

    @abstractmethod
    def result_predicate(self) -> Callable[[list[OUT]], bool] | None:
        """Returns a function that says whether a result is to be retried, or None for never."""

    @abstractmethod
    def exception_predicate(self) -> Callable[[Exception], bool] | None:
        """Returns a function that says whether an exception is to be retried, or None for never."""


class AsyncRetryStrategy(ABC, Generic[OUT]):
    """Decides whether and when a call is tried again. One object serves all records."""

    @abstractmethod
    def can_retry(self, current_attempts: int) -> bool:
        """Returns whether another attempt may follow.

        Args:
            current_attempts: Number of the retry that would follow, from 1.
        """

    @abstractmethod
    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """Returns how long to wait before retry number `current_attempts`, in milliseconds."""

    @abstractmethod
    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        """Returns which outcomes are retried."""

    @staticmethod
    def no_restart() -> AsyncRetryStrategy[Any]:
        """Returns the strategy that never retries."""
        from headrace.datastream import async_retry_strategies

        return async_retry_strategies.NO_RETRY_STRATEGY

    @staticmethod
    def fixed_delay(
        max_attempts: int,
        backoff_time_millis: int,
        result_predicate: Callable[[list[OUT]], bool] | None,
        exception_predicate: Callable[[Exception], bool] | None,
    ) -> AsyncRetryStrategy[OUT]:
        """Returns a strategy that waits the same time before each retry."""
        from headrace.datastream.async_retry_strategies import FixedDelayRetryStrategy

        return FixedDelayRetryStrategy(
            max_attempts, backoff_time_millis, result_predicate, exception_predicate
        )

    @staticmethod
    def exponential_backoff(
        max_attempts: int,
        initial_delay: int,
        max_retry_delay: int,
        multiplier: float,
        result_predicate: Callable[[list[OUT]], bool] | None,
        exception_predicate: Callable[[Exception], bool] | None,
    ) -> AsyncRetryStrategy[OUT]:
        """Returns a strategy whose wait grows by a factor up to a limit."""
        from headrace.datastream.async_retry_strategies import (
            ExponentialBackoffDelayRetryStrategy,
        )

        return ExponentialBackoffDelayRetryStrategy(
            max_attempts,
            initial_delay,
            max_retry_delay,
            multiplier,
            result_predicate,
            exception_predicate,
        )


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
