"""The text that Flink's `print()` shows for a value of a declared type.

`formatter(type_info)` makes a function from value to text: booleans, numbers and times as Java
prints them, tuples as `(a,1)`, lists as `[1, 2]`, maps as `{k=v}`. As in PyFlink, a row that is the
whole record shows its fields with Python's `str()` and no spaces, `+I[a,1]`, a row inside another
value shows them as Java does, `+I[a, 1]`, and a record without a declared type is its `str()`.
"""

from __future__ import annotations

import datetime
import math
import struct
from collections.abc import Callable
from typing import Any, TypeAlias

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
    PickledBytesTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)
from headrace.common.types import Row

__all__ = ["double_text", "float_text", "formatter", "shortest_float32"]

Formatter: TypeAlias = Callable[[Any], str]

_FLOAT32 = struct.Struct("f")
_SMALLEST_NORMAL_FLOAT32 = 1.1754943508222875e-38
_EPOCH = datetime.datetime(1970, 1, 1)


def formatter(type_info: TypeInformation | None) -> Formatter:
    """Makes the function that turns records of the declared type into the text that is printed."""
    if isinstance(type_info, ExternalTypeInfo):
        type_info = type_info.type_info
    if isinstance(type_info, RowTypeInfo):
        return _whole_row_text
    if type_info is None or isinstance(type_info, PickledBytesTypeInfo):
        return str
    return _java_text(type_info)


def _whole_row_text(row: Any) -> str:
    if not isinstance(row, Row):
        return str(row)
    return f"{row.get_row_kind()}[{','.join(map(str, row))}]"


def double_text(value: float) -> str:
    """A 64-bit number as `Double.toString` writes it: 1.0, 1.0E10, NaN, Infinity."""
    value = float(value)
    # Here Python writes the same; this is most numbers, and several times as quick.
    if 1e-3 <= value < 1e7 or -1e7 < value <= -1e-3:
        return repr(value)
    return _number_text(value, repr)


def float_text(value: float) -> str:
    """A 32-bit number as `Float.toString` writes it, with as many digits as 32 bits need."""
    return _number_text(_as_float32(value), _float32_repr)


def shortest_float32(value: float) -> float:
    """The number with the fewest digits that has the same 32-bit form: 0.1 for 0.10000000149."""
    value = _as_float32(value)
    return float(_float32_repr(value)) if math.isfinite(value) else value


def _as_float32(value: float) -> float:
    try:
        rounded: float = _FLOAT32.unpack(_FLOAT32.pack(value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return rounded


def _float32_repr(value: float) -> str:
    # Six digits always survive in a normal number; if fewer are enough, `g` drops the zeros.
    first = 6 if abs(value) >= _SMALLEST_NORMAL_FLOAT32 else 1
    for precision in range(first, 9):
        text = f"{value:.{precision}g}"
        if _as_float32(float(text)) == value:
            return text
    return f"{value:.9g}"


def _number_text(value: float, to_digits: Callable[[float], str]) -> str:
    if value != value:
        return "NaN"
    if value in (math.inf, -math.inf):
        return "Infinity" if value > 0 else "-Infinity"
    size = abs(value)
    text = to_digits(value)
    if size == 0 or 1e-3 <= size < 1e7:
        if "e" in text:  # 1e+06, as `g` writes it
            text = f"{value:.1f}"
        return text if "." in text else text + ".0"
    sign, text = ("-", text[1:]) if text[0] == "-" else ("", text)
    mantissa, _, exponent = text.partition("e")
    whole, _, fraction = mantissa.partition(".")
    power = int(exponent or 0) + len(whole) - 1
    digits = (whole + fraction).rstrip("0")
    if whole == "0":  # 0.0005: the first digit is somewhere in the fraction
        digits = fraction.lstrip("0")
        power = -(len(fraction) - len(digits)) - 1
        digits = digits.rstrip("0")
    if len(digits) == 1:
        # Java looks for the nearest number of two digits; they differ for the very smallest ones.
        digits = f"{size:.1e}"[0:3:2]
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{power}"


def _timestamp_text(value: datetime.datetime) -> str:
    fraction = f"{value.microsecond:06d}".rstrip("0") or "0"
    return f"{value:%H:%M:%S}".join((f"{value.date().isoformat()} ", f".{fraction}"))


def _time_text(value: datetime.time) -> str:
    return f"{value:%H:%M:%S}"


def _local_time_text(value: datetime.time) -> str:
    text = f"{value:%H:%M}"
    if value.second or value.microsecond:
        text += f":{value.second:02d}"
    return text + _fraction_in_threes(value.microsecond * 1000)


def _local_date_time_text(value: datetime.datetime) -> str:
    return f"{value.date().isoformat()}T{_local_time_text(value.time())}"


def _instant_text(value: Instant) -> str:
    try:
        moment = _EPOCH + datetime.timedelta(seconds=value.seconds)
    except OverflowError:
        return repr(value)
    return f"{moment.isoformat()}{_fraction_in_threes(value.nanos)}Z"


def _fraction_in_threes(nanos: int) -> str:
    """A fraction of a second with 0, 3, 6 or 9 digits."""
    if not nanos:
        return ""
    text = f"{nanos:09d}"
    while text.endswith("000"):
        text = text[:-3]
    return f".{text}"


def _boolean_text(value: Any) -> str:
    return "true" if value else "false"


def _date_text(value: datetime.date) -> str:
    return value.isoformat()[:10]


_BASIC: dict[BasicType, Formatter] = {
    BasicType.BOOLEAN: _boolean_text,
    BasicType.FLOAT: float_text,
    BasicType.DOUBLE: double_text,
    BasicType.INSTANT: _instant_text,
}
_LOCAL_TIMES: dict[LocalTimeTypeInfo.TimeType, Formatter] = {
    LocalTimeTypeInfo.TimeType.LOCAL_DATE: _date_text,
    LocalTimeTypeInfo.TimeType.LOCAL_TIME: _local_time_text,
    LocalTimeTypeInfo.TimeType.LOCAL_DATE_TIME: _local_date_time_text,
}


def _java_text(type_info: TypeInformation) -> Formatter:
    text = _text_of_present(type_info)

    def text_or_null(value: Any) -> str:
        return "null" if value is None else text(value)

    return text_or_null


def _text_of_present(type_info: TypeInformation) -> Formatter:
    if isinstance(type_info, BasicTypeInfo):
        return _BASIC.get(type_info.basic_type, str)
    if isinstance(type_info, DateTypeInfo):
        return _date_text
    if isinstance(type_info, TimeTypeInfo):
        return _time_text
    if isinstance(type_info, TimestampTypeInfo):
        return _timestamp_text
    if isinstance(type_info, LocalTimeTypeInfo):
        return _LOCAL_TIMES[type_info.time_type]
    if isinstance(type_info, TupleTypeInfo):
        return _tuple_text(type_info)
    if isinstance(type_info, RowTypeInfo):
        return _row_text(type_info)
    if isinstance(type_info, MapTypeInfo):
        return _map_text(type_info)
    if isinstance(type_info, ExternalTypeInfo):
        return _text_of_present(type_info.type_info)
    if isinstance(
        type_info,
        (ListTypeInfo, BasicArrayTypeInfo, PrimitiveArrayTypeInfo, ObjectArrayTypeInfo),
    ):
        return _list_text(type_info.element_type)
    return str


def _tuple_text(type_info: TupleTypeInfo) -> Formatter:
    fields = [_java_text(field) for field in type_info.get_field_types()]

    def text(value: Any) -> str:
        parts = [field(item) for field, item in zip(fields, value, strict=False)]
        return f"({','.join(parts)})"

    return text


def _row_text(type_info: RowTypeInfo) -> Formatter:
    fields = [_java_text(field) for field in type_info.get_field_types()]

    def text(value: Any) -> str:
        kind = value.get_row_kind() if isinstance(value, Row) else "+I"
        parts = [field(item) for field, item in zip(fields, value, strict=False)]
        return f"{kind}[{', '.join(parts)}]"

    return text


def _list_text(element_type: TypeInformation) -> Formatter:
    element = _java_text(element_type)

    def text(value: Any) -> str:
        if isinstance(value, (bytes, bytearray)):  # Java's bytes are signed
            value = [b - 256 if b > 127 else b for b in value]
        return f"[{', '.join(map(element, value))}]"

    return text


def _map_text(type_info: MapTypeInfo) -> Formatter:
    key_text, value_text = _java_text(type_info.key_type), _java_text(type_info.value_type)

    def text(value: Any) -> str:
        return "{" + ", ".join(f"{key_text(k)}={value_text(v)}" for k, v in value.items()) + "}"

    return text
