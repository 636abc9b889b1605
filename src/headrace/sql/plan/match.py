"""The node of MATCH_RECOGNIZE, and the expressions over the rows of a match that it has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headrace.sql.plan.expressions import Expression, SortKey, expression_text
from headrace.sql.plan.nodes import OneInput
from headrace.sql.plan.patterns import PatternVariable, Reference

__all__ = ["Match", "MatchExpressions"]


@dataclass(frozen=True)
class MatchExpressions:
    """Expressions whose columns are `references`, in this order."""

    references: tuple[Reference, ...]
    expressions: tuple[Expression, ...]

    def texts(self, variables: Sequence[str], names: Sequence[str]) -> list[str]:
        """As plans show them."""
        columns = [r.text(variables, names) for r in self.references]
        return [expression_text(e, columns) for e in self.expressions]


@dataclass(frozen=True, eq=False)
class Match(OneInput):
    """A row for each match of a pattern: the columns of `partition`, then the measures.

    Attributes:
        partition: Columns; their rows are looked at apart from others.
        order: A time attribute, then what orders rows of the same time.
        pattern: The variables that rows belong to, one after the other.
        conditions: Of each variable; None takes every row.
        measures: The results.
        skip: Where the search goes on: PAST, NEXT, FIRST or LAST.
        skip_to: The variable of FIRST and LAST.
        within_ms: How long a match may take; None: any time.
    """

    partition: tuple[int, ...]
    order: tuple[SortKey, ...]
    pattern: tuple[PatternVariable, ...]
    conditions: tuple[MatchExpressions | None, ...]
    measures: MatchExpressions
    skip: str
    skip_to: int | None
    within_ms: int | None

    def texts(self, names: Sequence[str]) -> list[str]:
        """What EXPLAIN shows behind partition and order."""
        variables = [v.name for v in self.pattern]
        shown = self.schema.names[len(self.partition) :]
        measures = self.measures.texts(variables, names)
        defined = [
            f"{v} AS {c.texts(variables, names)[0]}"
            for v, c in zip(variables, self.conditions, strict=True)
            if c is not None
        ]
        to = "" if self.skip_to is None else f" {variables[self.skip_to]}"
        parts = [
            f"measures=[{', '.join(f'{m} AS {n}' for m, n in zip(measures, shown, strict=True))}]",
            f"after=[SKIP {self.skip}{to}]",
            f"pattern=[{' '.join(v.text() for v in self.pattern)}]",
        ]
        if self.within_ms is not None:
            parts.append(f"within=[{self.within_ms} ms]")
        return [*parts, f"define=[{', '.join(defined)}]"]
