"""Windows as a Table API program names them, before they are bound."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.sql.parser import syntax as x

__all__ = ["GroupWindow", "OverWindow"]


@dataclass(frozen=True)
class GroupWindow:
    """Groups of rows: kind, lengths, the time that counts, and a name."""

    kind: str
    lengths: tuple[x.Node, ...]
    time: x.Node
    name: str

    @property
    def counts_rows(self) -> bool:
        """Whether a length is a number of rows."""
        return any(isinstance(a, x.Apply) and a.function == "$rows" for a in self.lengths)


@dataclass(frozen=True)
class OverWindow:
    """Rows around a row: a name, and what SQL writes in OVER."""

    name: str
    over: x.Over
