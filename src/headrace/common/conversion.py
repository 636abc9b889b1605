"""What happens to values that pass through a declared type.

`column_converter(type_info)` makes a function that converts a whole column of values. It accepts
what PyFlink accepts, either in `from_collection` or as the output of a function, and gives what
PyFlink gives: FLOAT is rounded to 32 bits, DOUBLE takes any number, times are cut to milliseconds,
rows get their field names. None passes everywhere but in primitive arrays. Any other misfit is a
`TypeMismatchError` that names the declared type and the value.

A column whose values already have their declared type is returned as it is, the same list object,
after a check that costs some tens of nanoseconds for each value.
"""

from __future__ import annotations

import datetime
import operator
from array import array
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from decimal import Decimal
from enum import Enum
from itertools import chain, islice
from numbers import Real
from operator import itemgetter
from typing import Any, TypeAlias

from headrace.common.errors import TypeMismatchError, shorten_repr
from headrace.common.instants import instant_of
from headrace.common.java.text import double_text, shortest_float32
from headrace.common.time import Instant
from headrace.common.typeinfo import (
    BasicArrayTypeInfo,
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    ExternalTypeInfo,
    ListTypeInfo,
    LocalTimeTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)
from headrace.common.types import Row, field_names_of, row_of, values_of

__all__ = ["Converter", "Use", "column_converter", "first_mismatch"]

Converter: TypeAlias = Callable[[list[Any]], list[Any]]

_NONE = type(None)


class Use(Enum):
    """Where values come from or go to, as far as PyFlink makes a difference."""

    RESULT = "what a function returns"
    COLLECTION = (
        "from_collection, where integers wrap to the width of their type, texts are made of "
        "anything, and maps of objects"
    )
    COLLECTED = "execute_and_collect, where a FLOAT has the fewest digits, 0.1"


def column_converter(type_info: TypeInformation | None, use: Use = Use.RESULT) -> Converter | None:
    """Makes the function that converts columns of values of a declared type.

    Args:
        type_info: The declared type.
        use: What the values are for. Elsewhere than in `execute_and_collect`, a FLOAT has its exact
            value (0.10000000149011612).

    Returns:
        The function, or None if any Python object will do. It returns its argument if nothing had
        to change, else a new list; it never changes the list or the values in it.
    """
    if isinstance(type_info, ExternalTypeInfo):
        return column_converter(type_info.type_info, use)
    if isinstance(type_info, BasicTypeInfo):
        return _basic_column(type_info, use)
    if isinstance(type_info, DateTypeInfo):
        return _scalar_column(type_info, datetime.date, _to_date)
    if isinstance(type_info, TimeTypeInfo):
        return _time_column(type_info, datetime.time, _to_time, 1000)
    if isinstance(type_info, TimestampTypeInfo):
        return _time_column(type_info, datetime.datetime, _to_datetime, 1000)
    if isinstance(type_info, LocalTimeTypeInfo):
        return _local_time_column(type_info)
    if isinstance(type_info, TupleTypeInfo):
        return _tuple_column(type_info, use)
    if isinstance(type_info, RowTypeInfo):
        return _row_column(type_info, use)
    if isinstance(type_info, MapTypeInfo):
        return _map_column(type_info, use)
    if isinstance(type_info, PrimitiveArrayTypeInfo):
        if type_info.element_type == BasicTypeInfo(BasicType.BYTE):
            return _scalar_column(type_info, bytes, _to_bytes)
        return _list_column(type_info, use, allow_none=False)
    if isinstance(type_info, (ListTypeInfo, BasicArrayTypeInfo, ObjectArrayTypeInfo)):
        return _list_column(type_info, use)
    return None


def first_mismatch(
    convert: Converter, values: Iterable[Any]
) -> tuple[int, TypeMismatchError] | None:
    """The index of the first value that does not fit, and its error; for error messages."""
    for index, value in enumerate(values):
        try:
            convert([value])
        except TypeMismatchError as error:
            return index, error
    return None


# -- Scalars


def _mismatch(type_info: TypeInformation, value: Any, hint: str = "") -> TypeMismatchError:
    return TypeMismatchError(
        f"{shorten_repr(value)} ({type(value).__name__}) does not fit the declared type "
        f"{type_info}{hint}"
    )


def _skip_none(values: list[Any], convert: Converter) -> list[Any]:
    present = [value for value in values if value is not None]
    converted = convert(present)
    if converted is present:
        return values
    remaining = iter(converted)
    return [None if value is None else next(remaining) for value in values]


def _unboxed(value: Any) -> Any:
    """The Python value of a numpy scalar; anything else as it is."""
    return value.item() if hasattr(value, "dtype") and hasattr(value, "item") else value


def _one_by_one(
    type_info: TypeInformation, values: list[Any], one: Callable[[Any], Any]
) -> list[Any]:
    converted = []
    for value in values:
        try:
            converted.append(one(value))
        except (TypeError, ValueError, ArithmeticError, AttributeError) as error:
            raise _mismatch(type_info, value) from error
    return converted


def _scalar_column(
    type_info: TypeInformation,
    python_type: type,
    one: Callable[[Any], Any],
    fits: Callable[[list[Any]], bool] | None = None,
) -> Converter:
    """A column of one Python type; `one` converts a value of another, or one that does not fit."""
    expected = {python_type}

    def convert(values: list[Any]) -> list[Any]:
        types = set(map(type, values))
        if types == expected and (fits is None or fits(values)):
            return values
        if _NONE in types:
            return _skip_none(values, convert)
        return _one_by_one(type_info, values, one) if values else values

    return convert


_INTEGER_CODES = {
    BasicType.BYTE: ("b", 8),
    BasicType.SHORT: ("h", 16),
    BasicType.INT: ("i", 32),
    BasicType.LONG: ("q", 64),
}


def _basic_column(type_info: BasicTypeInfo, use: Use) -> Converter | None:
    basic = type_info.basic_type
    if basic in _INTEGER_CODES:
        return _integer_column(type_info, use, *_INTEGER_CODES[basic])
    if basic is BasicType.FLOAT:
        return _float_column(type_info, use)
    if basic is BasicType.DOUBLE:
        return _double_column(type_info)
    if basic is BasicType.STRING:
        return _scalar_column(type_info, str, _to_text if use is Use.COLLECTION else _to_str)
    if basic is BasicType.CHAR:
        return _scalar_column(type_info, str, _to_char, _all_single)
    if basic is BasicType.BOOLEAN:
        return _scalar_column(type_info, bool, _to_bool)
    if basic is BasicType.BIG_INT:
        return _scalar_column(type_info, int, _to_int)
    if basic is BasicType.BIG_DEC:
        return _scalar_column(type_info, Decimal, _to_decimal, _all_finite)
    return _scalar_column(type_info, Instant, _to_instant)


def _integer_column(type_info: TypeInformation, use: Use, code: str, bits: int) -> Converter:
    half, mask = 1 << bits - 1, (1 << bits) - 1
    # Java wraps a number of 64 bits, and has none that is larger.
    limit = 1 << 63 if use is Use.COLLECTION else half

    def one(value: Any) -> int:
        number = _to_int(value)
        if not -limit <= number < limit:
            raise OverflowError("value too large")
        return ((number + half) & mask) - half

    def convert(values: list[Any]) -> list[Any]:
        types = set(map(type, values))
        if types == _INT_ONLY:
            with suppress(OverflowError):
                array(code, values)  # the quickest range check there is
                return values
        if _NONE in types:
            return _skip_none(values, convert)
        return _one_by_one(type_info, values, one) if values else values

    return convert


_INT_ONLY = {int}
_NUMBERS = {float, int, bool}


def _double_column(type_info: TypeInformation) -> Converter:
    def convert(values: list[Any]) -> list[Any]:
        types = set(map(type, values))
        if types <= {float}:
            return values
        if _NONE in types:
            return _skip_none(values, convert)
        if types <= _NUMBERS:
            with suppress(OverflowError):
                return list(map(float, values))
        return _one_by_one(type_info, values, _to_float)

    return convert


def _float_column(type_info: TypeInformation, use: Use) -> Converter:
    def rounded(value: Any) -> float:
        return array("f", (_to_float(value),))[0]

    def convert(values: list[Any]) -> list[Any]:
        types = set(map(type, values))
        if _NONE in types:
            return _skip_none(values, convert)
        try:
            floats = array("f", values).tolist()
        except (TypeError, OverflowError):  # numbers of another kind, or no numbers
            floats = _one_by_one(type_info, values, rounded)
        return list(map(shortest_float32, floats)) if use is Use.COLLECTED else floats

    return convert


def _to_int(value: Any) -> int:
    value = _unboxed(value)
    if isinstance(value, (float, Decimal)):  # PyFlink cuts fractions off
        return int(value)
    return operator.index(value)


def _to_float(value: Any) -> float:
    value = _unboxed(value)
    if isinstance(value, (Real, Decimal)):
        return float(value)
    raise TypeError


def _to_str(value: Any) -> str:
    if isinstance(value, str):
        return str.__str__(value)
    raise TypeError


def _to_text(value: Any) -> str:
    """The text of a value in a collection, which PyFlink has Java make."""
    value = _unboxed(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return double_text(value)
    return _to_str(value) if isinstance(value, (str, bytes)) else str(value)


def _to_char(value: Any) -> str:
    if isinstance(value, str) and len(value) == 1:
        return str.__str__(value)
    raise TypeError


def _all_single(values: list[str]) -> bool:
    return set(map(len, values)) == {1}


def _to_bool(value: Any) -> bool:
    return bool(operator.index(_unboxed(value)))


def _to_decimal(value: Any) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, (Decimal, int, float, str)):
        raise TypeError
    # By way of its text, so that 0.1 becomes 0.1 and not the binary number next to it.
    number = value if isinstance(value, Decimal) else Decimal(str(value))
    if not number.is_finite():
        raise ValueError
    return number


def _all_finite(values: list[Decimal]) -> bool:
    return all(map(Decimal.is_finite, values))


def _to_instant(value: Any) -> Instant:
    if isinstance(value, Instant):
        return value
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        return instant_of(value)
    raise TypeError


def _to_bytes(value: Any) -> bytes:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, (list, tuple)):
        return bytes(operator.index(item) & 0xFF for item in value)
    raise TypeError


# -- Dates and times


def _to_date(value: Any) -> datetime.date:
    if isinstance(value, datetime.datetime):
        return value.date()
    if isinstance(value, datetime.date):
        return value
    raise TypeError


def _to_time(value: Any) -> datetime.time:
    if isinstance(value, datetime.datetime):
        value = value.time()
    if isinstance(value, datetime.time):
        return datetime.time(value.hour, value.minute, value.second, value.microsecond)
    raise TypeError


def _to_datetime(value: Any) -> datetime.datetime:
    if not isinstance(value, datetime.datetime):
        raise TypeError
    return datetime.datetime(
        value.year,
        value.month,
        value.day,
        value.hour,
        value.minute,
        value.second,
        value.microsecond,
    )


def _time_column(
    type_info: TypeInformation, python_type: type, one: Callable[[Any], Any], micros: int
) -> Converter:
    """Times without a zone; PyFlink drops the zone as it is and cuts to so many microseconds."""

    def fits(values: list[Any]) -> bool:
        return not any(v.microsecond % micros or v.tzinfo is not None for v in values)

    def cut(value: Any) -> Any:
        plain = one(value)
        excess = plain.microsecond % micros
        return plain.replace(microsecond=plain.microsecond - excess) if excess else plain

    return _scalar_column(type_info, python_type, cut, fits)


def _local_time_column(type_info: LocalTimeTypeInfo) -> Converter:
    kind = type_info.time_type
    if kind is LocalTimeTypeInfo.TimeType.LOCAL_DATE:
        return _scalar_column(type_info, datetime.date, _to_date)
    if kind is LocalTimeTypeInfo.TimeType.LOCAL_TIME:
        return _time_column(type_info, datetime.time, _to_time, 1)
    return _time_column(type_info, datetime.datetime, _to_datetime, 1)


# -- Collections


def _list_column(
    type_info: Any,
    use: Use,
    *,
    allow_none: bool = True,
) -> Converter:
    convert_elements = column_converter(type_info.element_type, use)

    def convert(values: list[Any]) -> list[Any]:
        types = set(map(type, values))
        if _NONE in types:
            return _skip_none(values, convert)
        lists = values if types <= {list} else _one_by_one(type_info, values, _to_list)
        if convert_elements is None:
            return lists
        elements = list(chain.from_iterable(lists))
        if not allow_none and None in elements:
            bad = next(value for value in lists if None in value)
            raise _mismatch(type_info, bad, "; a primitive array holds no None")
        converted = _located(convert_elements, elements, "an element", type_info)
        if converted is elements:
            return lists
        remaining = iter(converted)
        return [list(islice(remaining, len(value))) for value in lists]

    return convert


def _to_list(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return list(value)
    if hasattr(value, "tolist"):  # a numpy array
        items = value.tolist()
        if isinstance(items, list):
            return items
    raise TypeError


def _map_column(type_info: MapTypeInfo, use: Use) -> Converter:
    convert_keys = column_converter(type_info.key_type, use)
    convert_items = column_converter(type_info.value_type, use)
    to_dict = _object_to_dict if use is Use.COLLECTION else _to_dict

    def convert(values: list[Any]) -> list[Any]:
        types = set(map(type, values))
        if _NONE in types:
            return _skip_none(values, convert)
        maps = values if types <= {dict} else _one_by_one(type_info, values, to_dict)
        keys = list(chain.from_iterable(maps))
        items = list(chain.from_iterable(m.values() for m in maps))
        new_keys = _located(convert_keys, keys, "a key", type_info)
        new_items = _located(convert_items, items, "a value", type_info)
        if new_keys is keys and new_items is items:
            return maps
        pairs = zip(new_keys, new_items, strict=True)
        return [dict(islice(pairs, len(m))) for m in maps]

    return convert


def _to_dict(value: Any) -> dict[Any, Any]:
    if isinstance(value, dict):
        return dict(value)
    raise TypeError


def _object_to_dict(value: Any) -> dict[Any, Any]:
    """An object of a class of the program, as PyFlink finds it in its pickled form."""
    if isinstance(value, (dict, Row)) or not hasattr(value, "__dict__"):
        return _to_dict(value)
    kind = type(value)
    return {**vars(value), "__class__": f"{kind.__module__}.{kind.__qualname__}"}


def _located(
    convert: Converter | None, values: list[Any], what: str, type_info: TypeInformation
) -> list[Any]:
    if convert is None:
        return values
    try:
        return convert(values)
    except TypeMismatchError as error:
        raise TypeMismatchError(f"{error} of {what} of {type_info}") from error


# -- Tuples and rows


def _convert_fields(
    type_info: TypeInformation,
    names: list[str],
    converters: list[Converter | None],
    records: Sequence[Sequence[Any]],
) -> Iterable[tuple[Any, ...]] | None:
    """Converts records field by field; None if nothing changed, else the new records."""
    changed: dict[int, list[Any]] = {}
    for i, convert in enumerate(converters):
        if convert is not None:
            column = list(map(itemgetter(i), records))
            converted = _located(convert, column, f"field {names[i]}", type_info)
            if converted is not column:
                changed[i] = converted
    if not changed:
        return None
    columns = (
        changed[i] if i in changed else map(itemgetter(i), records) for i in range(len(converters))
    )
    return zip(*columns, strict=True)


def _tuple_column(type_info: TupleTypeInfo, use: Use) -> Converter:
    types_of_fields = type_info.get_field_types()
    converters = [column_converter(t, use) for t in types_of_fields]
    arity = len(types_of_fields)
    names = [str(i) for i in range(arity)]

    def to_tuple(value: Any) -> tuple[Any, ...]:
        if isinstance(value, (tuple, list, Row)):
            return tuple(value)
        raise TypeError

    def convert(values: list[Any]) -> list[Any]:
        types = set(map(type, values))
        if _NONE in types:
            return _skip_none(values, convert)
        tuples = values if types <= {tuple} else _one_by_one(type_info, values, to_tuple)
        if not tuples or arity == 0:
            return tuples
        if set(map(len, tuples)) != {arity}:
            bad = next(value for value in tuples if len(value) != arity)
            raise _mismatch(type_info, bad, f", which has {arity} fields, not {len(bad)}")
        converted = _convert_fields(type_info, names, converters, tuples)
        return tuples if converted is None else list(converted)

    return convert


def _row_column(type_info: RowTypeInfo, use: Use) -> Converter:
    types_of_fields = type_info.get_field_types()
    converters = [column_converter(t, use) for t in types_of_fields]
    names = type_info.get_field_names()
    arity = len(names)
    nameless = names == [f"f{i}" for i in range(arity)]

    def to_row(value: Any) -> Row:
        """A row with the declared names, in the declared order."""
        if isinstance(value, Row):
            by_position = nameless and not set(names) <= set(field_names_of(value) or names)
            fields = values_of(value) if by_position else value.get_fields_by_names(names)
            return row_of(list(fields), names, value.get_row_kind())
        if isinstance(value, (tuple, list)):
            return row_of(list(value), names)
        if isinstance(value, dict):
            return row_of(list(map(value.get, names)), names)
        if hasattr(value, "__dict__") and not isinstance(value, type):
            return row_of(list(map(vars(value).get, names)), names)
        raise TypeError

    def to_rows(values: list[Any], types: set[type]) -> list[Row]:
        if types != {Row}:
            return _one_by_one(type_info, values, to_row)
        # Rows of one batch share few lists of names, so compare the lists and not the rows.
        distinct = {id(fields): fields for fields in map(field_names_of, values)}.values()
        if all(fields == names for fields in distinct):
            return values
        if all(fields is None for fields in distinct):
            return [row_of(values_of(row), names, row.get_row_kind()) for row in values]
        return _one_by_one(type_info, values, to_row)

    def convert(values: list[Any]) -> list[Any]:
        types = set(map(type, values))
        if _NONE in types:
            return _skip_none(values, convert)
        if not values:
            return values
        rows = to_rows(values, types)
        fields = list(map(values_of, rows))
        if set(map(len, fields)) != {arity}:
            bad = next(value for value in rows if len(value) != arity)
            raise _mismatch(type_info, bad, f", which has {arity} fields, not {len(bad)}")
        converted = _convert_fields(type_info, names, converters, fields)
        if converted is None:
            return rows
        return [
            row_of(list(new), names, row.get_row_kind())
            for row, new in zip(rows, converted, strict=True)
        ]

    return convert
