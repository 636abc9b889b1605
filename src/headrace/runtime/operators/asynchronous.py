"""Asynchronous I/O: many calls of a coroutine function in flight at once.

The calls of a batch overlap, up to the capacity; the batch is through when all of them are. So no
call is in flight at a barrier, and there is nothing of them to save.
"""

from __future__ import annotations

import asyncio
from itertools import repeat
from typing import Any

from headrace.graph.specs import AsyncSpec
from headrace.runtime.batch import Batch
from headrace.runtime.failure import UserCodeFailure
from headrace.runtime.operators.simple import FunctionOperator
from headrace.runtime.ownership import own


class AsyncOperator(FunctionOperator):
    """Runs `async_invoke` for each record on an event loop that lives as long as the subtask."""

    takes_keys_in_turn = False

    def __init__(self, spec: AsyncSpec) -> None:
        super().__init__(spec.function)
        self._spec = spec
        self._limit_s = spec.timeout_ms / 1000 if spec.timeout_ms > 0 else None
        self._loop: asyncio.AbstractEventLoop

    def open(self) -> None:
        self._loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self._loop)
        super().open()

    def close(self) -> None:
        try:
            super().close()
        finally:
            if hasattr(self, "_loop"):
                self._loop.run_until_complete(self._loop.shutdown_asyncgens())
                self._loop.close()

    def process_batch(self, batch: Batch) -> None:
        self.records_in += len(batch.values)
        values, stamps = self._loop.run_until_complete(self._all(batch))
        self.output.emit(Batch(values, None if batch.timestamps is None else stamps))

    async def _all(self, batch: Batch) -> tuple[list[Any], list[int | None]]:
        """Results of all records, in the order of the records or in that of their completion."""
        in_order: list[Any] = [None] * len(batch.values)
        completed: list[int] = []
        stamps = list(repeat(None, len(batch)) if batch.timestamps is None else batch.timestamps)
        positions = iter(enumerate(batch.values))

        async def work() -> None:
            for position, value in positions:
                in_order[position] = await self._one(value)
                completed.append(position)

        workers = [asyncio.create_task(work()) for _ in range(min(self._spec.capacity, len(batch)))]
        try:
            await asyncio.gather(*workers)
        except BaseException:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
            raise
        order = range(len(batch)) if self._spec.ordered else completed
        return (
            [result for position in order for result in in_order[position]],
            [stamps[position] for position in order for _ in in_order[position]],
        )

    async def _one(self, value: Any) -> list[Any]:
        """The results of one record, with retries, within the timeout for all of them together."""
        try:
            try:
                async with asyncio.timeout(self._limit_s) as limit:
                    return await self._with_retries(value)
            except TimeoutError:
                if not limit.expired():
                    raise
                return _listed(self.function.timeout(value), "timeout")
        except Exception as error:
            raise self.failed(error, value, where="async_invoke") from error

    async def _with_retries(self, value: Any) -> list[Any]:
        strategy = self._spec.retry
        predicate = strategy.get_retry_predicate()
        wants_result, wants_error = predicate.result_predicate(), predicate.exception_predicate()
        attempt = 1
        while True:
            failure: Exception | None = None
            results: list[Any] = []
            try:
                results = _listed(await self.function.async_invoke(value), "async_invoke")
                again = wants_result is not None and wants_result(results)
            except Exception as error:  # noqa: BLE001 - the user's predicate decides
                failure = error
                again = wants_error is not None and wants_error(error)
            if not again or not strategy.can_retry(attempt):
                if failure is not None:
                    raise failure
                return results
            await asyncio.sleep(strategy.get_backoff_time_millis(attempt) / 1000)
            attempt += 1


_REFUSED = (
    "The result of AsyncFunction should be of list type",
    "The result of AsyncFunction cannot be none",
)


def _listed(results: Any, method: str) -> list[Any]:
    if not hasattr(results, "__iter__"):
        raise UserCodeFailure.of(
            TypeError(
                f"{_REFUSED[results is None]}: {method} must return a list of records to emit, "
                f"even for a single record; it returned {results!r}"
            ),
            where=method,
        )
    return list(map(own, results))
