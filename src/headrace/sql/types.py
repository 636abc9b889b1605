"""SQL data types: what a column may hold, as PyFlink's `pyflink.table.types` names them.

Rows hold values in an *internal form* that is quick to compare, hash and calculate with; see
`headrace.sql.values`. The classes here only describe.
"""

from __future__ import annotations

import copy
import datetime
import sys
from collections.abc import Iterator
from enum import Enum
from typing import Any, ClassVar

__all__ = [
    "MAX_LENGTH",
    "ArrayType",
    "AtomicType",
    "BigIntType",
    "BinaryType",
    "BooleanType",
    "CharType",
    "DataType",
    "DateType",
    "DayTimeIntervalType",
    "DecimalType",
    "DoubleType",
    "FloatType",
    "FractionalType",
    "IntType",
    "IntegralType",
    "ListViewType",
    "LocalZonedTimestampType",
    "MapType",
    "MapViewType",
    "MultisetType",
    "NullType",
    "NumericType",
    "RawType",
    "Resolution",
    "RowField",
    "RowType",
    "SmallIntType",
    "TimeType",
    "TimestampType",
    "TinyIntType",
    "UserDefinedType",
    "VarBinaryType",
    "VarCharType",
    "YearMonthIntervalType",
    "ZonedTimestampType",
]

MAX_LENGTH = 0x7FFFFFFF


class DataType:
    """Base of all types. A type is nullable unless it says otherwise."""

    _root: ClassVar[str] = ""

    def __init__(self, nullable: bool = True) -> None:
        self._nullable = nullable
        self._conversion_cls = ""

    @property
    def is_nullable(self) -> bool:
        """Whether NULL is a value of the type."""
        return self._nullable

    def _same(self) -> tuple[Any, ...]:
        """What two equal types have in common, nullability apart."""
        return ()

    def with_nullable(self, nullable: bool) -> Any:
        """The type with another nullability; itself if it has that."""
        if nullable == self._nullable:
            return self
        other = copy.copy(self)
        other._nullable = nullable
        return other

    def same_but_null(self, other: DataType) -> bool:
        """Whether the types are equal, nullability of the outer type apart."""
        return type(self) is type(other) and self._same() == other._same()

    def sql_text(self) -> str:
        """The type as SQL writes it, such as `INT NOT NULL`."""
        return self._sql() if self._nullable else f"{self._sql()} NOT NULL"

    def _sql(self) -> str:
        return self._root

    @classmethod
    def type_name(cls) -> str:
        """The name of the class in capitals, without `Type`."""
        return cls.__name__[:-4].upper()

    def bridged_to(self, conversion_cls: str) -> DataType:
        """Accepted as in PyFlink; there are no Java classes to convert to."""
        self._conversion_cls = conversion_cls
        return self

    def nullable(self) -> Any:
        """The type with NULL."""
        return self.with_nullable(True)

    def not_null(self) -> Any:
        """The type without NULL."""
        return self.with_nullable(False)

    def need_conversion(self) -> bool:
        """Whether Python objects and SQL values of the type differ."""
        return False

    def to_sql_type(self, obj: Any) -> Any:
        """The SQL value of a Python object."""
        return obj

    def from_sql_type(self, obj: Any) -> Any:
        """The Python object of an SQL value."""
        return obj

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, DataType)
            and self.same_but_null(other)
            and self._nullable == other._nullable
        )

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((type(self).__name__, self._nullable, repr(self)))

    def __str__(self) -> str:
        return self.type_name()

    def __repr__(self) -> str:
        parts = [*map(repr, self._same()), str(self._nullable).lower()]
        return f"{type(self).__name__}({', '.join(parts)})"


class AtomicType(DataType):
    """A type that is not made of others."""


class NullType(AtomicType):
    """The type of NULL where nothing else is known of it."""

    _root = "NULL"

    def __init__(self) -> None:
        super().__init__(True)


class BooleanType(AtomicType):
    """TRUE, FALSE and, unless excluded, NULL."""

    _root = "BOOLEAN"


class NumericType(AtomicType):
    """Numbers."""


class IntegralType(NumericType):
    """Whole numbers."""

    bits: ClassVar[int]
    digits: ClassVar[int]


class TinyIntType(IntegralType):
    """One byte."""

    _root, bits, digits = "TINYINT", 8, 3


class SmallIntType(IntegralType):
    """Two bytes."""

    _root, bits, digits = "SMALLINT", 16, 5


class IntType(IntegralType):
    """Four bytes."""

    _root, bits, digits = "INT", 32, 10


class BigIntType(IntegralType):
    """Eight bytes."""

    _root, bits, digits = "BIGINT", 64, 19


class FractionalType(NumericType):
    """Numbers with a fraction."""


class FloatType(FractionalType):
    """Four bytes, about seven digits."""

    _root = "FLOAT"


class DoubleType(FractionalType):
    """Eight bytes, about fifteen digits."""

    _root = "DOUBLE"


class DecimalType(FractionalType):
    """Exact numbers of `precision` digits, `scale` of them behind the point."""

    _root = "DECIMAL"

    def __init__(self, precision: int = 10, scale: int = 0, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.precision = precision
        self.scale = scale

    def _same(self) -> tuple[Any, ...]:
        return (self.precision, self.scale)

    def _sql(self) -> str:
        return f"DECIMAL({self.precision}, {self.scale})"


class _SizedType(AtomicType):
    def __init__(self, length: int = 1, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.length = length

    def _same(self) -> tuple[Any, ...]:
        return (self.length,)

    def _sql(self) -> str:
        return f"{self._root}({self.length})"


class CharType(_SizedType):
    """Text of a fixed length."""

    _root = "CHAR"


class VarCharType(_SizedType):
    """Text up to a length; STRING is the longest."""

    _root = "VARCHAR"

    def _sql(self) -> str:
        return "STRING" if self.length == MAX_LENGTH else super()._sql()


class BinaryType(_SizedType):
    """Bytes of a fixed length."""

    _root = "BINARY"


class VarBinaryType(_SizedType):
    """Bytes up to a length; BYTES is the longest."""

    _root = "VARBINARY"

    def _sql(self) -> str:
        return "BYTES" if self.length == MAX_LENGTH else super()._sql()


_EPOCH_ORDINAL = datetime.date(1970, 1, 1).toordinal()
_EPOCH = datetime.datetime(1970, 1, 1)
_MICROSECOND = datetime.timedelta(microseconds=1)


class DateType(AtomicType):
    """A day of the calendar."""

    _root = "DATE"

    def need_conversion(self) -> bool:
        """Days since 1970-01-01 stand for dates."""
        return True

    def to_sql_type(self, d: datetime.date | None) -> int | None:
        """Days since 1970-01-01."""
        return None if d is None else d.toordinal() - _EPOCH_ORDINAL

    def from_sql_type(self, v: int | None) -> datetime.date | None:
        """The date."""
        return None if v is None else datetime.date.fromordinal(v + _EPOCH_ORDINAL)


class _PreciseType(AtomicType):
    def __init__(self, precision: int, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.precision = precision

    def _same(self) -> tuple[Any, ...]:
        return (self.precision,)

    def _sql(self) -> str:
        return f"{self._root}({self.precision})"


class TimeType(_PreciseType):
    """A time of day."""

    _root = "TIME"

    def __init__(self, precision: int = 0, nullable: bool = True) -> None:
        super().__init__(precision, nullable)

    def need_conversion(self) -> bool:
        """Microseconds of the day stand for times."""
        return True

    def to_sql_type(self, t: datetime.time | None) -> int | None:
        """Microseconds of the day."""
        if t is None:
            return None
        return ((t.hour * 60 + t.minute) * 60 + t.second) * 1_000_000 + t.microsecond

    def from_sql_type(self, t: int | None) -> datetime.time | None:
        """The time of day."""
        if t is None:
            return None
        return (datetime.datetime.min + datetime.timedelta(microseconds=t)).time()


class TimestampType(_PreciseType):
    """Date and time of day, in no time zone."""

    _root = "TIMESTAMP"

    def __init__(self, precision: int = 6, nullable: bool = True) -> None:
        super().__init__(precision, nullable)

    def need_conversion(self) -> bool:
        """Microseconds since 1970 stand for date and time."""
        return True

    def to_sql_type(self, dt: datetime.datetime | None) -> int | None:
        """Microseconds since 1970."""
        return None if dt is None else (dt.replace(tzinfo=None) - _EPOCH) // _MICROSECOND

    def from_sql_type(self, ts: int | None) -> datetime.datetime | None:
        """Date and time."""
        return None if ts is None else _EPOCH + datetime.timedelta(microseconds=ts)


class LocalZonedTimestampType(_PreciseType):
    """An instant, shown in the time zone of the session."""

    _root = "TIMESTAMP_LTZ"

    def __init__(self, precision: int = 6, nullable: bool = True) -> None:
        super().__init__(precision, nullable)

    def need_conversion(self) -> bool:
        """Microseconds since 1970 in UTC stand for instants."""
        return True

    def to_sql_type(self, dt: datetime.datetime | None) -> int | None:
        """Microseconds since 1970 in UTC."""
        if dt is None:
            return None
        aware = dt.astimezone(datetime.UTC)
        return (aware.replace(tzinfo=None) - _EPOCH) // _MICROSECOND

    def from_sql_type(self, ts: int | None) -> datetime.datetime | None:
        """The instant in the local time zone of this process, without its name."""
        if ts is None:
            return None
        aware = (_EPOCH + datetime.timedelta(microseconds=ts)).replace(tzinfo=datetime.UTC)
        return aware.astimezone().replace(tzinfo=None)


class ZonedTimestampType(_PreciseType):
    """Date and time with its own zone; declared as in PyFlink, supported nowhere."""

    _root = "TIMESTAMP WITH TIME ZONE"

    def __init__(self, precision: int = 6, nullable: bool = True) -> None:
        super().__init__(precision, nullable)

    def _sql(self) -> str:
        return f"TIMESTAMP({self.precision}) WITH TIME ZONE"

    def need_conversion(self) -> bool:
        """Not supported."""
        return True

    def to_sql_type(self, dt: datetime.datetime | None) -> Any:
        """Not supported."""
        raise NotImplementedError("TIMESTAMP WITH TIME ZONE is not supported, as in Flink")

    def from_sql_type(self, zoned_ts: Any) -> Any:
        """Not supported."""
        raise NotImplementedError("TIMESTAMP WITH TIME ZONE is not supported, as in Flink")


class Resolution:
    """A unit of an interval, with the number of its digits."""

    class IntervalUnit(Enum):
        """Units of intervals."""

        SECOND = 0
        MINUTE = 1
        HOUR = 2
        DAY = 3
        MONTH = 4
        YEAR = 5

    def __init__(self, unit: IntervalUnit, precision: int = -1) -> None:
        self._unit = unit
        self._precision = precision

    @property
    def unit(self) -> IntervalUnit:
        """The unit."""
        return self._unit

    @property
    def precision(self) -> int:
        """Digits; -1 if not given."""
        return self._precision

    def __str__(self) -> str:
        return f"{self._unit}({self._precision})"


class YearMonthIntervalType(AtomicType):
    """A number of months."""

    _root = "INTERVAL YEAR TO MONTH"

    class YearMonthResolution:
        """Which units an interval of months shows."""

        YEAR = 1
        MONTH = 2
        YEAR_TO_MONTH = 3

    DEFAULT_PRECISION = 2

    def __init__(
        self,
        resolution: int = YearMonthResolution.YEAR_TO_MONTH,
        precision: int = DEFAULT_PRECISION,
        nullable: bool = True,
    ) -> None:
        super().__init__(nullable)
        self._resolution = resolution
        self._precision = precision

    @property
    def resolution(self) -> int:
        """Which units are shown."""
        return self._resolution

    @property
    def precision(self) -> int:
        """Digits of the years."""
        return self._precision

    def __repr__(self) -> str:
        return f"YearMonthIntervalType({str(self._nullable).lower()})"

    def _sql(self) -> str:
        digits = self._precision
        return {
            self.YearMonthResolution.YEAR: f"INTERVAL YEAR({digits})",
            self.YearMonthResolution.MONTH: "INTERVAL MONTH",
        }.get(self._resolution, f"INTERVAL YEAR({digits}) TO MONTH")


class DayTimeIntervalType(AtomicType):
    """A length of time, exact to the millisecond."""

    _root = "INTERVAL DAY TO SECOND"

    class DayTimeResolution(Enum):
        """Which units a length of time shows."""

        DAY = 0
        DAY_TO_HOUR = 1
        DAY_TO_MINUTE = 2
        DAY_TO_SECOND = 3
        HOUR = 4
        HOUR_TO_MINUTE = 5
        HOUR_TO_SECOND = 6
        MINUTE = 7
        MINUTE_TO_SECOND = 8
        SECOND = 9

    DEFAULT_DAY_PRECISION = 2
    DEFAULT_FRACTIONAL_PRECISION = 6

    def __init__(
        self,
        resolution: DayTimeResolution = DayTimeResolution.DAY_TO_SECOND,
        day_precision: int = DEFAULT_DAY_PRECISION,
        fractional_precision: int = DEFAULT_FRACTIONAL_PRECISION,
        nullable: bool = True,
    ) -> None:
        super().__init__(nullable)
        self._resolution = resolution
        self._day_precision = day_precision
        self._fractional_precision = fractional_precision

    @property
    def resolution(self) -> DayTimeResolution:
        """Which units are shown."""
        return self._resolution

    @property
    def day_precision(self) -> int:
        """Digits of the days."""
        return self._day_precision

    @property
    def fractional_precision(self) -> int:
        """Digits of the second's fraction."""
        return self._fractional_precision

    def need_conversion(self) -> bool:
        """Milliseconds stand for lengths of time."""
        return True

    def to_sql_type(self, timedelta: datetime.timedelta | None) -> int | None:
        """Milliseconds."""
        return None if timedelta is None else timedelta // datetime.timedelta(milliseconds=1)

    def from_sql_type(self, ts: int | None) -> datetime.timedelta | None:
        """The length of time."""
        return None if ts is None else datetime.timedelta(milliseconds=ts)

    def __repr__(self) -> str:
        return f"DayTimeIntervalType({str(self._nullable).lower()})"

    def _sql(self) -> str:
        words = self._resolution.name.split("_TO_")
        first, last = words[0], words[-1]
        upper = f"DAY({self._day_precision})" if first == "DAY" else first
        lower = f"SECOND({self._fractional_precision})" if last == "SECOND" else last
        return f"INTERVAL {lower}" if first == last else f"INTERVAL {upper} TO {lower}"


class ArrayType(DataType):
    """A list of elements of one type."""

    _root = "ARRAY"

    def __init__(self, element_type: DataType, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.element_type = element_type

    def _same(self) -> tuple[Any, ...]:
        return (self.element_type,)

    def _sql(self) -> str:
        return f"{self._root}<{self.element_type.sql_text()}>"

    def need_conversion(self) -> bool:
        """Whether the elements need it."""
        return self.element_type.need_conversion()

    def to_sql_type(self, obj: Any) -> Any:
        """A list of SQL values."""
        if obj is None or not self.need_conversion():
            return obj
        return [self.element_type.to_sql_type(v) for v in obj]

    def from_sql_type(self, obj: Any) -> Any:
        """A list of Python objects."""
        if obj is None or not self.need_conversion():
            return obj
        return [self.element_type.from_sql_type(v) for v in obj]


class ListViewType(DataType):
    """The type of a `ListView` in an accumulator."""

    def __init__(self, element_type: DataType) -> None:
        super().__init__(True)
        self._element_type = element_type

    def _same(self) -> tuple[Any, ...]:
        return (self._element_type,)

    def _sql(self) -> str:
        return f"LISTVIEW<{self._element_type.sql_text()}>"

    def __repr__(self) -> str:
        return f"ListViewType({self._element_type!r})"

    def to_sql_type(self, obj: Any) -> Any:
        """Views stay what they are."""
        return obj

    def from_sql_type(self, obj: Any) -> Any:
        """Views stay what they are."""
        return obj


class MapType(DataType):
    """Keys and values."""

    _root = "MAP"

    def __init__(self, key_type: DataType, value_type: DataType, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.key_type = key_type
        self.value_type = value_type

    def _same(self) -> tuple[Any, ...]:
        return (self.key_type, self.value_type)

    def _sql(self) -> str:
        return f"MAP<{self.key_type.sql_text()}, {self.value_type.sql_text()}>"

    def need_conversion(self) -> bool:
        """Whether keys or values need it."""
        return self.key_type.need_conversion() or self.value_type.need_conversion()

    def to_sql_type(self, obj: Any) -> Any:
        """A dict of SQL values."""
        if obj is None or not self.need_conversion():
            return obj
        key, value = self.key_type.to_sql_type, self.value_type.to_sql_type
        return {key(k): value(v) for k, v in obj.items()}

    def from_sql_type(self, obj: Any) -> Any:
        """A dict of Python objects."""
        if obj is None or not self.need_conversion():
            return obj
        key, value = self.key_type.from_sql_type, self.value_type.from_sql_type
        return {key(k): value(v) for k, v in obj.items()}


class MapViewType(DataType):
    """The type of a `MapView` in an accumulator."""

    def __init__(self, key_type: DataType, value_type: DataType) -> None:
        super().__init__(True)
        self._key_type = key_type
        self._value_type = value_type

    def _same(self) -> tuple[Any, ...]:
        return (self._key_type, self._value_type)

    def _sql(self) -> str:
        return f"MAPVIEW<{self._key_type.sql_text()}, {self._value_type.sql_text()}>"

    def __repr__(self) -> str:
        return f"MapViewType({self._key_type!r}, {self._value_type!r})"

    def to_sql_type(self, obj: Any) -> Any:
        """Views stay what they are."""
        return obj

    def from_sql_type(self, obj: Any) -> Any:
        """Views stay what they are."""
        return obj


class MultisetType(ArrayType):
    """Elements of one type, each with how often it is there."""

    _root = "MULTISET"

    def to_sql_type(self, obj: Any) -> Any:
        """Values and how often they are there."""
        if obj is None or not self.need_conversion():
            return obj
        return {self.element_type.to_sql_type(v): n for v, n in obj.items()}

    def from_sql_type(self, obj: Any) -> Any:
        """Objects and how often they are there."""
        if obj is None or not self.need_conversion():
            return obj
        return {self.element_type.from_sql_type(v): n for v, n in obj.items()}


class RowField:
    """A field of a row: name, type and a description."""

    def __init__(self, name: str, data_type: DataType, description: str | None = None) -> None:
        if not isinstance(data_type, DataType):
            raise TypeError(f"the type of field {name!r} is a DataType, not {data_type!r}")
        self.name = name
        self.data_type = data_type
        self.description = "..." if description is None else description

    def need_conversion(self) -> bool:
        """Whether values of the field need it."""
        return self.data_type.need_conversion()

    def to_sql_type(self, obj: Any) -> Any:
        """The SQL value of the field."""
        return self.data_type.to_sql_type(obj)

    def from_sql_type(self, obj: Any) -> Any:
        """The Python object of the field."""
        return self.data_type.from_sql_type(obj)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RowField) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self.name, self.data_type))

    def __repr__(self) -> str:
        return f"RowField({self.name}, {self.data_type!r}, {self.description})"


class RowType(DataType):
    """Named fields, each with a type of its own."""

    _root = "ROW"

    def __init__(self, fields: list[RowField] | None = None, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.fields: list[RowField] = list(fields or [])

    @property
    def names(self) -> list[str]:
        """Names of the fields."""
        return [f.name for f in self.fields]

    def _same(self) -> tuple[Any, ...]:
        return tuple((f.name, f.data_type) for f in self.fields)

    def _sql(self) -> str:
        fields = ", ".join(f"`{f.name}` {f.data_type.sql_text()}" for f in self.fields)
        return f"ROW<{fields}>"

    def add(self, field: RowField | str, data_type: DataType | None = None) -> RowType:
        """Append a field."""
        if isinstance(field, RowField):
            self.fields.append(field)
        elif data_type is None:
            raise ValueError(f"the type of field {field!r} is missing")
        else:
            self.fields.append(RowField(field, data_type))
        return self

    def field_names(self) -> list[str]:
        """Names of the fields."""
        return self.names

    def field_types(self) -> list[DataType]:
        """Types of the fields."""
        return [f.data_type for f in self.fields]

    def need_conversion(self) -> bool:
        """Rows are tuples as SQL values."""
        return True

    def to_sql_type(self, obj: Any) -> Any:
        """A tuple of SQL values."""
        if obj is None:
            return None
        values = [obj.get(n) for n in self.names] if isinstance(obj, dict) else list(obj)
        return tuple(f.to_sql_type(v) for f, v in zip(self.fields, values, strict=True))

    def from_sql_type(self, obj: Any) -> Any:
        """A `Row` of Python objects."""
        from headrace.common.types import row_of

        if obj is None:
            return None
        values = [f.from_sql_type(v) for f, v in zip(self.fields, obj, strict=True)]
        return row_of(values, self.names)

    def __iter__(self) -> Iterator[RowField]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    def __getitem__(self, key: int | str | slice) -> Any:
        if isinstance(key, str):
            for field in self.fields:
                if field.name == key:
                    return field
            raise KeyError(f"there is no field {key!r}; the fields are {self.names}")
        if isinstance(key, slice):
            return RowType(self.fields[key])
        return self.fields[key]

    def __repr__(self) -> str:
        return f"RowType({','.join(map(repr, self.fields))})"


class RawType(DataType):
    """Any Python object."""

    _root = "RAW"

    def _sql(self) -> str:
        return "RAW('java.lang.Object', ?)"

    def from_sql_type(self, obj: Any) -> Any:
        """The object itself."""
        return obj


class UserDefinedType(DataType):
    """Base of types that users write: how an object becomes an SQL value and back."""

    @classmethod
    def type_name(cls) -> str:
        """The name of the class in capitals, without `UDT` or `Type`."""
        return cls.__name__.removesuffix("UDT").removesuffix("Type").upper()

    @classmethod
    def sql_type(cls) -> DataType:
        """The type of the SQL values."""
        raise NotImplementedError("a user-defined type says what its sql_type() is")

    @classmethod
    def module(cls) -> str:
        """The module that has the class."""
        raise NotImplementedError("a user-defined type says in which module() it is")

    def need_conversion(self) -> bool:
        """Objects always differ from SQL values."""
        return True

    def serialize(self, obj: Any) -> Any:
        """The SQL value of an object."""
        raise NotImplementedError("a user-defined type has a serialize()")

    def deserialize(self, datum: Any) -> Any:
        """The object of an SQL value."""
        raise NotImplementedError("a user-defined type has a deserialize()")

    def to_sql_type(self, obj: Any) -> Any:
        """The SQL value of an object."""
        return None if obj is None else self.sql_type().to_sql_type(self.serialize(obj))

    def from_sql_type(self, obj: Any) -> Any:
        """The object of an SQL value."""
        return None if obj is None else self.deserialize(self.sql_type().from_sql_type(obj))

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(sys.intern(type(self).__qualname__))
