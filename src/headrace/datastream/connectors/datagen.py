"""A source of generated records: index to value, as many and as fast as wanted."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from operator import length_hint
from typing import Any

from headrace.common.errors import FunctionTypeError, GraphError
from headrace.common.typeinfo import TypeInformation
from headrace.datastream.connectors.base import (
    ReadBatch,
    ReaderContext,
    Source,
    SourceReader,
    SplitEnumerator,
    StaticEnumerator,
)
from headrace.datastream.connectors.datagen_fields import (
    GeneratorFunction,
    RandomGenerator,
    RowGenerator,
    SequenceGenerator,
)

__all__ = [
    "DataGeneratorSource",
    "GeneratorFunction",
    "RandomGenerator",
    "RateLimiterStrategy",
    "RowGenerator",
    "SequenceGenerator",
]

_LEAST_PAUSE_MS = 50
_MOST_SAVED_S = 2.0


@dataclass(frozen=True)
class RateLimiterStrategy:
    """How fast records come, over all subtasks together."""

    records_per_second: float | None = None
    records_per_checkpoint: int | None = None

    @staticmethod
    def per_second(records_per_second: float) -> RateLimiterStrategy:
        """At most so many records in a second, shared evenly among the subtasks."""
        if isinstance(records_per_second, bool) or not isinstance(records_per_second, int | float):
            raise FunctionTypeError(f"a rate must be a number, not {records_per_second!r}")
        if records_per_second <= 0:
            raise GraphError(f"a rate must be positive, not {records_per_second!r}")
        return RateLimiterStrategy(float(records_per_second))

    @staticmethod
    def per_checkpoint(records_per_checkpoint: int) -> RateLimiterStrategy:
        """So many records, and then none until a checkpoint is complete; shared evenly.

        A job without checkpoints ends its input only if the first ones are all.
        """
        if isinstance(records_per_checkpoint, bool) or not isinstance(records_per_checkpoint, int):
            raise FunctionTypeError(
                f"the number of records must be an int, not {records_per_checkpoint!r}"
            )
        if records_per_checkpoint <= 0:
            raise GraphError(f"a rate must be positive, not {records_per_checkpoint!r}")
        return RateLimiterStrategy(records_per_checkpoint=records_per_checkpoint)

    @staticmethod
    def no_op() -> RateLimiterStrategy:
        """As fast as possible."""
        return RateLimiterStrategy()


@dataclass(frozen=True)
class DataGeneratorSource(Source):
    """The records of the indices from 0 to `count` - 1, each subtask with a range of its own.

    Args:
        generator_function: A `GeneratorFunction`, or a function from index to record.
        count: How many; may be as large as you like for a stream that practically never ends.
        rate_limiter_strategy: How fast; as fast as possible without one.
        type_info: Type of the records; any Python objects without it.

    Example:
        >>> rate = RateLimiterStrategy.per_second(100)
        >>> source = DataGeneratorSource(lambda i: f"event {i}", 1000, rate)
        >>> events = env.from_source(source, WatermarkStrategy.no_watermarks(), "events")
    """

    generator_function: GeneratorFunction[Any] | Callable[[int], Any]
    count: int
    rate_limiter_strategy: RateLimiterStrategy | None = None
    type_info: TypeInformation | None = None

    def __post_init__(self) -> None:
        """Check the arguments where the user wrote them."""
        function = self.generator_function
        if not isinstance(function, GeneratorFunction) and not callable(function):
            raise FunctionTypeError(
                f"generator_function must be a GeneratorFunction or a function, not {function!r}"
            )
        if type(self.count) is not int:
            raise FunctionTypeError(f"count must be an int, not {self.count!r}")
        if self.count < 0:
            raise GraphError(f"count must not be negative: {self.count}")
        strategy = self.rate_limiter_strategy
        if strategy is not None and not isinstance(strategy, RateLimiterStrategy):
            raise FunctionTypeError(
                "rate_limiter_strategy must come from RateLimiterStrategy, such as "
                f"per_second(100), not {strategy!r}"
            )
        if self.type_info is not None and not isinstance(self.type_info, TypeInformation):
            raise FunctionTypeError(f"type_info must be a TypeInformation, not {self.type_info!r}")

    @property
    def bounded(self) -> bool:
        return True

    @property
    def produced_type(self) -> TypeInformation | None:
        return self.type_info

    def create_enumerator(self, parallelism: int) -> SplitEnumerator:
        cuts = [self.count * i // parallelism for i in range(parallelism + 1)]
        splits = [
            IndexRange(f"indices-{i}", first, last)
            for i, (first, last) in enumerate(pairwise(cuts))
        ]
        return StaticEnumerator(splits, parallelism)

    def create_reader(self, context: ReaderContext) -> SourceReader:
        strategy = self.rate_limiter_strategy or RateLimiterStrategy.no_op()
        limiter: RateLimiter | CheckpointLimiter | None = None
        if strategy.records_per_second is not None:
            limiter = RateLimiter(strategy.records_per_second / context.parallelism, context.now_ms)
        elif strategy.records_per_checkpoint is not None:
            share = -(-strategy.records_per_checkpoint // context.parallelism)
            limiter = CheckpointLimiter(share, context.data_available)
        return _GeneratorReader(self.generator_function, context, limiter)


@dataclass(frozen=True)
class IndexRange:
    """Indices from `position` up to `end`."""

    split_id: str
    position: int
    end: int


class RateLimiter:
    """Permits that grow with time; those of two seconds are kept for a reader that was held up."""

    def __init__(self, per_second: float, now_ms: Callable[[], int]) -> None:
        self._per_ms = per_second / 1000
        self._most = max(per_second * _MOST_SAVED_S, 1.0)
        self._now_ms = now_ms
        self._permits = 1.0
        self._at: int | None = None

    def permitted(self) -> int:
        """How many records may come now."""
        now = self._now_ms()
        if self._at is not None:
            # A clock that is set back takes nothing away.
            passed = max(now - self._at, 0)
            self._permits = min(self._permits + passed * self._per_ms, self._most)
        self._at = now
        # A permit that is there but for the last bit of a float is there.
        return int(self._permits + 1e-9)

    def use(self, count: int) -> None:
        """So many came."""
        self._permits -= count

    def checkpoint_completed(self) -> None:
        """Time alone counts."""

    def next_at(self, now_ms: int) -> int | None:
        """When the next record may come; several at a time when the rate is high."""
        if self._at is None:
            return now_ms
        missing = max(1.0 - self._permits, 0.0)
        due = self._at - int(-missing / self._per_ms // 1)
        return max(due, self._at + _LEAST_PAUSE_MS)


class CheckpointLimiter:
    """Permits that a complete checkpoint gives anew."""

    def __init__(self, records: int, data_available: Callable[[], None]) -> None:
        self._records = records
        self._left = records
        self._data_available = data_available

    def permitted(self) -> int:
        """How many records may come now."""
        return self._left

    def use(self, count: int) -> None:
        """So many came."""
        self._left -= count

    def checkpoint_completed(self) -> None:
        """What came is safe: as many again."""
        if self._left == 0:
            self._data_available()
        self._left = self._records

    def next_at(self, now_ms: int) -> int | None:
        """Nobody knows."""
        return None


class IndexReader(SourceReader):
    """Makes the records of ranges of indices, as fast as a limiter lets it."""

    def __init__(self, limiter: RateLimiter | CheckpointLimiter | None) -> None:
        self._limiter = limiter
        self._ranges: list[IndexRange] = []
        self._finished: list[str] = []

    @abstractmethod
    def generate(self, start: int, end: int) -> list[Any]:
        """The records of indices from one up to another."""

    def add_splits(self, splits: Sequence[IndexRange]) -> None:
        self._ranges.extend(splits)
        self._drop_finished()

    def poll(self, max_records: int) -> ReadBatch | None:
        if not self._ranges:
            return None
        count = max_records
        if self._limiter is not None:
            count = min(count, self._limiter.permitted())
            if count < 1:
                return None
        current = self._ranges[0]
        end = min(current.position + count, current.end)
        values = self.generate(current.position, end)
        if self._limiter is not None:
            self._limiter.use(len(values))
        self._ranges[0] = replace(current, position=end)
        self._drop_finished()
        return ReadBatch(current.split_id, values)

    def _drop_finished(self) -> None:
        while self._ranges and self._ranges[0].position >= self._ranges[0].end:
            self._finished.append(self._ranges.pop(0).split_id)

    def available_at(self, now_ms: int) -> int | None:
        if not self._ranges or self._limiter is None:
            return None
        return self._limiter.next_at(now_ms)

    def on_checkpoint_complete(self, checkpoint: int) -> None:
        if self._limiter is not None:
            self._limiter.checkpoint_completed()

    def finished_splits(self) -> list[str]:
        finished, self._finished = self._finished, []
        return finished

    def snapshot(self) -> list[IndexRange]:
        return list(self._ranges)

    @property
    def exhausted(self) -> bool:
        return not self._ranges


class _GeneratorReader(IndexReader):
    def __init__(
        self,
        function: GeneratorFunction[Any] | Callable[[int], Any],
        context: ReaderContext,
        limiter: RateLimiter | CheckpointLimiter | None,
    ) -> None:
        super().__init__(limiter)
        self._function = function
        self._context = context
        self._map = function.map if isinstance(function, GeneratorFunction) else function

    def open(self) -> None:
        if isinstance(self._function, GeneratorFunction):
            self._function.open(self._context.runtime_context)

    def generate(self, start: int, end: int) -> list[Any]:
        indices = iter(range(start, end))
        try:
            values = list(map(self._map, indices))
            if len(values) != end - start:
                raise RuntimeError("the generator function raised StopIteration")
        except Exception as error:
            error.add_note(
                f"while generating the record with index {end - length_hint(indices) - 1}"
            )
            raise
        return values

    def close(self) -> None:
        if isinstance(self._function, GeneratorFunction):
            self._function.close()
