"""What process table functions are given while they run: time, timers, and their tables."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from headrace.common.changelog_mode import ChangelogMode
from headrace.common.errors import FunctionTypeError
from headrace.common.time import Instant
from headrace.sql.types import RowType

__all__ = ["Context", "OnTimerContext", "TableSemantics", "TimeContext"]

_EPOCH = datetime.datetime(1970, 1, 1)
_MILLI = datetime.timedelta(milliseconds=1)


@dataclass(frozen=True)
class TableSemantics:
    """How a call gives a table to a function."""

    row_type: RowType
    partition: tuple[int, ...]
    order: tuple[tuple[int, bool, bool], ...]
    time: int | None
    mode: ChangelogMode

    def data_type(self) -> RowType:
        """The columns."""
        return self.row_type

    def partition_by_columns(self) -> tuple[int, ...]:
        """The positions of the columns of PARTITION BY."""
        return self.partition

    def order_by_columns(self) -> tuple[int, ...]:
        """The positions of the columns of ORDER BY."""
        return tuple(column for column, _, _ in self.order)

    def order_by_directions(self) -> tuple[str, ...]:
        """The directions of ORDER BY, such as `ASC_NULLS_FIRST`."""
        return tuple(
            f"{'DESC' if down else 'ASC'}_NULLS_{'FIRST' if first else 'LAST'}"
            for _, down, first in self.order
        )

    def time_column(self) -> int | None:
        """The position of the column of `on_time`."""
        return self.time

    def changelog_mode(self) -> ChangelogMode:
        """The kinds of rows that the table may have."""
        return self.mode


class FunctionRuntime(Protocol):
    """What contexts ask the operator that runs the function; times are milliseconds."""

    @property
    def time(self) -> int | None:
        """That of the row or timer."""

    @property
    def table_watermark(self) -> int | None:
        """That of the table that the row is of."""

    @property
    def current_watermark(self) -> int | None:
        """That of all tables."""

    @property
    def timer(self) -> str | None:
        """The name of the timer."""

    @property
    def mode(self) -> ChangelogMode:
        """Of the rows that the function may emit."""

    def semantics_of(self, table: str) -> TableSemantics: ...
    def register_timer(self, name: str | None, time: int) -> None: ...
    def clear_timer(self, name: str | None, time: int | None) -> None: ...
    def clear_timers(self) -> None: ...
    def clear_states(self, names: list[str] | None) -> None: ...


def _as_datetime(millis: int) -> datetime.datetime:
    try:
        return _EPOCH + millis * _MILLI
    except OverflowError:
        # The watermark behind the last row.
        return datetime.datetime.max


def _of_datetime(time: datetime.datetime) -> int:
    if time.tzinfo is not None:
        time = time.astimezone(datetime.UTC).replace(tzinfo=None)
    return (time - _EPOCH) // _MILLI


_CONVERSIONS: dict[type, tuple[Callable[[int], Any], Callable[[Any], int]]] = {
    int: (int, int),
    datetime.datetime: (_as_datetime, _of_datetime),
    Instant: (Instant.of_epoch_milli, Instant.to_epoch_milli),
}


class TimeContext:
    """The time of the row or timer, and timers of its key."""

    def __init__(self, runtime: FunctionRuntime, conversion: type) -> None:
        if conversion not in _CONVERSIONS:
            raise FunctionTypeError(
                f"times are int, datetime.datetime or Instant, not {conversion!r}"
            )
        self._runtime = runtime
        self._out, self._in = _CONVERSIONS[conversion]
        self._kind = conversion

    def time(self) -> Any:
        """The time of the row, in the column of `on_time`, or of the timer; None without it."""
        return self._shown(self._runtime.time)

    def table_watermark(self) -> Any:
        """The watermark of the table that the row is of; None in `on_timer` and before it came."""
        return self._shown(self._runtime.table_watermark)

    def current_watermark(self) -> Any:
        """The watermark of all tables; None before it came."""
        return self._shown(self._runtime.current_watermark)

    def register_on_time(self, name_or_time: Any, time: Any = None) -> None:
        """Calls `on_timer` when the watermark has come to a time.

        Args:
            name_or_time: The name of the timer, which replaces the one of that name; or the time of
                a timer without a name.
            time: The time of a timer with a name.
        """
        if time is None:
            self._runtime.register_timer(None, self._millis(name_or_time))
        else:
            self._runtime.register_timer(_name(name_or_time), self._millis(time))

    def clear_timer(self, name_or_time: Any) -> None:
        """Forgets the timer of a name, or one without a name of a time."""
        if isinstance(name_or_time, str):
            self._runtime.clear_timer(name_or_time, None)
        else:
            self._runtime.clear_timer(None, self._millis(name_or_time))

    def clear_all_timers(self) -> None:
        """Forgets all timers of the key."""
        self._runtime.clear_timers()

    def _shown(self, millis: int | None) -> Any:
        return None if millis is None else self._out(millis)

    def _millis(self, time: Any) -> int:
        if not isinstance(time, self._kind):
            raise TypeError(
                f"{time!r} is not {self._kind.__name__}, the type of times of this context"
            )
        return self._in(time)


def _name(name: Any) -> str:
    if not isinstance(name, str):
        raise TypeError(f"the name of a timer is a text, not {name!r}")
    return name


class Context:
    """What `eval` may ask for."""

    def __init__(self, runtime: FunctionRuntime) -> None:
        self._runtime = runtime

    def time_context(self, conversion: type = datetime.datetime) -> TimeContext:
        """Time and timers, with times as `datetime.datetime` in UTC, `Instant` or milliseconds."""
        return TimeContext(self._runtime, conversion)

    def table_semantics_for(self, arg_name: str) -> TableSemantics:
        """How the call gives the table of an argument."""
        return self._runtime.semantics_of(arg_name)

    def clear_state(self, state_name: str) -> None:
        """Forgets one state of the key, when the call is over."""
        self._runtime.clear_states([state_name])

    def clear_all_state(self) -> None:
        """Forgets all state of the key, when the call is over."""
        self._runtime.clear_states(None)

    def clear_all_timers(self) -> None:
        """Forgets all timers of the key."""
        self._runtime.clear_timers()

    def clear_all(self) -> None:
        """Forgets state and timers of the key."""
        self.clear_all_state()
        self.clear_all_timers()

    def get_changelog_mode(self) -> ChangelogMode:
        """The kinds of rows that the function may emit."""
        return self._runtime.mode


class OnTimerContext(Context):
    """What `on_timer` may ask for."""

    def current_timer(self) -> str | None:
        """The name of the timer; None if it has none."""
        return self._runtime.timer
