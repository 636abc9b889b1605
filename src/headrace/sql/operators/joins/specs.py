"""Specs of joins; each names the class that does the work in a slot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from headrace.graph.specs import OperatorSpec
from headrace.sql.codegen.code import GeneratedCode
from headrace.sql.operators.emission import Emission

_PACKAGE = "headrace.sql.operators.joins"


@dataclass(frozen=True)
class JoinSide:
    """One side of a join.

    Attributes:
        width: How many columns its rows have.
        changes: Whether its rows end with their kind.
        outer: Whether rows without a partner come out, too.
        ttl_ms: How long its rows are kept; 0 is for ever.
    """

    width: int
    changes: bool
    outer: bool
    ttl_ms: int = 0


@dataclass(frozen=True)
class JoinSpec(OperatorSpec):
    """Rows of two relations with equal keys.

    Attributes:
        left: The left side.
        right: The right side.
        null_safe: For each key whether NULL equals NULL there.
        condition: Keeps the pairs that fulfil more than equal keys.
        changelog: Whether rows that come out end with their kind.
        emission: When results come out.
        partner: If rows of the left side alone come out, whether those with or without a partner.
    """

    left: JoinSide
    right: JoinSide
    null_safe: tuple[bool, ...] = ()
    condition: GeneratedCode | None = None
    changelog: bool = True
    emission: Emission = Emission.NET_CHANGE
    partner: bool | None = None

    kind: ClassVar[str] = "Join"
    operator: ClassVar[str] = f"{_PACKAGE}.regular:JoinOperator"


@dataclass(frozen=True)
class EveryChangeJoinSpec(JoinSpec):
    """A join whose result changes with every row."""

    operator: ClassVar[str] = f"{_PACKAGE}.every_change:EveryChangeJoinOperator"


@dataclass(frozen=True)
class GrowingJoinSpec(JoinSpec):
    """An inner join of sides whose rows only come, and stay for ever."""

    operator: ClassVar[str] = f"{_PACKAGE}.growing:GrowingJoinOperator"


@dataclass(frozen=True)
class MultiJoinSpec(OperatorSpec):
    """Rows of several relations with one common key.

    Attributes:
        sides: The relations; of each but the first `outer` says that rows before it stay without a
            partner in it.
        conditions: For each but the first what keeps the pairs that fulfil more than equal keys.
        null_safe: For each part of the key whether NULL equals NULL there.
        changelog: Whether rows that come out end with their kind.
        emission: When results come out.
    """

    sides: tuple[JoinSide, ...]
    conditions: tuple[GeneratedCode | None, ...]
    null_safe: tuple[bool, ...] = ()
    changelog: bool = True
    emission: Emission = Emission.NET_CHANGE

    kind: ClassVar[str] = "MultiJoin"
    operator: ClassVar[str] = f"{_PACKAGE}.multi:MultiJoinOperator"


@dataclass(frozen=True)
class TemporalJoinSpec(OperatorSpec):
    """Rows of the left side with the version of the right one that was valid at their time.

    Attributes:
        left: The left side.
        right: The right side.
        times: The column of each side's event time.
        update_before: Whether the row before an update ends a version, as a deleted one does.
        null_safe: For each key whether NULL equals NULL there.
        condition: Keeps the pairs that fulfil more than equal keys.
    """

    left: JoinSide
    right: JoinSide
    times: tuple[int, int]
    update_before: bool = False
    null_safe: tuple[bool, ...] = ()
    condition: GeneratedCode | None = None

    kind: ClassVar[str] = "TemporalJoin"
    operator: ClassVar[str] = f"{_PACKAGE}.temporal:TemporalJoinOperator"


@dataclass(frozen=True)
class LatestJoinSpec(OperatorSpec):
    """Rows of the left side with the row that the right one has for their key as they come.

    Attributes:
        left: The left side.
        right: The right side.
        null_safe: For each key whether NULL equals NULL there.
        condition: Keeps the pairs that fulfil more than equal keys.
    """

    left: JoinSide
    right: JoinSide
    null_safe: tuple[bool, ...] = ()
    condition: GeneratedCode | None = None

    kind: ClassVar[str] = "TemporalJoin"
    operator: ClassVar[str] = f"{_PACKAGE}.temporal:LatestJoinOperator"


@dataclass(frozen=True)
class IntervalJoinSpec(OperatorSpec):
    """Rows of two relations with equal keys whose times are not too far apart.

    Attributes:
        left: The left side.
        right: The right side.
        times: The column of each side's event time; None is processing time.
        lower_ms: The least that a left row is later than a right one.
        upper_ms: The most.
        null_safe: For each key whether NULL equals NULL there.
        condition: Keeps the pairs that fulfil more than that.
    """

    left: JoinSide
    right: JoinSide
    times: tuple[int, int] | None
    lower_ms: int
    upper_ms: int
    null_safe: tuple[bool, ...] = ()
    condition: GeneratedCode | None = None

    kind: ClassVar[str] = "IntervalJoin"
    operator: ClassVar[str] = f"{_PACKAGE}.interval:IntervalJoinOperator"


@dataclass(frozen=True)
class WindowJoinSpec(OperatorSpec):
    """Rows of two relations with equal keys in the same window, which is part of the keys.

    Attributes:
        left: The left side.
        right: The right side.
        ends: The column of each side with the end of the window.
        zone: The zone whose clock windows follow; None if they follow UTC.
        null_safe: For each key whether NULL equals NULL there.
        condition: Keeps the pairs that fulfil more than that.
        semi: Rows of the left side alone come out: those with a partner, or if False those without.
    """

    left: JoinSide
    right: JoinSide
    ends: tuple[int, int]
    zone: str | None
    null_safe: tuple[bool, ...]
    condition: GeneratedCode | None = None
    semi: bool | None = None

    kind: ClassVar[str] = "WindowJoin"
    operator: ClassVar[str] = f"{_PACKAGE}.window:WindowJoinOperator"


@dataclass(frozen=True)
class LookupJoinSpec(OperatorSpec):
    """Rows with what a table has for their key.

    Attributes:
        table: The `LookupTable`.
        keys: Makes the key of a row.
        calc: Filter and projection of the table's rows, which have a number at their end.
        condition: What pairs have to fulfil, which have a number at their end.
        width: How many columns the table gives.
        outer: Whether rows without a partner stay.
        changelog: Whether rows end with their kind.
    """

    table: Any
    keys: GeneratedCode
    calc: GeneratedCode | None
    condition: GeneratedCode | None
    width: int
    outer: bool = False
    changelog: bool = False

    kind: ClassVar[str] = "LookupJoin"
    operator: ClassVar[str] = f"{_PACKAGE}.lookup:LookupJoinOperator"


@dataclass(frozen=True)
class KeptLookupJoinSpec(LookupJoinSpec):
    """Rows of a changelog, by key; what was found for a row is kept until it is taken back.

    A row is known again by the columns of `compared`.
    """

    compared: tuple[int, ...] = ()
    ttl_ms: int = 0

    operator: ClassVar[str] = f"{_PACKAGE}.lookup:KeptLookupJoinOperator"
