"""The node of a lookup join: rows of one relation, each with what a table has for its key now."""

from __future__ import annotations

from dataclasses import dataclass, field

from headrace.sql.plan import nodes as n
from headrace.sql.plan.expression_text import expression_text
from headrace.sql.plan.expressions import Expression
from headrace.sql.plan.joins import JoinKind

__all__ = ["LookupHint", "LookupJoin"]


@dataclass(frozen=True)
class LookupHint:
    """What `LOOKUP('table' = ..., ...)` says.

    Attributes:
        asynchronous: Whether lookups are to run at the same time; None if it does not matter.
        capacity: How many of them, if it is said.
        timeout_ms: How long one may take, if it is said.
        attempts: How often a key is looked up at most until it has a row.
        retry_delay_ms: How long the next attempt waits.
    """

    asynchronous: bool | None = None
    capacity: int | None = None
    timeout_ms: int | None = None
    attempts: int = 1
    retry_delay_ms: int = 0

    def texts(self) -> list[str]:
        """As plans show it."""
        parts = []
        if self.asynchronous is not None:
            parts.append(f"async=[{str(self.asynchronous).lower()}]")
        if self.attempts > 1:
            parts.append(
                f"retry=[lookup_miss, FIXED_DELAY, {self.retry_delay_ms}ms, {self.attempts}]"
            )
        return parts


@dataclass(frozen=True, eq=False)
class LookupJoin(n.OneInput):
    """The columns of the input, then those of the rows that a table has for the key of a row.

    Attributes:
        kind: INNER, or LEFT where rows stay for which the table has none.
        table: Reads the table; nothing but its source is used.
        columns: Columns of the table that have the values of `keys`.
        keys: Over the columns of the input: columns, or constants.
        conditions: What rows of the table have to fulfil.
        projections: Their columns in the result; None for those of the table.
        condition: What pairs have to fulfil, over the columns of both.
    """

    kind: JoinKind
    table: n.Scan
    columns: tuple[int, ...]
    keys: tuple[Expression, ...]
    conditions: tuple[Expression, ...] = ()
    projections: tuple[Expression, ...] | None = None
    condition: Expression | None = None
    hint: LookupHint = field(default_factory=LookupHint)

    @property
    def width(self) -> int:
        """How many columns of the table there are in the result."""
        return len(self.schema) - len(self.input.schema)

    def texts(self) -> list[str]:
        """As plans show it."""
        table, names = self.table.schema.names, self.input.schema.names
        pairs = zip(self.columns, self.keys, strict=True)
        lookup = [f"{table[c]}={expression_text(k, names)}" for c, k in pairs]
        where = [expression_text(c, table) for c in self.conditions]
        if self.condition is not None:
            where.append(expression_text(self.condition, self.schema.names))
        return [
            f"table=[{'.'.join(self.table.table)}]",
            f"joinType=[{self.kind.value}]",
            f"lookup=[{', '.join(lookup)}]",
            *([f"where=[{' AND '.join(where)}]"] if where else ()),
            f"select=[{', '.join(self.schema.names)}]",
            *self.hint.texts(),
        ]
