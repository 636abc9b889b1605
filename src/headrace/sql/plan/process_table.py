"""The node of a process table function's call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from headrace.sql.plan.expressions import Expression, SortKey, expression_text
from headrace.sql.plan.nodes import Node
from headrace.sql.udf.process.binding import ProcessTableBinding
from headrace.sql.udf.process.signature import Argument

__all__ = ["GivenTable", "ProcessTable"]


@dataclass(frozen=True)
class GivenTable:
    """How a call gives a table to the function.

    Attributes:
        argument: What the function declares.
        names: Of the columns, as the function sees them.
        partition: The columns of PARTITION BY.
        order: The columns of ORDER BY.
        time: The column of `on_time`.
        upserts: Whether updates come without the rows before them.
    """

    argument: Argument
    names: tuple[str, ...]
    partition: tuple[int, ...] = ()
    order: tuple[SortKey, ...] = ()
    time: int | None = None
    upserts: bool = False

    def text(self, relation: int) -> str:
        """As plans show it."""
        parts = [f"{self.argument.name} => TABLE(#{relation})"]
        if self.partition:
            parts.append(f"PARTITION BY({', '.join(self.names[i] for i in self.partition)})")
        if self.order:
            keys = [
                f"{self.names[k.index]} {'DESC' if k.descending else 'ASC'}" for k in self.order
            ]
            parts.append(f"ORDER BY({', '.join(keys)})")
        if self.upserts:
            parts.append("UPSERTS")
        return " ".join(parts)


@dataclass(frozen=True, eq=False)
class ProcessTable(Node):
    """The rows that a function makes of those of its tables; without any, it is called once.

    Columns are those of `partition` of each table, or all of a table whose columns pass through,
    then those of the function, then the time of the row or timer if there is `on_time`.

    Attributes:
        relations: What is read; a single row without columns if there is no table.
        function: The function.
        tables: How each relation is given to it.
        values: The other arguments, in their order.
        uid: Under which its state is found; None for a function without any.
    """

    relations: tuple[Node, ...]
    function: ProcessTableBinding
    tables: tuple[GivenTable, ...]
    values: tuple[Expression, ...]
    uid: str | None

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.relations

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        return replace(self, relations=tuple(inputs))

    @property
    def keyed(self) -> bool:
        """Whether rows belong together, by key."""
        return any(table.argument.is_set for table in self.tables)

    @property
    def has_time(self) -> bool:
        """Whether the time of a row or timer is the last column."""
        return any(table.time is not None for table in self.tables)

    def texts(self) -> list[str]:
        """What EXPLAIN shows."""
        given = [table.text(i) for i, table in enumerate(self.tables)]
        scalars = [a for a in self.function.signature.arguments if not a.is_table]
        for argument, value in zip(scalars, self.values, strict=True):
            given.append(f"{argument.name} => {expression_text(value, [])}")
        parts = [f"invocation=[{self.function.name}({', '.join(given)})]"]
        if self.uid is not None:
            parts.append(f"uid=[{self.uid}]")
        return [*parts, f"select=[{', '.join(self.schema.names)}]"]
