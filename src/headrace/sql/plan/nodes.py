"""Relational nodes: what a query does, from its tables up. Immutable; rules make new ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from headrace.sql.parser.excerpts import Excerpt
from headrace.sql.plan.expressions import (
    AggregateCall,
    Call,
    Expression,
    Field,
    Literal,
    Schema,
    SortKey,
)

__all__ = [
    "Aggregate",
    "BatchedCalls",
    "ChangelogNormalize",
    "Correlate",
    "Deduplicate",
    "Expand",
    "Filter",
    "FromChangelog",
    "Limit",
    "Node",
    "OneInput",
    "OverAggregate",
    "Project",
    "Rank",
    "RowWindowAggregate",
    "Scan",
    "SetOperation",
    "Sink",
    "Sort",
    "ToChangelog",
    "TwoInputs",
    "Union",
    "Values",
    "WatermarkAssigner",
    "Window",
    "WindowAggregate",
    "WindowTable",
    "count_readers",
    "is_bounded",
]


@dataclass(frozen=True, eq=False)
class Node:
    """Base: `schema` are the columns that come out, `origin` is its text, for messages.

    With `every_change` each row changes the result at once, whatever the settings say of epochs.
    A node is itself and equal to no other: two inputs that are the same node are computed once.
    """

    #: Whether its rows are changes, even if those of its inputs only come.
    makes_changes: ClassVar[bool] = False
    #: Whether these changes are nothing but the inserts of its input.
    marks_inserts: ClassVar[bool] = False

    schema: Schema
    origin: Excerpt | None = field(default=None, repr=False, kw_only=True)
    every_change: bool = field(default=False, kw_only=True)

    @property
    def inputs(self) -> tuple[Node, ...]:
        return ()

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        return self


@dataclass(frozen=True, eq=False)
class OneInput(Node):
    """Base of nodes that read one relation."""

    input: Node

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        (only,) = inputs
        return replace(self, input=only)


@dataclass(frozen=True, eq=False)
class TwoInputs(Node):
    """Base of nodes that read two."""

    left: Node
    right: Node

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        left, right = inputs
        return replace(self, left=left, right=right)


@dataclass(frozen=True, eq=False)
class Scan(Node):
    """Reads a table; `source` is what a connector made for it, `table` names it.

    Its `primary_key` names a row, as the table declares it.
    A `watermark` over the table's columns is made by the source itself, for each of its splits.
    `declared` is what the connector made the source of: two sources of the same are the same.
    Its `rows` are how many there are, if statistics of the table say so.
    """

    table: tuple[str, ...]
    source: Any
    watermark: Expression | None = None
    primary_key: tuple[int, ...] = ()
    declared: Any = field(default=None, repr=False)
    rows: int | None = None


@dataclass(frozen=True, eq=False)
class Values(Node):
    """Rows that the statement itself has, in internal form."""

    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True, eq=False)
class Project(OneInput):
    """New columns."""

    expressions: tuple[Expression, ...]

    @staticmethod
    def of(input_: Node, expressions: Sequence[Expression], names: Sequence[str]) -> Project:
        """A projection whose columns have these names."""
        fields = tuple(Field(n, e.type, e.time) for n, e in zip(names, expressions, strict=True))
        return Project(Schema(fields), input_, tuple(expressions))


@dataclass(frozen=True, eq=False)
class Filter(OneInput):
    """Rows for which the condition is TRUE."""

    condition: Expression

    @staticmethod
    def of(input_: Node, condition: Expression) -> Filter:
        return Filter(input_.schema, input_, condition)


@dataclass(frozen=True, eq=False)
class WatermarkAssigner(OneInput):
    """Makes event time of a column, with a watermark that follows it."""

    column: int
    watermark: Expression | None


@dataclass(frozen=True, eq=False)
class Aggregate(OneInput):
    """One row for each combination of group columns: those columns, then the results.

    With `distinct_buckets` the rule `split_distinct` may make two levels of it.
    """

    group: tuple[int, ...]
    calls: tuple[AggregateCall, ...]
    state_ttl_ms: int | None = None
    distinct_buckets: int = 0


@dataclass(frozen=True, eq=False)
class Expand(OneInput):
    """Each row once for every grouping set: group columns that are not in it are NULL.

    The last column is the number of the set.
    """

    group: tuple[int, ...]
    sets: tuple[frozenset[int], ...]

    @property
    def numbers(self) -> list[int]:
        """Numbers of the sets: that of `GROUPING_ID`, over the columns of `group` in their order.

        A set that is there again has the number of times that it was there before above these bits.
        """
        before: Counter[frozenset[int]] = Counter()
        found = []
        for chosen in self.sets:
            bits = sum(1 << i for i, c in enumerate(reversed(self.group)) if c not in chosen)
            found.append(bits | before[chosen] << len(self.group))
            before[chosen] += 1
        return found


@dataclass(frozen=True)
class Window:
    """Windows of time; all lengths in milliseconds.

    Attributes:
        kind: TUMBLE, HOP, CUMULATE or SESSION.
        time: The column, a time attribute.
        size: Length, the longest of CUMULATE, the gap of SESSION.
        slide: Of HOP, the step of CUMULATE.
        offset: Shift of the start.
        partition: Columns that have sessions of their own.
        event_time: Whether the column is event time.
        zoned: Whether the column is TIMESTAMP_LTZ, so that windows follow the session's clock.
    """

    kind: str
    time: int
    size: int
    slide: int = 0
    offset: int = 0
    partition: tuple[int, ...] = ()
    event_time: bool = True
    zoned: bool = False

    def attached(self, end: int) -> Window:
        """The same windows where rows have them already: the column of their ends is the time."""
        return replace(self, time=end, partition=())

    def text(self, names: Sequence[str]) -> str:
        """As plans show it."""
        parts = [f"time_col=[{names[self.time]}]", f"size=[{duration_text(self.size)}]"]
        if self.kind == "SESSION":
            parts[1] = f"gap=[{duration_text(self.size)}]"
        if self.kind == "CUMULATE":
            parts[1] = f"max_size=[{duration_text(self.size)}]"
            parts.append(f"step=[{duration_text(self.slide)}]")
        if self.kind == "HOP":
            parts.append(f"slide=[{duration_text(self.slide)}]")
        if self.offset:
            parts.append(f"offset=[{duration_text(self.offset)}]")
        if self.partition:
            parts.append(f"partition keys=[{', '.join(names[i] for i in self.partition)}]")
        return f"{self.kind}({', '.join(parts)})"


def duration_text(millis: int) -> str:
    """As plans show it."""
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000)):
        if millis and millis % size == 0:
            return f"{millis // size} {unit}"
    return f"{millis} ms"


@dataclass(frozen=True, eq=False)
class WindowTable(OneInput):
    """A window table function: each row once for every window that it is in.

    Three columns follow those of the input: window_start, window_end and window_time.
    """

    window: Window


@dataclass(frozen=True, eq=False)
class WindowAggregate(OneInput):
    """One row for each window and combination of group columns, when the window is over.

    Columns are `group`, the results, then those of `properties` (start, end, time) in this order.
    With `attached`, the input has windows already, from another operator: the window's time is the
    column of their ends, and their starts are a group column.
    """

    window: Window
    group: tuple[int, ...]
    calls: tuple[AggregateCall, ...]
    properties: tuple[str, ...]
    attached: bool = False


@dataclass(frozen=True, eq=False)
class RowWindowAggregate(OneInput):
    """One row for every `size` rows of a combination of group columns, each `slide` rows."""

    group: tuple[int, ...]
    calls: tuple[AggregateCall, ...]
    size: int
    slide: int


@dataclass(frozen=True, eq=False)
class OverAggregate(OneInput):
    """Adds columns that are computed of the rows around each row.

    `start` is how many rows, or milliseconds, before the current one the frame begins; None is at
    the first row. `end` is how many behind it the frame ends; None is at the last row. With
    `any_order` rows do not come in the order, so that results change on a stream.
    """

    partition: tuple[int, ...]
    order: tuple[SortKey, ...]
    rows: bool
    start: int | None
    calls: tuple[AggregateCall, ...]
    end: int | None = 0
    any_order: bool = False


@dataclass(frozen=True, eq=False)
class Rank(OneInput):
    """The first rows of each partition, and perhaps their number as a last column.

    `rising` has the columns by which rows replace each other, if updates only move them up. With
    `latest` the latest ones of rows that are equal in the order come first, on streams.
    """

    partition: tuple[int, ...]
    order: tuple[SortKey, ...]
    start: int
    end: int
    numbered: bool
    function: str = "ROW_NUMBER"
    window: tuple[int, int] | None = None
    rising: tuple[int, ...] | None = None
    latest: bool = False


@dataclass(frozen=True, eq=False)
class ChangelogNormalize(OneInput):
    """All changes of a source that has but the newest row of each key."""

    makes_changes: ClassVar[bool] = True

    keys: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class ToChangelog(OneInput):
    """Changes as rows that only come: the code of the change, then the columns.

    `codes` are those of the kinds of rows, by their number; changes without a code are dropped.
    """

    codes: tuple[str | None, ...]


@dataclass(frozen=True, eq=False)
class FromChangelog(OneInput):
    """Rows that only come as changes, whose kind is that of the code in a column."""

    makes_changes: ClassVar[bool] = True

    op: int
    kinds: tuple[tuple[str, int], ...]


@dataclass(frozen=True, eq=False)
class Deduplicate(OneInput):
    """The first or last row of each key, by a time attribute."""

    keys: tuple[int, ...]
    order: int
    last: bool
    event_time: bool


@dataclass(frozen=True, eq=False)
class Sort(OneInput):
    """Rows in an order: by time in a stream, by anything where the input ends."""

    keys: tuple[SortKey, ...]


@dataclass(frozen=True, eq=False)
class Limit(OneInput):
    """Some of the rows; with `keys` those that come first in an order, as in a `Rank`."""

    offset: int
    fetch: int | None
    keys: tuple[SortKey, ...] = ()
    rising: tuple[int, ...] | None = None


@dataclass(frozen=True, eq=False)
class Union(Node):
    """All rows of several relations."""

    relations: tuple[Node, ...]

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.relations

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        return replace(self, relations=tuple(inputs))


@dataclass(frozen=True, eq=False)
class SetOperation(TwoInputs):
    """INTERSECT or EXCEPT of two relations, of distinct rows or of all."""

    kind: str
    all: bool


@dataclass(frozen=True, eq=False)
class Correlate(OneInput):
    """Each row with the rows that a table function makes of it; `outer` keeps rows without any."""

    function: Any
    arguments: tuple[Expression, ...]
    outer: bool = False
    condition: Expression | None = None


@dataclass(frozen=True, eq=False)
class BatchedCalls(OneInput):
    """Adds the results of functions that take many rows at once: pandas, Arrow and async ones."""

    calls: tuple[Call, ...]

    @staticmethod
    def varying(call: Call) -> tuple[Expression, ...]:
        """Arguments that are columns for the function: pandas functions get constants as values.

        With nothing but constants they are columns again, for how many rows there are must be seen.
        """
        if not getattr(call.function, "takes_constants", False):
            return call.args
        return tuple(a for a in call.args if not isinstance(a, Literal)) or call.args


@dataclass(frozen=True, eq=False)
class Sink(OneInput):
    """Writes to a table; `target` is what a connector made for it.

    Attributes:
        declared: The table's columns, with the constraints that its rows have to keep.
        upsert_keys: The columns of its primary key.
        conflict: What ON CONFLICT says, NOTHING, ERROR or DEDUPLICATE; None without it.
    """

    table: tuple[str, ...]
    target: Any
    declared: Schema
    upsert_keys: tuple[int, ...] = ()
    conflict: str | None = None


def rewrite_nodes(
    node: Node, change: Callable[[Node], Node], done: dict[Node, Node] | None = None
) -> Node:
    """The plan with nodes replaced, from the leaves up.

    A node that is the input of several is changed once, and stays one. With `done` this holds for
    all plans that are rewritten with it.
    """
    done = {} if done is None else done
    found = done.get(node)
    if found is not None:
        return found
    inputs = [rewrite_nodes(i, change, done) for i in node.inputs]
    same = all(a is b for a, b in zip(inputs, node.inputs, strict=True))
    changed = done[node] = change(node if same else node.with_inputs(inputs))
    return changed


def count_readers(plans: Sequence[Node]) -> Counter[Node]:
    """How many inputs each node is of, or results: who asks for a plan reads its last node."""
    readers: Counter[Node] = Counter()
    waiting = list(plans)
    while waiting:
        node = waiting.pop()
        readers[node] += 1
        if readers[node] == 1:
            waiting.extend(node.inputs)
    return readers


def is_bounded(plan: Node) -> bool:
    """Whether a query comes to an end: all tables that it reads do."""
    if isinstance(plan, Scan):
        return bool(plan.source.bounded)
    return all(map(is_bounded, plan.inputs))
