"""Functions of time and of containers, as methods of expressions."""

from __future__ import annotations

from enum import Enum
from typing import Any

from headrace.common.errors import FunctionTypeError
from headrace.sql import types as t
from headrace.sql.parser import syntax as x
from headrace.sql.table_api.expression_nodes import called, unary
from headrace.sql.types.data_types import DataTypes
from headrace.sql.types.intervals import interval_constant
from headrace.table.expression_methods.numbers import BitmapFunctions

__all__ = [
    "ContainerFunctions",
    "TimeIntervalUnit",
    "TimePointUnit",
]


class TimeIntervalUnit(Enum):
    """Units of intervals."""

    YEAR = 0
    YEAR_TO_MONTH = 1
    QUARTER = 2
    MONTH = 3
    WEEK = 4
    DAY = 5
    DAY_TO_HOUR = 6
    DAY_TO_MINUTE = 7
    DAY_TO_SECOND = 8
    HOUR = 9
    SECOND = 10
    HOUR_TO_MINUTE = 11
    HOUR_TO_SECOND = 12
    MINUTE = 13
    MINUTE_TO_SECOND = 14


class TimePointUnit(Enum):
    """Units of points in time."""

    YEAR = 0
    MONTH = 1
    DAY = 2
    HOUR = 3
    MINUTE = 4
    SECOND = 5
    QUARTER = 6
    WEEK = 7
    MILLISECOND = 8
    MICROSECOND = 9


def _interval(unit: str) -> Any:
    """A property: so many units of time."""

    def get(self: Any) -> Any:
        node = self._node
        if not isinstance(node, x.Constant) or not isinstance(node.value, int):
            raise FunctionTypeError(
                f"{self} is not a number: write intervals as lit(5).minutes, for example"
            )
        constant = interval_constant(str(node.value), unit)
        return self._made(constant, str(constant.value))

    get.__doc__ = f"So many {unit.lower()}s."
    return property(get)


class TimeFunctions(BitmapFunctions):
    """Intervals, times and time attributes."""

    year = years = _interval("YEAR")
    quarter = quarters = _interval("QUARTER")
    month = months = _interval("MONTH")
    week = weeks = _interval("WEEK")
    day = days = _interval("DAY")
    hour = hours = _interval("HOUR")
    minute = minutes = _interval("MINUTE")
    second = seconds = _interval("SECOND")
    milli = millis = _interval("MILLISECOND")

    start = unary("start", "$start", "The start of a window.")
    end = unary("end", "$end", "The end of a window.")
    rowtime = unary("rowtime", "$rowtime", "Event time of a stream or window.")
    proctime = unary("proctime", "$proctime", "Processing time of a stream or window.")

    def _cast(self, data_type: t.DataType, lenient: bool = False) -> Any:
        if not isinstance(data_type, t.DataType):
            raise FunctionTypeError(f"cast takes a data type, not {data_type!r}")
        name = "TRY_CAST" if lenient else "cast"
        node = x.CastTo(self._node, data_type, lenient)
        return self._made(node, f"{name}({self}, {data_type.sql_text()})")

    def cast(self, data_type: t.DataType) -> Any:
        """As another type; what does not fit is an error."""
        return self._cast(data_type)

    def try_cast(self, data_type: t.DataType) -> Any:
        """As another type; what does not fit is NULL."""
        return self._cast(data_type, lenient=True)

    @property
    def to_date(self) -> Any:
        """Text as a date."""
        return self._cast(DataTypes.DATE())

    @property
    def to_time(self) -> Any:
        """Text as a time of day."""
        return self._cast(DataTypes.TIME())

    @property
    def to_timestamp(self) -> Any:
        """Text as a timestamp."""
        return self._cast(DataTypes.TIMESTAMP(3))

    def extract(self, time_interval_unit: TimeIntervalUnit) -> Any:
        """A part of a time, such as its day."""
        node, _ = called("extract", "EXTRACT", time_interval_unit.name, self)
        return self._made(node, f"extract({time_interval_unit.name}, {self})")

    def floor(self, time_interval_unit: TimeIntervalUnit | None = None) -> Any:
        """The largest whole number below, or the start of a unit of time."""
        return self._rounded("floor", time_interval_unit)

    def ceil(self, time_interval_unit: TimeIntervalUnit | None = None) -> Any:
        """The smallest whole number above, or the end of a unit of time."""
        return self._rounded("ceil", time_interval_unit)

    def _rounded(self, name: str, unit: TimeIntervalUnit | None) -> Any:
        if unit is None:
            return self._own(name, name.upper())
        node, _ = called(name, f"{name.upper()}_TIME", self, unit.name)
        return self._made(node, f"{name}({self}, {unit.name})")


class ContainerFunctions(TimeFunctions):
    """Arrays, maps, rows and JSON."""

    cardinality = unary("cardinality", "CARDINALITY", "The number of elements.")
    element = unary("element", "ELEMENT", "The only element of an array.")
    map_keys = unary("MAP_KEYS", "MAP_KEYS", "The keys of a map.")
    map_values = unary("MAP_VALUES", "MAP_VALUES", "The values of a map.")
    map_entries = unary("MAP_ENTRIES", "MAP_ENTRIES", "Keys and values of a map as rows.")
    flatten = unary("flatten", "$flatten", "Each field of a row as a column.")

    def at(self, index: Any) -> Any:
        """An element of an array, from 1, or the value of a map's key."""
        return self._own("at", "ITEM", index)

    def get(self, name_or_index: str | int) -> Any:
        """A field of a row."""
        return self._own("get", "GET", name_or_index)

    def __getitem__(self, index: Any) -> Any:
        return self.at(index)

    def array_append(self, addition: Any) -> Any:
        """With one more element at the end."""
        return self._call("ARRAY_APPEND", "ARRAY_APPEND", self, addition)

    def array_prepend(self, addition: Any) -> Any:
        """With one more element at the start."""
        return self._call("ARRAY_PREPEND", "ARRAY_PREPEND", self, addition)

    def array_concat(self, *arrays: Any) -> Any:
        """Followed by other arrays."""
        return self._own("ARRAY_CONCAT", "ARRAY_CONCAT", *arrays)

    def array_contains(self, needle: Any) -> Any:
        """Whether it has an element."""
        return self._call("ARRAY_CONTAINS", "ARRAY_CONTAINS", self, needle)

    def array_distinct(self) -> Any:
        """Each element once."""
        return self._own("ARRAY_DISTINCT", "ARRAY_DISTINCT")

    def array_except(self, array: Any) -> Any:
        """Elements that another array has not."""
        return self._own("ARRAY_EXCEPT", "ARRAY_EXCEPT", array)

    def array_intersect(self, array: Any) -> Any:
        """Elements that another array has as well."""
        return self._own("ARRAY_INTERSECT", "ARRAY_INTERSECT", array)

    def array_union(self, array: Any) -> Any:
        """Elements of both arrays, each once."""
        return self._own("ARRAY_UNION", "ARRAY_UNION", array)

    def array_join(self, delimiter: Any, null_replacement: Any = None) -> Any:
        """All elements in one text."""
        return self._own("ARRAY_JOIN", "ARRAY_JOIN", delimiter, null_replacement)

    def array_max(self) -> Any:
        """The largest element."""
        return self._own("ARRAY_MAX", "ARRAY_MAX")

    def array_min(self) -> Any:
        """The smallest element."""
        return self._own("ARRAY_MIN", "ARRAY_MIN")

    def array_position(self, needle: Any) -> Any:
        """Where an element is, from 1; 0 if nowhere."""
        return self._call("ARRAY_POSITION", "ARRAY_POSITION", self, needle)

    def array_remove(self, needle: Any) -> Any:
        """Without an element."""
        return self._call("ARRAY_REMOVE", "ARRAY_REMOVE", self, needle)

    def array_reverse(self) -> Any:
        """Backwards."""
        return self._own("ARRAY_REVERSE", "ARRAY_REVERSE")

    def array_slice(self, start_offset: Any, end_offset: Any = None) -> Any:
        """Elements from one position to another."""
        return self._own("ARRAY_SLICE", "ARRAY_SLICE", start_offset, end_offset)

    def array_sort(self, ascending_order: Any = None, null_first: Any = None) -> Any:
        """In order."""
        return self._own("ARRAY_SORT", "ARRAY_SORT", ascending_order, null_first)

    def map_union(self, *maps: Any) -> Any:
        """With the entries of other maps."""
        return self._own("MAP_UNION", "MAP_UNION", *maps)

    def object_update(self, *kv: Any) -> Any:
        """An object with fields replaced."""
        return self._own("OBJECT_UPDATE", "OBJECT_UPDATE", *kv)
