"""What the parameters of a process table function say of themselves, inside of `Annotated`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from typing import Any

__all__ = ["ArgumentHint", "ArgumentTrait", "StateHint"]


class ArgumentTrait(Enum):
    """What an argument is, and what its table may be; the first three exclude each other."""

    SCALAR = "a value"
    ROW_SEMANTIC_TABLE = "a table whose rows have nothing to do with each other"
    SET_SEMANTIC_TABLE = "a table whose rows belong together, by the columns of PARTITION BY"
    OPTIONAL_PARTITION_BY = "without PARTITION BY, all rows of the table belong together"
    PASS_COLUMNS_THROUGH = "all columns of the table come out again, before those of the function"
    SUPPORT_UPDATES = "the table may change"
    REQUIRE_UPDATE_BEFORE = "each update comes with the row before it"
    REQUIRE_FULL_DELETE = "the row of a delete has all its values"
    REQUIRE_ON_TIME = "the call must name the table's time with on_time"


class ArgumentHint:
    """Traits of an argument, and perhaps its type.

    Args:
        traits: What the argument is; a value if not given.
        type: A value's type, or the columns of a table, as a `DataType` or its SQL text. By default
            it is that of the annotation, and a table may have any columns.

    Example:
        >>> input: Annotated[Row, ArgumentHint(ArgumentTrait.SET_SEMANTIC_TABLE)]
    """

    def __init__(self, *traits: ArgumentTrait, type: Any = None) -> None:
        self.traits = frozenset(traits or (ArgumentTrait.SCALAR,))
        self.type = type


@dataclass(frozen=True)
class StateHint:
    """Says that a parameter is state.

    Attributes:
        type: Its type, as a `DataType` or its SQL text; by default that of the annotation.
        ttl: How long it stays after it was last written, as a `timedelta` or in Flink's form
            (`1 day`); 0 is for ever. By default `table.exec.state.ttl` says so.
    """

    type: Any = None
    ttl: timedelta | str | None = None
