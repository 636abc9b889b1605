"""sum, min, max, min_by and max_by of a keyed stream, as reductions of a field."""

from __future__ import annotations

import copy
from typing import Any

from headrace.common.errors import FunctionTypeError
from headrace.common.types import Row
from headrace.datastream.functions import ReduceFunction

_WITH_FIELDS = (tuple, Row, list, dict)


def check_position(position: Any) -> None:
    """A field is an index or a name."""
    if isinstance(position, bool) or not isinstance(position, int | str):
        raise FunctionTypeError(
            "The field position must be of int or str type to locate the value to calculate for "
            f"min, max, min_by, max_by and sum. The given type is: {type(position)}"
        )


class _FieldReduce(ReduceFunction[Any]):
    associative = True

    def __init__(self, position: int | str) -> None:
        self._position = position

    def _is_whole(self, value: Any) -> bool:
        """Whether the record is not a row or a tuple, so that field 0 is the record itself."""
        if isinstance(value, _WITH_FIELDS):
            return False
        if self._position != 0:
            raise TypeError(
                f"The {self._position} field selected on a basic type. A value of type "
                f"{type(value).__name__} has only field 0, the value itself"
            )
        return True

    def _field(self, value: Any) -> Any:
        return value if self._is_whole(value) else value[self._position]

    def _with_field(self, value: Any, field: Any) -> Any:
        """A copy of the record with the field replaced; others stay those of the first record."""
        if self._is_whole(value):
            return field
        position = self._position
        if type(value) is tuple and type(position) is int and position >= 0:
            return (*value[:position], field, *value[position + 1 :])
        if isinstance(value, tuple):
            fields = list(value)
            fields[self._position] = field  # type: ignore[index]
            if type(value) is tuple:
                return tuple(fields)
            return value._make(fields) if hasattr(value, "_make") else type(value)(fields)
        changed = copy.copy(value)
        changed[self._position] = field
        return changed


class SumOf(_FieldReduce):
    """Adds the field up."""

    def reduce(self, value1: Any, value2: Any) -> Any:
        return self._with_field(value1, self._field(value1) + self._field(value2))


class MinOf(_FieldReduce):
    """Keeps the smallest value of the field."""

    def reduce(self, value1: Any, value2: Any) -> Any:
        first, second = self._field(value1), self._field(value2)
        return self._with_field(value1, second) if second < first else value1


class MaxOf(_FieldReduce):
    """Keeps the largest value of the field."""

    def reduce(self, value1: Any, value2: Any) -> Any:
        first, second = self._field(value1), self._field(value2)
        return self._with_field(value1, second) if second > first else value1


class MinBy(_FieldReduce):
    """Keeps the record with the smallest value of the field, the first of equal ones."""

    def reduce(self, value1: Any, value2: Any) -> Any:
        return value2 if self._field(value2) < self._field(value1) else value1


class MaxBy(_FieldReduce):
    """Keeps the record with the largest value of the field, the first of equal ones."""

    def reduce(self, value1: Any, value2: Any) -> Any:
        return value2 if self._field(value2) > self._field(value1) else value1
