"""What the pattern of MATCH_RECOGNIZE is made of, for the planner and for slots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from headrace.sql.parser.syntax import Span
from headrace.sql.plan.expressions import AggregateCall

__all__ = ["PatternVariable", "Reference"]


@dataclass(frozen=True)
class PatternVariable:
    """A variable of PATTERN: how often it is repeated, and how eagerly.

    `most` is None where there is no limit. `greedy` says that as many rows as possible belong to
    it; what is repeated a fixed number of times is not greedy.
    """

    name: str
    least: int = 1
    most: int | None = 1
    greedy: bool = False
    span: Span | None = field(default=None, compare=False)

    def text(self) -> str:
        """With its quantifier, as plans show it."""
        least, most = self.least, self.most
        short = {(1, 1): "", (0, 1): "?", (0, None): "*", (1, None): "+"}
        if (least, most) in short:
            times = short[least, most]
        else:
            end = "" if most is None else most
            times = f"{{{least}}}" if least == most else f"{{{least},{end}}}"
        fixed = least == most or (least, most) == (0, 1)
        return f"{self.name}{times}{'' if fixed or self.greedy else '?'}"


@dataclass(frozen=True)
class Reference:
    """A value of the rows that a variable has: of one row, or an aggregate of all.

    Attributes:
        variable: Position in the pattern; None means the rows of all variables.
        column: Of the input; not used by an aggregate.
        offset: Rows from the first, or back from the last one.
        first: Whether rows are counted from the first one.
        call: The aggregate.
    """

    variable: int | None
    column: int = 0
    offset: int = 0
    first: bool = False
    call: AggregateCall | None = None

    def text(self, variables: Sequence[str], names: Sequence[str]) -> str:
        """As plans show it."""
        name = "*" if self.variable is None else variables[self.variable]
        if self.call is not None:
            return self.call.text([f"{name}.{n}" for n in names])
        return f"{'FIRST' if self.first else 'LAST'}({name}.{names[self.column]}, {self.offset})"
