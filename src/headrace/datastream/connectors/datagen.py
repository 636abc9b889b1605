"""A source of generated records: index to value, as many and as fast as wanted."""

from __future__ import annotations

import string
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from operator import length_hint
from typing import Any, Generic, TypeVar

from headrace.common.errors import FunctionTypeError, GraphError
from headrace.common.typeinfo import TypeInformation
from headrace.common.types import Row
from headrace.datastream.connectors.base import (
    ReadBatch,
    ReaderContext,
    Source,
    SourceReader,
    SplitEnumerator,
    StaticEnumerator,
)

__all__ = [
    "DataGeneratorSource",
    "GeneratorFunction",
    "RandomGenerator",
    "RateLimiterStrategy",
    "RowGenerator",
    "SequenceGenerator",
]

T = TypeVar("T")

_LEAST_PAUSE_MS = 50
_MOST_SAVED_S = 2.0


class GeneratorFunction(ABC, Generic[T]):
    """Makes the record of an index: always the same one, so that it can be made again.

    Each subtask has an object of its own: `open` is called once before the first record, `close` at
    the end.
    """

    def open(self, runtime_context: Any) -> None:
        """Called once, before the first record."""

    @abstractmethod
    def map(self, value: int) -> T:
        """The record of an index, from 0."""

    def close(self) -> None:
        """Called once, at the end."""


@dataclass(frozen=True)
class RateLimiterStrategy:
    """How fast records come, over all subtasks together."""

    records_per_second: float | None = None

    @staticmethod
    def per_second(records_per_second: float) -> RateLimiterStrategy:
        """At most so many records in a second, shared evenly among the subtasks."""
        if isinstance(records_per_second, bool) or not isinstance(records_per_second, int | float):
            raise FunctionTypeError(f"a rate is a number, not {records_per_second!r}")
        if records_per_second <= 0:
            raise GraphError(f"a rate must be positive, not {records_per_second!r}")
        return RateLimiterStrategy(float(records_per_second))

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
                f"generator_function is a GeneratorFunction or a function, not {function!r}"
            )
        if type(self.count) is not int:
            raise FunctionTypeError(f"count is an int, not {self.count!r}")
        if self.count < 0:
            raise GraphError(f"count must not be negative: {self.count}")
        strategy = self.rate_limiter_strategy
        if strategy is not None and not isinstance(strategy, RateLimiterStrategy):
            raise FunctionTypeError(
                "rate_limiter_strategy is one of RateLimiterStrategy's, such as per_second(100), "
                f"not {strategy!r}"
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
        limiter = None
        if strategy.records_per_second is not None:
            limiter = RateLimiter(strategy.records_per_second / context.parallelism, context.now_ms)
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
            self._permits = min(self._permits + (now - self._at) * self._per_ms, self._most)
        self._at = now
        # A permit that is there but for the last bit of a float is there.
        return int(self._permits + 1e-9)

    def use(self, count: int) -> None:
        """So many came."""
        self._permits -= count

    def next_at(self, now_ms: int) -> int:
        """When the next record may come; several at a time when the rate is high."""
        if self._at is None:
            return now_ms
        missing = max(1.0 - self._permits, 0.0)
        due = self._at - int(-missing / self._per_ms // 1)
        return max(due, self._at + _LEAST_PAUSE_MS)


class _GeneratorReader(SourceReader):
    def __init__(
        self,
        function: GeneratorFunction[Any] | Callable[[int], Any],
        context: ReaderContext,
        limiter: RateLimiter | None,
    ) -> None:
        self._function = function
        self._context = context
        self._limiter = limiter
        self._map = function.map if isinstance(function, GeneratorFunction) else function
        self._ranges: list[IndexRange] = []
        self._finished: list[str] = []

    def open(self) -> None:
        if isinstance(self._function, GeneratorFunction):
            self._function.open(self._context.runtime_context)

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
        values = self._generate(current.position, end)
        if self._limiter is not None:
            self._limiter.use(len(values))
        self._ranges[0] = replace(current, position=end)
        self._drop_finished()
        return ReadBatch(current.split_id, values)

    def _generate(self, start: int, end: int) -> list[Any]:
        indices = iter(range(start, end))
        try:
            values = list(map(self._map, indices))
            if len(values) != end - start:
                raise RuntimeError("the generator function raised StopIteration")
        except Exception as error:
            error.add_note(f"while generating the record of index {end - length_hint(indices) - 1}")
            raise
        return values

    def _drop_finished(self) -> None:
        while self._ranges and self._ranges[0].position >= self._ranges[0].end:
            self._finished.append(self._ranges.pop(0).split_id)

    def available_at(self, now_ms: int) -> int | None:
        if not self._ranges or self._limiter is None:
            return None
        return self._limiter.next_at(now_ms)

    def finished_splits(self) -> list[str]:
        finished, self._finished = self._finished, []
        return finished

    def snapshot(self) -> list[IndexRange]:
        return list(self._ranges)

    @property
    def exhausted(self) -> bool:
        return not self._ranges

    def close(self) -> None:
        if isinstance(self._function, GeneratorFunction):
            self._function.close()


# Generators for fields.


@dataclass(frozen=True)
class SequenceGenerator(GeneratorFunction[Any]):
    """`start`, `start + step`, ...; with `end` it starts anew after it."""

    start: int | float = 0
    step: int | float = 1
    end: int | float | None = None

    def map(self, value: int) -> Any:
        """The number of an index."""
        if self.end is not None:
            value %= int((self.end - self.start) // self.step) + 1
        return self.start + value * self.step


_MASK = (1 << 64) - 1


def _random_bits(seed: int, index: int) -> int:
    """64 random bits of seed and index alone, so that a replay gives the same (splitmix64)."""
    bits = (seed + index * 0x9E3779B97F4A7C15) & _MASK
    bits = ((bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & _MASK
    return bits ^ (bits >> 31)


@dataclass(frozen=True)
class RandomGenerator(GeneratorFunction[Any]):
    """Random values; those of an index are always the same. Make one with the methods below.

    Example:
        >>> RandomGenerator.int_generator(1, 6, seed=7).map(0) in range(1, 7)
        True
    """

    of_bits: Callable[[int], Any]
    seed: int

    def map(self, value: int) -> Any:
        """The random value of an index."""
        return self.of_bits(_random_bits(self.seed, value))

    @staticmethod
    def int_generator(minimum: int, maximum: int, seed: int = 0) -> RandomGenerator:
        """Whole numbers from `minimum` to `maximum`, both included."""
        _check_bounds(minimum, maximum)
        span = maximum - minimum + 1
        return _random(lambda bits: minimum + bits % span, seed)

    @staticmethod
    def long_generator(minimum: int, maximum: int, seed: int = 0) -> RandomGenerator:
        """The same as `int_generator`: Python's numbers have no width."""
        return RandomGenerator.int_generator(minimum, maximum, seed)

    @staticmethod
    def float_generator(minimum: float, maximum: float, seed: int = 0) -> RandomGenerator:
        """Numbers from `minimum` up to `maximum`."""
        _check_bounds(minimum, maximum)
        span = maximum - minimum
        return _random(lambda bits: minimum + span * ((bits >> 11) / (1 << 53)), seed)

    @staticmethod
    def double_generator(minimum: float, maximum: float, seed: int = 0) -> RandomGenerator:
        """The same as `float_generator`."""
        return RandomGenerator.float_generator(minimum, maximum, seed)

    @staticmethod
    def boolean_generator(seed: int = 0) -> RandomGenerator:
        """True or False."""
        return _random(lambda bits: bool(bits & 1), seed)

    @staticmethod
    def string_generator(
        length: int, alphabet: str = string.hexdigits[:16], seed: int = 0
    ) -> RandomGenerator:
        """Text of a length, of the characters of an alphabet."""
        if length < 0 or not alphabet:
            raise GraphError("string_generator needs a length that is not negative and an alphabet")
        letters, size = alphabet, len(alphabet)

        def text(bits: int) -> str:
            return "".join([letters[_random_bits(bits, i) % size] for i in range(length)])

        return _random(text, seed)

    @staticmethod
    def choice_generator(choices: Sequence[Any], seed: int = 0) -> RandomGenerator:
        """One of some values."""
        values = tuple(choices)
        if not values:
            raise GraphError("choice_generator needs at least one value to choose from")
        return _random(lambda bits: values[bits % len(values)], seed)


def _random(of_bits: Callable[[int], Any], seed: int) -> RandomGenerator:
    # Scrambled, so that generators with seeds 0 and 1 have nothing in common.
    return RandomGenerator(of_bits, _random_bits(0x5851F42D4C957F2D, seed + 1))


def _check_bounds(minimum: float, maximum: float) -> None:
    if minimum > maximum:
        raise GraphError(f"the minimum {minimum!r} is above the maximum {maximum!r}")


@dataclass(frozen=True, init=False)
class RowGenerator(GeneratorFunction[Row]):
    """A `Row` with a generator for each of its fields.

    Example:
        >>> rows = RowGenerator(id=SequenceGenerator(), dice=RandomGenerator.int_generator(1, 6))
    """

    fields: dict[str, GeneratorFunction[Any]]

    def __init__(self, **fields: GeneratorFunction[Any]) -> None:
        object.__setattr__(self, "fields", fields)

    def map(self, value: int) -> Row:
        """The row of an index."""
        return Row(**{name: field.map(value) for name, field in self.fields.items()})
