"""Types of time: dates, times, timestamps and intervals."""

from __future__ import annotations

import calendar
import datetime
import time
from enum import Enum
from typing import Any

from headrace.sql.types.atomic import AtomicType
from headrace.sql.types.base import check

_EPOCH_ORDINAL = datetime.date(1970, 1, 1).toordinal()
_LOCAL_EPOCH = calendar.timegm(time.localtime(0)) * 1_000_000
_EPOCH = datetime.datetime(1970, 1, 1)
_MICROSECOND = datetime.timedelta(microseconds=1)


def _utc_micros(dt: datetime.datetime) -> int:
    """Microseconds since 1970 in UTC; without a zone, it is the local one of this process."""
    return (dt.astimezone(datetime.UTC).replace(tzinfo=None) - _EPOCH) // _MICROSECOND


class DateType(AtomicType):
    """A day of the calendar."""

    root = "DATE"
    EPOCH_ORDINAL = _EPOCH_ORDINAL

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
        check(0 <= precision <= 9, f"{self.root} has 0 to 9 digits of a second, not {precision}")
        self.precision = precision

    def _same(self) -> tuple[Any, ...]:
        return (self.precision,)

    def _sql(self) -> str:
        return f"{self.root}({self.precision})"


class TimeType(_PreciseType):
    """A time of day."""

    root = "TIME"
    EPOCH_ORDINAL = _LOCAL_EPOCH

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

    root = "TIMESTAMP"

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

    root = "TIMESTAMP_LTZ"
    EPOCH_ORDINAL = _LOCAL_EPOCH

    def __init__(self, precision: int = 6, nullable: bool = True) -> None:
        super().__init__(precision, nullable)

    def need_conversion(self) -> bool:
        """Microseconds since 1970 stand for instants."""
        return True

    def to_sql_type(self, dt: datetime.datetime | None) -> int | None:
        """Microseconds since 1970 as the local clock shows them, as in PyFlink."""
        return None if dt is None else _utc_micros(dt) + self.EPOCH_ORDINAL

    def from_sql_type(self, ts: int | None) -> datetime.datetime | None:
        """The instant in the local time zone of this process, without its name."""
        if ts is None:
            return None
        aware = _EPOCH.replace(tzinfo=datetime.UTC)
        aware += datetime.timedelta(microseconds=ts - self.EPOCH_ORDINAL)
        return aware.astimezone().replace(tzinfo=None)


class ZonedTimestampType(_PreciseType):
    """Date and time with its own zone; as in Flink, no column of a table can have it."""

    root = "TIMESTAMP WITH TIME ZONE"

    def __init__(self, precision: int = 6, nullable: bool = True) -> None:
        super().__init__(precision, nullable)

    def _sql(self) -> str:
        return f"TIMESTAMP({self.precision}) WITH TIME ZONE"

    def need_conversion(self) -> bool:
        """Microseconds since 1970 in the zone, with the zone's offset, stand for values."""
        return True

    def to_sql_type(self, dt: datetime.datetime | None) -> tuple[int, int] | None:
        """Microseconds since 1970 in its zone, and the seconds by which that is ahead of UTC."""
        if dt is None:
            return None
        offset = (dt if dt.tzinfo else dt.astimezone()).utcoffset() or datetime.timedelta()
        seconds = offset // datetime.timedelta(seconds=1)
        return _utc_micros(dt) + seconds * 1_000_000, seconds

    def from_sql_type(self, zoned_ts: tuple[int, int] | None) -> datetime.datetime | None:
        """Date and time with a zone of that offset."""
        if zoned_ts is None:
            return None
        micros, seconds = zoned_ts
        zone = datetime.timezone(datetime.timedelta(seconds=seconds))
        return (_EPOCH + datetime.timedelta(microseconds=micros)).replace(tzinfo=zone)


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

    root = "INTERVAL YEAR TO MONTH"

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
        check(1 <= precision <= 4, f"an interval has 1 to 4 digits of years, not {precision}")
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

    root = "INTERVAL DAY TO SECOND"

    class DayTimeResolution(Enum):
        """Which units a length of time shows."""

        DAY = 1
        DAY_TO_HOUR = 2
        DAY_TO_MINUTE = 3
        DAY_TO_SECOND = 4
        HOUR = 5
        HOUR_TO_MINUTE = 6
        HOUR_TO_SECOND = 7
        MINUTE = 8
        MINUTE_TO_SECOND = 9
        SECOND = 10

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
        check(
            1 <= day_precision <= 6, f"an interval has 1 to 6 digits of days, not {day_precision}"
        )
        check(
            0 <= fractional_precision <= 9,
            f"an interval has 0 to 9 digits of a second, not {fractional_precision}",
        )
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
        """Microseconds stand for lengths of time."""
        return True

    def to_sql_type(self, timedelta: datetime.timedelta | None) -> int | None:
        """Microseconds, as in PyFlink; the engine itself has milliseconds."""
        return None if timedelta is None else timedelta // _MICROSECOND

    def from_sql_type(self, ts: int | None) -> datetime.timedelta | None:
        """The length of time."""
        return None if ts is None else datetime.timedelta(microseconds=ts)

    def __repr__(self) -> str:
        return f"DayTimeIntervalType({str(self._nullable).lower()})"

    def _sql(self) -> str:
        words = self._resolution.name.split("_TO_")
        first, last = words[0], words[-1]
        upper = f"DAY({self._day_precision})" if first == "DAY" else first
        lower = f"SECOND({self._fractional_precision})" if last == "SECOND" else last
        return f"INTERVAL {lower}" if first == last else f"INTERVAL {upper} TO {lower}"
