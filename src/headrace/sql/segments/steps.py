"""Plans from a table up to some node, written in Spark's SQL as far as it can be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from headrace.sql.physical.nodes import Calc, LocalAggregate, LocalRank, LocalWindowAggregate
from headrace.sql.plan import nodes as n
from headrace.sql.plan.expressions import Expression, columns_used
from headrace.sql.room import with_room
from headrace.sql.segments.column_steps import column_reading
from headrace.sql.segments.expressions import (
    UnsupportedBySparkError,
    column_name,
    spark_text,
    storage,
)
from headrace.sql.segments.segment import LocalPhase, LocalRanking, Segment, Select, Where
from headrace.sql.segments.windows import present_text, window_column_texts

__all__ = [
    "STEPS",
    "WATERMARK",
    "Steps",
    "chain_of",
    "columns_needed",
    "look_at",
    "needed_below",
]

WATERMARK = "watermark"
"""The column of the watermark that a row stands for, in microseconds."""

STEPS = (n.Project, n.Filter, n.WatermarkAssigner)


def chain_of(node: n.Node, steps: tuple[type[Any], ...] = STEPS) -> list[n.Node] | None:
    """A table that Spark can read and what is done with its rows, the table first."""
    chain: list[n.Node] = []
    while isinstance(node, steps):
        chain.append(node)
        node = node.input
    if not isinstance(node, n.Scan) or not hasattr(node.source, "spark_scan"):
        return None
    return [node, *reversed(chain)]


def needed_below(node: n.Node, needed: frozenset[int] | None) -> frozenset[int] | None:
    """Columns of the input that a node needs, if these of its own are needed."""
    if isinstance(node, n.Project):
        wanted = range(len(node.expressions)) if needed is None else needed
        return _used([node.expressions[i] for i in wanted])
    if isinstance(node, Calc):
        if node.projections is None:
            return None if needed is None else needed | _used(node.conditions)
        return _used([*node.conditions, *node.projections])
    if isinstance(node, n.Filter):
        return None if needed is None else needed | _used([node.condition])
    if isinstance(node, n.WatermarkAssigner):
        if needed is None:
            return None
        return needed | {node.column} | _used([node.watermark] if node.watermark else [])
    if isinstance(node, n.Aggregate | n.WindowAggregate | LocalAggregate | LocalWindowAggregate):
        used = {*node.group, *(i for c in node.calls for i in c.args)}
        used |= {c.filter for c in node.calls if c.filter is not None}
        if isinstance(node, n.WindowAggregate | LocalWindowAggregate):
            attached = isinstance(node, n.WindowAggregate) and node.attached
            used |= {node.window.time} if node.window.event_time or attached else set()
        return frozenset(used)
    if isinstance(node, n.BatchedCalls | n.Correlate) and needed is not None:
        width = len(node.input.schema)
        used = {i for i in (needed | _used(_looked_at(node))) if i < width}
        return frozenset(used)
    if isinstance(node, n.WindowTable | n.Rank | LocalRank) and needed is not None:
        width = len(node.input.schema)
        used = {i for i in needed if i < width}
        if isinstance(node, n.WindowTable):
            return frozenset({*used, node.window.time, *node.window.partition})
        return frozenset({*used, *node.partition, *(k.index for k in node.order)})
    return None


@with_room
def columns_needed(plans: Sequence[n.Node]) -> dict[n.Node, frozenset[int] | None]:
    """Which columns of each node any of its readers looks at; None: all of them."""
    found: dict[n.Node, frozenset[int] | None] = {}
    for plan in plans:
        look_at(plan, None, found)
    return found


def look_at(
    node: n.Node, needed: frozenset[int] | None, found: dict[n.Node, frozenset[int] | None]
) -> None:
    """Notes that somebody looks at some columns of a node, and what that means for those below."""
    before = found.get(node, frozenset())
    both = None if needed is None or before is None else before | needed
    if node in found and both == before:
        return
    found[node] = both
    for below in node.inputs:
        look_at(below, needed_below(node, both), found)


def _looked_at(node: n.BatchedCalls | n.Correlate) -> Sequence[Expression]:
    """What a node computes; a condition of pairs is over columns of both sides."""
    if isinstance(node, n.BatchedCalls):
        return node.calls
    return (*node.arguments, *([] if node.condition is None else [node.condition]))


def _used(expressions: Iterable[Expression]) -> frozenset[int]:
    return frozenset[int]().union(*(columns_used(e) for e in expressions))


def _needed_of(chain: list[n.Node], needed: frozenset[int] | None) -> list[list[int]]:
    """For each node of a chain those of its columns that are needed above it."""
    found: list[list[int]] = []
    for node in reversed(chain):
        wanted = frozenset(range(len(node.schema))) if needed is None else needed
        # Rows that are only counted have one column, too, if there is any.
        wanted = wanted or frozenset(range(len(node.schema))[:1])
        found.append(sorted(wanted))
        needed = needed_below(node, wanted)
    return found[::-1]


class Steps:
    """Texts of the nodes of a chain, one after the other."""

    def __init__(self, chain: list[n.Node], needed: frozenset[int] | None) -> None:
        self.chain = chain
        self._needed = _needed_of(chain, needed)
        self._steps: list[tuple[Where | Select, ...]] = []
        self._scan: Any = None
        self.has_watermark = False

    def compile(self) -> int:
        """How many nodes could be written in Spark's SQL."""
        columns = self._needed[0]
        self._scan = self.chain[0].source.spark_scan(columns)  # type: ignore[attr-defined]
        if self._scan is None:
            return 0
        for node, needed in zip(self.chain, self._needed, strict=True):
            try:
                self._steps.append(self._texts(node, needed))
            except UnsupportedBySparkError:
                break
        return len(self._steps)

    def _texts(self, node: n.Node, needed: Sequence[int]) -> tuple[Where | Select, ...]:
        for index in needed:
            storage(node.schema[index].type)
        if isinstance(node, n.Filter):
            return (Where(spark_text(node.condition)),)
        if isinstance(node, n.Project):
            texts = [(column_name(i), spark_text(node.expressions[i])) for i in needed]
            texts += [(WATERMARK, WATERMARK)] * self.has_watermark
            return (Select(tuple(texts)),) if texts else ()
        if isinstance(node, n.WatermarkAssigner):
            return self._assigned(node, needed)
        if isinstance(node, n.WindowTable):
            return (self._windowed(node, needed),)
        return ()

    def _windowed(self, node: n.WindowTable, needed: Sequence[int]) -> Select:
        first = len(node.input.schema)
        texts = dict(enumerate(window_column_texts(node.window), first))
        columns = [(column_name(i), texts.get(i, column_name(i))) for i in needed]
        return Select((*columns, *[(WATERMARK, WATERMARK)] * self.has_watermark))

    def _assigned(
        self, node: n.WatermarkAssigner, needed: Sequence[int]
    ) -> tuple[Where | Select, ...]:
        """The watermark as a column more, and no row without a time."""
        if node.watermark is None:
            raise UnsupportedBySparkError("watermarks of the source")
        texts = [(column_name(i), column_name(i)) for i in needed]
        texts.append((WATERMARK, spark_text(node.watermark)))
        self.has_watermark = True
        return (Where(present_text(node.column)), Select(tuple(texts)))

    def segment(self, count: int, local: LocalPhase | LocalRanking | None = None) -> Segment:
        """The segment of the first nodes."""
        steps = tuple(step for some in self._steps[:count] for step in some)
        nodes = tuple(self.chain[:count])
        reading = column_reading(self._scan, nodes, self._needed[:count], local)
        columns = tuple(self._needed[count - 1])
        return Segment(self._scan, steps, columns, nodes, local, reading=reading)
