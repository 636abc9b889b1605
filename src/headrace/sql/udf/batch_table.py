"""Table functions of many rows at once, in a slot: models and searches."""

from __future__ import annotations

import asyncio
import reprlib
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from headrace.runtime.operator import Operator

__all__ = ["BatchTableFunction", "CallLimits", "Rows", "parts", "together"]

Rows = list[tuple[Any, ...]]

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class CallLimits:
    """How asynchronous calls run.

    Attributes:
        concurrent: How many of them run at the same time.
        timeout_ms: How long one may take, attempts included.
    """

    concurrent: int = 10
    timeout_ms: int = 180_000


class BatchTableFunction(ABC):
    """Makes rows of all rows of a batch together. Picklable until it is opened."""

    @abstractmethod
    def open(self, operator: Operator) -> None:
        """Called once in each subtask, before the first batch."""

    @abstractmethod
    def batch(self, rows: Rows) -> list[Rows]:
        """The rows that each row of arguments becomes, all in internal form."""

    @abstractmethod
    def close(self) -> None:
        """Called once in each subtask, also after a failure."""


async def together(
    call: Callable[[T], Awaitable[R]], given: Iterable[T], limits: CallLimits
) -> list[R]:
    """The results of calls in the order of their arguments, with a limit on parallel calls."""
    gate = asyncio.Semaphore(limits.concurrent)

    async def one(argument: T) -> R:
        async with gate:
            limit = asyncio.timeout(limits.timeout_ms / 1000)
            try:
                async with limit:
                    return await call(argument)
            except TimeoutError as error:
                if not limit.expired():
                    raise
                raise TimeoutError(
                    f"Async function call has timed out for input: {reprlib.repr(argument)}: "
                    f"there was no answer within {limits.timeout_ms} ms"
                ) from error

    return await asyncio.gather(*map(one, given))


def parts(rows: Sequence[T], size: int) -> list[Sequence[T]]:
    """Pieces of a list, each with at most `size` elements."""
    return [rows[i : i + size] for i in range(0, len(rows), size)]
