"""Finds the parts of a plan that Spark's JVM runs.

A segment begins at a table that Spark can read, and goes up through projections, filters and
watermarks as far as everything in them can be written in Spark's SQL. Where a whole input of an
aggregate can, the local phase of the aggregate belongs to the segment too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.sql import types as t
from headrace.sql.plan import nodes as n
from headrace.sql.plan.expressions import Expression, Field, columns_used
from headrace.sql.plan.match import Match
from headrace.sql.segments.aggregates import LocalPlace, local_places
from headrace.sql.segments.expressions import (
    UnsupportedBySparkError,
    column_name,
    quoted,
    spark_text,
    storage,
)
from headrace.sql.segments.ranking import check_rankable
from headrace.sql.segments.windows import (
    is_utc,
    session_places,
    slice_end_text,
    window_column_texts,
)
from headrace.sql.types.type_rules import is_character, is_timestamp

__all__ = [
    "LocalPhase",
    "LocalRank",
    "Segment",
    "SegmentSettings",
    "Select",
    "Where",
    "find_segments",
    "segment_places",
]

_NULL_TIME = "RowTime field should not be null, please convert it to a non-null long value."
_WATERMARK = "watermark"


@dataclass(frozen=True)
class Where:
    """Keeps rows."""

    text: str


@dataclass(frozen=True)
class Select:
    """New columns: names and texts. Those that nobody needs are left out."""

    texts: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class LocalPhase:
    """An aggregation before the exchange.

    Attributes:
        keys: Columns of the group.
        key_fields: Their names and types.
        slice_end: The end of a row's slice in milliseconds, if there are windows.
        places: The places of the accumulator.
        watermark: The column of the watermark that a row stands for, in microseconds.
        gap: That of sessions in milliseconds; the last two places are the first and last time.
    """

    keys: tuple[int, ...]
    key_fields: tuple[Field, ...]
    places: tuple[LocalPlace, ...]
    slice_end: str | None = None
    watermark: str | None = None
    gap: int | None = None


@dataclass(frozen=True)
class LocalRank:
    """A ranking within windows before the exchange, on the columns that come out.

    Attributes:
        watermark: The column of the watermark that a row stands for, in microseconds.
    """

    watermark: str


@dataclass(frozen=True)
class Segment:
    """What Spark runs for a node of the plan, which it replaces with all below.

    Attributes:
        scan: What Spark reads, as the connector describes it.
        steps: What it does with the rows, in order.
        columns: Which columns of the node come out; the others are not needed.
        nodes: The nodes it stands for, the lowest first.
        local: The local phase of the aggregate or ranking above, if it belongs to the segment.
    """

    scan: Any
    steps: tuple[Where | Select, ...]
    columns: tuple[int, ...]
    nodes: tuple[n.Node, ...]
    local: LocalPhase | LocalRank | None = None


@dataclass(frozen=True)
class SegmentSettings:
    """What decides about segments besides the plan.

    Attributes:
        enabled: Whether there are any.
        two_phase: Whether aggregates have a local phase.
        zone: The session's time zone.
        marks_when_idle: Whether sources become idle after a while.
    """

    enabled: bool = True
    two_phase: bool = True
    zone: str = "UTC"
    marks_when_idle: bool = False


def find_segments(plan: n.Node, settings: SegmentSettings) -> dict[int, Segment]:
    """Segments by the `id` of the node that they stand for, or whose local phase they have."""
    found: dict[int, Segment] = {}
    if settings.enabled:
        _Finder(settings, found).visit(plan, not isinstance(plan, n.Sink), None)
    return found


def segment_places(segments: Mapping[int, Segment]) -> dict[int, str]:
    """Where the nodes of segments run, by their `id`, as EXPLAIN says it."""
    places: dict[int, str] = {}
    for top, segment in segments.items():
        places |= dict.fromkeys(map(id, segment.nodes), "Spark's JVM")
        if isinstance(segment.local, LocalPhase):
            places[top] = "local phase in Spark's JVM, then headrace operator"
    return places


_ON_TIME = (
    n.WindowTable,
    n.WindowAggregate,
    n.RowWindowAggregate,
    n.OverAggregate,
    n.Deduplicate,
    n.Rank,
    n.Sort,
    Match,
)
_STEPS = (n.Project, n.Filter, n.WatermarkAssigner)


class _Finder:
    def __init__(self, settings: SegmentSettings, found: dict[int, Segment]) -> None:
        self._settings = settings
        self._found = found

    def visit(self, node: n.Node, timely: bool, needed: frozenset[int] | None) -> None:
        """Look for segments at and below a node.

        Args:
            node: The node.
            timely: Whether anybody above needs watermarks.
            needed: The columns that are needed above; None: all.
        """
        if isinstance(node, n.Aggregate | n.WindowAggregate) and self._aggregated(node):
            return
        if isinstance(node, n.Rank) and self._ranked(node, needed):
            return
        if isinstance(node, (n.Scan, *_STEPS)):
            chain = _chain(node)
            if chain is not None:
                self._rows(chain, timely, needed)
                return
        timely = timely or isinstance(node, _ON_TIME)
        for child in node.inputs:
            self.visit(child, timely, _needed_below(node, needed))

    def _aggregated(self, node: n.Aggregate | n.WindowAggregate) -> bool:
        chain = _chain(node.input)
        if chain is None or not self._settings.two_phase:
            return False
        if isinstance(node, n.WindowAggregate) and not self._sliced(node):
            return False
        needed = _needed_below(node, None)
        try:
            steps = _Steps(chain, needed)
            if steps.compile() < len(chain):
                return False
            _check_keys(node)
            local = _local_phase(node)
        except UnsupportedBySparkError:
            return False
        if local.watermark is not None and not self._has_marks(steps):
            return False
        self._found[id(node)] = steps.segment(len(chain), local)
        return True

    def _sliced(self, node: n.WindowAggregate) -> bool:
        """Whether rows go into slices by a clock that Spark has, or that it need not have."""
        return not node.attached and (
            node.window.kind == "SESSION" or self._on_spark_clock(node.window)
        )

    def _on_spark_clock(self, window: n.Window) -> bool:
        return not window.event_time or not window.zoned or is_utc(self._settings.zone)

    def _has_marks(self, steps: _Steps) -> bool:
        return steps.has_watermark and not self._settings.marks_when_idle

    def _ranked(self, node: n.Rank, needed: frozenset[int] | None) -> bool:
        """Whether columns can be ranked, before there are any rows."""
        chain = _chain(node.input, (*_STEPS, n.WindowTable))
        if chain is None or not self._settings.two_phase:
            return False
        if node.window is None or node.function != "ROW_NUMBER":
            return False
        windows = [x.window for x in chain if isinstance(x, n.WindowTable)]
        if not all(map(self._on_spark_clock, windows)):
            return False
        steps = _Steps(chain, _needed_below(node, needed))
        used = {*node.partition, *(k.index for k in node.order)}
        try:
            check_rankable([node.input.schema[i].type for i in sorted(used)])
        except UnsupportedBySparkError:
            return False
        if steps.compile() < len(chain) or not self._has_marks(steps):
            return False
        self._found[id(node)] = steps.segment(len(chain), LocalRank(_WATERMARK))
        return True

    def _rows(self, chain: list[n.Node], timely: bool, needed: frozenset[int] | None) -> None:
        steps = _Steps(chain, needed)
        count = steps.compile()
        if timely:
            # Watermarks of single rows are headrace's business.
            marks = [i for i, x in enumerate(chain) if isinstance(x, n.WatermarkAssigner)]
            count = min([count, *marks])
        while count and not chain[count - 1].schema:
            count -= 1
        if count:
            self._found[id(chain[count - 1])] = steps.segment(count)


def _local_phase(node: n.Aggregate | n.WindowAggregate) -> LocalPhase:
    fields = tuple(node.input.schema[i] for i in node.group)
    places = tuple(local_places(node.calls))
    if isinstance(node, n.Aggregate) or not node.window.event_time:
        return LocalPhase(node.group, fields, places)
    window, gap = node.window, None
    if window.kind == "SESSION":
        places, gap = (*places, *session_places(window)), window.size
    return LocalPhase(node.group, fields, places, slice_end_text(window), _WATERMARK, gap)


def _chain(node: n.Node, steps: tuple[type[Any], ...] = _STEPS) -> list[n.Node] | None:
    """A table that Spark can read and what is done with its rows, the table first."""
    chain: list[n.Node] = []
    while isinstance(node, steps):
        chain.append(node)
        node = node.input
    if not isinstance(node, n.Scan) or not hasattr(node.source, "spark_scan"):
        return None
    return [node, *reversed(chain)]


def _needed_below(node: n.Node, needed: frozenset[int] | None) -> frozenset[int] | None:
    """Columns of the input that a node needs, if these of its own are needed."""
    if isinstance(node, n.Project):
        wanted = range(len(node.expressions)) if needed is None else needed
        return _used([node.expressions[i] for i in wanted])
    if isinstance(node, n.Filter):
        return None if needed is None else needed | _used([node.condition])
    if isinstance(node, n.WatermarkAssigner):
        if needed is None:
            return None
        return needed | {node.column} | _used([node.watermark] if node.watermark else [])
    if isinstance(node, n.Aggregate | n.WindowAggregate):
        used = {*node.group, *(i for c in node.calls for i in c.args)}
        used |= {c.filter for c in node.calls if c.filter is not None}
        if isinstance(node, n.WindowAggregate):
            used |= {node.window.time} if node.window.event_time or node.attached else set()
        return frozenset(used)
    if isinstance(node, n.WindowTable | n.Rank) and needed is not None:
        width = len(node.input.schema)
        used = {i for i in needed if i < width}
        if isinstance(node, n.WindowTable):
            return frozenset({*used, node.window.time})
        return frozenset({*used, *node.partition, *(k.index for k in node.order)})
    return None


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
        needed = _needed_below(node, wanted)
    return found[::-1]


class _Steps:
    """Texts of the nodes of a chain, one after the other."""

    def __init__(self, chain: list[n.Node], needed: frozenset[int] | None) -> None:
        self._chain = chain
        self._needed = _needed_of(chain, needed)
        self._steps: list[tuple[Where | Select, ...]] = []
        self._scan: Any = None
        self.has_watermark = False

    def compile(self) -> int:
        """How many nodes could be written in Spark's SQL."""
        columns = self._needed[0]
        self._scan = self._chain[0].source.spark_scan(columns)  # type: ignore[attr-defined]
        if self._scan is None:
            return 0
        for node, needed in zip(self._chain, self._needed, strict=True):
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
            texts += [(_WATERMARK, _WATERMARK)] * self.has_watermark
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
        return Select((*columns, *[(_WATERMARK, _WATERMARK)] * self.has_watermark))

    def _assigned(
        self, node: n.WatermarkAssigner, needed: Sequence[int]
    ) -> tuple[Where | Select, ...]:
        """The watermark as a column more, and no row without a time."""
        if node.watermark is None:
            raise UnsupportedBySparkError("watermarks of the source")
        time = column_name(node.column)
        texts = [(column_name(i), column_name(i)) for i in needed]
        texts.append((_WATERMARK, spark_text(node.watermark)))
        self.has_watermark = True
        present = f"assert_true({time} IS NOT NULL, {quoted(_NULL_TIME)}) IS NULL"
        return (Where(present), Select(tuple(texts)))

    def segment(self, count: int, local: LocalPhase | LocalRank | None = None) -> Segment:
        """The segment of the first nodes."""
        steps = tuple(step for some in self._steps[:count] for step in some)
        nodes = tuple(self._chain[:count])
        return Segment(self._scan, steps, tuple(self._needed[count - 1]), nodes, local)


_KEYS = t.IntegralType | t.BooleanType | t.DateType | t.TimeType


def _check_keys(node: n.Aggregate | n.WindowAggregate) -> None:
    """Spark groups by values that are compared as headrace does; constants it would leave out."""
    below = node.input
    for key in node.group:
        type_ = below.schema[key].type
        if not (isinstance(type_, _KEYS) or is_timestamp(type_) or is_character(type_)):
            raise UnsupportedBySparkError(f"a key of type {type_.sql_text()}")
    if isinstance(below, n.Project):
        keys = [below.expressions[k] for k in node.group]
        if len(set(keys)) < len(keys) or any(not columns_used(k) for k in keys):
            raise UnsupportedBySparkError("a constant key, or one key twice")
