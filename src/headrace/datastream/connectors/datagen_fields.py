"""Generators of the fields of records: sequences and random values of all kinds.

The value of an index is always the same, so that a record can be made again after a failure.
"""

from __future__ import annotations

import datetime
import string
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Generic, TypeVar

from headrace.common.errors import GraphError
from headrace.common.time import Instant
from headrace.common.types import Row

__all__ = ["GeneratorFunction", "RandomGenerator", "RowGenerator", "SequenceGenerator"]

T = TypeVar("T")


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
    null_rate: float = 0.0

    def map(self, value: int) -> Any:
        """The random value of an index."""
        bits = _random_bits(self.seed, value)
        if self.null_rate and (_random_bits(bits, 1) >> 11) / (1 << 53) < self.null_rate:
            return None
        return self.of_bits(bits)

    def with_null_rate(self, null_rate: float) -> RandomGenerator:
        """The same generator, with None for a share of the indices, from 0 to 1."""
        if not 0 <= null_rate <= 1:
            raise GraphError(f"a null rate must be between 0 and 1, not {null_rate!r}")
        return replace(self, null_rate=float(null_rate))

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
    def short_generator(minimum: int, maximum: int, seed: int = 0) -> RandomGenerator:
        """The same as `int_generator`."""
        return RandomGenerator.int_generator(minimum, maximum, seed)

    @staticmethod
    def byte_generator(minimum: int, maximum: int, seed: int = 0) -> RandomGenerator:
        """The same as `int_generator`."""
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
    def decimal_generator(precision: int, scale: int, seed: int = 0) -> RandomGenerator:
        """Decimals from 0 with so many digits, some of them after the point."""
        if not 0 <= scale <= precision or precision < 1:
            raise GraphError(f"a decimal cannot have {precision} digits with {scale} of them after")
        return _random(lambda bits: Decimal(_big(bits) % 10**precision).scaleb(-scale), seed)

    @staticmethod
    def string_generator(
        length: int,
        alphabet: str = string.hexdigits[:16],
        seed: int = 0,
        variable_length: bool = False,
    ) -> RandomGenerator:
        """Text of the characters of an alphabet: of a length, or up to it from 1 on."""
        if length < 0 or not alphabet:
            raise GraphError("string_generator needs a non-negative length and an alphabet")
        letters, size = alphabet, len(alphabet)

        def text(bits: int) -> str:
            count = _length(bits, length, variable_length)
            return "".join([letters[_random_bits(bits, i) % size] for i in range(count)])

        return _random(text, seed)

    @staticmethod
    def bytes_generator(
        length: int, seed: int = 0, variable_length: bool = False
    ) -> RandomGenerator:
        """Bytes: of a length, or up to it from 1 on."""
        if length < 0:
            raise GraphError(f"bytes_generator needs a non-negative length, not {length}")

        def data(bits: int) -> bytes:
            count = _length(bits, length, variable_length)
            return bytes(_random_bits(bits, i) & 0xFF for i in range(count))

        return _random(data, seed)

    @staticmethod
    def date_generator(
        minimum: datetime.date, maximum: datetime.date, seed: int = 0
    ) -> RandomGenerator:
        """Days from one to another, both included."""
        first, last = minimum.toordinal(), maximum.toordinal()
        _check_bounds(first, last)
        span = last - first + 1
        return _random(lambda bits: datetime.date.fromordinal(first + bits % span), seed)

    @staticmethod
    def time_generator(seed: int = 0) -> RandomGenerator:
        """Times of a day, in milliseconds."""
        return _random(_time_of_day, seed)

    @staticmethod
    def timestamp_generator(
        max_past: datetime.timedelta = datetime.timedelta(),
        until: datetime.datetime | None = None,
        seed: int = 0,
    ) -> RandomGenerator:
        """Times without a zone, in milliseconds, that are at most so long before a moment.

        Args:
            max_past: How long before.
            until: The moment; now, as the program is built, without it.
            seed: Another one gives other times.
        """
        end = until or datetime.datetime.now()
        past = _millis(max_past)
        return _random(lambda bits: end - datetime.timedelta(milliseconds=bits % past), seed)

    @staticmethod
    def instant_generator(
        max_past: datetime.timedelta = datetime.timedelta(),
        until: Instant | None = None,
        seed: int = 0,
    ) -> RandomGenerator:
        """Instants in milliseconds that are at most so long before a moment, see above."""
        now = datetime.datetime.now(datetime.UTC).timestamp()
        end = (until or Instant.of_epoch_milli(int(now * 1000))).to_epoch_milli()
        past = _millis(max_past)
        return _random(lambda bits: Instant.of_epoch_milli(end - bits % past), seed)

    @staticmethod
    def interval_generator(max_past: datetime.timedelta, seed: int = 0) -> RandomGenerator:
        """Lengths of time from 0 up, in milliseconds."""
        most = _millis(max_past)
        return _random(lambda bits: datetime.timedelta(milliseconds=bits % most), seed)

    @staticmethod
    def list_generator(
        element: RandomGenerator, length: int, seed: int = 0, variable_length: bool = False
    ) -> RandomGenerator:
        """Lists of random elements: of a length, or up to it from 1 on."""

        def elements(bits: int) -> list[Any]:
            count = _length(bits, length, variable_length)
            return [element.map(_random_bits(bits, i)) for i in range(count)]

        return _random(elements, seed)

    @staticmethod
    def map_generator(
        key: RandomGenerator, value: RandomGenerator, length: int, seed: int = 0
    ) -> RandomGenerator:
        """Dicts of random keys and values; keys that come twice make them shorter."""

        def entries(bits: int) -> dict[Any, Any]:
            indices = [_random_bits(bits, i) for i in range(length)]
            return {key.map(i): value.map(i) for i in indices}

        return _random(entries, seed)

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


def _big(bits: int) -> int:
    """128 random bits."""
    return bits << 64 | _random_bits(bits, 1)


def _length(bits: int, length: int, variable: bool) -> int:
    return 1 + _random_bits(bits, length) % length if variable and length > 1 else length


def _millis(most: datetime.timedelta) -> int:
    """How many values there are from 0 to a length of time, in milliseconds."""
    millis = most // datetime.timedelta(milliseconds=1)
    if millis < 0:
        raise GraphError(f"the time must not be negative: {most}")
    return millis + 1


def _time_of_day(bits: int) -> datetime.time:
    millis = bits % 86_400_000
    second, milli = divmod(millis, 1000)
    minute, second = divmod(second, 60)
    hour, minute = divmod(minute, 60)
    return datetime.time(hour, minute, second, milli * 1000)


def _check_bounds(minimum: float, maximum: float) -> None:
    if minimum > maximum:
        raise GraphError(f"the minimum {minimum!r} is above the maximum {maximum!r}")


@dataclass(frozen=True, init=False)
class RowGenerator(GeneratorFunction[Row]):
    """A `Row` with a generator for each of its fields; rows inside it are generators, too.

    Example:
        >>> rows = RowGenerator(id=SequenceGenerator(), dice=RandomGenerator.int_generator(1, 6))
    """

    fields: dict[str, GeneratorFunction[Any]]

    def __init__(self, **fields: GeneratorFunction[Any]) -> None:
        object.__setattr__(self, "fields", fields)

    def map(self, value: int) -> Row:
        """The row of an index."""
        return Row(**{name: field.map(value) for name, field in self.fields.items()})
