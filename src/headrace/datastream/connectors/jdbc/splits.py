"""The parts that a query is read in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["JdbcSplit", "PartitionColumn"]


@dataclass(frozen=True)
class PartitionColumn:
    """A column by whose values a query is cut into ranges.

    Attributes:
        name: A column of the query's result: of numbers, dates or timestamps.
        partitions: Number of ranges, which differ in width as little as possible.
        lower: Where the first range starts; asked of the database if it is None.
        upper: The last value of the last range; asked of the database if it is None.
        within: Whether rows outside of the bounds, and those without a value, are left out.
    """

    name: str
    partitions: int
    lower: Any = None
    upper: Any = None
    within: bool = False


@dataclass(frozen=True)
class JdbcSplit:
    """One part: a statement with its values, and how many rows of its result are read already."""

    split_id: str
    sql: str
    parameters: tuple[Any, ...] = ()
    rows_read: int = 0
