"""Which nodes give the same rows, so that one of them is enough."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import fields
from typing import Any

from headrace.sql.plan import nodes as n
from headrace.sql.plan.process_table import ProcessTable

__all__ = ["Alike"]


class Alike:
    """Numbers nodes; those that do the same with the same have the same number.

    As in Flink, it does not matter whether they are deterministic: what is random is random once.
    """

    def __init__(self) -> None:
        self._numbers: dict[n.Node, int] = {}
        # By what is quick to compare; then what is to be compared, with the number.
        self._seen: defaultdict[Any, list[tuple[list[Any], int]]] = defaultdict(list)

    def number(self, node: n.Node) -> int:
        """The number of a node whose inputs have theirs."""
        found = self._numbers.get(node)
        if found is None:
            found = self._numbers[node] = self._find(node)
        return found

    def _find(self, node: n.Node) -> int:
        values = [self._compared(value) for value in _values(node)]
        inputs = tuple(self.number(i) for i in node.inputs)
        others = self._seen[type(node), inputs]
        new = len(self._numbers)
        # A process table function may do more than to give rows.
        if isinstance(node, ProcessTable):
            return new
        for before, number in others:
            if before == values:
                return number
        others.append((values, new))
        return new

    def _compared(self, value: Any) -> Any:
        """Numbers in place of nodes: inputs, and others, such as a table that is looked up."""
        if isinstance(value, tuple):
            return tuple(map(self._compared, value))
        return self.number(value) if isinstance(value, n.Node) else value


def _values(node: n.Node) -> list[Any]:
    """What a node is made of, as far as it decides about rows."""
    left_out = {"origin"}
    if isinstance(node, n.Scan) and node.declared is not None:
        left_out.add("source")
    return [getattr(node, f.name) for f in fields(node) if f.name not in left_out]
