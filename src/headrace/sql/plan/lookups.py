"""The node of a lookup join: rows of one relation, each with what a table has for its key now."""

from __future__ import annotations

from dataclasses import dataclass, field

from headrace.sql.plan import nodes as n
from headrace.sql.plan.expressions import Expression, expression_text
from headrace.sql.plan.joins import JoinKind
from headrace.sql.plan.lookup_hint import LookupHint

__all__ = ["LookupJoin"]


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
        hint: How lookups run, where a hint says so.
        kept_by: Columns by which rows meet what was found for them before; None if it is not kept.
    """

    kind: JoinKind
    table: n.Scan
    columns: tuple[int, ...]
    keys: tuple[Expression, ...]
    conditions: tuple[Expression, ...] = ()
    projections: tuple[Expression, ...] | None = None
    condition: Expression | None = None
    hint: LookupHint = field(default_factory=LookupHint)
    kept_by: tuple[int, ...] | None = None

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
            *self.hint.texts(self.table.source.looks_up_asynchronously),
            *(["upsertMaterialize=[true]"] if self.kept_by is not None else ()),
        ]
