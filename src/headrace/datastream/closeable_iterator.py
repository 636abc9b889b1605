"""`CloseableIterator`: records that are taken from a job while it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

__all__ = ["CloseableIterator"]

T = TypeVar("T")


class CloseableIterator(Generic[T]):
    """Records of a running job. Closing it cancels the job."""

    def __init__(self, records: Iterator[T], close: Callable[[], None]) -> None:
        self._records = records
        self._close = close

    def __iter__(self) -> CloseableIterator[T]:
        return self

    def __next__(self) -> T:
        return next(self._records)

    def next(self) -> T:
        """The next record."""
        return next(self._records)

    def __enter__(self) -> CloseableIterator[T]:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop taking records; the job is cancelled if it still runs."""
        self._close()
