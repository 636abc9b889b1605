"""The spec of the operator of process table functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from headrace.common.changelog_mode import ChangelogMode
from headrace.graph.specs import OperatorSpec
from headrace.sql.codegen.code import GeneratedCode
from headrace.sql.types import DataType, RowType
from headrace.sql.udf.process.binding import ProcessTableBinding

__all__ = ["ProcessTableSpec", "TableSpec"]


@dataclass(frozen=True)
class TableSpec:
    """A table that the function reads.

    Attributes:
        name: Of the argument.
        place: Of the argument among all of them.
        row_type: Its columns.
        partition: The columns of PARTITION BY.
        order: The columns of ORDER BY: column, descending, nulls first.
        time: The column of `on_time`.
        passes: The columns that come out before those of the function.
        changes: Whether its rows end with their kind.
        mode: The kinds that reach the function.
    """

    name: str
    place: int
    row_type: RowType
    partition: tuple[int, ...]
    order: tuple[tuple[int, bool, bool], ...]
    time: int | None
    passes: tuple[int, ...]
    changes: bool
    mode: ChangelogMode


@dataclass(frozen=True)
class ProcessTableSpec(OperatorSpec):
    """A process table function.

    Attributes:
        function: The function.
        tables: What it reads, one for each input; if there are none, it is called once.
        values: Code of the arguments that are values, and their places and types.
        places: Of these arguments.
        types: Of these arguments.
        has_time: Whether the time of a row or timer is the last column.
        keyed: Whether it has keys, and therefore state.
        timers: Whether it may have timers.
        ttl_ms: How long state is kept that does not say so itself; 0 is for ever.
        zone: The session's time zone.
    """

    function: ProcessTableBinding
    tables: tuple[TableSpec, ...]
    values: GeneratedCode
    places: tuple[int, ...]
    types: tuple[DataType, ...]
    has_time: bool
    keyed: bool
    timers: bool
    ttl_ms: int
    zone: str

    kind: ClassVar[str] = "ProcessTableFunction"
    operator: ClassVar[str] = "headrace.sql.operators.process.operator:ProcessTableOperator"
