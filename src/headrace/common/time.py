"""Amounts and points of time: `Duration`, `Time` and `Instant`.

`to_millis` turns any amount of time that the API accepts into integer milliseconds.
"""

from __future__ import annotations

import datetime
from functools import total_ordering

from headrace.common.errors import FunctionTypeError

__all__ = ["Duration", "Instant", "Time", "to_millis"]

_NANOS_PER_MICRO = 1_000
_NANOS_PER_MILLI = 1_000_000
_NANOS_PER_SECOND = 1_000_000_000
_MICROSECOND = datetime.timedelta(microseconds=1)


def _whole(name: str, value: float) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise FunctionTypeError(
            f"{name} takes a whole number, not {value!r} ({type(value).__name__}); "
            "use a smaller unit for fractions, or Duration.of(datetime.timedelta(...))"
        )
    return value


def _time(name: str, value: float, unit_ms: int) -> Time:
    """As in PyFlink, fractions are taken; they must make whole milliseconds."""
    if isinstance(value, float) and (value * unit_ms).is_integer():
        return Time(int(value * unit_ms))
    return Time(_whole(name, value) * unit_ms)


@total_ordering
class Duration:
    """An amount of time with nanosecond precision, such as 34.5 seconds.

    A `Duration` equals the `datetime.timedelta` of the same length, compares with it, and every
    place in headrace that takes the one takes the other.

    Example:
        >>> Duration.of_seconds(20).to_millis()
        20000
    """

    __slots__ = ("_nanos",)

    def __init__(self, nanos: int = 0) -> None:
        """Creates a duration of `nanos` nanoseconds; the `of_*` functions are easier to read."""
        self._nanos = _whole("Duration", nanos)

    @staticmethod
    def of_days(days: int) -> Duration:
        """A duration of so many days of 24 hours."""
        return Duration(_whole("of_days", days) * 86_400 * _NANOS_PER_SECOND)

    @staticmethod
    def of_hours(hours: int) -> Duration:
        """A duration of so many hours."""
        return Duration(_whole("of_hours", hours) * 3_600 * _NANOS_PER_SECOND)

    @staticmethod
    def of_minutes(minutes: int) -> Duration:
        """A duration of so many minutes."""
        return Duration(_whole("of_minutes", minutes) * 60 * _NANOS_PER_SECOND)

    @staticmethod
    def of_seconds(seconds: int) -> Duration:
        """A duration of so many seconds."""
        return Duration(_whole("of_seconds", seconds) * _NANOS_PER_SECOND)

    @staticmethod
    def of_millis(millis: int) -> Duration:
        """A duration of so many milliseconds."""
        return Duration(_whole("of_millis", millis) * _NANOS_PER_MILLI)

    @staticmethod
    def of_nanos(nanos: int) -> Duration:
        """A duration of so many nanoseconds."""
        return Duration(_whole("of_nanos", nanos))

    @staticmethod
    def of(delta: datetime.timedelta) -> Duration:
        """The duration that is as long as `delta`."""
        if not isinstance(delta, datetime.timedelta):
            raise FunctionTypeError(
                f"Duration.of takes a datetime.timedelta, not {type(delta).__name__}"
            )
        return Duration(delta // _MICROSECOND * _NANOS_PER_MICRO)

    def to_nanos(self) -> int:
        """The length in nanoseconds."""
        return self._nanos

    def to_millis(self) -> int:
        """The length in whole milliseconds, rounded down."""
        return self._nanos // _NANOS_PER_MILLI

    def to_timedelta(self) -> datetime.timedelta:
        """The length as a `datetime.timedelta`, rounded down to microseconds."""
        return datetime.timedelta(microseconds=self._nanos // _NANOS_PER_MICRO)

    def __eq__(self, other: object) -> bool:
        """Equal to every `Duration` and `timedelta` of the same length."""
        if isinstance(other, Duration):
            return self._nanos == other._nanos
        if isinstance(other, datetime.timedelta):
            return self._nanos == other // _MICROSECOND * _NANOS_PER_MICRO
        return NotImplemented

    def __lt__(self, other: object) -> bool:
        """Shorter than another `Duration` or `timedelta`."""
        if isinstance(other, datetime.timedelta):
            other = Duration.of(other)
        if isinstance(other, Duration):
            return self._nanos < other._nanos
        return NotImplemented

    def __hash__(self) -> int:
        """The same as that of an equal `timedelta`."""
        if self._nanos % _NANOS_PER_MICRO:
            return hash(self._nanos)
        try:
            return hash(self.to_timedelta())
        except OverflowError:  # longer than any timedelta, so equal to none
            return hash(self._nanos)

    def __repr__(self) -> str:
        """The length in the largest unit that holds it exactly."""
        units = (
            ("days", 86_400 * _NANOS_PER_SECOND),
            ("hours", 3_600 * _NANOS_PER_SECOND),
            ("minutes", 60 * _NANOS_PER_SECOND),
            ("seconds", _NANOS_PER_SECOND),
            ("millis", _NANOS_PER_MILLI),
        )
        if self._nanos:
            for unit, size in units:
                if self._nanos % size == 0:
                    return f"Duration.of_{unit}({self._nanos // size})"
        return f"Duration.of_nanos({self._nanos})"

    def __str__(self) -> str:
        """The ISO-8601 form that Java prints, such as `PT1H30M` or `PT0.2S`."""
        if self._nanos == 0:
            return "PT0S"
        sign = "-" if self._nanos < 0 else ""
        seconds, nanos = divmod(abs(self._nanos), _NANOS_PER_SECOND)
        minutes, seconds = divmod(seconds, 60)
        hours, minutes = divmod(minutes, 60)
        text = "PT"
        if hours:
            text += f"{sign}{hours}H"
        if minutes:
            text += f"{sign}{minutes}M"
        if seconds or nanos:
            fraction = f".{nanos:09d}".rstrip("0") if nanos else ""
            text += f"{sign}{seconds}{fraction}S"
        return text


@total_ordering
class Instant:
    """A point on the time line: seconds since 1970-01-01T00:00:00Z and nanoseconds after them."""

    __slots__ = ("nanos", "seconds")

    seconds: int
    nanos: int

    def __init__(self, seconds: int, nanos: int) -> None:
        """Creates the instant `nanos` (0 to 999,999,999) after the given second."""
        self.seconds = seconds
        self.nanos = nanos

    def to_epoch_milli(self) -> int:
        """Milliseconds since the epoch, rounded down."""
        return self.seconds * 1_000 + self.nanos // _NANOS_PER_MILLI

    @staticmethod
    def of_epoch_milli(epoch_milli: int) -> Instant:
        """The instant so many milliseconds after (or before) the epoch."""
        seconds, millis = divmod(epoch_milli, 1_000)
        return Instant(seconds, millis * _NANOS_PER_MILLI)

    def __eq__(self, other: object) -> bool:
        """Equal if it is the same point of time."""
        if isinstance(other, Instant):
            return self.seconds == other.seconds and self.nanos == other.nanos
        return NotImplemented

    def __lt__(self, other: object) -> bool:
        """Earlier than another instant."""
        if isinstance(other, Instant):
            return (self.seconds, self.nanos) < (other.seconds, other.nanos)
        return NotImplemented

    def __hash__(self) -> int:
        """Consistent with equality."""
        return hash((self.seconds, self.nanos))

    def __repr__(self) -> str:
        """`Instant<seconds, nanos>`."""
        return f"Instant<{self.seconds}, {self.nanos}>"


@total_ordering
class Time:
    """A time interval in milliseconds, used for the sizes of windows and the like."""

    __slots__ = ("_milliseconds",)

    def __init__(self, milliseconds: int) -> None:
        """Creates an interval of so many milliseconds."""
        self._milliseconds = _whole("Time", milliseconds)

    def to_milliseconds(self) -> int:
        """The interval in milliseconds."""
        return self._milliseconds

    @staticmethod
    def milliseconds(milliseconds: int) -> Time:
        """An interval of so many milliseconds."""
        return Time(milliseconds)

    @staticmethod
    def seconds(seconds: float) -> Time:
        """An interval of so many seconds."""
        return _time("Time.seconds", seconds, 1_000)

    @staticmethod
    def minutes(minutes: float) -> Time:
        """An interval of so many minutes."""
        return _time("Time.minutes", minutes, 60_000)

    @staticmethod
    def hours(hours: float) -> Time:
        """An interval of so many hours."""
        return _time("Time.hours", hours, 3_600_000)

    @staticmethod
    def days(days: float) -> Time:
        """An interval of so many days of 24 hours."""
        return _time("Time.days", days, 86_400_000)

    def __eq__(self, other: object) -> bool:
        """Equal to every other `Time` of the same length."""
        if isinstance(other, Time):
            return self._milliseconds == other._milliseconds
        return NotImplemented

    def __lt__(self, other: object) -> bool:
        """Shorter than another `Time`."""
        if isinstance(other, Time):
            return self._milliseconds < other._milliseconds
        return NotImplemented

    def __hash__(self) -> int:
        """Consistent with equality."""
        return hash(self._milliseconds)

    def __str__(self) -> str:
        """The interval with its unit, such as `5000 ms`."""
        return f"{self._milliseconds} ms"

    def __repr__(self) -> str:
        """The call that makes this interval."""
        return f"Time.milliseconds({self._milliseconds})"


def to_millis(
    amount: Duration | Time | datetime.timedelta | int, what: str = "an amount of time"
) -> int:
    """Turns an amount of time into milliseconds, rounded down.

    Args:
        amount: A `Duration`, a `Time`, a `datetime.timedelta`, or an int of milliseconds.
        what: What the amount is for; named in the error.

    Raises:
        FunctionTypeError: `amount` is none of these.
    """
    if isinstance(amount, Duration):
        return amount.to_millis()
    if isinstance(amount, datetime.timedelta):
        return Duration.of(amount).to_millis()
    if isinstance(amount, Time):
        return amount.to_milliseconds()
    if isinstance(amount, int) and not isinstance(amount, bool):
        return amount
    raise FunctionTypeError(
        f"{what} must be a Duration, a datetime.timedelta, a Time or an int of milliseconds, "
        f"not {amount!r} ({type(amount).__name__})"
    )
