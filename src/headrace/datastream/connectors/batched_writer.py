"""A writer that hands records over in batches and waits until they have arrived: at least once.

At the end of an epoch, and so before each checkpoint, everything has been handed over. Records that
came after the last checkpoint are written again when a job recovers.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.common.errors import HeadraceError
from headrace.datastream.connectors.base import SinkWriter

__all__ = ["BatchLimits", "BatchRefusedError", "BatchedWriter", "Retries"]


class BatchRefusedError(HeadraceError):
    """A server has refused records for good: writing them again would not help."""


@dataclass(frozen=True)
class Retries:
    """How often, and after which time, a batch that failed is sent again.

    Attributes:
        times: How often; 0 for never.
        delay_s: What to wait before the first time.
        factor: The wait becomes so many times as long with each.
    """

    times: int = 3
    delay_s: float = 0.5
    factor: float = 2.0


@dataclass(frozen=True)
class BatchLimits:
    """What fits into one batch.

    Attributes:
        records: At most so many records.
        size: At most so many bytes; one larger record goes alone.
    """

    records: int = 500
    size: int | None = None

    def batches(
        self, records: Sequence[Any], size_of: Callable[[Any], int]
    ) -> Iterator[Sequence[Any]]:
        """The records, cut into batches."""
        if self.size is None:
            for start in range(0, len(records), self.records):
                yield records[start : start + self.records]
            return
        batch: list[Any] = []
        filled = 0
        for record in records:
            size = size_of(record)
            if batch and (len(batch) == self.records or filled + size > self.size):
                yield batch
                batch, filled = [], 0
            batch.append(record)
            filled += size
        if batch:
            yield batch


class BatchedWriter(SinkWriter):
    """Collects what `encode` makes of records, and gives it to `send` in batches."""

    def __init__(
        self,
        limits: BatchLimits,
        retries: Retries | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._limits = limits
        self._retries = retries or Retries()
        self._sleep = sleep
        self._waiting: list[Any] = []

    @abstractmethod
    def encode(self, values: list[Any]) -> list[Any]:
        """What is to be sent of these records."""

    @abstractmethod
    def send(self, batch: Sequence[Any]) -> Sequence[Any]:
        """Send a batch, and wait until it has arrived.

        Returns:
            What has to be sent again, such as what a server was too busy for.

        Raises:
            BatchRefusedError: Sending it again would not help.
        """

    def size_of(self, encoded: Any) -> int:
        """The bytes of something encoded, where batches are limited by them."""
        return len(encoded)

    def reconnect(self) -> None:
        """Called before a batch whose sending has raised an error is sent again.

        If it raises one itself, that counts as a failed try, too.
        """

    def write(self, values: list[Any], timestamps: Sequence[int | None] | None) -> None:
        self._waiting += self.encode(values)
        if len(self._waiting) >= self._limits.records:
            self.flush(end_of_input=False)

    def flush(self, end_of_input: bool) -> None:
        waiting, self._waiting = self._waiting, []
        for batch in self._limits.batches(waiting, self.size_of):
            self._deliver(batch)

    def _deliver(self, batch: Sequence[Any]) -> None:
        wait_s = self._retries.delay_s
        broken = False
        for attempt in range(self._retries.times + 1):
            last = attempt == self._retries.times
            try:
                if broken:
                    self.reconnect()
                broken = True
                batch = self.send(batch)
                broken = False
            except BatchRefusedError:
                raise
            except Exception as error:
                if last:
                    raise HeadraceError(
                        f"{len(batch)} records could not be written, tried {attempt + 1} times; "
                        f"the last error was {type(error).__name__}: {error}"
                    ) from error
                self._sleep(wait_s)
            else:
                if not batch:
                    return
                if not last:
                    self._sleep(wait_s)
            wait_s *= self._retries.factor
        raise HeadraceError(
            f"the server took {self._retries.times + 1} requests but not these records: "
            f"{len(batch)} are left; it may be too busy, so write with fewer subtasks"
        )
