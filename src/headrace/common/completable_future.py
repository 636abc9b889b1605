"""`CompletableFuture`: the result of something that is still under way."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import Any, Generic, TypeVar

__all__ = ["CompletableFuture"]

T = TypeVar("T")


class CompletableFuture(Generic[T]):
    """A result that may not be there yet, over a `concurrent.futures.Future`.

    Args:
        future: The future to follow; a new one that waits for `complete` by default.
        convert: Applied to the result each time it is asked for.
    """

    __slots__ = ("_convert", "_future")

    def __init__(
        self, future: Future[Any] | None = None, convert: Callable[[Any], T] | None = None
    ) -> None:
        """Follows a future."""
        self._future: Future[Any] = Future() if future is None else future
        self._convert = convert

    @staticmethod
    def completed(value: T) -> CompletableFuture[T]:
        """A future that is done, with this result."""
        future: Future[Any] = Future()
        future.set_result(value)
        return CompletableFuture(future)

    @staticmethod
    def failed(error: BaseException) -> CompletableFuture[Any]:
        """A future that is done, with this error."""
        future: Future[Any] = Future()
        future.set_exception(error)
        return CompletableFuture(future)

    def complete(self, value: T) -> bool:
        """Gives the result, unless there is one already; says whether it was taken."""
        if self._future.done():
            return False
        self._future.set_result(value)
        return True

    def cancel(self) -> bool:
        """Gives up waiting for the result; says whether the future is now cancelled.

        This cancels the future, not the job: see `JobClient.cancel`.
        """
        return self._future.cancel()

    def cancelled(self) -> bool:
        """Whether it was cancelled before it was done."""
        return self._future.cancelled()

    def done(self) -> bool:
        """Whether there is a result or an error, or it was cancelled."""
        return self._future.done()

    def result(self, timeout: float | None = None) -> T:
        """Waits for the result and returns it, or raises the error.

        Args:
            timeout: How many seconds to wait before `TimeoutError`; forever by default.
        """
        value = self._future.result(timeout)
        return value if self._convert is None else self._convert(value)

    def exception(self) -> BaseException | None:
        """The error, if it is done and failed; does not wait."""
        if not self._future.done():
            return None
        try:
            return self._future.exception()
        except CancelledError as error:
            return error

    def add_done_callback(self, callback: Callable[[CompletableFuture[T]], Any]) -> None:
        """Calls `callback` with this future when it is done, at once if it is already."""
        self._future.add_done_callback(lambda _: callback(self))

    def __str__(self) -> str:
        """Whether it is pending, cancelled, failed or completed."""
        if not self.done():
            state = "not completed"
        elif self.cancelled():
            state = "cancelled"
        elif self._future.exception() is not None:
            state = "completed exceptionally"
        else:
            state = "completed normally"
        return f"CompletableFuture[{state}]"

    __repr__ = __str__
