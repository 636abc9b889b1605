"""`DataTypes`: the names of all types, as users write them."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.common.errors import FunctionTypeError
from headrace.sql import types as t

__all__ = ["DataTypes"]

_Unit = t.Resolution.IntervalUnit
_DayTime = t.DayTimeIntervalType.DayTimeResolution
_YearMonth = t.YearMonthIntervalType.YearMonthResolution


class DataTypes:
    """Makes types.

    Example:
        >>> DataTypes.ROW([DataTypes.FIELD("id", DataTypes.BIGINT(False))]).sql_text()
        'ROW<`id` BIGINT NOT NULL>'
    """

    @staticmethod
    def NULL() -> t.NullType:
        """The type of NULL where nothing else is known of it."""
        return t.NullType()

    @staticmethod
    def CHAR(length: int, nullable: bool = True) -> t.CharType:
        """Text of a fixed length."""
        return t.CharType(length, nullable)

    @staticmethod
    def VARCHAR(length: int, nullable: bool = True) -> t.VarCharType:
        """Text up to a length."""
        return t.VarCharType(length, nullable)

    @staticmethod
    def STRING(nullable: bool = True) -> t.VarCharType:
        """Text."""
        return t.VarCharType(t.MAX_LENGTH, nullable)

    @staticmethod
    def BOOLEAN(nullable: bool = True) -> t.BooleanType:
        """TRUE or FALSE."""
        return t.BooleanType(nullable)

    @staticmethod
    def BINARY(length: int, nullable: bool = True) -> t.BinaryType:
        """Bytes of a fixed length."""
        return t.BinaryType(length, nullable)

    @staticmethod
    def VARBINARY(length: int, nullable: bool = True) -> t.VarBinaryType:
        """Bytes up to a length."""
        return t.VarBinaryType(length, nullable)

    @staticmethod
    def BYTES(nullable: bool = True) -> t.VarBinaryType:
        """Bytes."""
        return t.VarBinaryType(t.MAX_LENGTH, nullable)

    @staticmethod
    def DECIMAL(precision: int, scale: int, nullable: bool = True) -> t.DecimalType:
        """Exact numbers."""
        return t.DecimalType(precision, scale, nullable)

    @staticmethod
    def TINYINT(nullable: bool = True) -> t.TinyIntType:
        """Whole numbers of one byte."""
        return t.TinyIntType(nullable)

    @staticmethod
    def SMALLINT(nullable: bool = True) -> t.SmallIntType:
        """Whole numbers of two bytes."""
        return t.SmallIntType(nullable)

    @staticmethod
    def INT(nullable: bool = True) -> t.IntType:
        """Whole numbers of four bytes."""
        return t.IntType(nullable)

    @staticmethod
    def BIGINT(nullable: bool = True) -> t.BigIntType:
        """Whole numbers of eight bytes."""
        return t.BigIntType(nullable)

    @staticmethod
    def FLOAT(nullable: bool = True) -> t.FloatType:
        """Floating point numbers of four bytes."""
        return t.FloatType(nullable)

    @staticmethod
    def DOUBLE(nullable: bool = True) -> t.DoubleType:
        """Floating point numbers of eight bytes."""
        return t.DoubleType(nullable)

    @staticmethod
    def DATE(nullable: bool = True) -> t.DateType:
        """Days of the calendar."""
        return t.DateType(nullable)

    @staticmethod
    def TIME(precision: int = 0, nullable: bool = True) -> t.TimeType:
        """Times of day."""
        return t.TimeType(precision, nullable)

    @staticmethod
    def TIMESTAMP(precision: int = 6, nullable: bool = True) -> t.TimestampType:
        """Date and time of day, in no time zone."""
        return t.TimestampType(precision, nullable)

    @staticmethod
    def TIMESTAMP_WITH_LOCAL_TIME_ZONE(
        precision: int = 6, nullable: bool = True
    ) -> t.LocalZonedTimestampType:
        """Instants, shown in the time zone of the session."""
        return t.LocalZonedTimestampType(precision, nullable)

    @staticmethod
    def TIMESTAMP_LTZ(precision: int = 6, nullable: bool = True) -> t.LocalZonedTimestampType:
        """Instants, shown in the time zone of the session."""
        return t.LocalZonedTimestampType(precision, nullable)

    @staticmethod
    def ARRAY(element_type: t.DataType, nullable: bool = True) -> t.ArrayType:
        """Lists of elements of one type."""
        return t.ArrayType(element_type, nullable)

    @staticmethod
    def LIST_VIEW(element_type: t.DataType) -> t.ListViewType:
        """The type of a `ListView` in an accumulator."""
        return t.ListViewType(element_type)

    @staticmethod
    def MAP(key_type: t.DataType, value_type: t.DataType, nullable: bool = True) -> t.MapType:
        """Keys and values."""
        return t.MapType(key_type, value_type, nullable)

    @staticmethod
    def MAP_VIEW(key_type: t.DataType, value_type: t.DataType) -> t.MapViewType:
        """The type of a `MapView` in an accumulator."""
        return t.MapViewType(key_type, value_type)

    @staticmethod
    def MULTISET(element_type: t.DataType, nullable: bool = True) -> t.MultisetType:
        """Elements of one type, each with how often it is there."""
        return t.MultisetType(element_type, nullable)

    @staticmethod
    def ROW(row_fields: Sequence[t.RowField] = (), nullable: bool = True) -> t.RowType:
        """Named fields, each with a type of its own."""
        return t.RowType(list(row_fields), nullable)

    @staticmethod
    def FIELD(name: str, data_type: t.DataType, description: str | None = None) -> t.RowField:
        """A field of a row."""
        return t.RowField(name, data_type, description)

    @staticmethod
    def SECOND(
        precision: int = t.DayTimeIntervalType.DEFAULT_FRACTIONAL_PRECISION,
    ) -> t.Resolution:
        """Seconds, with digits of their fraction."""
        return t.Resolution(_Unit.SECOND, precision)

    @staticmethod
    def MINUTE() -> t.Resolution:
        """Minutes."""
        return t.Resolution(_Unit.MINUTE)

    @staticmethod
    def HOUR() -> t.Resolution:
        """Hours."""
        return t.Resolution(_Unit.HOUR)

    @staticmethod
    def DAY(precision: int = t.DayTimeIntervalType.DEFAULT_DAY_PRECISION) -> t.Resolution:
        """Days, with the number of their digits."""
        return t.Resolution(_Unit.DAY, precision)

    @staticmethod
    def MONTH() -> t.Resolution:
        """Months."""
        return t.Resolution(_Unit.MONTH)

    @staticmethod
    def YEAR(precision: int = t.YearMonthIntervalType.DEFAULT_PRECISION) -> t.Resolution:
        """Years, with the number of their digits."""
        return t.Resolution(_Unit.YEAR, precision)

    @staticmethod
    def INTERVAL(
        upper_resolution: t.Resolution, lower_resolution: t.Resolution | None = None
    ) -> t.DayTimeIntervalType | t.YearMonthIntervalType:
        """A length of time from one unit down to another.

        Example:
            >>> DataTypes.INTERVAL(DataTypes.DAY(), DataTypes.SECOND(3)).sql_text()
            'INTERVAL DAY(2) TO SECOND(3)'
        """
        upper, lower = upper_resolution, lower_resolution or upper_resolution
        if upper.unit.value < lower.unit.value:
            raise FunctionTypeError(f"an interval goes from larger units down: {upper} to {lower}")
        name: str = upper.unit.name
        if upper.unit is not lower.unit:
            name += f"_TO_{lower.unit.name}"
        if hasattr(_YearMonth, name):
            digits = upper.precision if upper.unit is _Unit.YEAR else -1
            if digits < 0:
                digits = t.YearMonthIntervalType.DEFAULT_PRECISION
            return t.YearMonthIntervalType(getattr(_YearMonth, name), digits)
        if name not in _DayTime.__members__:
            raise FunctionTypeError(f"there is no interval from {upper} to {lower}")
        days, fraction = 2, 6
        if upper.unit is _Unit.DAY and upper.precision >= 0:
            days = upper.precision
        if lower.unit is _Unit.SECOND and lower.precision >= 0:
            fraction = lower.precision
        return t.DayTimeIntervalType(getattr(_DayTime, name), days, fraction)
