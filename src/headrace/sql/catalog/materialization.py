"""What a catalog keeps of a materialized table besides its columns: query, freshness, refresh."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from headrace.common.errors import SqlError
from headrace.sql.catalog.start_mode import FROM_BEGINNING, StartMode

__all__ = ["Freshness", "Materialization"]

_SECONDS = {"SECOND": 1, "MINUTE": 60, "HOUR": 3600, "DAY": 86_400, "WEEK": 604_800}
_BOUNDS = {"SECOND": 60, "MINUTE": 60, "HOUR": 24}
"""How many of a unit the next larger one has."""


@dataclass(frozen=True)
class Freshness:
    """How far a materialized table may lag behind: INTERVAL 'number' unit."""

    number: int
    unit: str

    @staticmethod
    def of(number: str, unit: str) -> Freshness:
        """What a statement says."""
        known = unit.upper().removesuffix("S")
        if known not in _SECONDS:
            raise SqlError(
                "Materialized table freshness only supports SECOND, MINUTE, HOUR, DAY, WEEK as "
                "the time unit."
            )
        try:
            count = int(number)
        except ValueError:
            count = 0
        if count <= 0:
            raise SqlError(
                "The freshness interval currently only supports positive integer type values. "
                f"But was: {number}"
            )
        return Freshness(count, known)

    @staticmethod
    def of_seconds(seconds: int) -> Freshness:
        """A duration, in the largest unit up to days that has it as a whole number."""
        unit = next(u for u in ("DAY", "HOUR", "MINUTE", "SECOND") if seconds % _SECONDS[u] == 0)
        return Freshness.of(str(seconds // _SECONDS[unit]), unit)

    @property
    def seconds(self) -> int:
        return self.number * _SECONDS[self.unit]

    def __str__(self) -> str:
        return f"INTERVAL '{self.number}' {self.unit}"

    def check_periodic(self) -> None:
        """Refuse what does not divide the next larger unit: the schedule is that of a clock."""
        if self.unit == "DAY" and self.number > 1:
            raise SqlError("In full refresh mode, freshness must be 1 when the time unit is DAY.")
        if self.unit == "WEEK":
            raise SqlError("Unknown freshness time unit: WEEK.")
        bound = _BOUNDS.get(self.unit, 1)
        if self.unit != "DAY" and self.number >= bound:
            raise SqlError(
                f"In full refresh mode, freshness must be less than {bound} when the time unit "
                f"is {self.unit}."
            )
        if bound % self.number != 0:
            raise SqlError(
                f"In full refresh mode, only freshness that are factors of {bound} are currently "
                f"supported when the time unit is {self.unit}."
            )

    def next_after(self, moment: datetime.datetime) -> datetime.datetime:
        """The next time of the schedule, which begins at midnight."""
        midnight = moment.replace(hour=0, minute=0, second=0, microsecond=0)
        passed = (moment - midnight) // datetime.timedelta(seconds=self.seconds)
        return midnight + datetime.timedelta(seconds=self.seconds * (passed + 1))


@dataclass(frozen=True)
class Materialization:
    """How a materialized table is filled.

    Attributes:
        query: The text of its query.
        namespace: The catalog and database in which names of the query are found.
        freshness: How far it may lag behind.
        mode: CONTINUOUS or FULL.
        start: Where the sources of a continuous job begin that goes on from nothing.
        status: INITIALIZING, ACTIVATED or SUSPENDED.
        job_id: The job that refreshes it continuously, or did so last.
        savepoint: What the next continuous job goes on from.
    """

    query: str
    namespace: tuple[str, str]
    freshness: Freshness
    mode: str
    start: StartMode = FROM_BEGINNING
    status: str = "INITIALIZING"
    job_id: str | None = None
    savepoint: str | None = None
