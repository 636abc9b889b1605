"""Nodes that bring two relations together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from enum import Enum

from headrace.sql.plan.expressions import Expression, Field, Schema, TimeAttribute
from headrace.sql.plan.lookup_hint import LookupHint
from headrace.sql.plan.nodes import Node, TwoInputs, Window

__all__ = [
    "IntervalJoin",
    "Join",
    "JoinHint",
    "JoinKind",
    "MultiJoin",
    "TemporalJoin",
    "TimeBounds",
    "UniqueKey",
    "Versions",
    "WindowJoin",
]


class JoinKind(Enum):
    """Which rows without a partner stay; the value is the name that plans show."""

    INNER = "InnerJoin"
    LEFT = "LeftOuterJoin"
    RIGHT = "RightOuterJoin"
    FULL = "FullOuterJoin"
    SEMI = "LeftSemiJoin"
    """Rows of the left side that have a partner, each once."""
    ANTI = "LeftAntiJoin"
    """Rows of the left side that have none."""

    @property
    def left_only(self) -> bool:
        """Whether the columns of the right side do not come out."""
        return self in (JoinKind.SEMI, JoinKind.ANTI)

    @property
    def keeps_left(self) -> bool:
        return self in (JoinKind.LEFT, JoinKind.FULL, JoinKind.ANTI)

    @property
    def keeps_right(self) -> bool:
        return self in (JoinKind.RIGHT, JoinKind.FULL)


class UniqueKey(Enum):
    """What is known of the rows of a side; the value is what plans show."""

    IN_JOIN_KEY = "JoinKeyContainsUniqueKey"
    BESIDE_JOIN_KEY = "HasUniqueKey"
    NONE = "NoUniqueKey"


@dataclass(frozen=True)
class JoinHint:
    """A hint on how a join is to be made: its name, the table that it names, and on which side."""

    name: str
    table: str
    left: bool

    def __str__(self) -> str:
        return f"{self.name}({self.table})"


@dataclass(frozen=True, eq=False)
class Join(TwoInputs):
    """Rows of two relations that belong together: the columns of the left, then of the right one.

    A SEMI or ANTI join has the columns of the left one alone.

    Attributes:
        kind: Which rows without a partner stay.
        condition: What pairs have to fulfil, over the columns of both; None for all pairs.
        left_keys: Columns that equal those of `right_keys`; the rule `join_keys` finds them.
        right_keys: Columns of the right relation, by their place there.
        null_safe: For each key whether NULL equals NULL there.
        ttls_ms: How long rows of each side are kept, where a hint says so.
        unique_keys: What is known of each side; the rule `join_inputs` finds it.
        strategies: Hints on how it is to be made, where the input ends; plans show them.
    """

    kind: JoinKind
    condition: Expression | None = None
    left_keys: tuple[int, ...] = ()
    right_keys: tuple[int, ...] = ()
    null_safe: tuple[bool, ...] = ()
    ttls_ms: tuple[int | None, int | None] = (None, None)
    unique_keys: tuple[UniqueKey, UniqueKey] | None = None
    strategies: tuple[JoinHint, ...] = ()

    @staticmethod
    def of(left: Node, right: Node, kind: JoinKind, condition: Expression | None) -> Join:
        """A join; columns of a side whose rows may be missing may be NULL."""
        found = _pair_fields(left, right, kind)
        shown = found[: len(left.schema)] if kind.left_only else found
        return Join(Schema(shown), left, right, kind, condition)

    def temporal(self, as_of: int) -> TemporalJoin:
        """The same, with the right relation as it was at the time in a column of the left one."""
        return TemporalJoin(**{f.name: getattr(self, f.name) for f in fields(self)}, as_of=as_of)

    @property
    def pair_names(self) -> list[str]:
        """The names of the columns of both sides, which the condition speaks of."""
        return [f.name for f in _pair_fields(self.left, self.right, self.kind)]


def _pair_fields(left: Node, right: Node, kind: JoinKind) -> tuple[Field, ...]:
    found: list[Field] = []
    taken: set[str] = set()
    for side, may_miss in ((left, kind.keeps_right), (right, kind.keeps_left)):
        for f in side.schema:
            name = _unique(f.name, taken)
            found.append(Field(name, f.type.nullable() if may_miss else f.type, f.time))
    return tuple(found)


@dataclass(frozen=True, eq=False)
class MultiJoin(Node):
    """Joins on one common key, one after the other, of which no result in between is kept.

    Attributes:
        relations: What is joined.
        kinds: How each but the first is joined with all before it: INNER or LEFT.
        conditions: What pairs of that join have to fulfil besides equal keys.
        keys: The columns of each relation that are the common key.
        null_safe: For each of these columns whether NULL equals NULL there.
        ttls_ms: How long rows of each relation are kept.
    """

    relations: tuple[Node, ...]
    kinds: tuple[JoinKind, ...]
    conditions: tuple[Expression | None, ...]
    keys: tuple[tuple[int, ...], ...]
    null_safe: tuple[bool, ...]
    ttls_ms: tuple[int | None, ...]

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.relations

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        return replace(self, relations=tuple(inputs))


@dataclass(frozen=True)
class TimeBounds:
    """How far the times of two rows that belong together are apart: left less right.

    Attributes:
        left_time: The time attribute of the left relation.
        right_time: That of the right one, by its place there.
        lower_ms: The least difference.
        upper_ms: The greatest one.
        event_time: Whether both are event time; otherwise both are processing time.
    """

    left_time: int
    right_time: int
    lower_ms: int
    upper_ms: int
    event_time: bool


@dataclass(frozen=True, eq=False)
class IntervalJoin(Join):
    """A join whose rows are forgotten when time has passed all that could belong to them.

    The condition still says all that it said of time: where the input ends, it is a `Join`.
    """

    bounds: TimeBounds = field(kw_only=True)

    @property
    def time(self) -> TimeAttribute:
        """The time by which rows wait; what is known of the other one is lost."""
        return TimeAttribute.ROWTIME if self.bounds.event_time else TimeAttribute.PROCTIME


@dataclass(frozen=True)
class Versions:
    """What makes versions of the rows of a relation that does not say it by itself.

    Attributes:
        key: Of the rows with the same values in these columns one is valid at a time.
        time: The time attribute from which on a row is valid.
    """

    key: tuple[int, ...]
    time: int


@dataclass(frozen=True, eq=False)
class TemporalJoin(Join):
    """Each row of the left relation with the row of the right one that was valid at its time.

    The right relation is not looked at as it is, but as it was: a condition on it alone must not
    become a filter below the join, since a row that it would drop still ends the one before.

    Attributes:
        as_of: The time attribute of the left relation.
        versions: What a temporal table function says of the right one; otherwise its own primary
            key and event time count.
        lookup: What a hint says about lookups, if it becomes a `LookupJoin`.
    """

    as_of: int = field(kw_only=True)
    versions: Versions | None = field(default=None, kw_only=True)
    lookup: LookupHint = field(default_factory=LookupHint, kw_only=True)

    @property
    def event_time(self) -> bool:
        return self.left.schema[self.as_of].time is TimeAttribute.ROWTIME

    @property
    def version_time(self) -> int | None:
        """The time of the right relation from which on its rows are valid."""
        if self.versions is not None:
            return self.versions.time
        times = [f.time for f in self.right.schema]
        return times.index(TimeAttribute.ROWTIME) if TimeAttribute.ROWTIME in times else None


@dataclass(frozen=True, eq=False)
class WindowJoin(Join):
    """A join of rows in the same window, which come out when the window is over.

    Start and end of the window are among the keys: where the input ends, it is a `Join`. `windows`
    are those of both sides, whose time is the column of their ends; on streams they are the same.
    """

    windows: tuple[Window, Window] = field(kw_only=True)

    @property
    def window(self) -> Window:
        """The windows that its rows are in."""
        return self.windows[0]


def _unique(name: str, taken: set[str]) -> str:
    """A name of its own: a number follows if another column has it, as Flink shows it."""
    number, unique = 0, name
    while unique in taken:
        unique, number = f"{name}{number}", number + 1
    taken.add(unique)
    return unique
