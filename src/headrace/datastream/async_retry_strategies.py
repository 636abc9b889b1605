"""When an asynchronous call is tried again, and after what wait."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from headrace.common.errors import FunctionTypeError, GraphError

__all__ = [
    "NO_RETRY_STRATEGY",
    "AsyncRetryPredicate",
    "AsyncRetryStrategy",
    "ExponentialBackoffDelayRetryStrategy",
    "FixedDelayRetryStrategy",
    "NoRetryStrategy",
    "RetryPredicate",
]

OUT = TypeVar("OUT")


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
        return NO_RETRY_STRATEGY

    @staticmethod
    def fixed_delay(
        max_attempts: int,
        backoff_time_millis: int,
        result_predicate: Callable[[list[OUT]], bool] | None,
        exception_predicate: Callable[[Exception], bool] | None,
    ) -> AsyncRetryStrategy[OUT]:
        """Returns a strategy that waits the same time before each retry."""
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
        return ExponentialBackoffDelayRetryStrategy(
            max_attempts,
            initial_delay,
            max_retry_delay,
            multiplier,
            result_predicate,
            exception_predicate,
        )


class RetryPredicate(AsyncRetryPredicate[OUT], Generic[OUT]):
    """A pair of conditions, either of which may be None for never.

    Args:
        result_predicate: Called with the list of records a call returned.
        exception_predicate: Called with the exception a call raised.
    """

    def __init__(
        self,
        result_predicate: Callable[[list[OUT]], bool] | None,
        exception_predicate: Callable[[Exception], bool] | None,
    ) -> None:
        for name, predicate in (
            ("result_predicate", result_predicate),
            ("exception_predicate", exception_predicate),
        ):
            if predicate is not None and not callable(predicate):
                raise FunctionTypeError(
                    f"{name} of a retry strategy must be a callable or None, not {predicate!r}"
                )
        self._result_predicate = result_predicate
        self._exception_predicate = exception_predicate

    def result_predicate(self) -> Callable[[list[OUT]], bool] | None:
        """Returns the condition on results."""
        return self._result_predicate

    def exception_predicate(self) -> Callable[[Exception], bool] | None:
        """Returns the condition on exceptions."""
        return self._exception_predicate


class NoRetryStrategy(AsyncRetryStrategy[OUT], Generic[OUT]):
    """Never tries again."""

    def can_retry(self, current_attempts: int) -> bool:
        """Returns False."""
        return False

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """Returns -1."""
        return -1

    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        """Returns a predicate without conditions."""
        return RetryPredicate(None, None)


class _LimitedRetryStrategy(AsyncRetryStrategy[OUT], Generic[OUT]):
    def __init__(
        self,
        max_attempts: int,
        result_predicate: Callable[[list[OUT]], bool] | None,
        exception_predicate: Callable[[Exception], bool] | None,
    ) -> None:
        _check_positive("max_attempts", max_attempts)
        self._max_attempts = max_attempts
        self._retry_predicate = RetryPredicate(result_predicate, exception_predicate)

    def can_retry(self, current_attempts: int) -> bool:
        """Returns whether retry number `current_attempts` is within the limit."""
        return current_attempts <= self._max_attempts

    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        """Returns which outcomes are retried."""
        return self._retry_predicate


class FixedDelayRetryStrategy(_LimitedRetryStrategy[OUT], Generic[OUT]):
    """Tries again up to `max_attempts` times, each after the same wait.

    Args:
        max_attempts: How many retries there may be.
        backoff_time_millis: The wait before each.
        result_predicate: Which results are retried; None for none.
        exception_predicate: Which exceptions are retried; None for none.
    """

    def __init__(
        self,
        max_attempts: int,
        backoff_time_millis: int,
        result_predicate: Callable[[list[OUT]], bool] | None,
        exception_predicate: Callable[[Exception], bool] | None,
    ) -> None:
        super().__init__(max_attempts, result_predicate, exception_predicate)
        _check_positive("backoff_time_millis", backoff_time_millis)
        self._backoff_time_millis = backoff_time_millis

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """Returns the wait, the same for each retry."""
        return self._backoff_time_millis


class ExponentialBackoffDelayRetryStrategy(_LimitedRetryStrategy[OUT], Generic[OUT]):
    """Tries again up to `max_attempts` times, with waits that grow by a factor up to a limit.

    The wait depends on the number of the retry alone, so that records in flight at the same time do
    not disturb each other.

    Args:
        max_attempts: How many retries there may be.
        initial_delay: The wait before the first, in milliseconds.
        max_retry_delay: The longest wait, in milliseconds.
        multiplier: The factor between one wait and the next.
        result_predicate: Which results are retried; None for none.
        exception_predicate: Which exceptions are retried; None for none.
    """

    def __init__(
        self,
        max_attempts: int,
        initial_delay: int,
        max_retry_delay: int,
        multiplier: float,
        result_predicate: Callable[[list[OUT]], bool] | None,
        exception_predicate: Callable[[Exception], bool] | None,
    ) -> None:
        super().__init__(max_attempts, result_predicate, exception_predicate)
        _check_positive("initial_delay", initial_delay)
        _check_positive("max_retry_delay", max_retry_delay)
        _check_positive("multiplier", multiplier)
        self._initial_delay = initial_delay
        self._max_retry_delay = max_retry_delay
        self._multiplier = multiplier

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """Returns the wait before retry number `current_attempts`."""
        delay = self._initial_delay
        for _ in range(1, current_attempts):
            following = int(min(delay * self._multiplier, self._max_retry_delay))
            if following == delay:
                break
            delay = following
        return delay


def _check_positive(name: str, value: float) -> None:
    if value <= 0:
        raise GraphError(f"{name} should be greater than zero. A retry strategy got {value}")


#: The strategy of calls that are never retried.
NO_RETRY_STRATEGY: AsyncRetryStrategy[Any] = NoRetryStrategy()
