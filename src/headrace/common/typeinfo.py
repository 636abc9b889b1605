"""Declared types of records: `Types` makes them, the classes describe them.

A `TypeInformation` is a small immutable description that can be compared, hashed, printed and
pickled. It checks its arguments when it is built, so a mistake shows at the line that made it. What
a declared type does to a value is in `headrace.common.conversion`; how a value is printed, in
`headrace.formats.text`.
"""

from __future__ import annotations

import calendar
import datetime
import time
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Any

from headrace.common.errors import FunctionTypeError, GraphError, TypeMismatchError
from headrace.common.time import Instant
from headrace.common.types import Row, RowKind

__all__ = [
    "BasicArrayTypeInfo",
    "BasicType",
    "BasicTypeInfo",
    "DateTypeInfo",
    "ExternalTypeInfo",
    "InstantTypeInfo",
    "ListTypeInfo",
    "LocalTimeTypeInfo",
    "MapTypeInfo",
    "ObjectArrayTypeInfo",
    "PickledBytesTypeInfo",
    "PrimitiveArrayTypeInfo",
    "RowTypeInfo",
    "SqlTimeTypeInfo",
    "TimeTypeInfo",
    "TimestampTypeInfo",
    "TupleTypeInfo",
    "TypeInformation",
    "Types",
]

_EPOCH_ORDINAL = datetime.date(1970, 1, 1).toordinal()
_MICROS = 1_000_000


def _require_type(value: Any, where: str) -> TypeInformation:
    if isinstance(value, TypeInformation):
        return value
    name = getattr(value, "__name__", "")
    if callable(value) and name and getattr(Types, name, None) is value:
        raise FunctionTypeError(f"{where} got Types.{name}; call it: Types.{name}(...)")
    raise FunctionTypeError(
        f"{where} takes types such as Types.INT(), not {value!r} ({type(value).__name__})"
    )


def _require_types(values: Any, where: str) -> list[TypeInformation]:
    if isinstance(values, TypeInformation) or not isinstance(values, Iterable):
        raise FunctionTypeError(f"{where} takes a list of types, not {values!r}")
    return [_require_type(value, f"{where}, field {i},") for i, value in enumerate(values)]


class TypeInformation:
    """Base of all declared types. Equal types have equal hashes and the same printed form."""

    def need_conversion(self) -> bool:
        """Whether Python objects of this type have another, internal form."""
        return False

    def to_internal_type(self, obj: Any) -> Any:
        """Turns a Python object into its internal form."""
        return obj

    def from_internal_type(self, obj: Any) -> Any:
        """Turns the internal form into a Python object."""
        return obj

    def _identity(self) -> tuple[Any, ...]:
        """What, beside the class, makes two of these types equal."""
        return ()

    def __eq__(self, other: object) -> bool:
        """Same class and same parts."""
        if not isinstance(other, TypeInformation):
            return NotImplemented
        return type(self) is type(other) and self._identity() == other._identity()

    def __hash__(self) -> int:
        """Consistent with equality."""
        return hash((type(self), self._identity()))

    def __repr__(self) -> str:
        """The name of the type."""
        return type(self).__name__


class BasicType(Enum):
    """The basic types, with the names that Flink shows for them."""

    STRING = "String"
    BYTE = "Byte"
    BOOLEAN = "Boolean"
    SHORT = "Short"
    INT = "Integer"
    LONG = "Long"
    FLOAT = "Float"
    DOUBLE = "Double"
    CHAR = "Char"
    BIG_INT = "BigInteger"
    BIG_DEC = "BigDecimal"
    INSTANT = "Instant"


class BasicTypeInfo(TypeInformation):
    """A basic type: numbers, text, boolean, instant."""

    def __init__(self, basic_type: BasicType) -> None:
        """Describes the given basic type."""
        if not isinstance(basic_type, BasicType):
            raise FunctionTypeError(f"BasicTypeInfo takes a BasicType, not {basic_type!r}")
        self._basic_type = basic_type

    @property
    def basic_type(self) -> BasicType:
        """Which basic type it is."""
        return self._basic_type

    def _identity(self) -> tuple[Any, ...]:
        return (self._basic_type,)

    def __eq__(self, other: object) -> bool:
        """Equal to every description of the same basic type."""
        if not isinstance(other, BasicTypeInfo):
            return NotImplemented
        return self._basic_type is other._basic_type

    def __hash__(self) -> int:
        """Consistent with equality."""
        return hash(self._basic_type)

    def __repr__(self) -> str:
        """Flink's name of the type, such as `Integer`."""
        return str(self._basic_type.value)

    @staticmethod
    def STRING_TYPE_INFO() -> BasicTypeInfo:
        """Text."""
        return BasicTypeInfo(BasicType.STRING)

    @staticmethod
    def BOOLEAN_TYPE_INFO() -> BasicTypeInfo:
        """True or false."""
        return BasicTypeInfo(BasicType.BOOLEAN)

    @staticmethod
    def BYTE_TYPE_INFO() -> BasicTypeInfo:
        """8-bit integer."""
        return BasicTypeInfo(BasicType.BYTE)

    @staticmethod
    def SHORT_TYPE_INFO() -> BasicTypeInfo:
        """16-bit integer."""
        return BasicTypeInfo(BasicType.SHORT)

    @staticmethod
    def INT_TYPE_INFO() -> BasicTypeInfo:
        """32-bit integer."""
        return BasicTypeInfo(BasicType.INT)

    @staticmethod
    def LONG_TYPE_INFO() -> BasicTypeInfo:
        """64-bit integer."""
        return BasicTypeInfo(BasicType.LONG)

    @staticmethod
    def FLOAT_TYPE_INFO() -> BasicTypeInfo:
        """32-bit floating point number."""
        return BasicTypeInfo(BasicType.FLOAT)

    @staticmethod
    def DOUBLE_TYPE_INFO() -> BasicTypeInfo:
        """64-bit floating point number."""
        return BasicTypeInfo(BasicType.DOUBLE)

    @staticmethod
    def CHAR_TYPE_INFO() -> BasicTypeInfo:
        """One character."""
        return BasicTypeInfo(BasicType.CHAR)

    @staticmethod
    def BIG_INT_TYPE_INFO() -> BasicTypeInfo:
        """Integer of any size."""
        return BasicTypeInfo(BasicType.BIG_INT)

    @staticmethod
    def BIG_DEC_TYPE_INFO() -> BasicTypeInfo:
        """Decimal number of any precision."""
        return BasicTypeInfo(BasicType.BIG_DEC)

    @staticmethod
    def INSTANT_TYPE_INFO() -> InstantTypeInfo:
        """A point of time."""
        return InstantTypeInfo(BasicType.INSTANT)


class InstantTypeInfo(BasicTypeInfo):
    """A `headrace.common.Instant`. Internally: microseconds since the epoch."""

    def __init__(self, basic_type: BasicType = BasicType.INSTANT) -> None:
        """Describes an instant."""
        super().__init__(basic_type)

    def need_conversion(self) -> bool:
        """True."""
        return True

    def to_internal_type(self, obj: Any) -> int | None:
        """Microseconds since the epoch."""
        return None if obj is None else obj.to_epoch_milli() * 1_000

    def from_internal_type(self, obj: Any) -> Instant | None:
        """The instant."""
        return None if obj is None else Instant.of_epoch_milli(obj // 1_000)


class SqlTimeTypeInfo(TypeInformation):
    """Date, time of day and timestamp as SQL has them."""

    @staticmethod
    def DATE() -> DateTypeInfo:
        """A `datetime.date`."""
        return DateTypeInfo()

    @staticmethod
    def TIME() -> TimeTypeInfo:
        """A `datetime.time`."""
        return TimeTypeInfo()

    @staticmethod
    def TIMESTAMP() -> TimestampTypeInfo:
        """A `datetime.datetime`."""
        return TimestampTypeInfo()


class DateTypeInfo(TypeInformation):
    """A `datetime.date`. Internally: days since the epoch."""

    def need_conversion(self) -> bool:
        """True."""
        return True

    def to_internal_type(self, d: Any) -> int | None:
        """Days since the epoch."""
        return None if d is None else d.toordinal() - _EPOCH_ORDINAL

    def from_internal_type(self, v: Any) -> datetime.date | None:
        """The date so many days after the epoch."""
        return None if v is None else datetime.date.fromordinal(v + _EPOCH_ORDINAL)


class TimeTypeInfo(TypeInformation):
    """A `datetime.time`. Internally: microseconds of the day in UTC; naive times are local."""

    def need_conversion(self) -> bool:
        """True."""
        return True

    def to_internal_type(self, t: Any) -> int | None:
        """Microseconds of the day."""
        if t is None:
            return None
        offset = _local_offset_micros()
        if t.tzinfo is not None:
            offset = (t.utcoffset() or datetime.timedelta()) // datetime.timedelta(microseconds=1)
        seconds = (t.hour * 60 + t.minute) * 60 + t.second
        return int(seconds * _MICROS + t.microsecond - offset)

    def from_internal_type(self, t: Any) -> datetime.time | None:
        """The local time of day."""
        if t is None:
            return None
        seconds, micros = divmod(t + _local_offset_micros(), _MICROS)
        minutes, seconds = divmod(seconds, 60)
        hours, minutes = divmod(minutes, 60)
        return datetime.time(hours, minutes, seconds, micros)


def _local_offset_micros() -> int:
    return calendar.timegm(time.localtime(0)) * _MICROS


class TimestampTypeInfo(TypeInformation):
    """A `datetime.datetime`. Internally: microseconds since the epoch; naive ones are local."""

    def need_conversion(self) -> bool:
        """True."""
        return True

    def to_internal_type(self, dt: Any) -> int | None:
        """Microseconds since the epoch."""
        if dt is None:
            return None
        if dt.tzinfo is not None:
            seconds = calendar.timegm(dt.utctimetuple())
        else:
            seconds = int(time.mktime(dt.timetuple()))
        return seconds * _MICROS + int(dt.microsecond)

    def from_internal_type(self, ts: Any) -> datetime.datetime | None:
        """The local date and time, without a time zone."""
        if ts is None:
            return None
        seconds, micros = divmod(ts, _MICROS)
        return datetime.datetime.fromtimestamp(seconds).replace(microsecond=micros)


class LocalTimeTypeInfo(TypeInformation):
    """Date, time of day or timestamp without a time zone, as `java.time` has them."""

    class TimeType(Enum):
        """Which of the three it is."""

        LOCAL_DATE = 0
        LOCAL_TIME = 1
        LOCAL_DATE_TIME = 2

    def __init__(self, time_type: TimeType) -> None:
        """Describes the given kind of local time."""
        if not isinstance(time_type, LocalTimeTypeInfo.TimeType):
            raise FunctionTypeError(
                f"LocalTimeTypeInfo takes a LocalTimeTypeInfo.TimeType, not {time_type!r}"
            )
        self._time_type = time_type

    @property
    def time_type(self) -> TimeType:
        """Which of the three it is."""
        return self._time_type

    def _identity(self) -> tuple[Any, ...]:
        return (self._time_type,)

    def __repr__(self) -> str:
        """The name with the kind of time."""
        return f"LocalTimeTypeInfo<{self._time_type.name}>"


class PickledBytesTypeInfo(TypeInformation):
    """Any Python object: what every stream has that declares no type."""

    def __repr__(self) -> str:
        """Flink's name for it."""
        return "PickledByteArrayTypeInfo"


class _CollectionTypeInfo(TypeInformation):
    """Common ground of arrays and lists: one type for all elements."""

    def __init__(self, element_type: TypeInformation) -> None:
        """Describes a collection of elements of the given type."""
        self._element_type = _require_type(element_type, type(self).__name__)

    @property
    def element_type(self) -> TypeInformation:
        """The type of every element."""
        return self._element_type

    def _identity(self) -> tuple[Any, ...]:
        return (self._element_type,)

    def __repr__(self) -> str:
        """The name with the element type."""
        return f"{type(self).__name__}<{self._element_type}>"


_PRIMITIVES = frozenset(
    {
        BasicType.BOOLEAN,
        BasicType.BYTE,
        BasicType.SHORT,
        BasicType.INT,
        BasicType.LONG,
        BasicType.FLOAT,
        BasicType.DOUBLE,
        BasicType.CHAR,
    }
)


def _require_element(element: TypeInformation, allowed: frozenset[BasicType], where: str) -> None:
    if not (isinstance(element, BasicTypeInfo) and element.basic_type in allowed):
        names = ", ".join(t.name for t in BasicType if t in allowed)
        raise FunctionTypeError(
            f"{where} takes elements of type {names}, not {element}; use Types.OBJECT_ARRAY or "
            "Types.LIST for others"
        )


class PrimitiveArrayTypeInfo(_CollectionTypeInfo):
    """An array of primitive values, none of them None. In Python: a list, and bytes for BYTE."""

    def __init__(self, element_type: TypeInformation) -> None:
        """Describes an array of primitive elements."""
        super().__init__(element_type)
        _require_element(element_type, _PRIMITIVES, "a primitive array")


class BasicArrayTypeInfo(_CollectionTypeInfo):
    """An array of numbers, booleans or texts, each of which may be None. In Python: a list."""

    def __init__(self, element_type: TypeInformation) -> None:
        """Describes an array of basic elements."""
        super().__init__(element_type)
        _require_element(element_type, _PRIMITIVES | {BasicType.STRING}, "a basic array")


class ObjectArrayTypeInfo(_CollectionTypeInfo):
    """An array of any one type, each element of which may be None. In Python: a list."""


class ListTypeInfo(_CollectionTypeInfo):
    """A list of elements of one type."""

    @property
    def elem_type(self) -> TypeInformation:
        """The type of every element, under the name that PyFlink uses."""
        return self._element_type


class MapTypeInfo(TypeInformation):
    """A dict with keys of one type and values of one type; values may be None."""

    def __init__(self, key_type_info: TypeInformation, value_type_info: TypeInformation) -> None:
        """Describes a map from one type to another."""
        self._key_type_info = _require_type(key_type_info, "the key type of MapTypeInfo")
        self._value_type_info = _require_type(value_type_info, "the value type of MapTypeInfo")

    @property
    def key_type(self) -> TypeInformation:
        """The type of every key."""
        return self._key_type_info

    @property
    def value_type(self) -> TypeInformation:
        """The type of every value."""
        return self._value_type_info

    def _identity(self) -> tuple[Any, ...]:
        return (self._key_type_info, self._value_type_info)

    def __repr__(self) -> str:
        """The name with both types."""
        return f"MapTypeInfo<{self._key_type_info}, {self._value_type_info}>"


class TupleTypeInfo(TypeInformation):
    """A tuple with a type for each position."""

    def __init__(self, field_types: list[TypeInformation]) -> None:
        """Describes a tuple."""
        self._field_types = _require_types(field_types, "TupleTypeInfo")

    def get_field_types(self) -> list[TypeInformation]:
        """The types, by position."""
        return self._field_types

    def need_conversion(self) -> bool:
        """True."""
        return True

    def to_internal_type(self, obj: Any) -> tuple[Any, ...] | None:
        """A tuple of internal forms."""
        if obj is None:
            return None
        if not isinstance(obj, (list, tuple, Row)):
            raise TypeMismatchError(
                f"Unexpected tuple {obj!r} with TupleTypeInfo: it is not a tuple, list or Row, "
                f"which {self} needs"
            )
        return _to_internal(self._field_types, obj)

    def from_internal_type(self, obj: Any) -> Any:
        """A tuple of Python objects; what already is a tuple or list stays as it is."""
        if obj is None or isinstance(obj, (tuple, list)):
            return obj
        return _from_internal(self._field_types, obj)

    def _identity(self) -> tuple[Any, ...]:
        return tuple(self._field_types)

    def __repr__(self) -> str:
        """The name with the types of the fields."""
        return f"TupleTypeInfo({', '.join(map(str, self._field_types))})"


class RowTypeInfo(TypeInformation):
    """A `Row` with a type, and possibly a name, for each field.

    As in Flink, two row types are equal when their field types are; names do not count.
    """

    def __init__(
        self, field_types: list[TypeInformation], field_names: list[str] | None = None
    ) -> None:
        """Describes a row. Without names the fields are called f0, f1 and so on."""
        self._field_types = _require_types(field_types, "RowTypeInfo")
        self._field_names = (
            None if field_names is None else _checked_names(field_names, len(self._field_types))
        )

    def get_field_names(self) -> list[str]:
        """The names, by position; f0, f1 and so on if none were given."""
        if self._field_names is not None:
            return self._field_names
        return [f"f{i}" for i in range(len(self._field_types))]

    def get_field_index(self, field_name: str) -> int:
        """The position of a named field; -1 if the fields have no names."""
        if not self._field_names:
            return -1
        return self._field_names.index(field_name)

    def get_field_types(self) -> list[TypeInformation]:
        """The types, by position."""
        return self._field_types

    def need_conversion(self) -> bool:
        """True."""
        return True

    def to_internal_type(self, obj: Any) -> tuple[Any, ...] | None:
        """A tuple of the row kind's number and the internal forms of the fields."""
        if obj is None:
            return None
        kind = RowKind.INSERT
        values: Sequence[Any]
        if isinstance(obj, Row):
            kind = obj.get_row_kind()
            values = obj.get_fields_by_names(self.get_field_names())
        elif isinstance(obj, (tuple, list)):
            values = obj
        elif isinstance(obj, dict) or hasattr(obj, "__dict__"):
            fields = obj if isinstance(obj, dict) else vars(obj)
            values = [fields.get(name) for name in self.get_field_names()]
        else:
            raise TypeMismatchError(
                f"Unexpected tuple {obj!r} with RowTypeInfo: it is not a Row, tuple, list, dict or "
                f"object with fields, which {self} needs"
            )
        return (kind.value, *_to_internal(self._field_types, values))

    def from_internal_type(self, obj: Any) -> Any:
        """A tuple of Python objects; what already is a tuple or list stays as it is."""
        if obj is None or isinstance(obj, (tuple, list)):
            return obj
        return _from_internal(self._field_types, obj)

    def _identity(self) -> tuple[Any, ...]:
        return tuple(self._field_types)

    def __repr__(self) -> str:
        """The name with the names and types of the fields."""
        if self._field_names is None:
            return f"RowTypeInfo({', '.join(map(str, self._field_types))})"
        pairs = zip(self._field_names, self._field_types, strict=True)
        return f"RowTypeInfo({', '.join(f'{name}: {type_}' for name, type_ in pairs)})"


def _checked_names(field_names: Any, count: int) -> list[str]:
    if isinstance(field_names, str) or not isinstance(field_names, Iterable):
        raise FunctionTypeError(
            f"the field names of a row type are a list of str, not {field_names!r}"
        )
    names = list(field_names)
    for name in names:
        if not isinstance(name, str):
            raise FunctionTypeError(f"a field name is a str, not {name!r} ({type(name).__name__})")
    if len(names) != count:
        raise GraphError(f"a row type has {count} field types but {len(names)} names: {names}")
    if len(set(names)) != count:
        raise GraphError(f"the field names of a row type must be distinct: {names}")
    return names


def _to_internal(types: list[TypeInformation], values: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(
        t.to_internal_type(v) if t.need_conversion() else v
        for t, v in zip(types, values, strict=False)
    )


def _from_internal(types: list[TypeInformation], values: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(
        t.from_internal_type(v) if t.need_conversion() else v
        for t, v in zip(types, values, strict=False)
    )


class ExternalTypeInfo(TypeInformation):
    """A type that came from the Table API."""

    def __init__(self, type_info: TypeInformation) -> None:
        """Describes the given type as coming from a table."""
        self._type_info = _require_type(type_info, "ExternalTypeInfo")

    @property
    def type_info(self) -> TypeInformation:
        """The type itself."""
        return self._type_info

    def _identity(self) -> tuple[Any, ...]:
        return (self._type_info,)

    def __repr__(self) -> str:
        """The name with the type."""
        return f"ExternalTypeInfo<{self._type_info}>"


class Types:
    """Makes the declared types.

    Example:
        >>> Types.ROW_NAMED(["name", "age"], [Types.STRING(), Types.INT()])
        RowTypeInfo(name: String, age: Integer)
    """

    @staticmethod
    def STRING() -> TypeInformation:
        """Text (`str`)."""
        return BasicTypeInfo(BasicType.STRING)

    @staticmethod
    def BYTE() -> TypeInformation:
        """An `int` of 8 bits; larger values wrap."""
        return BasicTypeInfo(BasicType.BYTE)

    @staticmethod
    def BOOLEAN() -> TypeInformation:
        """A `bool`."""
        return BasicTypeInfo(BasicType.BOOLEAN)

    @staticmethod
    def SHORT() -> TypeInformation:
        """An `int` of 16 bits; larger values wrap."""
        return BasicTypeInfo(BasicType.SHORT)

    @staticmethod
    def INT() -> TypeInformation:
        """An `int` of 32 bits; larger values wrap."""
        return BasicTypeInfo(BasicType.INT)

    @staticmethod
    def LONG() -> TypeInformation:
        """An `int` of 64 bits; larger values wrap."""
        return BasicTypeInfo(BasicType.LONG)

    @staticmethod
    def FLOAT() -> TypeInformation:
        """A `float` rounded to 32 bits."""
        return BasicTypeInfo(BasicType.FLOAT)

    @staticmethod
    def DOUBLE() -> TypeInformation:
        """A `float`."""
        return BasicTypeInfo(BasicType.DOUBLE)

    @staticmethod
    def CHAR() -> TypeInformation:
        """A `str` of one character."""
        return BasicTypeInfo(BasicType.CHAR)

    @staticmethod
    def BIG_INT() -> TypeInformation:
        """An `int` of any size."""
        return BasicTypeInfo(BasicType.BIG_INT)

    @staticmethod
    def BIG_DEC() -> TypeInformation:
        """A `decimal.Decimal`."""
        return BasicTypeInfo(BasicType.BIG_DEC)

    @staticmethod
    def INSTANT() -> TypeInformation:
        """A `headrace.common.Instant`."""
        return InstantTypeInfo(BasicType.INSTANT)

    @staticmethod
    def SQL_DATE() -> TypeInformation:
        """A `datetime.date`."""
        return DateTypeInfo()

    @staticmethod
    def SQL_TIME() -> TypeInformation:
        """A `datetime.time` in whole milliseconds."""
        return TimeTypeInfo()

    @staticmethod
    def SQL_TIMESTAMP() -> TypeInformation:
        """A `datetime.datetime` in whole milliseconds."""
        return TimestampTypeInfo()

    @staticmethod
    def PICKLED_BYTE_ARRAY() -> TypeInformation:
        """Any Python object; the type of a stream for which none is declared."""
        return PickledBytesTypeInfo()

    @staticmethod
    def ROW(field_types: list[TypeInformation]) -> RowTypeInfo:
        """A `Row` with fields f0, f1 and so on of the given types."""
        return RowTypeInfo(field_types)

    @staticmethod
    def ROW_NAMED(field_names: list[str], field_types: list[TypeInformation]) -> RowTypeInfo:
        """A `Row` with fields of the given names and types."""
        return RowTypeInfo(field_types, field_names)

    @staticmethod
    def TUPLE(field_types: list[TypeInformation]) -> TupleTypeInfo:
        """A `tuple` with fields of the given types."""
        return TupleTypeInfo(field_types)

    @staticmethod
    def PRIMITIVE_ARRAY(element_type: TypeInformation) -> PrimitiveArrayTypeInfo:
        """A list of primitive values without None, or `bytes` when the element type is BYTE."""
        return PrimitiveArrayTypeInfo(element_type)

    @staticmethod
    def BASIC_ARRAY(element_type: TypeInformation) -> TypeInformation:
        """A list of numbers, booleans or texts that may hold None."""
        return BasicArrayTypeInfo(element_type)

    @staticmethod
    def OBJECT_ARRAY(element_type: TypeInformation) -> TypeInformation:
        """A list of any one type that may hold None."""
        return ObjectArrayTypeInfo(element_type)

    @staticmethod
    def MAP(key_type_info: TypeInformation, value_type_info: TypeInformation) -> TypeInformation:
        """A `dict`."""
        return MapTypeInfo(key_type_info, value_type_info)

    @staticmethod
    def LIST(element_type_info: TypeInformation) -> TypeInformation:
        """A `list`."""
        return ListTypeInfo(element_type_info)
