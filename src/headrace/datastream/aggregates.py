"""Ready-made aggregate functions: Sum, Count, Average, Minimum, Maximum.

Each works on a field, given by index or name, of tuples, rows, lists and dicts, or on the value
itself.
"""

from __future__ import annotations

from typing import Any

from headrace.common.types import Row
from headrace.datastream.functions import AggregateFunction

__all__ = ["Average", "Count", "Maximum", "Minimum", "Sum"]

_WITH_FIELDS: tuple[type[Any], ...] = (tuple, Row, list, dict)


class _OfField(AggregateFunction[Any, Any, Any]):
    def __init__(self, position: int | str = 0) -> None:
        self._position = position

    def field(self, value: Any) -> Any:
        """The field of a record; a plain value is its own field 0."""
        if isinstance(value, _WITH_FIELDS):
            return value[self._position]
        return value


class Count(AggregateFunction[Any, int, int]):
    """Counts records."""

    def create_accumulator(self) -> int:
        """No records yet."""
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        """One more."""
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        """The number of records."""
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        """The records of both."""
        return acc_a + acc_b


class Sum(_OfField):
    """Adds a field up."""

    def create_accumulator(self) -> Any:
        """The sum of nothing: 0."""
        return 0

    def add(self, value: Any, accumulator: Any) -> Any:
        """Add the record's field."""
        return accumulator + self.field(value)

    def get_result(self, accumulator: Any) -> Any:
        """The sum."""
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        """The sum of both."""
        return acc_a + acc_b


class Average(_OfField):
    """The average of a field."""

    def create_accumulator(self) -> tuple[Any, int]:
        """A sum and a count."""
        return 0, 0

    def add(self, value: Any, accumulator: tuple[Any, int]) -> tuple[Any, int]:
        """Add the record's field and count the record."""
        return accumulator[0] + self.field(value), accumulator[1] + 1

    def get_result(self, accumulator: tuple[Any, int]) -> Any:
        """The sum divided by the count."""
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a: tuple[Any, int], acc_b: tuple[Any, int]) -> tuple[Any, int]:
        """The sum and the count of both."""
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class _Extreme(_OfField):
    def create_accumulator(self) -> Any:
        return ()

    def get_result(self, accumulator: Any) -> Any:
        return accumulator[0]

    def better(self, one: Any, other: Any) -> bool:
        """Whether the first value is to be kept."""
        raise NotImplementedError

    def add(self, value: Any, accumulator: Any) -> Any:
        field = self.field(value)
        return (field,) if not accumulator or self.better(field, accumulator[0]) else accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        if not acc_a or not acc_b:
            return acc_a or acc_b
        return acc_a if self.better(acc_a[0], acc_b[0]) else acc_b


class Minimum(_Extreme):
    """The smallest value of a field."""

    def better(self, one: Any, other: Any) -> bool:
        """Whether the first value is smaller."""
        return bool(one < other)


class Maximum(_Extreme):
    """The largest value of a field."""

    def better(self, one: Any, other: Any) -> bool:
        """Whether the first value is larger."""
        return bool(one > other)
