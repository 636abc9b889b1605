"""Between what drivers of databases give and internal rows."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

from headrace.datastream.connectors.jdbc import JdbcConnectionOptions
from headrace.sql.plan.expressions import Schema
from headrace.sql.types import BooleanType, DataType
from headrace.sql.types.values import to_internal

__all__ = ["DriverRows", "OfMySql"]


@dataclass(frozen=True)
class OfMySql:
    """MySQL has numbers for BOOLEAN, and its driver durations for TIME."""

    types: tuple[DataType, ...]

    def __call__(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple([_of_mysql(v, x) for v, x in zip(row, self.types, strict=True)])


def _of_mysql(value: Any, type_: DataType) -> Any:
    if isinstance(type_, BooleanType) and isinstance(value, int | bytes):
        return value not in (0, b"\0")
    if isinstance(value, datetime.timedelta):
        return (datetime.datetime(1970, 1, 1) + value).time()
    return value


@dataclass(frozen=True)
class DriverRows:
    """Makes internal rows of those of a driver."""

    options: JdbcConnectionOptions
    schema: Schema
    zone: str

    def __call__(self, rows: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Internal rows of the driver's."""
        if self.options.url.product != "postgresql":
            rows = list(map(OfMySql(tuple(self.schema.types)), rows))
        return list(map(to_internal(self.schema.row_type, ZoneInfo(self.zone)), rows))
