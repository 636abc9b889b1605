"""START_MODE of a materialized table: where the sources of its continuous refresh begin."""

from __future__ import annotations

from dataclasses import dataclass
from zoneinfo import ZoneInfo

from headrace.common.errors import SqlError
from headrace.sql.functions.builtin.times import add_months, parse_timestamp, to_instant

__all__ = ["FROM_BEGINNING", "StartMode"]

_SECONDS = {"SECOND": 1, "MINUTE": 60, "HOUR": 3600, "DAY": 86_400, "WEEK": 604_800}
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}


@dataclass(frozen=True)
class StartMode:
    """Where sources begin.

    Attributes:
        kind: FROM_BEGINNING, FROM_NOW or FROM_TIMESTAMP, perhaps behind RESUME_OR_.
        ago: How long before now: a number, and its unit.
        at: A timestamp, as it is written.
        local: Whether that is one of the session's time zone, and not of UTC.
    """

    kind: str
    ago: tuple[int, str] | None = None
    at: str | None = None
    local: bool = False

    @staticmethod
    def of(kind: str, value: str | None = None, detail: str = "") -> StartMode:
        """What a statement says: an interval and its unit, or a timestamp and its zone."""
        if value is None:
            return StartMode(kind)
        if kind.endswith("TIMESTAMP"):
            if parse_timestamp(value) is None:
                raise SqlError(f"START_MODE begins at a timestamp, which {value!r} is not")
            return StartMode(kind, at=value, local=bool(detail))
        unit = detail.upper().removesuffix("S")
        if unit not in (*_SECONDS, *_MONTHS):
            raise SqlError(
                "Materialized table start mode only supports SECOND, MINUTE, HOUR, DAY, WEEK, "
                "MONTH, QUARTER, YEAR as the time unit."
            )
        if not value.isdecimal() or int(value) == 0:
            raise SqlError(
                "The start mode interval currently only supports positive integer type values. "
                f"But was: {value}"
            )
        return StartMode(kind, (int(value), unit))

    @property
    def resumes(self) -> bool:
        """Whether the positions of the job before count, if there was one."""
        return self.kind.startswith("RESUME_OR_")

    @property
    def everything(self) -> bool:
        """Whether sources begin where their options say."""
        return self.kind.endswith("BEGINNING")

    def moment(self, now: int, zone: ZoneInfo) -> int | None:
        """The microsecond from which on sources read; None for what comes from now on."""
        if self.at is not None:
            local = parse_timestamp(self.at)
            assert local is not None
            return to_instant(zone, local) if self.local else local
        if self.ago is None:
            return None
        number, unit = self.ago
        if unit in _MONTHS:
            return add_months(now, -number * _MONTHS[unit])
        return now - number * _SECONDS[unit] * 1_000_000

    def __str__(self) -> str:
        if self.at is not None:
            zone = "WITH LOCAL TIME ZONE " if self.local else ""
            return f"{self.kind}(TIMESTAMP {zone}'{self.at}')"
        if self.ago is not None:
            return f"{self.kind}(INTERVAL '{self.ago[0]}' {self.ago[1]})"
        return self.kind


FROM_BEGINNING = StartMode("FROM_BEGINNING")
